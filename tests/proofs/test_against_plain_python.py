"""The verdict on random schedules, good and bad, equals that of a slow executor written from the rules alone."""

import contextlib
import copy
from collections import Counter

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm.execute import ScheduleError, prove, run
from course_lib.comm.meaning import OPS
from course_lib.comm.registry import algorithms, build
from course_lib.comm.schedule import Schedule, Step


def plainly(schedule):
    """Return whether a schedule keeps its promise, one dictionary entry per slot, one transfer at a time."""
    op, n, chunks, root = schedule.op, schedule.n_ranks, schedule.chunks, schedule.root
    has = {}  # (node, chunk) -> Counter of (rank it came from)
    for rank in range(n):
        for chunk in range(chunks):
            block = chunk * n // chunks if op != "all_to_all" else chunk // max(1, chunks // n)
            mine = {
                "all_reduce": True, "reduce_scatter": True, "reduce": True, "all_gather": block == rank,
                "gather": block == rank, "send_recv": block == rank, "all_to_all": block == rank,
                "broadcast": rank == root, "scatter": rank == root,
            }[op]  # fmt: skip
            if mine:
                has[rank, chunk] = Counter({rank: 1})
    for step in schedule.steps:
        last = max((int(f + c) for f, c in zip(step.first, step.count)), default=0)
        for k in range(last):
            moves = []
            for s, d, c, add, width, first, count in zip(
                step.src, step.dst, step.chunk, step.reduce, step.width, step.first, step.count
            ):
                if first <= k < first + count:
                    block = c // step.window * step.window
                    moves += [
                        (s, d, block + (c - block + i + step.shift * (k - first)) % step.window, add)
                        for i in range(width)
                    ]
            reads, writes = [(s, c) for s, _d, c, _a in moves], Counter((d, c) for _s, d, c, _a in moves)
            if any(slot in writes for slot in reads) or any(slot not in has for slot in reads):
                return False
            if any(writes[d, c] > 1 and not add for _s, d, c, add in moves):
                return False
            if any(add and d < n and (d, c) not in has for _s, d, c, add in moves):
                return False
            before = {slot: Counter(parts) for slot, parts in has.items()}
            for s, d, c, add in moves:
                has[d, c] = has.get((d, c), Counter()) + before[s, c] if add else Counter(before[s, c])
    every = Counter(range(n))
    for rank in range(n):
        for chunk in range(chunks):
            shard = chunk * n // chunks
            right = {
                "all_reduce": every, "broadcast": Counter([root]), "all_gather": Counter([shard]),
                "reduce": every if rank == root else None,
                "gather": Counter([shard]) if rank == root else None,
                "reduce_scatter": every if shard == rank else None,
                "scatter": Counter([root]) if shard == rank else None,
                "send_recv": Counter([shard]) if (shard + 1) % n == rank else None,
                "all_to_all": Counter([chunk // max(1, chunks // n)]) if chunk // max(1, chunks // n**2) % n == rank else None,
            }[op]  # fmt: skip
            if right is not None and has.get((rank, chunk)) != right:
                return False
    return True


@st.composite
def spoiled(draw):
    """A good schedule with a few of its numbers changed."""
    op = draw(st.sampled_from(OPS))
    m = draw(st.integers(1, 3))
    n = m * draw(st.integers(1, 2))
    algorithm = draw(st.sampled_from(algorithms(op)))
    arrays = build(op, n, algorithm, ranks_per_domain=m, pipeline=draw(st.integers(1, 2)), radix=2).to_arrays()
    for _ in range(draw(st.integers(0, 3))):
        if not arrays["steps"]:
            break
        step = draw(st.sampled_from(arrays["steps"]))
        name = draw(
            st.sampled_from(["src", "dst", "chunk", "reduce", "width", "first", "count", "shift", "window", "steps"])
        )
        if name in ("shift", "window"):
            step[name] = draw(st.integers(-3, 9))
        elif name == "steps":
            other = copy.deepcopy(draw(st.sampled_from(arrays["steps"])))
            arrays["steps"].insert(draw(st.integers(0, len(arrays["steps"]))), other)
        else:
            at = draw(st.integers(0, len(step["src"]) - 1))
            step[name][at] = draw(st.booleans()) if name == "reduce" else draw(st.integers(-1, arrays["n_nodes"]))
    return arrays


@settings(max_examples=600, deadline=None)
@given(spoiled())
def test_a_proof_agrees_with_plain_python(arrays):
    try:
        schedule = Schedule.from_arrays(arrays)
    except CourseError:
        event("not a schedule")
        return
    proof = prove(schedule)
    event(f"proved: {proof.ok}")
    assert proof.ok == plainly(schedule), proof.sentence
    assert proof.sentence
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 1 << 20, 60) for _ in range(schedule.n_ranks)]
    if proof.ok:
        assert len(run(schedule, rows)) == schedule.n_ranks
    elif proof.got is None:
        try:
            run(schedule, rows)
        except ScheduleError:
            return
        raise AssertionError("run carries out what the proof refuses")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.sampled_from(["add", "copy"])))
    )
)
def test_random_transfers_are_judged_alike(steps):
    try:
        schedule = Schedule.from_transfers("all_reduce", 3, 3, steps)
    except CourseError:
        return
    assert prove(schedule).ok == plainly(schedule)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["op", "n_ranks", "n_nodes", "chunks", "steps", "root", "switch_rank"]),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.booleans() | st.just("all_reduce"),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(Step.__slots__), inner),
            max_leaves=12,
        ),
    )
)
def test_nonsense_from_outside_is_refused_in_words(arrays):
    base = build("all_reduce", 2, "ring").to_arrays()
    with contextlib.suppress(CourseError):
        prove(Schedule.from_arrays(base | arrays))


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(Step.__slots__),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.booleans(),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=6,
        ),
    )
)
def test_a_step_of_nonsense_is_refused_in_words(parts):
    arrays = build("all_reduce", 2, "ring").to_arrays()
    arrays["steps"][0] |= parts
    with contextlib.suppress(CourseError):
        prove(Schedule.from_arrays(arrays))
