"""What travels to the page: strict JSON, the whole picture, and no change to the figure itself."""

import json

import numpy as np
import plotly.graph_objects as go

from course_lib.figures.show import spec


def test_a_picture_travels_as_strict_json_and_loses_nothing():
    fig = go.Figure(go.Scatter(x=np.arange(3), y=np.array([1.5, np.nan, np.inf]), customdata=[np.float64(2.0), (1, 2)]))
    plain = json.loads(json.dumps(spec(fig), allow_nan=False))
    assert plain["data"][0]["x"] == [0, 1, 2]
    assert plain["data"][0]["y"] == [1.5, None, None]
    assert plain["data"][0]["customdata"] == [2.0, [1, 2]]


def test_sending_a_picture_leaves_the_figure_as_it_was():
    fig = go.Figure(go.Bar(y=np.arange(3)), layout={"title": {"text": "t"}, "margin": {"t": 80}, "height": 300})
    before = str(fig.to_plotly_json())
    sent = spec(fig, titled=False)
    sent["layout"]["margin"]["t"] = 1
    sent["data"][0]["y"].append(4)
    assert str(fig.to_plotly_json()) == before


def test_every_kind_of_array_travels_value_by_value():
    """Long arrays are looked at as a whole; what is in them has to arrive all the same."""
    odd = [1.5, np.nan, -np.inf, np.float32(2.0), np.int64(3), True, None, "a"]
    arrays = {
        "x": np.array([[1.0, 2.0], [np.nan, 4.0]]),
        "y": np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32),
        "text": np.array(["F0", "B0"]),
        "ids": np.array([True, False]),
        "customdata": np.array(odd, dtype=object),
        "hovertext": odd,
    }
    trace = spec(go.Figure({"data": [{"type": "bar", **arrays}]}, _validate=False))["data"][0]
    assert trace["x"] == [[1.0, 2.0], [None, 4.0]]
    assert trace["y"] == [[1.0, 2.0], [3.0, 4.0]]
    assert trace["text"] == ["F0", "B0"]
    assert trace["ids"] == [True, False]
    assert trace["customdata"] == trace["hovertext"] == [1.5, None, None, 2.0, 3, True, None, "a"]
    json.dumps(trace, allow_nan=False)
