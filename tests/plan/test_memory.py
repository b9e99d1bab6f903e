import dataclasses
import re

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.footprint import Plan, footprint, layer_params, serving, variants
from course_lib.plan.memory import (
    activation_ends_B,
    activation_layer_B,
    kv_heads_each,
    kv_token_B,
    recipe,
    states,
)
from course_lib.plan.memoryruns import footprints
from course_lib.plan.orders import SCHEDULES
from course_lib.plan.pools import fit, gb, holds, pool, pools
from course_lib.plan.traffic import layer_collectives
from course_lib.plan.transformer import model, models, params


def test_zero_reproduces_its_paper():
    """Rajbhandari et al. 2020, figure 1: 7.5 billion parameters, 64 GPUs."""
    got = [float(states(7.5e9, 64, stage).total_B) / 1e9 for stage in range(4)]
    np.testing.assert_allclose(got, [120, 31.4, 16.6, 1.9], rtol=0.014)
    np.testing.assert_allclose(got, [120, 31.40625, 16.640625, 1.875])


def test_more_replicas_never_need_more():
    n = np.arange(1, 65)
    for stage in range(4):
        total = states(1e9, n, stage).total_B * np.ones_like(n)
        assert (np.diff(total) <= 0).all()
    assert states(1e9, n, 3).total_B[-1] == pytest.approx(16e9 / 64)


@pytest.mark.parametrize("name", ["gpt3-175b", "megatron-22b", "turing-530b", "megatron-1t"])
def test_activations_are_korthikantis_formula(name):
    shape, b = model(name), 3
    s, h, a = shape.seq, shape.hidden, shape.n_heads
    for t in (1, 2, 8):
        layer = {
            (sequence, way): activation_layer_B(shape, b, tensor=t, sequence=sequence, recompute=way)
            for sequence in (False, True)
            for way in ("none", "selective", "full")
        }
        sbh, scores = s * b * h, 5 * a * s / h
        assert layer[False, "none"] == pytest.approx(sbh * (10 + 24 / t + scores / t))
        assert layer[True, "none"] == pytest.approx(sbh * (34 + scores) / t)
        assert layer[False, "selective"] == pytest.approx(sbh * (10 + 24 / t))
        assert layer[True, "selective"] == pytest.approx(sbh * 34 / t)
        assert layer[False, "full"] == 2 * sbh


@pytest.mark.parametrize(
    ("name", "percent"),
    [
        ("megatron-22b", (66.84, 49.42, 16.18, 7.64)),
        ("gpt3-175b", (62.04, 56.53, 18.49, 8.71)),
        ("turing-530b", (58.31, 62.04, 20.27, 9.42)),
    ],
)
def test_techniques_save_what_figure_7_of_korthikanti_shows(name, percent):
    options = [(True, "none"), (False, "selective"), (True, "selective"), (False, "full")]
    base = activation_layer_B(name, 1, tensor=8)
    got = [100 * activation_layer_B(name, 1, tensor=8, sequence=q, recompute=w) / base for q, w in options]
    np.testing.assert_allclose(got, percent, rtol=0.015)  # read off a figure


def test_activations_broadcast():
    batch, seq, t = np.ones((2, 1, 1)), np.array([1024, 4096])[:, None], np.array([1, 2, 4])
    got = activation_layer_B("llama3-8b", batch, seq, tensor=t)
    assert got.shape == (2, 2, 3)
    assert got[0, 1, 2] == activation_layer_B("llama3-8b", 1, 4096, tensor=4)


def test_a_gated_block_without_dropout_is_counted_piece_by_piece():
    shape, s = model("llama3-8b"), 100
    by_hand = 2 * s * 4096 * (2 + 1 + 1)  # inputs of two norms, of attention, of the MLP
    by_hand += 2 * s * 128 * (32 + 32 + 8 + 8)  # queries, heads' outputs, keys, values
    by_hand += 2 * s * s * 32  # weights of attention
    by_hand += 2 * s * 14336 * 3  # gate, up, their product
    assert activation_layer_B(shape, 1, s, dropout=False) == by_hand


def test_the_logits_are_the_larger_end():
    first, last = activation_ends_B("llama3-8b", 1, dropout=False)
    assert first == 0
    assert last == 4 * 8192 * (4096 + 128256)


