"""Two GPUs over different links, and tensor-parallel scaling as somebody measured it beside the model."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    count_axis,
    describe,
    end_labels,
    limit_line,
    line,
    linear_axis,
    note,
    points,
    wrapped,
)
from course_lib.figures.columns import same_length
from course_lib.figures.degrees import HATCH, ROW_PX, bars
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, SYMBOL, color, faded, theme


def bars_over_links(
    names: Sequence[str], compute_s, communicate_s, roles: Sequence[str], alone_s: float, *, what: str = ""
) -> go.Figure:
    """Return two GPUs' time for a job over each link as a bar (computing, then communication), beside one GPU's as a dashed line.

    One entry a link, in seconds; `what` names the job in the title. Two traces.

    >>> bars_over_links(["NVLink", "PCIe"], [1.0, 1.0], [0.1, 1.4], ["nvlink", "pcie"], 2.0, what="A step").layout.title.text
    'A step: 1.8 × as fast over NVLink, 0.83 × over PCIe'
    """
    compute, communicate = (
        np.asarray(finite(n, v, at_least=0, unit="s"), float)
        for n, v in (("compute_s", compute_s), ("communicate_s", communicate_s))
    )
    same_length(len(names), compute_s=compute, communicate_s=communicate, roles=roles)
    alone, total = finite("alone_s", alone_s, above=0, unit="s"), compute + communicate
    scale, unit = (1e-3, "ms") if max(alone, total.max()) < 1 else (1.0, "s")
    gains = [say_number(float(alone / t), 2) for t in total]
    y = np.arange(len(names), dtype=float)
    texts = [
        _("{name}: {a} of computing and {b} of communication, {gain} × as fast as one GPU").format(
            name=n, a=say_time(float(a)), b=say_time(float(b)), gain=g
        )
        for n, a, b, g in zip(names, compute, communicate, gains)
    ]
    data = [
        bars(compute / scale, y, 0, [faded(color("memory"), 0.5)] * len(y), texts, across=True),
        bars(communicate / scale, y, compute / scale, [color(r) for r in roles], texts, across=True),
    ]
    data[1]["marker"]["pattern"] = HATCH | {"fgcolor": theme().ground}
    labels = [
        row_label(
            _("{name}: <b>{gain} ×</b>").format(name=n, gain=g),
            i,
            role=r,
        )
        for i, (n, g, r) in enumerate(zip(names, gains, roles))
    ]
    labels.append(
        note(
            _("one GPU {time}").format(time=say_time(alone)),
            role="limit",
            x=alone / scale,
            xref="x",
            xanchor="right",
            xshift=-4,
            y=1,
            yref="paper",
            yanchor="top",
        )
    )
    above = (ROW_PX - 8) / ROW_PX
    head = (
        _("{what}: {first} × as fast over {a}, {last} × over {b}")
        if what
        else _("Two GPUs: {first} × as fast over {a}, {last} × over {b}")
    )
    best, worst = int(np.argmin(total)), int(np.argmax(total))
    return base_figure(
        data,
        title=head.format(what=what, first=gains[best], a=names[best], last=gains[worst], b=names[worst]),
        subtitle=_(
            "grey: computing, half of one GPU's; hatched: all-reduces; right of the dashed line two are slower than one"
        ),
        xaxis=linear_axis(_("time ({unit})").format(unit=unit), 0, float(max(alone, total.max())) / scale * 1.08),
        yaxis={"visible": False, "range": [len(y) - 1 + 0.4, -above - 0.35], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 74 + ROW_PX * (len(y) + 0.75)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        shapes=[limit_line(x=alone / scale)],
        meta=describe(
            _("One GPU needs {time}. ").format(time=say_time(alone)) + "; ".join(texts) + ".",
            [_("link"), _("computing"), _("communication"), _("together"), _("times as fast")],
            [
                (n, say_time(float(a)), say_time(float(b)), say_time(float(a + b)), f"{g} ×")
                for n, a, b, g in zip(names, compute, communicate, gains)
            ],
        ),
    )


def scaling(
    tensor: Sequence[int], measured_per_s, model_per_s, names: Sequence[str], *, per_host: int = 8, title: str = ""
) -> go.Figure:
    """Return tokens a second of each GPU over the degree: crosses measured, lines the model, the edge of a host dashed.

    `measured_per_s` and `model_per_s` have a row a style, (styles, n), at most two; four traces with two styles.

    >>> scaling([2, 8, 16], [[10, 8, 4]], [[10, 9, 7]], ["all-reduce"]).layout.title.text
    'From 8 to 16 GPUs each of them loses 50 %'
    """
    tensor = np.array([whole("tensor", t, at_least=1) for t in tensor])
    measured, model = (
        np.atleast_2d(np.asarray(finite(n, v, above=0), float))
        for n, v in (("measured_per_s", measured_per_s), ("model_per_s", model_per_s))
    )
    if measured.shape != model.shape or measured.shape != (len(names), len(tensor)) or len(names) > 2:
        raise CourseError(
            _("One or two styles with {n} values each are expected, measured and model.").format(n=len(tensor))
        )
    xaxis = count_axis(
        float(tensor.min()) / 1.25, float(tensor.max()) * 1.25, _("GPUs that share every layer"), tensor.tolist()
    )
    yaxis = linear_axis(
        _("tokens per second, each GPU"), 0, float(max(measured.max(), model.max())) * 1.15, tickformat=","
    )
    data, rows, labels = [], [], []
    for i, name in enumerate(names):
        data.append(line(tensor, model[i], role="model", dash=("solid", "dot")[i], name=name))
        texts = [
            _("{name}, {n} GPUs: measured {a}, model {b}").format(
                name=name, n=t, a=say_number(float(a), 4), b=say_number(float(b), 4)
            )
            for t, a, b in zip(tensor, measured[i], model[i])
        ]
        symbol = (SYMBOL["measured"], "circle")[i]
        data.append(points(tensor, measured[i], size=9, symbol=symbol, hover="%{text}", text=texts))
        rows += [
            (name, int(t), f"{a:.0f}", f"{b:.0f}", f"{100 * (b / a - 1):+.0f} %")
            for t, a, b in zip(tensor, measured[i], model[i])
        ]
        if i:  # open rings beside the crosses of the first style
            data[-1]["marker"] |= {"color": theme().ground, "line": {"width": 2, "color": color("measured")}}
        labels.append((wrapped(name, 12), float(model[i][-1]), ""))
    notes = end_labels(labels, yaxis, outside=True, top=110)
    edge = float(np.log10(per_host * 2**0.5))
    notes += [
        note(
            _("one host"),
            role="limit",
            x=edge,
            xref="x",
            xanchor="right",
            xshift=-6,
            y=0,
            yref="paper",
            yanchor="bottom",
            yshift=4,
        ),
        note(
            _("across hosts"),
            role="network",
            x=edge,
            xref="x",
            xanchor="left",
            xshift=6,
            y=0,
            yref="paper",
            yanchor="bottom",
            yshift=4,
        ),
    ]
    inside = np.flatnonzero(tensor <= per_host)
    if not title and inside.size and inside[-1] + 1 < len(tensor):
        a = int(inside[-1])
        lost = say_number(100 * (1 - float(measured[0][a + 1] / measured[0][a])), 2)
        title = _("From {a} to {b} GPUs each of them loses {lost} %").format(a=tensor[a], b=tensor[a + 1], lost=lost)
    return base_figure(
        data,
        title=title
        or _("{n} GPUs, {rate} tokens per second each").format(n=tensor[-1], rate=say_number(float(measured[0][-1]))),
        subtitle=_(
            "crosses, solid: {a}; circles, dotted: {b}; marks: measured, lines: the model, fitted to the first point"
        ).format(a=names[0], b=names[-1])
        if len(names) > 1
        else _("crosses: measured; line: the model, fitted to the first point only"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=notes,
        margin={"r": OUTSIDE},
        shapes=[limit_line(x=10**edge)],
        meta=describe(
            _("Tokens per second of each GPU over the number of GPUs that share every layer: {list}.").format(
                list="; ".join(
                    _("{name}, {n} GPUs: measured {a}, model {b}").format(name=r[0], n=r[1], a=r[2], b=r[3])
                    for r in rows
                )
            ),
            [_("style"), _("GPUs"), _("measured"), _("model"), _("model off")],
            rows,
        ),
    )
