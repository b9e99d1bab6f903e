"""Intervals and useful time: the closed form against simulation, against Daly, and against what was published."""

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.cluster import checkpoints, goodput
from course_lib.cluster.published import HOUR_s, fleet, known

M_s = fleet("llama3-405b").between_s


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 3000), st.floats(60, 1e6))
def test_the_best_interval_is_the_best(save_s, between_s):
    best = checkpoints.best_s(save_s, between_s)
    here = goodput.useful(between_s, best, save_s, 0.0).useful
    around = goodput.useful(between_s, best * np.linspace(0.3, 3, 55), save_s, 0.0).useful
    assert here >= around.max() * (1 - 1e-9)


def test_young_daly_and_the_exact_interval_agree_where_saving_is_short():
    save = 1e-4 * M_s
    assert checkpoints.young_s(save, M_s) == pytest.approx(checkpoints.best_s(save, M_s), rel=0.01)
    assert checkpoints.daly_s(save, M_s) == pytest.approx(checkpoints.best_s(save, M_s), rel=1e-4)


def test_young_goes_wrong_where_saving_is_long_and_daly_less_so():
    young, daly, exact = (f(0.2 * M_s, M_s) for f in (checkpoints.young_s, checkpoints.daly_s, checkpoints.best_s))
    assert young > 1.2 * exact
    assert daly == pytest.approx(exact, rel=0.01)


@settings(max_examples=60, deadline=None)
@given(st.floats(10, 1e6), st.floats(1, 1e6), *(st.just(0.0) | st.floats(1e-3, most) for most in (1e4, 1e4, 1e3, 1)))
def test_shares_add_up_and_none_is_negative(m, tau, save, restart, late, slowed):
    s = goodput.useful(m, tau, save, restart, late_s=late, slowed=slowed)
    parts = np.array([s.useful, s.saving, s.redone, s.restarting])
    assert parts.sum() == pytest.approx(1)
    assert (parts >= -1e-12).all()


@pytest.mark.parametrize(
    ("m", "tau", "save", "restart", "late"),
    [
        (M_s, 817, 30, 600, 0),
        (1800, 300, 30, 600, 0),
        (1800, 300, 1, 600, 120),
        (M_s, 900, 1, 600, 30),
        (4000, 4000, 10, 0, 0),
    ],
)
def test_simulated_jobs_keep_the_share_of_the_closed_form(m, tau, save, restart, late):
    drawn = goodput.simulate(m, tau, save, restart, late_s=late, n_runs=150)
    exact = goodput.useful(m, tau, save, restart, late_s=late).useful
    assert drawn.mean() == pytest.approx(exact, abs=4 * drawn.std() / 150**0.5 + 5e-4)


def test_saving_takes_its_share_of_every_kept_interval():
    s = goodput.useful(M_s, 900.0, 30.0, 600.0)
    assert s.saving / s.useful == pytest.approx(30 / 900)
    slowed = goodput.useful(M_s, 900.0, 5.0, 600.0, late_s=60.0, slowed=0.1)
    assert slowed.saving / slowed.useful == pytest.approx((5 + 6) / 900)
    assert s.restarting == pytest.approx(1 - np.exp(-600 / M_s))


def test_more_failures_longer_saving_and_longer_restarts_never_help():
    base = goodput.best(M_s, 10.0, 600.0).useful
    assert goodput.best(M_s / 2, 10.0, 600.0).useful < base
    assert goodput.best(M_s, 20.0, 600.0).useful < base
    assert goodput.best(M_s, 10.0, 700.0).useful < base
    assert goodput.best(1e15, 1e-6, 0.0).useful == pytest.approx(1, abs=1e-6)


def by_hand(between_s, interval_s, save_s, restart_s):
    """The useful share as Kokolis et al. (HPCA 2025) estimate it."""
    return (1 - (restart_s + interval_s / 2) / between_s) / (1 + save_s / interval_s)


def test_the_estimate_by_hand_is_good_at_three_hours_and_bad_at_half_an_hour():
    tau = checkpoints.best_s(10.0, M_s)
    assert by_hand(M_s, tau, 10.0, 600.0) == pytest.approx(goodput.useful(M_s, tau, 10.0, 600.0).useful, abs=0.003)
    short = 900.0
    tau = checkpoints.best_s(10.0, short)
    assert by_hand(short, tau, 10.0, 660.0) < goodput.useful(short, tau, 10.0, 660.0).useful - 0.1


def test_the_published_effective_time_goes_with_a_short_standstill_only():
    """3.09 h between failures and 11 min for a restart: over 90 % with saving of 10 s, not with the whole write of 33 s."""
    restart = known("restart-lablup").value
    write = checkpoints.write_s(16_384 * known("checkpoint-most").value, known("storage").value)
    published = known("useful-llama3").value
    assert write == pytest.approx(32.8, abs=0.1)
    assert goodput.best(M_s, 10.0, restart).useful > published
    assert goodput.best(M_s, write, restart).useful < published
    assert 4 * 60 < goodput.longest_restart_s(M_s, write, published) < 6 * 60


def test_at_a_hundred_thousand_the_restart_alone_takes_a_third():
    m = M_s * 16_384 / 100_000
    assert m / HOUR_s == pytest.approx(0.51, abs=0.005)
    s = goodput.best(m, 3.0, known("restart-lablup").value)
    assert 0.29 < s.restarting < 0.33
    assert s.useful < 0.7


def test_saving_in_the_background_helps_and_is_never_shorter_than_the_flush():
    tau = checkpoints.background_s(1.0, 33.0, M_s)
    there = goodput.useful(M_s, tau, 1.0, 600.0, late_s=33.0).useful
    assert there > goodput.best(M_s, 33.0, 600.0).useful + 0.02
    assert checkpoints.background_s(1e-3, 500.0, M_s) == 500.0


def waited(between_s, repair_s, spares, n_failures, seed):
    """The share of the time that a job waits for a host, failures and repairs drawn one by one."""
    rng = np.random.default_rng(seed)
    gaps, lengths = rng.exponential(between_s, n_failures), rng.exponential(repair_s, n_failures)
    now, waits, away = 0.0, 0.0, []
    for gap, length in zip(gaps.tolist(), lengths.tolist(), strict=True):
        now += gap
        while away and away[0] <= now:
            heapq.heappop(away)
        heapq.heappush(away, now + length)
        while len(away) > spares:
            back = heapq.heappop(away)
            waits += max(0.0, back - now)
            now = max(now, back)
    return waits / now


@pytest.mark.parametrize("spares", [0, 1, 4, 8, 12])
def test_waiting_for_a_spare_is_what_draws_show(spares):
    drawn = waited(M_s, 86_400.0, spares, n_failures=40_000, seed=spares)
    assert drawn == pytest.approx(goodput.waiting(M_s, 86_400.0, spares), abs=0.012)


def test_spares_help_until_there_are_enough():
    away = [goodput.waiting(M_s, 86_400.0, n) for n in (0, 4, 8, 16, 64)]
    assert all(a > b - 1e-9 for a, b in itertools.pairwise(away))
    assert away[-1] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: checkpoints.young_s(0, 10), "save_s"),
        (lambda: checkpoints.best_s("30", 10), "save_s"),
        (lambda: checkpoints.daly_s([1, 2], [1, 2, 3]), "do not go together"),
        (lambda: goodput.useful(-1, 1, 1, 1), "between_s"),
        (lambda: goodput.useful(1, 0, 1, 1), "interval_s"),
        (lambda: goodput.waiting(10, 10, -1), "spares"),
        (lambda: goodput.simulate(0.001, 1, 1, 1), "too many"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()
