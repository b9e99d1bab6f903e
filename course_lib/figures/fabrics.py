"""Fabrics: the fullest of hashed paths, goodput over loss, and least times of models beside a measurement."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    count_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    log_axis,
    note,
    points,
    ring,
    wrapped,
)
from course_lib.figures.theme import MARGIN, color, theme


def fullest_path(n_flows: Sequence[int], fullest, n_paths: int, *, title: str = "") -> go.Figure:
    """Return flows on the fullest of n_paths over the number of flows: hashed (mean) and an even spread, dashed; two traces.

    >>> fullest_path([8, 32, 128], [2.1, 3.5, 8.9], 32).layout.title.text.replace("<br>", " ")
    '128 flows on 32 paths: the fullest carries 8.9, an even spread 4'
    """
    flows = np.asarray(finite("n_flows", np.asarray(n_flows, float), above=0))
    full = np.asarray(finite("fullest", np.asarray(fullest, float), above=0))
    if flows.shape != full.shape or not flows.size:
        raise CourseError(_("There are {a} numbers of flows and {b} means.").format(a=flows.size, b=full.size))
    even = np.ceil(flows / n_paths)
    ticks = [round(f) for f in flows[:: max(1, len(flows) // 3)].tolist()]
    yaxis = count_axis(0.85, float(full.max()) * 1.3, _("flows on the fullest path"), (1, 2, 4, 8, 16, 32, 64))
    texts = [
        _("flows {k}: {c} on the fullest").format(k=say_number(k), c=say_number(c, 2)) for k, c in zip(flows, full)
    ]
    mean = line(flows, full, role="network", hover="%{text}", text=texts)
    labels = [
        (_("hashed <b>{n}</b>").format(n=say_number(float(full[-1]), 2)), float(full[-1]), "network"),
        (_("even <b>{n}</b>").format(n=say_number(float(even[-1]))), float(even[-1]), "limit"),
    ]
    return base_figure(
        [mean, line(flows, even, role="limit", width=1.5)],
        title=title
        or _("{k} flows on {m} paths: the fullest carries {c}, an even spread {e}").format(
            k=say_number(float(flows[-1])), m=n_paths, c=say_number(float(full[-1]), 2), e=say_number(float(even[-1]))
        ),
        subtitle=_(
            "mean over all hashes; dashed grey: spread evenly; the slowest flow gets a path divided by this number"
        ),
        xaxis=count_axis(
            float(flows.min()),
            float(flows.max()),
            _("flows"),
            ticks,
        ),
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE},
        meta=describe(
            _("Flows on the fullest of {m} paths over the number of flows: {list}.").format(
                m=n_paths, list="; ".join(texts)
            ),
            [_("flows"), _("on the fullest, hashed"), _("spread evenly")],
            [(say_number(k), say_number(c, 3), say_number(e)) for k, c, e in zip(flows, full, even)],
        ),
    )


def goodput_over_loss(
    loss, shares, names: Sequence[str], *, played: tuple | None = None, title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return the share of sent packets that count over the loss, a line for each recovery, and runs of a simulation as circles.

    `shares` is (recoveries, n); `played` is (loss, share) of simulated runs. A trace for each line and one for the runs.

    >>> fig = goodput_over_loss([1e-4, 1e-2], [[0.98, 0.3], [1.0, 0.99]], ["go-back-N", "selective repeat"])
    >>> fig.layout.title.text.replace("<br>", " ")
    'One packet in 100 lost: go-back-N keeps 30 %, selective repeat 99 %'
    """
    p = np.asarray(finite("loss", np.asarray(loss, float), above=0))
    rows = np.atleast_2d(finite("shares", np.asarray(shares, float), at_least=0))
    if rows.shape != (len(names), p.size):
        raise CourseError(
            _("shares has the shape {got}; {want} is expected.").format(got=rows.shape, want=(len(names), p.size))
        )
    roles = ["network", "model", "attention"]
    data, labels = [], []
    yaxis = linear_axis(_("share of what is sent that counts (%)"), 0, 108)
    for i, (name, row) in enumerate(zip(names, rows)):
        texts = [f"{name}: {_lost(float(a))}, {100 * b:.3g} %" for a, b in zip(p, row)]
        data.append(
            line(p, 100 * row, role=roles[i % 3], hover="%{text}", text=texts, dash="solid" if i == 0 else "dash")
        )
        labels.append(
            (
                f"{wrapped(name, 10)}<br><b>{100 * row[-1]:.3g} %</b>",
                float(100 * row[-1]),
                roles[i % 3] if i != 1 else "",
            )
        )
    x, y = played or ([], [])
    hover = [_("played: {lost}, {share} %").format(lost=_lost(float(a)), share=f"{100 * b:.3g}") for a, b in zip(x, y)]
    runs = ring(x, 100 * np.asarray(y, float), role="attention", size=12, hover="%{text}")
    runs["text"] = hover
    data.append(runs)
    head = _("{lost}: {a} keeps {x} %").format(lost=_lost(float(p[-1])), a=names[0], x=f"{100 * rows[0, -1]:.3g}")
    if len(names) > 1:
        head += _(", {b} {y} %").format(b=names[1], y=f"{100 * rows[1, -1]:.3g}")
    return base_figure(
        data,
        title=title or head,
        subtitle=subtitle or _("lines: closed form; circles: packets played one by one"),
        xaxis=log_axis(_("packets lost"), float(p.min()), float(p.max()) * 1.25, _one_in, 3),  # pages can be narrow
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE + 16},
        meta=describe(
            _("Share of sent packets that count, over the loss. ") + head + ".",
            [_("packets lost"), *names],
            [(_one_in(float(a)), *(f"{100 * v:.3g} %" for v in rows[:, i])) for i, a in enumerate(p)],
        ),
    )


