"""In-network: switches that add and copy; NVLS inside one box, push-up and multicast-down (SHARP) over levels of switches."""

from collections.abc import Sequence

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.direct import MAX_RANKS
from course_lib.comm.schedule import Schedule, Step

ADDER, COPIER = 0, 1  # NVLS uses the switch twice: once it adds, once it copies; two nodes at one place


def _sizes(n_ranks: int, pipeline: int, pairs: bool = False) -> tuple[int, int]:
    if pairs and n_ranks > MAX_RANKS and pipeline > 1:
        raise CourseError(
            _("In {k} pieces this needs {n}² transfers; on more than {most} ranks use pipeline=1.").format(
                k=pipeline, n=n_ranks, most=MAX_RANKS
            )
        )
    return whole("n_ranks", n_ranks, at_least=1), whole("pipeline", pipeline, at_least=1)


def nvls_all_reduce(n_ranks: int, *, pipeline: int = 4) -> Schedule:
    """NVLS all-reduce: the owner of a shard pulls its sum through the switch and multicasts it back to all.

    Every rank is asked for all n shards (S bytes, its own included), receives one sum (S/n), sends it to the switch
    (S/n), and receives all of them (S): S·(1 + 1/n) per direction. In `pipeline` pieces the four stages overlap:
    pipeline + 3 repeats. Node n adds, node n + 1 copies; both are the same switch. Holds for NVLink switches with
    multimem loads and stores (NVLink 4 and later). A rank gets its own sum back with the multicast; nothing changes there.

    >>> both = nvls_all_reduce(8, pipeline=16)
    >>> float(both.sent_B(8.0)[0]), float(both.received_B(8.0)[0]), both.repeats
    (9.0, 9.0, 19)
    """
    n, pieces = _sizes(n_ranks, pipeline)
    if n == 1:
        return Schedule("all_reduce", 1, 1, 1, (), "in-network")
    rank, adder, copier = np.arange(n), np.full(n, n + ADDER), np.full(n, n + COPIER)
    zero, one = np.zeros(n, int), np.ones(n, int)
    step = Step(  # chunks lie piece by piece: n shards of the first piece, n of the second …
        src=np.concatenate([rank, adder, rank, copier]),
        dst=np.concatenate([adder, rank, copier, rank]),
        chunk=np.concatenate([zero, rank, rank, zero]),
        reduce=np.repeat([True, False, False, False], n),
        width=np.concatenate([n * one, one, one, n * one]),
        first=np.repeat(np.arange(4), n),
        count=pieces,
        shift=n,
        window=n * pieces,
    )
    return Schedule("all_reduce", n, n + 2, n * pieces, (step,), "in-network")


def nvls_reduce_scatter(n_ranks: int, *, pipeline: int = 1) -> Schedule:
    """NVLS reduce-scatter: every owner pulls its sum through the switch. A rank sends S and receives S/n.

    >>> float(nvls_reduce_scatter(8).sent_B(8.0)[0]), float(nvls_reduce_scatter(8).received_B(8.0)[0])
    (8.0, 1.0)
    """
    n, pieces = _sizes(n_ranks, pipeline, pairs=True)
    rank = np.arange(n)
    pull = (np.full(n, n), rank, rank * pieces, False, 1)
    if n == 1:
        return Schedule("reduce_scatter", 1, 1, 1, (), "in-network")
    if pieces == 1:
        steps = (Step(rank, n, 0, True, n), Step(*pull))
    else:
        src = np.concatenate([np.repeat(rank, n), pull[0]])
        dst = np.concatenate([np.full(n * n, n), rank])
        chunk = np.concatenate([np.tile(pull[2], n), pull[2]])
        stage = np.repeat([0, 1], [n * n, n])
        steps = (Step(src, dst, chunk, stage == 0, 1, stage, pieces, 1, pieces),)
    return Schedule("reduce_scatter", n, n + 1, n * pieces, steps, "in-network")


def nvls_all_gather(n_ranks: int, *, pipeline: int = 1) -> Schedule:
    """NVLS all-gather: every rank stores its shard to the switch, which copies it to all. A rank sends S/n, receives S.

    >>> float(nvls_all_gather(8).sent_B(8.0)[0])
    1.0
    """
    n, pieces = _sizes(n_ranks, pipeline, pairs=True)
    if n == 1:
        return Schedule("all_gather", 1, 1, 1, (), "in-network")
    rank = np.arange(n)
    if pieces == 1:
        steps = (Step(rank, n, rank, False), Step(n, rank, 0, False, n))
    else:
        src = np.concatenate([rank, np.full(n * n, n)])
        dst = np.concatenate([np.full(n, n), np.repeat(rank, n)])
        chunk = np.concatenate([rank, np.tile(rank, n)]) * pieces
        steps = (Step(src, dst, chunk, False, 1, np.repeat([0, 1], [n, n * n]), pieces, 1, pieces),)
    return Schedule("all_gather", n, n + 1, n * pieces, steps, "in-network")


