"""Diagnosis as pictures: bus bandwidth beside what is expected; pairs of GPUs on one line; or a sentence."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate
from course_lib.figures.base import (
    OUTSIDE,
    PHONE_CHARS,
    base_figure,
    blank_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
    points,
    rate_axis,
    size_axis,
    wrapped,
)
from course_lib.figures.theme import ink

N_TRACES = 4
HEIGHT = 440


def sweep(
    message_B, measured_Bps, expected_Bps=None, *, odd: Sequence[int] = (), title: str, where: str = ""
) -> go.Figure:
    """Return measured bus bandwidth over size beside the expected one, the gap between them shaded; four traces.

    Args:
        message_B: (s,) sizes.
        measured_Bps: (s,) bus bandwidths.
        expected_Bps: (s,) of the model, or None where the machine is not known.
        odd: indices of sizes to mark.
        title: the verdict.
        where: what the expectation is for.

    >>> fig = sweep([1e3, 1e9], [1e8, 2e10], [2e8, 4e11], title="slow", where="dgx-h100")
    >>> len(fig.data), fig.layout.meta["table"]["rows"][1]
    (4, ['1 GB', '20 GB/s', '400 GB/s', '5 %'])
    """
    sizes, measured = (
        np.atleast_1d(finite(n, v, above=0)) for n, v in (("message_B", message_B), ("measured_Bps", measured_Bps))
    )
    if sizes.shape != measured.shape:
        raise CourseError(_("One bandwidth a size is expected."))
    expected = None if expected_Bps is None else np.atleast_1d(finite("expected_Bps", expected_Bps, above=0))
    shown = expected if expected is not None else np.full(sizes.shape, np.nan)
    every = measured if expected is None else np.concatenate([measured, expected])
    yaxis = rate_axis(float(every.min()) / 1.8, float(every.max()) * 1.8, _("bus bandwidth"))
    share = [f"{say_number(100 * float(m / e), 2)} %" if e == e else "–" for m, e in zip(measured, shown)]
    said = [say_rate(float(e)) if e == e else "–" for e in shown]
    texts = [
        _("{size}: measured {m}, expected {e}, {share}").format(
            size=say_bytes(float(b)), m=say_rate(float(m)), e=e, share=s
        )
        for b, m, e, s in zip(sizes, measured, said, share)
    ]
    marked = [int(i) for i in odd]
    gap = line(np.concatenate([sizes, sizes[::-1]]), np.concatenate([measured, shown[::-1]]), role="attention", width=0)
    gap |= {"fill": "toself", "opacity": 0.22} if expected is not None else {"x": [], "y": []}
    data = [
        gap,
        line(sizes, shown, role="model", name=_("expected")),
        points(sizes, measured, hover="%{text}", text=texts, name=_("measured")),
        points(sizes[marked], measured[marked], role="attention", symbol="diamond-open", size=16, name=_("odd")),
    ]
    labels = [(_("measured"), float(measured[-1]), "measured")]
    if expected is not None:
        labels.insert(0, (_("expected"), float(expected[-1]), "model"))
    text = (
        _("crosses: measured; line: expected of {where}, the gap shaded")
        if where
        else _("crosses: measured; the machine is not known, so nothing is expected")
    )
    return base_figure(
        data,
        title=title,
        subtitle=text.format(where=where),
        xaxis=size_axis(float(sizes.min()) / 1.5, float(sizes.max()) * 1.5),
        yaxis=yaxis,
        height=HEIGHT,
        margin={"r": OUTSIDE},
        annotations=end_labels(labels, yaxis, outside=True, height=HEIGHT),
        meta=describe(
            _("{title}. Bus bandwidth at {n} sizes, up to {most}.").format(
                title=title, n=sizes.size, most=say_rate(float(measured.max()))
            ),
            [_("size"), _("measured"), _("expected"), _("share")],
            [(say_bytes(float(b)), say_rate(float(m)), e, s) for b, m, e, s in zip(sizes, measured, said, share)],
        ),
    )


def pairs(names: Sequence[str], values_GBps: Sequence, *, title: str) -> go.Figure:
    """Return the rates between GPUs of several tables as points on a line each (the diagonal left out), medians marked; four traces.

    `values_GBps` are square matrices, NaN where there is nothing.

    >>> pairs(["off", "on"], [[[0, 20.0], [20.0, 0]], [[0, 2.0], [2.2, 0]]], title="slower with peer access").layout.title.text
    'slower with peer access'
    """
    if not names or len(names) != len(values_GBps):
        raise CourseError(_("One name for each table is expected, and one table or more."))
    x, y, texts, rows, middle = [], [], [], [], []
    for row, (name, matrix) in enumerate(zip(names, values_GBps, strict=True)):
        table = np.array(matrix, float)
        if table.ndim == 2 and table.shape[0] == table.shape[1] and len(table) > 1:
            table[np.diag_indices(len(table))] = np.nan
        a, b = np.nonzero(np.isfinite(table) & (table > 0)) if table.ndim == 2 else ((), ())
        seen = table[a, b] if len(a) else np.zeros(0)
        x += seen.tolist()
        y += [row] * len(seen)
        texts += [f"GPU {i} → {j}: {say_rate(v * 1e9)}" for i, j, v in zip(a, b, seen)]
        if len(seen):
            middle.append((float(np.median(seen)), row))
            rows.append((name, *(say_rate(float(v) * 1e9) for v in (seen.min(), np.median(seen), seen.max()))))
    height = 150 + 74 * len(names)
    ticks = {"tickvals": list(range(len(names))), "ticktext": [""] * len(names), "range": [len(names) - 0.4, -0.75]}
    marks = points([m for m, _r in middle], [r for _m, r in middle], role="attention", symbol="line-ns", size=26)
    marks["marker"]["line"] = {"width": 3, "color": ink("attention")}
    return base_figure(
        [line([], []), points(x, y, hover="%{text}", text=texts, size=9), marks, line([], [])],
        title=title,
        subtitle=_("a cross: one pair of GPUs, one direction; amber: the median"),
        xaxis=linear_axis(_("rate (GB/s)"), 0, max(x, default=1.0) * 1.08),
        yaxis=linear_axis("") | ticks,
        height=height,
        margin={"l": 24},
        annotations=[
            note(wrapped(name, PHONE_CHARS), x=0, xref="paper", xanchor="left", y=row, yref="y", yshift=22)
            for row, name in enumerate(names)
        ],
        meta=describe(title, [_("table"), _("least"), _("median"), _("most")], rows),
    )


def words(title: str, lines: Sequence[str]) -> go.Figure:
    """Return a picture that holds sentences only: for logs that hold nothing to draw; four empty traces.

    >>> words("Cannot tell", ["An empty file."]).layout.annotations[0].text
    'An empty file.'
    """
    text = "<br>".join(wrapped(part, PHONE_CHARS) for part in lines)
    return base_figure(
        [line([], []) for _i in range(N_TRACES)],
        title=title,
        subtitle=_("nothing here can be drawn over size or pairs"),
        xaxis=blank_axis(0, 1),
        yaxis=blank_axis(0, 1),
        height=160 + 20 * text.count("<br>"),
        margin={"l": 14},
        annotations=[note(text, x=0, xref="paper", xanchor="left", align="left", y=0.6, yref="y")] if text else [],
        meta=describe(" ".join([title, *lines]), [_("what")], [(part,) for part in lines]),
    )
