"""Reviewing: a design against its gates, the parts of a catalogue side by side, and their costs over the load."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import (
    PHONE_CHARS,
    base_figure,
    count_axis,
    describe,
    end_labels,
    limit_line,
    line,
    linear_axis,
    log_axis,
    wrapped,
)
from course_lib.figures.columns import same_length
from course_lib.figures.degrees import HATCH, bars
from course_lib.figures.marks import points
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, color, faded, theme

ROW = 61  # a bar and two lines over it
LINE = 17
BAR = 17
LEFT, RIGHT = 0.2, 5.0  # of a target: what lies further out ends there


def _rows(trace: dict, over: Sequence[Sequence[str]], inks: Sequence[str]) -> dict:
    """Return axis, height, margin and labels of rows with these lines over the bars of `trace`, whose height is set."""
    texts = ["<br>".join(lines) for lines in over]
    more = LINE * max(text.count("<br>") - 1 for text in texts)
    row, n = ROW + more, len(texts)
    labels = [
        row_label(text, i, role=role, up=10, yanchor="bottom", align="left")
        for i, (text, role) in enumerate(zip(texts, inks, strict=True))
    ]
    trace["width"] = BAR / row
    above = (0.95 * ROW + more) / row
    return {
        "yaxis": {"visible": False, "range": [n - 0.5, -above], "fixedrange": True, "title": {"text": ""}},
        "height": round(MARGIN["b"] + 84 + row * (n - 0.5 + above)),
        "margin": {"l": 14},
        "annotations": labels,
    }


def _lines(first: str, second: str, third: str, bold: int) -> list[str]:
    """Return two lines, or more where the second and the third do not fit on one; one of them is bold."""
    second, third = (wrapped(text, PHONE_CHARS) for text in (second, third))
    apart = len(second) + len(third) + 2 > PHONE_CHARS
    parts = [f"<b>{text}</b>" if i == bold else text for i, text in enumerate((second, third))]
    return [wrapped(first, PHONE_CHARS), *(parts if apart else ["  ".join(parts)])]


def gates(
    names: Sequence[str],
    ratio: Sequence[float],
    states: Sequence[str],
    said: Sequence[str],
    *,
    title: str,
    below: str = "",
) -> go.Figure:
    """Return the gates of a design as rows, each a bar from the target (1) to what the design has of it; two traces.

    Args:
        names: of the gates.
        ratio: how much worse than its target a value is: above 1 misses. NaN where nothing is claimed.
        states: "met", or why the gate stops.
        said: value and bound in words.
        title: the sentence over the figure.
        below: the line under it; "" for how to read it.

    >>> gates(["cost", "goodput"], [0.9, 1.4], ["met", "missed"], ["9 of 10", "7 of 10"], title="1 of 2 gates stops it").data[0].x.tolist()
    [-0.09999999999999998, 0.3999999999999999]
    """
    n = len(names)
    if not n:
        raise CourseError(_("There are no gates to draw."))
    value = np.asarray(ratio, float)
    same_length(n, ratio=value, states=states, said=said)
    met = [state == "met" for state in states]
    end = np.clip(np.where(np.isfinite(value), value, 1.0), LEFT, RIGHT)
    y = np.arange(n, dtype=float)
    shade = [faded(color("model"), 0.7) if ok else color("attention") for ok in met]
    texts = [f"{name}: {text}; {_(state)}" for name, text, state in zip(names, said, states, strict=True)]
    trace = bars(end - 1, y, 1.0, shade, texts, across=True)
    trace["marker"]["pattern"] = HATCH | {
        "shape": ["" if ok else "/" for ok in met],
        "fillmode": "overlay",
        "fgcolor": theme().ground,
    }
    ends = points(end, y, role="attention", symbol="circle", size=9, hover="%{text}", text=texts)
    ends["marker"]["color"] = [color("model") if ok else color("attention") for ok in met]
    ends["marker"]["symbol"] = ["circle" if ok else "x" for ok in met]
    over = [_lines(name, text, _(state), bold=1) for name, text, state in zip(names, said, states, strict=True)]
    return base_figure(
        [trace, ends],
        title=title,
        subtitle=below
        or _("bars to the left of the dashed line keep the target, to the right of it miss; hatched: the gate stops"),
        xaxis=log_axis(_("times the target (left is better)"), LEFT, RIGHT, say_number)
        | {"tickvals": [0.2, 0.5, 1, 2, 5], "ticktext": ["0.2", "0.5", "1", "2", "5"]},
        **_rows(trace, over, ["" if ok else "attention" for ok in met]),
        barmode="overlay",
        shapes=[limit_line(x=1)],
        meta=describe(
            _("A design against its gates. {list}.").format(list="; ".join(texts)),
            [_("gate"), _("value and target"), _("state")],
            [(name, text, _(state)) for name, text, state in zip(names, said, states, strict=True)],
        ),
    )


def shelf(
    names: Sequence[str], usd: Sequence[float], years: Sequence[int], stopped: Sequence[str], *, title: str
) -> go.Figure:
    """Return the best design of each part by what a million tokens cost, oldest above, with what stops it; one trace.

    `usd` is USD a million tokens, `stopped` the reason in words or "" where every gate is met.

    >>> shelf(["old box", "new rack"], [0.8, 1.2], [2024, 2026], ["", "cost"], title="The old one costs 0.8").data[0].x.tolist()
    [0.8, 1.2]
    """
    cost = np.asarray(finite("usd", usd, above=0, unit="USD"), float)
    n = len(names)
    same_length(n, usd=cost, years=years, stopped=stopped)
    shade = [color("model") if not why else faded(color("memory"), 0.6) for why in stopped]
    texts = [
        f"{name}, {year}: {say_number(float(c), 3)} USD; " + (why or _("every gate is met"))
        for name, year, c, why in zip(names, years, cost, stopped, strict=True)
    ]
    trace = bars(cost, np.arange(n, dtype=float), 0, shade, texts, across=True)
    trace["marker"]["pattern"] = HATCH | {
        "shape": ["/" if why else "" for why in stopped],
        "fillmode": "overlay",
        "fgcolor": theme().ground,
    }
    over = [
        _lines(f"{name} ({year})", f"{say_number(float(c), 3)} USD", why or _("every gate is met"), bold=0)
        for name, year, c, why in zip(names, years, cost, stopped, strict=True)
    ]
    return base_figure(
        [trace],
        title=title,
        subtitle=_("cost of a million tokens with the best design found for each part; hatched: gates stop it"),
        xaxis=linear_axis(_("USD a million tokens (left is better)"), 0, float(cost.max()) * 1.05),
        **_rows(trace, over, ["" if why else "model" for why in stopped]),
        barmode="overlay",
        meta=describe(
            _("Parts by cost. {list}.").format(list="; ".join(texts)),
            [_("part"), _("year"), _("USD a million tokens"), _("stopped by")],
            [
                (name, year, round(float(c), 3), why or _("nothing"))
                for name, year, c, why in zip(names, years, cost, stopped, strict=True)
            ],
        ),
    )


def over_demand(
    tokens_per_s: Sequence[float], usd: Mapping[str, Sequence[float]], roles: Mapping[str, str], *, title: str
) -> go.Figure:
    """Return what a million tokens cost over how many are asked for, a line for each part; as many traces as parts.

    `tokens_per_s` (m,) at the busy hour, `usd` maps parts to (m,) USD a million, NaN where no design delivers; `roles` colours them.

    >>> fig = over_demand([1e4, 1e5], {"box": [2, 1.0], "rack": [8, 0.8]}, {"box": "nvlink", "rack": "network"}, title="Crossing at 63k")
    >>> len(fig.data)
    2
    """
    x = np.asarray(finite("tokens_per_s", tokens_per_s, above=0), float)
    if not usd:
        raise CourseError(_("There are no parts to draw."))
    lines = {name: np.asarray(values, float) for name, values in usd.items()}
    same_length(len(x), **lines)
    every = np.concatenate([v[np.isfinite(v)] for v in lines.values()])
    dashes = ("solid", "dash", "dot", "dashdot", "longdash", "solid")
    axis = log_axis(_("USD a million tokens"), float(every.min()) / 1.3, float(every.max()) * 1.3, say_number)
    data = [
        line(x, v, role=roles[name], dash=dash, name=name, hover="%{x:,.0f} tokens/s: %{y:.3s} USD")
        for (name, v), dash in zip(lines.items(), dashes, strict=False)
    ]
    ends = [(name, float(v[np.isfinite(v)][-1]), roles[name]) for name, v in lines.items()]
    table = [(say_number(float(t)), *(say_number(float(v[i]), 3) for v in lines.values())) for i, t in enumerate(x)]
    ticks = [t for t in (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000) if x.min() <= t <= x.max()]
    return base_figure(
        data,
        title=title,
        subtitle=_("each step of a line is one more box or rack; below is better"),
        xaxis=count_axis(float(x.min()), float(x.max()), _("tokens/s at the busy hour"), ticks)
        | {"ticktext": [say_number(t) if t in (20_000, 200_000) else "" for t in ticks]},  # pages can be narrow
        yaxis=axis,
        margin={"r": 70},
        annotations=end_labels(ends, axis, outside=True),
        meta=describe(
            title + ". " + "; ".join(f"{name}: {say_number(v, 3)} USD" for name, v, _role in ends) + ".",
            [_("tokens a second"), *lines],
            table,
        ),
    )
