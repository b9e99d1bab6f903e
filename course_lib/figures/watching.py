"""Watching: alarms with what they find and what they cry, and who reaches whom over two fabrics."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_share
from course_lib.figures.base import base_figure, describe, line, linear_axis, log_axis, note, points, share_axis
from course_lib.figures.columns import same_length
from course_lib.figures.theme import color, faded, theme


def alarms(
    threshold, detection, false_per_day, *, simulated=None, chosen: int | None = None, title: str = ""
) -> go.Figure:
    """Return what alarms find over how often they ring falsely, one dot a threshold, chosen one in amber; three traces.

    `simulated` is (detection, false_per_day) counted in a drawn fleet, as crosses.

    >>> alarms([2, 3], [0.96, 0.88], [3670, 122], chosen=3).layout.title.text.replace("<br>", " ")
    'Ringing at 3 errors finds 88 % of sick readings and rings falsely 122 times a day'
    """
    k = [whole("threshold", t, at_least=0) for t in threshold]
    found, false = (
        np.asarray(finite(n, v, at_least=0), float)
        for n, v in (("detection", detection), ("false_per_day", false_per_day))
    )
    same_length(len(k), detection=found, false_per_day=false)
    pick = k[0] if chosen is None else whole("chosen", chosen)
    if pick not in k:
        raise CourseError(_("{n} is not among the thresholds drawn.").format(n=pick))
    i = k.index(pick)
    least = 1e-4
    x = np.maximum(false, least)
    drawn = (np.zeros(0), np.zeros(0)) if simulated is None else tuple(np.asarray(v, float) for v in simulated)
    seen = drawn[1] > 0  # a fleet that never rang falsely has no place on a log axis
    tip = _("at %{text} errors: %{customdata} found, %{x:.3s} false a day")
    curve = line(x, found, role="model", hover=tip, text=k, customdata=[say_share(v, 1) for v in found])
    curve |= {"mode": "lines+markers"}
    curve["marker"] = {"size": 8, "color": color("model")}
    data = [
        curve,
        points(drawn[1][seen], drawn[0][seen], role="measured", symbol="x", size=9),
        points([x[i]], [found[i]], role="attention", symbol="diamond", size=14),
    ]
    labels = [
        note(
            f"<b>{t}</b>" if t == pick else str(t),
            role="attention" if t == pick else "",
            x=float(np.log10(x[j])),
            xref="x",
            y=float(found[j]),
            yref="y",
            yshift=-17,
        )
        for j, t in enumerate(k)
    ]
    high = max(float(x.max()) * 2, 10.0)
    head = _("Ringing at {k} errors finds {p} % of sick readings and rings falsely {often}").format(
        k=pick, p=say_number(100 * float(found[i]), 2), often=_often(float(false[i]))
    )
    return base_figure(
        data,
        title=title or head,
        subtitle=_(
            "each dot: an alarm that rings at this many errors in a reading; crosses: counted in a simulated fleet"
        ),
        xaxis=log_axis(_("false alarms a day"), least, high, say_number),
        yaxis=share_axis(_("share of sick readings found"), 0, 1.05),
        annotations=labels,
        meta=describe(
            head + ".",
            [_("rings at"), _("found"), _("false alarms a day")],
            [(t, f"{100 * float(f):.1f} %", f"{n:.3g}") for t, f, n in zip(k, found, false)],
        ),
    )


def _often(per_day: float) -> str:
    if per_day >= 1:
        return _("{n} times a day").format(n=say_number(float(f"{per_day:.3g}")))
    if per_day <= 0:
        return _("never")
    return _("once in {n} days").format(n=say_number(float(f"{1 / per_day:.2g}")))


def reach(names: Sequence[str], way, tenant: Sequence[int], *, title: str = "") -> go.Figure:
    """Return who reaches whom as a table of cells: empty nobody, hatched network, full NVLink; tenants framed; one trace.

    `way` is (n, n) of 0 nobody, 1 network, 2 NVLink; `tenant` (n,) numbers the owners, who stand together.

    >>> import numpy as np
    >>> reach(["a0", "b0"], np.array([[2, 2], [2, 2]]), [0, 1]).layout.title.text.replace("<br>", " ")
    'Strangers reach each other in 1 of 1 pairs over NVLink, in 0 over the network'
    """
    table = np.asarray(way)
    n, owner = len(names), np.asarray(tenant)
    if table.shape != (n, n) or owner.shape != (n,) or n < 1:
        raise CourseError(_("way has to be a square table with a row for each of {n} names.").format(n=n))
    same = owner[:, None] == owner
    strangers = np.triu(~same, 1)
    over_nvlink, over_network = int((strangers & (table == 2)).sum()), int((strangers & (table == 1)).sum())
    row, column = np.divmod(np.arange(n * n), n)
    value = table.ravel()
    words = (_("nobody"), _("network"), _("NVLink"))
    bad = (~same).ravel() & (value > 0)
    fills = [
        theme().ground if v == 0 else color("nvlink") if v == 2 else faded(color("network"), 0.75)
        for v in value.tolist()
    ]
    cells = {
        "type": "scatter",
        "mode": "markers",
        "x": column,
        "y": row,
        "marker": {
            "symbol": ["square" if v == 2 else "diamond" if v == 1 else "circle-open" for v in value.tolist()],
            "size": [16 if v else 6 for v in value.tolist()],
            "color": [f if v else theme().axis for f, v in zip(fills, value.tolist())],
            "line": {
                "width": [3.0 if b else 0.8 for b in bad.tolist()],
                "color": [color("attention") if b else theme().axis for b in bad.tolist()],
            },
        },
        "text": [
            f"{names[a]} → {names[b]}: {words[v]}" for a, b, v in zip(row.tolist(), column.tolist(), value.tolist())
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
    edges = np.flatnonzero(np.diff(owner)) + 0.5
    lines = [
        {"type": "line", "xref": "x", "yref": "y", "line": {"color": theme().muted, "width": 1.5}} | ends
        for e in edges.tolist()
        for ends in (
            {"x0": e, "x1": e, "y0": -0.5, "y1": n - 0.5},
            {"x0": -0.5, "x1": n - 0.5, "y0": e, "y1": e},
        )
    ]
    pairs = int(np.triu(~same, 1).sum())
    head = _("Strangers reach each other in {a} of {n} pairs over NVLink, in {b} over the network").format(
        a=over_nvlink, n=pairs, b=over_network
    )
    ticks = {"tickvals": list(range(n)), "ticktext": list(names), "showgrid": False, "zeroline": False}
    return base_figure(
        [cells],
        title=title or head,
        subtitle=_("square: NVLink; diamond: network; small ring: not at all; amber frame: another tenant's GPU"),
        xaxis=linear_axis(_("to GPU"), -0.6, n - 0.4) | ticks,
        yaxis=linear_axis(_("from GPU"), n - 0.4, -0.6) | ticks,
        height=round(190 + 30 * n),
        shapes=lines,
        meta=describe(
            head + ".",
            [_("from"), *names],
            [(names[a], *(words[int(table[a, b])] for b in range(n))) for a in range(n)],
        ),
    )
