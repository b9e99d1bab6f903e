"""Tree: few steps; the binomial tree for short messages, two binary trees in a pipeline for long ones."""

import numpy as np

from course_lib.base.errors import whole
from course_lib.comm.schedule import Schedule, Step
from course_lib.comm.step import IntArray


def _binomial(n: int, root: int, outward: bool) -> tuple[Step, ...]:
    steps, reach = [], 1
    while reach < n:
        near = np.arange(min(reach, n - reach))
        a, b = (root + near) % n, (root + near + reach) % n
        steps.append(Step(a, b, 0, False) if outward else Step(b, a, 0, True))
        reach *= 2
    return tuple(steps if outward else reversed(steps))


def binomial_broadcast(n_ranks: int, *, root: int = 0) -> Schedule:
    """Binomial broadcast: the number of ranks that have the message doubles each step; ⌈log₂ n⌉ steps, any n.

    >>> [binomial_broadcast(n).repeats for n in (1, 2, 3, 8, 9)]
    [0, 1, 2, 3, 4]
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    return Schedule("broadcast", n, n, 1, _binomial(n, root, True), "binomial", root)


def binomial_reduce(n_ranks: int, *, root: int = 0) -> Schedule:
    """Binomial reduce: the broadcast backwards, adding; ⌈log₂ n⌉ steps, any n.

    >>> print(binomial_reduce(3))
    reduce on 3 ranks, 1 chunk, binomial: 2 transfers in 2 repeats
    step 0: 2→0 chunk 0 add
    step 1: 1→0 chunk 0 add
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    return Schedule("reduce", n, n, 1, _binomial(n, root, False), "binomial", root)


def binomial_all_reduce(n_ranks: int) -> Schedule:
    """Binomial reduce to rank 0, then broadcast: 2⌈log₂ n⌉ steps, but the whole message in each.

    >>> binomial_all_reduce(131072).repeats
    34
    """
    return binomial_reduce(n_ranks).then(binomial_broadcast(n_ranks), op="all_reduce")


def _in_order_parents(n: int) -> tuple[IntArray, IntArray]:
    """Parent and depth of places 1 … n−1 in an in-order binary tree that hangs under place 0.

    The lowest set bit of a place says how high it sits: odd places are leaves. A place whose parent is
    beyond the end hangs under the nearest place before it.
    """
    place = np.arange(1, n)
    bit = place & -place
    parent = (place & ~bit) | (bit << 1)
    parent = np.where(parent < n, parent, place & ~bit)
    depth, at = np.zeros(n - 1, dtype=np.int64), place.copy()
    while at.any():
        depth += at > 0
        at = np.where(at > 0, np.concatenate([[0], parent])[at], 0)
    return parent, depth


def _double(n: int, root: int, pieces: int, up: bool, down: bool) -> tuple[Step, ...]:
    """One pipelined step over both trees; each works on its own half of the chunks."""
    if n == 1:
        return ()
    place = np.arange(1, n)
    parent, depth = _in_order_parents(n)
    height = int(depth.max())
    # The second tree has the same shape; ranks that are inner nodes in the first are leaves in it, and back.
    other = n - place if n % 2 else place % (n - 1) + 1
    at_place = np.concatenate([[0], other])
    src, dst, chunk, reduce, first = [], [], [], [], []
    for half, name in enumerate((np.arange(n), at_place)):
        child, above = (name[place] + root) % n, (name[parent] + root) % n
        if up:  # deepest first; a node sends a piece on when both its children have delivered it
            src, dst, first = [*src, child], [*dst, above], [*first, height - depth]
        if down:
            src, dst, first = [*src, above], [*dst, child], [*first, (height if up else 0) + depth - 1]
        chunk.append(np.full((n - 1) * (up + down), half * pieces))
        reduce += [np.full(n - 1, True)] * up + [np.full(n - 1, False)] * down
    arrays = [np.concatenate(parts) for parts in (src, dst, chunk, reduce)]
    return (Step(*arrays, first=np.concatenate(first), count=pieces, shift=1, window=pieces),)


def _double_schedule(op: str, n_ranks: int, root: int, pipeline: int, up: bool, down: bool) -> Schedule:
    n, pieces = whole("n_ranks", n_ranks, at_least=1), whole("pipeline", pipeline, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    return Schedule(op, n, n, 2 * pieces, _double(n, root, pieces, up, down), "tree", root)


def all_reduce(n_ranks: int, *, pipeline: int = 4) -> Schedule:
    """Double binary tree all-reduce: up and down two trees, each with half the message in `pipeline` pieces.

    Every rank but one is an inner node in one tree and a leaf in the other, so both directions of its link are busy:
    2·height − 1 + pipeline repeats, in each of which a rank sends at most 4 pieces of 1/(2·pipeline) of the message.
    Source: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009).

    >>> tree = all_reduce(8, pipeline=16)
    >>> len(tree.steps), tree.repeats, float(tree.sent_B(1.0).max())
    (1, 21, 2.0)
    """
    return _double_schedule("all_reduce", n_ranks, 0, pipeline, True, True)


def broadcast(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """Broadcast down two binary trees under the root, half the message each, in `pipeline` pieces.

    >>> float(broadcast(9, pipeline=8).sent_B(1.0).max())
    1.0
    """
    return _double_schedule("broadcast", n_ranks, root, pipeline, False, True)


def reduce(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """Reduce up two binary trees under the root, half the message each, in `pipeline` pieces.

    >>> float(reduce(9, pipeline=8).received_B(1.0).max())
    1.0
    """
    return _double_schedule("reduce", n_ranks, root, pipeline, True, False)
