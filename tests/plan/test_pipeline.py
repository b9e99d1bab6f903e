import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.orders import Op, chunks_for, make, parse
from course_lib.plan.pipeline import bubble_formula, in_flight, in_flight_formula, run
from course_lib.plan.review import review

CASES = [(p, m) for p in (1, 2, 3, 4, 5, 8) for m in (1, 2, 3, 4, 7, 8, 16, 24)]


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zero-bubble"])
@pytest.mark.parametrize(("p", "m"), CASES)
def test_timeline_shows_the_textbook_bubble_and_memory(schedule, p, m):
    for forward, backward in ((3, 1), (1, 1), (3, 5), (1, 2), (1, 3), (1, 7)):  # 1 : 3 with full recomputing
        t = run(make(schedule, p, m), forward_s=forward, backward_s=backward)
        book = bubble_formula(schedule, p, m, backward_over_forward=backward / forward)
        assert t.bubble_of_ideal == pytest.approx(book.of_ideal)
        assert t.bubble_of_step == pytest.approx(book.of_step)
    assert in_flight(t).tolist() == [in_flight_formula(schedule, p, m, 1, s) for s in range(p)]


@pytest.mark.parametrize("v", [1, 2, 3, 4])
@pytest.mark.parametrize(("p", "m"), [(p, m) for p, m in CASES if m % p == 0])
def test_interleaving_divides_the_bubble_by_its_chunks(p, m, v):
    t = run(make("interleaved", p, m, v))
    assert t.bubble_of_ideal == pytest.approx((p - 1) / (v * m))
    assert in_flight(t) == pytest.approx([in_flight_formula("interleaved", p, m, v, s) for s in range(p)])


def test_the_two_conventions_of_a_bubble_differ():
    book = bubble_formula("1f1b", 8, np.array([8, 64]))
    np.testing.assert_allclose(book.of_ideal, [7 / 8, 7 / 64])
    np.testing.assert_allclose(book.of_step, [7 / 15, 7 / 71])


def test_zero_bubble_leaves_f_plus_b_minus_w():
    p, m = 4, 12
    t = run(make("zero-bubble", p, m), forward_s=1, backward_s=2)
    assert t.step_s - 3 * m == pytest.approx((p - 1) * (1 + 1 - 1))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["gpipe", "1f1b", "interleaved", "zero-bubble"]),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
    st.floats(0, 5),
)
def test_a_timeline_keeps_every_promise(schedule, p, groups, v, handoff):
    v = v if schedule == "interleaved" else 1
    m = groups * p
    t = run(make(schedule, p, m, v), forward_s=1, backward_s=2, handoff_s=handoff)
    block = t.chunk * p + t.stage
    at = {(k, i, b): n for n, (k, i, b) in enumerate(zip(t.kind, t.micro, block, strict=True))}
    assert len(at) == len(t.start_s) == (3 if t.split else 2) * m * v * p
    wire = handoff if p > 1 else 0
    for (kind, i, b), n in at.items():
        if kind == "F" and b:
            assert t.start_s[n] >= t.end_s[at["F", i, b - 1]] + wire - 1e-9
        if kind == "B":
            assert t.start_s[n] >= t.end_s[at["F", i, b]] - 1e-9
            if b < p * v - 1:
                assert t.start_s[n] >= t.end_s[at["B", i, b + 1]] + wire - 1e-9
        if kind == "W":
            assert t.start_s[n] >= t.end_s[at["B", i, b]] - 1e-9
    for s in range(p):
        mine = np.argsort(t.start_s[t.stage == s], kind="stable")
        ends, starts = t.end_s[t.stage == s][mine], t.start_s[t.stage == s][mine]
        assert (starts[1:] >= ends[:-1] - 1e-9).all()
    np.testing.assert_allclose(t.busy_s, 3 * m)


