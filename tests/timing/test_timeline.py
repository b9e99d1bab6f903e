"""Timelines: repeat by repeat they add up to the stepped time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm import halving, innetwork, ring, tree
from course_lib.comm.schedule import Schedule
from course_lib.fabric.scaleup import simple_host
from course_lib.timing.stepped import stepped
from course_lib.timing.timeline import timeline

HOST = simple_host("switch", 8, 100e9, 2e-6)
EVERY = [ring.all_reduce(8), tree.all_reduce(7), halving.all_reduce(6), innetwork.nvls_all_reduce(8), tree.broadcast(5)]


@given(st.sampled_from(EVERY), st.floats(0, 1e12))
def test_steps_follow_one_another_and_add_up_to_the_stepped_time(schedule, message_B):
    timing = stepped(schedule, HOST)
    line = timeline(timing, message_B)
    assert len(line.start_s) == len(line.link) == schedule.repeats
    assert line.start_s[0] == pytest.approx(0, abs=1e-12 * line.time_s)
    assert line.start_s[1:] == pytest.approx(line.end_s[:-1])
    assert line.time_s == pytest.approx(timing.time_s(message_B), rel=1e-9)


def test_each_repeat_has_its_own_link_where_the_fullest_one_changes():
    two = Schedule.from_transfers("broadcast", 3, 1, [[(0, 1, 0, "copy")], [(1, 2, 0, "copy")]])
    line = timeline(stepped(two, HOST), 1e9)
    assert line.link[0] != line.link[1]


def test_nothing_moves_on_one_rank():
    line = timeline(stepped(ring.all_reduce(1), HOST), 1e9)
    assert (line.time_s, line.start_s.size) == (0.0, 0)


@pytest.mark.parametrize("size", [-1, float("nan"), np.array([1.0, 2.0])])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(CourseError):
        timeline(stepped(ring.all_reduce(4), HOST), size)
