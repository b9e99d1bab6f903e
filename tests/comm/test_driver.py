"""Programs of ranks: results, what is counted, and what a mismatch or a deadlock says."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.driver import AllGather, AllReduce, AllToAll, Broadcast, Recv, ReduceScatter, Send, SendRecv, play


def each(program, n):
    return [program(r) for r in range(n)]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_all_reduce_sums_and_keeps_shape(n):
    def program(rank):
        return (yield AllReduce(np.full((2, 3), rank + 1.0)))

    results, log = play(each(program, n))
    for got in results:
        np.testing.assert_array_equal(got, np.full((2, 3), n * (n + 1) / 2))
    assert log.counts() == ({"all_reduce": 1} if n > 1 else {})
    assert log.message_B() == (48 if n > 1 else 0)
    assert log.wire_B() == pytest.approx(2 * (n - 1) * 48)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reduce_scatter_and_all_gather_cut_and_join_along_an_axis(axis):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 6, 9, 3))  # one array per rank

    def program(rank):
        part = yield ReduceScatter(x[rank], axis=axis)
        whole = yield AllGather(part, axis=axis)
        return part, whole

    results, log = play(each(program, 3))
    parts = np.split(x.sum(axis=0), 3, axis=axis)
    for rank, (part, whole) in enumerate(results):
        np.testing.assert_allclose(part, parts[rank], rtol=1e-12)
        np.testing.assert_allclose(whole, x.sum(axis=0), rtol=1e-12)
    assert log.message_B("reduce_scatter") == log.message_B("all_gather") == x[0].nbytes


def test_broadcast_from_any_rank_of_a_group():
    def program(rank):
        if rank in (1, 3):
            return (yield Broadcast(np.arange(3) if rank == 3 else None, root=3, group=(1, 3)))
        return rank

    results, log = play(each(program, 4))
    assert results[1].tolist() == [0, 1, 2]
    assert results[0] == 0
    assert log.entries[0].ranks == (1, 3)
    assert log.counts(rank=0) == {}


def test_all_to_all_takes_parts_of_unequal_length():
    def program(rank):
        return (yield AllToAll([np.full(rank + d, 10 * rank + d) for d in range(3)]))

    results, log = play(each(program, 3))
    for rank, got in enumerate(results):
        assert [part.tolist() for part in got] == [[10 * s + rank] * (s + rank) for s in range(3)]
    assert log.message_B() == 8 * (2 + 3 + 4)
    assert log.wire_B() == 8 * (1 + 2 + 1 + 3 + 2 + 3)


def test_groups_work_side_by_side():
    def program(rank):
        row = yield AllReduce(rank, group=(0, 1) if rank < 2 else (2, 3))
        column = yield AllReduce(row, group=(0, 2) if rank % 2 == 0 else (1, 3))
        return int(column)

    results, log = play(each(program, 4))
    assert results == [6, 6, 6, 6]
    assert log.counts() == {"all_reduce": 4}
    assert log.counts(rank=2) == {"all_reduce": 2}


def test_send_and_receive_pass_values_down_a_pipeline():
    def program(rank):
        x = np.array([1.0]) if rank == 0 else (yield Recv(rank - 1))
        if rank < 3:
            yield Send(2 * x, rank + 1)
        return float(x[0])

    results, log = play(each(program, 4))
    assert results == [1, 2, 4, 8]
    assert log.counts() == {"send_recv": 3}
    assert log.message_B() == 24


def test_an_exchange_does_not_deadlock_but_two_blocking_sends_do():
    def exchange(rank):
        return (yield SendRecv(rank, 1 - rank, 1 - rank))

    assert [int(x) for x in play(each(exchange, 2))[0]] == [1, 0]

    def stuck(rank):
        yield Send(rank, 1 - rank)
        return (yield Recv(1 - rank))

    with pytest.raises(CourseError, match="for ever: rank 0 waits in Send to rank 1; rank 1 waits in Send to rank 0"):
        play(each(stuck, 2))


def test_what_was_sent_is_a_copy():
    def program(rank):
        if rank == 0:
            x = np.ones(2)
            yield Send(x, 1)
            x[:] = 7
            return x
        return (yield Recv(0))

    assert play(each(program, 2))[0][1].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        (
            (AllReduce(1.0), Broadcast(1.0)),
            r"rank 0 waits in AllReduce with all ranks; rank 1 waits in Broadcast\(root=0\)",
        ),
        ((AllReduce(1.0), None), "rank 1 has finished"),
        ((AllReduce(1.0), AllReduce(np.ones(2))), "one shape and dtype"),
        ((AllReduce(1.0), AllReduce(1)), "one shape and dtype"),
        ((ReduceScatter(np.ones(3)), ReduceScatter(np.ones(3))), "2 does not divide 3"),
        ((ReduceScatter(np.ones(4), axis=1), ReduceScatter(np.ones(4), axis=1)), "axis is 1"),
        ((AllGather(np.ones(2), axis=0), AllGather(np.ones(2), axis=-1)), "waits in AllGather"),
        ((AllToAll([1.0]), AllToAll([1.0])), "gives 1 parts to AllToAll; 2 are needed"),
        ((AllToAll([1.0, 2]), AllToAll([1.0, 2])), "one dtype"),
        ((AllReduce(1.0, group=(1,)), AllReduce(1.0)), "has to name each rank once"),
        ((AllReduce(1.0, group=(0, 0, 1)), AllReduce(1.0)), "has to name each rank once"),
        ((AllReduce(1.0, group=(0, 9)), AllReduce(1.0)), "at most 1"),
        ((Send(1.0, 0), None), "sends to itself"),
        ((Send(1.0, 5), None), "at most 1"),
        ((Broadcast(1.0, root=7), Broadcast(1.0, root=7)), "not in its group"),
        ((np.ones(2), None), "Rank 0 yields a ndarray"),
        ((AllReduce("many"), AllReduce("many")), "Rank 0 gives AllReduce a str"),
        ((AllReduce([[1], [1, 2]]), AllReduce(1)), "Rank 0 gives AllReduce a list"),
        ((AllReduce(None), AllReduce(1)), "Rank 0 gives AllReduce a NoneType"),
        ((Send(None, 1), Recv(0)), "Rank 0 gives Send a NoneType"),
        ((AllGather(1.0, axis=[0]), AllGather(1.0)), "Rank 0: axis"),
        ((AllReduce(1.0, group=1), AllReduce(1.0)), "ranks in a tuple"),
        ((AllToAll(3), AllToAll(3)), "a list of 2 parts"),
        ((Recv("left"), None), "Rank 0: source"),
    ],
)
def test_mismatches_say_who_waits_for_what(requests, said):
    def program(request):
        if request is not None:
            yield request

    with pytest.raises(CourseError, match=said):
        play([program(request) for request in requests])


@pytest.mark.parametrize("programs", [[], [lambda: None], 3, [None]])
def test_programs_have_to_be_generators(programs):
    with pytest.raises(CourseError, match="generator"):
        play(programs)


@pytest.mark.parametrize("algorithm", ["tree", "halving-doubling", "direct", "in-network"])
def test_the_algorithm_changes_the_bytes_but_not_the_answer(algorithm):
    def program(rank):
        return (yield AllReduce(np.arange(16.0) * rank))

    results, log = play(each(program, 4), algorithm=algorithm)
    np.testing.assert_allclose(results[3], np.arange(16.0) * 6)
    assert log.entries[0].algorithm == algorithm


def test_empty_parts_are_no_trouble():
    def program(rank):
        return (yield AllToAll([np.zeros(0), np.zeros(0)]))

    results, log = play(each(program, 2))
    assert [part.size for part in results[0]] == [0, 0]
    assert log.message_B() == 0


def test_a_generator_cannot_be_played_twice():
    def program(rank):
        return (yield AllReduce(rank))

    programs = each(program, 2)
    play(programs)
    with pytest.raises(CourseError, match="already begun"):
        play(programs)


def test_an_error_in_a_program_comes_out_as_it_is():
    def program(rank):
        yield AllReduce(rank)
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        play(each(program, 2))
