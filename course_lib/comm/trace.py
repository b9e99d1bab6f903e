"""Trace: what every rank holds after every repeat, for pictures of a schedule in space and time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.engine import MAX_CELLS, ScheduleError, acts, carry, check_size, count_parts, first_state
from course_lib.comm.meaning import wanted
from course_lib.comm.schedule import Schedule
from course_lib.comm.step import Moves


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The states of a schedule, frame by frame; frame 0 is the start, frame f + 1 the state after repeat f.

    parts (frames, n_nodes, chunks): contributions in each slot, 0 where it holds nothing; for collectives that only move
    data, 1 where the chunk is. wrong (frames, n_nodes, chunks): a contribution is in there more than once. arrived
    (frames, n_nodes, chunks): written in the repeat before this frame. moves, step, repeat: per repeat, what moved and
    where in the schedule that is. wanted (n_ranks, chunks): slots the collective promises; full: parts each should have.
    fault: the sentence with which a faulty schedule stops, else "".
    """

    schedule: Schedule
    parts: NDArray[np.int32]
    wrong: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    moves: tuple[Moves, ...]
    step: NDArray[np.int64]
    repeat: NDArray[np.int64]
    wanted: NDArray[np.bool_]
    full: int
    fault: str

    @property
    def frames(self) -> int:
        """Number of states, the start included."""
        return self.parts.shape[0]

    @property
    def done(self) -> NDArray[np.bool_]:
        """Slots, (frames, n_ranks, chunks), that hold what the collective promises."""
        n = self.schedule.n_ranks
        return self.wanted & (self.parts[:, :n] == self.full) & ~self.wrong[:, :n]


def trace(schedule: Schedule) -> Trace:
    """Run a schedule on unit vectors and keep every state; a faulty one is kept up to its fault.

    Errors: CourseError if the states would not fit in memory.

    >>> from course_lib.comm import ring
    >>> seen = trace(ring.all_reduce(3))
    >>> seen.frames, seen.parts[:, 0].tolist()
    (5, [[1, 1, 1], [1, 2, 1], [3, 2, 1], [3, 2, 3], [3, 3, 3]])
    """
    check_size(schedule)
    shape = (schedule.n_nodes, schedule.chunks)
    if (schedule.repeats + 1) * shape[0] * shape[1] > MAX_CELLS // 8:
        raise CourseError(_("A picture of this schedule has too many cells; use fewer ranks."))
    state = first_state(schedule)
    filled = np.zeros(state.shape[0], dtype=bool)
    parts, wrong, arrived = [state.sum(axis=1)], [np.zeros(state.shape[0], bool)], [np.zeros(state.shape[0], bool)]
    moves, step, repeat, fault = [], [], [], ""
    try:
        for act in acts(schedule, filled):
            carry(state, act, count_parts)
            parts.append(state.sum(axis=1))
            wrong.append((state > 1).any(axis=1))
            arrived.append(np.zeros(state.shape[0], bool))
            arrived[-1][act.write] = True
            moves.append(act.moves)
            step.append(act.step)
            repeat.append(act.repeat)
    except ScheduleError as error:
        fault = str(error)
    stack = lambda arrays: np.stack(arrays).reshape(-1, *shape)  # noqa: E731
    return Trace(
        schedule,
        stack(parts).astype(np.int32),
        stack(wrong),
        stack(arrived),
        tuple(moves),
        np.array(step, dtype=np.int64),
        np.array(repeat, dtype=np.int64),
        wanted(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root),
        state.shape[1],
        fault,
    )
