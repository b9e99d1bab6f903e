"""Rings: several rings at once, each in an order of its own and with its share of the message, as libraries run them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.schedule import Schedule, Step
from course_lib.comm.step import IntArray, whole_array

MOST_SEARCHED = 16  # ranks up to which rings are searched in irregular machines


def balanced(n_ranks: int) -> IntArray:
    """Return rings (c, n) that together use every ordered pair of ranks equally often: for machines that join all pairs.

    Source: the zigzag of Walecki (Lucas, "Récréations mathématiques", 1892), turned n − 1 times, in both directions.

    >>> rings = balanced(8)
    >>> pairs = rings * 8 + np.roll(rings, -1, axis=1)
    >>> len(rings), sorted(set(np.bincount(pairs.ravel(), minlength=64).tolist()))
    (14, [0, 2])
    """
    n = whole("n_ranks", n_ranks, at_least=2, at_most=1024)
    if n == 2:
        return np.array([[0, 1]])
    place = np.arange(n - 1)
    zigzag = np.where(place % 2, (place + 1) // 2, -(place // 2)) % (n - 1)
    turned = (zigzag + place[:, None]) % (n - 1)
    rings = np.concatenate([turned, np.full((n - 1, 1), n - 1)], axis=1)
    return np.concatenate([rings, rings[:, ::-1]])


def disjoint(links: ArrayLike) -> IntArray:
    """Return rings (c, n) that share no link: as many as are found, each in both directions; (0, n) where there is none.

    links (n, n): cables between each two ranks. Searched depth first, fewest choices first.

    >>> square = np.array([[0, 2, 0, 1], [2, 0, 1, 0], [0, 1, 0, 2], [1, 0, 2, 0]])
    >>> disjoint(square).tolist()
    [[0, 1, 2, 3], [3, 2, 1, 0]]
    """
    left = np.array(links, dtype=np.int64)
    n = len(left)
    if left.shape != (n, n) or not 1 <= n <= MOST_SEARCHED:
        raise CourseError(_("links needs a square table of at most {most} ranks.").format(most=MOST_SEARCHED))
    if n == 2:
        return np.array([[0, 1]]) if left[0, 1] else np.zeros((0, 2), np.int64)
    best: list[tuple] = []
    most = int(left.sum(axis=1).min()) // 2

    def rings(path: list[int]):
        if len(path) == n:
            if left[path[-1], 0] and path[1] < path[-1]:
                yield tuple(path)
            return
        for b in sorted(set(range(1, n)) - set(path), key=lambda b: int(left[b].sum())):
            if left[path[-1], b]:
                yield from rings([*path, b])

    def use(ring: tuple, sign: int) -> None:
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            left[a, b] += sign
            left[b, a] += sign

    def search(found: list[tuple]) -> bool:
        nonlocal best
        if len(found) > len(best):
            best = list(found)
        if len(best) == most:
            return True
        for ring in list(rings([0])):
            use(ring, -1)
            if (left >= 0).all() and search([*found, ring]):
                return True
            use(ring, 1)
        return False

    search([])
    if not best:
        return np.zeros((0, n), np.int64)
    return np.concatenate([np.array(best), np.array(best)[:, ::-1]])


def _orders(orders: ArrayLike) -> IntArray:
    try:
        given = np.asarray(orders)
    except (ValueError, TypeError):
        given = np.zeros(0)
    if given.ndim == 1:
        given = given[None]
    if given.ndim != 2 or given.size == 0:
        raise CourseError(_("Rings are rows of a table: one row for each, with every rank once."))
    rows = whole_array("orders", given.reshape(-1)).reshape(given.shape)
    if (np.sort(rows, axis=1) != np.arange(rows.shape[1])).any():
        raise CourseError(_("Every ring needs every rank 0 … {last} once.").format(last=rows.shape[1] - 1))
    return rows


def _turns(orders: IntArray, reduce: bool) -> tuple[Step, ...]:
    """One step per turn: chunk r·c + i belongs to rank r and travels on ring i."""
    c, n = orders.shape
    place, steps = np.arange(n), []
    src, dst = orders.ravel(), np.roll(orders, -1, axis=1).ravel()
    for turn in range(n - 1):
        shard = orders[:, (place - turn - reduce) % n]
        steps.append(Step(src, dst, (shard * c + np.arange(c)[:, None]).ravel(), reduce))
    return tuple(steps)


def reduce_scatter(orders: ArrayLike) -> Schedule:
    """Ring reduce-scatter on several rings, each with its part of every shard; orders (c, n): the ranks along each ring.

    >>> reduce_scatter([[0, 1, 2, 3], [0, 2, 1, 3]]).repeats
    3
    """
    rows = _orders(orders)
    c, n = rows.shape
    return Schedule("reduce_scatter", n, n, n * c, _turns(rows, True), "ring")


def all_gather(orders: ArrayLike) -> Schedule:
    """Ring all-gather on several rings.

    >>> float(all_gather(balanced(8)).sent_B(8.0)[3])
    7.0
    """
    rows = _orders(orders)
    c, n = rows.shape
    return Schedule("all_gather", n, n, n * c, _turns(rows, False), "ring")


def all_reduce(orders: ArrayLike) -> Schedule:
    """Ring all-reduce on several rings: 2(n−1) repeats whatever their number.

    >>> all_reduce(balanced(8)).repeats
    14
    """
    return reduce_scatter(orders).then(all_gather(orders), op="all_reduce")


def broadcast(orders: ArrayLike, *, n_domains: int = 1, root: int = 0, pipeline: int = 4) -> Schedule:
    """Pipelined chains from the root round several rings, each with its share of the message.

    Args:
        orders: (c, m) the ranks of one domain along each ring; every domain has the same.
        n_domains: domains of m consecutive ranks. Every ring is taken m times, and each time another place of the domain
            hands the data on to the same place of the next domain, so that all cards work.
        root: rank that has the message.
        pipeline: pieces of a share.

    >>> wide = broadcast([[0, 1, 2, 3]], n_domains=3, pipeline=8)
    >>> wide.n_ranks, wide.chunks, wide.repeats
    (12, 32, 15)
    """
    return _chains("broadcast", orders, n_domains, root, pipeline)


def reduce(orders: ArrayLike, *, n_domains: int = 1, root: int = 0, pipeline: int = 4) -> Schedule:
    """The broadcast backwards, adding on the way.

    >>> reduce([[0, 1, 2, 3]], n_domains=3, pipeline=8).repeats
    15
    """
    return _chains("reduce", orders, n_domains, root, pipeline)


def _chains(op: str, orders: ArrayLike, n_domains: int, root: int, pipeline: int) -> Schedule:
    rows, d = _orders(orders), whole("n_domains", n_domains, at_least=1)
    pieces, m = whole("pipeline", pipeline, at_least=1), rows.shape[1]
    n = d * m
    root = whole("root", root, at_least=0, at_most=n - 1)
    home, start = divmod(root, m)
    doors = np.arange(len(rows)) % m if d == 1 else np.tile(np.arange(m), len(rows))
    rows = rows if d == 1 else np.repeat(rows, m, axis=0)
    near, far, depth, channel = _edges(rows, doors, d, home, start)
    if not near.size:
        return Schedule(op, n, n, len(rows) * pieces, (), "ring", root)
    outward = op == "broadcast"
    first = depth if outward else int(depth.max()) - depth
    src, dst = (near, far) if outward else (far, near)
    step = Step(src, dst, channel * pieces, not outward, 1, first, pieces, shift=1, window=pieces)
    return Schedule(op, n, n, len(rows) * pieces, (step,), "ring", root)


def _edges(rows: IntArray, doors: IntArray, d: int, home: int, start: int) -> Sequence[NDArray]:
    """Edges away from the root on every ring: nearer end, farther end, how deep it lies, which ring."""
    c, m = rows.shape
    where = np.argsort(rows, axis=1)  # place of each rank along each ring
    hop = np.arange(m - 1)
    ring = np.arange(c)[:, None]

    def chain(first: NDArray) -> tuple[IntArray, IntArray]:
        begin = where[ring[:, 0], first][:, None]
        return rows[ring, (begin + hop) % m], rows[ring, (begin + hop + 1) % m]

    reached = (where[ring[:, 0], doors] - where[ring[:, 0], start]) % m  # hops to the door in the root's domain
    parts = []
    for k in range(d):
        domain = (home + k) % d
        a, b = chain(np.full(c, start) if k == 0 else doors)
        depth = (0 if k == 0 else (reached + k)[:, None]) + hop
        parts.append((domain * m + a, domain * m + b, np.broadcast_to(depth, a.shape), np.broadcast_to(ring, a.shape)))
        if k:
            parts.append(((domain - 1) % d * m + doors, domain * m + doors, reached + k - 1, ring[:, 0]))
    return tuple(np.concatenate([np.ravel(part[i]) for part in parts]) for i in range(4))
