"""Exercise 12: a plan earns by how near it is to the best, an article by the entry; near misses miss."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.grading import bank, notebook
from course_lib.grading.bank.ex12 import q1_efficiency, q2_rank_order, q4_best_plan, q5_article
from course_lib.grading.verdict import CORRECT, NOT_YET


def verdict(name, answer, learner=""):
    question = bank.question(name)
    return notebook.ask(question, {question.answer: answer}, learner)


def slower(than_best):
    """A plan function whose plans are slower than the best by about this factor: whole layers are recomputed, and more."""

    def plan(model, system, gpus, global_batch, par):
        best_s, _plan = q4_best_plan._best(model, system, gpus, global_batch)
        base = q4_best_plan.best_plan(model, system, gpus, global_batch, par)
        tries = [base | {"recompute": r, "interleave": 1, "tensor": t} for r in ("none", "full") for t in (2, 4, 8)]
        found = []
        for one in tries:
            try:
                found.append((q4_best_plan._priced(one, model, system, gpus, global_batch).step_s / best_s, one))
            except ValueError:
                continue
        return min(found, key=lambda pair: abs(pair[0] - than_best))[1]

    return plan


def test_the_score_falls_with_the_distance_from_the_best():
    points = [verdict("12.q4", slower(factor)).points for factor in (1.0, 1.4, 3.0)]
    assert points == sorted(points, reverse=True)
    assert verdict("12.q4", q4_best_plan.best_plan).state == CORRECT
    middle = verdict("12.q4", slower(1.4))
    assert middle.state == NOT_YET
    assert 0 < middle.points < 3
    assert "par is" in middle.sentences[-1]


def judged(answer, **inputs):
    try:
        return q4_best_plan._judge_plan(answer, **inputs)
    except CourseError as error:
        return str(error)


@pytest.mark.parametrize("cluster", q4_best_plan.CLUSTERS, ids=lambda c: f"{c[0]}-{c[1]}")
def test_every_cluster_has_plans_and_punishes_the_named_mistakes(cluster):
    names = ("model", "system", "gpus", "global_batch")
    inputs = dict(zip(names, cluster, strict=True)) | {"par": q4_best_plan.PARS[-1]}
    assert q4_best_plan._judge_plan(q4_best_plan.best_plan(**inputs), **inputs) == ""
    for mistake in q4_best_plan.q4.misconceptions:
        answer = mistake.wrong(**inputs)
        assert judged(answer, **inputs)
        assert mistake.recognise(answer, **inputs)
        assert not mistake.recognise(q4_best_plan.best_plan(**inputs), **inputs)


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        ({"tensors": 8}, "no setting"),
        ({"tensor": 8.0}, "whole number"),
        ({"tensor": True}, "whole number"),
        ({"zero": 3}, "0, 1 or 2"),
        ({"tensor": 7}, "nearest"),
        ({"tensor": 8, "pipeline": 1}, "nearest plans that fit"),
        ({"recompute": "most"}, "most"),
        ([8, 8], "a dict"),
        ({"tensor": 0}, "at least 1"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words(plan, word):
    found = verdict("12.q4", lambda *inputs: plan)
    assert found.points == 0
    assert any(word in sentence for sentence in found.sentences), found.sentences


@pytest.mark.parametrize("name", ["12.q1", "12.q3"])
@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_a_near_miss_is_a_miss(name, factor):
    question = bank.question(name)

    def off(*inputs):
        right = question.reference(*inputs)
        key = "efficiency" if name == "12.q1" else "communication"
        return right | {key: (np.asarray(right[key]) * factor).tolist()}

    assert verdict(name, off).state == NOT_YET


def test_each_entry_of_the_article_earns_its_share():
    answer = dict(q5_article.VERDICTS)
    answer["C"] = "true"
    found = verdict("12.q5", answer)
    assert found.points == pytest.approx(2 * 11 / 12)
    assert "InfiniBand joins the servers" in found.sentences[0]
    assert verdict("12.q5", dict.fromkeys(q5_article.VERDICTS, "wrong")).points == pytest.approx(2 * 7 / 12)


def test_the_quickest_is_never_the_most_gpus_in_the_cases():
    for seed in range(30):
        for case in q1_efficiency.q1.cases({}, np.random.default_rng(seed)):
            right = q1_efficiency.scaled(**case.inputs)
            if len(case.inputs["n_gpus"]) > 1:
                assert right["quickest"] < case.inputs["n_gpus"][-1]


def test_a_group_may_straddle_hosts_although_the_first_does_not():
    found = q2_rank_order.crossing(["tensor", "data", "pipeline"], {"tensor": 6, "data": 4, "pipeline": 2}, 8)
    assert found["tensor"] == "network"
