import dataclasses

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.transformer import Shape, flops, model, models, params


@pytest.mark.parametrize("name", [n for n in models() if not np.isnan(model(n).published_params_B)])
def test_parameters_match_the_published_total(name):
    shape = model(name)
    assert params(shape).total / 1e9 == pytest.approx(shape.published_params_B, rel=0.015)


@pytest.mark.parametrize("name", models())
def test_every_published_shape_has_a_source(name):
    assert model(name).source
    assert model(name).address.startswith("https://")


def test_llama3_parameters_are_exact():
    """Counted in the published checkpoints: 8,030,261,248 and 70,553,706,496."""
    assert params(model("llama3-8b")).total == 8_030_261_248
    assert params(model("llama3-70b")).total == 70_553_706_496


def test_active_parameters_of_mixtures():
    assert params(model("mixtral-8x7b")).active / 1e9 == pytest.approx(12.9, rel=0.01)
    assert params(model("deepseek-v3")).active / 1e9 == pytest.approx(37, rel=0.03)


@pytest.mark.parametrize("name", ["gpt3-175b", "megatron-22b", "turing-530b", "megatron-1t"])
def test_operations_match_narayanan(name):
    shape = model(name)
    s, layers, h, v = shape.seq, shape.n_layers, shape.hidden, shape.vocab
    assert flops(shape, 3).model == pytest.approx(72 * 3 * s * layers * h**2 * (1 + s / 6 / h + v / 12 / layers / h))


def test_recomputing_adds_one_forward_of_the_layers_or_of_the_scores():
    shape = model("gpt3-175b")
    none, part, full = (flops(shape, 1, recompute=way) for way in ("none", "selective", "full"))
    head = 2 * shape.seq * shape.hidden * shape.vocab
    assert none.hardware == none.model == part.model
    assert full.recompute == pytest.approx(full.forward - head)
    assert part.recompute == 4 * shape.seq**2 * shape.hidden * shape.n_layers
    assert part.recompute / part.model < 0.03  # Korthikanti et al.: 2.7 % for GPT-3


def test_operations_broadcast_and_causal_halves_the_scores():
    shape = model("llama3-8b")
    batch, seq = np.array([[1], [2]]), np.array([1024, 8192, 131072])
    both = flops(shape, batch, seq)
    assert both.forward.shape == (2, 3)
    assert both.forward[1, 2] == flops(shape, 2, 131072).forward
    scores = both.forward - flops(shape, batch, seq, causal=True).forward
    np.testing.assert_allclose(scores, 2 * batch * seq**2 * shape.hidden * shape.n_layers)


def test_odd_shapes_and_names_are_refused_in_words():
    with pytest.raises(CourseError, match="llama3-405b"):
        model("llama3-406b")
    with pytest.raises(CourseError, match="3 key-value heads"):
        dataclasses.replace(model("llama3-8b"), n_kv_heads=3)
    with pytest.raises(CourseError, match="9 of 8 experts"):
        dataclasses.replace(model("mixtral-8x7b"), n_active=9)
    with pytest.raises(CourseError):
        flops(model("llama3-8b"), np.nan)
    with pytest.raises(CourseError, match="selective"):
        flops(model("llama3-8b"), 1, recompute="selection")


def test_a_shape_of_ones_own_works():
    tiny = Shape("tiny", 2, 8, 2, 1, 4, 32, 100, 16)
    assert params(tiny).total == 2 * (8 * 16 + 8 * 8 + 24 + 2 * 8 * 32 + 40 + 32) + 800 + 16


@pytest.mark.parametrize("name", [n for n in models() if not model(n).bias])
def test_a_forward_pass_is_two_operations_for_each_active_weight(name):
    """Embeddings are looked up and norms are not counted; what is left of the active weights multiplies once a token."""
    shape = model(name)
    count = params(shape)
    once = count.active - count.embedding * (not shape.tied) - shape.n_layers * count.norms - shape.hidden
    once -= shape.n_layers * (shape.q_rank + shape.kv_rank)  # latent attention's norms
    widths = shape.nope_size + shape.rope_size + shape.value_size if shape.kv_rank else 2 * shape.head_size
    scores = 2 * shape.seq * shape.n_heads * widths * shape.n_layers
    assert flops(shape, 1).forward / shape.seq == pytest.approx(2 * once + scores, rel=1e-12)
