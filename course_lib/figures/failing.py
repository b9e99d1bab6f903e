"""Failing: where a job's time goes, by job, by checkpoint interval, and with its cost over the size of a cluster."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_share, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    count_axis,
    describe,
    limit_name,
    line,
    linear_axis,
    log_axis,
    note,
    points,
    ring,
    share_axis,
)
from course_lib.figures.columns import same_length
from course_lib.figures.degrees import HATCH, ROW_PX, bars
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, color, faded, theme

PARTS = ("useful", "saving", "redone", "restarting")


def _said() -> dict[str, str]:
    return {
        "useful": _("training that stays"),
        "saving": _("saving"),
        "redone": _("done again"),
        "restarting": _("restarting"),
    }


def time_shares(names: Sequence[str], useful, saving, redone, restarting, *, title: str = "") -> go.Figure:
    """Return where a job's time goes, a bar each, in shares that add up to 1; four traces.

    >>> time_shares(["small", "large"], [0.9, 0.5], [0.02, 0.1], [0.02, 0.1], [0.06, 0.3]).layout.title.text
    'small keeps 90 % of its time, large 50 %'
    """
    given = {"useful": useful, "saving": saving, "redone": redone, "restarting": restarting}
    given = {k: np.asarray(finite(k, v, at_least=-1e-9), float) for k, v in given.items()}
    same_length(len(names), **given)
    if not np.allclose(sum(given.values()), 1, atol=1e-6):
        raise CourseError(_("The four shares have to add up to 1."))
    y, base, data = np.arange(len(names), dtype=float), np.zeros(len(names)), []
    look = {
        "useful": (color("model"), ""),
        "saving": (color("memory"), "/"),
        "redone": (color("attention"), "x"),
        "restarting": (faded(color("attention"), 0.5), "."),
    }
    said = _said()
    for part, value in given.items():
        texts = [f"{n}, {said[part]}: {say_number(100 * float(v), 3)} %" for n, v in zip(names, value)]
        trace = bars(value, y, base, [look[part][0]] * len(y), texts, across=True)
        trace["marker"]["pattern"] = HATCH | {"shape": look[part][1], "fillmode": "overlay", "fgcolor": theme().ground}
        data.append(trace)
        base = base + value
    first, last = float(given["useful"][0]), float(given["useful"][-1])
    labels = [
        row_label(
            _("{name}: <b>{share} %</b>").format(name=name, share=say_number(100 * float(given["useful"][i]), 3)),
            i,
        )
        for i, name in enumerate(names)
    ]
    return base_figure(
        data,
        title=title
        or _("{first} keeps {a} % of its time, {last} {b} %").format(
            first=names[0], a=say_number(100 * first, 2), last=names[-1], b=say_number(100 * last, 2)
        ),
        subtitle=_(
            "plain, and the number: training that stays; hatched: saving; crossed: done again; dotted: restarting"
        ),
        xaxis=share_axis(_("share of the time")),
        yaxis={
            "visible": False,
            "range": [len(y) - 0.6, -0.9],
            "fixedrange": True,
            "title": {"text": ""},
        },
        height=round(MARGIN["b"] + 74 + ROW_PX * (len(y) + 0.4)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("Where the time goes: {list}.")
            .format(list="; ".join(label["text"] for label in labels))
            .replace("<b>", "")
            .replace("</b>", ""),
            [_("job"), *said.values()],
            [(name, *(f"{100 * float(given[p][i]):.1f} %" for p in PARTS)) for i, name in enumerate(names)],
        ),
    )


def over_interval(interval_s, useful, marks: Sequence[tuple[str, float, float]], *, title: str = "") -> go.Figure:
    """Return the useful share over the checkpoint interval, with rings at named rules: (name, interval_s, share); two traces.

    >>> fig = over_interval([60, 600, 6000], [0.6, 0.9, 0.7], [("Young", 800, 0.88), ("exact", 600, 0.9)])
    >>> fig.layout.title.text
    'exact: a checkpoint every 10 min keeps 90 % of the time'
    """
    x, y = (np.asarray(finite(n, v, above=0), float) for n, v in (("interval_s", interval_s), ("useful", useful)))
    same_length(len(x), useful=y)
    if not marks:
        raise CourseError(_("Give at least one rule to mark."))
    name, best_s, share = marks[-1]
    low = max(0.0, float(y.min()))
    middle = float(np.log10(best_s))
    labels = [
        note(f"{n}: {say_time(t)}", role="attention", x=middle, xref="x", y=share, yref="y", yshift=-26 - 21 * i)
        for i, (n, t, _v) in enumerate(marks)
    ]
    ticks = [t for t in (1, 10, 60, 600, 3600, 6 * 3600, 86400) if x.min() <= t <= x.max()]
    return base_figure(
        [
            line(x, y, role="model", hover=_("every %{x:.3s}s: %{text} stays"), text=[say_share(v, 1) for v in y]),
            ring([m[1] for m in marks], [m[2] for m in marks], role="attention"),
        ],
        title=title
        or _("{name}: a checkpoint every {time} keeps {share} % of the time").format(
            name=name, time=say_time(best_s), share=say_number(100 * share, 3)
        ),
        subtitle=_("left: too much saving; right: too much done again; rings: what the rules choose"),
        xaxis=log_axis(_("checkpoint interval"), float(x.min()), float(x.max()), say_time)
        | {"tickvals": ticks, "ticktext": [say_time(t) for t in ticks]},
        yaxis=share_axis(_("share of the time that stays"), low, min(1.0, float(y.max()) * 1.06)),
        annotations=labels,
        meta=describe(
            _("Share of the time that stays, over the interval: at most {share} % at {time}.").format(
                share=say_number(100 * share, 3), time=say_time(best_s)
            ),
            [_("interval"), _("stays")],
            [
                (say_time(float(a)), f"{100 * float(b):.1f} %")
                for a, b in zip(x[:: max(1, len(x) // 14)], y[:: max(1, len(x) // 14)])
            ],
        ),
    )


def over_cluster(gpus, shares: dict, usd, ideal_usd, chosen: int, *, title: str = "") -> go.Figure:
    """Return the four shares stacked over the number of GPUs, and under them the cost of a million tokens; seven traces.

    `shares` maps "useful", "saving", "redone", "restarting" to arrays (m,); `usd` is the cost with failures, `ideal_usd`
    without any (both USD a million tokens, (m,)); `chosen` is one of the numbers of GPUs.

    >>> part = {"useful": [0.9, 0.5], "saving": [0, 0.1], "redone": [0, 0.1], "restarting": [0.1, 0.3]}
    >>> over_cluster([1024, 65536], part, [3.0, 5.0], [2.7, 2.5], 65536).layout.title.text.replace("<br>", " ")
    '65,536 GPUs keep 50 % of their time: a million tokens cost 5 USD, not 2.5'
    """
    n = np.asarray(finite("gpus", gpus, above=0), float)
    cost, ideal = (np.asarray(finite(k, v, above=0), float) for k, v in (("usd", usd), ("ideal_usd", ideal_usd)))
    given = {k: np.asarray(finite(k, shares[k], at_least=-1e-9), float) for k in PARTS}
    same_length(len(n), usd=cost, ideal_usd=ideal, **given)
    if chosen not in n:
        raise CourseError(_("{n} is not among the numbers of GPUs drawn.").format(n=chosen))
    i = int(np.flatnonzero(n == chosen)[0])
    fills = {
        "useful": faded(color("model"), 0.75),
        "saving": faded(color("memory"), 0.55),
        "redone": faded(color("attention"), 0.85),
        "restarting": faded(color("attention"), 0.4),
    }
    said, data, top = _said(), [], np.zeros(len(n))
    for part, value in given.items():
        top = top + value
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": n,
                "y": top,
                "fill": "tozeroy" if part == "useful" else "tonexty",
                "fillcolor": fills[part],
                "line": {"width": 1, "color": theme().ground},
                "text": [f"{say_number(g)} GPUs, {said[part]}: {100 * float(v):.1f} %" for g, v in zip(n, value)],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    ticks = [g for g in (64, 1024, 16384, 131072) if n.min() <= g <= n.max()]
    ends = float(n.min()), float(n.max())
    across = count_axis(*ends, _("GPUs of one job"), ticks) | {"anchor": "y2"}
    high = float(max(cost[i], np.median(cost), ideal.max())) * 1.6
    below = linear_axis(_("USD a million tokens"), 0, high) | {"domain": [0, 0.4], "anchor": "x2", "nticks": 5}
    data += [
        line(n, np.minimum(cost, high * 3), role="model", xaxis="x2", yaxis="y2", hover="%{x:,} GPUs: %{y:.3s} USD"),
        line(n, ideal, role="limit", xaxis="x2", yaxis="y2"),
        points(
            [chosen, chosen],
            [float(given["useful"][i]), float(cost[i])],
            role="attention",
            symbol="diamond",
            size=13,
            hover="%{y:.3s}",
        ),
    ]
    data[-1] |= {"x": np.array([float(chosen)]), "y": np.array([float(cost[i])]), "xaxis": "x2", "yaxis": "y2"}
    left = at(across, chosen) < np.mean(across["range"])
    shift = {"xanchor": "left" if left else "right", "xshift": 10 if left else -10}
    labels = [
        note(
            _("<b>{usd} USD</b>").format(usd=say_number(float(cost[i]), 3)),
            role="attention",
            x=at(across, chosen),
            xref="x2",
            y=float(cost[i]),
            yref="y2",
            yshift=16,
            **shift,
        ),
        limit_name(_("if nothing failed"), float(ideal[-1]), yref="y2", yshift=-12),
    ]
    middle, places = np.log10(n), {}
    low = np.zeros(len(n))
    for part, value in given.items():  # a name in each area where it is widest, if it is wide enough
        wide = np.flatnonzero(value > 0.09)
        k = int(wide[len(wide) // 2]) if len(wide) else 0
        k = min(max(k, 1), len(n) - 2) if len(n) > 2 else k  # off the edges
        if value[k] > 0.06 and len(wide):
            places[part] = (float(middle[k]), float(low[k] + value[k] / 2))
        low = low + value
    shade = {"useful": theme().ground}
    labels += [
        {
            "text": said[part],
            "showarrow": False,
            "x": x,
            "xref": "x",
            "y": y,
            "yref": "y",
            "font": {"size": 13, "color": shade.get(part, theme().ink)},
        }
        | ({"bgcolor": theme().ground, "font": {"size": 13, "color": theme().ink}})
        for part, (x, y) in places.items()
    ]
    mark = {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": chosen,
        "x1": chosen,
        "y0": 0.52,
        "y1": 1,
        "line": {"color": color("attention"), "width": 2.5},
    }
    head = _("{n} GPUs keep {share} % of their time: a million tokens cost {usd} USD, not {ideal}").format(
        n=say_number(chosen),
        share=say_number(100 * float(given["useful"][i]), 3),
        usd=say_number(float(cost[i]), 3),
        ideal=say_number(float(ideal[i]), 3),
    )
    return base_figure(
        data,
        title=title or head,
        subtitle=_("above: where the time goes; below: what a million tokens cost, dashed if nothing failed"),
        xaxis=count_axis(*ends, "", ticks) | {"anchor": "y", "visible": False},
        yaxis=share_axis(_("share of the time"), domain=[0.52, 1]),
        xaxis2=across,
        yaxis2=below,
        height=520,
        annotations=labels,
        shapes=[mark],
        meta=describe(
            head + ".",
            [_("GPUs"), *said.values(), _("USD a million tokens"), _("if nothing failed")],
            [
                (int(g), *(f"{100 * float(given[p][k]):.1f} %" for p in PARTS), f"{cost[k]:.3g}", f"{ideal[k]:.3g}")
                for k, g in enumerate(n)
            ],
        ),
    )
