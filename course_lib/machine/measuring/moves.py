"""One rank's part of a schedule: what it sends, receives and adds, and numbers that show a wrong sum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.engine import acts
from course_lib.comm.meaning import REDUCING, buffers_B, owner, wanted
from course_lib.comm.schedule import Schedule

ELEMENT_B = 4  # float32: sums of whole numbers stay exact up to 2**24
LARGEST = 1000  # of the whole numbers that are added in a check


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive chunks that go to (or come from) `peer`; `add` says whether the receiver adds them."""

    peer: int
    tag: int
    begin: int
    stop: int
    add: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What one rank does in one repeat: all of it starts together."""

    sends: tuple[Piece, ...]
    receives: tuple[Piece, ...]


def turns(schedule: Schedule, rank: int) -> tuple[Turn, ...]:
    """Return what `rank` does in each repeat of a schedule, the repeats in which it does nothing left out.

    The schedule is checked on the way as `comm.execute` checks it. A transfer of several chunks is one message (two where it
    runs over the end of its block). Messages between two ranks are numbered alike on both sides.

    Args:
        schedule: what moves.
        rank: whose part.

    Raises:
        CourseError: no such rank; a schedule with switches that add (processes have none); or one that cannot be carried out.

    >>> from course_lib.comm import ring
    >>> first = turns(ring.all_reduce(3), 0)[0]
    >>> first.sends, first.receives
    ((Piece(peer=1, tag=0, begin=2, stop=3, add=True),), (Piece(peer=2, tag=2, begin=1, stop=2, add=True),))
    """
    rank = whole("rank", rank, at_least=0, at_most=schedule.n_ranks - 1)
    if schedule.n_nodes > schedule.n_ranks:
        raise CourseError(
            _(
                "{name} adds inside a switch; processes on a computer have no such switch. "
                "Measure ring, tree, halving-doubling or direct."
            ).format(name=schedule.name or schedule.op)
        )
    found = []
    for act in acts(schedule):
        moves = act.moves
        fresh = np.r_[True, (np.diff(moves.transfer) != 0) | (np.diff(moves.chunk) != 1)]
        begins = np.flatnonzero(fresh)
        stops = np.r_[begins[1:], moves.chunk.size]
        mine: tuple[list[Piece], list[Piece]] = ([], [])
        for tag, (a, z) in enumerate(zip(begins, stops)):
            src, dst, first = int(moves.src[a]), int(moves.dst[a]), int(moves.chunk[a])
            for side, (here, peer) in enumerate(((src, dst), (dst, src))):
                if here == rank:
                    mine[side].append(Piece(peer, tag, first, first + int(z - a), bool(moves.reduce[a])))
        if mine[0] or mine[1]:
            found.append(Turn(tuple(mine[0]), tuple(mine[1])))
    return tuple(found)


def chunk_elements(schedule: Schedule, message_B: float) -> int:
    """Return the float32 elements in one chunk, the last ones padded; at least one.

    >>> from course_lib.comm import ring
    >>> chunk_elements(ring.all_reduce(4), 8), chunk_elements(ring.all_reduce(4), 64)
    (1, 4)
    """
    elements = buffers_B(schedule.op, message_B, schedule.n_ranks) / ELEMENT_B
    return max(1, -(-int(np.ceil(elements)) // schedule.chunks))


def _part(rank: int, size: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng([seed, rank])
    return rng.integers(-LARGEST, LARGEST + 1, size, dtype=np.int16).astype(np.float32)


def start(schedule: Schedule, rank: int, per_chunk: int, seed: int = 0) -> NDArray[np.float32]:
    """Return the buffer of a rank before the collective, shape (chunks · per_chunk,): whole numbers, NaN where it has nothing.

    >>> from course_lib.comm import ring
    >>> np.isnan(start(ring.all_gather(2), 1, 3)).tolist()
    [True, True, True, False, False, False]
    """
    whose = owner(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)
    values = _part(rank, schedule.chunks * per_chunk, seed)
    values.reshape(schedule.chunks, per_chunk)[(whose >= 0) & (whose != rank)] = np.nan
    return values


def count_wrong(schedule: Schedule, rank: int, per_chunk: int, held: NDArray[np.float32], seed: int = 0) -> int:
    """Return how many elements of what a rank holds at the end are not what the collective promises.

    Every rank's numbers are drawn again from the seed and added here, so nothing is taken from the run itself. All are whole
    and small enough for exact sums, whatever the order.

    >>> from course_lib.comm import ring
    >>> both = start(ring.all_reduce(2), 0, 1) + start(ring.all_reduce(2), 1, 1)
    >>> count_wrong(ring.all_reduce(2), 0, 1, both), count_wrong(ring.all_reduce(2), 0, 1, both * 2)
    (0, 2)
    """
    n, size = schedule.n_ranks, schedule.chunks * per_chunk
    if schedule.op in REDUCING:
        due = np.zeros(size, np.float32)
        for other in range(n):
            due += _part(other, size, seed)
    else:
        due = np.zeros(size, np.float32)
        whose = np.repeat(owner(schedule.op, n, schedule.chunks, schedule.root), per_chunk)
        for other in sorted(set(whose.tolist())):
            due[whose == other] = _part(other, size, seed)[whose == other]
    mine = wanted(schedule.op, n, schedule.chunks, schedule.root)[rank]
    wrong = ~(held.reshape(-1, per_chunk) == due.reshape(-1, per_chunk))  # NaN is wrong
    return int(np.count_nonzero(wrong[mine]))
