import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.footprint import Plan
from course_lib.plan.pipeline import bubble_formula
from course_lib.plan.traffic import handoff_price, handoffs, layer_collectives, prices, tensor_time, timeline
from course_lib.plan.transformer import flops, model


def link(bandwidth_Bps, latency_s=1e-5):
    return {"all_reduce": lambda m: latency_s + m / bandwidth_Bps}


def test_two_ranks_gain_on_a_fast_link_and_lose_on_a_slow_one():
    one = tensor_time("llama3-8b", 1, 1, flops_per_s=4e14).total_s
    fast = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=link(300e9)).total_s
    slow = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=link(10e9)).total_s
    assert one / 2 < fast < one < slow


def test_time_is_compute_over_ranks_and_four_sums_a_layer():
    got = tensor_time("llama3-8b", 2, 4, flops_per_s=1e14, time_of=link(100e9, 0))
    shape = model("llama3-8b")
    assert got.compute_s == pytest.approx(flops(shape, 2).model / 4e14)
    assert got.communicate_s == pytest.approx(4 * 32 * (2 * 8192 * 4096 * 2) / 100e9)
    forward = tensor_time("llama3-8b", 2, 4, flops_per_s=1e14, time_of=link(100e9, 0), training=False)
    assert forward.communicate_s == got.communicate_s / 2


def test_a_missing_price_is_named():
    with pytest.raises(CourseError, match="all_reduce"):
        tensor_time("llama3-8b", 1, 2, flops_per_s=1e14)
    with pytest.raises(CourseError, match="all_gather"):
        tensor_time("llama3-8b", 1, 2, flops_per_s=1e14, style="sequence", time_of=link(1e9))


def test_messages_broadcast():
    got = layer_collectives("llama3-8b", np.array([1, 2])[:, None], np.array([1, 8192]), tensor=8)
    np.testing.assert_array_equal(got.message_B, np.array([[1, 8192], [2, 16384]]) * 4096 * 2)


def test_chunks_multiply_the_handoffs():
    base = Plan(tensor=8, pipeline=8, n_micro=64)
    once = handoffs("gpt3-175b", base)
    thrice = handoffs("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64, chunks=3, schedule="interleaved"))
    assert thrice.sends == 3 * once.sends
    assert (once.crossings, thrice.crossings) == (2 * 7, 2 * 23)
    assert handoffs("gpt3-175b", Plan()).sends == 0


def test_a_handoff_is_far_smaller_than_the_sums_of_its_stage():
    """Why stages, not slices, go across hosts: one message for 12 layers against 48 of the same size."""
    plan = Plan(tensor=8, pipeline=8)
    sums = layer_collectives("gpt3-175b", 1, tensor=8)
    assert sums.message_B == handoffs("gpt3-175b", plan).message_B
    assert 12 * (sums.forward["all_reduce"] + sums.backward["all_reduce"]) == 48


def test_a_free_handoff_leaves_the_textbook_bubble_and_a_real_one_adds_to_it():
    plan = Plan(tensor=8, pipeline=8, n_micro=32)
    free = timeline("gpt3-175b", plan, flops_per_s=1.5e14)
    real = timeline("gpt3-175b", plan, flops_per_s=1.5e14, handoff=lambda m: m / 50e9)
    assert free.bubble_of_ideal == pytest.approx(bubble_formula("1f1b", 8, 32).of_ideal)
    assert real.step_s > free.step_s
    assert free.busy_s[0] == pytest.approx(32 * flops(model("gpt3-175b"), 1).model / 64 / 1.5e14)


def test_two_ranks_gain_over_nvlink_and_lose_over_pcie_or_one_card_where_messages_are_large():
    """Published wisdom that the library's own prices have to show: slices stay inside the NVLink domain."""
    one = tensor_time("llama3-8b", 1, 1, flops_per_s=4e14).total_s
    nvlink = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=prices("dgx-h100", 2)).total_s
    card = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=prices("dgx-h100", 2, n_hosts=2)).total_s
    pcie = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=prices("pcie4-box", 2)).total_s
    assert nvlink < card
    assert nvlink < pcie
    assert nvlink < 0.75 * one


def test_short_messages_across_hosts_wait_for_latency_not_bandwidth():
    """A decode step sends few bytes: the sums across hosts cost their count times a latency."""
    inside, across = (prices("dgx-h100", 8, n_hosts=n)["all_reduce"] for n in (1, 8))
    small, smaller = (layer_collectives("llama3-70b", n, 1, tensor=8).message_B for n in (4, 1))
    assert float(across(small)) > 2 * float(inside(small))
    assert float(across(small)) < 1.5 * float(across(smaller))


def test_sequence_slicing_is_priced_by_its_own_pairs():
    got = tensor_time("llama3-8b", 1, 8, flops_per_s=4e14, style="sequence", time_of=prices("dgx-h100", 8, "sequence"))
    assert got.communicate_s > 0
    assert prices("dgx-h100", 1)["all_reduce"](1e6) == 0


def test_a_handoff_across_hosts_takes_longer_than_inside():
    across, inside = handoff_price("dgx-h100"), handoff_price("dgx-h100", across_hosts=False)
    assert float(across(50e6)) > 4 * float(inside(50e6))
