"""Execute: run a schedule on NumPy arrays; prove it (the same run on unit vectors) for every input."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.buffers import Layout
from course_lib.comm.engine import MAX_CELLS, ScheduleError, acts, carry
from course_lib.comm.meaning import wanted
from course_lib.comm.proof import Proof, prove
from course_lib.comm.schedule import Schedule

__all__ = ["Proof", "ScheduleError", "prove", "run"]


def run(
    schedule: Schedule,
    data: Sequence,
    *,
    cast: Callable[[np.ndarray], np.ndarray] | None = None,
) -> list[np.ndarray | None]:
    """Carry out a schedule on arrays, one per rank, and return what each rank holds at the end.

    data: n_ranks arrays of one length and dtype, any shape (they are used flat; all_reduce, broadcast, reduce and
    send_recv give the shape back). broadcast and scatter look at the root's only, the others may be None; reduce and
    gather return None elsewhere than at the root. Vectors that the collective shares out are cut into n parts of
    ceil(length / n); the last ones are shorter, or empty. all_to_all sends part d to rank d and returns the parts
    received, in order. `cast` is applied to every sum (for instance rounding to a narrow type), in transfer order.

    Errors: ScheduleError where the schedule races, moves a chunk that its sender never had, or leaves a result empty.

    >>> from course_lib.comm import ring
    >>> run(ring.all_reduce(3), np.arange(6.0).reshape(3, 2))
    [array([6., 9.]), array([6., 9.]), array([6., 9.])]
    >>> run(ring.reduce_scatter(2), [[1, 2, 3], [10, 20, 30]])
    [array([11, 22]), array([33])]
    """
    layout = Layout.of(schedule, data)
    if schedule.n_nodes * schedule.chunks * max(1, layout.chunk_elements) > MAX_CELLS:
        raise CourseError(_("This run would hold too many numbers; use shorter arrays or fewer ranks."))
    state = layout.pack(data)
    filled = np.zeros(state.shape[0], dtype=bool)
    add = (lambda old, new: old + new) if cast is None else (lambda old, new: cast(old + new))
    with np.errstate(over="ignore", invalid="ignore"):  # overflow of a narrow sum is a result, to be looked at
        for act in acts(schedule, filled):
            carry(state, act, add)
    missing = np.argwhere(
        wanted(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)
        & ~filled.reshape(schedule.n_nodes, -1)[: schedule.n_ranks]
    )
    if missing.size:
        rank, chunk = (int(v) for v in missing[0])
        text = _("At the end rank {rank} has nothing in chunk {chunk}.").format(rank=rank, chunk=chunk)
        raise ScheduleError(text, -1, -1, -1, rank, chunk)
    return layout.unpack(state)
