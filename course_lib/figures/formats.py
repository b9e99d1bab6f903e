"""Number formats: how far they reach, and what they lose of real gradients."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import (
    base_figure,
    describe,
    limit_line,
    linear_axis,
    note,
    wrapped,
)
from course_lib.figures.theme import MARGIN, color, faded, theme

ROW_PX = 46
_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def power(exponent: float) -> str:
    """Return a power of ten as people write it.

    >>> power(-8)
    '10⁻⁸'
    """
    return "10" + str(round(exponent)).translate(_DIGITS)


def scientific(value: float) -> str:
    """Return a magnitude with two digits, as a power of ten where it is very small or large.

    >>> scientific(65504.0), scientific(5.96e-8)
    ('65,504', '6.0·10⁻⁸')
    """
    exponent = int(np.floor(np.log10(value))) if value > 0 else 0
    if -4 <= exponent <= 6:
        return say_number(value)
    return f"{value / 10.0**exponent:.1f}·{power(exponent)}"


def reach(formats: Sequence, values, *, what: str = "") -> go.Figure:
    """Return the magnitudes that each format can hold, as bars on one line of powers of ten, over the band of `values`.

    `formats` are records with name, bits, mantissa_bits, smallest, smallest_normal and largest; `what` names the values.
    Two traces: normal numbers, and subnormal ones, which have fewer bits.

    >>> from course_lib.plan.precision import FORMATS
    >>> reach([FORMATS["fp16"]], [1e-9, 1e-6]).layout.title.text.replace("<br>", " ")
    'FP16 ends at 65,504, and 50 % of the values are below its smallest, 6.0·10⁻⁸'
    """
    if not formats:
        raise CourseError(_("There is no format to draw."))
    sizes = np.atleast_1d(finite("values", np.abs(np.asarray(values)), above=0)).ravel()
    log = np.log10
    normal = [[log(f.smallest_normal), log(f.largest)] for f in formats]
    small = [[log(f.smallest), log(f.smallest_normal)] for f in formats]
    names = [f.name.upper().replace("FP8-", "FP8 ").replace("FP4-", "FP4 ") for f in formats]
    y, now = np.arange(len(formats), dtype=float), theme()
    texts = [
        _("{name}: {low} to {high}, from {normal} on with all its bits").format(
            name=n, low=scientific(f.smallest), high=scientific(f.largest), normal=scientific(f.smallest_normal)
        )
        for n, f in zip(names, formats)
    ]
    data = [
        _bars(normal, y, faded(color("memory"), 0.75), texts),
        _bars(small, y, faded(color("memory"), 0.3), texts),
    ]
    low, high = (float(v) for v in np.quantile(log(sizes), [0.01, 0.99]))
    band = {
        "type": "rect",
        "xref": "x",
        "x0": low,
        "x1": high,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "fillcolor": faded(color("attention"), 0.3),
        "line": {"width": 0},
    }
    notes = [
        note(
            _("<b>{name}</b>, {bits} bits: {count} values from 1 to 2").format(
                name=n, bits=f.bits, count=f"{2**f.mantissa_bits:,}"
            ),
            x=0.0,
            xref="paper",
            xanchor="left",
            y=float(i),
            yref="y",
            yshift=17,
            color=now.ink,
        )
        for i, (n, f) in enumerate(zip(names, formats))
    ]
    notes.append(
        note(what or _("values"), role="attention", x=(low + high) / 2, xref="x", y=1, yref="paper", yanchor="bottom")
    )
    worst = max(formats, key=lambda f: float(np.mean(sizes < f.smallest)) if f.name == "fp16" else -1)
    worst_name = names[formats.index(worst)]
    share = say_number(100 * float(np.mean(sizes < worst.smallest)), 2)
    ticks = list(range(-40, 41, 10))
    return base_figure(
        data,
        title=_("{name} ends at {high}, and {share} % of the values are below its smallest, {low}").format(
            name=worst_name, high=scientific(worst.largest), low=scientific(worst.smallest), share=share
        ),
        subtitle=_(
            "bars: magnitudes a format holds; pale: subnormal, with fewer bits; amber: {what}, 98 % of them"
        ).format(what=what or _("the values")),
        xaxis=linear_axis(_("magnitude (powers of ten)"), -47, 41)
        | {"tickvals": ticks, "ticktext": [power(t) if t else "1" for t in ticks]},
        yaxis={"visible": False, "range": [len(y) - 0.5, -0.75], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 90 + ROW_PX * (len(y) + 0.3)),
        margin={"l": 14},
        barmode="overlay",
        annotations=notes,
        shapes=[band],
        meta=describe(
            "; ".join(texts)
            + ". "
            + _("98 % of the values lie between {a} and {b}.").format(a=scientific(10**low), b=scientific(10**high)),
            [_("format"), _("bits"), _("smallest"), _("smallest normal"), _("largest"), _("values from 1 to 2")],
            [
                (
                    n,
                    f.bits,
                    scientific(f.smallest),
                    scientific(f.smallest_normal),
                    scientific(f.largest),
                    2**f.mantissa_bits,
                )
                for n, f in zip(names, formats)
            ],
        ),
    )


def _bars(ends: Sequence[Sequence[float]], y: np.ndarray, shade: str, texts: Sequence[str]) -> dict:
    base = np.array([a for a, _b in ends])
    return {
        "type": "bar",
        "orientation": "h",
        "x": np.array([b for _a, b in ends]) - base,
        "base": base,
        "y": y,
        "width": 0.3,
        "marker": {"color": shade, "line": {"width": 0}},
        "text": list(texts),
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def magnitudes(values, floors: Sequence[float], names: Sequence[str], *, what: str = "") -> go.Figure:
    """Return how many of `values` have which magnitude, with dashed lines where rounding makes zero; amber: lost at the first.

    `floors` are the smallest magnitudes kept, one a name, the highest first. Two traces.

    >>> magnitudes([1e-9, 1e-7, 1e-6, 1e-5], [3e-8, 1e-12], ["scale 1", "scale 2¹⁶"]).layout.title.text.replace("<br>", " ")
    '25 % of the gradients become zero at scale 1, 0 % at scale 2¹⁶'
    """
    sizes = np.atleast_1d(finite("values", np.abs(np.asarray(values)), above=0)).ravel()
    marks = np.atleast_1d(finite("floors", np.asarray(floors), above=0))
    if len(marks) != len(names) or len(marks) < 1:
        raise CourseError(_("Every floor needs a name: {a} floors, {b} names.").format(a=len(marks), b=len(names)))
    logs = np.log10(sizes)
    edges = np.arange(np.floor(min(logs.min(), np.log10(marks.min()))), np.ceil(logs.max()) + 0.25, 0.25)
    counts, _e = np.histogram(logs, edges)
    share, middle = 100 * counts / sizes.size, (edges[1:] + edges[:-1]) / 2
    gone = middle < np.log10(marks[0])
    lost = [say_number(100 * float(np.mean(sizes < m)), 2) for m in marks]
    texts = [
        _("around {m}: {s} % of the gradients").format(m=scientific(10**x), s=say_number(s, 2))
        for x, s in zip(middle, share)
    ]
    data = []
    for mask, role, opacity in ((gone, "attention", 0.8), (~gone, "memory", 0.6)):
        data.append(
            {
                "type": "bar",
                "x": middle[mask],
                "y": share[mask],
                "width": 0.23,
                "text": [t for t, m in zip(texts, mask) if m],
                "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"color": faded(color(role), opacity), "line": {"width": 0}}
                | {
                    "pattern": {
                        "shape": "/" if role == "attention" else "",
                        "fillmode": "overlay",  # else nothing is filled between lines in the colour of the ground
                        "fgcolor": theme().ground,
                        "size": 5,
                    }
                },
            }
        )
    top = float(share.max()) * 1.3
    shapes = [limit_line(x=float(np.log10(m))) for m in marks]
    notes = [
        note(
            wrapped(_("{name}: zero to the left").format(name=n), 14),
            role="limit",
            align="left",
            x=float(np.log10(m)),
            xref="x",
            xanchor="left",
            xshift=5,
            y=1,
            yref="paper",
            yanchor="top",
            yshift=-36 * i,
        )
        for i, (m, n) in enumerate(zip(marks, names))
    ]
    ticks = [t for t in range(int(edges[0]), int(edges[-1]) + 1) if t % 2 == 0]
    return base_figure(
        data,
        title=_("{x} % of the gradients become zero at {a}, {y} % at {b}").format(
            a=names[0], x=lost[0], b=names[-1], y=lost[-1]
        ),
        subtitle=_("bars: {what} by magnitude; amber: what {name} loses in FP16").format(
            what=what or _("gradients"), name=names[0]
        ),
        xaxis=linear_axis(_("magnitude (powers of ten)"), float(edges[0]), float(edges[-1]))
        | {"tickvals": ticks, "ticktext": [power(t) for t in ticks]},
        yaxis=linear_axis(_("share of all (%)"), 0, top),
        barmode="overlay",
        annotations=notes,
        shapes=shapes,
        meta=describe(
            _("{n} values. ").format(n=sizes.size)
            + "; ".join(
                _("at {name} {lost} % lie below {floor} and become zero").format(
                    name=n, lost=v, floor=scientific(float(m))
                )
                for n, v, m in zip(names, lost, marks)
            )
            + ".",
            [_("magnitude"), _("share (%)")],
            [(scientific(10**x), round(float(s), 2)) for x, s in zip(middle, share)],
        ),
    )
