"""Question 04.q5: bus bandwidth from a time."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, US
from course_lib.comm import meaning
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex04.withheld import FACTORS, OPS
from course_lib.grading.question import Case, Misconception, Question


def _bus(op: str, n_ranks: int, size_B: float, time_us: float) -> float:
    return float(meaning.busbw_Bps(op, size_B, time_us * US, n_ranks)) / GB


def _factors(rng: np.random.Generator) -> list[Case]:
    fixed = [(op, n, 1e6, 10.0) for op in OPS for n in (1, 2, 8)]
    drawn = [
        (op, int(rng.integers(3, 1025)), float(2 ** int(rng.integers(10, 35))), round(float(rng.uniform(10, 1e5)), 2))
        for op in OPS
        for _unused in range(2)
    ]
    return [Case(dict(zip(("op", "n_ranks", "size_B", "time_us"), row, strict=True))) for row in fixed + drawn]


q5 = Question(
    id="04.q5",
    title=_("Bus bandwidth of a measurement"),
    points=1,
    answer="busbw_GBps",
    kind="function",
    expects=Number("GB/s"),
    inputs=_factors,
    withholds=FACTORS,
    reference=_bus,
    misconceptions=(
        Misconception(
            "algorithm bandwidth",
            lambda op, n_ranks, size_B, time_us: size_B / (time_us * US) / GB,
            _(
                "That is the algorithm bandwidth, S over t. The bus bandwidth multiplies it with the collective's factor."
            ),
        ),
        Misconception(
            "the factor of all-reduce for all",
            lambda op, n_ranks, size_B, time_us: _bus("all_reduce", n_ranks, size_B, time_us),
            _(
                "You use the factor of all_reduce for every collective. Each has its own: only all_reduce goes round twice."
            ),
        ),
        Misconception(
            "divided by the factor",
            lambda op, n_ranks, size_B, time_us: (
                size_B / (time_us * US) / GB / (meaning.bus_factor(op, n_ranks) or float("inf"))
            ),
            _(
                "You divide by the factor. A rank sends factor × S bytes in the time, so the wire's rate is factor × S/t."
            ),
        ),
        Misconception(
            "factor 2 whatever n is",
            lambda op, n_ranks, size_B, time_us: (2.0 if op == "all_reduce" else 1.0) * size_B / (time_us * US) / GB,
            _("You take the factor for very many ranks, 2 or 1. On a few ranks the part that stays at home counts."),
        ),
        Misconception(
            "an all-reduce is one lap",
            lambda op, n_ranks, size_B, time_us: _bus(op, n_ranks, size_B, time_us) / (2 if op == "all_reduce" else 1),
            _("For all_reduce you use (n − 1)/n. It goes round twice: 2(n − 1)/n."),
        ),
        Misconception(
            "the vector shared out in a broadcast",
            lambda op, n_ranks, size_B, time_us: (
                _bus(op, n_ranks, size_B, time_us) * ((n_ranks - 1) / n_ranks if op in ("broadcast", "reduce") else 1)
            ),
            _("For broadcast and reduce you use (n − 1)/n. Their factor is 1: all of the vector passes one link."),
        ),
    ),
)
