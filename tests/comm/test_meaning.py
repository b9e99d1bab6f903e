"""Names, message sizes, bus factors and rates of collectives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm import meaning
from course_lib.comm.meaning import OPS, bus_factor, canonical_op

SPELLINGS = {
    "alltoall": "all_to_all",
    "AlltoAll": "all_to_all",
    "all-to-all": "all_to_all",
    "sendrecv": "send_recv",
    "SendRecv": "send_recv",
    "send/recv": "send_recv",
    "all-reduce": "all_reduce",
    "AllReduce": "all_reduce",
    "allreduce": "all_reduce",
    "ncclAllReduce": "all_reduce",
    "MPI_Allreduce": "all_reduce",
    "allgather": "all_gather",
    "all gather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "all_reduce_perf": "all_reduce",
    "bcast": "broadcast",
}


@pytest.mark.parametrize(("spelling", "op"), SPELLINGS.items())
def test_usual_spellings_are_understood(spelling, op):
    assert canonical_op(spelling) == op


@pytest.mark.parametrize("bad", ["", "allreduc3", "barrier", None, 3, "ncclPerf"])
def test_unknown_collectives_are_refused_with_names(bad):
    with pytest.raises(CourseError, match="There is no collective"):
        canonical_op(bad)


@pytest.mark.parametrize("n", [2, 3, 8, 72])
def test_bus_factors_are_the_published_table(n):
    table = {"all_reduce": 2 * (n - 1) / n, "broadcast": 1, "reduce": 1, "send_recv": 1}
    for op in OPS:
        assert bus_factor(op, n) == pytest.approx(table.get(op, (n - 1) / n), rel=1e-15)


@given(st.sampled_from(OPS), st.integers(2, 10**6), st.floats(1.0, 1e15), st.floats(1e-9, 1e6))
def test_bus_and_algorithm_bandwidth_go_there_and_back(op, n, message_B, time_s):
    bus = meaning.busbw_Bps(op, message_B, time_s, n)
    assert meaning.algbw_from_busbw(op, bus, n) == pytest.approx(meaning.algbw_Bps(message_B, time_s), rel=1e-12)
    assert meaning.busbw_from_algbw(op, meaning.algbw_from_busbw(op, bus, n), n) == pytest.approx(bus, rel=1e-12)


def test_everything_broadcasts():
    sizes, ranks = np.logspace(0, 9, 5), np.array([[2], [8]])
    assert meaning.busbw_Bps("all_reduce", sizes, 1e-3, ranks).shape == (2, 5)
    assert meaning.least_sent_B("broadcast", sizes, ranks).shape == (2, 5)
    assert meaning.buffers_B("all_to_all", sizes, ranks).shape == (2, 5)
    assert bus_factor("broadcast", [1, 2]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "8", None, True])
def test_bad_sizes_and_times_are_refused(bad):
    with pytest.raises(CourseError):
        meaning.algbw_Bps(bad, 1.0)
    with pytest.raises(CourseError):
        meaning.algbw_Bps(1.0, bad)
    with pytest.raises(CourseError):
        meaning.least_sent_B("all_reduce", bad, 8)


@pytest.mark.parametrize("bad", [0, -1, 2.5, float("nan"), "8", None, True, [2, 2.5]])
def test_bad_rank_counts_are_refused(bad):
    with pytest.raises(CourseError):
        bus_factor("all_reduce", bad)


def test_one_rank_has_no_bus_bandwidth_and_sends_nothing():
    with pytest.raises(CourseError, match="nothing moves"):
        meaning.algbw_from_busbw("all_reduce", 1e9, 1)
    assert all(meaning.least_sent_B(op, 1e9, 1) == 0 for op in OPS)


def test_size_is_the_largest_buffer_on_one_rank():
    # nccl-tests prints max(sendBytes, expectedBytes); one rank puts in 100 B of all_gather on 8 ranks, 800 come out
    assert [meaning.message_B(op, 100, 8) for op in OPS] == [100, 100, 800, 100, 100, 100, 100, 100, 800]


def test_big_and_integer_sizes_agree_with_floats():
    assert meaning.least_sent_B("all_reduce", 2**60, 8) == meaning.least_sent_B("all_reduce", float(2**60), 8)
    assert meaning.buffers_B("all_to_all", np.int32(2**31 - 1), 131072) == (2**31 - 1) * 131072.0


@pytest.mark.parametrize("op", OPS)
def test_every_wanted_chunk_has_a_source(op):
    n, chunks, root = 4, 32, 3
    start = meaning.initial_state(op, n, chunks, root)
    assert (start.sum(axis=0).max(axis=-1) == 1).all()
    assert meaning.wanted(op, n, chunks, root).any()