def nvls_broadcast(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """The root stores to the switch, which copies to all the others, in `pipeline` pieces.

    >>> nvls_broadcast(8, pipeline=4).repeats
    5
    """
    return _through_one(n_ranks, root, pipeline, False)


def nvls_reduce(n_ranks: int, *, root: int = 0, pipeline: int = 4) -> Schedule:
    """The root pulls the sum of all ranks through the switch, in `pipeline` pieces.

    >>> float(nvls_reduce(8).received_B(8.0)[0])
    8.0
    """
    return _through_one(n_ranks, root, pipeline, True)


def _through_one(n_ranks: int, root: int, pipeline: int, reduce: bool) -> Schedule:
    n, pieces = _sizes(n_ranks, pipeline)
    root = whole("root", root, at_least=0, at_most=n - 1)
    op = "reduce" if reduce else "broadcast"
    if n == 1:
        return Schedule(op, 1, 1, 1, (), "in-network")
    many = np.arange(n) if reduce else np.delete(np.arange(n), root)
    src = np.append(many, n) if reduce else np.insert(np.full(n - 1, n), 0, root)
    dst = np.append(np.full(n, n), root) if reduce else np.insert(many, 0, n)
    first = np.repeat([0, 1], [n, 1] if reduce else [1, n - 1])
    step = Step(src, dst, 0, reduce & (first == 0), 1, first, pieces, 1, pieces)
    return Schedule(op, n, n + 1, pieces, (step,), "in-network", root)


def switch_levels(n_ranks: int, radix: int | Sequence[int]) -> list[list[np.ndarray]]:
    """Share ranks out to switches, these to the next level's, until one is left: per level, the ranks under each.

    >>> [[len(ranks) for ranks in level] for level in switch_levels(10, 4)]
    [[4, 3, 3], [10]]
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    radices = [whole("radix", r, at_least=2) for r in (radix if np.ndim(radix) else [radix])]
    if not radices:
        raise CourseError(
            _("radix is empty; what hangs under one switch is expected, one number or one for each level.")
        )
    levels: list[list[np.ndarray]] = []
    below: list[np.ndarray] = [np.array([r]) for r in range(n)]
    while len(below) > 1 or not levels:
        r = radices[min(len(levels), len(radices) - 1)]
        shares = np.array_split(np.arange(len(below)), -(-len(below) // r))
        below = [np.concatenate([below[i] for i in share]) for share in shares]
        levels.append(below)
    return levels


def _climb(n: int, radix: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Edges (below, above, level) of the tree of switches, and a rank under each switch and its level."""
    levels = switch_levels(n, radix)
    names, first_rank = np.arange(n), np.arange(n)
    below, above, level, under, depth = [], [], [], [], []
    top = n
    for i, groups in enumerate(levels):
        ranks = np.array([g[0] for g in groups])
        parent = np.searchsorted(ranks, first_rank, side="right") - 1
        below.append(names)
        above.append(top + parent)
        level.append(np.full(names.size, i))
        under.append(ranks)
        depth.append(np.full(ranks.size, i))
        names, first_rank = top + np.arange(ranks.size), ranks
        top += ranks.size
    return tuple(np.concatenate(parts) for parts in (below, above, level, under, depth))


def sharp_all_reduce(n_ranks: int, *, radix: int | Sequence[int] = 32, pipeline: int = 4) -> Schedule:
    """Push up, multicast down: each switch adds what comes from below, the top one sends the sum down again.

    A rank sends S and receives S, whatever their number. `radix`: how many ranks or switches hang under one switch, one
    number or one per level. In `pipeline` pieces: pipeline + 2·levels − 1 repeats. Holds for switches with reduction
    trees, such as InfiniBand's SHARP. Source: Graham and others, "Scalable Hierarchical Aggregation Protocol" (2016).

    >>> pushed = sharp_all_reduce(64, radix=8, pipeline=4)
    >>> pushed.n_nodes - 64, pushed.repeats, float(pushed.sent_B(1.0)[0]), float(pushed.received_B(1.0)[0])
    (9, 7, 1.0, 1.0)
    """
    return _sharp("all_reduce", n_ranks, 0, radix, pipeline)


def sharp_reduce(n_ranks: int, *, root: int = 0, radix: int | Sequence[int] = 32, pipeline: int = 4) -> Schedule:
    """Push up as in the all-reduce, then down the one path to the root.

    >>> float(sharp_reduce(64, radix=8).received_B(1.0)[:64].sum())
    1.0
    """
    return _sharp("reduce", n_ranks, root, radix, pipeline)


def sharp_broadcast(n_ranks: int, *, root: int = 0, radix: int | Sequence[int] = 32, pipeline: int = 4) -> Schedule:
    """Up the one path from the root, then copied down to everybody else.

    >>> float(sharp_broadcast(64, radix=8).sent_B(1.0)[:64].sum())
    1.0
    """
    return _sharp("broadcast", n_ranks, root, radix, pipeline)


def _sharp(op: str, n_ranks: int, root: int, radix: int | Sequence[int], pipeline: int) -> Schedule:
    n, pieces = _sizes(n_ranks, pipeline)
    root = whole("root", root, at_least=0, at_most=n - 1)
    if n == 1:
        return Schedule(op, 1, 1, 1, (), "sharp")
    below, above, level, under, depth = _climb(n, radix)
    top, path, at = int(level.max()), np.zeros(below.size, dtype=bool), root
    for _level in range(top + 1):
        edge = int(np.flatnonzero(below == at)[0])
        path[edge], at = True, above[edge]
    everything = np.ones(below.size, dtype=bool)
    up, down = {"all_reduce": (everything, everything), "reduce": (everything, path), "broadcast": (path, ~path)}[op]
    step = Step(
        src=np.concatenate([below[up], above[down]]),
        dst=np.concatenate([above[up], below[down]]),
        chunk=0,
        reduce=np.repeat([op != "broadcast", False], [up.sum(), down.sum()]),
        first=np.concatenate([level[up], 2 * top + 1 - level[down]]),
        count=pieces,
        shift=1,
        window=pieces,
    )
    return Schedule(op, n, n + under.size, pieces, (step,), "sharp", root, under, depth)
