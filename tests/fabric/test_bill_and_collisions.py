"""The bill of a network against reference designs and plain counting; collisions against draws and enumeration."""

import itertools

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.fabric import bill, collisions, sharing


def test_published_designs_are_met_in_every_count():
    found = bill.published()
    assert len(found) >= 5
    assert all(p.agrees for p in found)


@pytest.mark.parametrize("n", [256, 512, 1024, 4096, 16384])
def test_a_full_network_has_as_many_cables_on_every_level(n):
    made = bill.bill(n)
    assert made.n_cables == n * made.levels
    assert made.n_switches * 64 >= 2 * made.n_cables - n


def test_a_higher_ratio_never_needs_more():
    switches = [bill.bill(8192, oversubscription=r).n_switches for r in (1, 2, 3, 7)]
    cables = [bill.bill(8192, oversubscription=r).n_cables for r in (1, 2, 3, 7)]
    assert switches == sorted(switches, reverse=True)
    assert cables == sorted(cables, reverse=True)


@pytest.mark.parametrize(("k", "m"), [(1, 1), (1, 5), (3, 2), (4, 3), (6, 4)])
def test_chances_are_those_of_all_ways_counted(k, m):
    counted = np.zeros(k + 1)
    for picks in itertools.product(range(m), repeat=k):
        counted[np.bincount(picks).max()] += 1
    assert collisions.fullest_chances(k, m) == pytest.approx(counted / m**k, abs=1e-12)


@pytest.mark.parametrize(("k", "m"), [(32, 32), (64, 16), (200, 64)])
def test_means_are_those_of_draws(k, m):
    drawn = sharing.fullest_of_hashed(k, m, trials=20_000)
    assert collisions.fullest_mean(k, m) == pytest.approx(drawn.mean(), rel=0.01)
    even = max(1.0, k / m)
    assert collisions.slowest_share(k, m) == pytest.approx((even / drawn).mean(), rel=0.02)


def test_too_many_flows_and_none_have_an_answer():
    with pytest.raises(CourseError, match="at most 512"):
        collisions.fullest_chances(600, 8)
    assert collisions.fullest_mean(0, 8) == 0
    assert collisions.fullest_mean(5, 1) == 5
