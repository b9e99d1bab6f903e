"""Measured tensor-parallel scaling: the rows belong together, the model is the one that ran, and the misses are what is said."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.tensorscaling import MODEL, compare, largest_batch, rows
from course_lib.plan.transformer import flops, model, params

STYLES = ("tensor", "sequence")


@pytest.mark.parametrize("style", STYLES)
def test_rows_go_from_2_to_32_ranks_with_a_source_each(style):
    found = rows(style)
    assert [r.tensor for r in found] == [2, 4, 8, 16, 32]
    assert [r.n_hosts for r in found] == [1, 1, 1, 2, 4]
    assert all(r.address.startswith("https://") and r.source for r in found)
    assert all(np.diff([r.tokens_per_s_per_gpu for r in found]) < 0)


def test_the_shape_is_the_one_that_ran():
    """The source prints work and tokens per second of one run; their ratio names vocabulary and sequence length."""
    flop_per_token = float(flops(model(MODEL), 1).model) / model(MODEL).seq
    assert flop_per_token == pytest.approx(363.66e12 / 14167.25, rel=1e-4)
    assert params(model(MODEL)).total == pytest.approx(3.57e9, rel=0.002)


@pytest.mark.parametrize("style", STYLES)
def test_one_constant_foretells_the_runs_within_a_host(style):
    found = compare(style)
    assert found.error[0] == pytest.approx(0, abs=1e-9)
    assert np.abs(found.error[:3]).max() < 0.08


def test_across_hosts_the_model_is_too_fast_and_more_so_without_sequence_slicing():
    tensor, sequence = compare("tensor"), compare("sequence")
    assert (tensor.error[3:] > 0.1).all()
    assert (sequence.error[3:] > 0.05).all()
    assert tensor.error[4] > 1.5 * sequence.error[4]


@pytest.mark.parametrize("style", STYLES)
def test_parts_of_a_step_add_up_to_what_was_measured(style):
    found = compare(style)
    assert found.compute_s + found.communicate_s + found.unexplained_s == pytest.approx(found.measured_s)
    assert found.measured_s == pytest.approx([r.step_s for r in rows(style)])


@pytest.mark.parametrize("style", STYLES)
def test_no_measured_batch_is_larger_than_the_memory_model_allows(style):
    for row in rows(style):
        assert row.batch <= largest_batch(style, row.tensor)


def test_what_does_not_exist_is_refused_in_words():
    with pytest.raises(CourseError, match="tensor"):
        rows("tensr")
    with pytest.raises(CourseError, match="h100"):
        largest_batch("tensor", 8, "h10")
