"""Rates, intervals and simulated fleets against the closed form; rates of other fleets against the one held out."""

import math

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import fleetfit, reliability
from course_lib.cluster.chances import poisson_at_least
from course_lib.cluster.published import DAY_s, HOUR_s, fleet, fleets, parts

SPAN_s = 54 * DAY_s


def test_counts_of_the_table_add_up_and_its_printed_share_does_not():
    assert sum(p.events for p in parts()) == fleet("llama3-405b").failures == 419
    assert reliability.shares()["gpu"] == pytest.approx(0.353, abs=1e-3)  # 30.1 % is printed
    assert (
        sum(reliability.shares().values()) == pytest.approx(1) == pytest.approx(sum(reliability.shares(True).values()))
    )


def test_the_time_between_failures_shrinks_with_the_number_of_parts():
    run = fleet("llama3-405b")
    assert run.between_s / HOUR_s == pytest.approx(3.09, abs=0.005)
    assert reliability.between_s(run.rate_per_host_s, [run.hosts, 10 * run.hosts])[1] == pytest.approx(
        run.between_s / 10
    )
    assert reliability.between_s(0.0, 5) == math.inf


def test_rates_of_parts_make_up_the_rate_of_a_host():
    assert reliability.host_rate_per_s() == pytest.approx(fleet("llama3-405b").rate_per_host_s, rel=1e-12)
    with pytest.raises(CourseError, match="nearest: gpu"):
        reliability.host_rate_per_s(without=("gpus",))


@pytest.mark.parametrize("events", [0, 1, 10, 419])
def test_an_exact_interval_leaves_five_percent_on_each_side(events):
    low, high = reliability.rate_interval(events, 1.0)
    assert 1 - poisson_at_least(events + 1, high) == pytest.approx(0.05, abs=1e-6)
    assert low == 0 if events == 0 else poisson_at_least(events, low) == pytest.approx(0.05, abs=1e-6)


def test_simulated_fleets_lie_in_the_interval_of_the_closed_form():
    total = reliability.simulate(2048, SPAN_s, n_runs=4000, seed=3).total
    low, high = reliability.count_interval(419.0)
    assert total.mean() == pytest.approx(419, abs=1.5)
    assert total.var() == pytest.approx(419, rel=0.1)
    assert 0.88 < ((total >= low) & (total <= high)).mean() < 0.94


def test_fleets_that_differ_spread_wider_than_chance():
    even = reliability.simulate(2048, SPAN_s, n_runs=2000).total.std()
    uneven = reliability.simulate(2048, SPAN_s, n_runs=2000, uneven=0.5).total
    assert uneven.std() > 5 * even
    assert uneven.mean() == pytest.approx(419, rel=0.05)


def test_the_same_seed_gives_the_same_fleets():
    a, b = (reliability.simulate(10, SPAN_s, n_runs=5, seed=7).counts for _ in range(2))
    assert (a == b).all()
    assert (a != reliability.simulate(10, SPAN_s, n_runs=5, seed=8).counts).any()


def test_the_held_out_fleet_is_in_none_of_the_rates():
    assert "llama3-405b" not in fleetfit.pool().names
    assert all(f.failures != 419 for f in fleets("fit"))
    assert all("llama3-405b" not in row.predicted.names for row in fleetfit.held_out())


def test_other_fleets_predict_the_419_with_an_interval():
    rows = fleetfit.held_out()
    alone, pooled = rows[:-1], rows[-1]
    assert pooled.counted == 419
    assert pooled.inside
    assert abs(pooled.error) < 0.3
    # One fleet taken for the truth is too sure of itself: the counting error alone misses four times out of five.
    assert sum(r.inside_counted for r in alone) <= 1
    assert not pooled.inside_counted
    assert min(r.predicted.expected for r in alone) < 419 < max(r.predicted.expected for r in alone)


def test_the_interval_is_that_of_a_new_fleet_among_two():
    """By hand: two logarithms, Student's t of one degree of freedom, and the spread of a third fleet and of a mean of two."""
    a, b = (fleet(n).rate_per_host_s * 2048 * SPAN_s for n in ("rsc-1", "rsc-2"))
    p = fleetfit.predict_count(2048, SPAN_s, names=("rsc-1", "rsc-2"), level=0.9)
    middle = math.sqrt(a * b)
    spread = abs(math.log(a / b)) / math.sqrt(2)
    width = math.hypot(6.3138 * spread * math.sqrt(1.5), 1.6449 / math.sqrt(middle))
    assert p.expected == pytest.approx(middle)
    assert math.log(p.high / p.expected) == pytest.approx(width, rel=1e-3)
    assert math.log(p.expected / p.low) == pytest.approx(width, rel=1e-3)


def test_a_wider_level_gives_a_wider_interval():
    half, most = (fleetfit.predict_count(2048, SPAN_s, level=level) for level in (0.5, 0.9))
    assert most.low < half.low < half.expected < half.high < most.high
    assert half.low < 419 < half.high


def test_the_interval_holds_what_it_says_when_fleets_are_drawn():
    """Six log-normal fleets: the sixth lies in the interval of five about nine times in ten."""
    rng = np.random.default_rng(1)
    logs = rng.normal(0.0, 0.7, (4000, 6))
    mean, sd = logs[:, :5].mean(1), logs[:, :5].std(1, ddof=1)
    width = fleetfit.student_quantile(0.95, 4) * sd * math.sqrt(1.2)
    assert (np.abs(logs[:, 5] - mean) < width).mean() == pytest.approx(0.9, abs=0.015)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: reliability.between_s(-1, 5), "rate_per_s"),
        (lambda: reliability.simulate(0, SPAN_s), "n_hosts"),
        (lambda: reliability.simulate(8, SPAN_s, n_runs=10**8), "too many"),
        (lambda: reliability.part_rates("rsc-1"), "no counts by part"),
        (lambda: fleetfit.predict_count(2048, SPAN_s, names=["rsc-3"]), "nearest"),
        (lambda: fleetfit.predict_count(2048, SPAN_s, level=90), "share"),
        (lambda: fleetfit.held_out("rsc-1"), "rate, not a count"),
        (lambda: fleetfit.pool([]), "At least one"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()
