"""Fits as pictures: a line dragged through measured points, the best line beside it, the residuals below."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    describe,
    line,
    linear_axis,
    note,
    points,
    rate_axis,
    ring,
    size_axis,
    time_axis,
    wrapped,
)
from course_lib.figures.columns import above_zero
from course_lib.figures.theme import color

# How far the axis of residuals reaches: it jumps between these factors, so that it stands still while a slider moves.
REACH = (1.05, 1.1, 1.25, 1.5, 2, 4, 10, 100, 1e3, 1e4, 1e6, 1e9)
_PERCENT_TICK = {1.05: 0.04, 1.1: 0.08, 1.25: 0.15, 1.5: 0.3}


def say_off(ratio: float) -> str:
    """Return how far `ratio` (measured ÷ line) is from 1, short: in percent, or as a factor from 2 on.

    >>> say_off(1.1), say_off(0.75), say_off(4.0), say_off(0.1), say_off(1.0)
    ('+10 %', '−25 %', '4 ×', '1/10', '0')
    """
    if ratio >= 2:
        return _("{factor} ×").format(factor=say_number(ratio, 2))
    if ratio <= 0.5:
        return f"1/{say_number(1 / ratio, 2)}"
    percent = (ratio - 1) * 100
    if abs(percent) < 0.05:
        return "0"
    return f"{'+' if percent > 0 else '−'}{say_number(abs(percent), 2)} %"


def say_miss(ratio: float) -> str:
    """Return how far `ratio` (measured ÷ line) is from 1, in words.

    >>> say_miss(1.36), say_miss(0.9), say_miss(5.8), say_miss(0.1)
    ('36 % above the line', '10 % below the line', '5.8 × the line', '1/10 of the line')
    """
    if ratio >= 2:
        return _("{factor} × the line").format(factor=say_number(ratio, 2))
    if ratio <= 0.5:
        return _("1/{factor} of the line").format(factor=say_number(1 / ratio, 2))
    percent = say_number(abs(ratio - 1) * 100, 2)
    text = _("{percent} % above the line") if ratio >= 1 else _("{percent} % below the line")
    return text.format(percent=percent)


def dragged_line(
    message_B,
    measured_s,
    model_s,
    grid_B,
    line_s,
    best_s,
    *,
    half: tuple[float, float] | None = None,
    role: str = "model",
    name: str = "",
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return measured times with two lines through them, the learner's and the best one, and the residuals of the first below.

    `message_B`, `measured_s`, `model_s` (n,): the points and the learner's line at them; `grid_B`, `line_s`, `best_s` (g,): both
    lines over size; `half` is (size, time) of the half-size. The axes of the upper part depend on the points only; residuals
    are measured ÷ line on a log axis. Seven traces, always.

    >>> dragged_line([1e3, 1e6], [1e-5, 3e-5], [1e-5, 2e-5], [1e3, 1e6], [1e-5, 2e-5], [1e-5, 3e-5]).layout.title.text
    'The largest miss: measured is 50 % above the line, at 1 MB'
    """
    sizes, measured, model = above_zero(message_B=message_B, measured_s=measured_s, model_s=model_s)
    grid, mine, best = above_zero(grid_B=grid_B, line_s=line_s, best_s=best_s)
    ratio = measured / model
    rows = [
        (say_bytes(float(b)), say_time(float(m)), say_time(float(t)), say_off(float(r)))
        for b, m, t, r in zip(sizes, measured, model, ratio)
    ]
    texts = [_("{a}: measured {b}, line {c}, {d}").format(a=a, b=b, c=c, d=d) for a, b, c, d in rows]
    ends = [float(sizes.min()) / 1.5, float(sizes.max()) * 1.5]
    stems_x = np.repeat(sizes, 3)
    stems_y = np.column_stack([np.ones_like(ratio), ratio, np.full_like(ratio, np.nan)]).ravel()
    place = [[half[0]], [half[1]]] if half else [[], []]
    data = [
        line(grid, best, role="limit", width=1.8, name=_("best line")),
        line(grid, mine, role=role, width=2.8, dash="solid", name=_("your line")),
        ring(*place, role=role, hover=_("half-size")),
        points(sizes, measured, hover="%{text}", text=texts, name=_("measured")),
        line(ends, [1, 1], role=role, width=2, dash="solid", yaxis="y2"),
        line(stems_x, stems_y, role="measured", width=1.5, dash="solid", yaxis="y2"),
        points(sizes, ratio, hover="%{text}", text=texts, yaxis="y2"),
    ]
    worst = int(np.argmax(np.abs(np.log(ratio))))
    said = {"far": say_miss(float(ratio[worst])), "size": rows[worst][0], "n": sizes.size, "name": name or _("Points")}
    label = {"x": 0.012, "xref": "paper", "xanchor": "left", "y": 0.985, "yref": "paper", "yanchor": "top"}
    return base_figure(
        data,
        title=title or _("The largest miss: measured is {far}, at {size}").format(**said),
        subtitle=subtitle
        or _("crosses: measured; solid: your line, ring at its half-size; dashed: the best line; below: the misses"),
        xaxis=size_axis(*ends) | {"anchor": "y2"},
        yaxis=time_axis(float(measured.min()) / 3, float(measured.max()) * 3) | {"domain": [0.38, 1]},
        yaxis2=_ratio_axis(ratio) | {"domain": [0, 0.27]},
        height=520,
        annotations=[note(name, role=role, **label)] if name else [],
        meta=describe(
            _("{name}: {n} measured times and a line. The largest miss: measured is {far}, at {size}.").format(**said),
            [_("size"), _("measured"), _("your line"), _("off")],
            rows,
        ),
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A measured series and the rates of its best line at the same sizes: `message_B`, `rate_Bps`, `line_Bps` all (n,).

    `label_at` is the point beside which the name stands, `label_right` on which side of it, `label_up` how many pixels higher.
    """

    name: str
    role: str
    message_B: np.ndarray
    rate_Bps: np.ndarray
    line_Bps: np.ndarray
    half_B: float
    dash: str = "solid"
    label_at: int = -1
    label_right: bool = False
    label_up: float = 14


def rates_with_lines(series: Sequence[Fitted], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return measured rates over size with the best line of each series, drawn only where there are points.

    Traces: a line and a set of points a series, and one of rings at the half-sizes.

    >>> sizes = np.array([1e3, 1e6])
    >>> fig = rates_with_lines([Fitted("a copy", "pcie", sizes, sizes / 1e-5, sizes / 1.1e-5, 5e5)])
    >>> fig.layout.title.text, len(fig.data)
    ('The half-sizes go from 500 KB to 500 KB', 3)
    """
    checked = [(s, *above_zero(message_B=s.message_B, rate_Bps=s.rate_Bps, line_Bps=s.line_Bps)) for s in series]
    if not checked:
        raise CourseError(_("There is no series to draw; one or more are expected."))
    xaxis = size_axis(min(c[1].min() for c in checked) / 1.5, max(c[1].max() for c in checked) * 1.5)
    yaxis = rate_axis(min(c[2].min() for c in checked) / 2, max(c[2].max() for c in checked) * 3)
    data, labels, rows, rings = [], [], [], []
    for s, sizes, rate, fitted in checked:
        texts = [f"{s.name}: {say_bytes(float(b))}, {say_rate(float(r))}" for b, r in zip(sizes, rate)]
        data.append(line(sizes, fitted, role=s.role, name=s.name, dash=s.dash))
        data.append(points(sizes, rate, size=7, hover="%{text}", text=texts, name=s.name))
        side = {"xanchor": "left", "xshift": 8} if s.label_right else {"xanchor": "right", "xshift": -4}
        place = {
            "x": at(xaxis, float(sizes[s.label_at])),
            "xref": "x",
            "y": at(yaxis, float(rate[s.label_at])),
            "yref": "y",
        }
        labels.append(note(wrapped(s.name, 16), role=s.role, yshift=s.label_up, align="left", **place, **side))
        rows += [
            (s.name, say_bytes(float(b)), say_rate(float(r)), say_rate(float(f)))
            for b, r, f in zip(sizes, rate, fitted)
        ]
        if sizes.min() <= s.half_B <= sizes.max():
            on = float(np.exp(np.interp(np.log(s.half_B), np.log(sizes), np.log(fitted))))
            rings.append((s, on))
    mark = ring([s.half_B for s, _y in rings], [y for _s, y in rings], hover=_("half-size"))
    mark["marker"]["line"]["color"] = [color(s.role) for s, _y in rings]
    halves = sorted(s.half_B for s in series)
    ends = {"small": say_bytes(halves[0]), "large": say_bytes(halves[-1])}
    listed = "; ".join(
        _("{name}: at most {rate}, half-size {half}").format(
            name=s.name, rate=say_rate(float(rate.max())), half=say_bytes(s.half_B)
        )
        for s, _sizes, rate, _fitted in checked
    )
    return base_figure(
        [*data, mark],
        title=title or _("The half-sizes go from {small} to {large}").format(**ends),
        subtitle=subtitle or _("crosses: measured; lines: the best α and β of each; rings: half-sizes"),
        xaxis=xaxis,
        yaxis=yaxis,
        height=460,
        annotations=labels,
        meta=describe(
            _("Measured rates over message size and the best line of each series. {list}.").format(list=listed),
            [_("series"), _("size"), _("measured, one direction"), _("line")],
            rows,
        ),
    )


def _ratio_axis(ratio: np.ndarray) -> dict:
    """Return the log axis of measured ÷ line, wide enough for `ratio` both ways, ticks in percent or as factors."""
    need = max(float(ratio.max()), 1 / float(ratio.min())) * 1.02
    reach = next((r for r in REACH if r >= need), need * 2)
    if reach in _PERCENT_TICK:
        inner = [1 - _PERCENT_TICK[reach], 1.0, 1 + _PERCENT_TICK[reach]]
    elif reach <= 4:
        inner = [0.5, 1.0, 2.0]
    else:
        outer = 10.0 ** np.floor(np.log10(reach))
        inner = [1 / outer, 1.0, outer]
    edge = float(np.log10(reach))
    middle = "0" if reach in _PERCENT_TICK else _("{factor} ×").format(factor=1)
    ticks = {"tickvals": inner, "ticktext": [middle if v == 1 else say_off(v) for v in inner]}
    return linear_axis(_("miss")) | {"type": "log", "range": [-edge, edge], **ticks}
