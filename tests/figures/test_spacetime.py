"""Space and time: cells say what the trace holds, whatever the schedule; numbers are readable on their cell."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm import direct, innetwork, ring, tree
from course_lib.comm.schedule import Schedule
from course_lib.comm.trace import trace
from course_lib.fabric.scaleup import simple_host
from course_lib.figures.show import meta_of
from course_lib.figures.spacetime import spacetime
from course_lib.figures.stepbars import in_time
from course_lib.figures.theme import contrast, themed
from course_lib.timing.stepped import stepped
from course_lib.timing.timeline import timeline

SEVERAL = [
    ring.all_reduce(8),
    tree.all_reduce(5),
    direct.all_to_all(3),
    innetwork.nvls_all_reduce(4),
    ring.all_gather(2),
]


@pytest.mark.parametrize("schedule", SEVERAL, ids=lambda s: f"{s.op}-{s.name}")
def test_every_frame_shows_the_parts_of_the_trace(schedule):
    seen = trace(schedule)
    for frame in range(seen.frames):
        fig = spacetime(seen, frame)
        written = {(x, y): t for text in fig.data[1:3] for x, y, t in zip(text.x, text.y, text.text)}
        filled = {(c, r) for r, c in np.argwhere(seen.parts[frame] > 0).tolist()}
        assert set(written) == filled
        if seen.full > 1:
            assert all(int(t) == seen.parts[frame, r, c] for (c, r), t in written.items())
        framed = np.count_nonzero(np.isnan(fig.data[5].x))
        assert framed == seen.arrived[frame].sum()
        assert len(fig.data) == 8


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_hold_four_and_a_half_to_one_on_their_cell(name):
    twice = Schedule.from_transfers("reduce", 2, 1, [[(1, 0, 0, "add")], [(1, 0, 0, "add")]])
    with themed(name):
        for seen in (trace(ring.all_reduce(8)), trace(twice)):
            for frame in range(seen.frames):
                fig = spacetime(seen, frame)
                shades = [shade for _edge, shade in fig.data[0].colorscale[::2]]
                for text in fig.data[1:3]:
                    for x, y in zip(text.x, text.y):
                        shade = shades[int(fig.data[0].z[y][x])]
                        assert contrast(text.textfont.color, shade) >= 4.5


def test_all_to_all_names_whose_chunk_it_is():
    fig = spacetime(trace(direct.all_to_all(3)), 1)
    _alt, columns, rows = meta_of(fig)
    assert columns[0] == "rank"
    assert rows[2][1:] == ["", "", "0", "", "", "1", "2", "2", "2"]


def test_the_table_and_the_words_hold_what_moved():
    alt, _columns, rows = meta_of(spacetime(trace(ring.all_reduce(8)), 5))
    assert "7 to 0 chunk 2" in alt
    assert rows[0] == ["0", "1", "1", "6", "5", "4", "3", "2", "1"]


def test_frames_that_are_none_and_pictures_that_are_too_fine_are_refused():
    with pytest.raises(CourseError, match="frame is 15"):
        spacetime(trace(ring.all_reduce(8)), 15)
    with pytest.raises(CourseError, match="too fine"):
        spacetime(trace(direct.all_to_all(12)), 0)


def test_a_timeline_of_another_schedule_is_refused():
    other = timeline(stepped(ring.all_reduce(2), simple_host("switch", 8, 1e9, 1e-6)), 8)
    with pytest.raises(CourseError, match="not of one schedule"):
        spacetime(trace(ring.all_reduce(8)), 0, other)


def test_passed_steps_are_strong_and_coming_ones_pale():
    schedule = ring.all_reduce(8)
    timed = timeline(stepped(schedule, simple_host("switch", 8, 1e9, 1e-6)), 1e6)
    fig = spacetime(trace(schedule), 5, timed)
    assert len(set(fig.data[7].marker.color[:5])) == len(set(fig.data[7].marker.color[5:])) == 1
    assert fig.data[7].marker.color[4] != fig.data[7].marker.color[5]


def test_time_that_is_none_and_names_that_do_not_fit_are_refused():
    nothing = timeline(stepped(ring.all_reduce(1), simple_host("switch", 8, 1e9, 1e-6)), 8)
    with pytest.raises(CourseError, match="Nothing moves"):
        in_time(["alone"], [nothing])
    with pytest.raises(CourseError, match="One name per timeline"):
        in_time(["a", "b"], [nothing])
