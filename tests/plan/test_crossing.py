"""Who sends what: counts and bytes agree with the parts of the library that they come from, and cuts differ by their counts."""

import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.crossing import cuts, groups
from course_lib.plan.footprint import Plan
from course_lib.plan.price import pricer
from course_lib.plan.traffic import handoffs
from course_lib.plan.transformer import model, params


def by_name(shape, **plan):
    return {g.name: g for g in groups(shape, Plan(**plan))}


def test_a_lone_gpu_has_no_groups():
    assert groups("llama3-8b", Plan()) == ()


def test_a_tensor_group_sums_four_times_in_each_of_its_layers():
    found = by_name("llama3-70b", tensor=8, pipeline=4, n_micro=16)["tensor"]
    assert found.count == 4 * (80 // 4) * 16
    assert found.message_B == 8192 * 8192 * 2
    assert found.sent_B == pytest.approx(found.count * 2 * 7 / 8 * found.message_B)


def test_sequence_slicing_sends_the_same_bytes_in_twice_as_many_collectives():
    whole, cut = (by_name("llama3-70b", tensor=8, n_micro=4, sequence=s)["tensor"] for s in (False, True))
    assert cut.sent_B == pytest.approx(whole.sent_B)
    assert cut.count == 2 * whole.count


def test_chunks_multiply_the_hand_offs_and_leave_the_sums():
    plan = {"tensor": 8, "pipeline": 8, "n_micro": 16}
    one, two = by_name("llama3-70b", **plan), by_name("llama3-70b", schedule="interleaved", chunks=2, **plan)
    assert two["pipeline"].count == 2 * one["pipeline"].count == 2 * handoffs("llama3-70b", Plan(**plan)).sends
    assert two["tensor"] == one["tensor"]


def test_a_data_group_sums_the_gradients_of_its_slice_once():
    found = by_name("llama3-8b", data=4)["data"]
    assert found.message_B == pytest.approx(2 * params(model("llama3-8b")).total)
    assert found.sent_B == pytest.approx(1.5 * found.message_B)


def test_the_tensor_group_of_a_large_run_sends_most():
    found = groups("llama3-405b", Plan(tensor=8, pipeline=14, data=16, n_micro=64))
    assert [g.name for g in found] == ["tensor", "pipeline", "data"]
    assert found[0].sent_B > 20 * found[1].sent_B > 20 * found[2].sent_B


@pytest.mark.parametrize("tokens", [1, 8192])
def test_cuts_are_priced_by_predict_and_differ_mostly_by_their_counts(tokens):
    sliced, staged = cuts("llama3-70b", tokens, 8)
    assert (sliced.count, staged.count) == (160, 7)
    assert sliced.each_s == pytest.approx(float(pricer("all_reduce", "dgx-h100", 8, n_hosts=8)(sliced.message_B)))
    assert staged.each_s == pytest.approx(float(pricer("send_recv", "dgx-h100", 2, n_hosts=2)(staged.message_B)))
    assert 1 < sliced.each_s / staged.each_s < 2
    assert sliced.total_s > 20 * staged.total_s


def test_a_token_waits_for_latency_and_a_long_pass_for_bytes():
    for many, few in zip(cuts("llama3-70b", 8192, 8), cuts("llama3-70b", 1, 8), strict=True):
        assert few.latency_share > 0.5
        assert many.latency_share < 0.05


def test_layers_that_do_not_divide_are_refused_in_words():
    with pytest.raises(CourseError, match="do not divide"):
        cuts("llama3-70b", 1, 7)
    with pytest.raises(CourseError, match="do not divide"):
        groups("llama3-405b", Plan(pipeline=8, n_micro=8))
