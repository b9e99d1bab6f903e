"""Labels at line ends never touch, ticks are what people say, and bad rows are refused in words."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.base.scale import say_rate
from course_lib.figures import curves, graphs, rows
from course_lib.figures.base import end_labels, log_ticks, rate_axis, size_axis, time_axis, wrapped
from course_lib.figures.show import title_of


@settings(deadline=None)
@given(st.lists(st.floats(6, 12), min_size=1, max_size=6), st.booleans())
def test_end_labels_never_touch(exponents, outside):
    axis = rate_axis(1e6, 1e12)
    made = end_labels([(f"link {i}", 10**e, "pcie") for i, e in enumerate(exponents)], axis, outside=outside)
    pixels = [(a["y"] - 6) / 6 * (420 - 74 - 58) for a in made]
    assert len(made) == len(exponents)
    assert min(pixels) >= 8
    assert all(abs(a - b) >= 16.9 for a, b in itertools.combinations(pixels, 2))


def test_ticks_are_said_as_people_say_them():
    assert [t for t in size_axis(10, 1e10)["ticktext"] if t] == ["1 KB", "1 MB", "1 GB"]
    assert [t for t in time_axis(1e-7, 1)["ticktext"] if t] == ["1 µs", "1 ms", "1 s"]
    assert rate_axis(2e9, 4e9)["ticktext"] == ["2 GB/s"]
    assert log_ticks(5e9, 40e9, say_rate)[1] == ["5 GB/s", "10 GB/s", "20 GB/s"]


def test_long_titles_break_into_even_lines():
    text = "a sentence of some length that says what is seen in the picture below it, with 42 numbers"
    lines = wrapped(text, 50).split("<br>")
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 50


def test_the_ladder_is_sorted_and_says_the_ratio():
    fig = rows.ladder(["slow", "fast"], [1e9, 8e9], ["pcie", "nvlink"])
    assert title_of(fig)[0] == "The rate falls 8 ×, from fast to slow"


def test_a_curve_of_another_length_is_refused_with_both_numbers():
    with pytest.raises(CourseError, match="2 values for 3 sizes"):
        curves.rate_over_size([1, 2, 3], [curves.Curve("x", np.array([1.0, 2.0]))])
    with pytest.raises(CourseError, match=r"rows|row"):
        rows.ladder(["a"], [1e9, 2e9], ["pcie"])
    with pytest.raises(CourseError, match="can only fall"):
        rows.losses(["a", "b"], [1e9, 2e9])


def test_a_fit_of_unequal_columns_is_refused():
    with pytest.raises(CourseError, match="2, 2 and 1"):
        curves.fit_and_residuals([1, 2], [1, 2], [1])


def test_residuals_name_the_worst_row():
    fig = rows.residuals(["a", "b"], [9e9, 20e9], [10e9, 10e9], say_rate)
    assert title_of(fig)[0].startswith("b is 100 % above")


def test_a_tree_that_hangs_on_itself_is_refused():
    with pytest.raises(CourseError, match="no circles"):
        graphs.pcie_tree(["a", "b"], ["gpu", "gpu"], [1, 0], [0, 0], [0, 0], [1, 1])


def test_the_fullest_link_is_named_and_widest():
    fig = graphs.graph(
        ["s", "a", "b"], ["switch", "gpu", "gpu"], [0, -1, 1], [1, 0, 0], [1, 0], [0, 2], [1e9, 4e9], [5e9, 5e9]
    )
    assert title_of(fig)[0] == "s → b is 80 % full: 4 GB/s"
    widths = {(s.x1, s.y1): s.line.width for s in fig.layout.shapes}
    assert len(widths) == 2
    assert max(widths, key=widths.get)[1] < 0.5  # it ends at the foot


def test_an_idle_graph_says_so():
    fig = graphs.graph(["s", "a"], ["switch", "gpu"], [0, 0], [1, 0], [1], [0], [0], [5e9])
    assert title_of(fig)[0] == "Nothing flows"
