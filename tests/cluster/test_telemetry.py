"""Alarms: the closed form against simulated readings, and the lowest threshold that keeps quiet enough."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import telemetry as t


@pytest.mark.parametrize("threshold", [1, 3, 5])
def test_counted_alarms_are_those_of_the_closed_form(threshold):
    drawn = t.judged(t.simulate_counters(20_000, 2000, 0.5, 4.0, 24, seed=2), threshold, 24)
    closed = t.counter_alarm(threshold, 0.5, 4.0, 18_000, 24)
    assert drawn.detection == pytest.approx(closed.detection, abs=0.01)
    assert drawn.false_per_day == pytest.approx(closed.false_per_day, abs=5 * closed.false_per_day**0.5 + 1)


def test_a_higher_threshold_rings_less_for_sick_and_healthy():
    a = t.counter_alarm(np.arange(10), 0.1, 5.0, 1000, 24)
    assert (np.diff(a.detection) <= 0).all()
    assert (np.diff(a.false_per_day) <= 0).all()
    assert a.detection[0] == 1
    assert a.false_per_day[0] == 24_000
    assert (np.diff(a.readings_to_ring) >= 0).all()


@pytest.mark.parametrize("allowed", [0.01, 1.0, 100.0])
def test_the_least_threshold_keeps_its_promise_and_one_less_does_not(allowed):
    k = t.least_threshold(0.1, 32_768, 24, allowed)
    assert t.counter_alarm(k, 0.1, 5, 32_768, 24).false_per_day <= allowed
    assert t.counter_alarm(k - 1, 0.1, 5, 32_768, 24).false_per_day > allowed


def test_bursts_ring_more_often_than_the_closed_form_says():
    even = t.judged(t.simulate_counters(20_000, 0, 0.5, 0.5, 24), 5, 24).false_per_day
    bursts = t.judged(t.simulate_counters(20_000, 0, 0.5, 0.5, 24, bursts=1.5), 5, 24).false_per_day
    assert bursts > 5 * even


def test_means_of_many_readings_find_small_drifts_later_but_quietly():
    limits = [t.drift_threshold(0.02, 2048, 24, 1.0, window=w) for w in (1, 4, 16)]
    assert limits[0] > limits[1] > limits[2]
    alarms = [t.drift_alarm(0.04, 0.02, limit, 2048, 24, window=w) for limit, w in zip(limits, (1, 4, 16), strict=True)]
    assert all(a.false_per_day == pytest.approx(1.0) for a in alarms)
    assert alarms[0].detection < alarms[1].detection < alarms[2].detection


def test_drift_alarms_in_simulated_readings_are_those_of_the_normal_law():
    value = 1 + 0.02 * np.random.default_rng(1).standard_normal((4000, 48))
    r = t.Readings(value, np.zeros(4000, bool))
    closed = t.drift_alarm(0.0, 0.02, 0.05, 4000, 24)
    assert t.judged(r, 0.95, 24, below=True).false_per_day == pytest.approx(closed.false_per_day, rel=0.15)


def test_a_straggler_is_slow_always_not_once():
    rng = np.random.default_rng(0)
    step = 1 + 0.01 * rng.standard_normal((64, 50))
    step[7] *= 1.2
    step[9, 3] = 9.0
    assert t.stragglers(step).tolist() == [7]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: t.counter_alarm(2.5, 1, 1, 1, 1), "whole"),
        (lambda: t.simulate_counters(5, 6, 1, 1, 1), "cannot be sick"),
        (lambda: t.simulate_counters(10**6, 0, 1, 1, 1000), "at most"),
        (lambda: t.drift_threshold(0.02, 1, 1, 5), "share"),
        (lambda: t.stragglers([1.0, 2.0]), "ranks, steps"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()
