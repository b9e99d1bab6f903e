"""Rounding is held against exact arithmetic written a second way: scale, round half to even, scale back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.blockscale import round_scaled
from course_lib.plan.precision import FORMATS, format_of, round_to

NAMES = list(FORMATS)


def by_arithmetic(values, form):
    """Round in exact float64 arithmetic: the grid spacing is the exponent's, at least that of the subnormals."""
    exponent = np.frexp(np.where(values == 0, 1.0, values))[1] - 1
    lowest = int(np.log2(form.smallest_normal))
    spacing = np.maximum(exponent, lowest) - form.mantissa_bits
    return np.ldexp(np.rint(np.ldexp(values, -spacing)), spacing)


def awkward(form, rng):
    """Values on, beside and half-way between grid points, in the normal and the subnormal range, and beyond it."""
    grid = rng.integers(0, 4 << form.mantissa_bits, 400) * 0.5
    low, high = np.log2(form.smallest), np.log2(form.largest)
    scales = np.ldexp(1.0, rng.integers(int(low), int(high) - form.mantissa_bits, 400))
    values = grid * scales
    beside = np.concatenate(
        [values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf), values * (1 + 2**-40)]
    )
    return np.concatenate([beside, -beside, rng.standard_normal(400) * form.largest / 3])


@pytest.mark.parametrize("name", NAMES)
def test_rounding_is_to_the_nearest_with_ties_to_even_and_only_once(name):
    form = FORMATS[name]
    values = awkward(form, np.random.default_rng(1))
    expected = by_arithmetic(values, form)
    over = np.abs(expected) > form.largest
    rounded = round_to(values, name)
    np.testing.assert_array_equal(rounded.values[~over], expected[~over])
    assert rounded.overflowed == over.sum()
    beyond = {"inf": np.isinf, "nan": np.isnan, "none": lambda v: np.abs(v) == form.largest}[form.special]
    assert beyond(rounded.values[over]).all()


@pytest.mark.parametrize("name", NAMES)
def test_saturating_gives_the_largest_value_and_still_counts(name):
    form = FORMATS[name]
    kept = round_to([form.largest * 1.5, -form.largest * 1.5, -np.inf, form.largest], name, saturate=True)
    assert kept.values.tolist() == [form.largest, -form.largest, -form.largest, form.largest]
    assert (kept.overflowed, kept.not_finite) == (2, 1)


@pytest.mark.parametrize("name", NAMES)
def test_underflow_is_counted_down_to_the_tie(name):
    smallest = FORMATS[name].smallest
    lost = round_to([smallest / 2, smallest * 0.51, -smallest / 4, 0.0], name)
    assert lost.values.tolist() == [0.0, smallest, 0.0, 0.0]
    assert (lost.underflowed, lost.subnormal) == (2, 1)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "fp4-e2m1"])
def test_nan_and_infinity_are_shown(name):
    shown = round_to([np.nan, np.inf, -np.inf, 1.0], name)
    assert np.isnan(shown.values[0])
    assert not np.isfinite(shown.values[:3]).any()
    assert (shown.not_finite, shown.overflowed) == (3, 0)


def test_fp4_refuses_nan_in_words():
    with pytest.raises(CourseError, match="1 of the values are NaN, and fp4-e2m1 has no code"):
        round_to([np.nan, 1.0], "fp4")


@given(st.sampled_from(NAMES), st.floats(-1e3, 1e3, allow_subnormal=True))
def test_rounding_twice_changes_nothing(name, value):
    once = round_to(value, name).values
    np.testing.assert_array_equal(round_to(once, name).values, once) if not np.isnan(once) else None


def test_published_limits():
    largest = {n: f.largest for n, f in FORMATS.items()}
    assert (largest["fp16"], largest["fp8-e4m3"], largest["fp8-e5m2"], largest["fp4-e2m1"]) == (65504, 448, 57344, 6)
    assert FORMATS["fp16"].smallest == 2.0**-24
    assert FORMATS["fp8-e4m3"].smallest == 2.0**-9
    assert FORMATS["fp8-e5m2"].smallest == 2.0**-16
    assert [f.stored_B for f in FORMATS.values()] == [4, 4, 2, 2, 1, 1, 0.5]


@pytest.mark.parametrize("scale", ["fp32", "e8m0", "e4m3"])
@pytest.mark.parametrize("name", ["fp8-e4m3", "fp8-e5m2", "fp4-e2m1"])
def test_zeros_stay_zeros_under_any_scale(name, scale):
    kept = round_scaled(np.zeros((3, 5)), name, block=4, scale=scale)
    assert (kept.values == 0).all()
    assert kept.values.shape == (3, 5)
    assert (kept.overflowed, kept.underflowed) == (0, 0)


def test_one_huge_value_drowns_its_neighbours_only_within_its_block():
    values = np.full(64, 1e-4)
    values[0] = 1e4
    together = round_scaled(values, "fp8-e4m3")
    apart = round_scaled(values, "fp8-e4m3", block=32)
    assert (together.underflowed, apart.underflowed) == (63, 31)
    np.testing.assert_allclose(apart.values[32:], 1e-4, rtol=2**-4)


def test_error_with_scale_is_within_one_rounding():
    values = np.random.default_rng(0).uniform(1, 2, 1000) * 1e-12
    decoded = round_scaled(values, "fp8-e5m2").values
    assert np.abs(decoded / values - 1).max() <= format_of("fp8-e5m2").unit_roundoff * 1.0001


def test_power_of_two_scales_follow_the_mx_rule_and_saturate():
    kept = round_scaled([500.0, 3.0], "fp8-e4m3", block=2, scale="e8m0")  # 500 lies above 448 = 1.75 · 2^8
    assert kept.scales.tolist() == [1.0]
    assert (kept.values.tolist(), kept.overflowed) == ([448.0, 3.0], 1)
    assert round_scaled([512.0, 3.0], "fp8-e4m3", block=2, scale="e8m0").scales.tolist() == [2.0]


def test_wire_bytes_count_codes_and_scales():
    values = np.ones(100)
    assert round_scaled(values, "fp8-e4m3").wire_B == 100 + 4
    assert round_scaled(values, "fp4", block=16, scale="e4m3").wire_B == 50 + 7 + 4
    assert round_scaled(values, "fp4", block=32, scale="e8m0").wire_B == 50 + 4


@pytest.mark.parametrize("scale", ["fp32", "e8m0", "e4m3"])
@pytest.mark.parametrize("values", [[1e300, 1.0], [5e-324], [1e38, 1e-30], [-0.0], [3.4e38, 0.0]])
def test_extreme_values_come_back_finite_or_are_refused(scale, values):
    refused = 0
    for name in ("fp8-e4m3", "fp8-e5m2", "fp4", "bf16"):
        for block in (None, 1, 16):
            try:
                assert np.isfinite(round_scaled(values, name, block=block, scale=scale).values).all()
            except CourseError:
                refused += 1
    assert not refused or max(values) > 1e38


@pytest.mark.parametrize("values", [[np.nan], [np.inf, 1], []])
def test_scaling_what_has_no_largest_value_is_refused(values):
    with pytest.raises(CourseError):
        round_scaled(values, "fp8-e4m3")


@pytest.mark.parametrize("values", ["1.0", None, [1j], [["a"]], [[1], [2, 3]]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(CourseError, match="numbers"):
        round_to(values, "fp16")
