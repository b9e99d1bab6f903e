"""Engine: carries out a schedule repeat by repeat on any array of slots, and refuses what would race or move nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.meaning import REDUCING, initial_state, owner
from course_lib.comm.schedule import Moves, Schedule

MAX_MOVES = 20_000_000  # chunks moved in all; beyond it a run would take minutes
MAX_REPEATS = 200_000
MAX_CELLS = 1 << 27  # numbers held while proving or running
MANY = 1 << 14  # contributions are counted up to here, so that no wrong count can wrap round to a right one


class ScheduleError(CourseError):
    """A schedule that cannot be carried out: where it goes wrong, and why.

    Attributes: step, repeat, transfer (index in the step), node, chunk.
    """

    def __init__(self, message: str, step: int, repeat: int, transfer: int, node: int, chunk: int) -> None:
        super().__init__(message)
        self.step, self.repeat, self.transfer, self.node, self.chunk = step, repeat, transfer, node, chunk


@dataclass(frozen=True, slots=True, eq=False)
class Act:
    """One repeat, checked: the slots (node · chunks + chunk) that are read and written, chunk by chunk."""

    step: int
    repeat: int
    moves: Moves
    read: NDArray[np.int64]
    write: NDArray[np.int64]
    once: bool  # no slot is written twice


def node_name(schedule: Schedule, node: int) -> str:
    """Return "rank 3" or "switch 9", as sentences name a node.

    >>> node_name(Schedule("all_reduce", 2, 3, 2, ()), 2)
    'switch 2'
    """
    return _("rank {n}").format(n=node) if node < schedule.n_ranks else _("switch {n}").format(n=node)


def acts(schedule: Schedule, filled: NDArray[np.bool_] | None = None) -> Iterator[Act]:
    """Give the repeats of a schedule one after the other, each checked against what the slots hold by then.

    A slot that is written twice is refused unless all writes add, and so is one both read and written, a chunk its
    sender never had, and an addition onto a slot that never held anything (a switch starts at zero, so it may).
    `filled` (n_nodes · chunks,) is kept up to date if given.

    Errors: ScheduleError with the step, repeat, transfer, node and chunk.

    >>> pair = Schedule.from_transfers("broadcast", 3, 1, [[(0, 1, 0, "copy")], [(2, 0, 0, "copy")]])
    >>> [act.write.tolist() for act in acts(pair)]
    Traceback (most recent call last):
    ...
    course_lib.comm.engine.ScheduleError: Step 1, transfer 0: rank 2 sends chunk 0, which it never had.
    """
    chunks, n_slots = schedule.chunks, schedule.n_nodes * schedule.chunks
    moves = sum(float(np.dot(step.count.astype(float), step.width)) for step in schedule.steps)
    if moves > MAX_MOVES or n_slots > MAX_CELLS or schedule.repeats > MAX_REPEATS:
        raise CourseError(_("This schedule is too large to be carried out chunk by chunk; time it instead."))
    filled = np.zeros(n_slots, dtype=bool) if filled is None else filled
    start = (owner(schedule.op, schedule.n_ranks, chunks, schedule.root) + 1)[None, :]
    rank = np.arange(1, schedule.n_nodes + 1)[:, None]
    filled[:] = (((start == 0) | (start == rank)) & (rank <= schedule.n_ranks)).ravel()
    written, last = np.zeros(n_slots, dtype=bool), np.zeros(n_slots, dtype=np.int64)
    for i, k, moves in schedule.each_repeat():
        read, write = moves.src * chunks + moves.chunk, moves.dst * chunks + moves.chunk
        order = np.arange(write.size)
        last[write] = order
        again = np.flatnonzero(last[write] != order)
        if again.size:
            shared = np.zeros(n_slots, dtype=bool)
            shared[write[again]] = True
            racing = np.flatnonzero(shared[write] & ~moves.reduce)
            if racing.size:
                a = int(racing[0])
                b = int(np.flatnonzero((write == write[a]) & (order != a))[0])
                text = _("{where}: transfers {a} and {b} both write chunk {chunk} of {node}, and not both add.")
                raise _error(schedule, text, i, k, moves, a, "dst", a=int(moves.transfer[a]), b=int(moves.transfer[b]))
        written[write] = True
        clash = np.flatnonzero(written[read])
        written[write] = False
        if clash.size:
            text = _("{where}: chunk {chunk} of {node} is sent (transfer {t}) and overwritten in the same repeat.")
            raise _error(schedule, text, i, k, moves, int(clash[0]), "src")
        empty = np.flatnonzero(~filled[read])
        if empty.size:
            text = _("{where}, transfer {t}: {node} sends chunk {chunk}, which it never had.")
            raise _error(schedule, text, i, k, moves, int(empty[0]), "src")
        empty = np.flatnonzero(moves.reduce & ~filled[write] & (moves.dst < schedule.n_ranks))
        if empty.size:
            text = _("{where}, transfer {t}: adds to chunk {chunk} of {node}, which never held anything to add to.")
            raise _error(schedule, text, i, k, moves, int(empty[0]), "dst")
        yield Act(i, k, moves, read, write, not again.size)
        filled[write] = True


def _error(schedule: Schedule, text: str, i: int, k: int, moves: Moves, m: int, end: str, **more: object):
    t, node, chunk = int(moves.transfer[m]), int(getattr(moves, end)[m]), int(moves.chunk[m])
    shown = text.format(where=place(schedule, i, k), t=t, node=node_name(schedule, node), chunk=chunk, **more)
    return ScheduleError(shown, i, k, t, node, chunk)


def place(schedule: Schedule, step: int, repeat: int) -> str:
    """Return "Step 2" or "Step 2, repeat 5", as sentences name a moment.

    >>> place(Schedule.from_transfers("broadcast", 2, 1, [[(0, 1, 0, "copy")]]), 0, 0)
    'Step 0'
    """
    if schedule.steps[step].repeats == 1:
        return _("Step {i}").format(i=step)
    return _("Step {i}, repeat {k}").format(i=step, k=repeat)


def carry(state: np.ndarray, act: Act, add: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """Carry out one repeat on `state` (slots, …) in place: all reads first, then the writes.

    Several additions to one slot are done one after the other, in the order of the transfers.

    >>> both = Schedule.from_transfers("reduce", 3, 1, [[(1, 0, 0, "add"), (2, 0, 0, "add")]])
    >>> state = np.array([[1.0], [2.0], [4.0]])
    >>> for act in acts(both):
    ...     carry(state, act, np.add)
    >>> state[:, 0].tolist()
    [7.0, 2.0, 4.0]
    """
    payload, adds = state[act.read], act.moves.reduce
    if not adds.all():
        state[act.write[~adds]] = payload[~adds]
    if not adds.any():
        return
    if not adds.all():
        payload, write = payload[adds], act.write[adds]
    else:
        write = act.write
    if act.once:
        state[write] = add(state[write], payload)
        return
    order = np.argsort(write, kind="stable")
    ordered = write[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    turn = np.arange(order.size) - np.repeat(begins, np.diff(np.r_[begins, order.size]))
    by_turn = np.argsort(turn, kind="stable")
    for rows in np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1]):
        state[write[rows]] = add(state[write[rows]], payload[rows])


def count_parts(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Add contributions, counted up to MANY, where they stay.

    >>> count_parts(np.array([1, MANY]), np.array([1, 1])).tolist()
    [2, 16384]
    """
    return np.minimum(old + new, MANY)


def first_state(schedule: Schedule) -> NDArray[np.int32]:
    """Contributions in every slot at the start, shape (n_nodes · chunks, parts); switches start at zero.

    >>> first_state(Schedule("all_gather", 2, 3, 2, ())).ravel().tolist()
    [1, 0, 0, 1, 0, 0]
    """
    own = initial_state(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)
    state = np.zeros((schedule.n_nodes * schedule.chunks, own.shape[2]), dtype=np.int32)
    state[: schedule.n_ranks * schedule.chunks] = own.reshape(-1, own.shape[2])
    return state


def check_size(schedule: Schedule) -> None:
    """Refuse a schedule whose proof would not fit in memory.

    >>> check_size(Schedule("all_reduce", 131072, 131072, 131072, ()))
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: Its proof needs 2,251,799,813,685,248 counts; at most 134,217,728 fit. Prove fewer ranks.
    """
    parts = schedule.n_ranks if schedule.op in REDUCING else 1
    cells = schedule.n_nodes * schedule.chunks * parts
    if cells > MAX_CELLS:
        raise CourseError(
            _("Its proof needs {cells:,} counts; at most {most:,} fit. Prove fewer ranks.").format(
                cells=cells, most=MAX_CELLS
            )
        )
