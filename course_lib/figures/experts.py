"""Layers of experts: their time over the expert-parallel degree on boxes and on a rack, and exchanges as measured."""

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
    line,
    note,
    points,
    ring,
    time_axis,
)
from course_lib.figures.theme import SYMBOL, color

PHASE_MARKS = (("solid", SYMBOL["measured"]), ("dot", "circle-open"))


def layer_over_degrees(
    degree: Sequence[int],
    boxes_s,
    rack_s,
    compute_s,
    *,
    chosen: int,
    title: str,
    box: int = 8,
    rack: int = 72,
    subtitle: str = "",
) -> go.Figure:
    """Return the time of one layer of experts over the number of GPUs that share them: boxes, a rack, and computing alone.

    Seconds, an entry a degree; the `chosen` degree is ringed on both lines. `box` and `rack` are GPUs of one domain of each.
    Always five traces.

    >>> fig = layer_over_degrees([8, 64], [3e-4, 5e-4], [3e-4, 1e-4], [2e-4, 3e-5], chosen=64, title="64 GPUs")
    >>> len(fig.data)
    5
    """
    degree = [whole("degree", e, at_least=1) for e in degree]
    columns = {"boxes_s": boxes_s, "rack_s": rack_s, "compute_s": compute_s}
    boxes, racks, compute = (np.asarray(finite(n, v, above=0, unit="s"), float) for n, v in columns.items())
    if not len(degree) == len(boxes) == len(racks) == len(compute):
        raise CourseError(_("One time a degree is expected in each of: {names}.").format(names=", ".join(columns)))
    if chosen not in degree:
        raise CourseError(
            _("{n} is not among the degrees drawn: {all}.").format(n=chosen, all=", ".join(map(str, degree)))
        )
    here = degree.index(chosen)
    every = np.concatenate([boxes, racks, compute])
    shown = [e for e in degree if e != rack or chosen == rack]  # 64 and 72 stand too close for two labels
    said = {2, 8, 64 if chosen != rack else rack, 256}  # the others have a line and no number: pages can be narrow
    xaxis = count_axis(degree[0] / 1.25, degree[-1] * 1.25, _("GPUs that share the experts"), shown)
    xaxis["ticktext"] = [text if e in said else "" for e, text in zip(shown, xaxis["ticktext"])]
    yaxis = time_axis(float(every.min()) / 1.6, float(every.max()) * 1.9, _("time of a layer"))
    texts = [
        _("{n} GPUs: {a} on boxes, {b} in the rack, {c} of it computing").format(
            n=e, a=say_time(float(a)), b=say_time(float(b)), c=say_time(float(c))
        )
        for e, a, b, c in zip(degree, boxes, racks, compute, strict=True)
    ]
    data = [
        line(degree, compute, role="limit", width=2, dash="dot", hover="%{text}", text=texts),
        line(degree, boxes, role="network", hover="%{text}", text=texts),
        line(degree, racks, role="nvlink", hover="%{text}", text=texts),
        ring([chosen], [boxes[here]], role="network", size=13, hover=texts[here]),
        ring([chosen], [racks[here]], role="nvlink", size=13, hover=texts[here]),
    ]
    edges = [
        {
            "type": "line",
            "xref": "x",
            "x0": 2 ** (np.log2(n) + shift),
            "x1": 2 ** (np.log2(n) + shift),
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": color(role), "width": 1, "dash": "dash"},
        }
        for n, shift, role in ((box, 0.18, "network"), (rack, 0.12, "nvlink"))
        if degree[0] <= n < degree[-1]
    ]
    names = [
        note(
            text,
            role=role,
            x=float(np.log10(edge["x0"])),
            xref="x",
            xanchor="left" if role == "network" else "right",
            xshift=4 if role == "network" else -4,
            y=1,
            yref="paper",
            yanchor="top",
            yshift=0
            if role == "network"
            else -19,  # on a narrow screen: one under the other, off the ends of the lines
        )
        for edge, text, role in zip(
            edges,
            (_("beyond a box"), _("beyond a rack")) if len(edges) == 2 else (_("beyond a box"),),
            ("network", "nvlink"),
        )
    ]
    labels = [
        (_("boxes of {n}").format(n=box), float(boxes[-1]), "network"),
        (_("rack of {n}").format(n=rack), float(racks[-1]), "nvlink"),
        (_("computing"), float(compute[-1]), "limit"),
    ]
    return base_figure(
        data,
        title=title,
        subtitle=subtitle
        or _(
            "lines: computing, dispatch and combine, nothing hidden; dotted grey: computing alone; rings: your choice"
        ),
        xaxis=xaxis,
        yaxis=yaxis,
        margin={"r": OUTSIDE},
        shapes=edges,
        annotations=[*end_labels(labels, yaxis, outside=True, top=100), *names],
        meta=describe(
            _("Time of a layer of experts over the GPUs that share them: {list}.").format(list="; ".join(texts)),
            [_("GPUs"), _("boxes"), _("rack"), _("computing"), _("boxes ÷ rack")],
            [
                (e, say_time(float(a)), say_time(float(b)), say_time(float(c)), say_number(float(a / b), 3))
                for e, a, b, c in zip(degree, boxes, racks, compute, strict=True)
            ],
        ),
    )


