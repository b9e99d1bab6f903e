"""The all-reduce that leaves its box: bounds against a stepped schedule, digits, and what each measurement excludes."""

import math

import pytest

from course_lib.base.errors import CourseError
from course_lib.timing import acrossboxes
from course_lib.timing.closedform import time_s


def test_bounds_are_those_of_the_closed_forms():
    times = acrossboxes.least_times_s(4, 2**32)
    assert times["one card"] == pytest.approx(time_s("all_reduce", "ring", 2**32, 32, 0, 50e9))
    assert times["ring over all cards"] == pytest.approx(times["one card"] / 8)
    inside = 2 * 7 / 8 * 2**32 / 900e9
    between = times["levels one after the other"] - inside
    assert between == pytest.approx(times["levels at the same time"])
    assert [round(t * 1e3, 1) for t in times.values()] == [166.4, 20.8, 24.5, 16.1]


def test_what_each_measurement_excludes():
    four = acrossboxes.runs()["four-boxes"]
    seen = float(four.time_s[four.at(2**32)])
    out = acrossboxes.excluded(acrossboxes.least_times_s(4, 2**32), seen)
    two_s, source = acrossboxes.two_boxes()
    more = acrossboxes.excluded(acrossboxes.least_times_s(2, 2**32), two_s)
    assert set(more) - set(out) == {"ring over all cards"}
    assert set(out) <= set(more)
    assert source.startswith("https://")


@pytest.mark.parametrize(
    ("text", "low", "high"), [("0.01", 0.005, 0.015), ("1.20", 1.195, 1.205), ("12", 11.5, 12.5), ("0.00", 0, 0.005)]
)
def test_a_print_stands_for_what_rounds_to_it(text, low, high):
    assert acrossboxes.interval(text) == pytest.approx((low, high))


def test_digits_that_allow_nothing_allow_any_time():
    assert acrossboxes.time_interval_s("0.00", 32768, 32)[1] == math.inf
    assert acrossboxes.ratio_interval("1.20", "0.00")[1] == math.inf
    for bad in ("", "-1", "1e3", "fast"):
        with pytest.raises(CourseError, match="printed number"):
            acrossboxes.interval(bad)


def test_unknown_sizes_are_refused():
    with pytest.raises(CourseError, match="no size"):
        acrossboxes.runs()["one-box"].at(3)
    with pytest.raises(CourseError, match="No all-reduce"):
        acrossboxes.two_boxes(3.0)
