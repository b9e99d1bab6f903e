"""Rows: pictures read from top to bottom: a ladder of rates, what is lost on the way, a guess beside the model."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.figures.base import (
    PHONE_CHARS,
    base_figure,
    describe,
    line,
    linear_axis,
    note,
    points,
    rate_axis,
    wrapped,
)
from course_lib.figures.theme import MARGIN, SYMBOL, color, faded, ink, theme

ROW_PX = 46  # one line over a bar
BAR_PX = 17
TALL_PX = 62  # two lines over a bar
LINE_PX = 17


def ladder(names: Sequence[str], rate_Bps, roles: Sequence[str], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return rates (bytes/s, one direction) as bars on a log axis, fastest first, each named and valued directly; one trace.

    >>> ladder(["HBM3", "PCIe 5 x16"], [3.35e12, 63e9], ["memory", "pcie"]).layout.title.text
    'The rate falls 53 ×, from HBM3 to PCIe 5 x16'
    """
    rates = np.atleast_1d(finite("rate_Bps", np.asarray(rate_Bps, dtype=float), above=0))
    _same_length(names=names, rate_Bps=rates, roles=roles)
    order = np.argsort(-rates, kind="stable")
    names, roles, rates = [names[i] for i in order], [roles[i] for i in order], rates[order]
    low = 10 ** np.floor(np.log10(rates.min() / 3))
    high = rates.max() * (rates.max() / low) ** 0.42  # room for the value of the longest bar, on a narrow screen, too
    texts = [f"{name}: {say_rate(float(rate))}" for name, rate in zip(names, rates)]
    bars = row_bars(rates - low, base=low, colours=[color(role) for role in roles], texts=texts, row_px=ROW_PX)
    labels = [row_label(name, i) for i, name in enumerate(names)]
    labels += [
        row_value(f"<b>{say_rate(float(rate))}</b>", np.log10(rate), i, ink(role))
        for i, (rate, role) in enumerate(zip(rates, roles))
    ]
    ratio = say_number(float(rates[0] / rates[-1]), 2)
    return base_figure(
        [bars],
        title=title
        or _("The rate falls {ratio} ×, from {first} to {last}").format(first=names[0], last=names[-1], ratio=ratio),
        subtitle=subtitle or _("one direction; each grid line is ten times the one before"),
        xaxis=rate_axis(float(low), float(high)),
        **rows_layout(len(names)),
        annotations=labels,
        meta=describe(
            _("Rates of one direction on a log scale, fastest first: {list}.").format(list="; ".join(texts)),
            [_("what"), _("rate, one direction")],
            [(name, say_rate(float(rate))) for name, rate in zip(names, rates)],
        ),
    )


