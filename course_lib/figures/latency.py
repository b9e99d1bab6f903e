"""Latency as pictures: its part of a message's time, small messages side by side, one message or many."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.figures.base import (
    OUTSIDE,
    at,
    base_figure,
    count_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
    points,
    ring,
    size_axis,
    time_axis,
)
from course_lib.figures.columns import above_zero
from course_lib.figures.theme import MARGIN, SYMBOL, color, theme

LATENCY_ROW_PX = 42


def latency_bands(
    message_B,
    share,
    half_B: float,
    low_B: float,
    high_B: float,
    *,
    role: str = "model",
    name: str = "",
    title: str = "",
) -> go.Figure:
    """Return the part of a message's time that is latency (0 to 1) over size, with the bounds of the three regimes; four traces.

    `half_B` gets a ring at one half; `low_B` and `high_B` are where the regimes meet.

    >>> sizes = np.array([1e2, 1e3, 1e5, 1e6])
    >>> latency_bands(sizes, 1e4 / (1e4 + sizes), 1e4, 1e3, 1e5).layout.title.text
    'Latency takes 91 % of the time at 1 KB, 9.1 % at 100 KB'
    """
    sizes, part = above_zero(message_B=message_B, share=share)
    xaxis = size_axis(float(sizes.min()), float(sizes.max()))
    ticks = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": ["0 %", "25 %", "50 %", "75 %", "100 %"]}
    texts = [f"{say_bytes(float(b))}: {say_number(100 * float(p))} %" for b, p in zip(sizes, part)]
    data = [
        line([], [], role="limit", width=1.5) | {"x": [low_B, low_B, None, high_B, high_B], "y": [0, 1, None, 0, 1]},
        line([sizes[0], sizes[-1]], [0.5, 0.5], role="limit", width=1, dash="dot"),
        line(sizes, part, role=role, name=name, dash="solid", hover="%{text}", text=texts),
        ring([half_B], [0.5], role=role, hover=_("half-size: {size}").format(size=say_bytes(half_B))),
    ]
    ends = (float(sizes[0]), float(low_B), float(high_B), float(sizes[-1]))
    labels = [
        note(text, x=at(xaxis, float(np.sqrt(a * b))), xref="x", xanchor="center", y=1.06, yref="y")
        for text, (a, b) in zip((_("latency"), _("mixed"), _("bandwidth")), pairwise(ends))
    ]
    beside = {"x": at(xaxis, half_B), "xref": "x", "xanchor": "left", "xshift": 12, "y": 0.5, "yref": "y", "yshift": 22}
    labels.append(note(_("half-size<br>{size}").format(size=say_bytes(half_B)), role=role, align="left", **beside))
    most, least = (100 * float(np.interp(np.log(b), np.log(sizes), part)) for b in (low_B, high_B))
    shown = {
        "low": say_bytes(low_B),
        "high": say_bytes(high_B),
        "half": say_bytes(half_B),
        "name": name or _("One link"),
    }
    shown |= {"most": say_number(most, 2), "least": say_number(least, 2)}
    words = _("{name}: latency takes {most} % of the time of a message of {low}, half at {half}, {least} % at {high}.")
    heading = _("Latency takes {most} % of the time at {low}, {least} % at {high}")
    return base_figure(
        data,
        title=title or heading.format(**shown),
        subtitle=_("{name}: the ring is the half-size, dashed lines part the three regimes").format(**shown),
        xaxis=xaxis,
        yaxis=linear_axis(_("latency, part of the time"), 0, 1.12) | ticks,
        height=380,
        annotations=labels,
        meta=describe(
            words.format(**shown),
            [_("size"), _("latency, part of the time")],
            [(say_bytes(float(sizes[i])), f"{say_number(100 * float(part[i]))} %") for i in _few(sizes)],
        ),
    )


def latencies(names: Sequence[str], time_s, roles: Sequence[str], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return measured times of small messages as points on a log axis, fastest first, each named and valued; two traces.

    >>> latencies(["NVLink", "staged"], [1.6e-6, 17.5e-6], ["nvlink", "pcie"]).layout.title.text
    'Small messages take 1.6 µs to 17.5 µs, a factor of 11'
    """
    (times,) = above_zero(time_s=time_s)
    if not len(names) == len(roles) == times.size:
        raise CourseError(
            _("names, time_s and roles need one entry a row; they have {a}, {b} and {c}.").format(
                a=len(names), b=times.size, c=len(roles)
            )
        )
    order = np.argsort(times, kind="stable")
    names, roles, times = [names[i] for i in order], [roles[i] for i in order], times[order]
    said = [say_time(float(t)) for t in times]
    xaxis = time_axis(10 ** np.floor(np.log10(times[0] / 1.5)), 10 ** np.ceil(np.log10(times[-1] * 1.5)))
    n = len(names)
    texts = [f"{name}: {text}" for name, text in zip(names, said)]
    dots = points(times, np.arange(n, dtype=float), size=11, hover="%{text}", text=texts)
    dots["marker"] |= {"color": [color(r) for r in roles], "symbol": [SYMBOL.get(r, "circle") for r in roles]}
    low = 10 ** xaxis["range"][0]
    stems_x = np.column_stack([np.full(n, low), times, np.full(n, np.nan)]).ravel()
    stems = line(stems_x, np.repeat(np.arange(n, dtype=float), 3), role="limit", width=1.2, dash="solid")
    place = {"x": 0, "xref": "paper", "xanchor": "left", "yref": "y", "yshift": 15}
    labels = [
        note(f"{name}  <b>{text}</b>", y=row, role=role, **place)
        for row, (name, text, role) in enumerate(zip(names, said, roles))
    ]
    ratio = say_number(float(times[-1] / times[0]), 2)
    return base_figure(
        [stems, dots],
        title=title
        or _("Small messages take {a} to {b}, a factor of {ratio}").format(a=said[0], b=said[-1], ratio=ratio),
        subtitle=subtitle or _("each grid line is ten times the one before"),
        xaxis=xaxis,
        yaxis={"visible": False, "range": [n - 0.7, -0.8], "fixedrange": True, "title": {"text": ""}},
        height=MARGIN["b"] + 74 + LATENCY_ROW_PX * n,
        margin={"l": 14},
        annotations=labels,
        meta=describe(
            _("Times of small messages on a log scale: {list}.").format(list="; ".join(texts)),
            [_("what"), _("time")],
            list(zip(names, said)),
        ),
    )


