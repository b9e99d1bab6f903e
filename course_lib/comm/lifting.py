"""Lift: tile one schedule over many groups at once, renaming nodes and chunks; how hierarchies are put together."""

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.schedule import Schedule
from course_lib.comm.step import ARRAYS, IntArray, Step


def lift(
    schedule: Schedule, node_map: IntArray, chunk_base: IntArray, chunk_scale: int = 1, chunk_width: int | None = None
) -> tuple[Step, ...]:
    """Tile a schedule over groups: its steps with every node and chunk renamed, all groups at the same time.

    node_map (g, n_nodes): the new node for each old one, per group. chunk_base (g,): where the group's chunks begin.
    Chunk c becomes the `chunk_width` chunks from chunk_base + c · chunk_scale on (chunk_width: chunk_scale unless given;
    a smaller one leaves gaps that belong to other groups). Blocks have to stay blocks: a base is a multiple of the
    lifted window, or lies within the first chunk_scale chunks of one.

    >>> swap = Schedule.from_transfers("all_gather", 2, 2, [[(0, 1, 0, "copy"), (1, 0, 1, "copy")]])
    >>> lifted = lift(swap, [[0, 1], [2, 3]], [0, 2])[0]
    >>> lifted.src, lifted.dst, lifted.chunk
    (array([0, 1, 2, 3]), array([1, 0, 3, 2]), array([0, 1, 2, 3]))
    """
    node_map = np.asarray(node_map, dtype=np.int64)
    base = np.asarray(chunk_base, dtype=np.int64)
    scale = whole("chunk_scale", chunk_scale, at_least=1)
    wide = scale if chunk_width is None else whole("chunk_width", chunk_width, at_least=1, at_most=scale)
    if node_map.ndim != 2 or node_map.shape[1] != schedule.n_nodes or base.shape != node_map.shape[:1]:
        raise CourseError(
            _("node_map needs shape (groups, {n}) and chunk_base (groups,); they have {a} and {b}.").format(
                n=schedule.n_nodes, a=node_map.shape, b=base.shape
            )
        )
    lifted = []
    for i, step in enumerate(schedule.steps):
        window = step.window if schedule.chunks % step.window == 0 else schedule.chunks
        if step.shift and (base % (window * scale) >= scale).any():
            raise CourseError(
                _("Step {i} moves chunks in blocks of {w}; a group cannot begin at chunk {b}.").format(
                    i=i, w=window * scale, b=int(base[base % (window * scale) >= scale][0])
                )
            )
        parts = {name: getattr(step, name) for name in ARRAYS}
        if wide < scale and (step.width > 1).any():
            if step.shift:
                raise CourseError(_("Step {i} has wide, moving transfers; they cannot be spread.").format(i=i))
            rows = np.repeat(np.arange(len(step)), step.width)
            inside = np.arange(rows.size) - np.repeat(np.cumsum(step.width) - step.width, step.width)
            parts = {name: array[rows] for name, array in parts.items()}
            parts["chunk"], parts["width"] = parts["chunk"] + inside, np.int64(1)
        tiled = {name: _tile(parts[name], len(base)) for name in ("reduce", "first", "count")}
        tiled["width"] = _tile(np.asarray(parts["width"]) * wide, len(base))
        chunk = (base[:, None] + parts["chunk"][None, :] * scale).ravel()
        lifted_window = window * scale if step.shift else None
        lifted.append(
            Step(
                node_map[:, parts["src"]].ravel(),
                node_map[:, parts["dst"]].ravel(),
                chunk,
                shift=step.shift * scale,
                window=lifted_window,
                **tiled,
            )
        )
    return tuple(lifted)


def _tile(array: np.ndarray, times: int) -> np.ndarray:
    """Repeat (t,) for every group, or keep one number where all are equal: 131,072 ranks stay cheap."""
    if array.size and (array == array.flat[0]).all():
        return array.flat[0]
    return np.tile(array, times)
