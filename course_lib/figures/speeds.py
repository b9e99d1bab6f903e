"""Serving seen from both sides: what one reader gets a second, against what one GPU makes a second."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import base_figure, count_axis, describe, line, note
from course_lib.figures.theme import color

ROLES = ("nvlink", "network")


def speeds(
    reader_per_s: Sequence,
    per_gpu_per_s: Sequence,
    names: Sequence[str],
    *,
    measured: bool = False,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return tokens per second of a GPU over tokens per second of one reader: a rack (first) and boxes (second); two traces.

    Each of `reader_per_s` and `per_gpu_per_s` holds an array for the rack and one for the boxes, of any two lengths.

    >>> fig = speeds([[10, 100], [10, 90]], [[9000, 900], [8000, 400]], ["rack", "boxes"])
    >>> fig.layout.title.text.replace("<br>", " ")
    'At 90 tokens a second for a reader the rack makes 2.5 × as many on each GPU'
    """
    if not len(reader_per_s) == len(per_gpu_per_s) == len(names) == 2:
        raise CourseError(_("A rack and boxes are expected: two curves."))
    xs = [np.asarray(finite("reader_per_s", v, above=0), float) for v in reader_per_s]
    ys = [np.asarray(finite("per_gpu_per_s", v, above=0), float) for v in per_gpu_per_s]
    data, rows = [], []
    for name, role, x, y in zip(names, ROLES, xs, ys, strict=True):
        texts = [
            _("{name}: {a} tokens/s for a reader, {b} tokens/s from each GPU").format(
                name=name, a=say_number(float(u), 3), b=say_number(float(v), 3)
            )
            for u, v in zip(x, y, strict=True)
        ]
        trace = line(x, y, role=role, hover="%{text}", text=texts)
        if measured:
            trace |= {
                "mode": "lines+markers",
                "marker": {"color": color("measured"), "size": 9, "symbol": "x" if role == "nvlink" else "circle"},
            }
            trace["line"] |= {"width": 1.5}
        data.append(trace)
        rows += [(name, say_number(float(u), 4), say_number(float(v), 4)) for u, v in zip(x, y, strict=True)]
    at, gap = _widest(xs, ys)
    everything_y, everything_x = np.concatenate(ys), np.concatenate(xs)
    xaxis = count_axis(float(everything_x.min()) / 1.2, float(everything_x.max()) * 1.2, _("tokens/s for one reader"))
    yaxis = count_axis(
        float(everything_y.min()) / 1.5, float(everything_y.max()) * 1.5, _("tokens per second from each GPU")
    )
    labels = [
        note(
            name,
            role=role,
            x=float(np.log10(x[k])),
            xref="x",
            y=float(np.log10(y[k])),
            yref="y",
            xanchor="left" if role == "nvlink" else "right",
            xshift=10 if role == "nvlink" else -10,
            yshift=10 if role == "nvlink" else -10,
        )
        for name, role, x, y, k in zip(names, ROLES, xs, ys, (len(xs[0]) // 2, len(xs[1]) // 2), strict=True)
    ]
    return base_figure(
        data,
        title=title
        or _("At {at} tokens a second for a reader the {name} makes {gap} × as many on each GPU").format(
            at=say_number(at, 3), name=names[0], gap=say_number(gap, 2)
        ),
        subtitle=subtitle
        or (
            _("marks: measured; left: many requests at a time; right: few, and quick; both scales logarithmic")
            if measured
            else _("left: many requests at a time; right: few, and quick; both scales logarithmic")
        ),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=labels,
        meta=describe(
            _(
                "Tokens per second of a GPU over tokens per second of a reader; the widest gap is {gap} × at {at}."
            ).format(gap=say_number(gap, 2), at=say_number(at, 3)),
            [_("where"), _("for a reader"), _("from a GPU")],
            rows,
        ),
    )


def _widest(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> tuple[float, float]:
    """Where the first curve is furthest above the second, and how many times."""
    (x1, x2), (y1, y2) = xs, ys
    order = np.argsort(x2)
    low, high = x2.min(), x2.max()
    inside = [float(v) for v in [*x1, *x2] if low <= v <= high and x1.min() <= v <= x1.max()] or [float(x2[0])]
    first = np.argsort(x1)
    ratio = [
        float(
            np.exp(
                np.interp(np.log(v), np.log(x1[first]), np.log(y1[first]))
                - np.interp(np.log(v), np.log(x2[order]), np.log(y2[order]))
            )
        )
        for v in inside
    ]
    k = int(np.argmax(ratio))
    return inside[k], ratio[k]
