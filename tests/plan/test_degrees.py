"""Degrees of tensor slicing: each column is what the models below it say, and the extremes are what they have to be."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.hardware import gpu
from course_lib.comm.meaning import bus_factor
from course_lib.plan import slicing
from course_lib.plan.block import Block, random_weights
from course_lib.plan.degrees import JOBS, UTILISATION, Job, degrees, possible, read_in_place_s
from course_lib.plan.footprint import serving
from course_lib.plan.tensorscaling import compare
from course_lib.plan.traffic import prices, tensor_time
from course_lib.plan.transformer import flops, model


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("system", ["dgx-h100", "gb200-nvl72"])
def test_one_gpu_communicates_nothing(system, job):
    one = degrees("llama3-70b", system, job, tensor=[1])
    assert (one.communicate_s[0], one.sent_B[0], one.n_collectives[0]) == (0, 0, 0)


def test_times_of_a_long_pass_are_those_of_tensor_time():
    found = degrees("llama3-70b", "dgx-h100", "train", tensor=[8])
    rate = gpu("h100").bf16_flops * UTILISATION
    step = tensor_time("llama3-70b", 1, 8, flops_per_s=rate, time_of=prices("dgx-h100", 8))
    assert found.compute_s[0] == pytest.approx(step.compute_s)
    assert found.communicate_s[0] == pytest.approx(step.communicate_s)


def test_one_token_takes_as_long_as_reading_the_weights():
    found = degrees("llama3-70b", "dgx-h100", "write-1", tensor=[1, 8])
    for t, compute_s in zip((1, 8), found.compute_s):
        assert compute_s == pytest.approx(serving("llama3-70b", 0, 0, tensor=t).weights_B / gpu("h100").hbm_Bps)
    assert found.compute_s[0] > float(flops(model("llama3-70b"), 1, 1).forward) / (UTILISATION * gpu("h100").bf16_flops)


@pytest.mark.parametrize("style", ["tensor", "sequence"])
@pytest.mark.parametrize("n", [2, 4])
def test_bytes_sent_are_those_of_a_run(style, n):
    """The same layer run on NumPy ranks, 8 bytes a number where the model has 2."""
    block = Block(4, 4)
    x = np.random.default_rng(0).normal(size=(1, 8, 32))
    done = slicing.run(block, random_weights(block, 32, 64), x, x, n, style=style)
    ran_B = (done.forward.wire_B() + done.backward.wire_B()) / n * 2 / 8
    message_B = x.size * 2
    counts = {"tensor": {"all_reduce": 4}, "sequence": {"reduce_scatter": 4, "all_gather": 4}}[style]
    assert ran_B == pytest.approx(sum(k * bus_factor(op, n) * message_B for op, k in counts.items()))
    layers = model("llama3-8b").n_layers
    found = degrees("llama3-8b", "dgx-h100", Job("x", 1, 8, training=True), tensor=[n], style=style)
    assert found.sent_B[0] == pytest.approx(ran_B / message_B * found.message_B * layers)


def test_weights_gradients_and_optimizer_shrink_with_the_degree():
    found = degrees("llama3-70b", "dgx-h100", "train")
    for name in ("weights", "gradients", "optimizer"):
        ratio = found.parts_B[name][0] / found.parts_B[name]
        assert ratio[:4] == pytest.approx(found.tensor[:4], rel=0.002)
        assert (ratio[4:] < found.tensor[4:]).all()  # 8 key-value heads: from 16 ranks on there are copies


def test_activations_stop_shrinking_unless_the_sequence_is_sliced():
    tensor, sequence = (
        degrees("llama3-70b", "dgx-h100", "train", style=style).parts_B["activations"]
        for style in ("tensor", "sequence")
    )
    assert tensor[0] / tensor[-1] < 10
    assert sequence[0] / sequence[-1] == pytest.approx(64, rel=0.01)


def test_the_cache_stops_shrinking_when_key_value_heads_are_copied():
    cache = degrees("llama3-70b", "dgx-h100", "write-64").parts_B["cache"]
    assert cache[3] == cache[-1] == cache[0] / 8


def test_hosts_are_domains_of_the_scale_up_fabric():
    assert degrees("llama3-70b", "dgx-h100", tensor=[8, 16]).n_hosts.tolist() == [1, 2]
    assert degrees("llama3-70b", "gb200-nvl72", tensor=[8, 64]).n_hosts.tolist() == [1, 1]


def test_utilisation_is_what_the_measured_runs_achieve():
    for style in ("tensor", "sequence"):
        assert compare(style).flops_per_s / gpu("h100").bf16_flops == pytest.approx(UTILISATION, rel=0.05)


def test_reading_in_place_is_all_local_on_a_pool_of_one():
    own_s, others_s = read_in_place_s(67e9, "h100", 3.35e12)
    assert (own_s, others_s) == (pytest.approx(0.02), 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("llama3-70b", "dgx-h100", "trian"), "train"),
        (("llama3-71b", "dgx-h100"), "llama3-70b"),
        (("deepseek-v3", "dgx-h100"), "experts"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, words):
    with pytest.raises(CourseError, match=words):
        degrees(*arguments)


def test_degrees_that_divide_no_heads_are_refused_with_the_nearest():
    with pytest.raises(CourseError, match="2 or 4"):
        degrees("llama3-70b", "dgx-h100", tensor=[3])
    assert possible("gpt3-175b", 16) == [1, 2, 3, 4, 6, 8, 12, 16]