def test_cache_per_token():
    """Zhao et al. 2025 print 70.272 kB for DeepSeek-V3 and 516.096 for Llama 3.1 405B; Kwon et al. 2023 800 KiB for OPT-13B."""
    assert kv_token_B("deepseek-v3") == 70272
    assert kv_token_B("llama3-405b") == 516096
    assert kv_token_B("opt-13b") == 800 * 1024
    assert kv_token_B("opt-13b", element_B=1) == 400 * 1024
    assert kv_token_B("deepseek-v3", tensor=8) == kv_token_B("deepseek-v3")


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12])
def test_key_value_heads_are_shared_or_copied_and_never_lost(heads):
    for t in range(1, 40):
        if heads % t and t % heads:
            with pytest.raises(CourseError) as error:
                kv_heads_each(heads, t)
            for choice in [
                int(word)
                for word in str(error.value).split("What works:")[1].replace(".", "").split()
                if word.isdigit()
            ]:
                assert kv_heads_each(heads, choice) >= 1
        else:
            assert kv_heads_each(heads, t) * t >= heads


@pytest.mark.parametrize("name", models())
def test_one_rank_holds_the_whole_model(name):
    assert footprint(name, Plan()).n_params.sum() == params(model(name)).total


@pytest.mark.parametrize("name", ["gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3"])
def test_ranks_together_hold_every_matrix_once(name):
    shape = model(name)
    e = 4 if shape.n_experts else 1
    p = 61 if name == "deepseek-v3" else 2
    one, many = params(shape), footprint(shape, Plan(tensor=4, pipeline=p, expert=e))
    _always, dense, experts = layer_params(shape, 4, e)
    assert experts * 4 * e == one.experts
    assert 1 <= dense * 4 / one.mlp < 1.001
    everything = 4 * e * many.n_params.sum()
    assert everything >= one.total
    if not shape.n_experts:
        assert everything < 1.02 * one.total


def test_experts_and_the_rest_have_different_replicas():
    plan = Plan(data=2, expert=4, zero_stage=1, recipe="megatron-adam")
    got = footprint("megatron-moe-4b", plan)
    one = params(model("megatron-moe-4b"))
    experts = one.experts * 24 / 4
    rest = one.total - one.experts * 24
    assert float(got.states_B[0]) == pytest.approx(experts * (6 + 12 / 2) + rest * (6 + 12 / 8))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_first_stage_holds_what_the_schedule_keeps_in_flight(schedule):
    chunks = 3 if schedule == "interleaved" else 1
    plan = Plan(pipeline=8, n_micro=64, schedule=schedule, chunks=chunks)
    got = footprint("gpt3-175b", plan).activations_B[0] / (12 * activation_layer_B("gpt3-175b", 1, dropout=False))
    assert got == pytest.approx({"gpipe": 64, "1f1b": 8, "interleaved": 8 * (1 + 7 / 24), "zero-bubble": 8}[schedule])


def test_every_saving_saves_on_a_plan_that_needs_it():
    plan = Plan(tensor=2, pipeline=2, data=8, batch=2, n_micro=8)
    before = footprint("llama3-8b", plan).total_B.max()
    for name, other in variants(plan):
        assert footprint("llama3-8b", other).total_B.max() < before, name


def test_six_and_more_measured_footprints_within_five_percent():
    rows = footprints("measured")
    assert len(rows) >= 10
    for row in rows:
        assert abs(row.error) < 0.05, row.what
        assert row.source
        assert row.address.startswith("https://")
    kinds = {row.source for row in rows}
    assert len(kinds) >= 6


def test_published_footprints_are_met():
    for row in footprints("published"):
        assert abs(row.error) < 0.025, row.what


def test_serving_weights_and_cache():
    got = serving("llama3-70b", np.array([1, 8]), 8192, tensor=8)
    np.testing.assert_allclose(got.cache_B, np.array([1, 8]) * 8192 * 40960)
    assert got.weights_B == pytest.approx(70.55e9 * 2 / 8, rel=0.001)
    assert serving("llama3-405b", 1, 8192, tensor=8, weight_B=1).weights_B < 80e9


def test_what_fits_in_which_pool():
    assert holds(16e9, "h100").fits
    assert not holds(140e9, "h100").fits
    assert holds(140e9, "dgx-h100").fits
    assert "2 of them" in holds(141e9, "h100").sentence
    assert holds(671e9, "gb200-nvl72").fits
    assert holds(400e9, "gh200-host").fits
    assert holds(80e9, "h100").fits  # to the byte
    assert holds(80e9 + 1, "h100").missing_B == 1


@pytest.mark.parametrize("name", pools())
def test_every_pool_has_capacity_rate_and_source(name):
    found = pool(name)
    assert min(found.capacity_B, found.bandwidth_Bps) > 0
    assert found.source
    assert found.each_B * found.n_gpus == found.capacity_B


