"""Exercise 05, ring, tree, or the switch: crossings, two levels and a fix to them, 480 on a link of 450, bytes."""

import math

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Choice, Entries, Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.timing.closedform import Form, form, time_s
from course_lib.timing.contest import crossover_B
from course_lib.timing.wire import busbw_limit_Bps, carried, wire_Bps

# q1 ------------------------------------------------------------------------------------------------------------------

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


def _two_messages(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
    levels = form("all_reduce", "binomial", n_ranks).steps
    return _crossing(Form(levels, 2.0), form("all_reduce", "ring", n_ranks), latency_us, bandwidth_GBps)


def _sides_changed(n_ranks: int, latency_us: float, bandwidth_GBps: float) -> Crossing:
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
            _("You use log₂ n as it is. A tree of 5 ranks has 3 levels, as one of 8 does: round up."),
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
            "sides changed",
            _sides_changed,
            _("The size is right and the sides are changed: below the crossing the one with fewer steps is faster."),
        ),
    ),
)

# q2 ------------------------------------------------------------------------------------------------------------------

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
    ),
)

# q3 ------------------------------------------------------------------------------------------------------------------

VERDICTS = ("accept", "refuse")


def _claim(rng: np.random.Generator) -> dict[str, float]:
    return {"inner_GBps": 10.0 * int(rng.integers(12, 91))}


def _both_us(message_KB: float, per_box: int, inner_GBps: float) -> tuple[float, float]:
    """Return the µs of the closing all-gather by the fix, and the least that a GPU's link needs for what it has to receive."""
    share = (per_box - 1) / per_box
    return share * message_KB / per_box / inner_GBps, share * message_KB / inner_GBps


def _example(inner_GBps: float, verdict: str = "refuse", per_box: int = 8) -> dict:
    fix_us, least_us = _both_us(1000.0, per_box, inner_GBps)
    return {"verdict": verdict, "message_KB": 1000.0, "per_box": per_box, "fix_us": fix_us, "least_us": least_us}


def _counts(given: dict, inner_GBps: float) -> str:
    """Return "" if the case shows what is wrong with the fix, else why it does not."""
    if given["verdict"] != "refuse":
        return _(
            "The fix stands or falls with the bytes a GPU has to receive. Compare both times for eight GPUs a box."
        )
    message_KB, per_box = given["message_KB"], given["per_box"]
    if message_KB <= 0 or per_box < 1:
        return _("A counter-example needs a message above 0 KB and a box with GPUs in it.")
    fix_us, least_us = _both_us(message_KB, per_box, inner_GBps)
    if per_box == 1:
        return _("With one GPU a box both times are 0: that case does not tell the two apart.")
    for name, right in (("fix_us", fix_us), ("least_us", least_us)):
        if abs(given[name] - right) > 0.01 * right * (1 + 1e-9):
            return _("For your case {name} is not {value} µs.").format(name=name, value=f"{given[name]:.4g}")
    return ""


def _near(given: float, other: float) -> bool:
    return abs(given - other) <= 0.01 * abs(other)


def _own_shard(given: dict, inner_GBps: float) -> bool:
    return given["per_box"] > 1 and _near(given["least_us"], given["message_KB"] / inner_GBps)


def _both_shards(given: dict, inner_GBps: float) -> bool:
    fix_us, _least = _both_us(given["message_KB"], given["per_box"], inner_GBps)
    return given["per_box"] > 1 and _near(given["least_us"], fix_us)


