"""Pairs: who reaches whom how fast, as a matrix; and how much of what GPUs can send passes the worst cut."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import GB, say_number, say_rate
from course_lib.figures.base import base_figure, describe, linear_axis, note
from course_lib.figures.rows import row_label
from course_lib.figures.theme import color, contrast, faded, ink, theme

MAX_WRITTEN = 16  # GPUs up to which every number is written


def pair_matrix(values_Bps: ArrayLike, *, measured: bool = False, title: str = "", subtitle: str = "") -> go.Figure:
    """Return the rates between all pairs of GPUs (bytes/s, one direction) as a matrix; the diagonal is left out; one trace.

    Args:
        values_Bps: (n, n) from row to column; masked or NaN where there is no number.
        measured: draw in the colour of measurements.
        title: in place of the sentence about the fastest and the slowest pair.
        subtitle: in place of the line that says how to read it.

    Raises:
        CourseError: not a square of at least two rows, or a rate below zero.

    >>> import numpy as np
    >>> pair_matrix(np.array([[0, 5e10], [2.5e10, 0]])).layout.title.text
    'The fastest pair has 50 GB/s, the slowest 25: 2 × apart'
    """
    given = np.ma.filled(np.ma.asarray(values_Bps, dtype=float), np.nan)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or len(given) < 2:
        raise CourseError(
            _("values_Bps has the shape {shape}; a square of two rows or more is expected.").format(shape=given.shape)
        )
    n = len(given)
    given = np.where(np.eye(n, dtype=bool), np.nan, given)
    known = given[np.isfinite(given)]
    if not known.size:
        raise CourseError(_("values_Bps holds no rate between two GPUs."))
    finite("values_Bps", known, at_least=0)
    low, high = float(known.min()), float(known.max())
    hue = color("measured" if measured else "nvlink")
    weak, strong = faded(hue, 0.12), faded(hue, 0.92)
    span = max(high, 1.0)
    digits = 3 if high >= 100 * GB else 2
    labels = []
    if n <= MAX_WRITTEN:
        for (i, j), value in np.ndenumerate(given):
            if np.isfinite(value):
                behind = faded(hue, 0.12 + 0.8 * value / span)
                shade = max(("#FFFFFF", "#111111"), key=lambda c, b=behind: contrast(c, b))
                text = say_number(value / GB, digits)
                look = {"bgcolor": "rgba(0,0,0,0)", "font": {"size": 12, "color": shade}}
                labels.append(note(text, x=j, y=i, xref="x", yref="y") | look)
    said = [[_hover(i, j, float(given[i, j])) for j in range(n)] for i in range(n)]
    heat = {"type": "heatmap", "z": given, "x": list(range(n)), "y": list(range(n)), "zmin": 0, "zmax": span}
    heat |= {"xgap": 2, "ygap": 2, "showscale": False, "colorscale": [[0, weak], [1, strong]]}
    heat |= {"text": said, "hovertemplate": "%{text}<extra></extra>", "hoverongaps": False}
    ticks = {"tickvals": list(range(n)), "showgrid": False} if n <= MAX_WRITTEN else {"showgrid": False}
    if high <= low * 1.001:
        words = _("Every pair has {rate}").format(rate=say_rate(high))
    else:
        words = _("The fastest pair has {high}, the slowest {low}: {ratio} × apart").format(
            high=say_rate(high), low=_same_unit(low, high), ratio=say_number(high / max(low, 1e-300), 2)
        )
    rows = [
        (i, *(say_number(v / GB, 4) if np.isfinite(v) else None for v in row)) for i, row in enumerate(given.tolist())
    ]
    return base_figure(
        [heat],
        title=title or words,
        subtitle=subtitle or _("GB/s from the GPU of the row to the GPU of the column, one direction, each pair alone"),
        xaxis=linear_axis(_("receiving GPU"), -0.5, n - 0.5, **ticks),
        yaxis=linear_axis(_("sending GPU"), n - 0.5, -0.5, **ticks),
        annotations=labels,
        meta=describe(
            words + ". " + _("A matrix of {n} sending and {n} receiving GPUs.").format(n=n),
            [_("from \\ to (GB/s)"), *map(str, range(n))],
            rows,
        ),
    )


def _hover(a: int, b: int, rate_Bps: float) -> str:
    if not np.isfinite(rate_Bps):
        return ""
    return _("GPU {a} → GPU {b}: {rate}").format(a=a, b=b, rate=say_rate(rate_Bps))


def _same_unit(value_Bps: float, like_Bps: float) -> str:
    """Return a rate without its unit where the other rate has the same one.

    >>> _same_unit(2.5e10, 5e10), _same_unit(25e9, 2e12)
    ('25', '25 GB/s')
    """
    mine, other = say_rate(value_Bps), say_rate(like_Bps)
    return mine.split()[0] if mine.split()[-1] == other.split()[-1] else mine


def bisections(
    names: Sequence[str], bisection_Bps: ArrayLike, half_Bps: ArrayLike, *, title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return for each machine how much of what half of its GPUs can send passes the worst cut; two traces.

    `bisection_Bps` is the bisection, `half_Bps` what half of the GPUs can send over all their links (bytes/s, one direction).

    >>> bisections(["DGX-1", "HGX H100"], [150e9, 1.8e12], [600e9, 1.8e12]).layout.title.text
    'DGX-1: 150 GB/s pass the worst cut, 25 % of what half can send'
    """
    cut = np.atleast_1d(finite("bisection_Bps", bisection_Bps, at_least=0))
    half = np.atleast_1d(finite("half_Bps", half_Bps, above=0))
    if not cut.shape == half.shape == (len(names),) or not len(names):
        raise CourseError(
            _("{a} names, {b} bisections and {c} sums do not make rows; as many of each are expected.").format(
                a=len(names), b=cut.size, c=half.size
            )
        )
    share = 100 * cut / half
    worst = int(np.argmin(share))
    texts = [
        _("{name}: {cut} of {half}, {percent} %").format(
            name=a, cut=say_rate(float(b)), half=say_rate(float(c)), percent=say_number(float(d), 3)
        )
        for a, b, c, d in zip(names, cut, half, share)
    ]
    y = np.arange(len(names), dtype=float)
    bar = {"type": "bar", "orientation": "h", "y": y, "width": 0.34, "text": texts, "textposition": "none"}
    bar |= {"hovertemplate": "%{text}<extra></extra>"}
    edge = {"color": theme().panel, "line": {"width": 1, "color": theme().axis}}
    room = bar | {"x": np.full(len(names), 100.0), "marker": edge}
    full = bar | {"x": share, "marker": {"color": color("nvlink"), "line": {"width": 0}}}
    labels = [
        row_label(
            f'{name}  <span style="color:{ink("nvlink")}"><b>{say_rate(float(b))}</b></span> '
            + _("of {half}").format(half=say_rate(float(c))),
            i,
        )
        for i, (name, b, c) in enumerate(zip(names, cut, half))
    ]
    return base_figure(
        [room, full],
        title=title
        or _("{name}: {cut} pass the worst cut, {percent} % of what half can send").format(
            name=names[worst], cut=say_rate(float(cut[worst])), percent=say_number(float(share[worst]), 2)
        ),
        subtitle=subtitle or _("bar: the bisection as a part of what half of the GPUs can send, one direction"),
        xaxis=linear_axis(_("part of what half of the GPUs can send (%)"), 0, 102, tickvals=[0, 25, 50, 75, 100]),
        yaxis={"visible": False, "range": [len(names) - 0.6, -0.85], "fixedrange": True, "title": {"text": ""}},
        barmode="overlay",
        height=138 + 46 * len(names),
        margin={"l": 14},
        annotations=labels,
        meta=describe(
            _("Bisections: {list}.").format(list="; ".join(texts)),
            [_("machine"), _("bisection, one direction"), _("half of the GPUs can send"), _("share")],
            [(a, say_rate(float(b)), say_rate(float(c)), f"{d:.0f} %") for a, b, c, d in zip(names, cut, half, share)],
        ),
    )
