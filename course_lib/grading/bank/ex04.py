"""Exercise 04, eight GPUs add a vector: write rings that are proved, repair a schedule, count bytes, read bus bandwidths."""

from collections.abc import Callable
from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, US
from course_lib.comm import meaning, ring
from course_lib.comm.proof import prove
from course_lib.comm.schedule import Schedule
from course_lib.comm.trace import trace
from course_lib.grading.answers import Entries, Number, Record
from course_lib.grading.question import Case, Misconception, Question
from course_lib.timing.sweeps import Sweep, sweeps

OPS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all")
WITHHELD = ("course_lib.comm.ring", "course_lib.comm.registry", "course_lib.comm.collective")
# Schedules need the module itself: only what the last questions ask for is left out of it.
FACTORS = tuple(
    f"course_lib.comm.meaning.{name}" for name in ("bus_factor", "busbw_Bps", "busbw_from_algbw", "least_sent_B")
)
MOST_TRANSFERS = 10_000

Lines = list[list[list]]  # steps of [source, destination, chunk, "add" or "copy"]

# q1, q2: rings ---------------------------------------------------------------------------------------------------------


def _ranks(rng: np.random.Generator) -> list[Case]:
    drawn = sorted({int(n) for n in rng.integers(5, 17, size=3)} | {1, 2, 3, 4, 8})
    return [Case({"n_ranks": n}) for n in drawn]


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
            return _("it takes {a} steps; this ring takes {b}.").format(a=answer.repeats, b=n_ranks - 1)
        if answer.sent_B(1.0).max() > (n_ranks - 1) / n_ranks * (1 + 1e-9):
            return _("it keeps its promise, but the busiest rank sends {a} of the message; {b} is enough.").format(
                a=f"{answer.sent_B(1.0).max():.4g}", b=f"{(n_ranks - 1) / n_ranks:.4g}"
            )
        return ""

    return accept


def _small(recognise: Callable[..., bool]) -> Callable[..., bool]:
    """The same, but False for schedules that are too long to be looked at line by line."""

    def looked(answer: Schedule, *rest: object, **more: object) -> bool:
        return answer.n_transfers <= MOST_TRANSFERS and recognise(answer, *rest, **more)

    return looked


def _kinds(schedule: Schedule) -> set[bool]:
    return {bool(add) for step in schedule.steps for add in step.reduce}


def _listed(op: str, n: int, steps: int, chunk: Callable[[int, int], int], kind: str) -> Schedule:
    """A ring to the right as a learner writes it: in step k rank r sends chunk(r, k)."""
    lines = [[(r, (r + 1) % n, chunk(r, k) % n, kind) for r in range(n)] for k in range(steps)]
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


@_small
def _one_rank_off(answer: Schedule, n_ranks: int) -> bool:
    """Whether the last state is complete one rank to the right, or to the left, of where it should be."""
    seen = trace(answer)
    if seen.fault or answer.chunks != n_ranks:
        return False
    chunk = np.arange(n_ranks)
    complete = (seen.parts[-1] == seen.full) & ~seen.wrong[-1]
    return any(complete[(chunk + hop) % n_ranks, chunk].all() for hop in (1, -1)) and not prove(answer).ok


q1 = Question(
    id="04.q1",
    title=_("A ring reduce-scatter"),
    points=3,
    answer="ring_reduce_scatter",
    kind="function",
    expects=Record("Schedule"),
    inputs=_ranks,
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
            recognise=lambda answer, n_ranks: _kinds(answer) == {False},
        ),
        Misconception(
            "straight to the owner",
            _to_the_owner,
            _(
                "You send every chunk straight to its owner. That is a right reduce-scatter and no ring: "
                "a rank talks to all others at once."
            ),
            recognise=_small(lambda answer, n_ranks: answer.repeats == 1 and prove(answer).ok),
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
    ),
)


