import importlib.util
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm.driver import AllReduce, play
from course_lib.plan import slicing
from course_lib.plan.block import Block, random_weights, serial
from course_lib.plan.slices import cut, join
from course_lib.plan.slicing import backward, difference, forward, run, sum_shared
from course_lib.plan.traffic import layer_collectives
from course_lib.plan.transformer import Shape

BLOCKS = [Block(8, 8), Block(8, 2, "swiglu", "rms"), Block(8, 1), Block(4, 4, "swiglu")]


def example(block, *, hidden=16, ffn=24, batch=2, seq=8, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(batch, seq, hidden))
    return random_weights(block, hidden, ffn, seed=seed), x, rng.normal(size=x.shape)


@pytest.mark.parametrize("style", ["tensor", "sequence"])
@pytest.mark.parametrize("n_ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_sliced_block_equals_the_serial_one(block, n_ranks, style):
    if block.n_heads % n_ranks:
        pytest.skip("heads do not divide")
    weights, x, dy = example(block)
    done = run(block, weights, x, dy, n_ranks, style=style)
    assert difference(block, weights, x, dy, done) < 1e-12


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([1, 2, 3, 4]), st.sampled_from([1, 2, 3]), st.integers(1, 3), st.integers(1, 3), st.integers(0, 9),
    st.sampled_from(["gelu", "swiglu"]), st.sampled_from(["layer", "rms"]), st.sampled_from(["tensor", "sequence"]),
)  # fmt: skip
def test_any_shape_that_divides_is_sliced_right(n_ranks, group, kv, batch, seed, activation, norm, style):
    block = Block(n_ranks * group * kv, n_ranks * kv, activation, norm)
    weights, x, dy = example(block, hidden=12 * block.n_heads, ffn=5 * n_ranks, batch=batch, seq=2 * n_ranks, seed=seed)
    assert difference(block, weights, x, dy, run(block, weights, x, dy, n_ranks, style=style)) < 1e-9


@pytest.mark.parametrize("algorithm", ["ring", "direct"])
def test_the_algorithm_changes_nothing_but_rounding(algorithm):
    weights, x, dy = example(BLOCKS[0])
    done = run(BLOCKS[0], weights, x, dy, 4, algorithm=algorithm)
    assert difference(BLOCKS[0], weights, x, dy, done) < 1e-12


def test_an_mlp_alone_costs_one_and_one_and_a_block_two_and_two():
    weights, x, dy = example(BLOCKS[0])
    for part, n in (("mlp", 1), ("attention", 1), ("block", 2)):
        done = run(BLOCKS[0], weights, x, dy, 4, part=part)
        assert done.forward.counts() == {"all_reduce": n}
        assert done.backward.counts() == {"all_reduce": n}
        assert done.shared.counts() == {}


def test_sequence_slicing_sends_the_same_bytes_in_pairs():
    weights, x, dy = example(BLOCKS[0])
    whole, pairs = (run(BLOCKS[0], weights, x, dy, 4, style=style) for style in ("tensor", "sequence"))
    for a, b in ((whole.forward, pairs.forward), (whole.backward, pairs.backward)):
        assert b.counts() == {"all_gather": 2, "reduce_scatter": 2}
        assert a.wire_B() == b.wire_B() == 2 * 2 * 3 * x.nbytes
    assert pairs.shared.counts() == {"all_reduce": 1}
    assert pairs.shared.message_B() == 6 * 16 * 8


def test_one_rank_says_nothing():
    weights, x, dy = example(BLOCKS[0])
    done = run(BLOCKS[0], weights, x, dy, 1, style="sequence")
    assert done.forward.counts() == done.backward.counts() == done.shared.counts() == {}


