"""Ring: every rank passes chunks to its right-hand neighbour; least bytes, most steps."""

import numpy as np

from course_lib.base.errors import whole
from course_lib.comm.schedule import Schedule, Step


def _pass_on(n: int, start: int, reduce: bool) -> tuple[Step, ...]:
    """One step: rank r first sends chunk r + start, then the one before it, n−1 times."""
    if n == 1:
        return ()
    rank = np.arange(n)
    return (Step(rank, (rank + 1) % n, (rank + start) % n, reduce, count=n - 1, shift=-1, window=n),)


def reduce_scatter(n_ranks: int) -> Schedule:
    """Ring reduce-scatter: n−1 repeats; rank r ends with the sum of shard r.

    Each rank sends (n−1)/n of the message. One step, whatever the number of ranks.

    >>> print(reduce_scatter(3))
    reduce_scatter on 3 ranks, 3 chunks, ring: 6 transfers in 2 repeats
    step 0: 0→1 chunk 2 add (0+2); 1→2 chunk 0 add (0+2); 2→0 chunk 1 add (0+2); 2 repeats, chunk -1 each, window 3
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    return Schedule("reduce_scatter", n, n, n, _pass_on(n, -1, True), "ring")


def all_gather(n_ranks: int) -> Schedule:
    """Ring all-gather: n−1 repeats; every shard goes once round the ring.

    >>> float(all_gather(8).sent_B(800.0)[0])
    700.0
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    return Schedule("all_gather", n, n, n, _pass_on(n, 0, False), "ring")


def all_reduce(n_ranks: int) -> Schedule:
    """Ring all-reduce: reduce-scatter, then all-gather; 2(n−1) repeats, each rank sends 2(n−1)/n of the message.

    >>> all_reduce(8).repeats, len(all_reduce(131072).steps)
    (14, 2)
    """
    return reduce_scatter(n_ranks).then(all_gather(n_ranks), op="all_reduce")


def _chain(n: int, root: int, pieces: int, outward: bool) -> tuple[Step, ...]:
    if n == 1:
        return ()
    place = np.arange(n - 1)  # of each link along the chain, counted from the root
    near, far = (root + place) % n, (root + place + 1) % n
    if outward:
        step = Step(near, far, np.zeros(n - 1, int), False, first=place, count=pieces, shift=1, window=pieces)
    else:
        step = Step(far, near, np.zeros(n - 1, int), True, first=place[::-1], count=pieces, shift=1, window=pieces)
    return (step,)


def broadcast(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """Pipelined chain from the root round the ring: `pipeline` pieces, n − 2 + pipeline repeats.

    >>> broadcast(8, pipeline=16).repeats
    22
    """
    n, pieces = whole("n_ranks", n_ranks, at_least=1), whole("pipeline", pipeline, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    return Schedule("broadcast", n, n, pieces, _chain(n, root, pieces, True), "ring", root)


def reduce(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """Pipelined chain towards the root, adding on the way: `pipeline` pieces, n − 2 + pipeline repeats.

    >>> reduce(8, pipeline=16).repeats
    22
    """
    n, pieces = whole("n_ranks", n_ranks, at_least=1), whole("pipeline", pipeline, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    return Schedule("reduce", n, n, pieces, _chain(n, root, pieces, False), "ring", root)
