"""Lesson 09's explorer: every control, every codec, and the sentences of the lesson that lean on what is computed."""

import itertools

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.units import GBITPS
from course_lib.explorers import lesson09
from course_lib.explorers.lesson09 import RANKS, SLOWER, CARDS_Bps, codecs, read_codec, small_gradients, trained
from course_lib.figures.show import meta_of
from course_lib.plan import lossscale, narrowsum, precisionruns, replicaruns
from course_lib.plan.blockscale import round_scaled
from course_lib.plan.precision import round_to


@pytest.fixture(scope="module")
def explorer():
    return lesson09.when_it_pays()


def test_no_choice_has_to_wait_for_a_training_once_the_background_has_done_it(explorer):
    lesson09.train_ahead().join()
    before = lesson09.trained_once.cache_info().misses
    for name in codecs():
        explorer.set(name=name)
    assert lesson09.trained_once.cache_info().misses == before


def test_every_codec_draws_at_the_ends_of_every_slider(explorer):
    for name, rate, n, slower in itertools.product(codecs(), CARDS_Bps[:: len(CARDS_Bps) - 1], (2, 256), (1, 1000)):
        explorer.set(name=name, bandwidth_Bps=rate, n_ranks=n, slower=slower)
        assert (explorer.message, explorer.stale) == ("", False)
        assert len(explorer.figure.data) == 5
        alt, columns, table = meta_of(explorer.figure)
        assert alt
        assert all(len(row) == len(columns) for row in table)
    go.Figure(explorer.figure.to_dict())  # Plotly's own validation


def test_each_control_changes_what_is_shown(explorer):
    start = {"name": "top-k", "bandwidth_Bps": 25 * GBITPS, "n_ranks": 8, "slower": 30}
    for change in ({"name": "1-bit"}, {"bandwidth_Bps": 400 * GBITPS}, {"n_ranks": 64}, {"slower": 3}):
        explorer.set(**start)
        before = explorer.figure.layout.title.text
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before


def test_steps_never_get_longer_with_a_faster_card():
    for name, n in itertools.product(codecs(), (2, 8, 256)):
        found = read_codec(name, 1.25e9, n, 10).found
        assert (np.diff(found.dense_s) < 0).all()
        assert (np.diff(found.packed_s) < 0).all()
        assert found.dense_s.min() > found.compute_s


def test_the_line_is_where_the_two_steps_are_equal():
    for name, n, slower in itertools.product(codecs(), (2, 8, 64), SLOWER):
        found = read_codec(name, 1.25e9, n, slower).found
        if 0 < found.crossing_Bps < np.inf:
            at = np.log(found.crossing_Bps), np.log(found.bandwidth_Bps)
            dense, packed = (np.exp(np.interp(at[0], at[1], np.log(v))) for v in (found.dense_s, found.packed_s))
            assert dense == pytest.approx(packed, rel=0.02)


def test_the_formula_comes_close_to_the_priced_line():
    found = read_codec("top-k", 1.25e9, 8, 30).found
    assert (found.dense_sent_B - found.packed_sent_B) / found.codec_s == pytest.approx(found.crossing_Bps, rel=0.05)


def test_an_unknown_codec_is_refused_with_the_nearest():
    with pytest.raises(CourseError, match="top-k"):
        read_codec("topk", 1e9, 8, 1)


# What the lesson says in words


def test_answers_to_the_two_questions():
    crossing = {n: read_codec("top-k", 1.25e9, n, 30).found.crossing_Bps / GBITPS for n in (8, 64, 256)}
    assert crossing[8] == pytest.approx(200, rel=0.03)
    assert crossing[64] == pytest.approx(65, rel=0.05)
    assert crossing[256] == 0
    for name in codecs():
        fast = read_codec(name, 450e9, 8, 1)
        assert 1 < fast.at(fast.found.dense_s) / fast.at(fast.found.packed_s) < 1.06
    assert 0.02 < 1 - fast.found.compute_s / fast.at(fast.found.dense_s) < 0.09


def test_a_codec_ten_times_slower_moves_the_line_ten_times_and_a_better_ratio_hardly():
    slow, slower = (read_codec("1-bit", 1.25e9, 8, s).found.crossing_Bps for s in (10, 100))
    assert slow / slower == pytest.approx(10, rel=0.1)
    assert CARDS_Bps[-1] == 3600 * GBITPS


