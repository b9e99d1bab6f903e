"""Growing: efficiency over the number of GPUs, and what a reader and a GPU get of a served model."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_share
from course_lib.figures.base import (
    OUTSIDE,
    at,
    base_figure,
    count_axis,
    describe,
    end_labels,
    limit_line,
    line,
    linear_axis,
    log_axis,
    note,
    points,
    share_axis,
)
from course_lib.figures.columns import same_length
from course_lib.figures.theme import color, ink

DASHES = ("dot", "dash", "solid", "dashdot")


def efficiency(n_gpus: Sequence[int], fixed, growing, *, least: float, bend: int | None, title: str = "") -> go.Figure:
    """Return efficiency over GPUs for a fixed batch and for one that grows with them, both (m,); `bend` is marked. Three traces.

    >>> efficiency([8, 16, 32], [1, 0.9, 0.6], [1, 0.99, 0.98], least=0.8, bend=16).layout.title.text.replace("<br>", " ")
    'The same batch keeps 80 % up to 16 GPUs; at 32 it keeps 60 %, a growing batch 98 %'
    """
    n = np.asarray(finite("n_gpus", n_gpus, above=0), float)
    one, other = (np.asarray(finite(k, v, at_least=0), float) for k, v in (("fixed", fixed), ("growing", growing)))
    same_length(len(n), fixed=one, growing=other)
    if bend is not None and bend not in n:
        raise CourseError(_("{n} is not among the numbers of GPUs drawn.").format(n=bend))
    hover = "%{x:,} GPUs: %{text}"
    data = [
        line(n, one, role="model", dash="solid", hover=hover, text=[say_share(v, 1) for v in one]),
        line(n, other, role="memory", dash="dot", hover=hover, text=[say_share(v, 1) for v in other]),
        points([] if bend is None else [bend], [] if bend is None else [float(one[n == bend][0])])
        | {"hoverinfo": "skip"},
    ]
    data[2]["marker"] |= {"color": color("attention"), "symbol": "diamond", "size": 13}
    data[2]["marker"]["line"] = {"width": 1.5, "color": ink("attention")}
    yaxis = share_axis(_("efficiency"), 0, 1.08)
    labels = end_labels(
        [(_("same batch"), float(one[-1]), "model"), (_("growing<br>batch"), float(other[-1]), "memory")],
        yaxis,
        outside=True,
    )
    labels.append(
        note(
            f"{100 * least:.0f} %",
            role="limit",
            x=0,
            xref="paper",
            xanchor="left",
            xshift=4,
            y=least,
            yref="y",
            yshift=-11,
        )
    )
    ends = {"n": say_number(float(n[-1])), "a": f"{100 * one[-1]:.0f}", "b": f"{100 * other[-1]:.0f}"}
    if bend is None:
        head = _("At {n} GPUs the same batch keeps {a} %, a growing batch {b} %").format(**ends)
    else:
        head = _(
            "The same batch keeps {least} % up to {bend} GPUs; at {n} it keeps {a} %, a growing batch {b} %"
        ).format(least=f"{100 * least:.0f}", bend=say_number(bend), **ends)
    return base_figure(
        data,
        title=title or head,
        subtitle=_("share of the ideal speed; diamond: the largest size above the dashed line"),
        xaxis=count_axis(float(n.min()) / 1.1, float(n.max()) * 1.1, _("GPUs"), _few(n)),
        yaxis=yaxis,
        annotations=labels,
        margin={"r": OUTSIDE},
        shapes=[limit_line(y=least)],
        meta=describe(
            head + ".",
            [_("GPUs"), _("same batch"), _("growing batch")],
            [(int(g), f"{100 * a:.1f} %", f"{100 * b:.1f} %") for g, a, b in zip(n, one, other)],
        ),
    )


def _few(n: np.ndarray) -> list[int]:
    """Return at most three of the numbers, spread over the axis."""
    return [int(v) for v in n[np.unique(np.linspace(0, len(n) - 1, min(3, len(n))).round().astype(int))]]


def readers(
    names: Sequence[str],
    reader_per_s: Sequence,
    gpu_per_s: Sequence,
    requests: Sequence,
    *,
    roles: Sequence[str] = ("nvlink", "nvlink", "nvlink", "network"),
    title: str = "",
) -> go.Figure:
    """Return tokens a second of a GPU over tokens a second that a reader sees, a line a layout, a point a number of requests.

    Each of the three holds an array a layout; `roles` says over which links its GPUs meet. Two traces a layout, at most four layouts.

    >>> readers(["8 GPUs"], [[90, 20]], [[11, 150]], [[1, 60]]).layout.title.text.replace("<br>", " ")
    '8 GPUs: from 90 to 20 tokens per second for a reader, from 11 to 150 out of a GPU'
    """
    same_length(len(names), reader_per_s=reader_per_s, gpu_per_s=gpu_per_s, requests=requests)
    if not 1 <= len(names) <= len(DASHES):
        raise CourseError(_("One to {n} layouts can be drawn, not {m}.").format(n=len(DASHES), m=len(names)))
    data, rows, labels = [], [], []
    x = [np.asarray(finite("reader_per_s", v, above=0), float) for v in reader_per_s]
    y = [np.asarray(finite("gpu_per_s", v, above=0), float) for v in gpu_per_s]
    yaxis = log_axis(
        _("tokens per second from each GPU"), min(map(np.min, y)) / 1.6, max(map(np.max, y)) * 1.6, say_number, 4
    )
    xaxis = linear_axis(_("tokens/s for each reader"), 0, max(map(np.max, x)) * 1.3)
    for i, name in enumerate(names):
        texts = [
            _("{name}, requests {r}: {a} tokens/s for each reader, {b} from each GPU").format(
                name=name, r=say_number(float(r)), a=say_number(float(a), 3), b=say_number(float(b), 3)
            )
            for r, a, b in zip(requests[i], x[i], y[i])
        ]
        data.append(line(x[i], y[i], role=roles[i], dash=DASHES[i]))
        data.append(points(x[i], y[i], role=roles[i], symbol="circle", size=6, hover="%{text}", text=texts))
        rows += [
            (name, int(r), say_number(float(a), 3), say_number(float(b), 3)) for r, a, b in zip(requests[i], x[i], y[i])
        ]
        labels.append(
            note(
                name,
                role=roles[i],
                x=float(x[i][0]),
                xref="x",
                xanchor="left",
                xshift=9,
                y=at(yaxis, float(y[i][0])),
                yref="y",
            )
        )
    head = _("{name}: from {a} to {b} tokens per second for a reader, from {c} to {d} out of a GPU").format(
        name=names[-1],
        a=say_number(float(x[-1][0]), 2),
        b=say_number(float(x[-1][-1]), 2),
        c=say_number(float(y[-1][0]), 2),
        d=say_number(float(y[-1][-1]), 2),
    )
    return base_figure(
        data,
        title=title or head,
        subtitle=_("dash-dotted: over network cards; each point doubles the readers, from one on, as long as they fit"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=labels,
        meta=describe(head + ".", [_("layout"), _("requests"), _("tokens/s, reader"), _("tokens/s, GPU")], rows),
    )
