"""Question 05.q2: an all-reduce on two levels, part by part."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.timing.closedform import time_s

Three = tuple[float, float, float]


def _ring_us(op: str, message_KB: float, n: int, latency_us: float, bandwidth_GBps: float) -> float:
    return float(time_s(op, "ring", message_KB * KB, n, latency_us * US, bandwidth_GBps * GB)) / US


def hierarchical_us(
    message_KB: float,
    n_boxes: int,
    per_box: int,
    inner_us: float,
    inner_GBps: float,
    outer_us: float,
    outer_GBps: float,
) -> Three:
    """Return the µs of reduce-scatter inside, all-reduce between, all-gather inside, by rings, each GPU with its own card."""
    return (
        _ring_us("reduce_scatter", message_KB, per_box, inner_us, inner_GBps),
        _ring_us("all_reduce", message_KB / per_box, n_boxes, outer_us, outer_GBps),
        _ring_us("all_gather", message_KB, per_box, inner_us, inner_GBps),
    )


def _gather_of_a_shard(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, middle, _last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    return first, middle, _ring_us("all_gather", message_KB / per_box, per_box, inner_us, inner_GBps)


def _whole_between(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, _middle, last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    return first, _ring_us("all_reduce", message_KB, n_boxes, outer_us, outer_GBps), last


def _all_reduce_inside(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, middle, last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    return 2 * first, middle, 2 * last


def _all_ranks_between(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, _middle, last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    return first, _ring_us("all_reduce", message_KB / per_box, n_boxes * per_box, outer_us, outer_GBps), last


def _waits(steps_inside: float, steps_between: float):
    """Return the model that counts these shares of the latencies: inside, and between."""

    def wrong(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
        bytes_ = hierarchical_us(message_KB, n_boxes, per_box, 0, inner_GBps, 0, outer_GBps)
        inside = min(per_box - 1, steps_inside) * inner_us
        between = min(2 * (n_boxes - 1), steps_between) * outer_us
        return bytes_[0] + inside, bytes_[1] + between, bytes_[2] + inside

    return wrong


def _one_lap_between(laps_waited: int, laps_moved: int):
    """Return the model whose ring between the boxes has so many laps of latencies, and of bytes."""

    def wrong(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
        first, middle, last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
        waiting = 2 * (n_boxes - 1) * outer_us
        return first, (laps_waited * waiting + laps_moved * (middle - waiting)) / 2, last

    return wrong


def _own_part_too(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, middle, last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    own = message_KB / per_box / inner_GBps
    return first + own, middle, last + own


def _own_part_of_more(**case) -> Three:
    return _own_part_too(**case) if case["per_box"] > 1 else hierarchical_us(**case)


def _one_part_whole(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps) -> Three:
    first, middle, _last = hierarchical_us(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    own = _own_part_too(message_KB, n_boxes, per_box, inner_us, inner_GBps, outer_us, outer_GBps)
    return first, middle, own[2]


def _box_cases(rng: np.random.Generator) -> list[Case]:
    edges, boxes = "one box, one GPU a box, no bytes", "boxes of GPUs"
    rows = [
        (1000.0, 1, 8, 1.0, 450.0, 5.0, 50.0, edges),
        (1000.0, 4, 1, 1.0, 450.0, 5.0, 50.0, edges),
        (0.0, 4, 8, 1.0, 450.0, 5.0, 50.0, edges),
        (1e6, 1, 2, 0.0, 300.0, 0.0, 25.0, edges),
        (8000.0, 4, 8, 1.0, 450.0, 5.0, 50.0, boxes),
        (1e6, 3, 6, 0.0, 300.0, 0.0, 25.0, boxes),
        (64.0, 16, 72, 1.0, 900.0, 4.0, 100.0, boxes),
    ]
    while len(rows) < 15:
        links = (
            round(float(rng.uniform(0.3, 3)), 2),
            round(float(rng.uniform(50, 900)), 1),
            round(float(rng.uniform(2, 20)), 2),
            round(float(rng.uniform(10, 100)), 1),
        )
        size_KB = round(float(np.exp(rng.uniform(3, 15))), 2)
        rows.append((size_KB, int(rng.integers(2, 33)), int(rng.integers(2, 17)), *links, boxes))
    names = ("message_KB", "n_boxes", "per_box", "inner_us", "inner_GBps", "outer_us", "outer_GBps")
    return [Case(dict(zip(names, row[:7], strict=True)), row[7]) for row in rows]


q2 = Question(
    id="05.q2",
    title=_("An all-reduce on two levels, part by part"),
    points=3,
    answer="hierarchical_us",
    kind="function",
    expects=Listing((Number("µs"), Number("µs"), Number("µs"))),
    inputs=_box_cases,
    reference=hierarchical_us,
    withholds=("course_lib.timing.closedform", "course_lib.explorers.lesson05"),
    misconceptions=(
        Misconception(
            "the closing all-gather of a shard",
            _gather_of_a_shard,
            _(
                "You price the closing all-gather with the size of a shard. It starts from shards, but every GPU has to receive "
                "all the others: its message is the whole vector."
            ),
        ),
        Misconception(
            "the whole message between boxes",
            _whole_between,
            _(
                "You send the whole message between the boxes. After the reduce-scatter each GPU has one shard to add up."
            ),
        ),
        Misconception(
            "all-reduces inside",
            _all_reduce_inside,
            _(
                "You pay twice inside the box, as if each of its parts were an all-reduce. A reduce-scatter is half of one, an "
                "all-gather the other half."
            ),
        ),
        Misconception(
            "all ranks in the ring between",
            _all_ranks_between,
            _(
                "Your ring between the boxes has all GPUs in it. There is one ring for each place in a box, with a GPU a box."
            ),
        ),
        Misconception(
            "one latency a part",
            _waits(1, 1),
            _(
                "You count one latency for each part, or none. The steps of a ring wait for one another: n − 1 in a lap."
            ),
            recognise=lambda given, **case: any(q2.expects.same(given, _waits(k, k)(**case)) for k in (0, 1)),
        ),
        Misconception(
            "one lap between the boxes",
            _one_lap_between(1, 1),
            _("Between the boxes you count one lap. An all-reduce takes two, in its steps and in its bytes."),
            recognise=lambda given, **case: any(
                q2.expects.same(given, _one_lap_between(*laps)(**case)) for laps in ((1, 1), (1, 2), (2, 1))
            ),
        ),
        Misconception(
            "its own part inside",
            _own_part_too,
            _("Inside the box you count the whole vector. A GPU keeps one part of it: (k − 1)/k go through its link."),
            recognise=lambda given, **case: any(
                q2.expects.same(given, wrong(**case)) for wrong in (_own_part_too, _own_part_of_more, _one_part_whole)
            ),
        ),
    ),
)
