"""Faults: break every transfer of a schedule in turn, and see whether the proof notices."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.engine import acts, carry, count_parts, first_state
from course_lib.comm.meaning import owner, wanted
from course_lib.comm.proof import prove
from course_lib.comm.schedule import Schedule
from course_lib.comm.step import Step


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One chunk of one transfer in one repeat, left out ("drop") or with add and copy exchanged ("flip")."""

    step: int
    repeat: int
    transfer: int
    chunk: int
    kind: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many mutants were tried, the survivors that a proof does not catch, and those that `equivalents` lists.

    A survivor ends with the promise kept although it moved other data: the schedule has a transfer to spare. An equivalent
    mutant moves the same data as the schedule, whatever the input; there is nothing to catch.
    """

    tried: int
    survivors: tuple[Mutant, ...]
    equivalent: tuple[Mutant, ...] = ()


def mutate(schedule: Schedule, mutant: Mutant) -> Schedule:
    """Return the schedule with one mutation, its step written out repeat by repeat and chunk by chunk.

    >>> from course_lib.comm import ring
    >>> prove(mutate(ring.all_reduce(3), Mutant(0, 1, 2, 0, "drop"))).ok
    False
    """
    steps: list[Step] = []
    for i, step in enumerate(schedule.steps):
        if i != mutant.step:
            steps.append(step)
            continue
        for k in range(step.repeats):
            moves = step.moves(k)
            keep, reduce = np.ones(moves.src.size, dtype=bool), moves.reduce.copy()
            if k == mutant.repeat:
                hit = (moves.transfer == mutant.transfer) & (moves.chunk == mutant.chunk)
                if mutant.kind == "drop":
                    keep &= ~hit
                else:
                    reduce ^= hit
            if keep.any():
                steps.append(Step(moves.src[keep], moves.dst[keep], moves.chunk[keep], reduce[keep]))
    s = schedule
    return Schedule(s.op, s.n_ranks, s.n_nodes, s.chunks, tuple(steps), s.name, s.root, s.switch_rank, s.switch_level)


def try_mutants(schedule: Schedule) -> Verdict:
    """Drop and flip every chunk move of a proved schedule, one at a time, and return those that are not caught.

    Chunks never mix, so each is followed on its own, all its mutants side by side: 72 ranks take about a second.

    Errors: CourseError if the schedule itself is not proved.

    >>> from course_lib.comm import ring, innetwork
    >>> try_mutants(ring.all_reduce(5))
    Verdict(tried=80, survivors=(), equivalent=())
    >>> verdict = try_mutants(innetwork.nvls_all_reduce(4, pipeline=1))
    >>> len(verdict.survivors), len(verdict.equivalent)
    (0, 8)

    (In the last one every owner is sent the sum it has already, and stores into an empty switch: adding there is copying.)
    """
    proof = prove(schedule)
    if not proof.ok:
        raise CourseError(_("Only a proved schedule can be tried. {why}").format(why=proof.sentence))
    every = [(i, k, moves) for i, k, moves in schedule.each_repeat()]
    if not every:
        return Verdict(0, ())
    time = np.repeat(np.arange(len(every)), [moves.src.size for *_ik, moves in every])
    src, dst, chunk, reduce, transfer = (
        np.concatenate([getattr(moves, name) for *_ik, moves in every])
        for name in ("src", "dst", "chunk", "reduce", "transfer")
    )
    start = first_state(schedule).reshape(schedule.n_nodes, schedule.chunks, -1)
    whose = owner(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)
    want = wanted(schedule.op, schedule.n_ranks, schedule.chunks, schedule.root)
    order = np.lexsort((time, chunk))
    lived_on = []
    for rows in np.split(order, np.flatnonzero(np.diff(chunk[order])) + 1):
        c = int(chunk[rows[0]])
        lived = _one_chunk(
            start[:, c], whose[c], want[:, c], schedule.n_ranks, time[rows], src[rows], dst[rows], reduce[rows]
        )
        for row, kind in lived:
            i, k, _moves = every[time[rows[row]]]
            lived_on.append(Mutant(i, k, int(transfer[rows[row]]), c, kind))
    same = set(equivalents(schedule))
    parts = ([m for m in sorted(lived_on) if (m in same) == listed] for listed in (False, True))
    return Verdict(2 * src.size, *map(tuple, parts))


def equivalents(schedule: Schedule) -> tuple[Mutant, ...]:
    """Return the mutants that do what the schedule does, for every input, because the slot written ends the same.

    Proved on unit vectors, one slot at a time: a copy that brings what the slot holds already may be left out; where a
    switch's slot is still zero and one transfer alone writes it, adding is copying. All that follows reads the same slots.

    Errors: ScheduleError for a schedule that cannot be carried out.

    >>> from course_lib.comm import innetwork, ring
    >>> equivalents(ring.all_reduce(8))
    ()
    >>> [(m.kind, m.step) for m in equivalents(innetwork.sharp_all_reduce(3, radix=2, pipeline=1))]
    [('flip', 0)]
    """
    state, found = first_state(schedule), []
    filled = np.zeros(len(state), dtype=bool)
    for act in acts(schedule, filled):
        old, had = state[act.write], filled[act.write]
        nothing = ~state[act.read].any(axis=1)
        carry(state, act, count_parts)
        moves = act.moves
        spare = had & np.where(moves.reduce, nothing, (old == state[act.write]).all(axis=1))
        _slot, which, writers = np.unique(act.write, return_inverse=True, return_counts=True)
        first = (moves.dst >= schedule.n_ranks) & ~old.any(axis=1) & (writers[which] == 1)
        for kind, same in (("drop", spare), ("flip", first)):
            found += [
                Mutant(act.step, act.repeat, int(moves.transfer[m]), int(moves.chunk[m]), kind)
                for m in np.flatnonzero(same)
            ]
    return tuple(sorted(found))


def _one_chunk(
    start: NDArray,
    whose: int,
    want: NDArray,
    n_ranks: int,
    time: NDArray,
    src: NDArray,
    dst: NDArray,
    reduce: NDArray,
) -> Iterator[tuple[int, str]]:
    """Follow one chunk with all its mutants: state (n_nodes, 1 + 2·moves, parts), column 0 without a fault."""
    n_moves = src.size
    node = np.arange(start.shape[0])
    holds = np.where(node < n_ranks, (whose < 0) | (node == whose), False)
    state = np.repeat(start[:, None, :], 1 + 2 * n_moves, axis=1)
    full = np.repeat(holds[:, None], 1 + 2 * n_moves, axis=1)
    caught = np.zeros(1 + 2 * n_moves, dtype=bool)
    for group in np.split(np.arange(n_moves), np.flatnonzero(np.diff(time)) + 1):
        payload, sent = state[src[group]], full[src[group]]
        targets = np.unique(dst[group])
        before, was = state[targets].copy(), full[targets].copy()
        for target, old, old_full in zip(targets, before, was):
            into = np.flatnonzero(dst[group] == target)
            value = old.copy()
            copied = [m for m in into if not reduce[group[m]]]
            adds = [m for m in into if reduce[group[m]]]
            for m in copied:
                value = payload[m].copy()
            for m in adds:
                value = count_parts(value, payload[m])
            filled = np.ones_like(old_full)
            for m in into:  # the two mutants of this move differ from the rest here, and only here
                drop, flip = 1 + 2 * group[m], 2 + 2 * group[m]
                others = [o for o in into if o != m]
                value[drop] = old[drop]
                for o in others:
                    value[drop] = count_parts(value[drop], payload[o, drop])
                filled[drop] = old_full[drop] or bool(others)
                if others:  # a copy beside additions, or two copies: refused as a race
                    caught[flip] = True
                elif reduce[group[m]]:
                    value[flip] = payload[m, flip]
                else:
                    value[flip] = count_parts(old[flip], payload[m, flip])
                    caught[flip] |= not (old_full[flip] or target >= n_ranks)
            state[target], full[target] = value, filled
        for m in range(group.size):
            unsent = ~sent[m]
            unsent[1 + 2 * group[m]] = False  # the transfer that was dropped sends nothing
            caught |= unsent
    right = (state[:n_ranks] == 1).all(axis=2) & full[:n_ranks]
    caught |= ~right[want].all(axis=0)
    for m in np.flatnonzero(~caught[1:]):  # column 0 is the schedule itself
        yield int(m // 2), "drop" if m % 2 == 0 else "flip"
