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