@_small
def _stubborn(schedule: Schedule) -> bool:
    """Whether every rank sends one and the same chunk in all of its two or more steps."""
    sent: dict[int, set[int]] = {}
    for _i, _k, moves in schedule.each_repeat():
        for src, chunk in zip(moves.src.tolist(), moves.chunk.tolist()):
            sent.setdefault(src, set()).add(chunk)
    return bool(sent) and schedule.repeats > 1 and all(len(chunks) == 1 for chunks in sent.values())


q2 = Question(
    id="04.q2",
    title=_("A ring all-gather"),
    points=2,
    answer="ring_all_gather",
    kind="function",
    expects=Record("Schedule"),
    inputs=_ranks,
    reference=lambda n_ranks: ring.all_gather(n_ranks),
    accept=_own_ring("all_gather"),
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "adds where it has to copy",
            lambda n_ranks: _listed("all_gather", n_ranks, n_ranks - 1, lambda r, k: r - k, "add"),
            _("Your transfers add. In an all-gather the receiver has nothing yet that one could add to."),
            recognise=lambda answer, n_ranks: True in _kinds(answer),
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
            recognise=_small(lambda answer, n_ranks: answer.repeats == 1 and prove(answer).ok),
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


@_small
def _never_had(schedule: Schedule) -> bool:
    """Whether the schedule stops because a rank sends on what it does not have, and no rank sends one chunk only."""
    return bool(trace(schedule).fault) and True not in _kinds(schedule) and not _stubborn(schedule)


# q3: repair -----------------------------------------------------------------------------------------------------------


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
            recognise=_small(lambda answer, n, steps: written_out(answer) == written_out(_left(n, steps, "chunk"))),
        ),
        Misconception(
            "the wrong word is left",
            lambda n, steps: _left(n, steps, "kind"),
            _(
                'One fault is gone. In another line "add" and "copy" are still exchanged: which half of the ring is it in?'
            ),
            recognise=_small(lambda answer, n, steps: written_out(answer) == written_out(_left(n, steps, "kind"))),
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
            recognise=lambda answer, n, steps: _kinds(answer) == {True},
        ),
    ),
)

# q4: bytes ------------------------------------------------------------------------------------------------------------


def _loads(rng: np.random.Generator) -> list[Case]:
    fixed = [(op, n, S) for op in OPS for n, S in ((1, 8.0), (2, 8.0), (8, 1e9), (72, 64.0), (4, 0.0))]
    drawn = [(op, int(rng.integers(3, 1025)), float(rng.integers(1, 10**9))) for op in OPS for _unused in range(3)]
    return [
        Case(dict(zip(("op", "n_ranks", "message_B"), row, strict=True)), part=row[0])
        for row in sorted(fixed + drawn, key=lambda row: (row[1], row[2]))
    ]


def _bytes_with(**other: Callable[[float], float]) -> Callable[..., float]:
    """The right bytes, but for the collectives named, whose share of the message is a wrong function of n."""

    def wrong(op: str, n_ranks: int, message_B: float) -> float:
        if op in other:
            return other[op](n_ranks) * message_B
        return float(meaning.least_sent_B(op, message_B, n_ranks))

    return wrong


