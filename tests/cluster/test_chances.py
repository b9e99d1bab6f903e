"""Tails and quantiles against sums, and against values of printed tables."""

import math

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster.chances import (
    normal_below,
    normal_quantile,
    poisson_at_least,
    poisson_quantile,
    share,
    student_quantile,
)


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.0, 17.5, 400.0])
def test_poisson_tails_are_the_sums_of_their_terms(mean):
    counts = np.arange(0, int(mean + 10 * math.sqrt(mean) + 10))
    term = np.exp(counts * math.log(mean) - mean - np.array([math.lgamma(k + 1) for k in counts]))
    below = np.concatenate([[0.0], np.cumsum(term)[:-1]])
    assert np.allclose(poisson_at_least(counts, mean), 1 - below, atol=1e-12)


def test_poisson_tails_far_out_are_small_and_not_zero():
    assert poisson_at_least(30, 0.1) == pytest.approx(0.1**30 / math.factorial(30) * math.exp(-0.1), rel=0.01)
    assert poisson_at_least(0, 0.0) == 1
    assert poisson_at_least(1, 0.0) == 0
    assert poisson_at_least(999_000, 1e6) == pytest.approx(normal_below(1.0), abs=1e-3)


def test_poisson_broadcasts_and_refuses_what_is_no_count():
    assert poisson_at_least([[1], [2]], [0.5, 1.0, 2.0]).shape == (2, 3)
    for bad in (1.5, -1, float("nan"), "2"):
        with pytest.raises(CourseError):
            poisson_at_least(bad, 1.0)


@pytest.mark.parametrize(("level", "mean"), [(0.05, 419.0), (0.5, 10.0), (0.95, 0.2), (0.999, 3.0)])
def test_a_quantile_is_the_first_count_that_is_not_exceeded(level, mean):
    k = poisson_quantile(level, mean)
    assert 1 - poisson_at_least(k + 1, mean) >= level
    assert k == 0 or 1 - poisson_at_least(k, mean) < level


@pytest.mark.parametrize(
    ("level", "freedom", "printed"),
    [
        (0.95, 1, 6.314),
        (0.95, 2, 2.920),
        (0.95, 3, 2.353),
        (0.95, 4, 2.132),
        (0.975, 5, 2.571),
        (0.9, 10, 1.372),
        (0.05, 4, -2.132),
    ],
)
def test_student_quantiles_are_those_of_the_tables(level, freedom, printed):
    assert student_quantile(level, freedom) == pytest.approx(printed, abs=6e-4)


def test_student_becomes_normal():
    assert student_quantile(0.95, 2001) == pytest.approx(normal_quantile(0.95), abs=2e-3)


@pytest.mark.parametrize("bad", [0, 1, 90, -0.1, "0.9", None, float("nan")])
def test_a_level_is_a_share(bad):
    with pytest.raises(CourseError, match="level"):
        share("level", bad)
