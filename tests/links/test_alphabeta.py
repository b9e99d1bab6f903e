"""α + m/β: limits, zero, huge and odd sizes, arrays of every kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.links import alphabeta
from course_lib.links.alphabeta import crossover_B, half_size_B, latency_share, many_s, rate_Bps, regime, time_s

SIZES = st.floats(min_value=0, max_value=2.0**60)
LATENCIES = st.floats(min_value=1e-9, max_value=1.0)
RATES = st.floats(min_value=1e3, max_value=1e13)


@given(SIZES, LATENCIES, RATES)
def test_time_is_at_least_either_part_and_at_most_their_sum(message_B, latency_s, bandwidth_Bps):
    time = time_s(message_B, latency_s, bandwidth_Bps)
    assert time >= max(latency_s, message_B / bandwidth_Bps)
    assert time == pytest.approx(latency_s + message_B / bandwidth_Bps)
    assert rate_Bps(message_B, latency_s, bandwidth_Bps) <= bandwidth_Bps * (1 + 1e-14)


@given(LATENCIES, RATES)
def test_the_half_size_gets_half_the_bandwidth(latency_s, bandwidth_Bps):
    assert rate_Bps(half_size_B(latency_s, bandwidth_Bps), latency_s, bandwidth_Bps) == pytest.approx(bandwidth_Bps / 2)


def test_zero_bytes_cost_the_latency_and_move_at_no_rate():
    assert time_s(0, 2e-6, 450e9) == 2e-6
    assert rate_Bps(0, 2e-6, 450e9) == 0
    assert rate_Bps([0, 1, 1e6], 0, 450e9).tolist() == [0, 450e9, 450e9]


@pytest.mark.parametrize("kind", [int, float, np.int32, np.int64, np.float32, np.uint64])
def test_integer_and_float_sizes_agree(kind):
    assert time_s(kind(2**30), 2e-6, 450e9) == pytest.approx(2e-6 + 2**30 / 450e9, rel=1e-12)


def test_no_integer_overflow_and_no_limit():
    sizes = np.array([2**31 - 1, 2**31 - 1], dtype=np.int32)
    assert (many_s(sizes, 1000, 2e-6, 450e9) > 4).all()
    assert time_s(2**60, 2e-6, 450e9) == pytest.approx(2**60 / 450e9)
    assert time_s(1e-3, 2e-6, 450e9) > 2e-6


@given(SIZES, LATENCIES, RATES)
def test_the_share_of_latency_and_that_of_bytes_make_the_whole(message_B, latency_s, bandwidth_Bps):
    part = latency_share(message_B, latency_s, bandwidth_Bps)
    bytes_part = rate_Bps(message_B, latency_s, bandwidth_Bps) / bandwidth_Bps
    assert part + bytes_part == pytest.approx(1)
    assert latency_share(half_size_B(latency_s, bandwidth_Bps), latency_s, bandwidth_Bps) == pytest.approx(0.5)


def test_the_share_of_latency_at_its_limits():
    assert latency_share([0, 1], 0, 1e9).tolist() == [0, 0]
    assert latency_share(0, 1e-6, 1e9) == 1
    assert latency_share(np.ones((3, 1)), [1e-6, 2e-6], 1e9).shape == (3, 2)


def test_everything_broadcasts():
    sizes = np.logspace(0, 9, 7)[:, None]
    latency, rate = np.array([1e-6, 2e-6, 3e-6]), np.array([50e9, 100e9, 450e9])
    for function in (time_s, rate_Bps, regime):
        assert function(sizes, latency, rate).shape == (7, 3)
    assert many_s(sizes, np.array([1, 2, 3]), latency, rate).shape == (7, 3)
    assert half_size_B(latency, rate).shape == (3,)
    assert time_s([], 1e-6, 1e9).shape == (0,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"message_B": -1},
        {"message_B": float("nan")},
        {"message_B": "64 MiB"},
        {"message_B": None},
        {"message_B": True},
        {"message_B": [1, -1]},
        {"bandwidth_Bps": 0},
        {"bandwidth_Bps": -1},
        {"bandwidth_Bps": float("inf")},
        {"latency_s": -1e-6},
        {"latency_s": float("nan")},
    ],
)
@pytest.mark.parametrize("function", [time_s, rate_Bps, regime])
def test_impossible_inputs_are_refused_by_name(function, wrong):
    with pytest.raises(CourseError, match=next(iter(wrong))):
        function(**({"message_B": 1, "latency_s": 1e-6, "bandwidth_Bps": 1e9} | wrong))


def test_regimes_meet_at_a_tenth_and_ten_half_sizes():
    half = half_size_B(2e-6, 450e9)
    sizes = half * np.array([0.0999, 0.1, 1, 10, 10.01])
    assert regime(sizes, 2e-6, 450e9).tolist() == ["latency", "mixed", "mixed", "mixed", "bandwidth"]
    assert regime(0, 2e-6, 450e9) == "latency"
    assert regime(5, 0, 450e9) == "bandwidth"
    # The thresholds mean what their text says: 91 % of the time.
    assert 2e-6 / time_s(sizes[0], 2e-6, 450e9) > 0.909
    assert sizes[-1] / 450e9 / time_s(sizes[-1], 2e-6, 450e9) > 0.909


def test_a_thousand_small_messages_cost_a_thousand_latencies():
    assert many_s(1e3, 1000, 2e-6, 450e9) - time_s(1e6, 2e-6, 450e9) == pytest.approx(999 * 2e-6)
    assert many_s(1e3, 0, 2e-6, 450e9) == 0
    for wrong in (-1, 2.5, "8", None, float("nan"), [1, 2.5], True):
        with pytest.raises(CourseError):
            many_s(1e3, wrong, 2e-6, 450e9)


def test_crossover_is_where_both_take_the_same_time():
    size = crossover_B(1e-6, 50e9, 2e-6, 400e9)
    assert time_s(size, 1e-6, 50e9) == pytest.approx(time_s(size, 2e-6, 400e9))
    assert crossover_B(1e-6, 400e9, 2e-6, 50e9) == 0
    assert crossover_B(1e-6, 50e9, 1e-6, 50e9) == 0
    assert crossover_B([1e-6, 1e-6], 50e9, 2e-6, [400e9, 10e9]).shape == (2,)


def test_the_names_of_regimes_are_fixed():
    assert alphabeta.REGIMES == ("latency", "mixed", "bandwidth")


MODELS = (time_s, rate_Bps, latency_share, regime, lambda m, a, b: many_s(m, 2, a, b))


@pytest.mark.parametrize("model", MODELS)
def test_shapes_that_do_not_go_together_are_named(model):
    with pytest.raises(CourseError, match=r"message_B has the shape \(3,\) and latency_s \(2,\)"):
        model([1, 2, 3], [1e-6, 2e-6], 1e9)
    with pytest.raises(CourseError, match=r"count has the shape \(2,\) and message_B \(3,\)"):
        many_s([1, 2, 3], [1, 2], 1e-6, 1e9)
    with pytest.raises(CourseError, match="do not go together"):
        crossover_B([1e-6, 2e-6], 1e9, [1e-6, 2e-6, 3e-6], 1e9)


def test_no_infinite_number_leaves_a_model():
    calls = (
        lambda: time_s(1e308, 1e-6, 1e-308),
        lambda: rate_Bps(1e308, 1e-6, 1e-308),
        lambda: many_s(1e300, 10**300, 1, 1),
        lambda: half_size_B(1e200, 1e200),
        lambda: time_s(10**400, 1e-6, 1e9),
    )
    for call in calls:
        with pytest.raises(CourseError, match="too large"):
            call()
