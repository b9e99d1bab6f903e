"""Running schedules on arrays equals NumPy; faulty ones are refused with the step and the chunk."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm import innetwork, ring
from course_lib.comm.execute import ScheduleError, prove, run
from course_lib.comm.meaning import OPS, ROOTED, least_sent_B
from course_lib.comm.registry import algorithms, build
from course_lib.comm.schedule import Schedule, Step

DTYPES = [np.float64, np.float32, np.int64, np.int16, np.complex128, np.uint8]


def reference(op, rows, root):
    """What a collective promises, in NumPy."""
    n, size = len(rows), rows[0].size
    part = -(-size // n)
    cut = [slice(min(r * part, size), min((r + 1) * part, size)) for r in range(n)]
    total = np.sum(rows, axis=0, dtype=rows[0].dtype)
    return {
        "all_reduce": lambda r: total,
        "reduce": lambda r: total if r == root else None,
        "broadcast": lambda r: rows[root],
        "send_recv": lambda r: rows[(r - 1) % n],
        "reduce_scatter": lambda r: total[cut[r]],
        "scatter": lambda r: rows[root][cut[r]],
        "all_gather": lambda r: np.concatenate(rows),
        "gather": lambda r: np.concatenate(rows) if r == root else None,
        "all_to_all": lambda r: np.concatenate([row[cut[r]] for row in rows]),
    }[op]


@st.composite
def cases(draw):
    op = draw(st.sampled_from(OPS))
    algorithm = draw(st.sampled_from(algorithms(op)))
    n = draw(st.integers(1, 12))
    m = draw(st.sampled_from([m for m in range(1, n + 1) if n % m == 0]))
    pipeline = None if op in ("reduce_scatter", "all_gather") else draw(st.integers(1, 5))
    root = draw(st.integers(0, n - 1)) if op in ROOTED else 0
    schedule = build(op, n, algorithm, ranks_per_domain=m, pipeline=pipeline, root=root, radix=draw(st.integers(2, 4)))
    return schedule, draw(st.integers(0, 40)), draw(st.sampled_from(DTYPES)), draw(st.integers(0, 2**32 - 1))


@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_run_equals_numpy(case):
    schedule, size, dtype, seed = case
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 10, size).astype(dtype) for _ in range(schedule.n_ranks)]
    expected = reference(schedule.op, rows, schedule.root)
    for rank, got in enumerate(run(schedule, rows)):
        want = expected(rank)
        if want is None:
            assert got is None
        else:
            assert got.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(got, want)


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 2**60) | st.floats(1e-3, 2.0**60))
def test_bytes_are_conserved_and_not_below_the_bound(case, message_B):
    schedule = case[0]
    sent, received = schedule.sent_B(message_B), schedule.received_B(message_B)
    assert sent.sum() == pytest.approx(received.sum(), rel=1e-12)
    moved = sum(step.chunk_moves for step in schedule.steps)
    assert sent.sum() == pytest.approx(moved * schedule.chunk_B(message_B), rel=1e-12)
    if schedule.n_nodes == schedule.n_ranks:  # without switches that add or copy
        busiest = max(sent.max(), received.max())
        assert busiest >= least_sent_B(schedule.op, message_B, schedule.n_ranks) * (1 - 1e-12)


def test_three_elements_on_eight_ranks_work():
    for op in OPS:
        for algorithm in algorithms(op):
            rows = [np.arange(3) + 10 * r for r in range(8)]
            got = run(build(op, 8, algorithm, ranks_per_domain=4), rows)
            for rank, result in enumerate(got):
                want = reference(op, rows, 0)(rank)
                assert (want is None and result is None) or np.array_equal(result, want), (op, algorithm, rank)


def test_no_elements_are_no_trouble():
    assert [r.size for r in run(ring.all_reduce(4), [np.zeros(0)] * 4)] == [0, 0, 0, 0]


def test_shapes_come_back():
    rows = np.arange(24.0).reshape(2, 3, 4)
    assert run(ring.all_reduce(2), rows)[0].shape == (3, 4)
    assert run(ring.all_reduce(2), [1.0, 2.0])[1].shape == ()


def test_inputs_are_not_changed():
    rows = np.arange(8.0).reshape(4, 2)
    before = rows.copy()
    run(ring.all_reduce(4), rows)
    np.testing.assert_array_equal(rows, before)


def test_narrow_types_add_in_their_own_type():
    ones = [np.full(4, 1, dtype=ml_dtypes.bfloat16)] * 300
    # 8 bits of mantissa: 256 + 1 stays 256, so a chain of additions stops growing
    total = run(ring.reduce(300, pipeline=1), ones)[0]
    assert total.dtype == ml_dtypes.bfloat16
    assert float(total[0]) == 256.0


def test_cast_rounds_every_sum():
    def rounded(x):
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)

    ones = [np.full(4, 1, dtype=np.float32)] * 300
    assert float(run(ring.reduce(300, pipeline=1), ones, cast=rounded)[0][0]) == 256.0
    assert float(run(ring.reduce(300, pipeline=1), ones)[0][0]) == 300.0
    # all at once into one slot: still one addition after another
    assert float(run(innetwork.nvls_reduce(300, pipeline=1), ones, cast=rounded)[0][0]) == 256.0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([[1.0, 2.0]], "needs 2 arrays"),
        ([[1.0, 2.0], [1.0]], "one shape and dtype"),
        ([np.ones(2), np.ones(2, int)], "one shape and dtype"),
        ([["a"], ["b"]], "Arrays of numbers"),
        ("ab", "needs 2 arrays"),
        (7, "needs 2 arrays"),
        ([None, [1.0]], "one is None"),
    ],
)
def test_data_of_the_wrong_kind_is_refused(data, said):
    with pytest.raises(CourseError, match=said):
        run(ring.all_reduce(2), data)


def faulty(name):
    """Schedules that race or move nothing, and where that is: step, transfers, chunk."""
    by_hand = Schedule.from_transfers
    return {
        "two copies": by_hand("broadcast", 3, 1, [[(0, 1, 0, "copy")], [(0, 2, 0, "copy"), (1, 2, 0, "copy")]]),
        "add and copy": by_hand("reduce", 3, 1, [[(1, 0, 0, "add"), (2, 0, 0, "copy")]]),
        "read and written": by_hand("all_reduce", 2, 1, [[(0, 1, 0, "add"), (1, 0, 0, "add")]]),
        "never had": by_hand("broadcast", 3, 2, [[(0, 1, 0, "copy")], [(1, 2, 1, "copy")]]),
        "adds to nothing": by_hand("broadcast", 2, 1, [[(0, 1, 0, "add")]]),
        "empty switch": Schedule("broadcast", 2, 3, 1, [Step([2], [1], [0], False)]),
    }[name]


@pytest.mark.parametrize(
    ("name", "step", "transfer", "chunk", "said"),
    [
        ("two copies", 1, 0, 0, "Step 1: transfers 0 and 1 both write chunk 0 of rank 2"),
        ("add and copy", 0, 1, 0, "both write chunk 0 of rank 0"),
        ("read and written", 0, 0, 0, "chunk 0 of rank 0 is sent .* and overwritten in the same repeat"),
        ("never had", 1, 0, 1, "Step 1, transfer 0: rank 1 sends chunk 1, which it never had"),
        ("adds to nothing", 0, 0, 0, "adds to chunk 0 of rank 1, which never held anything"),
        ("empty switch", 0, 0, 0, "switch 2 sends chunk 0, which it never had"),
    ],
)
def test_a_race_or_an_empty_sender_is_refused_with_step_and_chunk(name, step, transfer, chunk, said):
    schedule = faulty(name)
    with pytest.raises(ScheduleError, match=said) as caught:
        run(schedule, [np.ones(4)] * schedule.n_ranks)
    assert (caught.value.step, caught.value.transfer, caught.value.chunk) == (step, transfer, chunk)
    proof = prove(schedule)
    assert not proof.ok
    assert (proof.step, proof.transfer, proof.chunk) == (step, transfer, chunk)
    assert proof.sentence == str(caught.value)


def test_a_race_in_a_later_repeat_names_the_repeat():
    # two chains deliver to rank 2, chunk by chunk; in repeat 1 both bring chunk 1
    crossing = Step([0, 1], [2, 2], [0, 1], False, first=[0, 1], count=[3, 1], shift=1, window=4)
    proof = prove(Schedule("broadcast", 3, 3, 4, [Step([0], [1], [0], False, width=4), crossing]))
    assert (proof.step, proof.repeat, proof.chunk, proof.rank) == (1, 1, 1, 2)
    assert proof.sentence.startswith("Step 1, repeat 1: transfers 0 and 1 both write chunk 1 of rank 2")


def test_two_additions_into_one_slot_are_no_race():
    both = Schedule.from_transfers("reduce", 3, 1, [[(1, 0, 0, "add"), (2, 0, 0, "add")]])
    assert prove(both).ok
    assert run(both, [[1], [2], [4]])[0].tolist() == [7]


def test_a_result_that_never_arrives_is_refused_by_run_too():
    with pytest.raises(ScheduleError, match="rank 2 has nothing in chunk 0"):
        run(Schedule.from_transfers("broadcast", 3, 1, [[(0, 1, 0, "copy")]]), [np.ones(2)] * 3)


@pytest.mark.parametrize("size", ["moves", "cells", "repeats"])
def test_schedules_that_would_never_end_are_refused(size):
    schedule = {
        "moves": lambda: Schedule("broadcast", 2, 2, 2**30, [Step([0], [1], [0], False, width=2**30)]),
        "cells": lambda: Schedule("all_reduce", 2**14, 2**14, 2**14, []),
        "repeats": lambda: Schedule("broadcast", 2, 2, 1, [Step([0], [1], [0], False, first=2**22 - 1)]),
    }[size]()
    with pytest.raises(CourseError, match=r"too large|at most"):
        prove(schedule)
