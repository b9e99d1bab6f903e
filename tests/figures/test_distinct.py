"""No two series of a figure are told apart by colour alone, for any eyes and in grey print; what matters stands out from the ground."""

import plotly.graph_objects as go
import pytest

from course_lib.figures.theme import LIGHT, themed

from . import sight
from .gallery import EVERY

GROUNDS = ("light", "dark")


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("make", EVERY, ids=lambda f: f.__name__)
def test_any_two_series_differ_by_more_than_colour(make, ground):
    with themed(ground):
        assert sight.alike(make()) == []


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("make", EVERY, ids=lambda f: f.__name__)
def test_lines_and_points_stand_out_from_the_ground(make, ground):
    with themed(ground):
        assert sight.pale(make()) == []


def drawn(*lines):
    return go.Figure(
        {"data": [{"type": "scatter", "mode": "lines", "x": [1], "y": [1], "line": look} for look in lines]}
    )


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        ({"color": "#D55E00"}, {"color": "#009E73"}, True),
        ({"color": "#D55E00"}, {"color": "#009E73", "dash": "dot"}, False),
        ({"color": "#D55E00", "width": 1}, {"color": "#009E73", "width": 4}, False),
        ({"color": "#D55E00"}, {"color": "#D55E00"}, False),
    ],
)
def test_two_lines_of_two_colours_need_a_second_difference(one, other, wrong):
    with themed("light"):
        assert bool(sight.alike(drawn(one, other))) is wrong


def test_amber_on_white_is_pale_unless_a_label_says_its_name():
    with themed("light"):
        figure = drawn({"color": LIGHT.marks["attention"]})
        assert sight.pale(figure)
        figure.add_annotation(text="here", font={"color": LIGHT.inks["attention"]})
        assert sight.pale(figure) == []


def test_red_and_green_of_one_lightness_are_near_for_some_eyes():
    assert sight.distance("#A05000", "#6F7500", "deutan") < sight.FAR < sight.distance("#0072B2", "#D55E00", "deutan")
