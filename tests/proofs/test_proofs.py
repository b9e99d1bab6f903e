"""Every schedule is proved for every rank count, and no broken transfer goes unnoticed."""

import random

import pytest

from course_lib.comm.engine import acts, carry, count_parts, first_state
from course_lib.comm.execute import prove
from course_lib.comm.faults import Mutant, equivalents, mutate, try_mutants
from course_lib.comm.meaning import OPS, ROOTED
from course_lib.comm.registry import algorithms, build, has_pipeline
from course_lib.comm.schedule import Schedule

FLAT = [(op, name) for op in OPS for name in algorithms(op, hierarchical=False)]
TWO_LEVELS = [(op, name) for op in OPS for name in algorithms(op) if name.startswith("hierarchical")]
SPOTS = [17, 24, 31, 33, 48, 64, 71, 72]
DOMAINS = [(d, m) for d in range(1, 17) for m in range(1, 17) if 2 <= d * m <= 16]
FEW_DOMAINS = [(2, 2), (3, 2), (2, 3), (3, 3), (5, 2), (3, 4), (2, 7), (4, 4)]


@pytest.mark.parametrize(("op", "algorithm"), FLAT)
def test_every_schedule_is_proved_for_2_to_16_ranks(op, algorithm):
    for n in range(1, 17):
        for pipeline in (1, 3) if has_pipeline(op, algorithm) else (None,):
            for root in {0, n // 2, n - 1} if op in ROOTED else {0}:
                proof = prove(build(op, n, algorithm, pipeline=pipeline, root=root, radix=3))
                assert proof.ok, (n, pipeline, root, proof.sentence)


@pytest.mark.parametrize(("op", "algorithm"), [(op, name) for op, name in FLAT if op != "all_to_all"])
def test_every_schedule_is_proved_at_larger_counts(op, algorithm):
    for n in SPOTS:
        assert prove(build(op, n, algorithm, radix=8)).ok, n


@pytest.mark.parametrize(("op", "algorithm"), TWO_LEVELS)
def test_every_inner_goes_with_every_outer(op, algorithm):
    simple = "+" not in algorithm
    for d, m in DOMAINS if simple else FEW_DOMAINS:
        proof = prove(build(op, d * m, algorithm, ranks_per_domain=m, pipeline=2, radix=3))
        assert proof.ok, (d, m, proof.sentence)


@pytest.mark.parametrize(("d", "m"), [(9, 8), (4, 18), (2, 36)])
def test_hierarchies_of_72_ranks_are_proved(d, m):
    for op, algorithm in TWO_LEVELS:
        if "+" not in algorithm and op != "all_to_all":
            assert prove(build(op, d * m, algorithm, ranks_per_domain=m, pipeline=2)).ok, (op, algorithm)


def ends(schedule: Schedule):
    """What every slot of every rank holds at the end, on unit vectors."""
    state = first_state(schedule)
    for act in acts(schedule):
        carry(state, act, count_parts)
    return state[: schedule.n_ranks * schedule.chunks]


@pytest.mark.parametrize(("op", "algorithm"), FLAT)
def test_every_dropped_and_every_flipped_transfer_is_caught_or_does_the_same(op, algorithm):
    for n in range(2, 17):
        schedule = build(op, n, algorithm, pipeline=2, radix=4)
        verdict = try_mutants(schedule)
        assert verdict.tried == 2 * sum(step.chunk_moves for step in schedule.steps)
        assert not verdict.survivors
        assert verdict.equivalent == equivalents(schedule)
        if schedule.n_nodes == n:
            assert not verdict.equivalent


@pytest.mark.parametrize(("op", "algorithm"), TWO_LEVELS)
def test_mutants_of_hierarchies_are_caught_or_do_the_same(op, algorithm):
    for d, m in ((2, 2), (3, 2), (2, 3)):
        schedule = build(op, d * m, algorithm, ranks_per_domain=m, pipeline=2, radix=2)
        verdict = try_mutants(schedule)
        assert not verdict.survivors
        assert verdict.equivalent == equivalents(schedule)


@pytest.mark.parametrize(("op", "algorithm"), [*FLAT, *TWO_LEVELS])
def test_equivalent_mutants_are_proved_and_end_with_the_same_in_every_slot(op, algorithm):
    schedule = build(op, 4, algorithm, ranks_per_domain=2 if "hierarchical" in algorithm else None, radix=2)
    same = equivalents(schedule)
    for mutant in random.Random(3).sample(same, min(6, len(same))):
        other = mutate(schedule, mutant)
        assert prove(other).ok
        assert (ends(other) == ends(schedule)).all()


@pytest.mark.parametrize("algorithm", [name for _op, name in FLAT if _op == "all_reduce"])
def test_mutants_of_larger_all_reduces_die(algorithm):
    verdict = try_mutants(build("all_reduce", 33, algorithm, pipeline=2, radix=8))
    assert verdict.tried
    assert not verdict.survivors


@pytest.mark.parametrize(("op", "algorithm"), FLAT)
def test_following_mutants_side_by_side_agrees_with_proving_each(op, algorithm):
    schedule = build(op, 5, algorithm, pipeline=2, radix=2)
    verdict = try_mutants(schedule)
    survivors = {*verdict.survivors, *verdict.equivalent}
    every = [
        Mutant(i, k, int(t), int(c), kind)
        for i, k, moves in schedule.each_repeat()
        for t, c in zip(moves.transfer, moves.chunk)
        for kind in ("drop", "flip")
    ]
    for mutant in random.Random(7).sample(every, min(40, len(every))):
        assert prove(mutate(schedule, mutant)).ok == (mutant in survivors), mutant


def test_a_sender_left_without_its_chunk_is_caught_where_nobody_wants_the_chunk():
    # rank 1's shard goes to the root, and for no reason to 2 and from there to 3
    detour = [[(1, 0, 1, "copy"), (2, 0, 2, "copy"), (3, 0, 3, "copy")], [(1, 2, 1, "copy")], [(2, 3, 1, "copy")]]
    schedule = Schedule.from_transfers("gather", 4, 4, detour)
    survivors = try_mutants(schedule).survivors
    assert survivors == (Mutant(2, 0, 0, 1, "drop"),)  # the last hop; without the one before it, 2 sends nothing
    assert not prove(mutate(schedule, Mutant(1, 0, 0, 1, "drop"))).ok


def test_a_chunk_added_twice_reads_two():
    twice = Schedule.from_transfers("reduce", 3, 1, [[(1, 0, 0, "add"), (2, 0, 0, "add")], [(2, 0, 0, "add")]])
    proof = prove(twice)
    assert proof.got == (1, 1, 2)
    assert proof.expected == (1, 1, 1)
    assert (proof.rank, proof.chunk, proof.step, proof.repeat, proof.transfer) == (0, 0, 1, 0, 0)
    assert "the part of rank 2 is in it 2 times" in proof.sentence


def test_a_missing_part_is_named():
    proof = prove(Schedule.from_transfers("reduce", 3, 1, [[(1, 0, 0, "add")]]))
    assert proof.got == (1, 1, 0)
    assert "the part of rank 2 is missing" in proof.sentence
    assert "step 0, transfer 0" in proof.sentence


def test_counts_do_not_wrap_round_to_a_right_one():
    # 0 → 1 → 0 … doubles again and again: after 32 rounds a 32-bit count would be 0 and could be set right
    steps = [[(0, 1, 0, "add")], [(1, 0, 0, "add")]] * 40
    proof = prove(Schedule.from_transfers("all_reduce", 2, 1, steps))
    assert not proof.ok
    assert min(proof.got) > 1000


def test_transfers_that_change_nothing_are_listed():
    again = Schedule.from_transfers("broadcast", 3, 1, [[(0, 1, 0, "copy"), (0, 2, 0, "copy")], [(1, 2, 0, "copy")]])
    proof = prove(again)
    assert proof.ok
    assert proof.unchanged == ((1, 0, 0),)
