"""Collective: carries out one request that a group of ranks makes together, through a schedule, and counts its bytes."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.execute import run
from course_lib.comm.registry import build
from course_lib.comm.requests import AllGather, AllReduce, AllToAll, Broadcast, Entry, ReduceScatter
from course_lib.comm.schedule import Schedule


def as_array(rank: int, op: str, x: object) -> np.ndarray:
    """Return what a rank gives as an array of numbers, or raise a CourseError that names the rank.

    >>> as_array(0, "AllReduce", [1, 2]).tolist()
    [1, 2]
    """
    try:
        array = np.asarray(x)
    except (ValueError, TypeError):  # a ragged list
        array = np.asarray(None)
    if array.dtype.kind in "OSUMm":
        raise CourseError(
            _("Rank {r} gives {op} a {kind}; an array of numbers is expected.").format(
                r=rank, op=op, kind=type(x).__name__
            )
        )
    return array


def carry_out(group: tuple[int, ...], requests: list, algorithm: str | None = None) -> tuple[list, Entry | None]:
    """Run the collective that the ranks of `group` ask for, in that order; nothing is logged where one rank is alone.

    >>> carry_out((3, 5), [AllReduce(1.0), AllReduce(2.0)])[1].op
    'all_reduce'
    """
    kind, n = type(requests[0]), len(group)
    if kind is AllToAll:
        return _all_to_all(group, requests, algorithm)
    op = {AllReduce: "all_reduce", ReduceScatter: "reduce_scatter", AllGather: "all_gather", Broadcast: "broadcast"}[
        kind
    ]
    root = group.index(requests[0].root) if kind is Broadcast and requests[0].root in group else 0
    if kind is Broadcast and requests[0].root not in group:
        raise CourseError(_("Broadcast from rank {root}, which is not in its group.").format(root=requests[0].root))
    arrays = [
        None if kind is Broadcast and i != root else as_array(group[i], kind.__name__, request.x)
        for i, request in enumerate(requests)
    ]
    shapes = {(a.shape, a.dtype) for a in arrays if a is not None}
    if len(shapes) > 1:
        shown = "; ".join(f"rank {r}: {a.shape} {a.dtype}" for r, a in zip(group, arrays) if a is not None)
        raise CourseError(
            _("{op} needs one shape and dtype on all ranks; here: {shown}.").format(op=kind.__name__, shown=shown)
        )
    (shape, _dtype), axis = shapes.pop(), getattr(requests[0], "axis", 0)
    if kind in (ReduceScatter, AllGather):
        axis = whole("axis", axis, at_least=-len(shape), at_most=len(shape) - 1) if shape else 0
        arrays = [np.moveaxis(np.atleast_1d(a), axis, 0) for a in arrays]
        if kind is ReduceScatter and arrays[0].shape[0] % n:
            raise CourseError(
                _(
                    "ReduceScatter cuts {size} entries along axis {axis} over {n} ranks; {n} does not divide {size}."
                ).format(size=arrays[0].shape[0], axis=axis, n=n)
            )
    schedule = _schedule(op, n, algorithm, root)
    results = run(schedule, arrays)
    if kind in (ReduceScatter, AllGather):
        first, rest = arrays[0].shape[0], arrays[0].shape[1:]
        first = first // n if kind is ReduceScatter else first * n
        results = [np.moveaxis(result.reshape(first, *rest), 0, axis) for result in results]
    message = arrays[root].nbytes * (n if kind is AllGather else 1)
    return [result[()] if result.ndim == 0 else result for result in results], _entry(op, group, message, schedule)


def _all_to_all(group: tuple[int, ...], requests: list[AllToAll], algorithm: str | None) -> tuple[list, Entry | None]:
    n = len(group)
    if any(not hasattr(request.parts, "__len__") or isinstance(request.parts, str) for request in requests):
        raise CourseError(_("AllToAll needs a list of {n} parts, one per rank.").format(n=n))
    parts = [[as_array(r, "AllToAll", part) for part in q.parts] for r, q in zip(group, requests)]
    for r, mine in zip(group, parts):
        if len(mine) != n:
            raise CourseError(
                _("Rank {r} gives {given} parts to AllToAll; {n} are needed, one per rank.").format(
                    r=r, given=len(mine), n=n
                )
            )
    dtypes = {part.dtype for mine in parts for part in mine}
    if len(dtypes) > 1:
        shown = ", ".join(sorted(map(str, dtypes)))
        raise CourseError(_("AllToAll needs one dtype in all parts; here: {shown}.").format(shown=shown))
    most = max(part.size for mine in parts for part in mine)
    data = np.zeros(
        (n, n, most), dtype=dtypes.pop()
    )  # parts of unequal length are padded for the run, not for the count
    for r, mine in enumerate(parts):
        for d, part in enumerate(mine):
            data[r, d, : part.size] = part.reshape(-1)
    schedule = _schedule("all_to_all", n, algorithm, 0)
    results = []
    for r, received in enumerate(run(schedule, data.reshape(n, n * most))):
        received = received.reshape(n, most)
        results.append([received[s, : parts[s][r].size].reshape(parts[s][r].shape) for s in range(n)])
    sizes = np.array([[part.nbytes for part in mine] for mine in parts])
    message = int(max(sizes.sum(axis=0).max(), sizes.sum(axis=1).max()))
    entry = _entry("all_to_all", group, message, schedule)
    return results, None if entry is None else replace(entry, wire_B=float(sizes.sum() - np.trace(sizes)))


def _entry(op: str, group: tuple[int, ...], message: int, schedule: Schedule) -> Entry | None:
    if len(group) == 1:
        return None
    return Entry(op, group, int(message), float(schedule.sent_B(message).sum()), schedule.name)


@lru_cache(maxsize=256)
def _schedule(op: str, n: int, algorithm: str | None, root: int) -> Schedule:
    name = algorithm or ("direct" if op == "all_to_all" else "ring")
    return build(op, n, name, root=root) if op == "broadcast" else build(op, n, name)
