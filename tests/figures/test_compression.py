"""Pictures of few bits: valid, readable, described; titles follow the numbers; wrong rows are refused in words."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures import breakeven, compression, formats, narrow
from course_lib.figures.show import meta_of, title_of
from course_lib.figures.theme import contrast, themed
from course_lib.plan.precision import FORMATS

RATES = np.geomspace(1e8, 1e11, 12)


def broken_even(crossing_Bps=5e9):
    return breakeven.break_even(
        RATES, 1 + 1e9 / RATES, 1.2 + 1e8 / RATES, at_Bps=1e9, crossing_Bps=crossing_Bps,
        losses=[("FP32", 0.04), ("with error feedback", 0.03), ("without", 0.2)], name="top 1 %", title="A step of 1.3 s",
    )  # fmt: skip


MAKE = {
    "reach": lambda: formats.reach([FORMATS["bf16"], FORMATS["fp16"]], np.logspace(-9, -6, 40), what="gradients"),
    "magnitudes": lambda: formats.magnitudes(np.logspace(-9, -6, 40), [3e-8, 4e-13], ["scale 1", "scale 2¹⁶"]),
    "errors": lambda: narrow.error_over_ranks([2, 8, 32], [[0.002, 0.004, 0.008], [0.002] * 3], ["BF16", "FP32"]),
    "gains": lambda: narrow.gains(["a", "b"], [1.28, 1.0], [1.16, 1.06]),
    "losses": lambda: compression.loss_curves([[2, 1, 0.5], [2, 1.5]], ["kept", "lost"], notes=["1 KB", ""]),
    "sent": lambda: compression.sent_over_ranks([2, 64], [[4e6, 8e6], [8e4, 5e6], [1e6, 2e6]], ["dense", "top", "8 bits"]),
    "halved": lambda: compression.halved([1e3, 1e9], [[1, 2], [1, 2]], [[1, 1.1], [1, 1.2]], ["a", "b"], ["nvlink", "network"]),
    "break-even": broken_even,
}  # fmt: skip


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("name", MAKE)
def test_it_is_valid_readable_and_described(name, ground):
    with themed(ground):
        figure = MAKE[name]()
    go.Figure(figure.to_dict())
    title, subtitle = title_of(figure)
    assert re.search(r"\d", title)
    assert len(subtitle) > 10
    alt, columns, rows = meta_of(figure)
    assert re.search(r"\d", alt)
    assert rows
    assert all(len(row) == len(columns) for row in rows)
    for note in figure.layout.annotations:
        assert contrast(note.font.color, figure.layout.paper_bgcolor) >= 4.5
    assert "$" not in str(figure.layout)


def test_the_break_even_line_is_drawn_only_inside_the_range():
    assert len(broken_even().layout.shapes) == 1
    assert broken_even().layout.shapes[0].x0 == 5e9
    for outside in (0.0, np.inf, 1e7, 1e12):
        assert len(broken_even(outside).layout.shapes) == 0


def test_more_bytes_are_called_more():
    assert compression.say_times(0.39) == "2.6 × more"
    assert "2.6 × more" in title_of(compression.sent_over_ranks([2, 256], [[1, 1], [0.02, 2.6]], ["dense", "top"]))[0]


def test_lost_gradients_are_amber_and_the_others_grey():
    figure = MAKE["magnitudes"]()
    lost, kept = figure.data
    assert max(lost.x) < np.log10(3e-8) < min(kept.x)
    assert sum(lost.y) + sum(kept.y) == pytest.approx(100)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: compression.loss_curves([[1.0]], ["a", "b"]), "name"),
        (lambda: compression.loss_curves([[np.nan]], ["a"]), "a is"),
        (lambda: compression.sent_over_ranks([2], [[1.0]], ["a"]), "two names"),
        (lambda: compression.halved([1.0], [[1.0]], [[1.0, 2.0]], ["a"], ["nvlink"]), "row for each name"),
        (lambda: narrow.error_over_ranks([2], [[0.1, 0.2]], ["a"]), "shape"),
        (lambda: narrow.gains(["a"], [1.0, 2.0], [1.0]), "one entry"),
        (lambda: formats.reach([], [1.0]), "no format"),
        (lambda: formats.magnitudes([0.0], [1.0], ["a"]), "more than 0"),
    ],
)
def test_wrong_rows_are_refused_in_words(make, words):
    with pytest.raises(CourseError, match=words):
        make()
