"""FP8 against BF16 as measured: rows come in pairs, the shapes are those that ran, the model saves what its words say."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.precisionruns import gains, linear_flops, rows, saved_token_s, shape_of
from course_lib.plan.transformer import model, params


def test_every_fp8_run_has_a_bf16_run_of_the_same_job_and_a_source():
    base = {r.job: r for r in rows() if r.precision == "bf16"}
    assert len(base) == 8
    for row in rows():
        twin = base[row.job]
        assert (row.model, row.n_gpus, row.seq, row.batch_per_gpu, row.recompute) == (
            twin.model,
            twin.n_gpus,
            twin.seq,
            twin.batch_per_gpu,
            twin.recompute,
        )
        assert row.address.startswith("https://")
        assert row.source


@pytest.mark.parametrize(
    ("name", "seq", "published"),
    [
        ("mpt-1b", 512, 1312804864),
        ("mpt-1b", 32768, 1378865152),
        ("mpt-3b", 512, 2647905280),
        ("mpt-3b", 8192, 2667566080),
        ("mpt-3b", 32768, 2730480640),
    ],
)
def test_the_shapes_have_the_published_parameters_to_the_unit(name, seq, published):
    assert params(shape_of(name, seq)).total == published


def test_linear_operations_are_six_a_weight():
    shape = model("llama3-8b")
    kv = shape.n_kv_heads * shape.head_size
    weights = shape.n_layers * (2 * shape.hidden**2 + 2 * shape.hidden * kv + 3 * shape.hidden * shape.ffn)
    assert linear_flops(shape) == pytest.approx(6 * weights, rel=1e-12)
    assert linear_flops(shape, "full") == pytest.approx(8 * weights, rel=1e-12)
    with pytest.raises(CourseError, match="full"):
        linear_flops(shape, "ful")


def test_what_is_saved_does_not_depend_on_the_sequence():
    assert saved_token_s(shape_of("mpt-3b", 512)) == saved_token_s(shape_of("mpt-3b", 32768))


def test_the_model_never_reaches_two_and_falls_with_the_sequence():
    found = gains()
    assert (found.foretold > 1).all()
    assert (found.foretold < 1.5).all()
    assert (found.measured < 1.5).all()
    assert found.foretold[2] > found.foretold[3] > found.foretold[4]
    assert found.measured[2] > found.measured[3] > found.measured[4]


def test_runs_that_the_data_sheet_explains_lie_close():
    found = gains()
    assert np.abs(found.measured[[1, 2, 3]] / found.foretold[[1, 2, 3]] - 1).max() < 0.03