def test_statements_about_formats():
    gradients = small_gradients()
    assert round_to(257.0, "bf16").values == 256
    assert round_to([70_000.0, 2e-8], "fp16").values.tolist() == [np.inf, 0]
    assert round_to(gradients, "fp8-e4m3").underflowed == gradients.size == 2762
    assert round_scaled(gradients, "fp8-e4m3").underflowed == 0
    nvfp4 = round_scaled(gradients, "fp4-e2m1", block=16, scale="e4m3")
    assert 8 * nvfp4.wire_B / gradients.size == pytest.approx(4.5, abs=0.02)
    assert 0.07 < np.linalg.norm(nvfp4.values - gradients) / np.linalg.norm(gradients) < 0.13
    assert round_to(1.001, "bf16").values == 1


def test_statements_about_scales():
    none, fixed = (lossscale.train_scaled("fp16", s) for s in (1.0, 2.0**16))
    found = lossscale.train_scaled("fp16", 2.0**40, dynamic=True)
    assert none.loss[-1] > 2 * fixed.loss[-1]
    assert found.skipped[:6].all()
    assert not found.skipped[6:].any()
    assert none.skipped.sum() == 0


def test_statements_about_half_the_bytes():
    halved = lesson09.half_the_bytes()
    gain = halved.before_s / halved.after_s
    assert gain[:, 0].max() < 1.02
    for m, low, high in ((1e7, 1.3, 1.5), (3e8, 1.65, 1.9), (1e10, 1.9, 2.0)):
        at = gain[:, int(np.argmin(np.abs(np.log(halved.message_B / m))))]
        assert (at > low).all()
        assert (at < high).all()


def test_statements_about_sums():
    ones = np.ones((512, 1))
    assert narrowsum.narrow_all_reduce(ones, "bf16").values[0] == 256
    ring, tree, wide = (
        narrowsum.error_against_ranks([2, 32], "bf16", order=o, accumulate=a)
        for o, a in (("ring", None), ("tree", None), ("ring", "fp32"))
    )
    assert 3 < ring[1] / ring[0] < 5.5  # about the square root of 16
    assert tree[1] < 0.65 * ring[1]
    assert wide[1] == pytest.approx(wide[0], rel=0.2)


def test_statements_about_training():
    dense = trained("dense").loss[-1]
    assert trained("top-k", False).loss[-1] > 4 * dense
    for name in ("1-bit", "low-rank"):
        assert trained(name).loss[-1] == pytest.approx(dense, rel=0.05)
    assert 0.6 * dense < trained("top-k").loss[-1] < dense
    assert trained("random-k").loss[-1] > 4 * dense
    assert trained("random-k").sent_B == min(trained(n).sent_B for n in codecs())
    for name in ("top-k", "1-bit", "low-rank", "random-k"):
        assert trained(name, False).loss[-1] > 1.5 * trained(name).loss[-1]


def test_statements_about_bytes():
    sent, _names = lesson09.sent_by_ranks()
    ratio = sent[0] / sent[1]
    assert ratio[0] == pytest.approx(50)
    assert ratio[RANKS.index(64)] == pytest.approx(1.5625)
    assert ratio[-1] < 0.5


def test_statements_about_the_measurement():
    found = precisionruns.gains()
    saved = 1e6 * (found.bf16_s - found.fp8_s)
    assert found.names[2:4] == ("2.7B, 512 tokens", "2.7B, 8,192 tokens")
    assert saved[2:4] == pytest.approx([8, 8], abs=0.5)
    assert int((np.abs(found.measured - 1) < 0.01).sum()) == 2
    runs = [r for r in precisionruns.rows() if r.model == "llama3-8b" and r.precision == "bf16"]
    compiled = replicaruns.compare("titan-compiled")  # the same runs in lesson 08's table
    assert [(r.n_gpus, r.tokens_per_s_per_gpu) for r in runs] == list(zip(compiled.gpus, compiled.measured_per_s))
    assert compiled.network_s / compiled.measured_s == pytest.approx([0.067, 0.107], abs=0.001)
    assert found.measured[list(found.names).index("8B on 8 GPUs")] == pytest.approx(
        found.measured[list(found.names).index("8B on 128 GPUs")], rel=0.01
    )
