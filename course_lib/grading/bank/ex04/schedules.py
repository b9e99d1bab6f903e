"""Schedules as exercise 04 judges them: how many ranks, how many transfers, which mistake."""

from collections.abc import Callable

import numpy as np

from course_lib.comm.schedule import Schedule
from course_lib.grading.question import Case

MOST_TRANSFERS = 10_000


def some_ranks(rng: np.random.Generator) -> list[Case]:
    """Return a few numbers of ranks, small ones always."""
    drawn = sorted({int(n) for n in rng.integers(5, 17, size=3)} | {1, 2, 3, 4, 8})
    return [Case({"n_ranks": n}) for n in drawn]


def small(recognise: Callable[..., bool]) -> Callable[..., bool]:
    """The same, but False for schedules that are too long to be looked at line by line."""

    def looked(answer: Schedule, *rest: object, **more: object) -> bool:
        return answer.n_transfers <= MOST_TRANSFERS and recognise(answer, *rest, **more)

    return looked


def kinds(schedule: Schedule) -> set[bool]:
    """Return whether transfers add (True), copy (False), or some do one and some the other."""
    return {bool(add) for step in schedule.steps for add in step.reduce}
