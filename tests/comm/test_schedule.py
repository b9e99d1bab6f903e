"""Steps and schedules: what they mean, what they refuse, and that they survive a trip through JSON."""

import json

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.execute import prove
from course_lib.comm.lifting import lift
from course_lib.comm.meaning import OPS
from course_lib.comm.registry import algorithms, build
from course_lib.comm.schedule import Schedule, Step


def all_moves(schedule):
    return [
        tuple(zip(m.src.tolist(), m.dst.tolist(), m.chunk.tolist(), m.reduce.tolist()))
        for *_ik, m in schedule.each_repeat()
    ]


def test_chunk_moves_on_within_its_block_and_wraps():
    step = Step([0, 0], [1, 2], [3, 7], False, first=[0, 1], count=[5, 2], shift=-1, window=4)
    assert step.repeats == 5
    assert [step.chunk_at(k).tolist() for k in range(5)] == [[3], [2, 7], [1, 6], [0], [3]]
    assert [step.active(k).tolist() for k in range(5)] == [[0], [0, 1], [0, 1], [0], [0]]
    assert step.n_transfers == 7


def test_wide_transfers_are_written_out_and_wrap_inside_their_block():
    step = Step([0], [1], [2], False, width=2, count=2, shift=1, window=4)
    assert step.moves(0).chunk.tolist() == [2, 3]
    assert step.moves(1).chunk.tolist() == [3, 0]
    assert step.chunk_moves == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"src": [0, 1], "dst": [1], "chunk": [0], "reduce": True}, "one length"),
        ({"src": [0], "dst": [0], "chunk": [0], "reduce": True}, "to itself"),
        ({"src": [-1], "dst": [0], "chunk": [0], "reduce": True}, "at least 0"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": True, "width": 0}, "at least 1"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": True, "count": 0}, "at least 1"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": True, "count": 2**50}, "at most"),
        ({"src": [0], "dst": [1], "chunk": [2**60], "reduce": True}, "at most"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": True, "shift": 1}, "needs a window"),
        ({"src": [0], "dst": [1], "chunk": [3], "reduce": True, "width": 2, "window": 4}, "over the end"),
        ({"src": [0.5], "dst": [1], "chunk": [3], "reduce": True}, "whole numbers"),
        ({"src": ["a"], "dst": [1], "chunk": [3], "reduce": True}, "whole numbers"),
        ({"src": [[0]], "dst": [1], "chunk": [3], "reduce": True}, "whole numbers"),
        ({"src": [0], "dst": [1], "chunk": [float("nan")], "reduce": True}, "whole numbers"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": "add"}, "True"),
        ({"src": [0], "dst": [1], "chunk": [0], "reduce": [2]}, "True"),
    ],
)
def test_a_broken_step_is_refused_in_words(arguments, said):
    with pytest.raises(CourseError, match=said):
        Step(**arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((("all_reduce", 2, 2, 2), [Step([0], [2], [0], True)]), "transfer 0: dst is node 2; the nodes are 0 … 1"),
        ((("all_reduce", 2, 2, 2), [Step([0], [1], [2], True)]), "chunk 2 does not exist"),
        ((("all_reduce", 2, 2, 2), ["step"]), "Step 0 is a str"),
        ((("all_gather", 2, 2, 3), []), "no multiple of 2"),
        ((("all_to_all", 2, 2, 6), []), "no multiple of 4"),
        (
            (("all_reduce", 2, 2, 3), [Step([0], [1], [0], True, count=2, shift=1, window=2)]),
            "no multiple of its window",
        ),
        ((("all_reduce", 2, 1, 1), []), "n_nodes is 1"),
        ((("all_reduce", 0, 0, 1), []), "n_ranks is 0"),
        ((("all_reduec", 2, 2, 1), []), "nearest: all_reduce"),
    ],
)
def test_a_broken_schedule_is_refused_in_words(arguments, said):
    (op, n, nodes, chunks), steps = arguments
    with pytest.raises(CourseError, match=said):
        Schedule(op, n, nodes, chunks, steps)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([[(0, 5, 0, "add")]], "Step 0, transfer 0: destination is 5; it has to be at most 1"),
        ([[(0, 1, 7, "add")]], "chunk is 7"),
        ([[(0, 1, 0)]], "is expected"),
        ([[(0, 1, 0, "move it")]], 'neither "add" nor "copy"'),
        ([[(0, 1, 0, True)]], 'neither "add" nor "copy"'),
        ([[(1, 1, 0, "add")]], "to itself"),
        ([(0, 1, 0, "add")], "is expected"),
        ("0→1", "has to be a list"),
        (None, "has to be a list"),
        ([[(0, 1, 0.5, "add")]], "whole number"),
    ],
)
def test_a_learners_slip_names_the_step_and_transfer(steps, said):
    with pytest.raises(CourseError, match=said):
        Schedule.from_transfers("broadcast", 2, 1, steps)


