"""Question 04.q3: a schedule to repair."""

from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.comm import ring
from course_lib.comm.proof import prove
from course_lib.comm.schedule import Schedule
from course_lib.grading.answers import Record
from course_lib.grading.bank.ex04.schedules import MOST_TRANSFERS, kinds, small
from course_lib.grading.question import Misconception, Question

Lines = list[list[list]]  # steps of [source, destination, chunk, "add" or "copy"]


def written_out(schedule: Schedule) -> Lines:
    """Return a schedule as lines, one list a step of [source, destination, chunk, "add" or "copy"].

    >>> written_out(ring.all_gather(2))
    [[[0, 1, 0, 'copy'], [1, 0, 1, 'copy']]]
    """
    return [
        [
            [int(s), int(d), int(c), "add" if a else "copy"]
            for s, d, c, a in zip(moves.src, moves.dst, moves.chunk, moves.reduce)
        ]
        for _i, _k, moves in schedule.each_repeat()
    ]


def _two_faults(n: int, kind_at: list[int], chunk_at: list[int], which: str = "both") -> Lines:
    """The ring all-reduce with a wrong word in line kind_at and a wrong chunk in line chunk_at (step, transfer)."""
    steps = written_out(ring.all_reduce(n))
    if which in ("both", "kind"):
        line = steps[kind_at[0]][kind_at[1]]
        line[3] = "copy" if line[3] == "add" else "add"
    if which in ("both", "chunk"):
        line = steps[chunk_at[0]][chunk_at[1]]
        line[2] = (line[2] + 1) % n
    return steps


def _as_schedule(n: int, steps: Lines) -> Schedule:
    return Schedule.from_transfers("all_reduce", n, n, [[tuple(line) for line in step] for step in steps])


def _faulty(rng: np.random.Generator) -> dict:
    """The learner's own faulty schedule: one fault in the half that adds, one in the half that copies."""
    n = int(rng.integers(4, 7))
    places = [[int(rng.integers(lap * (n - 1), (lap + 1) * (n - 1))), int(rng.integers(n))] for lap in (0, 1)]
    kind_at, chunk_at = places if rng.integers(2) else reversed(places)
    return {"n": n, "steps": _two_faults(n, kind_at, chunk_at)}


@cache
def _places(n: int, steps: tuple) -> tuple[list[int], list[int]]:
    """Where the two faults are: the lines that differ from the ring, by their word and by their chunk."""
    right = written_out(ring.all_reduce(n))
    differ = [(k, t) for k, step in enumerate(right) for t, line in enumerate(step) if list(steps[k][t]) != line]
    kind = next([k, t] for k, t in differ if steps[k][t][3] != right[k][t][3])
    chunk = next([k, t] for k, t in differ if steps[k][t][2] != right[k][t][2])
    return kind, chunk


def _left(n: int, steps: Lines, which: str) -> Schedule:
    """The learner's schedule with only the other fault repaired."""
    frozen = tuple(tuple(tuple(line) for line in step) for step in steps)
    return _as_schedule(n, _two_faults(n, *_places(n, frozen), which))


def _changed(answer: Schedule, steps: Lines) -> int:
    """How many lines of the answer are not in the schedule that was handed out, step by step."""
    lines = [[tuple(line) for line in step] for step in written_out(answer)]
    given = [[tuple(line) for line in step] for step in steps]
    pairs = zip(lines + [[]] * (len(given) - len(lines)), given + [[]] * (len(lines) - len(given)))
    return sum(max(len(set(mine) - set(theirs)), len(set(theirs) - set(mine))) for mine, theirs in pairs)


def _repaired(answer: Schedule, n: int, steps: Lines) -> str:
    if (answer.op, answer.n_ranks, answer.n_nodes, answer.chunks) != ("all_reduce", n, n, n):
        return _(
            "An all_reduce on {n} ranks with {n} chunks is to be repaired; this is {op} on {m} ranks with {c} chunks."
        ).format(n=n, op=answer.op, m=answer.n_ranks, c=answer.chunks)
    if answer.n_transfers > MOST_TRANSFERS:
        return _("This has {a} transfers; the schedule to repair has {b}.").format(
            a=answer.n_transfers, b=sum(map(len, steps))
        )
    proof = prove(answer)
    if not proof.ok:
        return proof.sentence
    changed = _changed(answer, steps)
    if changed > 2:
        return _("It is proved, but {k} lines differ from the schedule you were given; two are enough.").format(
            k=changed
        )
    return ""


def _patched(n: int, steps: Lines) -> Schedule:
    """Both faults left in, and a step at the end that sends the slot which the proof names from its neighbour."""
    proof = prove(_as_schedule(n, steps))
    rank, chunk = (proof.rank or 0), (proof.chunk or 0)
    return _as_schedule(n, [*steps, [[(rank - 1) % n, rank, chunk, "copy"]]])


q3 = Question(
    id="04.q3",
    title=_("Repair a faulty schedule"),
    points=2,
    answer="repaired",
    expects=Record("Schedule"),
    parameters=_faulty,
    reference=lambda n, steps: _as_schedule(n, written_out(ring.all_reduce(n))),
    accept=_repaired,
    misconceptions=(
        Misconception(
            "the wrong chunk is left",
            lambda n, steps: _left(n, steps, "chunk"),
            _("One fault is gone. In another line the wrong chunk is still sent: compare the chunks of its step."),
            recognise=small(lambda answer, n, steps: written_out(answer) == written_out(_left(n, steps, "chunk"))),
        ),
        Misconception(
            "the wrong word is left",
            lambda n, steps: _left(n, steps, "kind"),
            _(
                'One fault is gone. In another line "add" and "copy" are still exchanged: which half of the ring is it in?'
            ),
            recognise=small(lambda answer, n, steps: written_out(answer) == written_out(_left(n, steps, "kind"))),
        ),
        Misconception(
            "a patch at the end",
            _patched,
            _(
                "You add transfers after the last step to mend what the proof named. The faulty lines are still there; mend those."
            ),
            recognise=lambda answer, n, steps: answer.repeats > len(steps),
        ),
        Misconception(
            "everything adds",
            lambda n, steps: _as_schedule(
                n, [[[*line[:3], "add"] for line in step] for step in written_out(ring.all_reduce(n))]
            ),
            _(
                "All your lines add. In the second half the sums are complete; they have to be copied, or parts are counted twice."
            ),
            recognise=lambda answer, n, steps: kinds(answer) == {True},
        ),
    ),
)
