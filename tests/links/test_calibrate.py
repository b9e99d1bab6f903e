"""The fit finds what was hidden, keeps its bounds, and says why it cannot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base import measured
from course_lib.base.errors import CourseError
from course_lib.links.alphabeta import time_s
from course_lib.links.calibrate import fit, mystery_link

SIZES = 2.0 ** np.arange(3, 31)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(min_value=1e-8, max_value=1e-2),
    st.floats(min_value=1e6, max_value=1e13),
    st.sampled_from(["relative", "equal"]),
)
def test_exact_points_give_the_exact_line(latency_s, bandwidth_Bps, weights):
    sizes = latency_s * bandwidth_Bps * np.array([0.01, 0.1, 0.5, 1, 2, 10, 100])
    found = fit(sizes, time_s(sizes, latency_s, bandwidth_Bps), weights=weights)
    assert found.latency_s == pytest.approx(latency_s, rel=1e-6)
    assert found.bandwidth_Bps == pytest.approx(bandwidth_Bps, rel=1e-6)
    assert found.worst < 1e-6
    assert found.r_squared == pytest.approx(1)
    assert found.half_size_B == pytest.approx(latency_s * bandwidth_Bps, rel=1e-6)


def test_it_is_the_weighted_least_squares_solution():
    rng = np.random.default_rng(1)
    times = time_s(SIZES, 3e-6, 40e9) * rng.normal(1, 0.05, SIZES.size)
    found = fit(SIZES, times)
    design = np.stack([1 / times, SIZES / times], axis=1)
    solution, *_rest = np.linalg.lstsq(design, np.ones_like(times), rcond=None)
    assert found.latency_s == pytest.approx(solution[0], rel=1e-6)
    assert 1 / found.bandwidth_Bps == pytest.approx(solution[1], rel=1e-6)
    covariance = np.linalg.inv(design.T @ design) * ((design @ solution - 1) ** 2).sum() / (times.size - 2)
    assert found.latency_error_s == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-6)
    assert found.bandwidth_error_Bps == pytest.approx(found.bandwidth_Bps**2 * np.sqrt(covariance[1, 1]), rel=1e-6)
    assert found.residual == pytest.approx(times / time_s(SIZES, found.latency_s, found.bandwidth_Bps) - 1)


def test_equal_weights_lose_the_latency_in_the_noise_of_large_messages():
    rng = np.random.default_rng(2)
    error = {"relative": [], "equal": []}
    for _trial in range(20):
        times = time_s(SIZES, 5e-6, 50e9) * rng.normal(1, 0.02, SIZES.size)
        for weights, errors in error.items():
            errors.append(abs(fit(SIZES, times, weights=weights).latency_s / 5e-6 - 1))
    assert np.median(error["relative"]) < 0.02 < np.median(error["equal"])


def test_weights_of_zero_leave_points_out():
    times = time_s(SIZES, 2e-6, 100e9)
    times[-1] *= 10
    weights = np.ones_like(SIZES)
    weights[-1] = 0
    found = fit(SIZES, times, weights=weights)
    assert found.bandwidth_Bps == pytest.approx(100e9)
    assert found.residual[-1] == pytest.approx(9, rel=1e-3)


def test_latency_is_never_negative():
    found = fit([1e6, 2e6, 4e6], [5e-6, 20e-6, 50e-6])
    assert found.latency_s == 0
    assert found.at_bound == "latency"
    assert found.latency_error_s is None
    assert found.bandwidth_Bps > 0


@pytest.mark.parametrize(
    ("sizes", "times", "weights", "words"),
    [
        ([1, 2], [1, float("nan")], "relative", "time_s"),
        ([1, float("inf")], [1, 2], "relative", "message_B"),
        ([1, -2], [1, 2], "relative", "message_B"),
        ([1, 2], [0, 2], "relative", "time_s"),
        ([1, 2, 3], [1, 2], "relative", "same length"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]], "relative", "same length"),
        ([5, 5, 5], [1, 2, 3], "relative", "two different"),
        ([5], [1], "relative", "two different"),
        ([], [], "relative", "two different"),
        (5, 1, "relative", "two different"),
        ([1, 2], [1, 2], [1, 0], "weight"),
        ([1, 2], [1, 2], [1, -1], "weights"),
        ([1, 2], [1, 2], [1, 2, 3], "shape"),
        ([1, 2], [1, 2], "heavy", "relative"),
        ([1e3, 1e6], [2e-3, 1e-3], "relative", "do not grow"),
        ([1e3, 1e6], [1e-3, 1e-3], "equal", "do not grow"),
        (["a", "b"], [1, 2], "relative", "message_B"),
        (None, [1, 2], "relative", "message_B"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(sizes, times, weights, words):
    with pytest.raises(CourseError, match=words):
        fit(sizes, times, weights=weights)


def test_two_points_are_a_line_without_errors():
    found = fit([1e3, 1e6], [3e-6, 13e-6])
    assert found.latency_error_s is None
    assert found.bandwidth_error_Bps is None
    assert found.worst < 1e-9


def test_tiny_and_huge_numbers_fit():
    sizes = np.array([1.0, 2.0**30, 2.0**60])
    found = fit(sizes, time_s(sizes, 1e-6, 1e9))
    assert found.bandwidth_Bps == pytest.approx(1e9, rel=1e-9)
    assert found.latency_s == pytest.approx(1e-6, rel=1e-3)


def test_order_does_not_matter_and_integers_do_not_overflow():
    sizes = np.array([2**31 - 1, 1024, 2**20], dtype=np.int32)
    times = time_s(sizes, 2e-6, 50e9)
    assert fit(sizes, times).bandwidth_Bps == pytest.approx(fit(sizes[::-1], times[::-1]).bandwidth_Bps)


@pytest.mark.parametrize("seed", range(200))
def test_every_mystery_link_can_be_found(seed):
    link = mystery_link(seed)
    found = fit(link.message_B, link.time_s)
    assert found.latency_s == pytest.approx(link.latency_s, rel=0.05)
    assert found.bandwidth_Bps == pytest.approx(link.bandwidth_Bps, rel=0.05)
    assert 0.8e-6 <= link.latency_s <= 20e-6
    assert 8e9 <= link.bandwidth_Bps <= 800e9
    assert link.message_B.max() > 100 * link.latency_s * link.bandwidth_Bps


def test_mystery_links_are_the_same_every_time_and_differ_by_seed():
    assert (mystery_link(3).time_s == mystery_link(3).time_s).all()
    assert len({mystery_link(seed).latency_s for seed in range(200)}) == 200
    for wrong in (-1, 1.5, "3", None):
        with pytest.raises(CourseError):
            mystery_link(wrong)


def test_measured_series_fit_where_the_straight_line_holds_and_fail_where_it_does_not():
    series = measured.series("gdrcopy-write")
    large = series.message_B >= 1024
    assert fit(series.message_B[large], series.time_s[large]).bandwidth_Bps / 1e9 == pytest.approx(10.1, abs=0.2)
    # RDMA leaves the line in the middle: no single line is within 20 % everywhere.
    rdma = measured.series("rdma-gpu-edr-latency")
    assert fit(rdma.message_B, rdma.time_s).worst > 0.2