@pytest.mark.parametrize("style", ["tensor", "sequence"])
def test_what_is_priced_is_what_ran(style):
    """`traffic.layer_collectives` names the collectives and the message that the run logs."""
    block = BLOCKS[1]
    weights, x, dy = example(block)
    shape = Shape("tiny", 1, 16, 8, 2, 2, 24, 10, 8, gated=True, norm="rms", bias=True)
    said = layer_collectives(shape, 2, 8, tensor=2, style=style, element_B=8)
    done = run(block, weights, x, dy, 2, style=style)
    assert (said.forward, said.backward) == (done.forward.counts(), done.backward.counts())
    assert {entry.message_B for entry in done.forward.entries} == {said.message_B}


def test_copies_of_a_key_value_head_are_summed_within_their_group():
    block = Block(8, 2)
    weights, x, dy = example(block)
    done = run(block, weights, x, dy, 8)
    assert [entry.ranks for entry in done.shared.entries] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    slices = cut(block, weights, 8)
    out, _log = play([forward(block, s, x) for s in slices])
    back, _log = play([backward(block, s, dy, out[s.rank][1]) for s in slices])
    with pytest.raises(CourseError, match="have to be summed"):
        join(slices, [grads for _dx, grads in back])


def test_a_forgotten_sum_of_norms_is_seen():
    block = BLOCKS[0]
    weights, x, dy = example(block)
    slices = cut(block, weights, 2)
    halves, dhalves = np.split(x, 2, axis=1), np.split(dy, 2, axis=1)
    out, _log = play([forward(block, s, halves[s.rank], style="sequence") for s in slices])
    back, _log = play([backward(block, s, dhalves[s.rank], out[s.rank][1], "sequence") for s in slices])
    with pytest.raises(CourseError, match="have to be summed"):
        join(slices, [grads for _dx, grads in back])
    summed, _log = play([sum_shared(s, back[s.rank][1], "sequence") for s in slices])
    np.testing.assert_allclose(join(slices, summed)["ln1_gain"], serial(block, weights, x, dy)[2]["ln1_gain"])


@pytest.mark.parametrize("broken", ["leave", "enter"])
def test_without_its_collective_the_result_is_wrong(broken, monkeypatch):
    def silent(part, style, n_ranks):
        return part
        yield AllReduce(part)

    monkeypatch.setattr(slicing, broken, silent)
    weights, x, dy = example(BLOCKS[0])
    style = "tensor" if broken == "leave" else "sequence"
    try:
        wrong = difference(BLOCKS[0], weights, x, dy, run(BLOCKS[0], weights, x, dy, 2, style=style))
    except (CourseError, ValueError):
        return  # shapes no longer fit: seen as well
    assert wrong > 1e-3


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_gradients_match_finite_differences(block):
    weights, x, dy = example(block, hidden=8, ffn=12, seq=5)
    _y, dx, grads = serial(block, weights, x, dy)
    rng = np.random.default_rng(0)
    step = 1e-6
    assert set(grads) == set(weights)
    for name in [*weights, "x"]:
        array, grad = (x, dx) if name == "x" else (weights[name], grads[name])
        for _try in range(5):
            at = tuple(rng.integers(n) for n in array.shape)
            kept = array[at]
            array[at] = kept + step
            up = (serial(block, weights, x, dy)[0] * dy).sum()
            array[at] = kept - step
            down = (serial(block, weights, x, dy)[0] * dy).sum()
            array[at] = kept
            assert (up - down) / 2 / step == pytest.approx(grad[at], rel=1e-5, abs=1e-6), name


def test_attention_sees_no_later_token():
    block = BLOCKS[0]
    weights, x, dy = example(block)
    later = x.copy()
    later[:, 5:] += 1
    np.testing.assert_array_equal(serial(block, weights, x, dy)[0][:, :5], serial(block, weights, later, dy)[0][:, :5])


