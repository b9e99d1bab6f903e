"""Narrow formats at work: the error of a sum over many ranks, and what a narrower format gained in measured runs."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    count_axis,
    describe,
    end_labels,
    limit_line,
    line,
    linear_axis,
    log_axis,
    note,
    points,
)
from course_lib.figures.degrees import bars
from course_lib.figures.theme import MARGIN, SERIES_DASH, color, faded


def error_over_ranks(n_ranks: Sequence[int], errors, names: Sequence[str], *, title: str = "") -> go.Figure:
    """Return the relative error of a sum over n ranks, a line for each way to add: `errors` is (ways, n). One trace a way.

    >>> error_over_ranks([2, 32], [[0.002, 0.008], [0.002, 0.002]], ["BF16", "FP32"]).layout.title.text.replace("<br>", " ")
    'At 32 ranks: BF16 is off by 0.8 %, FP32 by 0.2 %'
    """
    ranks = np.asarray(finite("n_ranks", np.asarray(n_ranks), at_least=1))
    lines = np.atleast_2d(finite("errors", np.asarray(errors), above=0))
    if lines.shape != (len(names), ranks.size):
        raise CourseError(
            _("errors has the shape {got}; {want} is expected, a row for each name.").format(
                got=lines.shape, want=(len(names), ranks.size)
            )
        )
    yaxis = log_axis(
        _("error of the sum"),
        float(100 * lines.min()) / 1.6,
        float(100 * lines.max()) * 1.6,
        lambda v: f"{say_number(v)} %",
        7,
    )
    last = [say_number(100 * float(v), 2) for v in lines[:, -1]]
    data = []
    for i, (row, name) in enumerate(zip(lines, names)):
        data.append(
            line(
                ranks,
                100 * row,
                role="attention" if i == 0 else "model",
                name=name,
                dash=SERIES_DASH[i % len(SERIES_DASH)],
            )
        )
        data[-1] |= {"mode": "lines+markers", "hovertemplate": f"{name}: %{{x}} ranks, %{{y:.3g}} %<extra></extra>"}
    labels = [
        (f"{n}<br><b>{v} %</b>", 100 * float(row[-1]), "attention" if i == 0 else "")
        for i, (n, v, row) in enumerate(zip(names, last, lines))
    ]
    return base_figure(
        data,
        title=title
        or _("At {n} ranks: {a} is off by {x} %, {b} by {y} %").format(
            n=round(float(ranks[-1])), a=names[0], x=last[0], b=names[-1], y=last[-1]
        ),
        subtitle=_(
            "root mean square error over the size of the sum; every addition rounds, in the order of the schedule"
        ),
        xaxis=count_axis(
            float(ranks.min()) / 1.15, float(ranks.max()) * 1.15, _("ranks"), [round(float(r)) for r in ranks]
        ),
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE + 16},
        meta=describe(
            _("Relative error of a sum over ranks, both axes logarithmic. ")
            + "; ".join(
                _("{name}: {a} % at {n} ranks, {b} % at {m}").format(
                    name=name,
                    a=say_number(100 * float(row[0]), 2),
                    n=round(float(ranks[0])),
                    b=v,
                    m=round(float(ranks[-1])),
                )
                for name, v, row in zip(names, last, lines)
            )
            + ".",
            [_("ranks"), *names],
            [(round(float(r)), *(f"{100 * e:.3g} %" for e in lines[:, i])) for i, r in enumerate(ranks)],
        ),
    )


def gains(names: Sequence[str], measured, foretold, *, naive: float = 2.0, title: str = "") -> go.Figure:
    """Return how many times as fast each run got: a cross measured, a bar what the model has, the naive factor dashed.

    Arrays (n,), one entry a name. Two traces.

    >>> gains(["8B"], [1.28], [1.16]).layout.title.text
    'FP8 made these steps 1.28 to 1.28 × as fast, not 2 ×'
    """
    seen, model = (
        np.atleast_1d(finite(n, np.asarray(v), above=0)) for n, v in (("measured", measured), ("foretold", foretold))
    )
    if not seen.shape == model.shape == (len(names),):
        raise CourseError(_("names, measured and foretold need one entry a run."))
    y = np.arange(len(names), dtype=float)
    texts = [
        _("{name}: measured {a} ×, model {b} ×").format(name=n, a=say_number(float(s)), b=say_number(float(m)))
        for n, s, m in zip(names, seen, model)
    ]
    bar = bars(model - 1, y, 1.0, [faded(color("memory"), 0.5)] * len(y), texts, across=True)
    data = [bar | {"width": 0.28}, points(seen, y, size=10, hover="%{text}", text=texts)]
    notes = [
        note(n, x=0, xref="paper", xanchor="left", y=float(i), yref="y", yshift=17) for i, n in enumerate(names)
    ] + [
        note(
            _("{x} ×").format(x=say_number(naive)),
            role="limit",
            x=naive,
            xref="x",
            xanchor="right",
            xshift=-4,
            y=1,
            yref="paper",
            yanchor="top",
        )
    ]
    low = float(min(0.95, seen.min() - 0.04))
    return base_figure(
        data,
        title=title
        or _("FP8 made these steps {a} to {b} × as fast, not {c} ×").format(
            a=f"{seen.min():.2f}", b=f"{seen.max():.2f}", c=say_number(naive)
        ),
        subtitle=_(
            "crosses: measured; grey: what the linear layers save at the data sheet's rates; dashed: everything halved"
        ),
        xaxis=linear_axis(_("times as fast as BF16"), low, naive + 0.04),
        yaxis={"visible": False, "range": [len(y) - 0.5, -0.75], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 80 + 44 * (len(y) + 0.3)),
        margin={"l": 14},
        annotations=notes,
        shapes=[limit_line(x=naive)],
        meta=describe(
            _("Speed of FP8 runs over BF16 runs of the same job. ") + "; ".join(texts) + ".",
            [_("run"), _("measured"), _("model")],
            [(n, f"{s:.3f} ×", f"{m:.3f} ×") for n, s, m in zip(names, seen, model)],
        ),
    )
