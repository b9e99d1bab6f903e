"""Base of every figure: ground, title, axes with human ticks, labels at line ends, and the description that goes with it.

Recipe for a new figure function (results in, a `go.Figure` out, always the same number of traces):

    from course_lib.figures.base import base_figure, describe, end_labels, line, points, rate_axis, size_axis

    def rate_over_size(message_B, rate_Bps, names):
        return base_figure(
            [line(message_B, rate, role="nvlink", name=name) for name, rate in zip(names, rate_Bps)],
            title=_("Below {size} latency sets the rate").format(size=say_bytes(half_B)),
            subtitle=_("rings mark the half-size"),
            xaxis=size_axis(10, 1e10),
            yaxis=rate_axis(1e6, 1e12),
            annotations=end_labels([(text, y, "nvlink"), …], yaxis),
            meta=describe(alt, columns, rows),
        )

Figures are built from plain dicts without Plotly's validation (ten times faster, so that sliders stay smooth); the tests
validate one of each. Positions on a log axis (annotations, shapes) are log10 of the value: `at(axis, value)` does it.
Helpers for pictures without axes: `blank_axis`. Text that may be long: Plotly does not wrap, `wrapped` does.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.figures.theme import CONFIG, DASH, FONT, HEIGHT, MARGIN, SYMBOL, color, ink, theme

__all__ = [
    "CONFIG", "OUTSIDE", "add_end_label", "at", "base_figure", "blank_axis", "count_axis", "describe", "end_labels", "line", "linear_axis",
    "log_axis", "log_ticks", "note", "points", "rate_axis", "ring", "set_title", "size_axis", "time_axis", "wrapped",
]  # fmt: skip

TITLE_PX, SUBTITLE_PX = 17, 13
OUTSIDE = 92  # right margin for labels outside the plot
_TITLE_CHARS, _SUBTITLE_CHARS = 62, 88


def wrapped(text: str, characters: int = _TITLE_CHARS) -> str:
    """Return `text` broken into lines of at most `characters`, joined with <br>, the lines of about equal length.

    >>> wrapped("one two three four", 10)
    'one two<br>three four'
    """
    words, n_lines = text.split(), max(1, math.ceil(len(text) / characters))
    width = min(characters, math.ceil(len(text) / n_lines) + max((len(w) for w in words), default=0) // 2)
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "<br>".join(lines)


def describe(alt: str, columns: Sequence[str], rows: Iterable[Sequence]) -> dict:
    """Return the `meta` of a figure: `alt` says in words and numbers what the picture shows, the table holds the numbers.

    >>> describe("one bar of 450 GB/s", ["link", "rate"], [("NVLink 4", "450 GB/s")])["table"]["rows"]
    [['NVLink 4', '450 GB/s']]
    """
    plain = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows]
    return {"alt": alt, "table": {"columns": list(columns), "rows": plain}}


def base_figure(
    data: Sequence[dict],
    *,
    title: str,
    subtitle: str = "",
    xaxis: dict,
    yaxis: dict,
    meta: dict,
    annotations: Sequence[dict] = (),
    shapes: Sequence[dict] = (),
    height: int = HEIGHT,
    margin: dict | None = None,
    revision: str = "interconnect",
    **layout,
) -> go.Figure:
    """Return a figure in the course's theme from traces (dicts), two axes (dicts of this module) and `describe(…)`.

    `title` is a sentence with a number, `subtitle` says how to read the picture. `revision` is Plotly's uirevision: the reader's
    zoom survives a redraw as long as it stays the same. Further keyword arguments go into the layout.

    >>> fig = base_figure([line([1, 2], [3, 4])], title="Two points", xaxis=linear_axis("x"), yaxis=linear_axis("y"),
    ...                   meta=describe("a line", ["x"], [[1]]))
    >>> fig.layout.title.text, len(fig.data)
    ('Two points', 1)
    """
    now = theme()
    whole = {
        "template": {},
        "paper_bgcolor": now.ground,
        "plot_bgcolor": now.ground,
        "font": {"family": FONT, "color": now.ink, "size": 13},
        "height": height,
        "autosize": True,
        "margin": {**MARGIN, **(margin or {})},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": now.panel,
            "bordercolor": now.axis,
            "font": {"family": FONT, "color": now.ink, "size": 13},
        },
        "uirevision": revision,
        "dragmode": False,
        "xaxis": xaxis,
        "yaxis": yaxis,
        "annotations": list(annotations),
        "shapes": list(shapes),
        "meta": meta,
        **layout,
    }
    figure = go.Figure({"data": list(data), "layout": whole}, _validate=False)
    return set_title(figure, title, subtitle)


def set_title(figure: go.Figure, title: str, subtitle: str = "") -> go.Figure:
    """Set the sentence over the figure and the line under it; the top margin makes room for them.

    >>> set_title(go.Figure(), "Latency sets the rate", "how to read").layout.title.subtitle.text
    'how to read'
    """
    now = theme()
    head, sub = wrapped(title), wrapped(subtitle, _SUBTITLE_CHARS) if subtitle else ""
    n_head, n_sub = head.count("<br>") + 1, sub.count("<br>") + 1 if sub else 0
    figure.layout.title = {
        "text": head,
        "font": {"family": FONT, "size": TITLE_PX, "color": now.ink},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"l": 12, "t": 14},
        "subtitle": {"text": sub, "font": {"family": FONT, "size": SUBTITLE_PX, "color": now.muted}},
    }
    figure.layout.margin.t = MARGIN["t"] + 8 + 23 * n_head + 19 * n_sub
    return figure


# Axes


def _axis(title: str, **more) -> dict:
    now = theme()
    return {
        "title": {"text": title, "font": {"size": 13, "color": now.muted}, "standoff": 10},
        "tickfont": {"size": 12, "color": now.muted},
        "gridcolor": now.grid,
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": False,
        "ticklabelstandoff": 4,
        "tickangle": 0,
        **more,
    }


def log_ticks(low: float, high: float, say: Callable[[float], str], at_most: int = 7) -> tuple[list[float], list[str]]:
    """Return a tick at every power of ten within [low, high], and texts: every one, or every thousand where they are more than `at_most`.

    >>> log_ticks(10, 1e7, say_bytes, 3)
    ([10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0, 10000000.0], ['', '', '1 KB', '', '', '1 MB', ''])
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = range(first, last + 1)
    stride = next((s for s in (1, 3, 6) if len(decades) <= at_most * s), 9)
    values = [10.0**k for k in decades]
    if len(values) < 2:  # less than a decade or two: steps of 1, 2, 5
        values = [
            m * 10.0**k
            for k in range(first - 1, last + 1)
            for m in (1, 2, 5)
            if low <= m * 10.0**k * (1 + 1e-9) <= high * (1 + 2e-9)
        ]
        return values, [say(v) for v in values]
    return values, [say(v) if k % stride == 0 else "" for k, v in zip(decades, values)]