def losses(
    stages: Sequence[str],
    rate_Bps,
    *,
    role: str = "pcie",
    measured_Bps: float | None = None,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return what is left of a line rate after each stage: solid is left, hatched was lost at this stage; three traces.

    `stages` names them from the line rate on, `rate_Bps` (bytes/s, one direction, never rising) is what is left after each;
    `measured_Bps` adds a purple bar of a measured rate.

    >>> losses(["line rate", "encoding", "packet headers"], [64e9, 63e9, 55e9]).layout.title.text
    '86 % of the line rate is left: 55 GB/s of 64 GB/s'
    """
    rates = np.atleast_1d(finite("rate_Bps", np.asarray(rate_Bps, dtype=float), above=0))
    _same_length(stages=stages, rate_Bps=rates)
    if (np.diff(rates) > 1e-9 * rates[0]).any():
        raise CourseError(
            _("rate_Bps rises from one stage to the next: {rates}; what is left can only fall.").format(
                rates=rates.tolist()
            )
        )
    lost = np.concatenate([[0.0], -np.diff(rates)])
    texts = [f"{stage}: {say_rate(float(rate))}" for stage, rate in zip(stages, rates)]
    left = row_bars(rates, base=0, colours=[color(role)] * len(rates), texts=texts)
    gone = row_bars(lost, base=rates, colours=[faded(color("attention"), 0.35)] * len(rates), texts=texts)
    gone["marker"]["pattern"] = {"shape": "/", "fgcolor": theme().muted, "size": 6, "solidity": 0.25}
    shown = [
        _left_and_lost(float(rate), float(less), float(rates[max(i - 1, 0)]))
        for i, (rate, less) in enumerate(zip(rates, lost))
    ]
    labels = [_two_lines(stage, text, i, role) for i, (stage, text) in enumerate(zip(stages, shown))]
    words = _("What is left of a link's rate, one direction: {list}.").format(list="; ".join(texts))
    rows = [(s, say_rate(float(r)), say_rate(float(x))) for s, r, x in zip(stages, rates, lost)]
    seen = row_bars([], base=0, colours=[], texts=[])
    if measured_Bps is not None:
        measured, n = finite("measured_Bps", measured_Bps, above=0), len(rates)
        seen = row_bars(
            [measured],
            base=0,
            colours=[color("measured")],
            texts=[_("measured: {rate}").format(rate=say_rate(measured))],
        )
        seen["y"] = [n]
        share = _("<b>{rate}</b>  {percent} % of the last line").format(
            rate=say_rate(measured), percent=say_number(100 * measured / float(rates[-1]), 3)
        )
        labels.append(_two_lines(_("measured"), share, n, "measured"))
        words += " " + _("Measured: {rate}.").format(rate=say_rate(measured))
        rows.append((_("measured"), say_rate(measured), ""))
    percent = say_number(100 * float(rates[-1] / rates[0]), 2)
    return base_figure(
        [left, gone, seen],
        title=title
        or _("{percent} % of the line rate is left: {left} of {all}").format(
            percent=percent, left=say_rate(float(rates[-1])), all=say_rate(float(rates[0]))
        ),
        subtitle=subtitle or _("solid: left after this stage; hatched: lost at it; one direction"),
        xaxis=linear_axis(_("rate, one direction"), 0, float(rates[0]) * 1.02) | _linear_ticks(float(rates[0])),
        **rows_layout(len(rates) + (measured_Bps is not None), TALL_PX),
        barmode="overlay",
        annotations=labels,
        meta=describe(words, [_("stage"), _("left, one direction"), _("lost here")], rows),
    )


def _left_and_lost(rate_Bps: float, lost_Bps: float, before_Bps: float) -> str:
    left = f"<b>{say_rate(rate_Bps)}</b>"
    if not lost_Bps:
        return left
    return left + _("  −{less} ({share} %)").format(
        less=say_rate(lost_Bps), share=say_number(100 * lost_Bps / before_Bps, 2)
    )


def residuals(
    names: Sequence[str], measured, model, say: Callable[[float], str], *, title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return how far measurements are from the model, one row each: zero is the model, the cross the measurement, in percent.

    Two traces. `say` says a value (say_rate, say_time); the worst row is named in the title.

    >>> residuals(["H200 host copy"], [55.4e9], [57e9], say_rate).layout.title.text
    'H200 host copy is 2.8 % below the model, the largest miss of 1'
    """
    measured, model = (
        np.atleast_1d(finite(n, np.asarray(v, dtype=float), above=0))
        for n, v in (("measured", measured), ("model", model))
    )
    _same_length(names=names, measured=measured, model=model)
    off = (measured / model - 1) * 100
    worst = int(np.argmax(np.abs(off)))
    span = max(10.0, float(np.abs(off).max()) * 1.15)
    n = len(names)
    y = np.arange(n, dtype=float)
    stems_x = np.column_stack([np.zeros(n), off, np.full(n, np.nan)]).ravel()
    texts = [
        _("{name}: measured {measured}, model {model}, {off} %").format(
            name=a, measured=say(float(b)), model=say(float(c)), off=f"{d:+.1f}"
        )
        for a, b, c, d in zip(names, measured, model, off)
    ]
    data = [
        line(stems_x, np.repeat(y, 3), role="measured", width=3, dash="solid"),
        points(off, y, size=10, hover="%{text}", text=texts, symbol=SYMBOL["measured"]),
    ]
    shown = [
        _("<b>{off} %</b>  {measured} of {model}").format(
            off=f"{d:+.1f}".replace("-", "−"), measured=say(float(b)), model=say(float(c))
        )
        for b, c, d in zip(measured, model, off)
    ]
    over = [wrapped(name, PHONE_CHARS) for name in names]
    labels = [_two_lines(name, text, i, "measured") for i, (name, text) in enumerate(zip(over, shown))]
    zero = {
        "type": "line",
        "x0": 0,
        "x1": 0,
        "y0": -0.6,
        "y1": n - 0.5,
        "line": {"color": color("model"), "width": 2},
        "layer": "below",
    }
    side = _("below") if off[worst] < 0 else _("above")
    return base_figure(
        data,
        title=title
        or _("{name} is {off} % {side} the model, the largest miss of {n}").format(
            name=names[worst], off=say_number(abs(float(off[worst])), 2), side=side, n=n
        ),
        subtitle=subtitle or _("upright line: the model; crosses: measured"),
        xaxis=linear_axis(_("measured against the model (%)"), -span, span),
        **rows_layout(n, TALL_PX + LINE_PX * max(name.count("<br>") for name in over)),
        annotations=labels,
        shapes=[zero],
        meta=describe(
            _("Measurements against the model: {list}.").format(list="; ".join(texts)),
            [_("what"), _("measured"), _("model"), _("off")],
            [(a, say(float(b)), say(float(c)), f"{d:+.1f} %") for a, b, c, d in zip(names, measured, model, off)],
        ),
    )


# Rows share a geometry: the name above its bar, the value at its end or at the right edge.


def rows_layout(n_rows: int, row_px: int = ROW_PX) -> dict:
    """Return the vertical axis, height and margin of a figure with rows, for `base_figure`.

    >>> rows_layout(3)["yaxis"]["visible"]
    False
    """
    above = (row_px - 12) / row_px  # from the middle of the first bar to the top of its label
    yaxis = {"visible": False, "range": [n_rows - 1 + 14 / row_px, -above], "fixedrange": True, "title": {"text": ""}}
    return {"yaxis": yaxis, "height": round(MARGIN["b"] + 74 + row_px * (n_rows - 1 + above) + 14), "margin": {"l": 14}}


def _two_lines(name: str, text: str, row: int, role: str) -> dict:
    """Return a name and under it its value, over the bar of a row."""
    label = row_label(f'{name}<br><span style="color:{ink(role)}">{text}</span>', row)
    return label | {"yshift": 10, "yanchor": "bottom", "align": "left"}


def row_bars(lengths, *, base, colours: Sequence[str], texts: Sequence[str], row_px: int = TALL_PX) -> dict:
    """Return a trace of one bar a row, from `base` on; hovering says its text.

    >>> row_bars([1, 2], base=0, colours=["#000000"] * 2, texts=["a", "b"])["base"]
    [0, 0]
    """
    return {
        "type": "bar",
        "orientation": "h",
        "x": np.asarray(lengths),
        "y": np.arange(len(texts), dtype=float),
        "base": base if np.ndim(base) else [base] * len(texts),
        "width": BAR_PX / row_px,
        "marker": {"color": list(colours), "line": {"width": 0}},
        "text": list(texts),
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def row_label(text: str, row: int, *, up: int = 20, **more) -> dict:
    """Return the name over the bar of a row, `up` pixels above its middle.

    >>> row_label("NVLink", 2)["y"]
    2
    """
    return note(text, x=0, xref="paper", xanchor="left", y=row, yref="y", yshift=up, **more)


def row_value(text: str, x: float, row: int, colour: str) -> dict:
    """Return the value at the end of the bar of a row; `x` as the axis counts.

    >>> row_value("450 GB/s", 450, 0, "#000000")["xanchor"]
    'left'
    """
    return note(text, x=float(x), xref="x", xanchor="left", y=row, yref="y", xshift=6, color=colour)


def _linear_ticks(high_Bps: float) -> dict:
    unit = 10 ** np.floor(np.log10(high_Bps))
    step = next(s for s in (0.25, 0.5, 1, 2, 2.5, 5) if high_Bps / (unit * s) <= 4.5) * unit
    values = np.arange(0, high_Bps * 1.0001, step)
    return {"tickvals": values.tolist(), "ticktext": [say_rate(float(v)) if v else "0" for v in values]}


def _same_length(**columns) -> None:
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise CourseError(_("One entry a row is expected in each of: {sizes}.").format(sizes=shown))