q3 = Question(
    id="05.q3",
    title=_("Review a fix: accept it, or refuse it with a counter-example"),
    points=2,
    answer="review",
    expects=Entries(
        {
            "verdict": Choice(VERDICTS),
            "message_KB": Number("KB"),
            "per_box": Number(whole=True),
            "fix_us": Number("µs"),
            "least_us": Number("µs"),
        }
    ),
    parameters=_claim,
    reference=_example,
    accept=_counts,
    misconceptions=(
        Misconception(
            "the fix is accepted",
            lambda inner_GBps: _example(inner_GBps, "accept"),
            _(
                "You accept that an all-gather which starts from shards moves a fraction of the bytes. Count what one GPU lacks "
                "when it begins: all of the vector but its own shard."
            ),
            recognise=lambda given, inner_GBps: given["verdict"] == "accept",
        ),
        Misconception(
            "a case that shows nothing",
            lambda inner_GBps: _example(inner_GBps, per_box=1),
            _("With one GPU a box nothing moves inside, by either price. Take a case in which the two differ."),
            recognise=lambda given, inner_GBps: given["verdict"] == "refuse" and given["per_box"] == 1,
        ),
        Misconception(
            "its own shard counted",
            lambda inner_GBps: _example(inner_GBps) | {"least_us": 1000.0 / inner_GBps},
            _(
                "Your least time counts the whole vector. A GPU has its own shard already: (k − 1)/k of it has to come in."
            ),
            recognise=_own_shard,
        ),
        Misconception(
            "least for a shard",
            lambda inner_GBps: _example(inner_GBps) | {"least_us": _example(inner_GBps)["fix_us"]},
            _(
                "Your least time is the price of the fix. What a GPU has to receive is not a part of one shard, but all other shards."
            ),
            recognise=_both_shards,
        ),
    ),
)

# q4 ------------------------------------------------------------------------------------------------------------------

CAUSES = ("broken benchmark", "both directions", "faster link", "switch adds")
LINKS = ((8, 450.0), (8, 900.0), (16, 900.0), (36, 900.0), (72, 900.0), (72, 1800.0))


def _row(rng: np.random.Generator) -> dict[str, float]:
    """Return a row of nccl-tests on NVLS, its links two thirds to four fifths full, so that it prints more than the link."""
    n, link_GBps = LINKS[int(rng.integers(len(LINKS)))]
    busbw_Bps = float(rng.uniform(0.68, 0.8)) * float(busbw_limit_Bps("all_reduce", "in-network", n, link_GBps * GB))
    size_B = int(2 ** rng.integers(31, 35))
    time_us = round(size_B * 2 * (n - 1) / n / busbw_Bps / US, 1)
    return {"n_ranks": n, "link_GBps": link_GBps, "size_B": size_B, "time_us": time_us}


def explained(n_ranks: int, link_GBps: float, size_B: int, time_us: float) -> dict:
    """Return the bus bandwidth of a row, what a link carried in one direction, the most that could be printed, and why."""
    busbw_Bps = size_B / (time_us * US) * 2 * (n_ranks - 1) / n_ranks
    return {
        "busbw_GBps": busbw_Bps / GB,
        "wire_GBps": float(wire_Bps("all_reduce", "in-network", n_ranks, busbw_Bps)) / GB,
        "limit_GBps": float(busbw_limit_Bps("all_reduce", "in-network", n_ranks, link_GBps * GB)) / GB,
        "cause": "switch adds",
    }


def _algbw_GBps(n_ranks: int, link_GBps: float, size_B: int, time_us: float) -> float:
    return size_B / (time_us * US) / GB


q4 = Question(
    id="05.q4",
    title=_("More than the link"),
    points=2,
    answer="explained",
    expects=Entries(
        {
            "busbw_GBps": Number("GB/s"),
            "wire_GBps": Number("GB/s"),
            "limit_GBps": Number("GB/s"),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_row,
    reference=explained,
    misconceptions=(
        Misconception(
            "broken benchmark",
            {"cause": "broken benchmark"},
            _(
                "You put it down to a broken benchmark. Time and size are right. It multiplies with the bytes that ranks need "
                "without help, and here they had help."
            ),
        ),
        Misconception(
            "both directions",
            lambda n_ranks, link_GBps, size_B, time_us: {"cause": "both directions", "limit_GBps": 2 * link_GBps},
            _(
                "You think that both directions were added up. A bus bandwidth is one direction; the wire carries less than its "
                "rate in each."
            ),
        ),
        Misconception(
            "a faster link",
            {"cause": "faster link"},
            _("You make the link faster than its data sheet. Work out what it carried: it is below the data sheet."),
        ),
        Misconception(
            "bus bandwidth taken for the wire",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "wire_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us) * 2 * (n_ranks - 1) / n_ranks
            },
            _("That is the bus bandwidth again. A link carried 1 + 1/n messages, not 2(n − 1)/n of them."),
        ),
        Misconception(
            "algorithm bandwidth",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "busbw_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us)
            },
            _("That is the algorithm bandwidth, size over time. The bus bandwidth is 2(n − 1)/n times as large."),
        ),
        Misconception(
            "push-up for NVLS",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "wire_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us),
                "limit_GBps": 2 * (n_ranks - 1) / n_ranks * link_GBps,
            },
            _(
                "You count one message per direction, as in push-up. With NVLS an owner also pulls its sum and sends it back: "
                "1 + 1/n."
            ),
        ),
    ),
)

