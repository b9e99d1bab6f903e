"""A fit with its residuals: measured times, the line through them, and under it how far each point is off."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.figures.base import at, base_figure, describe, line, linear_axis, note, points, size_axis, time_axis


def fit_and_residuals(
    message_B,
    measured_s,
    model_s,
    *,
    low_s=None,
    high_s=None,
    role: str = "model",
    name: str = "",
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return measured times with a fitted line through them, and under it how far each point is off, in percent.

    `message_B`, `measured_s` and `model_s` have one entry a point; `low_s`, `high_s` are the spread. Five traces, always.

    >>> fit_and_residuals([1e3, 1e6], [1e-5, 3e-5], [1e-5, 2e-5]).layout.title.text
    'The line misses by at most 50 %, at 1 MB'
    """
    sizes = np.atleast_1d(finite("message_B", np.asarray(message_B), above=0))
    measured, model = (
        np.atleast_1d(finite(n, np.asarray(v), above=0)) for n, v in (("measured_s", measured_s), ("model_s", model_s))
    )
    if not sizes.shape == measured.shape == model.shape:
        raise CourseError(
            _("message_B, measured_s and model_s need one entry a point; they have {a}, {b} and {c}.").format(
                a=sizes.size, b=measured.size, c=model.size
            )
        )
    order = np.argsort(sizes, kind="stable")
    off = (measured / model - 1) * 100
    worst = int(np.argmax(np.abs(off)))
    span = max(5.0, float(np.max(np.abs(off))) * 1.25)
    xaxis = size_axis(float(sizes.min()) / 1.5, float(sizes.max()) * 1.5)
    yaxis = time_axis(min(measured.min(), model.min()) / 2, max(measured.max(), model.max()) * 2) | {
        "domain": [0.36, 1]
    }
    below = linear_axis(_("off (%)"), -span, span) | {"domain": [0, 0.25], "nticks": 5}
    texts = [
        _("{size}: measured {measured}, line {model}, {off} % off").format(
            size=say_bytes(float(b)), measured=say_time(float(m)), model=say_time(float(t)), off=f"{o:+.1f}"
        )
        for b, m, t, o in zip(sizes, measured, model, off)
    ]
    stems_x = np.repeat(sizes, 3)
    stems_y = np.column_stack([np.zeros_like(off), off, np.full_like(off, np.nan)]).ravel()
    data = [
        line(sizes[order], model[order], role=role, name=name or _("line")),
        points(sizes, measured, low=low_s, high=high_s, hover="%{text}", text=texts, name=_("measured")),
        line([sizes.min() / 1.5, sizes.max() * 1.5], [0, 0], role="limit", width=1.5, yaxis="y2"),
        line(stems_x, stems_y, role="measured", width=1.5, dash="solid", yaxis="y2"),
        points(sizes, off, hover="%{text}", text=texts, yaxis="y2"),
    ]
    words = [
        (say_bytes(float(b)), say_time(float(m)), say_time(float(t)), f"{o:+.1f} %")
        for b, m, t, o in zip(sizes, measured, model, off)
    ]
    median = float(np.median(np.abs(off)))
    return base_figure(
        data,
        title=title
        or _("The line misses by at most {off} %, at {size}").format(
            off=say_number(abs(float(off[worst])), 2), size=say_bytes(float(sizes[worst]))
        ),
        subtitle=subtitle
        or _(
            "above: crosses measured, line fitted; below: how far each point is off, half of them under {median} %"
        ).format(median=say_number(median, 2)),
        xaxis=xaxis | {"anchor": "y2"},
        yaxis=yaxis,
        yaxis2=below,
        height=480,
        annotations=[
            note(
                name,
                x=0.995,
                xref="paper",
                xanchor="right",
                y=at(yaxis, float(model[order][-1])),
                yref="y",
                role=role,
                yshift=14,
            )
        ]
        if name
        else [],
        meta=describe(
            _(
                "{n} measured times and the line through them. The largest miss is {off} % at {size}; "
                "half of the points are within {median} %."
            ).format(
                n=sizes.size,
                off=f"{off[worst]:+.1f}",
                size=say_bytes(float(sizes[worst])),
                median=say_number(median, 2),
            ),
            [_("size"), _("measured"), _("line"), _("off")],
            words,
        ),
    )
