"""Question 10.q2: residuals of a model."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Listing, Number
from course_lib.grading.bank.ex10.rack import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.rackruns import measured
from course_lib.timing.tuning import predict


def _report(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int, system: str, **options: Any) -> dict:
    sizes, times = np.asarray(message_B, float), np.asarray(measured_s, float)
    found = np.log(predict("all_reduce", sizes, system, n_gpus, **options).time_s / times)
    return {"residuals": found.tolist(), "worst_B": float(sizes[np.argmax(np.abs(found))])}


def report(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    """Return ln(predicted / measured) for each size, and the size of the largest miss."""
    return _report(message_B, measured_s, n_gpus, "gb200-nvl72")


def _report_cases(rng: np.random.Generator) -> list[Case]:
    found = []
    for sweep in measured():
        for noise in (0.0, 0.3):
            times = sweep.measured_s * np.exp(rng.normal(0, noise, sweep.measured_s.size))
            part = "one rack" if sweep.racks == 1 else "twenty racks"
            found.append(
                Case(
                    {"message_B": sweep.message_B.tolist(), "measured_s": times.tolist(), "n_gpus": sweep.n_ranks}, part
                )
            )
    return found


def _largest_signed(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"worst_B": float(message_B[int(np.argmax(right["residuals"]))])}


def _changed(change: Callable[[float], float]) -> Callable[..., dict]:
    """Return the right report with its residuals changed."""

    def model(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
        right = report(message_B, measured_s, n_gpus)
        return right | {"residuals": [change(r) for r in right["residuals"]]}

    return model


def _worst_in_seconds(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    missed_s = np.abs(np.asarray(measured_s) * np.expm1(right["residuals"]))
    return right | {"worst_B": float(message_B[int(np.argmax(missed_s))])}


q2 = Question(
    id="10.q2",
    title=_("One rack and twenty: the residuals"),
    points=2,
    answer="report",
    kind="function",
    expects=Entries({"residuals": Listing(Number(tolerance=0.01, near_zero=1e-3)), "worst_B": Number("B")}, each=False),
    inputs=_report_cases,
    reference=report,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "measured over predicted",
            _changed(lambda r: -r),
            _(
                "Your residuals have the other sign: ln(predicted / measured) is below 0 where the prediction is too quick."
            ),
        ),
        Misconception(
            "boxes of eight",
            lambda message_B, measured_s, n_gpus: _report(message_B, measured_s, n_gpus, "dgx-b200"),
            _("You predict boxes of eight B200. These GPUs sit in racks, gb200-nvl72."),
        ),
        Misconception(
            "wires alone",
            lambda message_B, measured_s, n_gpus: _report(message_B, measured_s, n_gpus, "gb200-nvl72", ideal=True),
            _("You predict the wires alone. Leave ideal=True out: the predictor knows what software costs."),
        ),
        Misconception(
            "relative errors",
            _changed(math.expm1),
            _("You give relative errors, predicted / measured − 1. The question asks for the logarithm of the ratio."),
        ),
        Misconception(
            "largest instead of worst",
            _largest_signed,
            _("Your worst size is where the residual is largest with its sign. A miss downwards is a miss, too."),
        ),
        Misconception(
            "base ten",
            _changed(lambda r: r / math.log(10)),
            _("Your logarithm has the base 10. ln is the natural one, `np.log`."),
        ),
        Misconception(
            "base two",
            _changed(lambda r: r / math.log(2)),
            _("Your logarithm has the base 2. ln is the natural one, `np.log`."),
        ),
        Misconception(
            "sign lost",
            _changed(abs),
            _("You give the size of each miss. Its sign says whether the prediction is too quick or too slow."),
        ),
        Misconception(
            "the ratio itself",
            _changed(math.exp),
            _("You give the ratio predicted / measured. The question asks for its logarithm."),
        ),
        Misconception(
            "percent",
            _changed(lambda r: 100 * (math.exp(r) - 1)),
            _("You give the miss in percent. The question asks for the logarithm of the ratio."),
        ),
        Misconception(
            "one rack for all",
            lambda message_B, measured_s, n_gpus: report(message_B, measured_s, 72),
            _("You predict 72 GPUs whatever their number. n_gpus says how many took part."),
        ),
        Misconception(
            "worst in seconds",
            _worst_in_seconds,
            _(
                "Your worst size is where most seconds are missed. A residual compares by ratio: small messages count as much."
            ),
        ),
        Misconception(
            "place for size",
            lambda message_B, measured_s, n_gpus: (
                (right := report(message_B, measured_s, n_gpus))
                | {"worst_B": float(list(message_B).index(right["worst_B"]))}
            ),
            _('Your "worst_B" is a place in the list. The size that stands there was asked for.'),
        ),
    ),
)
