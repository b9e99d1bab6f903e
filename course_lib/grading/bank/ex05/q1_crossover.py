"""Question 05.q1: where tree and ring cross, and who wins on either side."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Choice, Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.timing.closedform import Form, form
from course_lib.timing.contest import crossover_B

Crossing = tuple[float, str, str]


def _crossing(tree: Form, ring: Form, latency_us: float, bandwidth_GBps: float) -> Crossing:
    """Return (KB, faster below, faster above); ring on both sides where no message is faster with the tree."""
    size_KB = float(crossover_B(tree, ring, latency_us * US, bandwidth_GBps * GB)) / KB
    return (size_KB, "tree", "ring") if 0 < size_KB < math.inf else (0.0, "ring", "ring")


def crossover(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    """Return (KB, faster below, faster above) for all-reduces by a binomial tree and by a ring."""
    tree, ring = form("all_reduce", "binomial", n_ranks), form("all_reduce", "ring", n_ranks)
    return _crossing(tree, ring, latency_us, bandwidth_GBps)


def _one_way(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    tree, ring = form("reduce", "binomial", n_ranks), form("all_reduce", "ring", n_ranks)
    return _crossing(tree, ring, latency_us, bandwidth_GBps)


def _one_lap(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    tree, ring = form("all_reduce", "binomial", n_ranks), form("reduce_scatter", "ring", n_ranks)
    return _crossing(tree, ring, latency_us, bandwidth_GBps)


def _broken_levels(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    levels = 2 * math.log2(n_ranks)
    return _crossing(Form(levels, levels), form("all_reduce", "ring", n_ranks), latency_us, bandwidth_GBps)


def _levels_cut(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    levels = 2 * int(math.log2(n_ranks))
    return _crossing(Form(levels, levels), form("all_reduce", "ring", n_ranks), latency_us, bandwidth_GBps)


def _whole_ring(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    ring = Form(form("all_reduce", "ring", n_ranks).steps, 2.0)
    return _crossing(form("all_reduce", "binomial", n_ranks), ring, latency_us, bandwidth_GBps)


def _sized(size_KB) -> Callable[[int, float, float], Crossing]:
    """Return the model whose sides are right and whose size is `size_KB(steps saved, messages more, α in µs, β in GB/s)`."""

    def wrong(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
        right, small, large = crossover(n_ranks, latency_us, bandwidth_GBps)
        tree, ring = form("all_reduce", "binomial", n_ranks), form("all_reduce", "ring", n_ranks)
        saved, more = ring.steps - tree.steps, tree.factor - ring.factor
        return (size_KB(saved, more, latency_us, bandwidth_GBps) if right else 0.0), small, large

    return wrong


def _two_messages(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    levels = form("all_reduce", "binomial", n_ranks).steps
    return _crossing(Form(levels, 2.0), form("all_reduce", "ring", n_ranks), latency_us, bandwidth_GBps)


def _sides_exchanged(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    size_KB, small, large = crossover(n_ranks, latency_us, bandwidth_GBps)
    return size_KB, large, small


def _crossing_cases(rng: np.random.Generator) -> list[Case]:
    even, odd = "powers of two", "other numbers of GPUs"
    fixed = [(2, 1.0, 450.0, even), (8, 1.0, 450.0, even), (8, 0.0, 450.0, even), (4, 5.0, 50.0, even)]
    fixed += [(3, 1.0, 300.0, odd), (5, 1.0, 300.0, odd), (72, 1.0, 900.0, odd), (12, 4.5, 25.0, odd)]
    for _i in range(4):
        link = round(float(rng.uniform(0.5, 20)), 2), round(float(rng.uniform(10, 900)), 1)
        fixed.append((int(2 ** rng.integers(3, 13)), *link, even))
        fixed.append((int(2 ** rng.integers(3, 10) + rng.integers(1, 8)), *link, odd))
    names = ("n_ranks", "latency_us", "bandwidth_GBps")
    return [Case(dict(zip(names, row[:3], strict=True)), row[3]) for row in fixed]


_SIDES = ("tree", "ring")

q1 = Question(
    id="05.q1",
    title=_("Where tree and ring cross, and who wins on either side"),
    points=3,
    answer="crossover",
    kind="function",
    expects=Listing((Number("KB"), Choice(_SIDES), Choice(_SIDES))),
    inputs=_crossing_cases,
    reference=crossover,
    withholds=("course_lib.timing.closedform", "course_lib.timing.contest"),
    misconceptions=(
        Misconception(
            "a tree goes one way",
            _one_way,
            _("Your tree adds up and stops at the root. An all-reduce has to come back down, too: twice the steps."),
        ),
        Misconception(
            "one lap of the ring",
            _one_lap,
            _("Your ring goes round once, which is a reduce-scatter. An all-reduce is two laps, 2(n − 1) steps."),
        ),
        Misconception(
            "levels not rounded up",
            _broken_levels,
            _("You use log₂ n as it is, or cut it down. A tree of 5 ranks has 3 levels, as one of 8 does: round up."),
            recognise=lambda given, **case: any(
                q1.expects.same(given, wrong(**case)) for wrong in (_broken_levels, _levels_cut)
            ),
        ),
        Misconception(
            "two messages through the tree",
            _two_messages,
            _(
                "You count two messages through a link of the tree. That is the pipelined double tree. In a binomial tree the "
                "whole message follows in every step, so bytes grow with the levels."
            ),
        ),
        Misconception(
            "sides exchanged",
            _sides_exchanged,
            _("The size is right and the sides are exchanged: below the crossing the one with fewer steps is faster."),
        ),
        Misconception(
            "the half-size itself",
            _sized(lambda saved, more, latency_us, bandwidth_GBps: latency_us * bandwidth_GBps),
            _(
                "That is the half-size, α · β. The crossing is a multiple of it: steps that the tree saves over messages that it "
                "sends more."
            ),
        ),
        Misconception(
            "the fraction turned round",
            _sized(lambda saved, more, latency_us, bandwidth_GBps: more / saved * latency_us * bandwidth_GBps),
            _(
                "Your fraction is turned round: the steps that the tree saves stand above, the messages that it sends more below."
            ),
        ),
        Misconception(
            "latency over bandwidth",
            _sized(lambda saved, more, latency_us, bandwidth_GBps: saved / more * latency_us / bandwidth_GBps),
            _("You divide by the bandwidth. The time that the steps save is worth α · β bytes for each."),
        ),
        Misconception(
            "two whole messages round the ring",
            _whole_ring,
            _("You count two whole messages through a link of the ring. On n ranks it is 2(n − 1)/n of one."),
        ),
    ),
)
