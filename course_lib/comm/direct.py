"""Direct: everybody sends to everybody at once; one latency, n−1 transfers per rank."""

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.schedule import Schedule, Step
from course_lib.comm.step import IntArray

MAX_RANKS = 4096  # n² transfers: beyond this the closed form is the tool


def _pairs(n_ranks: int) -> tuple[int, IntArray, IntArray]:
    n = whole("n_ranks", n_ranks, at_least=1)
    if n > MAX_RANKS:
        raise CourseError(
            _(
                "A direct algorithm on {n} ranks has {pairs:,} transfers; schedules are built up to {most} ranks, "
                "beyond that use its closed form."
            ).format(n=n, pairs=n * (n - 1), most=MAX_RANKS)
        )
    src = np.repeat(np.arange(n), n - 1)
    shift = np.tile(np.arange(1, n), n)  # each rank begins with its right-hand neighbour: no two with the same
    return n, src, (src + shift) % n


def _one_step(n: int, *args: object) -> tuple[Step, ...]:
    return (Step(*args),) if n > 1 else ()


def reduce_scatter(n_ranks: int) -> Schedule:
    """Every rank sends shard d to rank d, which adds: one step.

    >>> reduce_scatter(8).repeats, reduce_scatter(8).n_transfers
    (1, 56)
    """
    n, src, dst = _pairs(n_ranks)
    return Schedule("reduce_scatter", n, n, n, _one_step(n, src, dst, dst, True), "direct")


def all_gather(n_ranks: int) -> Schedule:
    """Every rank sends its shard to all others: one step.

    >>> float(all_gather(8).sent_B(8.0)[0])
    7.0
    """
    n, src, dst = _pairs(n_ranks)
    return Schedule("all_gather", n, n, n, _one_step(n, src, dst, src, False), "direct")


def all_reduce(n_ranks: int) -> Schedule:
    """Direct reduce-scatter, then direct all-gather: two steps with the bytes of a ring.

    >>> all_reduce(8).repeats
    2
    """
    return reduce_scatter(n_ranks).then(all_gather(n_ranks), op="all_reduce")


def all_to_all(n_ranks: int) -> Schedule:
    """Every rank sends a part of its own to every other: chunk source · n + destination, one step.

    >>> print(all_to_all(2))
    all_to_all on 2 ranks, 4 chunks, direct: 2 transfers in 1 repeat
    step 0: 0→1 chunk 1 copy; 1→0 chunk 2 copy
    """
    n, src, dst = _pairs(n_ranks)
    return Schedule("all_to_all", n, n, n * n, _one_step(n, src, dst, src * n + dst, False), "direct")


def send_recv(n_ranks: int) -> Schedule:
    """Every rank sends its buffer to the next one, as nccl-tests measures it: one step.

    >>> print(send_recv(3))
    send_recv on 3 ranks, 3 chunks, direct: 3 transfers in 1 repeat
    step 0: 0→1 chunk 0 copy; 1→2 chunk 1 copy; 2→0 chunk 2 copy
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    rank = np.arange(n)
    return Schedule("send_recv", n, n, n, _one_step(n, rank, (rank + 1) % n, rank, False), "direct")


def _rooted(op: str, n_ranks: int, root: int, outward: bool, reduce: bool) -> Schedule:
    n = whole("n_ranks", n_ranks, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    others = (root + np.arange(1, n)) % n
    shared = op in ("scatter", "gather")
    ends = (np.full(n - 1, root), others) if outward else (others, np.full(n - 1, root))
    steps = _one_step(n, *ends, others if shared else 0, reduce)
    return Schedule(op, n, n, n if shared else 1, steps, "direct", root)


def scatter(n_ranks: int, *, root: int = 0) -> Schedule:
    """The root sends every other rank its shard: one step.

    >>> float(scatter(8).sent_B(8.0)[0])
    7.0
    """
    return _rooted("scatter", n_ranks, root, True, False)


def gather(n_ranks: int, *, root: int = 0) -> Schedule:
    """Every rank sends its shard to the root: one step.

    >>> gather(8, root=3).n_transfers
    7
    """
    return _rooted("gather", n_ranks, root, False, False)


def broadcast(n_ranks: int, *, root: int = 0) -> Schedule:
    """The root sends the whole message to every other rank, one after the other over its one link.

    >>> float(broadcast(8).sent_B(1.0)[0])
    7.0
    """
    return _rooted("broadcast", n_ranks, root, True, False)


def reduce(n_ranks: int, *, root: int = 0) -> Schedule:
    """Every rank sends its whole message to the root, which adds.

    >>> float(reduce(8).received_B(1.0)[0])
    7.0
    """
    return _rooted("reduce", n_ranks, root, False, True)
