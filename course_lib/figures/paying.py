"""Paying: the lines of a bill, and designs ranked by one benchmark and by the whole mix."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate, say_time
from course_lib.figures.base import base_figure, describe, linear_axis, note, share_axis
from course_lib.figures.degrees import HATCH, bars
from course_lib.figures.rows import row_label
from course_lib.figures.theme import MARGIN, color, faded, theme

ROW = 44


def bill(lines: Mapping[str, float], n_gpus: int, *, title: str = "") -> go.Figure:
    """Return the lines of a yearly bill (USD a year by name) as bars; one trace.

    >>> bill({"hosts": 6e6, "electricity": 2e6}, 1000).layout.title.text
    'Hosts are 75 % of a year; electricity 25 %, and the rest 0 %'
    """
    if not lines:
        raise CourseError(_("The bill is empty."))
    names = list(lines)
    usd = np.array([finite(n, lines[n], at_least=0, unit="USD") for n in names])
    total = float(usd.sum())
    if not total:
        raise CourseError(_("The bill is zero."))
    share, y = usd / total, np.arange(len(names), dtype=float)
    shades = [
        faded(color("network"), 0.85) if n in ("switches", "optics") else faded(color("memory"), 0.75) for n in names
    ]
    texts = [
        _("{name}: {usd} USD a year, {share} %").format(
            name=_(n), usd=say_number(float(u), 3), share=say_number(100 * float(s), 2)
        )
        for n, u, s in zip(names, usd, share)
    ]
    trace = bars(share, y, 0, shades, texts, across=True)
    trace["marker"]["pattern"] = HATCH | {
        "shape": ["/" if n in ("switches", "optics") else "" for n in names],
        "fillmode": "overlay",
        "fgcolor": theme().ground,
    }
    labels = [
        row_label(
            f"{_(n)}  <b>{say_number(100 * float(s), 2)} %</b>",
            i,
            up=18,
        )
        for i, (n, s) in enumerate(zip(names, share))
    ]
    order = np.argsort(-share)
    second = order[1] if len(order) > 1 else order[0]
    head = _("{first} are {a} % of a year; {second} {b} %, and the rest {c} %").format(
        first=_(names[order[0]]).capitalize(),
        a=say_number(100 * float(share[order[0]]), 2),
        second=_(names[second]),
        b=say_number(100 * float(share[second]), 2),
        c=say_number(max(0.0, 100 * float(1 - share[order[0]] - share[second])), 2),
    )
    return base_figure(
        [trace],
        title=title or head,
        subtitle=_("a year of {n} GPUs, {usd} million USD in all; hatched: the network").format(
            n=say_number(n_gpus), usd=say_number(total / 1e6, 3)
        ),
        xaxis=share_axis(_("share of the cost of a year"), 0, float(share.max()) * 1.05),
        yaxis={"visible": False, "range": [len(y) - 0.5, -0.9], "fixedrange": True, "title": {"text": ""}},
        height=round(MARGIN["b"] + 84 + ROW * (len(y) + 0.4)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("A year of {n} GPUs: {list}.").format(n=say_number(n_gpus), list="; ".join(texts)),
            [_("line"), _("USD a year"), _("share")],
            [(_(n), round(float(u)), f"{100 * float(s):.1f} %") for n, u, s in zip(names, usd, share)],
        ),
    )


def two_rankings(
    benchmark_Bps: Mapping[str, float], mix_s: Mapping[str, float], *, mix: str = "", title: str = ""
) -> go.Figure:
    """Return designs by one benchmark (above, longer is better) and by a mix of calls (below, shorter is better); two traces.

    >>> fig = two_rankings({"fast box": 726e9, "even": 480e9}, {"fast box": 1.05, "even": 0.35})
    >>> fig.layout.title.text.replace("<br>", " ")
    'fast box wins the benchmark, 726 against 480 GB/s, and takes 3 × as long for the mix as even'
    """
    names = list(benchmark_Bps)
    if set(names) != set(mix_s) or len(names) < 2:
        raise CourseError(_("Both rankings need the same two designs or more."))
    rate = np.array([finite(n, benchmark_Bps[n], above=0) for n in names])
    time = np.array([finite(n, mix_s[n], above=0) for n in names])
    y, n = np.arange(len(names), dtype=float), len(names)
    best_rate, best_time = int(rate.argmax()), int(time.argmin())
    shade = lambda won: [color("model") if i == won else faded(color("memory"), 0.6) for i in range(n)]  # noqa: E731
    texts = [
        _("{name}: {rate} in the benchmark, {time} for the mix").format(
            name=name, rate=say_rate(float(r)), time=say_time(float(t))
        )
        for name, r, t in zip(names, rate, time)
    ]
    data = [bars(rate / 1e9, y, 0, shade(best_rate), texts, across=True)]
    data.append(bars(time, y, 0, shade(best_time), texts, across=True) | {"xaxis": "x2", "yaxis": "y2"})
    for trace, won in zip(data, (best_rate, best_time), strict=True):
        trace["marker"]["pattern"] = HATCH | {
            "shape": ["" if i == won else "/" for i in range(n)],
            "fillmode": "overlay",
            "fgcolor": theme().ground,
        }
    labels = []
    for values, say, won, axis in ((rate, say_rate, best_rate, "y"), (time, say_time, best_time, "y2")):
        labels += [
            note(
                f"{name}  <b>{say(float(v))}</b>" + (_(" · wins") if i == won else ""),
                role="model" if i == won else "",
                x=0,
                xref="paper",
                xanchor="left",
                y=float(i),
                yref=axis,
                yshift=17,
            )
            for i, (name, v) in enumerate(zip(names, values))
        ]
    if best_rate == best_time:
        head = _("{name} wins the benchmark, {rate}, and the mix, {time}").format(
            name=names[best_rate], rate=say_rate(float(rate[best_rate])), time=say_time(float(time[best_time]))
        )
    else:
        head = _(
            "{name} wins the benchmark, {a} against {b} GB/s, and takes {k} × as long for the mix as {other}"
        ).format(
            name=names[best_rate],
            a=say_number(float(rate[best_rate]) / 1e9, 3),
            b=say_number(float(rate[best_time]) / 1e9, 3),
            k=say_number(float(time[best_rate] / time[best_time]), 2),
            other=names[best_time],
        )
    hidden = {"visible": False, "range": [n - 0.5, -0.95], "fixedrange": True, "title": {"text": ""}}
    return base_figure(
        data,
        title=title or head,
        subtitle=_("above: one large all-reduce in a box, longer is better; below: the mix, shorter is better")
        + (f" ({mix})" if mix else ""),
        xaxis=linear_axis(_("bus bandwidth in one box (GB/s)"), 0, float(rate.max()) / 1e9 * 1.05)
        | {"anchor": "y", "nticks": 6},
        xaxis2=linear_axis(_("communication in one step (s)"), 0, float(time.max()) * 1.05)
        | {"anchor": "y2", "nticks": 6},
        yaxis=hidden | {"domain": [0.6, 1]},
        yaxis2=hidden | {"domain": [0, 0.4]},
        height=round(MARGIN["b"] + 150 + 2 * ROW * (n + 0.5)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("Two rankings. {list}.").format(list="; ".join(texts)),
            [_("design"), _("benchmark"), _("mix")],
            [(name, say_rate(float(r)), say_time(float(t))) for name, r, t in zip(names, rate, time)],
        ),
    )
