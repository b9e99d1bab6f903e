"""Counted: predicted counts with their intervals, a row each, beside what was counted."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import finite
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import base_figure, count_axis, describe, line, note, points
from course_lib.figures.columns import same_length
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, color, faded, theme


def predictions(
    names: Sequence[str], expected, low, high, counted: float, *, what: str = "", span: str = "", title: str = ""
) -> go.Figure:
    """Return predicted counts with their intervals, a row each, the last one strong, and the count as a purple line; three traces.

    >>> predictions(["fleet A", "together"], [719, 529], [676, 101], [764, 2784], 419, what="stops").layout.title.text
    'together: 529 stops predicted, 101 to 2,780; counted were 419'
    """
    mean, least, most = (
        np.asarray(finite(n, v, above=0), float) for n, v in (("expected", expected), ("low", low), ("high", high))
    )
    same_length(len(names), expected=mean, low=least, high=most)
    seen, n = finite("counted", counted, above=0), len(names)
    y = np.arange(n, dtype=float)
    inside = (least <= seen) & (seen <= most)
    texts = [
        _("{name}: {mean} predicted, {low} to {high}; {word}").format(
            name=name,
            mean=_three(m),
            low=_three(a),
            high=_three(b),
            word=_("the count lies inside") if ok else _("the count lies outside"),
        )
        for name, m, a, b, ok in zip(names, mean, least, most, inside)
    ]
    edge = float(min(least.min(), seen)) / 1.5, float(max(most.max(), seen)) * 1.6
    spread = {
        "type": "scatter",
        "mode": "lines",
        "x": np.stack([least, most, np.full(n, np.nan)], 1).ravel(),
        "y": np.repeat(y, 3),
        "line": {"color": faded(color("model"), 0.7), "width": 3},
        "hoverinfo": "skip",
    }
    middle = points(mean, y, role="model", symbol="circle", size=10, hover="%{text}", text=texts)
    middle["marker"]["color"] = [color("model") if ok else theme().ground for ok in inside]
    middle["marker"]["line"] = {"width": 2, "color": color("model")}
    truth = line([seen, seen], [-0.75, n - 0.5], role="measured", dash="dot", width=2)
    labels = [
        row_label(
            f"<b>{name}</b>" if i == n - 1 else name,
            i,
            up=18,
        )
        for i, name in enumerate(names)
    ]
    labels.append(
        note(
            _("{n} counted").format(n=say_number(seen)),
            role="measured",
            x=float(np.log10(seen)),
            xref="x",
            xanchor="left",
            xshift=6,
            y=-0.72,
            yref="y",
        )
    )
    head = _("{name}: {mean} {what} predicted, {low} to {high}; counted were {seen}").format(
        name=names[-1],
        mean=_three(mean[-1]),
        what=what or _("events"),
        low=_three(least[-1]),
        high=_three(most[-1]),
        seen=say_number(seen),
    )
    return base_figure(
        [spread, middle, truth],
        title=title or head,
        subtitle=_("line: where 9 of 10 should lie; full dot: the count is inside it, open: outside"),
        xaxis=count_axis(*edge, (what or _("events")) + (f", {span}" if span else "")),
        yaxis={"visible": False, "range": [n - 0.4, -1.0], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 84 + 46 * (n + 0.6)),
        margin={"l": 14},
        annotations=labels,
        meta=describe(
            _("Predicted and counted: {list}. Counted: {seen}.").format(list="; ".join(texts), seen=say_number(seen)),
            [_("rates from"), _("predicted"), _("low"), _("high"), _("count inside")],
            [
                (name, round(float(m)), round(float(a)), round(float(b)), _("yes") if ok else _("no"))
                for name, m, a, b, ok in zip(names, mean, least, most, inside)
            ],
        ),
    )


def _three(value: float) -> str:
    """Return a count in three digits: more would pretend."""
    return say_number(float(f"{float(value):.3g}"))
