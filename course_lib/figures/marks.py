"""Marks: lines, points, rings and notes in the colours of the theme, and labels at line ends that never touch."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.language import punctuated
from course_lib.figures.axes import at
from course_lib.figures.theme import DASH, HEIGHT, MARGIN, SYMBOL, color, contrast, ink, theme

OUTSIDE = 92  # right margin for labels outside the plot


def line(
    x, y, *, role: str = "model", name: str = "", dash: str | None = None, width: float = 2.5, hover: str = "", **more
) -> dict:
    """Return a line trace in the colour of `role`; `hover` is a Plotly hovertemplate.

    >>> line([1, 2], [3, 4], role="limit")["line"]["dash"]
    'dash'
    """
    style = {"color": color(role), "width": width, "dash": dash or DASH.get(role, "solid")}
    tip = {"hovertemplate": hover + "<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x),
        "y": np.asarray(y),
        "name": name,
        "line": style,
        **tip,
        **more,
    }


def _pale(role: str) -> bool:
    """Whether a colour stands out too little, as amber on white: an edge in its ink makes up for it."""
    return contrast(color(role), theme().ground) < 3


def points(
    x,
    y,
    *,
    role: str = "measured",
    name: str = "",
    size: float = 8,
    symbol: str | None = None,
    hover: str = "",
    low=None,
    high=None,
    **more,
) -> dict:
    """Return a trace of points; `low` and `high` (same length as `y`) draw their spread as bars.

    >>> points([1], [2], low=[1], high=[3])["error_y"]["array"].tolist()
    [1.0]
    """
    marker = {
        "color": color(role),
        "size": size,
        "symbol": symbol or SYMBOL.get(role, "circle"),
        "line": {"width": 1, "color": ink(role)} if _pale(role) else {"width": 0.5, "color": theme().ground},
    }
    tip = {"hovertemplate": hover + "<extra></extra>"} if hover else {"hoverinfo": "skip"}
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": np.asarray(x),
        "y": np.asarray(y),
        "name": name,
        "marker": marker,
        **tip,
        **more,
    }
    if low is not None and high is not None:
        y_values = np.asarray(y, dtype=float)
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": np.asarray(high, dtype=float) - y_values,
            "arrayminus": y_values - np.asarray(low, dtype=float),
            "color": color(role),
            "thickness": 1.5,
            "width": 4,
        }
    return trace


def ring(x, y, *, role: str = "model", size: float = 12, hover: str = "", **more) -> dict:
    """Return a trace of open rings that mark a place on a line, such as the half-size.

    >>> ring([1], [2])["marker"]["symbol"]
    'circle'
    """
    trace = points(x, y, role=role, size=size, symbol="circle", hover=hover, **more)
    edge = ink(role) if _pale(role) else color(role)
    trace["marker"] |= {"color": theme().ground, "line": {"width": 2.5, "color": edge}}
    return trace


def end_labels(
    labels: Sequence[tuple[str, float, str]],
    yaxis: dict,
    *,
    outside: bool = False,
    height: int = HEIGHT,
    top: float = 74,
    gap_px: float = 17,
) -> list[dict]:
    """Return annotations (text, y at the right end, role) at the ends of lines, none on another.

    Inside the plot (for lines that end flat) each stands above its line where there is room, else below. With `outside` (for lines
    that end steeply) they stand in the right margin, which has to be wide enough: `margin={"r": OUTSIDE}`; <br> breaks them.

    >>> from course_lib.figures.axes import rate_axis
    >>> [a["text"] for a in end_labels([("NVLink 4", 4e11, "nvlink")], rate_axis(1e6, 1e12))]
    ['NVLink 4']
    """
    low, high = yaxis["range"]
    plot_px = float(max(height - top - MARGIN["b"], 50))
    known = [(text, y, role) for text, y, role in labels if y is not None and (y > 0 or yaxis["type"] != "log")]
    ends = sorted(
        (((at(yaxis, y) - low) / (high - low) * plot_px, text, role) for text, y, role in known),
        reverse=True,
        key=lambda end: end[0],
    )
    lines_px = [min(max(end[0], 0.0), plot_px) for end in ends]
    tall = [gap_px * (text.count("<br>") + 1) for _px, text, _role in ends]
    places = _spread(lines_px, tall) if outside else _beside(lines_px, tall, plot_px)
    side = (
        {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 5, "align": "left"}
        if outside
        else {"x": 0.995, "xref": "paper", "xanchor": "right", "align": "right"}
    )
    return [
        note(text, role=role, y=low + px / plot_px * (high - low), yref="y", **side)
        for px, (_px, text, role) in zip(places, ends)
    ]


def _spread(wanted: Sequence[float], tall: Sequence[float]) -> list[float]:
    """Return places near the wanted ones (falling), so that labels of these heights do not touch: pushed down, then up from the floor."""
    places = list(wanted)
    for i in range(1, len(places)):
        places[i] = min(places[i], places[i - 1] - (tall[i] + tall[i - 1]) / 2)
    if places and places[-1] < tall[-1] / 2:
        places[-1] = tall[-1] / 2
        for i in range(len(places) - 2, -1, -1):
            places[i] = max(places[i], places[i + 1] + (tall[i] + tall[i + 1]) / 2)
    return places


def _beside(lines_px: Sequence[float], tall: Sequence[float], plot_px: float) -> list[float]:
    """Return places above each line or below it, off every other label and off the ends of the other lines where that can be."""
    placed: list[float] = []
    for i, line_px in enumerate(lines_px):
        others = [px for j, px in enumerate(lines_px) if j != i]
        near = tall[i] / 2 + 2.5
        tries = [line_px + sign * (near + 4 * k) for k in range(int(plot_px // 4) + 1) for sign in (1, -1)]
        inside = [
            t
            for t in tries
            if tall[i] / 2 <= t <= plot_px + 6
            and all(abs(t - p) >= (tall[i] + tall[j]) / 2 for j, p in enumerate(placed))
        ]
        clear = [
            t for t in inside if abs(t - line_px) <= near + 30 and all(abs(t - px) >= tall[i] / 2 for px in others)
        ]
        placed.append((clear or inside or [line_px])[0])
    return placed


def limit_line(*, x: float | None = None, y: float | None = None, width: float = 1.5, **more) -> dict:
    """Return a dashed grey line through the whole plot, upright at `x` or level at `y` as the axis counts; `more` is Plotly's xref, yref.

    >>> limit_line(y=80)["y0"], limit_line(x=2)["yref"]
    (80, 'paper')
    """
    ends = {"xref": "x", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    if x is None:
        ends = {"xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": y, "y1": y}
    return {"type": "line", **ends, "line": {"color": color("limit"), "width": width, "dash": "dash"}, **more}


def note(text: str, *, role: str = "", color: str | None = None, **place) -> dict:
    """Return an annotation: text on the ground's colour in the ink of `role` (or in `color`); `place` is Plotly's x, y and so on.

    >>> note("limit", x=1, y=2)["showarrow"]
    False
    """
    shade = color or (ink(role) if role else ink())
    look = {
        "showarrow": False,
        "font": {"size": 13, "color": shade},
        "bgcolor": theme().ground,
        "borderpad": 1,
        "yanchor": "middle",
    }
    return {"text": punctuated(text), **look, **place}


def limit_name(text: str, y: float, *, yref: str = "y", yshift: float = 11) -> dict:
    """Return the name of a level `limit_line`: at its right end, above it, or below with a negative `yshift`.

    >>> limit_name("capacity", 80)["y"]
    80
    """
    return note(text, role="limit", x=1, xref="paper", xanchor="right", y=y, yref=yref, yshift=yshift)


def add_end_label(figure: go.Figure, text: str, y: float, role: str = "", *, x: float | None = None) -> go.Figure:
    """Add one label at the right end of a line (`y` as on the axis) of a figure that exists, or at `x`; returns the figure.

    >>> from course_lib.figures.base import base_figure, describe, linear_axis
    >>> fig = base_figure([], title="t", xaxis=linear_axis("x", 0, 1), yaxis=linear_axis("y", 0, 1), meta=describe("", [], []))
    >>> len(add_end_label(fig, "limit", 0.5, "limit").layout.annotations)
    1
    """
    yaxis, xaxis = figure.layout.yaxis, figure.layout.xaxis
    place = (
        {"x": 0.995, "xref": "paper"} if x is None else {"x": math.log10(x) if xaxis.type == "log" else x, "xref": "x"}
    )
    label = note(
        text,
        role=role,
        xanchor="right",
        y=math.log10(y) if yaxis.type == "log" else y,
        yref="y",
        yshift=11,
        **place,
    )
    figure.layout.annotations = (*figure.layout.annotations, label)
    return figure
