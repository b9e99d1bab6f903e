"""Racks: every GPU has one seat, reach is symmetric, losses take whole units, and two racks lie in the range of what was measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.rack import REACH, Job, after_loss, reach, seat
from course_lib.plan.rackruns import between, measured
from course_lib.timing.system import load


@pytest.mark.parametrize("system", ["gb200-nvl72", "dgx-b200", "alps"])
def test_every_gpu_has_a_seat_of_its_own(system):
    place = load(system)
    seats = [seat(g, system) for g in range(2 * place.gpus_per_domain)]
    assert len({(s.host, s.local) for s in seats}) == len(seats)
    assert len({s.domain for s in seats}) == 2
    for domain in (0, 1):
        mine = [s for s in seats if s.domain == domain]
        assert len({s.tray for s in mine}) == place.hosts_per_domain


def test_seventy_two_gpus_are_eighteen_hosts_and_one_domain():
    seats = [seat(g) for g in range(72)]
    assert len({s.host for s in seats}) == 18
    assert {s.domain for s in seats} == {0}
    assert seat(72).domain == 1


@given(st.integers(0, 300), st.integers(0, 300))
def test_reach_is_the_same_both_ways(a, b):
    assert reach(a, b) == reach(b, a)
    assert reach(a, b) in REACH
    assert (reach(a, b, "dgx-b200") == "same domain") is False


@given(st.integers(1, 72), st.integers(1, 72), st.sets(st.integers(0, 17), max_size=18))
def test_only_whole_units_are_used_and_no_lost_gpu(n, unit, hosts):
    unit = min(unit, n)
    after = after_loss([Job("it", tuple(range(n)), unit)], sorted(hosts))[0]
    alive = [g for g in range(n) if g // 4 not in hosts]
    assert after.used % unit == 0
    assert after.used + after.spare == len(alive)
    assert after.spare < unit
    assert after.lost == n - len(alive)


def test_a_tray_takes_one_copy_of_seventy_two_and_leaves_one_of_sixty_four():
    whole, most = (after_loss([Job("it", tuple(range(72)), u)], [3])[0] for u in (72, 64))
    assert (whole.outcome, whole.used) == ("stops", 0)
    assert (most.outcome, most.used) == ("restarts", 64)
    assert after_loss([Job("it", tuple(range(72)), 8)], [3])[0].outcome == "shrinks"
    boxes = after_loss([Job("it", tuple(range(72)), 8)], [0], "dgx-b200")[0]
    assert (boxes.outcome, boxes.used) == ("shrinks", 64)


def test_bad_input_gets_a_sentence():
    with pytest.raises(CourseError, match="twice"):
        Job("it", (1, 1), 1)
    with pytest.raises(CourseError, match="one unit"):
        Job("it", (1,), 2)
    with pytest.raises(CourseError, match="another job"):
        after_loss([Job("a", (1, 2), 1), Job("b", (2, 3), 1)], [0])
    with pytest.raises(CourseError, match="gpu"):
        seat(-1)
    with pytest.raises(CourseError, match="measured"):
        between(2, 1e3)


def test_the_misses_are_those_of_the_accuracy_page():
    one, twenty = measured()
    assert np.median(np.abs(one.residual)) == pytest.approx(0.14, abs=0.02)
    assert twenty.residual[0] < -0.5
    assert abs(twenty.residual[-1]) < 0.12


def test_two_racks_lie_in_a_range_between_one_and_twenty():
    found = between(2)
    assert (found.low_s <= found.time_s).all()
    assert (found.time_s <= found.high_s).all()
    one, twenty = (between(k) for k in (1, 20))
    assert (one.time_s < found.time_s).all()
    assert (found.time_s < twenty.time_s).all()
    # the range of what was measured holds the measurement
    assert (measured()[0].measured_s <= one.high_s * 1.0001).all()