def test_handoffs_cost_more_with_more_chunks():
    slow = [run(make("interleaved", 4, 8, v), handoff_s=0.5).step_s for v in (1, 2, 4)]
    free = [run(make("interleaved", 4, 8, v)).step_s for v in (1, 2, 4)]
    assert free[0] > free[1] > free[2]
    assert slow[2] - free[2] > slow[0] - free[0]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["F0 B0", "F0"], "Stage 1 never does B0"),
        (["B0 F0", "F0 B0"], "Stage 0 does B0 before F0"),
        (["F0 F0", "F0 B0"], "Stage 0 does F0 twice"),
        (
            ["F0 B0 F1 B1", "F1 B1 F0 B0"],
            "stage 0 waits with B0 for B0 of stage 1; stage 1 waits with F1 for F1 of stage 0",
        ),
        (["W0 F0 B0", "F0 B0 W0"], "Stage 0 does W0 before B0"),
        ([], "one list"),
        ([[]], "no operation"),
        ([3], "no list"),
        ([["F-1"]], "'F-1' is no operation"),
        ([["F" + "9" * 5000]], "is no operation"),
        ([[("FB", 0)]], "is no operation"),
        ([[("", 0)]], "is no operation"),
        ([[Op("X", 0)]], "is no operation"),
        ([[Op("F", -1)]], "at least 0"),
        ([[Op("F", 0.5)]], "whole number"),
        ([[("F", 1.5)]], "whole number"),
    ],
)
def test_a_wrong_order_is_explained(order, words):
    with pytest.raises(CourseError, match=words):
        run(order)


@pytest.mark.parametrize("order", [["F0 B99999999"], ["F0.99999999 B0"], [[("F", 1e30), ("B", 0)]]])
def test_one_wrong_number_is_answered_without_counting_up_to_it(order):
    """A list of all that is missing would be hundreds of millions long."""
    with pytest.raises(CourseError, match="Stage 0 never does"):
        run(order)
    assert not review(order, 1, 1).accepted


@pytest.mark.parametrize(
    ("schedule", "sizes"), [("gpipe", (8, 10**9)), ("1f1b", (10**9, 8)), ("interleaved", (8, 8, 10**9))]
)
def test_orders_too_long_to_write_down_are_refused_at_once(schedule, sizes):
    with pytest.raises(CourseError, match="operations, more than"):
        make(schedule, *sizes)


def test_misfits_name_the_nearest_choice():
    with pytest.raises(CourseError, match="4 or 8"):
        make("interleaved", 4, 6, 2)
    with pytest.raises(CourseError, match="The nearest: 8"):
        make("interleaved", 8, 6, 2)
    with pytest.raises(CourseError, match="10 or 16"):
        chunks_for(80, 12)
    with pytest.raises(CourseError, match="2 or 5"):
        chunks_for(80, 8, 4)
    with pytest.raises(CourseError, match="interleaved"):
        make("1f1b", 4, 8, 2)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "8", None])
def test_odd_numbers_of_stages_are_refused(bad):
    with pytest.raises(CourseError):
        make("1f1b", bad, 8)
    with pytest.raises(CourseError):
        make("gpipe", 4, bad)


@pytest.mark.parametrize(("p", "m"), [(1, 1), (2, 5), (4, 4), (4, 8), (8, 3)])
def test_the_library_accepts_its_own_order_and_refuses_gpipe(p, m):
    assert review(make("1f1b", p, m), p, m).accepted
    assert review([" ".join(map(str, ops)) for ops in make("1f1b", p, m)], p, m).accepted
    verdict = review(make("gpipe", p, m), p, m)
    assert verdict.accepted == (m == 1)
    if not verdict.accepted:
        assert "at once" in verdict.reason


def test_a_reviewer_names_what_is_wrong():
    assert "Micro-batch 4" in review(make("1f1b", 2, 5), 2, 4).reason
    assert "lists: 1, stages: 2" in review(make("1f1b", 1, 4), 2, 4).reason
    assert "at once" in review(make("gpipe", 2, 4), 2, 4).reason
    slow = [["F0", "B0", "F1", "B1"], ["F0", "B0", "F1", "B1"]]
    assert "lasts 12 where 1f1b needs 9" in review(slow, 2, 2).reason
    assert "split" in review(make("zero-bubble", 2, 4), 2, 4).reason
    assert not review("nonsense", 2, 4).accepted


def test_another_order_that_keeps_the_promise_is_accepted():
    """Stage 1 of 1F1B may take the second micro-batch first when stage 0 sends it first."""
    assert review(["F1 F0 B1 B0", "F1 B1 F0 B0"], 2, 2).accepted


def test_orders_read_in_three_spellings():
    assert parse([["F3.1"]]) == parse([[("F", 3, 1)]]) == parse(["f3.1"]) == [[Op("F", 3, 1)]]
