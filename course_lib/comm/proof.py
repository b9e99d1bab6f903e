"""Prove: a schedule is a linear map, so running it on unit vectors proves it for every input, or finds the fault."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.engine import (
    MANY,
    ScheduleError,
    acts,
    carry,
    check_size,
    count_parts,
    first_state,
    place,
)
from course_lib.comm.meaning import REDUCING, owner, wanted
from course_lib.comm.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on a schedule. True in an `if` when the schedule keeps the promise of its collective.

    rank and chunk name the first wrong slot; expected and got count, per rank, how often its contribution is in there
    (for collectives that only move data: one number, whether the chunk arrived). step, repeat and transfer point at the
    fault as near as it can be located. unchanged lists (step, repeat, transfer) of transfers that changed nothing.
    """

    ok: bool
    sentence: str
    rank: int | None = None
    chunk: int | None = None
    expected: tuple[int, ...] | None = None
    got: tuple[int, ...] | None = None
    step: int | None = None
    repeat: int | None = None
    transfer: int | None = None
    unchanged: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return self.ok


def prove(schedule: Schedule) -> Proof:
    """Run a schedule on unit vectors and compare every slot with what the collective promises.

    Errors: CourseError only for something that is no Schedule or is too large; a faulty schedule gives a Proof that
    says where and why.

    >>> from course_lib.comm import ring
    >>> print(prove(ring.all_reduce(4)).sentence)
    Proved: all_reduce on 4 ranks (transfers 24, repeats 6); every rank ends with what it should.
    >>> twice = Schedule.from_transfers("reduce", 2, 1, [[(1, 0, 0, "add")], [(1, 0, 0, "add")]])
    >>> print(prove(twice).sentence)
    Rank 0 ends with a wrong chunk 0: the part of rank 1 is in it 2 times. It was added once too often in step 1, transfer 0.
    """
    if not isinstance(schedule, Schedule):
        raise CourseError(_("A Schedule is expected, not a {kind}.").format(kind=type(schedule).__name__))
    check_size(schedule)
    chunks, n = schedule.chunks, schedule.n_ranks
    state, filled = first_state(schedule), np.zeros(schedule.n_nodes * chunks, dtype=bool)
    unchanged: list[tuple[int, int, int]] = []
    try:
        for act in acts(schedule, filled):
            before = state[act.write]
            was = filled[act.write]
            carry(state, act, count_parts)
            same = (before == state[act.write]).all(axis=1) & was
            if same.any():
                moved = np.unique(act.moves.transfer)
                changing = np.unique(act.moves.transfer[~same])
                unchanged += [(act.step, act.repeat, int(t)) for t in np.setdiff1d(moved, changing)]
    except ScheduleError as fault:
        return Proof(
            False, str(fault), fault.node, fault.chunk, None, None, fault.step, fault.repeat, fault.transfer,
            tuple(unchanged),
        )  # fmt: skip
    want = wanted(schedule.op, n, chunks, schedule.root)
    final = state[: n * chunks].reshape(n, chunks, -1)
    wrong = np.argwhere(want & ~(final == 1).all(axis=2))
    if wrong.size:
        return _wrong(schedule, final, int(wrong[0, 0]), int(wrong[0, 1]), tuple(unchanged))
    sentence = _("Proved: {op} on one rank; it ends with what it should.")
    if n > 1:
        sentence = _(
            "Proved: {op} on {n} ranks (transfers {transfers}, repeats {repeats}); every rank ends with what it should."
        )
    sentence = sentence.format(op=schedule.op, n=n, transfers=schedule.n_transfers, repeats=schedule.repeats)
    return Proof(True, sentence, unchanged=tuple(unchanged))


def _wrong(schedule: Schedule, final: NDArray, rank: int, chunk: int, unchanged: tuple) -> Proof:
    got = final[rank, chunk]
    expected = (1,) * got.size
    last, doubling = _culprits(schedule, rank, chunk)
    where = None
    if schedule.op in REDUCING:
        double = np.flatnonzero(got > 1)
        missing = np.flatnonzero(got == 0)
        if double.size:
            what = _("the part of rank {r} is in it {times} times").format(
                r=int(double[0]), times=int(got[double[0]]) if got[double[0]] < MANY else f"{MANY}+"
            )
            where = doubling
            hint = _("It was added once too often in {where}, transfer {t}.")
        else:
            shown = ", ".join(str(r) for r in missing[:6]) + (" …" if missing.size > 6 else "")
            what = (
                _("the part of rank {r} is missing") if missing.size == 1 else _("the parts of ranks {r} are missing")
            ).format(r=shown)
            where = last
            hint = _("It was last written in {where}, transfer {t}.")
    else:
        came_from = int(owner(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)[chunk])
        if got[0] > 1:
            what = _("the chunk of rank {r} was added to itself").format(r=came_from)
            where, hint = doubling, _("It happened in {where}, transfer {t}.")
        else:
            what = _("the chunk of rank {r} never arrived").format(r=came_from)
            hint = ""
    sentence = _("Rank {rank} ends with a wrong chunk {chunk}: {what}.").format(rank=rank, chunk=chunk, what=what)
    if where is None:
        sentence += " " + _("No transfer writes it.") if last is None else ""
        return Proof(False, sentence, rank, chunk, expected, tuple(got.tolist()), unchanged=unchanged)
    at = place(schedule, where[0], where[1])
    sentence += " " + hint.format(where=at[0].lower() + at[1:], t=where[2])
    return Proof(False, sentence, rank, chunk, expected, tuple(got.tolist()), *where, unchanged=unchanged)


def _culprits(schedule: Schedule, rank: int, chunk: int):
    """Replay, and return the last transfer that wrote this slot and the first that doubled a part of this chunk."""
    state, slot, last, doubling = first_state(schedule), rank * schedule.chunks + chunk, None, None
    for act in acts(schedule):
        hit = np.flatnonzero(act.write == slot)
        if hit.size:
            last = (act.step, act.repeat, int(act.moves.transfer[hit[-1]]))
        carry(state, act, count_parts)
        if doubling is None:
            mine = np.flatnonzero((act.moves.chunk == chunk) & (state[act.write] > 1).any(axis=1))
            if mine.size:
                doubling = (act.step, act.repeat, int(act.moves.transfer[mine[-1]]))
    return last, doubling
