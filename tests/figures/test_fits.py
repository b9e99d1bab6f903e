"""The lesson's own figures: a fixed number of traces, axes that hold every point, sentences that follow the numbers."""

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures.fits import Fitted, dragged_line, rates_with_lines
from course_lib.figures.latency import latencies, latency_bands, split_message
from course_lib.figures.theme import themed

SIZES = np.logspace(1, 8, 15)
TIMES = 2e-6 + SIZES / 1e10


def a_drag(factor=1.0):
    return dragged_line(SIZES, TIMES * factor, TIMES, SIZES, TIMES, TIMES, half=(2e4, 4e-6), role="pcie", name="a copy")


def a_series(name, role, half_B):
    return Fitted(name, role, SIZES, SIZES / TIMES, SIZES / TIMES, half_B)


def all_figures():
    counts = np.array([1, 10, 100])
    return [
        a_drag(),
        dragged_line(SIZES, TIMES, TIMES, SIZES, TIMES, TIMES),
        rates_with_lines([a_series("a", "pcie", 2e4), a_series("b", "nvlink", 1e12)]),
        latency_bands(SIZES, 2e-6 / TIMES, 2e4, 2e3, 2e5, role="pcie", name="a link"),
        latencies(["a", "b"], [1e-6, 1e-5], ["pcie", "model"]),
        split_message(counts, counts * 2e-6 + 1e-6, counts * 2e-6, 1e-6 + 0 * counts, at_count=10, total_B=1e6),
    ]


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_plotly_accepts_every_figure_and_each_has_words_and_a_table(ground):
    with themed(ground):
        for figure in all_figures():
            go.Figure(figure.to_dict())
            meta = figure.layout.meta
            assert meta["alt"].endswith(".")
            assert {len(row) for row in meta["table"]["rows"]} == {len(meta["table"]["columns"])}
            assert "nan" not in str(meta).lower()


@pytest.mark.parametrize("factor", [1.0, 1.03, 1.3, 3, 50, 1e5, 1e12, 0.9, 0.01, 1e-12])
def test_no_residual_lies_outside_its_axis(factor):
    figure = a_drag(factor)
    low, high = figure.layout.yaxis2.range
    assert low < np.log10(factor) < high or factor == 1.0
    assert min(figure.layout.yaxis2.tickvals) >= 10**low
    assert max(figure.layout.yaxis2.tickvals) <= 10**high


def test_the_title_names_the_worst_point_whichever_side_it_is_on():
    bent = TIMES.copy()
    bent[3] *= 0.4
    bent[9] *= 2.2
    title = dragged_line(SIZES, bent, TIMES, SIZES, TIMES, TIMES).layout.title.text.replace("<br>", " ")
    assert "1/2.5 of the line" in title


def test_a_series_is_drawn_only_where_it_was_measured():
    figure = rates_with_lines([Fitted("a", "pcie", SIZES[:4], SIZES[:4] / TIMES[:4], SIZES[:4] / TIMES[:4], 2e4)])
    assert max(figure.data[0].x) == SIZES[3]
    assert len(figure.data[-1].x) == 0, "the half-size was not measured, so it has no ring"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dragged_line([1, 2], [1, 2], [1], [1], [1], [1]),
        lambda: dragged_line([1, 2], [1, float("nan")], [1, 2], [1], [1], [1]),
        lambda: dragged_line([1, 2], [1, 2], [1, 0], [1], [1], [1]),
        lambda: rates_with_lines([]),
        lambda: latencies(["a"], [1e-6, 2e-6], ["pcie"]),
        lambda: latencies(["a"], [0], ["pcie"]),
        lambda: split_message([1, 2], [1, 2], [1, 2], [1], at_count=1, total_B=1),
    ],
)
def test_columns_that_do_not_fit_are_refused_in_words(wrong):
    with pytest.raises(CourseError):
        wrong()