def log_axis(title: str, low: float, high: float, say: Callable[[float], str], at_most: int = 7, **more) -> dict:
    """Return a log axis from `low` to `high` (above zero) whose ticks are said by `say`.

    >>> log_axis("size", 1, 1000, say_bytes)["ticktext"]
    ['1 B', '10 B', '100 B', '1 KB']
    """
    values, texts = log_ticks(low, high, say, at_most)
    ends = [math.log10(low), math.log10(high)]
    return _axis(title, type="log", range=ends, tickvals=values, ticktext=texts, **more)


def size_axis(low_B: float = 1, high_B: float = 1e10, title: str | None = None, **more) -> dict:
    """Return a log axis of message sizes in bytes (1 KB, 1 MB, 1 GB).

    >>> size_axis(1e3, 1e9)["title"]["text"]
    'message size (bytes)'
    """
    return log_axis(_("message size (bytes)") if title is None else title, low_B, high_B, say_bytes, 4, **more)


def rate_axis(low_Bps: float = 1e6, high_Bps: float = 1e12, title: str | None = None, **more) -> dict:
    """Return a log axis of rates in bytes per second, one direction (1 MB/s, 1 GB/s).

    >>> rate_axis(1e9, 1e12)["ticktext"]
    ['1 GB/s', '10 GB/s', '100 GB/s', '1 TB/s']
    """
    name = _("rate, one direction (bytes/s)") if title is None else title
    return log_axis(name, low_Bps, high_Bps, say_rate, 7, **more)