def _one_in(loss: float) -> str:
    return _("1 in {n}").format(n=f"{round(1 / loss):,}")


def _lost(loss: float) -> str:
    return _("One packet in {n} lost").format(n=f"{round(1 / loss):,}")


def least_times(names: Sequence[str], least_s, measured_s: float, *, what: str = "", title: str = "") -> go.Figure:
    """Return the least times that models allow, a row each, and the measured time as a purple line; three traces.

    A model's time is a lower bound: its ray reaches to the right. A model whose ray begins right of the measurement is excluded.

    >>> least_times(["one card", "overlapped"], [0.166, 0.0161], 0.02205).layout.title.text
    '22.05 ms measured: 1 of 2 models needs longer and is excluded'
    """
    least = np.asarray(finite("least_s", np.asarray(least_s, float), above=0))
    seen, n = finite("measured_s", measured_s, above=0, unit="s"), len(names)
    if least.shape != (n,):
        raise CourseError(_("There are {n} names and {m} times.").format(n=n, m=least.size))
    y = np.arange(n, dtype=float)
    out = least > seen
    high = max(least.max(), seen) * 2.0
    low = (first := min(least.min(), seen)) * (first / high) ** 0.3  # names stand left of the first mark
    texts = [
        _("{name}: at least {time}; {verdict}").format(
            name=name, time=_ms(t), verdict=_("excluded") if bad else _("possible")
        )
        for name, t, bad in zip(names, least, out)
    ]
    rays = line(
        np.stack([least, np.full(n, high), np.full(n, np.nan)], 1).ravel(),
        np.repeat(y, 3),
        role="model",
        dash="solid",
        width=4,
    )
    rays["opacity"] = 0.45
    starts = points(least, y, role="model", symbol="diamond", size=12, hover="%{text}", text=texts)
    starts["marker"]["color"] = [theme().ground if bad else color("model") for bad in out]
    starts["marker"]["line"] = {"width": 2, "color": color("model")}
    truth = line([seen, seen], [-0.75, n - 0.5], role="measured", dash="dot", width=2)
    labels = [
        note(
            f"{name}<br>≥ <b>{_ms(t)}</b>" + (_(", excluded") if bad else ""),
            x=0,
            xref="paper",
            xanchor="left",
            y=float(i),
            yref="y",
            yshift=26,
            align="left",
        )
        for i, (name, t, bad) in enumerate(zip(names, least, out))
    ]
    labels.append(
        note(
            _("{t} measured").format(t=_ms(seen)),
            role="measured",
            x=float(np.log10(seen)),
            xref="x",
            xanchor="left",
            xshift=6,
            y=-0.95,
            yref="y",
        )
    )
    count = int(out.sum())
    words = _("{t} measured: {k} of {n} models needs longer and is excluded") if count == 1 else None
    words = words or _("{t} measured: {k} of {n} models need longer and are excluded")
    return base_figure(
        [rays, starts, truth],
        title=title or words.format(t=_ms(seen), k=count, n=n),
        subtitle=_("diamond: the least time at line rate; open: excluded; what lies right of it is possible"),
        xaxis=log_axis(what or _("time"), low, high, say_time),
        yaxis={"visible": False, "range": [n - 0.4, -1.15], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 84 + 58 * (n + 0.6)),
        margin={"l": 14},
        annotations=labels,
        meta=describe(
            _("Least times of models beside a measurement of {t}: {list}.").format(t=_ms(seen), list="; ".join(texts)),
            [_("model"), _("least time"), _("verdict")],
            [(name, _ms(t), _("excluded") if bad else _("possible")) for name, t, bad in zip(names, least, out)],
        ),
    )


def _ms(time_s: float) -> str:
    return f"{time_s * 1e3:.4g} ms"
