import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.search import candidates, pareto, search
from course_lib.plan.steptime import step
from course_lib.plan.transformer import RECOMPUTE, model


@pytest.fixture(scope="module")
def found():
    return search("megatron-1t", "dgx-a100", 4096, global_batch=4096)


def test_the_price_of_a_plan_is_that_of_the_step_alone(found):
    rng = np.random.default_rng(5)
    for i in [0, *rng.choice(found.n_plans, 12, replace=False).tolist()]:
        row = found.row(i)
        alone = step(
            "megatron-1t",
            "dgx-a100",
            gpus=4096,
            global_batch=4096,
            software="megatron",
            check_memory=False,
            **{name: row[name] for name in ("tensor", "pipeline", "micro_batch", "interleave", "recompute", "zero")},
        )
        assert alone.step_s == pytest.approx(row["step_s"], rel=1e-12)
        assert alone.memory_B == pytest.approx(row["memory_B"], rel=1e-12)
        assert alone.mfu == pytest.approx(row["mfu"], rel=1e-12)


def test_prices_of_experts_are_those_of_the_step_alone():
    found = search("mixtral-8x7b", "gb200-nvl72", 64, global_batch=128, seq=4096)
    assert {1, 8} <= set(found.table["expert"].tolist())
    assert len(set(found.table["expert_tensor"].tolist())) > 1
    for i in np.random.default_rng(6).choice(found.n_plans, 10, replace=False):
        row = found.row(int(i))
        names = ("tensor", "pipeline", "micro_batch", "interleave", "recompute", "zero", "expert", "expert_tensor")
        alone = step(
            "mixtral-8x7b",
            "gb200-nvl72",
            gpus=64,
            global_batch=128,
            seq=4096,
            software="megatron",
            check_memory=False,
            **{name: row[name] for name in names},
        )
        assert alone.step_s == pytest.approx(row["step_s"], rel=1e-12)


def test_every_legal_choice_is_there(found):
    table = found.table
    assert set(table["tensor"].tolist()) == {1, 2, 4, 8, 16, 32}
    assert {1, 2, 64, 128} <= set(table["pipeline"].tolist()) <= {1, 2, 4, 8, 16, 32, 64, 128}
    assert set(table["zero"].tolist()) == {0, 1, 2, 3}
    assert set(table["recompute"].tolist()) == set(range(len(RECOMPUTE)))
    assert {1, 2, 4, 16} <= set(table["interleave"].tolist())
    assert (table["tensor"] * table["pipeline"] * table["data"] == 4096).all()
    keys = np.stack([table[n] for n in ("tensor", "pipeline", "micro_batch", "interleave", "recompute", "zero")])
    assert np.unique(keys, axis=1).shape[1] == found.n_plans
    assert found.n_plans == len(candidates(model("megatron-1t"), 4096, global_batch=4096, seq=2048))


def test_the_best_is_the_quickest_that_fits_and_the_frontier_is_not_beaten(found):
    table = found.table
    assert found.best["step_s"] == table["step_s"][table["fits"]].min()
    assert found.best["fits"]
    assert (table["memory_B"][: found.n_fit] <= found.capacity_B).all()
    assert (table["memory_B"][found.n_fit :] > found.capacity_B).all()
    for i in found.frontier:
        better = (table["step_s"] <= table["step_s"][i]) & (table["memory_B"] <= table["memory_B"][i]) & table["fits"]
        strictly = better & ((table["step_s"] < table["step_s"][i]) | (table["memory_B"] < table["memory_B"][i]))
        assert not strictly.any()


def test_a_frontier_over_numbers_of_gpus_keeps_the_small_jobs():
    found = search("llama3-8b", "dgx-h100", [8, 16, 32], global_batch=64)
    assert set(found.table["gpus"][found.frontier].tolist()) == {8, 16, 32}
    brute = _brute(
        found.table["step_s"][: found.n_fit], found.table["memory_B"][: found.n_fit], found.table["gpus"][: found.n_fit]
    )
    assert found.frontier.tolist() == brute


def _brute(t, m, g):
    kept = []
    for i in range(len(t)):
        no_worse = (t <= t[i]) & (m <= m[i]) & (g <= g[i])
        better = no_worse & ((t < t[i]) | (m < m[i]) | (g < g[i]))
        same_before = no_worse[:i].any()
        if not better.any() and not same_before:
            kept.append(i)
    return kept


def test_pareto_agrees_with_trying_all():
    rng = np.random.default_rng(1)
    for _round in range(20):
        t, m, g = (
            np.sort(rng.integers(0, 30, 60)).astype(float),
            rng.integers(0, 30, 60).astype(float),
            rng.integers(1, 4, 60),
        )
        rank = np.lexsort((g, m, t))
        assert pareto(t[rank], m[rank], g[rank]).tolist() == sorted(_brute(t[rank], m[rank], g[rank]))


def test_progress_is_told_up_to_the_end():
    told = []
    found = search(
        "llama3-8b", "dgx-h100", [8, 16], global_batch=64, progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (found.n_plans, found.n_plans)
    assert told == sorted(told)


def test_nothing_that_divides_is_a_sentence():
    with pytest.raises(CourseError, match="No plan divides: 7 GPUs"):
        search("llama3-70b", "dgx-h100", 7, global_batch=8)
    with pytest.raises(CourseError, match="more than polaris has"):
        search("llama3-70b", "polaris", 4096, global_batch=4096)
    with pytest.raises(CourseError):
        search("llama3-70b", "dgx-h100", 0, global_batch=8)


@pytest.mark.parametrize(
    "change",
    [{"contexts": [0]}, {"zeros": [4]}, {"recomputes": ["some"]}, {"max_tensor": 0}, {"global_batch": 0}, {"seq": 0}],
)
def test_choices_that_cannot_be_are_refused(change):
    with pytest.raises(CourseError):
        search("llama3-8b", "dgx-h100", 8, **({"global_batch": 8} | change))
    with pytest.raises(CourseError, match="at least one number"):
        search("llama3-8b", "dgx-h100", [], global_batch=8)


def test_context_ranks_are_tried_where_asked():
    found = search("llama3-8b", "dgx-h100", 8, global_batch=8, seq=131072, contexts=(1, 2, 4, 8))
    assert set(found.table["context"].tolist()) == {1, 2, 4, 8}
    assert found.best["context"] > 1