def split_message(
    counts, total_s, waiting_s, wire_s, *, at_count: float, total_B: float, role: str = "model", name: str = ""
) -> go.Figure:
    """Return the time to move `total_B` bytes in `counts` equal messages, one after the other, and its two parts; four traces.

    `total_s` = `waiting_s` (count times the latency) + `wire_s` (bytes over bandwidth), each (n,); `at_count` is marked.

    >>> n = np.array([1, 10, 100, 1000])
    >>> split_message(n, n * 2e-6 + 2e-6, n * 2e-6, 2e-6 + 0 * n, at_count=1000, total_B=1e6).layout.title.text
    '1 MB in 1,000 messages of 1 KB takes 501 × as long as in one'
    """
    counts, total, waiting, wire = above_zero(counts=counts, total_s=total_s, waiting_s=waiting_s, wire_s=wire_s)
    xaxis = count_axis(float(counts[0]), float(counts[-1]), _("messages, one after the other"))
    xaxis["ticktext"] = [text if i % 3 == 0 else "" for i, text in enumerate(xaxis["ticktext"])]
    yaxis = time_axis(float(min(waiting.min(), wire.min())) / 2, float(total.max()) * 2)
    texts = [f"{say_number(float(n))}: {say_time(float(t))}" for n, t in zip(counts, total)]
    here = float(np.exp(np.interp(np.log(at_count), np.log(counts), np.log(total))))
    mark = points([at_count], [here], role="attention", symbol="diamond", size=12, hover=say_time(here))
    mark["marker"]["line"] = {"width": 1.5, "color": theme().ink}
    data = [
        line(counts, waiting, role="attention", width=1.8, dash="dot"),
        line(counts, wire, role="limit", width=1.8),
        line(counts, total, role=role, name=name, dash="solid", hover="%{text}", text=texts),
        mark,
    ]
    shown = {"total": say_bytes(total_B), "n": say_number(at_count), "each": say_bytes(total_B / at_count)}
    shown |= {"here": say_time(here), "one": say_time(float(total[0])), "name": name or _("One link")}
    many = _("{total} in {n} messages of {each} takes {factor} × as long as in one")
    heading = many if at_count > 1 else _("{total} in one message takes {here}")
    parts = (
        (_("latencies"), waiting, "attention"),
        (_("bytes / β"), wire, "limit"),
        (_("sum"), total, role),
    )
    labels = [(f"{text}<br><b>{say_time(float(y[-1]))}</b>", float(y[-1]), which) for text, y, which in parts]
    rows = [
        (say_number(float(counts[i])), say_bytes(total_B / float(counts[i])))
        + tuple(say_time(float(y[i])) for y in (waiting, wire, total))
        for i in _few(counts)
    ]
    words = _("{name}: time of {total} over the number of messages. One message takes {one}, {n} take {here}.")
    return base_figure(
        data,
        title=heading.format(factor=say_number(here / float(total[0]), 3), **shown),
        subtitle=_("{name}: solid, the sum; dotted, the latencies; dashed, the bytes; diamond, your count").format(
            **shown
        ),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE},
        meta=describe(
            words.format(**shown),
            [_("messages"), _("size of each"), _("latencies"), _("bytes / β"), _("sum")],
            rows,
        ),
    )


def _few(column: np.ndarray, at_most: int = 13) -> np.ndarray:
    return np.unique(np.linspace(0, column.size - 1, min(at_most, column.size)).round().astype(int))
