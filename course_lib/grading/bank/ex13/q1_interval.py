"""Question 13.q1: the checkpoint interval."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import checkpoints
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

HOUR_s = 3600.0
SHORT, LONG = _("saving is short"), _("saving is long")


def interval_s(save_s: float, gpu_hours: float, n_gpus: int) -> float:
    """Return the seconds of training between two checkpoints that keep most of the time.

    >>> round(interval_s(33.0, 50_677.0, 16_384))
    835
    """
    return float(checkpoints.best_s(save_s, gpu_hours * HOUR_s / n_gpus))


def _interval_cases(rng: np.random.Generator) -> list[Case]:
    names = ("save_s", "gpu_hours", "n_gpus")
    short = [(1.0, 50_000.0, 1), (1.0, 50_000.0, 8), (2.0, 60_000.0, 1024)]
    long = [(60.0, 50_000.0, 100_000), (300.0, 50_000.0, 16_384), (120.0, 20_000.0, 65_536)]
    for _unused in range(4):
        n = int(2 ** rng.integers(3, 11))
        hours = float(rng.integers(30, 90)) * 1000
        short.append((float(round(hours * HOUR_s / n * 10 ** rng.uniform(-6, -4.5), 3)), hours, n))
        n = int(2 ** rng.integers(12, 18))
        long.append((float(round(hours * HOUR_s / n * rng.uniform(0.03, 0.2), 2)), hours, n))
    return [
        Case(dict(zip(names, row, strict=True)), part) for part, rows in ((SHORT, short), (LONG, long)) for row in rows
    ]


def _rule(rule: Callable[[float, float], float]) -> Callable[..., float]:
    """Return a learner's function from a rule of save and mean time between failures of the job."""
    return lambda save_s, gpu_hours, n_gpus: float(rule(save_s, gpu_hours * HOUR_s / n_gpus))


def _saving_counted_in(answer: float, save_s: float, gpu_hours: float, n_gpus: int) -> bool:
    """Whether an interval runs from the start of one checkpoint to the start of the next, by Daly's rule or exactly."""
    whole = interval_s(save_s, gpu_hours, n_gpus) + save_s
    return abs(answer - whole) <= 0.015 * whole


q1 = Question(
    id="13.q1",
    title=_("The checkpoint interval"),
    points=2,
    answer="interval_s",
    kind="function",
    expects=Number("s", tolerance=0.015),
    inputs=_interval_cases,
    reference=interval_s,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one GPU for the job",
            lambda save_s, gpu_hours, n_gpus: float(checkpoints.best_s(save_s, gpu_hours * HOUR_s)),
            _("You take the time between failures of one GPU. The job stops when any of its GPUs fails."),
        ),
        Misconception(
            "no two under the root",
            _rule(lambda d, m: math.sqrt(d * m)),
            _("You leave out the 2 under the root. On average half an interval is lost, not a whole one."),
        ),
        Misconception(
            "hours for seconds",
            lambda save_s, gpu_hours, n_gpus: math.sqrt(2 * save_s * gpu_hours / n_gpus),
            _("You put hours under the root beside seconds, or return minutes. Bring all into seconds."),
        ),
        Misconception(
            "minutes",
            lambda save_s, gpu_hours, n_gpus: interval_s(save_s, gpu_hours, n_gpus) / 60,
            _("You return minutes. Seconds are asked for."),
        ),
        Misconception(
            "the GPUs outside the root",
            lambda save_s, gpu_hours, n_gpus: math.sqrt(2 * save_s * gpu_hours * HOUR_s) / n_gpus,
            _(
                "You divide by the GPUs outside the root. It is the time between failures that they divide, so they go under it."
            ),
        ),
        Misconception(
            "the time between failures",
            _rule(lambda d, m: m),
            _("You save once between two failures. Then about half of everything is done again."),
        ),
        Misconception(
            "half the time between failures",
            _rule(lambda d, m: m / 2),
            _("You save twice between two failures, whatever saving costs. Balance saving against doing again."),
        ),
        Misconception(
            "saving counted in",
            _rule(lambda d, m: checkpoints.best_s(d, m) + d),
            _(
                "You count the saving in: Daly's rule ends with − save. The training between two checkpoints was asked for."
            ),
            recognise=_saving_counted_in,
        ),
        Misconception(
            "Young where saving is long",
            _rule(checkpoints.young_s),
            _(
                "You use Young's rule throughout. It holds where saving is short; Daly's, or the exact optimum, holds everywhere."
            ),
        ),
    ),
)
