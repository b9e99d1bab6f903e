"""In the switch: bus bandwidth over the number of GPUs, with and without a switch that adds, limits and measurements."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import GB, say_number, say_rate
from course_lib.figures.base import OUTSIDE, base_figure, count_axis, describe, end_labels, line, linear_axis, points


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
    yaxis = linear_axis(_("bus bandwidth (bytes/s)"), 0, top) | {
        "tickvals": ticks.tolist(),
        "ticktext": [say_rate(float(t)) if t else "0" for t in ticks],
    }
    xaxis = count_axis(float(n.min()) * 0.96, float(n.max()) * 1.04, _("GPUs that take part"), [int(v) for v in n])
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
        data.append(points(m, y, role="measured", symbol=symbol, size=10, hover="%{text}", text=texts))
    last = int(np.argmax(m))
    return base_figure(
        data,
        title=title
        or _("At {n} GPUs a switch that adds shows {rate} on a link of {link}").format(
            n=int(m[last]), rate=say_rate(float(on[last]), 3), link=say_rate(link_Bps)
        ),
        subtitle=subtitle
        or _("lines: limits of full links; crosses: measured, the library chooses; rings: adding switched off"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(ends, yaxis, outside=True),
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
