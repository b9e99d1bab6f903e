"""Questions 04.q1 and 04.q2: a ring reduce-scatter and a ring all-reduce, proved."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from course_lib.base.language import _
from course_lib.comm import ring
from course_lib.comm.proof import prove
from course_lib.comm.schedule import Schedule
from course_lib.comm.trace import trace
from course_lib.grading.answers import Record
from course_lib.grading.bank.ex04.schedules import MOST_TRANSFERS, kinds, small, some_ranks
from course_lib.grading.bank.ex04.withheld import WITHHELD
from course_lib.grading.question import Misconception, Question


def partners(schedule: Schedule) -> set[int]:
    """Return how far transfers go round the ring: {1} where every rank only sends to its right-hand neighbour.

    >>> partners(ring.all_gather(5))
    {1}
    """
    return {int(hop) for step in schedule.steps for hop in np.unique((step.dst - step.src) % schedule.n_ranks)}


def _own_ring(op: str) -> Callable[..., str]:
    def accept(answer: Schedule, n_ranks: int) -> str:
        if answer.op != op:
            return _("this is a schedule of {a}; {b} is asked for.").format(a=answer.op, b=op)
        if (answer.n_ranks, answer.n_nodes) != (n_ranks, n_ranks):
            return _("it has {a} ranks and {b} nodes; {n} ranks and nothing else are asked for.").format(
                a=answer.n_ranks, b=answer.n_nodes, n=n_ranks
            )
        if answer.n_transfers > MOST_TRANSFERS:
            return _("it has {a} transfers; a ring of {n} ranks has {b}.").format(
                a=answer.n_transfers, n=n_ranks, b=n_ranks * (n_ranks - 1)
            )
        proof = prove(answer)
        if not proof.ok:
            return proof.sentence
        if n_ranks == 1:
            return "" if not answer.n_transfers else _("one rank has nobody to send to.")
        if len(partners(answer)) > 1 or not partners(answer) <= {1, n_ranks - 1}:
            return _(
                "it keeps its promise, but a rank of a ring sends to one neighbour only, all in the same direction."
            )
        if answer.repeats != n_ranks - 1:
            return _("its number of steps is {a}; that of this ring is {b}.").format(a=answer.repeats, b=n_ranks - 1)
        if answer.sent_B(1.0).max() > (n_ranks - 1) / n_ranks * (1 + 1e-9):
            return _("it keeps its promise, but the busiest rank sends {a} of the message; {b} is enough.").format(
                a=f"{answer.sent_B(1.0).max():.4g}", b=f"{(n_ranks - 1) / n_ranks:.4g}"
            )
        return ""

    return accept


def _listed(op: str, n: int, steps: int, chunk: Callable[[int, int], int], kind: str, senders: int = 0) -> Schedule:
    """A ring to the right as a learner writes it: in step k rank r sends chunk(r, k); `senders` ranks send, else all."""
    lines = [[(r, (r + 1) % n, chunk(r, k) % n, kind) for r in range(senders or n)] for k in range(steps)]
    return Schedule.from_transfers(op, n, n, lines)


def _to_the_owner(n_ranks: int) -> Schedule:
    n = n_ranks
    return Schedule.from_transfers(
        "reduce_scatter", n, n, [[(r, c, c, "add") for c in range(n) for r in range(n) if r != c]]
    )


def _from_the_owner(n_ranks: int) -> Schedule:
    n = n_ranks
    return Schedule.from_transfers(
        "all_gather", n, n, [[(c, r, c, "copy") for c in range(n) for r in range(n) if r != c]]
    )


@small
def _one_rank_off(answer: Schedule, n_ranks: int) -> bool:
    """Whether the last state is complete one rank to the right, or to the left, of where it should be."""
    seen = trace(answer)
    if seen.fault or answer.chunks != n_ranks:
        return False
    chunk = np.arange(n_ranks)
    complete = (seen.parts[-1] == seen.full) & ~seen.wrong[-1]
    return any(complete[(chunk + hop) % n_ranks, chunk].all() for hop in (1, -1)) and not prove(answer).ok


def _by_sender(schedule: Schedule) -> list[dict[int, int]]:
    """Return the chunk that every rank sends, step by step; a rank that sends several counts with its last."""
    return [
        dict(zip(moves.src.tolist(), moves.chunk.tolist(), strict=True)) for _i, _k, moves in schedule.each_repeat()
    ]


@small
def _not_passed_on(schedule: Schedule, n_ranks: int) -> bool:
    """Whether in some step a rank of a ring to the right sends another chunk than the one that it got in the step before."""
    if schedule.repeats < 2 or partners(schedule) != {1} or schedule.n_transfers != n_ranks * schedule.repeats:
        return False
    steps = _by_sender(schedule)
    return any(now[(r + 1) % n_ranks] != before[r] for before, now in pairwise(steps) for r in range(n_ranks))


@small
def _open_ring(schedule: Schedule, n_ranks: int) -> bool:
    """Whether the last rank never sends, and all others do in every step."""
    return bool(schedule.repeats) and all(sorted(step) == list(range(n_ranks - 1)) for step in _by_sender(schedule))


q1 = Question(
    id="04.q1",
    title=_("A ring reduce-scatter"),
    points=3,
    answer="ring_reduce_scatter",
    kind="function",
    expects=Record("Schedule"),
    inputs=some_ranks,
    reference=lambda n_ranks: ring.reduce_scatter(n_ranks),
    accept=_own_ring("reduce_scatter"),
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one rank off",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: r - k, "add"),
            _(
                "Your ring adds up every chunk, but one rank away from where it belongs: chunk c has to end on rank c. "
                "Look at which chunk a rank sends first."
            ),
            recognise=_one_rank_off,
        ),
        Misconception(
            "copies where it has to add",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: r - 1 - k, "copy"),
            _("All your transfers copy. What arrives replaces what the rank had, and that part of the sum is lost."),
            recognise=lambda answer, n_ranks: kinds(answer) == {False},
        ),
        Misconception(
            "straight to the owner",
            _to_the_owner,
            _(
                "You send every chunk straight to its owner. That is a right reduce-scatter and no ring: "
                "a rank talks to all others at once."
            ),
            recognise=small(lambda answer, n_ranks: answer.repeats == 1 and prove(answer).ok),
        ),
        Misconception(
            "a step too few",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, max(n_ranks - 2, 0), lambda r, k: r - 1 - k, "add"),
            _("Your ring stops a step too early. A chunk has to collect the parts of n − 1 other ranks."),
            recognise=lambda answer, n_ranks: answer.repeats == n_ranks - 2,
        ),
        Misconception(
            "the same chunk again and again",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: r - 1, "add"),
            _(
                "In your schedule a rank sends the same chunk in every step. It has to pass on the chunk that has arrived, "
                "with its own part added."
            ),
            recognise=lambda answer, n_ranks: _stubborn(answer),
        ),
        Misconception(
            "one chunk for all",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: k, "add"),
            _(
                "In each of your steps all ranks send the same chunk, and the sums collide. Each rank has to start with another one."
            ),
            recognise=lambda answer, n_ranks: _one_for_all(answer),
        ),
        Misconception(
            "another chunk than the one that arrived",
            lambda n_ranks: _listed("reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: r - 1 + k, "add"),
            _(
                "From the second step on your ranks do not send the chunk that they have just got. Rank r gets what rank r − 1 sent: "
                "so its chunk number falls by one from step to step."
            ),
            recognise=lambda answer, n_ranks: kinds(answer) == {True} and _not_passed_on(answer, n_ranks),
        ),
        Misconception(
            "an open ring",
            lambda n_ranks: _listed(
                "reduce_scatter", n_ranks, n_ranks - 1, lambda r, k: r - 1 - k, "add", senders=n_ranks - 1
            ),
            _("Your ring is open: the last rank never sends. Its right-hand neighbour is rank 0."),
            recognise=_open_ring,
        ),
    ),
)


@small
def _one_for_all(schedule: Schedule) -> bool:
    """Whether in each step all ranks send, and all the same chunk."""
    steps = _by_sender(schedule)
    return bool(steps) and all(len(step) == schedule.n_ranks and len(set(step.values())) == 1 for step in steps)


@small
def _stubborn(schedule: Schedule) -> bool:
    """Whether every rank sends one and the same chunk in all of its steps; in the only step of two ranks, its own."""
    sent: dict[int, set[int]] = {}
    for _i, _k, moves in schedule.each_repeat():
        for src, chunk in zip(moves.src.tolist(), moves.chunk.tolist()):
            sent.setdefault(src, set()).add(chunk)
    if schedule.repeats < 2:
        return schedule.n_ranks == 2 and sent == {0: {0}, 1: {1}}
    return all(len(chunks) == 1 for chunks in sent.values())


q2 = Question(
    id="04.q2",
    title=_("A ring all-gather"),
    points=2,
    answer="ring_all_gather",
    kind="function",
    expects=Record("Schedule"),
    inputs=some_ranks,
    reference=lambda n_ranks: ring.all_gather(n_ranks),
    accept=_own_ring("all_gather"),
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "adds where it has to copy",
            lambda n_ranks: _listed("all_gather", n_ranks, n_ranks - 1, lambda r, k: r - k, "add"),
            _("Your transfers add. In an all-gather the receiver has nothing yet that one could add to."),
            recognise=lambda answer, n_ranks: True in kinds(answer),
        ),
        Misconception(
            "its own chunk again and again",
            lambda n_ranks: _listed("all_gather", n_ranks, n_ranks - 1, lambda r, k: r, "copy"),
            _(
                "In your schedule a rank sends its own chunk in every step. From the second step on it has to pass on what arrived."
            ),
            recognise=lambda answer, n_ranks: _stubborn(answer),
        ),
        Misconception(
            "straight from the owner",
            _from_the_owner,
            _("Your owners send their chunk to everybody at once. That is a right all-gather and no ring."),
            recognise=small(lambda answer, n_ranks: answer.repeats == 1 and prove(answer).ok),
        ),
        Misconception(
            "starts with a chunk it does not have",
            lambda n_ranks: _listed("all_gather", n_ranks, n_ranks - 1, lambda r, k: r - 1 - k, "copy"),
            _("In the first step your ranks send a chunk that they do not have. Rank r has chunk r, and nothing else."),
            recognise=lambda answer, n_ranks: _wrong_start(answer),
        ),
        Misconception(
            "everything in every step",
            lambda n_ranks: Schedule.from_transfers(
                "all_gather",
                n_ranks,
                n_ranks,
                [
                    [(r, (r + 1) % n_ranks, (r - j) % n_ranks, "copy") for r in range(n_ranks) for j in range(k + 1)]
                    for k in range(n_ranks - 1)
                ],
            ),
            _(
                "Your ranks send all that they have, again and again. The neighbour has most of it: pass on what arrived last."
            ),
            recognise=lambda answer, n_ranks: _grows(answer, n_ranks),
        ),
        Misconception(
            "goes on from the wrong chunk",
            lambda n_ranks: _listed("all_gather", n_ranks, n_ranks - 1, lambda r, k: r + k, "copy"),
            _(
                "In the second step your ranks send a chunk that has not reached them. Look at what came from the left the step before."
            ),
            recognise=lambda answer, n_ranks: _never_had(answer),
        ),
        Misconception(
            "a step too few",
            lambda n_ranks: _listed("all_gather", n_ranks, max(n_ranks - 2, 0), lambda r, k: r - k, "copy"),
            _("Your ring stops a step too early. A chunk has to reach n − 1 other ranks."),
            recognise=lambda answer, n_ranks: answer.repeats == n_ranks - 2,
        ),
    ),
)


@small
def _never_had(schedule: Schedule) -> bool:
    """Whether the schedule stops because a rank sends on what it does not have, and no rank sends one chunk only."""
    return bool(trace(schedule).fault) and True not in kinds(schedule) and not _stubborn(schedule)


@small
def _wrong_start(schedule: Schedule) -> bool:
    """Whether some rank begins with a chunk that is not its own."""
    return True not in kinds(schedule) and any(src != chunk for src, chunk in _by_sender(schedule)[0].items())


@small
def _grows(schedule: Schedule, n_ranks: int) -> bool:
    """Whether a step later than the first has more transfers than ranks, none of which adds."""
    sizes = [moves.src.size for _i, _k, moves in schedule.each_repeat()]
    return True not in kinds(schedule) and sizes[0] <= n_ranks < max(sizes)