# q5 ------------------------------------------------------------------------------------------------------------------

Pair = tuple[float, float]
_WAY = {"ring": "ring", "nvls": "in-network", "push-up": "sharp"}


def sent_and_received(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    """Return the MB that one GPU sends and receives."""
    sent, received = carried(op, _WAY[way], n_ranks)
    return sent * message_MB, received * message_MB


def _doubles(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    sent, received = sent_and_received(op, "ring", n_ranks, message_MB)
    return (sent, received) if way == "ring" else (sent / 2, received / 2)


def _owner_forgotten(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    if (op, way) == ("all_reduce", "nvls"):
        return float(message_MB), float(message_MB)
    return sent_and_received(op, way, n_ranks, message_MB)


def _like_a_ring(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    return sent_and_received(op, way if op == "all_reduce" else "ring", n_ranks, message_MB)


def _together(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    both = sum(sent_and_received(op, way, n_ranks, message_MB))
    return both, both


def _turned(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    sent, received = sent_and_received(op, way, n_ranks, message_MB)
    return received, sent


def _byte_cases(rng: np.random.Generator) -> list[Case]:
    ring, switch = "ring", "in the switch"
    ops = ("all_reduce", "reduce_scatter", "all_gather")
    rows = [(op, "ring", 2, 100.0, ring) for op in ops] + [(op, "nvls", 2, 100.0, switch) for op in ops]
    rows += [("all_reduce", "push-up", 2, 100.0, switch), ("all_reduce", "nvls", 3, 0.0, switch)]
    for way, part in (("ring", ring), ("nvls", switch)):
        for op in ops:
            rows += [
                (op, way, int(rng.integers(3, 73)), round(float(rng.uniform(1, 8000)), 1), part) for _i in range(2)
            ]
    rows += [("all_reduce", "push-up", int(rng.integers(3, 73)), round(float(rng.uniform(1, 8000)), 1), switch)]
    names = ("op", "way", "n_ranks", "message_MB")
    return [Case(dict(zip(names, row[:4], strict=True)), row[4]) for row in rows]


q5 = Question(
    id="05.q5",
    title=_("What a GPU sends and receives when the switch helps"),
    points=2,
    answer="sent_and_received",
    kind="function",
    expects=Listing((Number("MB"), Number("MB"))),
    inputs=_byte_cases,
    reference=sent_and_received,
    withholds=(
        "course_lib.comm.innetwork",
        "course_lib.comm.registry",
        "course_lib.timing.wire",
        "course_lib.timing.closedform",
    ),
    misconceptions=(
        Misconception(
            "it doubles everything",
            _doubles,
            _(
                "You halve the bytes of the ring whenever the switch helps. Count them: a reduce-scatter still gives everything "
                "away, an all-gather still receives everything, and an all-reduce saves half only with very many GPUs."
            ),
        ),
        Misconception(
            "the owner's shard forgotten",
            _owner_forgotten,
            _(
                "With NVLS the owner of a shard also pulls its sum and sends it back to be copied: S/n more in each direction."
            ),
        ),
        Misconception(
            "like a ring but for the all-reduce",
            _like_a_ring,
            _(
                "You leave reduce-scatter and all-gather on the ring. Through the switch the two directions differ: one carries "
                "a whole message, the other a shard."
            ),
        ),
        Misconception(
            "both directions together",
            _together,
            _("You add up both directions. A link sends and receives at the same time; keep the two apart."),
        ),
        Misconception(
            "directions changed",
            _turned,
            _("Sent and received are changed: in a reduce-scatter a GPU gives a whole message and receives a shard."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5)
