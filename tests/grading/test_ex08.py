"""Exercise 08: a scheduler is judged by what it exposes on ever faster networks, a bucket by what it exposes."""

import pytest

from course_lib.grading import bank, notebook
from course_lib.grading.bank.ex08 import q1_overlap, q2_bytes, q4_memory
from course_lib.grading.verdict import CORRECT, NOT_YET


def verdict(name, answer, learner=""):
    question = bank.question(name)
    return notebook.ask(question, {question.answer: answer}, learner)


def test_a_scheduler_of_ones_own_is_the_librarys():
    assert verdict("08.q1", q1_overlap.scheduler()).state == CORRECT


def test_a_negative_answer_is_told_that_it_cannot_be():
    found = verdict("08.q1", lambda *inputs: q1_overlap.exposed_s(*inputs) - 1.0)
    assert found.state == NOT_YET
    assert "cannot be negative" in found.sentences[0]


def test_a_faster_network_that_exposes_more_is_named():
    found = verdict("08.q1", lambda *inputs: 1.0 + inputs[-1] / 1e12)
    assert "faster network exposes more" in found.sentences[0]


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_near_miss_is_a_miss(factor):
    assert verdict("08.q1", lambda *inputs: factor * q1_overlap.exposed_s(*inputs)).state == NOT_YET


def test_a_size_that_was_not_offered_is_refused_in_words():
    found = verdict("08.q3", lambda *inputs: 1.0)
    assert "not one of the sizes" in found.sentences[0]


def test_a_size_in_megabytes_is_told_its_unit():
    found = verdict("08.q3", lambda *inputs: inputs[-1][0] / 1e6)
    assert "in MB; give it in bytes" in found.sentences[0]


def test_rounding_of_ones_own_scheduler_does_not_change_the_best_bucket():
    def mine(backward_s, gradient_B, latency_s, rate_Bps, sizes_B):
        late = {s: q1_overlap.scheduler()(backward_s, gradient_B, s, latency_s, rate_Bps) for s in sizes_B}
        return min(s for s in late if late[s] <= min(late.values()) * (1 + 1e-9))

    for learner in map(str, range(5)):
        assert verdict("08.q3", mine, learner).state == CORRECT


def test_half_of_the_schemes_earn_their_share():
    def without_zero3(scheme, *rest):
        return 0.0 if scheme == "zero3" else q2_bytes.sent_GB(scheme, *rest)

    assert verdict("08.q2", without_zero3).points == pytest.approx(2)


def test_a_rank_alone_sends_nothing_and_the_papers_example_is_met():
    assert q2_bytes.sent_GB("zero3", 10**9, 1, 4, False) == 0
    assert [round(q4_memory.state_GB(s, 7_500_000_000, 64), 1) for s in range(4)] == [120.0, 31.4, 16.6, 1.9]