q4 = Question(
    id="04.q4",
    title=_("Bytes that a rank has to send"),
    points=2,
    answer="sent_B",
    kind="function",
    expects=Number("B", near_zero=1e-9),
    inputs=_loads,
    withholds=FACTORS,
    reference=lambda op, n_ranks, message_B: float(meaning.least_sent_B(op, message_B, n_ranks)),
    misconceptions=(
        Misconception(
            "all-gather gets cheaper as 1/n",
            _bytes_with(all_gather=lambda n: 1 / n if n > 1 else 0.0),
            _(
                "For all_gather you take the part of one rank, S/n. That is a single transfer; "
                "a rank makes n − 1 of them, so the bytes do not fall with n."
            ),
        ),
        Misconception(
            "both halves get cheaper as 1/n",
            _bytes_with(all_gather=lambda n: 1 / n if n > 1 else 0.0, reduce_scatter=lambda n: 1 / n if n > 1 else 0.0),
            _(
                "For all_gather and reduce_scatter you take the part of one rank, S/n. That is a single transfer; "
                "a rank makes n − 1 of them."
            ),
        ),
        Misconception(
            "an all-reduce is one lap",
            _bytes_with(all_reduce=lambda n: (n - 1) / n),
            _(
                "For all_reduce you count one lap round the ring. It takes two: one that adds and one that hands out the sums."
            ),
        ),
        Misconception(
            "S is the part of one rank",
            _bytes_with(all_gather=lambda n: n - 1, all_to_all=lambda n: n - 1),
            _(
                "For all_gather and all_to_all you take S for a single part, so you are n times too high. "
                "S is the largest buffer on one rank: all n parts."
            ),
        ),
        Misconception(
            "the root serves everybody",
            _bytes_with(broadcast=lambda n: n - 1, reduce=lambda n: n - 1),
            _(
                "For broadcast and reduce you let the root deal with n − 1 ranks one by one. Others can pass it on: once is enough."
            ),
        ),
        Misconception(
            "a rank sends to itself, too",
            _bytes_with(
                all_reduce=lambda n: 2.0,
                reduce_scatter=lambda n: 1.0,
                all_gather=lambda n: 1.0,
                all_to_all=lambda n: 1.0,
            ),
            _("You count the part that a rank keeps. It has that already: only (n − 1)/n of the parts travel."),
        ),
    ),
)

# q5: bus bandwidth ----------------------------------------------------------------------------------------------------


def _bus(op: str, n_ranks: int, size_B: float, time_us: float) -> float:
    return float(meaning.busbw_Bps(op, size_B, time_us * US, n_ranks)) / GB


def _factors(rng: np.random.Generator) -> list[Case]:
    fixed = [(op, n, 1e6, 10.0) for op in OPS for n in (1, 2, 8)]
    drawn = [
        (op, int(rng.integers(3, 1025)), float(2 ** int(rng.integers(10, 35))), round(float(rng.uniform(10, 1e5)), 2))
        for op in OPS
        for _unused in range(2)
    ]
    return [Case(dict(zip(("op", "n_ranks", "size_B", "time_us"), row, strict=True))) for row in fixed + drawn]


q5 = Question(
    id="04.q5",
    title=_("Bus bandwidth of a measurement"),
    points=1,
    answer="busbw_GBps",
    kind="function",
    expects=Number("GB/s"),
    inputs=_factors,
    withholds=FACTORS,
    reference=_bus,
    misconceptions=(
        Misconception(
            "algorithm bandwidth",
            lambda op, n_ranks, size_B, time_us: size_B / (time_us * US) / GB,
            _(
                "That is the algorithm bandwidth, S over t. The bus bandwidth multiplies it with the collective's factor."
            ),
        ),
        Misconception(
            "the factor of all-reduce for all",
            lambda op, n_ranks, size_B, time_us: _bus("all_reduce", n_ranks, size_B, time_us),
            _(
                "You use the factor of all_reduce for every collective. Each has its own: only all_reduce goes round twice."
            ),
        ),
        Misconception(
            "divided by the factor",
            lambda op, n_ranks, size_B, time_us: (
                size_B / (time_us * US) / GB / (meaning.bus_factor(op, n_ranks) or float("inf"))
            ),
            _(
                "You divide by the factor. A rank sends factor × S bytes in the time, so the wire's rate is factor × S/t."
            ),
        ),
        Misconception(
            "factor 2 whatever n is",
            lambda op, n_ranks, size_B, time_us: (2.0 if op == "all_reduce" else 1.0) * size_B / (time_us * US) / GB,
            _("You take the factor for very many ranks, 2 or 1. On a few ranks the part that stays at home counts."),
        ),
    ),
)

# q6: how many ranks ---------------------------------------------------------------------------------------------------


