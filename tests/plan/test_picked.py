"""A plan beside its neighbours is priced as the step alone, and says what does not divide; published utilisation."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan import picked, stepcost, utilisation
from course_lib.plan.steptime import step

PLANS = (
    ("llama3-405b", "dgx-h100", 1024, {"pipeline": 16, "global_batch": 1024}),
    ("mixtral-8x22b", "dgx-a100", 256, {"pipeline": 4, "expert": 8, "global_batch": 512, "recompute": "full"}),
    ("qwen3-235b", "gb200-nvl72", 512, {"pipeline": 2, "expert": 16, "global_batch": 512, "micro_batch": 2}),
    ("gpt3-175b", "dgx-a100", 512, {"pipeline": 8, "global_batch": 512, "interleave": 3, "order": "dp-tp-pp"}),
)


@pytest.mark.parametrize(("name", "system", "gpus", "plan"), PLANS)
def test_every_degree_is_what_the_step_says(name, system, gpus, plan):
    found = picked.over_tensor(name, system, gpus, **plan)
    assert found.legal.sum() > 2
    for i in np.flatnonzero(found.legal):
        options = {"recompute": "selective"} | plan
        alone = step(name, system, gpus=gpus, tensor=int(found.tensor[i]), check_memory=False, **options)
        assert found.step_s[i] == pytest.approx(alone.step_s)
        assert found.memory_B[i] == pytest.approx(alone.memory_B)
        assert found.mfu[i] == pytest.approx(alone.mfu)
        assert found.tokens_per_s[i] == pytest.approx(alone.tokens_per_s)
        assert sum(v[i] for v in found.groups.values()) == pytest.approx(alone.step_s)


def test_every_term_has_one_group():
    names = [n for group in picked.GROUPS.values() for n in group]
    assert sorted(names) == sorted(stepcost.TERMS)


def test_what_does_not_divide_is_not_a_number():
    found = picked.over_tensor("llama3-70b", "dgx-h100", 64, degrees=(1, 3, 64), pipeline=2, global_batch=64)
    assert found.legal.tolist() == [True, False, False]
    assert np.isnan(found.step_s).tolist() == [False, True, True]
    assert not found.fits[1:].any()
    left_over = picked.over_tensor("llama3-70b", "dgx-h100", 24, degrees=(8, 16), global_batch=24)
    assert left_over.legal.tolist() == [True, False]  # 16 ranks would leave 8 GPUs without work


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: picked.over_tensor("llama3-70b", "dgx-h100", 64, pipeline=7, global_batch=64), "nearest"),
        (lambda: picked.over_tensor("llama3-70b", "dgx-h100", 64, expert=2, global_batch=64), "experts"),
        (lambda: picked.over_tensor("llama3-70b", "dgx-h100", 64, global_batch=63), "nearest"),
        (lambda: picked.over_tensor("llama3-70b", "dgx-h100", 10**7, global_batch=64), "more than"),
        (lambda: picked.over_tensor("llama3-70b", "dgx-h100", 64, global_batch=64, recompute="all"), "recomputing"),
        (lambda: picked.over_tensor("llama3-8b", "dgx-h100", 8, degrees=(), global_batch=64), "at least one"),
        (lambda: picked.over_tensor("llama3-8b", "dgx-h100", 8, zero=5, global_batch=64), "at most 3"),
        (lambda: picked.grouped({"pipeline bubbles": 1.0}), "pipeline bubble"),
        (lambda: picked.over_tensor("llama3-8b", "dgx-h100", 8, global_batch=64).at(5), "not among"),
        (lambda: utilisation.published("gpt3-175b", "dgx-h100"), "No published run"),
    ],
)
def test_refusals_say_what_fails(call, words):
    with pytest.raises(CourseError, match=words):
        call()


def test_a_published_utilisation_is_operations_over_the_peak():
    found = utilisation.published("llama3-70b", "dgx-h100")
    assert found.n_gpus.tolist() == sorted(found.n_gpus.tolist())
    assert 0.5 < found.mfu.mean() < 0.6