def test_a_misfit_says_by_how_much_and_what_would_fix_it():
    verdict = fit("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64), "a100")
    assert not verdict.fits
    needed = float(footprint("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64)).total_B.max())
    assert verdict.missing_B == needed - 80e9
    assert "too many. What would fix it: sequence slicing (" in verdict.sentence
    assert fit("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64, sequence=True), "a100").fits
    assert "optimizer state in" in fit("llama3-8b", Plan(recompute="full"), "h100", host="gh200-host").sentence


def test_fixes_are_combined_where_one_is_not_enough():
    verdict = fit("llama3-405b", Plan(tensor=8, n_micro=16), "h100")
    assert not verdict.fits
    assert "together" in verdict.sentence


@pytest.mark.parametrize("where", ["h100", "p100"])
@pytest.mark.parametrize("name", models())
def test_whatever_does_not_fit_is_told_by_how_much_and_what_would_fix_it(name, where):
    for plan in (Plan(), Plan(data=8, batch=16, n_micro=8, schedule="gpipe"), Plan(recompute="full", zero_stage=3)):
        verdict = fit(name, plan, where)
        if not verdict.fits:
            assert verdict.missing_B == float(footprint(name, plan).total_B.max()) - pool(where).capacity_B
            assert verdict.fixes, verdict.sentence
            assert f"{gb(verdict.missing_B)} too many. What would fix it" in verdict.sentence


def test_what_nothing_fixes_says_how_little_it_can_need():
    tiny = dataclasses.replace(pool("p100"), capacity_B=1e6)
    verdict = fit("llama3-405b", Plan(), tiny)
    assert not verdict.fixes
    assert re.search(r"Even .* together need [\d.]+ .B, [\d.]+ .B too many: take a GPU with more", verdict.sentence)


@pytest.mark.parametrize("reserve_B", [80e9, 1e12])
def test_a_reserve_as_large_as_the_gpu_is_refused(reserve_B):
    with pytest.raises(CourseError, match="nothing is left for the plan"):
        fit("llama3-8b", Plan(), "h100", reserve_B=reserve_B)


def test_a_reserve_counts():
    plan = Plan(tensor=8, pipeline=8, n_micro=64, sequence=True)
    need = float(footprint("gpt3-175b", plan).total_B.max())
    assert fit("gpt3-175b", plan, "a100", reserve_B=80e9 - need).fits
    assert not fit("gpt3-175b", plan, "a100", reserve_B=80e9 - need + 1).fits


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(tensor=3), "2 or 4"),
        (Plan(pipeline=5), "4 or 8"),
        (Plan(expert=3), "2 or 4"),
        (Plan(tensor=8, sequence=True, seq=8188), "do: 4\\."),
        (Plan(pipeline=4, chunks=2, schedule="interleaved", n_micro=6), "4 or 8"),
        (Plan(pipeline=4, chunks=3, schedule="interleaved"), "2 or 4"),
        (Plan(chunks=2), "interleaved"),
        (Plan(data=0), "at least 1"),
        (Plan(zero_stage=4), "at most 3"),
        (Plan(batch=-1), "at least 0"),
        (Plan(recipe="adam"), "mixed-adam"),
        (Plan(schedule="1f2b"), "1f1b"),
    ],
)
def test_misfits_name_the_nearest_choice(plan, words):
    with pytest.raises(CourseError, match=words):
        footprint("mixtral-8x7b", plan)


def test_expert_ranks_without_experts_are_refused():
    with pytest.raises(CourseError, match="no experts"):
        footprint("llama3-8b", Plan(expert=2))


def test_nothing_here_overflows_or_is_nan():
    big = states(np.int32(2**31 - 1), np.arange(1, 35, dtype=np.int32), 3).total_B
    assert (big > 0).all()
    shape = dataclasses.replace(model("llama3-405b"), seq=2**20)
    assert np.isfinite(footprint(shape, Plan(batch=1024)).total_B).all()


def test_recipes_add_up():
    assert recipe("megatron-adam").total_B == 18
    assert recipe("mixed-adam").total_B == recipe("fp32-adam").total_B == 16


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize("seq", [None, 1000])
def test_every_choice_of_ranks_that_a_sentence_offers_works(name, seq):
    for t in (3, 5, 6, 7, 32, 64, 100):
        plan = Plan(tensor=t, sequence=seq is not None, seq=seq)
        try:
            footprint(name, plan)
        except CourseError as error:
            words = re.split(r"nearest that do|What works", str(error))[1]
            for choice in [int(d) for d in re.findall(r"\d+", words)]:
                footprint(name, dataclasses.replace(plan, tensor=choice))
                layer_collectives(name, 1, tensor=choice)
            with pytest.raises(CourseError):
                footprint(name, dataclasses.replace(plan, sequence=True))