def say_tick_time(time_s: float) -> str:
    """Return a power of ten of seconds as a tick: µs, ms and s, never minutes.

    >>> say_tick_time(1e-4), say_tick_time(100.0)
    ('100 µs', '100 s')
    """
    return say_time(time_s) if time_s < 1 else f"{say_number(time_s)} s"


def time_axis(low_s: float = 1e-6, high_s: float = 1.0, title: str | None = None, **more) -> dict:
    """Return a log axis of times in seconds (1 µs, 1 ms, 1 s).

    >>> time_axis(1e-6, 1e-3)["ticktext"]
    ['1 µs', '10 µs', '100 µs', '1 ms']
    """
    return log_axis(_("time (seconds)") if title is None else title, low_s, high_s, say_tick_time, 7, **more)


def count_axis(low: float, high: float, title: str, counts: Sequence[int] = (), **more) -> dict:
    """Return a log axis of counts such as ranks; `counts` are the ticks, else powers of ten.

    >>> count_axis(2, 1000, "GPUs", (2, 8, 72))["ticktext"]
    ['2', '8', '72']
    """
    axis = log_axis(title, low, high, say_number, **more)
    return axis | ({"tickvals": list(counts), "ticktext": [say_number(c) for c in counts]} if len(counts) else {})


def linear_axis(title: str, low: float | None = None, high: float | None = None, **more) -> dict:
    """Return a linear axis; without bounds Plotly chooses them.

    >>> linear_axis("step", 0, 7)["range"]
    [0, 7]
    """
    ends = {} if low is None or high is None else {"range": [low, high]}
    return _axis(title, type="linear", **ends, **more)


def blank_axis(low: float, high: float, title: str = "", **more) -> dict:
    """Return an axis that is not drawn, for graphs and timelines.

    >>> blank_axis(0, 1)["visible"]
    False
    """
    return {
        "type": "linear",
        "range": [low, high],
        "visible": False,
        "fixedrange": True,
        "title": {"text": title},
        **more,
    }


def at(axis: dict, value: float) -> float:
    """Return `value` as annotations and shapes count on `axis`: its log10 on a log axis.

    >>> at(size_axis(), 1000)
    3.0
    """
    return math.log10(value) if axis.get("type") == "log" else value


# Marks


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
        "line": {"width": 0.5, "color": theme().ground},
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
            "type": "data", "symmetric": False, "array": np.asarray(high, dtype=float) - y_values, "arrayminus": y_values - np.asarray(low, dtype=float),
            "color": color(role), "thickness": 1.5, "width": 4,
        }  # fmt: skip
    return trace


def ring(x, y, *, role: str = "model", size: float = 12, hover: str = "", **more) -> dict:
    """Return a trace of open rings that mark a place on a line, such as the half-size.

    >>> ring([1], [2])["marker"]["symbol"]
    'circle'
    """
    trace = points(x, y, role=role, size=size, symbol="circle", hover=hover, **more)
    trace["marker"] |= {"color": theme().ground, "line": {"width": 2.5, "color": color(role)}}
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
        tries = [line_px + sign * (near + 4 * k) for k in range(24) for sign in (1, -1)]
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


def note(text: str, *, role: str = "", color: str | None = None, **place) -> dict:
    """Return an annotation: text on the ground's colour in the ink of `role` (or in `color`); `place` is Plotly's x, xref, y, yref, …

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
    return {"text": text, **look, **place}


def add_end_label(figure: go.Figure, text: str, y: float, role: str = "", *, x: float | None = None) -> go.Figure:
    """Add one label at the right end of a line (`y` as on the axis) of a figure that exists, or at `x`; returns the figure.

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