def _row(sweep: Sweep, i: int) -> list[float]:
    size_B, time_us = float(sweep.message_B[i]), float(sweep.time_s[i]) / US
    algbw = size_B / (time_us * US) / GB
    return [
        int(size_B),
        round(time_us, 2),
        round(algbw, 2),
        round(algbw * meaning.bus_factor(sweep.op, sweep.n_ranks), 2),
    ]


def _ranks_of(op: str, rows: list[list[float]]) -> int:
    """The number of ranks that the row with the largest rates tells."""
    _size, _time, algbw, busbw = max(rows, key=lambda row: row[3])
    ratio = busbw / algbw
    return round(2 / (2 - ratio) if op == "all_reduce" else 1 / (1 - ratio))


@cache
def _tables() -> dict[str, tuple[Sweep, ...]]:
    """Published sweeps whose printed rates tell the number of ranks without doubt, for either kind of collective."""
    kinds = {"A": ("all_reduce",), "B": ("all_gather", "reduce_scatter")}
    found: dict[str, list[Sweep]] = {key: [] for key in kinds}
    for sweep in sorted(sweeps(), key=lambda one: one.name):
        for key, ops in kinds.items():
            rows = [_row(sweep, i) for i in range(-4, 0)] if len(sweep.message_B) >= 8 else []
            if (
                "outlier" in sweep.note
                or sweep.op not in ops
                or sweep.n_ranks < 4
                or not rows
                or rows[-1][2] < 5
                or sweep.flag
            ):
                continue
            best = max(rows, key=lambda row: row[3])
            slack = 0.005 / best[2] + 0.005 / best[3]  # what rounding does to the ratio
            if slack * sweep.n_ranks**2 < 0.2 and _ranks_of(sweep.op, rows) == sweep.n_ranks:
                found[key].append(sweep)
    return {key: tuple(some) for key, some in found.items()}


def _table(rng: np.random.Generator) -> dict:
    made = {}
    for key, some in _tables().items():
        counts = sorted({sweep.n_ranks for sweep in some})
        n = counts[int(rng.integers(len(counts)))]
        mine = [sweep for sweep in some if sweep.n_ranks == n]
        sweep = mine[int(rng.integers(len(mine)))]
        made[key] = {"op": sweep.op, "rows": [_row(sweep, i) for i in range(-4, 0)]}
    return made


def _by_table(of: Callable[[str, float], float]) -> Callable[..., dict[str, int]]:
    """A wrong model of the ratio, for each table whose answer it changes."""

    def wrong(A: dict, B: dict) -> dict[str, int]:
        answers = {}
        for key, table in (("A", A), ("B", B)):
            _size, _time, algbw, busbw = max(table["rows"], key=lambda row: row[3])
            answers[key] = round(of(table["op"], busbw / algbw))
        return answers

    return wrong


q6 = Question(
    id="04.q6",
    title=_("How many ranks was it measured on"),
    points=2,
    answer="n_ranks",
    expects=Entries(Number("ranks", whole=True)),
    parameters=_table,
    reference=lambda A, B: {"A": _ranks_of(A["op"], A["rows"]), "B": _ranks_of(B["op"], B["rows"])},
    misconceptions=(
        Misconception(
            "the other collective's factor",
            _by_table(lambda op, ratio: 1 / (2 - ratio) if op == "all_reduce" else 2 / (2 - ratio)),
            _(
                "You solve with the factor of another collective. For all_reduce it is 2(n − 1)/n, for the other table (n − 1)/n."
            ),
        ),
        Misconception(
            "one rank lost",
            _by_table(lambda op, ratio: (2 / (2 - ratio) if op == "all_reduce" else 1 / (1 - ratio)) - 1),
            _("You are one too low: that is n − 1, the others. The rank itself counts, too."),
        ),
        Misconception(
            "hosts for ranks",
            lambda A, B: {key: 8 * _ranks_of(table["op"], table["rows"]) for key, table in (("A", A), ("B", B))},
            _(
                "That is eight times too many. The n of the factor counts ranks, and a rank is one GPU, not a host of eight."
            ),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6)
