"""Replicas: what sharding sends and keeps, and data-parallel scaling as somebody measured it beside the model."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number
from course_lib.base.units import GB
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    count_axis,
    describe,
    end_labels,
    limit_line,
    line,
    linear_axis,
    points,
    share_axis,
    wrapped,
)
from course_lib.figures.columns import same_length
from course_lib.figures.degrees import HATCH, ROW_PX, bars, stack_labels
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, color, faded, theme

SYMBOLS = ("x", "circle", "square", "diamond")
DASHES = ("solid", "dot", "dash", "dashdot")


def volumes(names: Sequence[str], reduced: Sequence[int], gathered: Sequence[int], *, what: str = "") -> go.Figure:
    """Return what a rank sends in a step under each scheme, in units of (n−1)/n · parameters · bytes; two traces.

    `reduced` are units for gradients on their way to a sum (half of an all-reduce each), `gathered` units that bring
    results or parameters to everybody.

    >>> volumes(["DDP", "ZeRO-3"], [1, 1], [1, 2]).layout.title.text
    'ZeRO-3 sends 3 units a step, DDP 2'
    """
    same_length(len(names), reduced=reduced, gathered=gathered)
    a, b = (
        np.array([whole(n, v, at_least=0) for v in values])
        for n, values in (("reduced", reduced), ("gathered", gathered))
    )
    total, y = a + b, np.arange(len(names), dtype=float)
    texts = [
        _("{name}: {a} to reduce gradients, {b} to gather, {c} together").format(name=n, a=i, b=j, c=i + j)
        for n, i, j in zip(names, a.tolist(), b.tolist())
    ]
    data = [
        bars(a, y, 0, [color("network")] * len(y), texts, across=True),
        bars(b, y, a, [faded(color("network"), 0.45)] * len(y), texts, across=True),
    ]
    data[1]["marker"]["pattern"] = HATCH | {"fgcolor": theme().ground}
    most, least = int(np.argmax(total)), int(np.argmin(total))
    head = (
        _("{most} sends {a} units a step, {least} {b}").format(
            most=names[most], a=total[most], least=names[least], b=total[least]
        )
        if total[most] != total[least]
        else _("All send {a} units a step").format(a=total[most])
    )
    labels = [row_label(f"{n}: <b>{t}</b>", i) for i, (n, t) in enumerate(zip(names, total.tolist()))]
    above = (ROW_PX - 8) / ROW_PX
    return base_figure(
        data,
        title=f"{what}: {head}" if what else head,
        subtitle=_(
            "strong: gradients on their way to a sum; pale, hatched: gathered. One unit is (n−1)/n of all parameters"
        ),
        xaxis=linear_axis(_("sent by a rank in a step (units)"), 0, float(total.max()) * 1.05) | {"nticks": 7},
        yaxis={"visible": False, "range": [len(y) - 1 + 0.4, -above], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 74 + ROW_PX * (len(y) + 0.4)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("Units that a rank sends in a step. {list}.").format(list="; ".join(texts)),
            [_("scheme"), _("to reduce"), _("to gather"), _("together")],
            [(n, i, j, i + j) for n, i, j in zip(names, a.tolist(), b.tolist())],
        ),
    )


def kept(
    names: Sequence[str], weights_B, grads_B, optimizer_B, capacity_B: float, *, gpu: str, what: str, title: str = ""
) -> go.Figure:
    """Return what a GPU keeps under each scheme as stacked bars, bytes (n,), with its capacity as a dashed line; three traces.

    >>> kept(["DDP", "ZeRO-3"], [15e9, 1e9], [15e9, 1e9], [90e9, 6e9], 80e9, gpu="H100", what="A model").layout.title.text
    'A model: 120 GB a GPU with DDP, 8 GB with ZeRO-3'
    """
    parts = {
        _("weights"): finite("weights_B", weights_B, at_least=0),
        _("gradients"): finite("grads_B", grads_B, at_least=0),
        _("optimizer"): finite("optimizer_B", optimizer_B, at_least=0),
    }
    parts = {name: np.asarray(v, float) for name, v in parts.items()}
    same_length(
        len(names), weights_B=parts[_("weights")], grads_B=parts[_("gradients")], optimizer_B=parts[_("optimizer")]
    )
    capacity = finite("capacity_B", capacity_B, above=0, unit="bytes")
    x, base, data = np.arange(len(names), dtype=float), np.zeros(len(names)), []
    for (name, v), (strength, pattern) in zip(parts.items(), ((0.95, ""), (0.55, ""), (0.3, "/")), strict=True):
        texts = [f"{n}, {name}: {say_bytes(float(b))}" for n, b in zip(names, v)]
        trace = bars(x, v / GB, base / GB, [faded(color("memory"), strength)] * len(x), texts)
        trace["marker"]["pattern"] = HATCH | {"shape": pattern, "fgcolor": theme().muted}
        data.append(trace)
        base = base + v
    high = float(max(base.max(), capacity)) / GB * 1.15
    labels = stack_labels(base, capacity, _("{gpu} has {size}").format(gpu=gpu, size=say_bytes(capacity)))
    return base_figure(
        data,
        title=title
        or _("{what}: {a} a GPU with {first}, {b} with {last}").format(
            what=what, a=say_bytes(float(base[0])), first=names[0], b=say_bytes(float(base[-1])), last=names[-1]
        ),
        subtitle=_("from below: weights, gradients, and the optimizer, hatched; dashed: what a GPU has"),
        xaxis=linear_axis(_("sharding scheme"), -0.6, len(x) - 0.4)
        | {"tickvals": x.tolist(), "ticktext": list(names), "showgrid": False},
        yaxis=linear_axis(_("kept by one GPU (GB)"), 0, high),
        barmode="overlay",
        annotations=labels,
        shapes=[limit_line(y=capacity / GB)],
        meta=describe(
            _("{what}, kept by one GPU of {size}. {list}.").format(
                what=what,
                size=say_bytes(capacity),
                list="; ".join(f"{n} {say_bytes(float(t))}" for n, t in zip(names, base)),
            ),
            [_("scheme"), *parts, _("together")],
            [
                (n, *(say_bytes(float(v[i])) for v in parts.values()), say_bytes(float(base[i])))
                for i, n in enumerate(names)
            ],
        ),
    )


def weak_scaling(
    names: Sequence[str],
    gpus: Sequence[Sequence[int]],
    measured,
    model: Sequence[Sequence[float] | None],
    *,
    title: str = "",
) -> go.Figure:
    """Return tokens a second of each GPU, as parts of what they were with the fewest GPUs: marks measured, lines the model.

    One entry a series, at most four; `model` has None where there is none. Two traces a series.

    >>> weak_scaling(["a job"], [[8, 128]], [[100, 97]], [[100, 100]]).layout.title.text
    'a job: each keeps 97 % of its speed on 128 GPUs'
    """
    if not 1 <= len(names) <= len(SYMBOLS) or not len(names) == len(gpus) == len(measured) == len(model):
        raise CourseError(_("One to four series are expected, with GPUs, measured and model for each."))
    data, rows, labels, lows, highs = [], [], [], [], []
    for i, (name, n, seen, foretold) in enumerate(zip(names, gpus, measured, model)):
        n = np.array([whole("gpus", g, at_least=1) for g in n])
        seen = np.asarray(finite("measured", seen, above=0), float)
        same_length(len(n), measured=seen)
        part = seen / seen[0]
        line_y = np.full(len(n), np.nan) if foretold is None else np.asarray(finite("model", foretold, above=0), float)
        same_length(len(n), model=line_y)
        line_y = line_y / seen[0]
        texts = [
            _("{name}, {n} GPUs: {part} % of its speed measured").format(
                name=name, n=int(g), part=say_number(100 * float(p), 3)
            )
            for g, p in zip(n, part)
        ]
        data.append(line(n, line_y, role="model", dash=DASHES[i], width=2))
        trace = points(n, part, size=10, symbol=SYMBOLS[i], hover="%{text}", text=texts)
        if i:
            trace["marker"] |= {"color": theme().ground, "line": {"width": 2, "color": color("measured")}}
        data.append(trace)
        labels.append((wrapped(name, 13), float(part[-1]), "measured"))
        lows.append(n.min())
        highs.append(n.max())
        rows += [
            (name, int(g), f"{v:.0f}", f"{100 * p:.1f} %", "" if foretold is None else f"{100 * m:.1f} %")
            for g, v, p, m in zip(n, seen, part, line_y)
        ]
    parts = np.concatenate([np.asarray(seen, float) / np.asarray(seen, float)[0] for seen in measured])
    yaxis = share_axis(_("speed kept by each GPU"), max(0.0, float(parts.min()) - 0.08), float(parts.max()) + 0.06)
    ticks = sorted({int(g) for n in gpus for g in n})
    ends = [float(np.asarray(seen, float)[-1] / np.asarray(seen, float)[0]) for seen in measured]
    worst = int(np.argmin(ends))
    head = _("{name}: each keeps {part} % of its speed on {n} GPUs").format(
        name=names[0], part=say_number(100 * ends[0], 2), n=gpus[0][-1]
    )
    if worst:
        head += _("; {name}: {part} % on {n}").format(
            name=names[worst], part=say_number(100 * ends[worst], 2), n=gpus[worst][-1]
        )
    return base_figure(
        data,
        title=title or head,
        subtitle=_(
            "marks: measured, each GPU keeps its batch; lines: the model, fitted to the first mark of its series"
        ),
        xaxis=count_axis(
            float(min(lows)) / 1.25, float(max(highs)) * 1.25, _("GPUs, each with a replica or a shard"), ticks
        ),
        yaxis=yaxis,
        margin={"r": OUTSIDE + 12},
        height=480,
        annotations=end_labels(labels, yaxis, outside=True, height=480, top=110),
        meta=describe(
            _("Speed of each GPU while GPUs are added: {list}.").format(
                list="; ".join(f"{r[0]}, {r[1]} GPUs: {r[3]}" for r in rows)
            ),
            [_("series"), _("GPUs"), _("tokens/s of each"), _("measured"), _("model")],
            rows,
        ),
    )
