"""Curves over message size: rate and time of links, with half-sizes, limits and measured points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_rate, say_time
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    describe,
    end_labels,
    line,
    points,
    rate_axis,
    ring,
    size_axis,
    time_axis,
    wrapped,
)
from course_lib.figures.residualfit import fit_and_residuals
from course_lib.figures.theme import SERIES_DASH, color, theme

__all__ = ["Curve", "Measured", "fit_and_residuals", "rate_over_size", "time_over_size"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A model over size: `y` has the shape of the sizes (bytes/s or s); `half_B` gets a ring, `limit` a dashed grey line."""

    name: str
    y: np.ndarray
    role: str = "model"
    dash: str | None = None
    half_B: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """Published or own points: sizes in bytes, values in bytes/s or s, and their spread where it is known."""

    name: str
    message_B: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    role: str = "measured"


def rate_over_size(
    message_B,
    curves: Sequence[Curve],
    *,
    measured: Sequence[Measured] = (),
    at_B: float | None = None,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return rate over message size: a line a link, a ring at each half-size, points for measurements, limits dashed grey.

    `at_B` marks one message on every line. Traces: one a curve, one of rings, one of marks, one of limits, one a measurement.

    >>> sizes = np.array([1e3, 1e6, 1e9])
    >>> fig = rate_over_size(sizes, [Curve("NVLink 4", sizes / (2e-6 + sizes / 4e11), "nvlink", half_B=8e5, limit=4e11)])
    >>> fig.layout.title.text
    'NVLink 4: below 800 KB latency sets the rate'
    """
    sizes = finite("message_B", np.asarray(message_B), above=0)
    curves = [_checked(curve, sizes) for curve in curves]
    top = max(
        [float(np.max(c.y)) for c in curves] + [c.limit or 0 for c in curves] + [float(np.max(m.y)) for m in measured]
    )
    bottom = min([float(np.min(c.y)) for c in curves] + [float(np.min(m.y)) for m in measured])
    bottom = max(bottom, top * 1e-7, np.finfo(float).tiny * 1e10)
    yaxis, xaxis = rate_axis(bottom, top * 2.2), size_axis(float(sizes.min()), float(sizes.max()))
    hover = "%{text}"
    data = [_drawn(curve, sizes, "B/s", i, curves) for i, curve in enumerate(curves)]
    halves = [(c, c.half_B) for c in curves if c.half_B is not None and sizes.min() <= c.half_B <= sizes.max()]
    rings = ring([h for _c, h in halves], [_on(c, sizes, h) for c, h in halves], hover=hover)
    rings["text"] = [_("{name}: half of its rate at {size}").format(name=c.name, size=say_bytes(h)) for c, h in halves]
    rings["marker"]["line"]["color"] = [color(c.role) for c, _h in halves]
    data += [
        rings,
        _marks(curves, sizes, at_B, say_rate),
        _limits(curves, sizes),
        *(_measured(m, say_rate) for m in measured),
    ]
    labels = [(f"{wrapped(c.name, 20)}  <b>{say_rate(float(c.y[-1]))}</b>", float(c.y[-1]), c.role) for c in curves]
    first = next(iter(halves), None)
    if not title:
        title = (
            _("{name}: below {size} latency sets the rate").format(name=first[0].name, size=say_bytes(first[1]))
            if first
            else _("{name} reaches {rate}").format(name=curves[0].name, rate=say_rate(float(np.max(curves[0].y))))
        )
    if not subtitle:
        rings_text = _("rings: size at which half of the rate is reached") if halves else ""
        subtitle = "; ".join(
            t
            for t in (
                rings_text,
                _("crosses: measured") if measured else "",
                _("dashed grey: limit") if any(c.limit for c in curves) else "",
            )
            if t
        )
    rows = [(c.name, say_bytes(float(b)), say_rate(float(r))) for c in curves for b, r in _few(sizes, c.y)]
    rows += [(m.name, say_bytes(float(b)), say_rate(float(r))) for m in measured for b, r in zip(m.message_B, m.y)]
    alt = _("Rate over message size, both axes logarithmic. ") + " ".join(_curve_words(c, sizes) for c in curves)
    return base_figure(
        data,
        title=title,
        subtitle=subtitle,
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis),
        meta=describe(
            alt + _measured_words(measured, say_rate), [_("link"), _("size"), _("rate, one direction")], rows
        ),
    )


def time_over_size(
    message_B,
    curves: Sequence[Curve],
    *,
    measured: Sequence[Measured] = (),
    at_B: float | None = None,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return time over message size, one line a link; traces as in `rate_over_size`, the rings at the half-sizes.

    >>> sizes = np.array([1e3, 1e6, 1e9])
    >>> time_over_size(sizes, [Curve("PCIe 5", 1e-5 + sizes / 5e10, "pcie")]).layout.title.text
    'PCIe 5: 1 KB takes 10 µs, 1 GB takes 20 ms'
    """
    sizes = finite("message_B", np.asarray(message_B), above=0)
    curves = [_checked(curve, sizes) for curve in curves]
    low = min([float(np.min(c.y)) for c in curves] + [float(np.min(m.y)) for m in measured])
    high = max([float(np.max(c.y)) for c in curves] + [float(np.max(m.y)) for m in measured])
    yaxis, xaxis = time_axis(low / 2, high * 2), size_axis(float(sizes.min()), float(sizes.max()))
    data = [_drawn(curve, sizes, "s", i, curves) for i, curve in enumerate(curves)]
    halves = [(c, c.half_B) for c in curves if c.half_B is not None and sizes.min() <= c.half_B <= sizes.max()]
    rings = ring([h for _c, h in halves], [_on(c, sizes, h) for c, h in halves], hover="%{text}")
    rings["text"] = [
        _("{name}: latency and transfer take the same time at {size}").format(name=c.name, size=say_bytes(h))
        for c, h in halves
    ]
    rings["marker"]["line"]["color"] = [color(c.role) for c, _h in halves]
    data += [
        rings,
        _marks(curves, sizes, at_B, say_time),
        _limits(curves, sizes),
        *(_measured(m, say_time) for m in measured),
    ]
    labels = [(f"{wrapped(c.name, 13)}<br><b>{say_time(float(c.y[-1]))}</b>", float(c.y[-1]), c.role) for c in curves]
    c = curves[0]
    title = title or _("{name}: {small} takes {fast}, {large} takes {slow}").format(
        name=c.name,
        small=say_bytes(float(sizes[0])),
        fast=say_time(float(c.y[0])),
        large=say_bytes(float(sizes[-1])),
        slow=say_time(float(c.y[-1])),
    )
    if not subtitle:
        subtitle = (
            _("flat: latency; rising: bandwidth")
            + (_("; rings: both take the same time") if halves else "")
            + (_("; crosses: measured") if measured else "")
        )
    rows = [(c.name, say_bytes(float(b)), say_time(float(t))) for c in curves for b, t in _few(sizes, c.y)]
    rows += [(m.name, say_bytes(float(b)), say_time(float(t))) for m in measured for b, t in zip(m.message_B, m.y)]
    alt = _("Time over message size, both axes logarithmic. ") + " ".join(
        _("{name}: {fast} at {small}, {slow} at {large}.").format(
            name=c.name,
            fast=say_time(float(c.y[0])),
            small=say_bytes(float(sizes[0])),
            slow=say_time(float(c.y[-1])),
            large=say_bytes(float(sizes[-1])),
        )
        for c in curves
    )
    return base_figure(
        data,
        title=title,
        subtitle=subtitle,
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE},
        meta=describe(alt + _measured_words(measured, say_time), [_("link"), _("size"), _("time")], rows),
    )


