"""Exercise 06: programs of ranks are judged by what they return and by what was really communicated."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.driver import AllGather, AllReduce
from course_lib.grading import bank, notebook
from course_lib.grading.bank.ex06 import programs, q2_counted, q4_sequence, q6_three_links
from course_lib.grading.verdict import CORRECT, NOT_YET
from course_lib.plan.block import Block, attention_forward, random_weights
from course_lib.plan.traffic import layer_collectives


def verdict(name, answer, learner=""):
    question = bank.question(name)
    return notebook.ask(question, {question.answer: answer}, learner)


def test_the_reference_mlp_is_the_unsliced_one():
    ranks, x, dy = programs._mlp_inputs(4, 3, 5, 8, 7)
    w1, b1, w2 = (np.concatenate([w[k] for w in ranks], axis) for k, axis in (("w1", 1), ("b1", 0), ("w2", 0)))
    before = x @ w1 + b1
    played = programs.play_mlp(programs.mlp_program(), 4, 3, 5, 8, 7)
    for rank in range(4):
        assert played["y"][rank] == pytest.approx(np.maximum(before, 0) @ w2 + ranks[0]["b2"])
        assert played["dx"][rank] == pytest.approx(((dy @ w2.T) * (before > 0)) @ w1.T)


@pytest.mark.parametrize(("n_ranks", "kv_heads"), [(1, 2), (2, 4), (4, 4), (8, 4), (8, 2)])
def test_the_reference_attention_is_the_unsliced_one(n_ranks, kv_heads):
    _ranks, x = programs._attention_inputs(n_ranks, 8, kv_heads, 3, 4, 5)
    w = random_weights(Block(8, kv_heads), 24, 4, head_size=3, seed=5)
    whole = attention_forward(x, w, 8, kv_heads)[0] + w["bo"]
    played = programs.play_attention(programs.attention_program(), n_ranks, 8, kv_heads, 3, 4, 5)
    assert played["y"] == pytest.approx(np.broadcast_to(whole, played["y"].shape))
    assert played["all_reduces"] == (n_ranks > 1)


def test_a_rank_that_computes_everything_itself_is_refused():
    def lazy(rank, n_ranks, x, w, n_heads, n_kv_heads):
        part, _saved = attention_forward(x, w, n_heads, n_kv_heads)
        y = yield AllReduce(part / n_ranks)
        return y + w["bo"]

    assert verdict("06.q3", lazy).points == 0


def test_a_right_result_by_gathering_is_told_that_a_sum_is_enough():
    def gathers(w, x, dy):
        before = x @ w["w1"] + w["b1"]
        y = (yield AllGather((np.maximum(before, 0) @ w["w2"])[None])).sum(0)
        dx = (yield AllGather((((dy @ w["w2"].T) * (before > 0)) @ w["w1"].T)[None])).sum(0)
        return y + w["b2"], dx

    found = verdict("06.q1", gathers)
    assert found.state == NOT_YET
    assert "all-reduces are enough" in found.sentences[0]


def test_a_right_result_with_a_needless_sum_is_told_how_many_are_enough():
    def thrice(w, x, dy):
        yield AllReduce(x)
        return (yield from programs.mlp_program()(w, x, dy))

    found = verdict("06.q1", thrice)
    assert (found.state, found.points) == (NOT_YET, 0)
    assert "2 would do" in " ".join(found.sentences)


def test_a_setting_is_not_shown_as_a_call_of_the_program():
    """mlp(w, x, dy) is played on ranks: nobody writes mlp(n_ranks=1, …)."""
    said = " ".join(verdict("06.q1", programs.mlp_program(sum_y=False)).sentences)
    assert "`n_ranks=2, " in said
    assert "mlp(" not in said


def test_a_request_that_is_not_yielded_says_what_to_write():
    """The commonest slip of all: no answer is waited for, and the request itself is added to."""

    def forgot(w, x, dy):
        before = x @ w["w1"] + w["b1"]
        y = AllReduce(np.maximum(before, 0) @ w["w2"])
        dx = yield AllReduce(((dy @ w["w2"].T) * (before > 0)) @ w["w1"].T)
        return y + w["b2"], dx

    said = " ".join(verdict("06.q1", forgot).sentences)
    assert "write y = yield AllReduce(…)" in said
    assert "It raised" not in said


@pytest.mark.parametrize(
    "compute", [lambda r: np.ones(2) + r, lambda r: r @ np.ones(2), lambda r: r[0], np.sum, np.array]
)
@pytest.mark.parametrize("request_", [AllReduce(np.ones(2)), AllGather(np.ones(2))])
def test_nobody_computes_with_a_request(compute, request_):
    with pytest.raises(CourseError, match="only asks"):
        compute(request_)


def test_a_program_that_yields_an_array_gets_one_sentence():
    def bare(w, x, dy):
        y = yield x @ w["w1"] @ w["w2"]
        return y, y

    said = verdict("06.q1", bare).sentences[0]
    assert "may yield" in said
    assert "It raised" not in said
    assert not said.endswith("..")


def test_both_sums_in_one_message_are_right():
    """dy is given beforehand, so the two parts can be sent together: less communication than was asked for."""

    def packed(w, x, dy):
        before = x @ w["w1"] + w["b1"]
        parts = np.maximum(before, 0) @ w["w2"], ((dy @ w["w2"].T) * (before > 0)) @ w["w1"].T
        both = yield AllReduce(np.concatenate(parts))
        return both[: len(x)] + w["b2"], both[len(x) :]

    assert verdict("06.q1", packed).state == CORRECT


def test_shared_heads_alone_earn_half():
    def no_copies(rank, n_ranks, x, w, n_heads, n_kv_heads):
        if n_ranks > n_kv_heads:
            raise ValueError("too many ranks")
        return (yield from programs.attention_program()(rank, n_ranks, x, w, n_heads, n_kv_heads))

    assert verdict("06.q3", no_copies).points == 1.5


@pytest.mark.parametrize("not_a_pair", [lambda w, x, dy: (x, dy), lambda w, x, dy: None])
def test_a_program_without_a_yield_is_refused_in_words(not_a_pair):
    found = verdict("06.q1", not_a_pair)
    assert found.points == 0
    assert "generator" in " ".join(found.sentences)


@pytest.mark.parametrize("part", ["mlp", "attention", "block"])
def test_counts_agree_with_the_plan(part):
    found = layer_collectives("llama3-70b", 1, tensor=8, part=part)
    assert q2_counted.all_reduces(part, 1, 8, True) == sum(found.forward.values()) + sum(found.backward.values())


@pytest.mark.parametrize("style", ["tensor", "sequence"])
@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_bytes_of_a_run_are_those_of_the_ring_formula(style, n):
    assert q4_sequence.sent_MB(style, 128, 256, n) == pytest.approx(4 * (n - 1) / n * 128 * 256 * 2 / 1e6)


@pytest.mark.parametrize("alone", [0.0, 1.0])
def test_the_size_of_the_messages_is_met_by_its_sentence_with_one_rank_looked_after_or_not(alone):
    sizes = lambda style, tokens, hidden, n: 2 * tokens * hidden * 2 / 1e6 * (1.0 if n > 1 else alone)  # noqa: E731
    assert "size of the messages" in verdict("06.q4", sizes).sentences[0]


def test_every_learner_has_both_verdicts_and_no_close_one():
    for learner in map(str, range(50)):
        numbers = q6_three_links.q6.parameters_for(learner)
        gains = [
            q6_three_links._gain(numbers, job, link) for job in q6_three_links.JOBS for link in q6_three_links.LINKS
        ]
        assert all(abs(np.log(gain)) > 0.08 for gain in gains)
        assert set(q6_three_links.verdicts(**numbers).values()) == {"faster", "slower"}
        assert verdict("06.q6", q6_three_links.verdicts(**numbers), learner).state == CORRECT


@pytest.mark.parametrize("given", [1.05, "1.5", None, np.array([1.5]), 1 + 0j])
def test_speedups_of_the_wrong_kind_or_value_earn_nothing(given):
    assert verdict("06.q5", lambda *a: given).points == 0
