"""Bus bandwidth over message size: a measured collective beside models, and under it how many times longer it took."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
    points,
    rate_axis,
    size_axis,
)

HEIGHT, SPLIT, BELOW = (
    520,
    0.40,
    0.28,
)  # px; where the upper plot begins and the lower one ends, as shares of the height


def measured_beside(
    message_B,
    measured_Bps,
    wires_Bps,
    software_Bps,
    link_Bps: float,
    *,
    where: str,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return bus bandwidths over size: measured, a schedule on the wires alone, a predictor that knows software, the link.

    Under it, as a multiple of the time on the wires alone, the measured and the predicted time. Eight traces.

    >>> fig = measured_beside([1e3, 1e9], [1e8, 2e11], [4e8, 3e11], [2e8, 2.2e11], 3e11, where="8 x A100")
    >>> fig.layout.title.text.replace("<br>", " ")
    '8 x A100: the bus bandwidth reaches 200 GB/s on links of 300 GB/s'
    """
    names = ("message_B", "measured_Bps", "wires_Bps", "software_Bps")
    values = (message_B, measured_Bps, wires_Bps, software_Bps)
    sizes, measured, wires, software = (
        np.atleast_1d(finite(name, np.asarray(v, dtype=float), above=0)) for name, v in zip(names, values, strict=True)
    )
    if not sizes.shape == measured.shape == wires.shape == software.shape:
        raise CourseError(_("One value a size is expected in each of: {names}.").format(names=", ".join(names)))
    limit = finite("link_Bps", link_Bps, above=0, unit="B/s")
    slower, predicted = wires / measured, wires / software
    xaxis = size_axis(float(sizes.min()) / 1.5, float(sizes.max()) * 1.5) | {"anchor": "y2"}
    low = min(float(v.min()) for v in (measured, wires, software))
    yaxis = rate_axis(low / 1.6, limit * 1.7, _("bus bandwidth")) | {"domain": [SPLIT, 1]}
    top = max(2.0, float(max(slower.max(), predicted.max())) * 1.12)
    below = linear_axis(_("time ÷ wires"), 0, top, nticks=5) | {"domain": [0, BELOW]}
    texts = [
        _("{size}: measured {m}, wires alone {w}, with software {s}").format(
            size=say_bytes(float(b)), m=say_rate(float(m)), w=say_rate(float(w)), s=say_rate(float(s))
        )
        for b, m, w, s in zip(sizes, measured, wires, software, strict=True)
    ]
    ends = [sizes.min() / 1.5, sizes.max() * 1.5]
    data = [
        line(ends, [limit, limit], role="limit", width=1.5),
        line(sizes, wires, role="model"),
        line(sizes, software, role="nvlink", dash="dashdot"),
        points(sizes, measured, hover="%{text}", text=texts),
        line(ends, [1, 1], role="model", yaxis="y2"),
        line(sizes, predicted, role="nvlink", dash="dashdot", yaxis="y2"),
        line(sizes, slower, role="measured", width=1, dash="dot", yaxis="y2"),
        points(sizes, slower, hover="%{text}", text=texts, yaxis="y2"),
    ]
    labels = [
        (_("wires<br>alone"), float(wires[-1]), "model"),
        (_("with<br>software"), float(software[-1]), "nvlink"),
    ]
    most = int(np.argmax(slower))
    high = round(HEIGHT * (1 - SPLIT) * 0.9)
    return base_figure(
        data,
        title=title
        or _("{where}: the bus bandwidth reaches {most} on links of {limit}").format(
            where=where, most=say_rate(float(measured.max()), 3), limit=say_rate(limit)
        ),
        subtitle=subtitle
        or _(
            "crosses: measured; lines: models; dashed grey: a GPU's link, one direction; below: time over that of the wires"
        ),
        xaxis=xaxis,
        yaxis=yaxis,
        yaxis2=below,
        height=HEIGHT,
        margin={"r": OUTSIDE - 14},
        annotations=[
            *end_labels(labels, yaxis, outside=True, height=high),
            note(
                _("{ratio} × at {size}").format(
                    ratio=say_number(float(slower[most]), 2), size=say_bytes(float(sizes[most]))
                ),
                role="measured",
                x=float(np.log10(sizes[most])),
                xref="x",
                xanchor="left",
                xshift=9,
                y=float(slower[most]),
                yref="y2",
            ),
        ],
        meta=describe(
            _(
                "{where}: bus bandwidth over message size, logarithmic. Measured up to {most}; the link carries {limit}. Against "
                "the wires alone it takes {first} times as long at {small}, at most {worst} times at {size}, {last} times at {large}."
            ).format(
                where=where,
                most=say_rate(float(measured.max())),
                limit=say_rate(limit),
                first=say_number(float(slower[0]), 3),
                small=say_bytes(float(sizes[0])),
                worst=say_number(float(slower[most]), 3),
                size=say_bytes(float(sizes[most])),
                last=say_number(float(slower[-1]), 3),
                large=say_bytes(float(sizes[-1])),
            ),
            [_("size"), _("measured"), _("wires alone"), _("with software"), _("time ÷ wires")],
            [
                (say_bytes(float(b)), say_rate(float(m)), say_rate(float(w)), say_rate(float(s)), float(r))
                for b, m, w, s, r in zip(sizes, measured, wires, software, slower, strict=True)
            ],
        ),
    )