def _checked(curve: Curve, sizes: np.ndarray) -> Curve:
    y = finite(curve.name, np.asarray(curve.y), above=0)
    if np.shape(y) != sizes.shape:
        raise CourseError(
            _("{name} has {n} values for {m} sizes; one a size is expected.").format(
                name=curve.name, n=np.size(y), m=sizes.size
            )
        )
    return curve


def _drawn(curve: Curve, sizes: np.ndarray, unit: str, index: int, curves: Sequence[Curve]) -> dict:
    """Return the line of a curve; a second one of the same colour gets another dash."""
    same = [c for c in curves[:index] if c.role == curve.role]
    dash = curve.dash or (SERIES_DASH[len(same) % len(SERIES_DASH)] if same else None)
    return line(
        sizes,
        curve.y,
        role=curve.role,
        name=curve.name,
        dash=dash,
        hover=f"{curve.name}: %{{x:.3s}}B, %{{y:.3s}}{unit}",
    )


def _on(curve: Curve, sizes: np.ndarray, message_B: float) -> float:
    """Return the curve's value at a size, read on log axes."""
    return float(np.exp(np.interp(np.log(message_B), np.log(sizes), np.log(curve.y))))


def _marks(curves: Sequence[Curve], sizes: np.ndarray, at_B: float | None, say) -> dict:
    chosen = [] if at_B is None else [c for c in curves if sizes.min() <= at_B <= sizes.max()]
    y = [_on(c, sizes, at_B) for c in chosen]
    texts = [f"{c.name}: {say_bytes(at_B)}, {say(v)}" for c, v in zip(chosen, y)]
    marks = points([at_B] * len(chosen), y, role="attention", symbol="diamond", size=11, hover="%{text}", text=texts)
    marks["marker"]["line"] = {"width": 1.5, "color": theme().ink}
    return marks


def _limits(curves: Sequence[Curve], sizes: np.ndarray) -> dict:
    x, y = [], []
    for limit in {c.limit for c in curves if c.limit}:
        x += [sizes.min(), sizes.max(), None]
        y += [limit, limit, None]
    return line(x, y, role="limit", width=1.5) | {"x": x, "y": y}


def _measured(m: Measured, say) -> dict:
    texts = [
        f"{m.name}: {say_bytes(float(b))}, {say(float(v))}" for b, v in zip(np.asarray(m.message_B), np.asarray(m.y))
    ]
    return points(m.message_B, m.y, role=m.role, low=m.low, high=m.high, name=m.name, hover="%{text}", text=texts)


def _few(sizes: np.ndarray, y: np.ndarray, at_most: int = 12):
    keep = np.unique(np.linspace(0, sizes.size - 1, min(at_most, sizes.size)).round().astype(int))
    return zip(sizes[keep], np.asarray(y)[keep])


def _curve_words(curve: Curve, sizes: np.ndarray) -> str:
    words = _("{name}: {slow} at {small}, {fast} at {large}").format(
        name=curve.name,
        slow=say_rate(float(curve.y[0])),
        small=say_bytes(float(sizes[0])),
        fast=say_rate(float(curve.y[-1])),
        large=say_bytes(float(sizes[-1])),
    )
    half = _(", half of its rate at {size}").format(size=say_bytes(curve.half_B)) if curve.half_B is not None else ""
    return words + half + "."


def _measured_words(measured: Sequence[Measured], say) -> str:
    return "".join(
        " "
        + _("Measured, {name}: {n} points, at most {best}.").format(
            name=m.name, n=len(m.y), best=say(float(np.max(m.y)))
        )
        for m in measured
    )
