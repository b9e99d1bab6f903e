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
import re
from collections.abc import Iterable, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.language import punctuated
from course_lib.figures.axes import (
    at,
    blank_axis,
    count_axis,
    linear_axis,
    log_axis,
    log_ticks,
    rate_axis,
    say_tick_time,
    share_axis,
    size_axis,
    time_axis,
)
from course_lib.figures.marks import (
    OUTSIDE,
    add_end_label,
    end_labels,
    limit_line,
    limit_name,
    line,
    note,
    points,
    ring,
)
from course_lib.figures.theme import CONFIG, FONT, HEIGHT, MARGIN, theme

__all__ = [
    "CONFIG",
    "OUTSIDE",
    "PHONE_CHARS",
    "add_end_label",
    "at",
    "base_figure",
    "blank_axis",
    "count_axis",
    "describe",
    "end_labels",
    "limit_line",
    "limit_name",
    "line",
    "linear_axis",
    "log_axis",
    "log_ticks",
    "note",
    "points",
    "rate_axis",
    "ring",
    "say_tick_time",
    "set_title",
    "share_axis",
    "size_axis",
    "time_axis",
    "wrapped",
]  # fmt: skip

TITLE_PX, SUBTITLE_PX = 17, 13
_TITLE_CHARS, _SUBTITLE_CHARS = 62, 88
_WIDE = "[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
# What stays on one line: a word, or one Chinese character with the signs that may not begin or end a line.
_WORD = re.compile(rf"[（「“]*(?:{_WIDE}|(?:(?!{_WIDE})\S)+)[，。；：、！？）」”]*\s*")
PHONE_CHARS = 40  # of a line of 13 px that starts at the left edge of a page of 360 px


def wrapped(text: str, characters: int = _TITLE_CHARS) -> str:
    """Return `text` broken into lines of at most `characters`, joined with <br>, the lines of about equal length.

    >>> wrapped("one two three four", 10)
    'one two<br>three four'
    >>> wrapped("速率随消息大小变化，两个轴都是对数。", 20)
    '速率随消息大小变化，<br>两个轴都是对数。'
    """
    text = " ".join(text.split())
    words, n_lines = _WORD.findall(text), max(1, math.ceil(room(text) / characters))
    width = min(characters, math.ceil(room(text) / n_lines) + max((room(w.strip()) for w in words), default=0) // 2)
    lines: list[str] = []
    for word in words:
        if lines and room(lines[-1] + word.rstrip()) <= width:
            lines[-1] += word
        else:
            lines.append(word)
    return "<br>".join(line.strip() for line in lines)


def room(text: str) -> int:
    """Return how many characters wide a text is: a Chinese one takes the room of two.

    >>> room("450 GB/s"), room("带宽")
    (8, 4)
    """
    return len(text) + len(re.findall(_WIDE, text))


def unwrapped(text: str) -> str:
    """Return what `wrapped` broke as one line; between Chinese characters stands no blank.

    >>> unwrapped("one<br>two"), unwrapped("消息<br>大小，<br>450 GB/s")
    ('one two', '消息大小，450 GB/s')
    """
    return re.sub(f"(?<={_WIDE})<br>(?={_WIDE})|(?<=[，。；：、])<br>", "", text).replace("<br>", " ")


def describe(alt: str, columns: Sequence[str], rows: Iterable[Sequence]) -> dict:
    """Return the `meta` of a figure: `alt` says in words and numbers what the picture shows, the table holds the numbers.

    >>> describe("one bar of 450 GB/s", ["link", "rate"], [("NVLink 4", "450 GB/s")])["table"]["rows"]
    [['NVLink 4', '450 GB/s']]
    """
    plain = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows]
    return {"alt": punctuated(alt), "table": {"columns": list(columns), "rows": plain}}


def capital(text: str) -> str:
    """Return a title with a large first letter, unless its first word is a name with signs or digits in it.

    >>> capital("top 1 % sends less"), capital("all_reduce reaches 4 %")
    ('Top 1 % sends less', 'all_reduce reaches 4 %')
    """
    word = text.split(" ")[0].rstrip(":,")
    return text[:1].upper() + text[1:] if word.isascii() and word.isalpha() else text


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

    `title` is a sentence with a number, `subtitle` says how to read the picture. `revision` is Plotly's uirevision: where a page
    redraws in place, the reader's zoom survives as long as it stays the same. (In JupyterLab it does not: the renderer in Plotly's
    wheel draws once and ignores a changed model, so an explorer's every picture is a new one.) Further keyword arguments go into
    the layout.

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
    title, subtitle = punctuated(title), punctuated(subtitle)
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
