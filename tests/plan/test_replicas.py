"""Replicas: their tensors and layers add up to the model, and published scaling runs beside the ZeRO-3 step."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan import replicaruns
from course_lib.plan.replicas import bars, layers, tensors
from course_lib.plan.sharding import overlap
from course_lib.plan.transformer import flops, model, params


@pytest.mark.parametrize("name", ["gpt2-1.5b", "llama3-8b", "nanotron-3b", "gpt3-175b"])
@pytest.mark.parametrize("split", [tensors, layers])
def test_every_parameter_and_every_operation_is_somewhere(name, split):
    shape = model(name)
    work = split(name, 2 * shape.seq, 1e15)
    assert work.gradient_B.sum() == pytest.approx(2 * params(shape).total, rel=1e-12)
    whole = flops(shape, 2)
    assert work.forward_s.sum() * 1e15 == pytest.approx(whole.forward, rel=1e-12)
    assert work.backward_s.sum() * 1e15 == pytest.approx(whole.backward, rel=1e-12)


def test_recomputing_adds_one_forward_pass_of_the_layers():
    plain, again = (tensors("gpt2-1.5b", 4096, 1e15, recompute=r) for r in ("none", "full"))
    head = plain.forward_s[0]
    assert again.backward_s.sum() - plain.backward_s.sum() == pytest.approx(plain.forward_s.sum() - head)


def test_the_embedding_is_finished_last_and_the_head_first():
    work = tensors("gpt2-1.5b", 4096, 1e15)
    assert work.names[0] == "head"
    assert work.names[-1] == "embedding"
    assert work.names[1].startswith("layer 48")
    assert work.gradient_B.argmax() == len(work.names) - 1


def test_layers_are_the_tensors_summed_in_forward_order():
    small, large = tensors("llama3-8b", 8192, 1e15), layers("llama3-8b", 8192, 1e15)
    assert large.gradient_B[1] == pytest.approx(small.gradient_B[small.layer == 31].sum())
    assert large.gradient_B[0] == small.gradient_B[-1]


def test_bars_cover_the_backward_pass_without_gaps():
    work = tensors("gpt2-1.5b", 4096, 1e15)
    timeline = overlap(work.backward_s, work.gradient_B, 1e8, lambda m: m / 1e11)
    compute = [e for e in bars(work, timeline) if e.lane == "compute"]
    assert compute[0].start_s == 0
    assert compute[-1].end_s == pytest.approx(timeline.backward_s)
    assert all(a.end_s == b.start_s for a, b in pairwise(compute))


def test_models_with_experts_and_wrong_numbers_are_refused_in_words():
    with pytest.raises(CourseError, match="plain transformers"):
        tensors("deepseek-v3", 4096, 1e15)
    with pytest.raises(CourseError, match="tokens"):
        tensors("gpt2-1.5b", 0, 1e15)
    with pytest.raises(CourseError, match="timeline"):
        bars(tensors("gpt2-1.5b", 4096, 1e15), overlap([1], [1], 1, lambda m: m))


@pytest.mark.parametrize("series", ["titan", "titan-compiled", "titan-fp8", "mpt"])
def test_the_model_is_within_three_percent_of_every_published_run(series):
    found = replicaruns.compare(series)
    assert found.error[0] == pytest.approx(0, abs=1e-6)
    assert np.abs(found.error).max() < 0.03
    assert (found.exposed_s < 0.1 * found.network_s).all()


def test_the_fitted_rate_is_below_the_peak_of_the_processor():
    assert 0.3e15 < replicaruns.compare("titan").flops_per_s < 0.6e15
    assert 0.15e15 < replicaruns.compare("mpt").flops_per_s < 0.312e15


def test_published_rows_say_what_they_are():
    for series in replicaruns.SERIES:
        runs = replicaruns.rows(series)
        assert [r.gpus for r in runs] == sorted(r.gpus for r in runs)
        assert all(r.address.startswith("https://") and r.source and r.note for r in runs)
    with pytest.raises(CourseError, match="neither model nor batch"):
        replicaruns.step(replicaruns.rows("playbook")[0], 1e15)
    with pytest.raises(CourseError, match="titan"):
        replicaruns.rows("titans")


def test_memory_that_sharding_frees_is_within_ten_percent_of_the_measured():
    for series in ("titan", "titan-compiled", "titan-fp8"):
        measured, foretold = replicaruns.freed_B(series)
        assert foretold == pytest.approx(measured, rel=0.1)
    with pytest.raises(CourseError, match="memory"):
        replicaruns.freed_B("mpt")


def test_gradients_in_32_bits_take_longer_to_reduce_than_in_16():
    row = replicaruns.rows("titan")[1]
    wide, narrow = (
        replicaruns.step(replace(row, reduce_B=size), 350e12).scatter_end_s
        - replicaruns.step(replace(row, reduce_B=size), 350e12).scatter_start_s
        for size in (4, 2)
    )
    assert row.reduce_B == 4
    assert 1.5 * narrow.sum() < wide.sum() < 2 * narrow.sum()
