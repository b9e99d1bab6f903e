"""Question 04.q4: the fewest bytes that a rank sends."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.comm import meaning
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex04.withheld import FACTORS, OPS
from course_lib.grading.question import Case, Misconception, Question


def _loads(rng: np.random.Generator) -> list[Case]:
    fixed = [(op, n, S) for op in OPS for n, S in ((1, 8.0), (2, 8.0), (8, 1e9), (72, 64.0), (4, 0.0))]
    drawn = [(op, int(rng.integers(3, 1025)), float(rng.integers(1, 10**9))) for op in OPS for _unused in range(3)]
    return [
        Case(dict(zip(("op", "n_ranks", "message_B"), row, strict=True)), part=row[0])
        for row in sorted(fixed + drawn, key=lambda row: (row[1], row[2]))
    ]


def _bytes_with(**other: Callable[[float], float]) -> Callable[..., float]:
    """The right bytes, but for the collectives named, whose share of the message is a wrong function of n."""

    def wrong(op: str, n_ranks: int, message_B: float) -> float:
        if op in other:
            return other[op](n_ranks) * message_B
        return float(meaning.least_sent_B(op, message_B, n_ranks))

    return wrong


def _levels(n: int) -> float:
    return float(math.ceil(math.log2(n)))


def _same_B(given: float, wrong: float) -> bool:
    return Number("B", near_zero=1e-9).same(given, wrong)


q4 = Question(
    id="04.q4",
    title=_("Bytes that a rank has to send"),
    points=2,
    answer="sent_B",
    kind="function",
    expects=Number("B", near_zero=1e-9),
    inputs=_loads,
    withholds=FACTORS,
    reference=lambda op, n_ranks, message_B: float(meaning.least_sent_B(op, message_B, n_ranks)),
    misconceptions=(
        Misconception(
            "all-gather gets cheaper as 1/n",
            _bytes_with(all_gather=lambda n: 1 / n if n > 1 else 0.0),
            _(
                "For all_gather you take the part of one rank, S/n. That is a single transfer; "
                "a rank makes n − 1 of them, so the bytes do not fall with n."
            ),
        ),
        Misconception(
            "both halves get cheaper as 1/n",
            _bytes_with(all_gather=lambda n: 1 / n if n > 1 else 0.0, reduce_scatter=lambda n: 1 / n if n > 1 else 0.0),
            _(
                "For all_gather and reduce_scatter you take the part of one rank, S/n. That is a single transfer; "
                "a rank makes n − 1 of them."
            ),
        ),
        Misconception(
            "an all-reduce is one lap",
            _bytes_with(all_reduce=lambda n: (n - 1) / n),
            _(
                "For all_reduce you count one lap round the ring. It takes two: one that adds and one that hands out the sums."
            ),
        ),
        Misconception(
            "S is the part of one rank",
            _bytes_with(all_gather=lambda n: n - 1, all_to_all=lambda n: n - 1),
            _(
                "For all_gather and all_to_all you take S for a single part, so you are n times too high. "
                "S is the largest buffer on one rank: all n parts."
            ),
        ),
        Misconception(
            "the root serves everybody",
            _bytes_with(broadcast=lambda n: n - 1, reduce=lambda n: n - 1),
            _(
                "For broadcast and reduce you let the root deal with n − 1 ranks one by one. Others can pass it on: once is enough."
            ),
        ),
        Misconception(
            "the root at every level of a tree",
            _bytes_with(broadcast=_levels, reduce=_levels),
            _(
                "For broadcast and reduce you count a vector for every level of a tree. A pipeline does with one: "
                "each rank passes on what it gets, piece by piece."
            ),
        ),
        Misconception(
            "a rank sends to itself, too",
            _bytes_with(
                all_reduce=lambda n: 2.0,
                reduce_scatter=lambda n: 1.0,
                all_gather=lambda n: 1.0,
                all_to_all=lambda n: 1.0,
            ),
            _("You count the part that a rank keeps. It has that already: only (n − 1)/n of the parts travel."),
        ),
        Misconception(
            "one rank deals with all others",
            _bytes_with(all_reduce=lambda n: 2.0 * (n - 1)),
            _(
                "For all_reduce you let one rank add everything. Shared out over all ranks, each sends 2(n − 1)/n vectors."
            ),
        ),
        Misconception(
            "the vector shared out in a broadcast",
            _bytes_with(broadcast=lambda n: (n - 1) / n, reduce=lambda n: (n - 1) / n),
            _(
                "For broadcast and reduce you take (n − 1)/n. Here all of the vector leaves one rank, or passes through it."
            ),
        ),
        Misconception(
            "one rank with something to send",
            _bytes_with(broadcast=lambda n: 1.0, reduce=lambda n: 1.0),
            _("You let a single rank send its vector. It has nobody to send to, in broadcast and reduce neither."),
        ),
        Misconception(
            "a single transfer",
            _bytes_with(
                all_reduce=lambda n: 2 / n if n > 1 else 0.0,
                reduce_scatter=lambda n: 1 / n if n > 1 else 0.0,
                all_gather=lambda n: 1 / n if n > 1 else 0.0,
                all_to_all=lambda n: 1 / n if n > 1 else 0.0,
            ),
            _(
                "You count a single transfer of S/n, or one in each lap. A rank makes n − 1 of them, so the bytes do not fall with n."
            ),
            recognise=lambda given, op, n_ranks, message_B: any(
                _same_B(given, k * message_B / n_ranks) for k in (1, 2)
            ),
        ),
        Misconception(
            "all ranks together",
            lambda op, n_ranks, message_B: n_ranks * float(meaning.least_sent_B(op, message_B, n_ranks)),
            _("You add up what all ranks send. What the busiest one sends is asked for."),
        ),
    ),
)