def test_steps_without_transfers_are_left_out():
    assert Schedule.from_transfers("broadcast", 1, 1, [[], []]).steps == ()


@pytest.mark.parametrize("op", OPS)
def test_a_schedule_survives_json(op):
    for algorithm in algorithms(op):
        schedule = build(op, 6, algorithm, ranks_per_domain=3)
        again = Schedule.from_arrays(json.loads(json.dumps(schedule.to_arrays())))
        assert all_moves(again) == all_moves(schedule)
        assert str(again) == str(schedule)
        assert again.switch_rank.tolist() == schedule.switch_rank.tolist()


@pytest.mark.parametrize("spoil", ["missing", "not a dict", "extra key", "text", "nan", "huge"])
def test_arrays_from_outside_are_checked(spoil):
    arrays = build("all_reduce", 4, "ring").to_arrays()
    if spoil == "missing":
        del arrays["steps"]
    elif spoil == "not a dict":
        arrays = [1, 2]
    elif spoil == "extra key":
        arrays["steps"][0]["also"] = 1
    elif spoil == "text":
        arrays["steps"][0]["src"] = "0123"
    elif spoil == "nan":
        arrays["steps"][0]["src"][0] = float("nan")
    else:
        arrays["n_ranks"] = arrays["n_nodes"] = 10**30
    with pytest.raises(CourseError):
        Schedule.from_arrays(arrays)


def test_arrays_of_a_step_cannot_be_changed():
    step = build("all_reduce", 4, "ring").steps[0]
    with pytest.raises(ValueError, match="read-only"):
        step.src[0] = 3


def test_a_step_keeps_its_own_copy_of_what_it_was_given():
    src = np.array([0, 1])
    step = Step(src, [1, 0], [0, 1], True)
    src[0] = 7
    assert step.src[0] == 0


def test_lifting_tiles_a_proved_schedule_over_groups():
    ring = build("all_reduce", 4, "ring")
    steps = lift(ring, [[0, 2, 4, 6], [1, 3, 5, 7]], [0, 4])
    moves = list(zip(all_moves(ring), all_moves(Schedule("all_reduce", 8, 8, 8, steps))))
    for one, both in moves:
        expected = {(2 * s, 2 * d, c, r) for s, d, c, r in one} | {
            (2 * s + 1, 2 * d + 1, c + 4, r) for s, d, c, r in one
        }
        assert set(both) == expected


def test_lifting_refuses_blocks_that_would_not_be_blocks():
    ring = build("all_reduce", 4, "ring")
    with pytest.raises(CourseError, match="cannot begin at chunk 2"):
        lift(ring, [[0, 1, 2, 3]], [2])
    with pytest.raises(CourseError, match="node_map needs shape"):
        lift(ring, [[0, 1, 2]], [0])


def test_lifting_with_gaps_leaves_other_groups_chunks_alone():
    inner = build("all_gather", 3, "halving-doubling")
    steps = lift(inner, [[0, 1, 2]], [1], 2, 1)
    assert {int(c) for step in steps for k in range(step.repeats) for c in step.moves(k).chunk} == {1, 3, 5}


def test_printing_says_who_sends_what():
    text = str(build("all_reduce", 72, "ring"))
    assert "72 ranks, 72 chunks, ring: 10224 transfers in 142 repeats" in text
    assert "0→1 chunk 71 add (0+71)" in text
    assert len(text) < 600


def test_schedules_only_follow_on_the_same_nodes():
    with pytest.raises(CourseError, match="same ranks"):
        build("reduce_scatter", 4, "ring").then(build("all_gather", 5, "ring"))


def test_idle_repeats_change_nothing():
    late = Schedule("broadcast", 2, 2, 1, [Step([0], [1], [0], False, first=3)])
    assert prove(late).ok
    assert late.repeats == 4


@pytest.mark.parametrize("steps", [None, "steps", 3, {}])
def test_steps_that_are_no_list_are_refused(steps):
    with pytest.raises(CourseError, match="steps has to be a list"):
        Schedule("all_reduce", 2, 2, 1, steps)


@pytest.mark.parametrize(
    ("algorithm", "n", "more"), [("halving-doubling", 10**7, {}), ("direct", 10**7, {}), ("sharp", 8, {"radix": []})]
)
def test_what_cannot_be_built_is_refused_before_anything_is_made(algorithm, n, more):
    with pytest.raises(CourseError, match=r"closed form|radix is empty"):
        build("all_reduce", n, algorithm, **more)
