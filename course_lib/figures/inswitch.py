"""In the switch: bus bandwidth over the number of GPUs and over size, with a switch that adds and without, and limits."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import GB, say_bytes, say_number, say_rate
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    count_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    points,
    size_axis,
)
from course_lib.figures.theme import color


def busbw_over_gpus(
    n_ranks,
    limits: dict[str, np.ndarray],
    link_Bps: float,
    measured_n,
    with_Bps,
    without_Bps,
    *,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return bus bandwidth over the number of GPUs: limits as lines, the link dashed, two measured series as crosses and rings.

    Args:
        n_ranks: (n,) counts of the lines.
        limits: names → (n,) bytes/s.
        link_Bps: one direction of a GPU's link.
        measured_n, with_Bps, without_Bps: (m,) measurements with adding switches allowed, and switched off.

    One trace a limit, one for the link, two of measurements.

    >>> n = np.array([2, 4, 8])
    >>> busbw_over_gpus(n, {"NVLS": 2 * (n - 1) / (n + 1) * 450e9}, 450e9, [8], [473.1e9], [365.6e9]).layout.title.text.replace("<br>", " ")
    'At 8 GPUs a switch that adds shows 473 GB/s on a link of 450 GB/s'
    """
    n = np.atleast_1d(finite("n_ranks", np.asarray(n_ranks, dtype=float), at_least=2))
    m, on, off = (
        np.atleast_1d(finite(name, np.asarray(v, dtype=float), above=0))
        for name, v in (("measured_n", measured_n), ("with_Bps", with_Bps), ("without_Bps", without_Bps))
    )
    if not m.shape == on.shape == off.shape or any(np.shape(v) != n.shape for v in limits.values()):
        raise CourseError(_("Each line and each measured series needs one value per number of GPUs."))
    top = max([float(np.max(v)) for v in limits.values()] + [link_Bps, float(on.max())]) * 1.1
    ticks = np.arange(0, top, 100 * GB) if top < 1500 * GB else np.arange(0, top, 500 * GB)
    yaxis = linear_axis(_("bus bandwidth"), 0, top) | {
        "tickvals": ticks.tolist(),
        "ticktext": [say_rate(float(t)) if t else "0" for t in ticks],
    }
    xaxis = count_axis(
        float(n.min()) * 0.96,
        float(n.max()) * 1.04,
        _("GPUs that take part"),
        [int(v) for v in n if v <= 8 or v in (12, 16, 24, 32, 72)],
    )
    dashes = ("solid", "dot", "dashdot")
    data, ends = [], []
    for k, (name, y) in enumerate(limits.items()):
        texts = [
            _("{name}, {n} GPUs: {rate}").format(name=name, n=int(a), rate=say_rate(float(b))) for a, b in zip(n, y)
        ]
        data.append(line(n, y, role="nvlink", dash=dashes[k % 3], name=name, hover="%{text}", text=texts))
        ends.append((f"{name}<br><b>{say_rate(float(y[-1]))}</b>", float(y[-1]), "nvlink"))
    data.append(line([n.min(), n.max()], [link_Bps, link_Bps], role="limit"))
    ends.append((_("the link<br><b>{rate}</b>").format(rate=say_rate(link_Bps)), link_Bps, "limit"))
    for y, what, symbol in ((off, _("switched off"), "circle-open"), (on, _("allowed"), "x")):
        texts = [
            _("measured, adding in the switch {what}, {n} GPUs: {rate}").format(
                what=what, n=int(a), rate=say_rate(float(b), 3)
            )
            for a, b in zip(m, y)
        ]
        mark = points(m, y, role="measured", symbol=symbol, size=10, hover="%{text}", text=texts)
        if symbol.endswith("open"):
            mark["marker"]["line"] = {"width": 2, "color": color("measured")}
        data.append(mark)
    last = int(np.argmax(m))
    return base_figure(
        data,
        title=title
        or _("At {n} GPUs a switch that adds shows {rate} on a link of {link}").format(
            n=int(m[last]), rate=say_rate(float(on[last]), 3), link=say_rate(link_Bps)
        ),
        subtitle=subtitle
        or _("lines: limits of full links; crosses: measured, the library chooses; circles: adding switched off"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(ends, yaxis, outside=True, gap_px=20),
        margin={"r": OUTSIDE + 24},
        meta=describe(
            _(
                "Bus bandwidth over GPUs. Measured with adding in the switch allowed and off: {list}."
                " Limits at {n} GPUs: {limits}. The link carries {link}."
            ).format(
                list="; ".join(
                    f"{int(a)}: {say_rate(float(b), 3)}, {say_rate(float(c), 3)}" for a, b, c in zip(m, on, off)
                ),
                n=int(n[-1]),
                limits=", ".join(f"{k} {say_rate(float(v[-1]))}" for k, v in limits.items()),
                link=say_rate(link_Bps),
            ),
            [_("GPUs"), _("allowed"), _("switched off"), _("gain")],
            [
                (int(a), say_rate(float(b), 4), say_rate(float(c), 4), say_number(float(b / c), 3))
                for a, b, c in zip(m, on, off)
            ],
        ),
    )


def choice_beside(
    message_B, measured_Bps, choice_Bps, ring_Bps, link_Bps: float, name: str, *, title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return a measured sweep of bus bandwidth with the predictor's choice and its ring beside it, on a linear scale.

    All four columns are (s,), rates in bytes/s. Four traces.

    >>> choice_beside([1e6, 1e9], [5e10, 4.8e11], [5e10, 4.7e11], [5e10, 3.8e11], 4.5e11, "H100").layout.title.text
    'H100: 480 GB/s of bus bandwidth on a link of 450 GB/s'
    """
    columns = [
        np.atleast_1d(finite(k, np.asarray(v, dtype=float), above=0))
        for k, v in (
            ("message_B", message_B),
            ("measured_Bps", measured_Bps),
            ("choice_Bps", choice_Bps),
            ("ring_Bps", ring_Bps),
        )
    ]
    sizes, measured, choice, ring = columns
    if len({c.shape for c in columns}) > 1:
        raise CourseError(_("A sweep needs one measured rate and two predicted ones for each size."))
    texts = [f"{say_bytes(float(b))}: {say_rate(float(r), 3)}" for b, r in zip(sizes, measured)]
    data = [
        line(sizes, choice, role="nvlink"),
        line(sizes, ring, role="model", dash="dot"),
        line(sizes[[0, -1]], [link_Bps, link_Bps], role="limit", width=1.5),
        points(sizes, measured, hover="%{text}", text=texts),
    ]
    yaxis = busbw_axis(max(float(measured.max()), float(choice.max()), link_Bps) * 1.12)
    last = (float(choice[-1]), float(ring[-1]))
    ends = [
        (_("the choice<br><b>{r}</b>").format(r=say_rate(last[0])), last[0], "nvlink"),
        (_("a ring<br><b>{r}</b>").format(r=say_rate(last[1])), last[1], "model"),
        (_("the link<br><b>{r}</b>").format(r=say_rate(link_Bps)), link_Bps, "limit"),
    ]
    said = {"where": name, "rate": say_rate(float(measured[-1]), 3), "link": say_rate(link_Bps)}
    return base_figure(
        data,
        title=title or _("{where}: {rate} of bus bandwidth on a link of {link}").format(**said),
        subtitle=subtitle or _("crosses: measured; solid: the predictor's choice; dotted: a ring at every size"),
        xaxis=size_axis(float(sizes[0]) / 1.3, float(sizes[-1]) * 1.3),
        yaxis=yaxis,
        annotations=end_labels(ends, yaxis, outside=True, gap_px=19),
        margin={"r": OUTSIDE + 24},
        meta=describe(
            _("Bus bandwidth of {where} over message size: {rate} measured at the end, on a link of {link}.").format(
                **said
            ),
            [_("size"), _("measured"), _("predicted choice"), _("predicted ring")],
            [
                (say_bytes(float(b)), *(say_rate(float(v), 3) for v in row))
                for b, *row in zip(sizes, measured, choice, ring)
            ],
        ),
    )


def busbw_axis(top_Bps: float) -> dict:
    """Return a linear axis of bus bandwidths from 0 to `top_Bps`.

    >>> busbw_axis(504e9)["ticktext"][:3]
    ['0', '100 GB/s', '200 GB/s']
    """
    unit = 10 ** np.floor(np.log10(top_Bps))
    step = next(unit * s for s in (0.2, 0.25, 0.5, 1, 2) if top_Bps / (unit * s) <= 5.5)
    ticks = np.arange(0, top_Bps, step)
    axis = linear_axis(_("bus bandwidth"), 0, top_Bps)
    return axis | {"tickvals": ticks.tolist(), "ticktext": [say_rate(float(t)) if t else "0" for t in ticks]}
