"""Question 10.q2: residuals of a model."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Listing, Number
from course_lib.grading.bank.ex10.rack import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.racks import measured
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


def _turned(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"residuals": [-r for r in right["residuals"]]}


def _relative(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"residuals": [math.exp(r) - 1 for r in right["residuals"]]}


def _largest_signed(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"worst_B": float(message_B[int(np.argmax(right["residuals"]))])}


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
            _turned,
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
            _relative,
            _("You give relative errors, predicted / measured − 1. The question asks for the logarithm of the ratio."),
        ),
        Misconception(
            "largest instead of worst",
            _largest_signed,
            _("Your worst size is where the residual is largest with its sign. A miss downwards is a miss, too."),
        ),
    ),
)
