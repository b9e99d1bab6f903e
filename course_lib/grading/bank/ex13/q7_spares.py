"""Question 13.q7: how many spare hosts a job needs."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import chances, goodput
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def spares(between_h: float, repair_h: float, at_most: float) -> int:
    """Return the fewest spare hosts with which the job waits at most this share of the time.

    >>> spares(3.09, 24.0, 0.01)
    14
    """
    return next(s for s in range(10_000) if goodput.waiting(between_h, repair_h, s) <= at_most)


def _spares_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1000.0, 10.0, 0.5), (24.0, 24.0, 0.5), (24.0, 24.0, 0.02), (3.09, 24.0, 0.01), (1.0, 30.0, 0.3)]
    while len(rows) < 11:
        row = (
            round(float(10 ** rng.uniform(0, 1.7)), 2),
            float(rng.integers(8, 73)),
            float(rng.choice([0.001, 0.01, 0.03, 0.1])),
        )
        near = [goodput.waiting(*row[:2], s) for s in range(200)]
        if all(abs(share / row[2] - 1) > 0.02 for share in near):  # no answer hangs on a rounding
            rows.append(row)
    return [Case(dict(zip(("between_h", "repair_h", "at_most"), row, strict=True))) for row in rows]


def _mean(rule: Callable[[float], float]) -> Callable[..., int]:
    """Return a learner's number of spares from the mean number of hosts away."""
    return lambda between_h, repair_h, at_most: math.ceil(rule(repair_h / between_h))


def _from_mean(factor: float) -> Callable[..., bool]:
    """Whether an answer is so many times the mean number of hosts away, whichever way it is rounded."""

    def recognise(answer: float, between_h: float, repair_h: float, at_most: float) -> bool:
        mean = factor * repair_h / between_h
        return answer in (math.floor(mean), math.ceil(mean), round(mean))

    return recognise


def _poisson(between_h: float, repair_h: float, at_most: float) -> int:
    """Hosts fail at the same rate while the job waits."""
    return next(s for s in range(10_000) if chances.poisson_at_least(s + 1, repair_h / between_h) <= at_most)


q7 = Question(
    id="13.q7",
    title=_("How many spares"),
    points=1,
    answer="spares",
    kind="function",
    expects=Number(_("hosts"), whole=True),
    inputs=_spares_cases,
    reference=spares,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "a place for each spare",
            lambda **given: spares(**given) + 1,
            _(
                "You count a place for each spare. The job waits when one host more than the spares is away: spares + 1 places."
            ),
        ),
        Misconception(
            "the mean",
            _mean(lambda away: away),
            _("You buy as many spares as hosts are away on average. A strict promise needs more, a loose one fewer."),
            recognise=_from_mean(1.0),
        ),
        Misconception(
            "twice the mean",
            _mean(lambda away: 2 * away),
            _(
                "You double the mean, whatever was promised. How far above the mean depends on the load and on the promise."
            ),
            recognise=_from_mean(2.0),
        ),
        Misconception(
            "the load turned round",
            lambda between_h, repair_h, at_most: spares(repair_h, between_h, at_most),
            _("You divide the time between failures by the repair. On average repair / between hosts are away."),
        ),
        Misconception(
            "failures while the job waits",
            _poisson,
            _(
                "You let the job fail while it waits. It does not run then, so fewer hosts are away: Erlang, not Poisson."
            ),
        ),
    ),
)