def exchanges(
    x: Sequence[int],
    measured_s: Sequence,
    model_s: Sequence,
    library_s,
    *,
    names: Sequence[str],
    axis: str,
    title: str,
    subtitle: str = "",
) -> go.Figure:
    """Return measured exchanges (two phases) over tokens or ranks, the model's lines, and a library's all-to-all of the first phase.

    `measured_s` and `model_s` have a row for each of the two phases, seconds. Five traces.

    >>> fig = exchanges([8, 16], [[1e-5, 2e-5]] * 2, [[1e-5, 2e-5]] * 2, [3e-5, 9e-5], names=["out", "back"], axis="ranks", title="2")
    >>> len(fig.data)
    5
    """
    x = np.asarray(finite("x", x, above=0), float)
    measured, model = (
        np.asarray(finite(n, v, above=0, unit="s"), float)
        for n, v in (("measured_s", measured_s), ("model_s", model_s))
    )
    library = np.asarray(finite("library_s", library_s, above=0, unit="s"), float)
    if measured.shape != (2, x.size) or model.shape != measured.shape or library.shape != x.shape or len(names) != 2:
        raise CourseError(_("Two phases with {n} times each are expected, measured and model.").format(n=x.size))
    every = np.concatenate([measured.ravel(), model.ravel(), library])
    yaxis = time_axis(float(every.min()) / 1.6, float(every.max()) * 1.6)
    data = [line(x, library, role="limit", width=2, dash="dash")]
    rows = []
    for name, seen, mine, (dash, symbol) in zip(names, measured, model, PHASE_MARKS, strict=True):
        texts = [
            _("{name} at {x}: measured {a}, model {b}").format(
                name=name, x=say_number(v), a=say_time(float(s)), b=say_time(float(m))
            )
            for v, s, m in zip(x, seen, mine, strict=True)
        ]
        data.append(line(x, mine, role="model", dash=dash))
        data.append(points(x, seen, symbol=symbol, size=9, hover="%{text}", text=texts))
        if symbol.endswith("open"):
            data[-1]["marker"]["line"] = {"width": 2, "color": color("measured")}
        rows += [
            (name, say_number(v), say_time(float(s)), say_time(float(m)), f"{100 * (m / s - 1):+.0f} %")
            for v, s, m in zip(x, seen, mine, strict=True)
        ]
    labels = [(n, float(m[-1]), "") for n, m in zip(names, model, strict=True)]
    labels.append((_("library's<br>all-to-all"), float(library[-1]), "limit"))
    return base_figure(
        data,
        title=title,
        subtitle=subtitle
        or _("crosses and circles: measured; lines: the model; dashed grey: the library's all-to-all of as many bytes"),
        xaxis=_some_said(count_axis(float(x.min()) / 1.3, float(x.max()) * 1.3, axis, [int(v) for v in x])),
        yaxis=yaxis,
        margin={"r": OUTSIDE},
        annotations=end_labels(labels, yaxis, outside=True, top=100),
        meta=describe(
            _("Time of exchanges: {list}.").format(
                list="; ".join(
                    _("{a} at {b}: measured {c}, model {d}").format(a=r[0], b=r[1], c=r[2], d=r[3]) for r in rows
                )
            ),
            [_("phase"), axis, _("measured"), _("model"), _("model off")],
            rows,
        ),
    )


def _some_said(axis: dict) -> dict:
    """Return an axis with a line at each tick and a number at every third: as many as a narrow page has room for."""
    texts = axis["ticktext"]
    step = max(1, round(len(texts) / 3))
    return axis | {"ticktext": [text if (len(texts) - 1 - i) % step == 0 else "" for i, text in enumerate(texts)]}
