"""Exercise 07: what earns points and what does not, beyond what holds for every question."""

import numpy as np
import pytest

from course_lib.grading.bank.ex07 import q1_bubble, q2_order, q3_in_flight, q4_q5_across_hosts
from course_lib.grading.verdict import CORRECT, NOT_YET
from course_lib.plan.pipeline import bubble_formula, in_flight_formula

from .test_ex06 import verdict


def test_timeline_and_textbook_agree_on_the_bubble():
    for p, m, v in [(1, 1, 1), (8, 3, 1), (4, 8, 2), (6, 12, 3)]:
        book = bubble_formula("interleaved", p, m, v)
        assert q1_bubble.bubble(p, m, v) == pytest.approx((book.of_ideal, book.of_step))


def test_percent_and_a_single_number_are_refused():
    assert verdict("07.q1", lambda p, m, v: tuple(100 * b for b in q1_bubble.bubble(p, m, v))).points == 0
    assert verdict("07.q1", lambda p, m, v: q1_bubble.bubble(p, m, v)[0]).points == 0
    assert verdict("07.q1", lambda p, m, v: list(q1_bubble.bubble(p, m, v))).state == CORRECT
    assert verdict("07.q1", lambda p, m, v: np.array(q1_bubble.bubble(p, m, v))).state == CORRECT


def test_one_chunk_alone_earns_half():
    def only_one(p, m, v):
        return q1_bubble.bubble(p, m, v) if v == 1 else (0.0, 0.0)

    assert verdict("07.q1", only_one).points == 1.5


def test_another_order_that_keeps_the_promise_is_accepted():
    def backwards(p, m):
        return [[f"{op[0]}{m - 1 - int(op[1:])}" for op in stage] for stage in q2_order.order(p, m)]

    assert verdict("07.q2", backwards).state == CORRECT
    assert (
        verdict("07.q2", lambda p, m: [[(o[0], int(o[1:])) for o in s] for s in q2_order.order(p, m)]).state == CORRECT
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda p, m: q2_order.order(p, m)[:-1] or [[]], ""),
        (lambda p, m: [[*stage, "B0"] for stage in q2_order.order(p, m)], "twice"),
        (lambda p, m: [stage[:-1] for stage in q2_order.order(p, m)], "never"),
        (lambda p, m: [["F0"] * 30_000 for _s in range(p)], "pieces of work"),
        (lambda p, m: ["F0 B0"] * p, "list"),
        (lambda p, m: [[3]] * p, "no operation"),
        (lambda p, m: [], ""),
        (lambda p, m: "F0", "list"),
        (lambda p, m: [["F0", None]] * p, "no operation"),
    ],
)
def test_orders_that_are_none_earn_nothing_and_get_a_sentence(wrong, words):
    found = verdict("07.q2", wrong)
    assert (found.state, found.points) == (NOT_YET, 0)
    assert words in " ".join(found.sentences)


def test_counts_in_flight_agree_with_the_textbook():
    for schedule in ("gpipe", "1f1b", "zero-bubble"):
        for p, m, s in [(1, 1, 0), (4, 8, 3), (8, 3, 1)]:
            assert q3_in_flight.in_flight(schedule, p, m, s) == in_flight_formula(schedule, p, m, 1, s)


def test_every_learner_has_a_token_that_waits_for_latency():
    for learner in map(str, range(50)):
        numbers = q4_q5_across_hosts.q5.parameters_for(learner)
        found = q4_q5_across_hosts.judged(**numbers)
        assert found["cause"] == "latency"
        assert 1 < found["ten times the bandwidth"] < 1.25
        assert found["staged instead"] > 50
        assert verdict("07.q5", found, learner).state == CORRECT


def test_blaming_bandwidth_is_told_what_a_token_waits_for():
    numbers = q4_q5_across_hosts.q5.parameters_for("")
    found = verdict("07.q5", q4_q5_across_hosts.judged(**numbers) | {"cause": "bandwidth"})
    assert found.points == 1.5
    assert "blame bandwidth" in " ".join(found.sentences)