def test_misfits_name_the_nearest_choice():
    block = Block(8, 2)
    weights, x, dy = example(block)
    with pytest.raises(CourseError, match=r"8 attention heads do not divide by 3 .* 2 or 4"):
        run(block, weights, x, dy, 3)
    with pytest.raises(CourseError, match=r"8 tokens of the sequence|7 tokens"):
        run(block, weights, x[:, :7], dy[:, :7], 2, style="sequence")
    wide = random_weights(block, 16, 25)
    with pytest.raises(CourseError, match=r"25 columns of the MLP do not divide by 2 .* do: 1\."):
        run(block, wide, x, dy, 2)
    six = Block(12, 4)
    weights = random_weights(six, 24, 24)
    with pytest.raises(CourseError, match="4 or 12 ranks"):
        cut(six, weights, 6)
    with pytest.raises(CourseError, match="1, 2, 4, 8"):
        Block(8, 3)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "2", None])
def test_odd_numbers_of_ranks_are_refused(bad):
    weights, x, dy = example(BLOCKS[0])
    with pytest.raises(CourseError):
        run(BLOCKS[0], weights, x, dy, bad)


def test_wrong_arrays_are_refused():
    weights, x, dy = example(BLOCKS[0])
    with pytest.raises(CourseError, match="both have to be"):
        run(BLOCKS[0], weights, x[0], dy, 2)
    with pytest.raises(CourseError, match="finite"):
        run(BLOCKS[0], weights, np.full_like(x, np.nan), dy, 2)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_block_equals_pytorch(block):
    import torch
    import torch.nn.functional as F

    weights, x, dy = example(block)
    w = {key: torch.tensor(value, requires_grad=True) for key, value in weights.items()}
    tx = torch.tensor(x, requires_grad=True)

    def norm(a, key):
        if block.norm == "layer":
            return F.layer_norm(a, a.shape[-1:], w[key + "_gain"], w[key + "_bias"], 1e-5)
        return F.rms_norm(a, a.shape[-1:], w[key + "_gain"], 1e-5) + w[key + "_bias"]

    def heads(a, key, n):
        return (a @ w["w" + key] + w["b" + key]).unflatten(-1, (n, -1)).transpose(1, 2)

    a = norm(tx, "ln1")
    q, k, v = heads(a, "q", block.n_heads), heads(a, "k", block.n_kv_heads), heads(a, "v", block.n_kv_heads)
    group = block.n_heads // block.n_kv_heads
    k, v = (z.repeat_interleave(group, dim=1) for z in (k, v))
    attention = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    x1 = tx + attention @ w["wo"] + w["bo"]
    c = norm(x1, "ln2")
    u = c @ w["w1"] + w["b1"]
    inner = F.gelu(u) if block.activation == "gelu" else F.silu(u) * (c @ w["w3"] + w["b3"])
    y = x1 + inner @ w["w2"] + w["b2"]
    y.backward(torch.tensor(dy))
    mine = run(block, weights, x, dy, 4, style="sequence")
    np.testing.assert_allclose(mine.y, y.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(mine.dx, tx.grad.numpy(), atol=1e-11)
    for key in weights:
        np.testing.assert_allclose(mine.grads[key], w[key].grad.numpy(), atol=1e-11, err_msg=key)


@pytest.mark.parametrize("style", ["tensor", "sequence"])
@pytest.mark.parametrize(
    ("heads", "kv", "width", "tokens"), [(8, 2, 24, 6), (6, 3, 12, 12), (12, 4, 48, 8), (6, 2, 30, 10)]
)
def test_every_choice_that_a_sentence_offers_works(style, heads, kv, width, tokens):
    """Heads, key-value heads, MLP and tokens all have to divide: a number that suits one of them alone is a dead end."""
    block = Block(heads, kv)
    weights = random_weights(block, 6, width, head_size=2)
    x = np.random.default_rng(0).normal(size=(1, tokens, 6))
    refused = 0
    for n in range(1, 14):
        try:
            run(block, weights, x, x, n, style=style)
        except CourseError as error:
            refused += 1
            offered = [int(d) for d in re.findall(r"\d+", re.split(r"nearest that do|What works", str(error))[1])]
            assert offered
            for choice in offered:
                run(block, weights, x, x, choice, style=style)
    assert refused > 5
