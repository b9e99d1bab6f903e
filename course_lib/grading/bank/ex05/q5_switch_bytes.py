"""Question 05.q5: what a GPU sends and receives when the switch helps."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.timing.busbw import carried

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


def _one_lap(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    sent, received = sent_and_received(op, way, n_ranks, message_MB)
    return (sent / 2, received / 2) if (op, way) == ("all_reduce", "ring") else (sent, received)


def _ring_sends_all(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    sent, received = sent_and_received(op, way, n_ranks, message_MB)
    whole = n_ranks / (n_ranks - 1) if way == "ring" else 1.0
    return sent * whole, received * whole


def _own_part_kept(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    shard = message_MB / n_ranks
    sent, received = sent_and_received(op, way, n_ranks, message_MB)
    if way != "nvls":
        return sent, received
    return (
        sent - shard * (op in ("all_reduce", "reduce_scatter")),
        received - shard * (op in ("all_reduce", "all_gather")),
    )


def _first_half(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    return sent_and_received("reduce_scatter" if way == "nvls" and op == "all_reduce" else op, way, n_ranks, message_MB)


def _pushed_as_owned(op: str, way: str, n_ranks: int, message_MB: float) -> Pair:
    return sent_and_received(op, "nvls" if way == "push-up" else way, n_ranks, message_MB)


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
        "course_lib.timing.busbw",
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
            "directions exchanged",
            _turned,
            _("Sent and received are exchanged: in a reduce-scatter a GPU gives a whole message and receives a shard."),
        ),
        Misconception(
            "an all-reduce is one lap",
            _one_lap,
            _(
                "For the all-reduce round a ring you count one lap. It takes two: one that adds and one that hands out the sums."
            ),
        ),
        Misconception(
            "the ring sends all",
            _ring_sends_all,
            _("Round the ring you count the part that a GPU keeps. In a lap it sends n − 1 of n parts."),
        ),
        Misconception(
            "its own part kept from the switch",
            _own_part_kept,
            _(
                "With NVLS you keep a GPU's own part back. It gives that to the switch as well, and gets its own shard with the copy."
            ),
        ),
        Misconception(
            "half of the all-reduce",
            _first_half,
            _(
                "With NVLS your all-reduce ends half-way: everything given, one shard got. The sums still have to be handed out."
            ),
        ),
        Misconception(
            "push-up as with owners",
            _pushed_as_owned,
            _(
                "You count S/n more for push-up, too. Nobody owns a shard there: a message goes up, and a message comes down."
            ),
        ),
    ),
)
