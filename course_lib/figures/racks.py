"""Racks: who sits where and who fails with whom, and all-reduces over one, two and twenty racks beside the predictor."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    blank_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    points,
    size_axis,
)
from course_lib.figures.theme import color, faded, theme
from course_lib.plan.rack import seat
from course_lib.plan.rackruns import Measured, Range
from course_lib.timing.system import load

CELL = 0.4


def seats(
    system: str = "gb200-nvl72",
    n_gpus: int = 72,
    *,
    lost_hosts: Sequence[int] = (),
    letters: Sequence[str] | None = None,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return GPUs by host (a column each) with a frame around every scale-up domain; lost hosts are amber and crossed.

    `letters` names the job of each GPU ("" for none). Three traces: GPUs at work, GPUs of lost hosts, GPUs without a job.

    >>> seats(lost_hosts=[3]).layout.title.text.replace("<br>", " ")
    '72 GPUs are 18 hosts and 1 domain; 1 lost host takes 4 GPUs with it'
    """
    place = load(system)
    n = whole("n_gpus", n_gpus, at_least=1, at_most=min(place.n_max, 256))
    letters = [""] * n if letters is None else list(letters)
    if len(letters) != n:
        raise CourseError(_("letters has {m} entries; {n} are expected.").format(m=len(letters), n=n))
    mine = [seat(g, place) for g in range(n)]
    dead = {whole("lost host", h, at_least=0) for h in lost_hosts}
    hosts, domains = mine[-1].host + 1, mine[-1].domain + 1
    x = np.array([s.host + 0.35 * s.domain for s in mine], float)
    y = np.array([s.local for s in mine], float)
    gone = np.array([s.host in dead for s in mine])
    named = letters != [""] * n
    idle = np.array([named and not text for text in letters]) & ~gone
    states = [
        (~gone & ~idle, "nvlink", "square", 0.75),
        (gone, "attention", "x", 1.0),
        (idle, "limit", "square-open", 1.0),
    ]
    data = []
    for mask, role, symbol, strong in states:
        texts = [
            _("GPU {g}: host {h}, number {k} in it, domain {d}").format(g=s.gpu, h=s.host, k=s.local, d=s.domain)
            for s, m in zip(mine, mask, strict=True)
            if m
        ]
        trace = points(x[mask], y[mask], role=role, symbol=symbol, size=13, hover="%{text}", text=texts)
        trace["marker"]["color"] = faded(color(role), 0.35 if named else strong) if strong < 1 else color(role)
        if role == "nvlink":
            trace["marker"]["line"] = {"width": 1, "color": color(role)}
        if named and role == "nvlink":
            words = [text for text, m in zip(letters, mask, strict=True) if m]
            trace |= {"mode": "markers+text", "hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}
            trace |= {"text": words, "textfont": {"size": 10, "color": theme().ink}}
        data.append(trace)
    frames = []
    for d in range(domains):
        across = [s for s in mine if s.domain == d]
        first, last = across[0].host + 0.35 * d, across[-1].host + 0.35 * d
        frames.append(
            {
                "type": "rect",
                "xref": "x",
                "x0": first - CELL - 0.08,
                "x1": last + CELL + 0.08,
                "yref": "y",
                "y0": -0.55,
                "y1": place.gpus_per_host - 0.45,
                "line": {"color": color("nvlink"), "width": 2},
                "layer": "below",
            }
        )
    lost = int(gone.sum())
    counts = {
        "n": n,
        "hosts": _("1 host") if hosts == 1 else _("{n} hosts").format(n=hosts),
        "domains": _("1 domain") if domains == 1 else _("{n} domains").format(n=domains),
        "lost": _("1 lost host takes") if len(dead) == 1 else _("{n} lost hosts take").format(n=len(dead)),
        "gpus": lost,
    }
    words = _("{n} GPUs are {hosts} and {domains}").format(**counts)
    if dead:
        words = _("{n} GPUs are {hosts} and {domains}; {lost} {gpus} GPUs with it").format(**counts)
    by_host = [
        (
            h,
            sum(s.host == h for s in mine),
            next(s.domain for s in mine if s.host == h),
            _("lost") if h in dead else _("at work"),
            "".join(dict.fromkeys(text for text, s in zip(letters, mine, strict=True) if s.host == h)),
        )
        for h in range(hosts)
    ]
    return base_figure(
        data,
        title=title or words,
        subtitle=subtitle
        or _("a column is one host, a green frame one NVLink domain")
        + (_("; cross: lost") if dead else "")
        + (_("; empty: without a job") if idle.any() else ""),
        xaxis=blank_axis(-0.9, float(x.max()) + 0.9),
        yaxis=blank_axis(-0.8, place.gpus_per_host - 0.2),
        height=130 + 34 * place.gpus_per_host,
        margin={"l": 14, "r": 14, "b": 16},
        shapes=frames,
        meta=describe(words + ".", [_("host"), _("GPUs"), _("domain"), _("state"), _("jobs")], by_host),
    )


def all_reduces(measured: Sequence[Measured], unmeasured: Range, *, title: str = "") -> go.Figure:
    """Return bus bandwidths of all-reduces: crosses and circles measured, lines predicted, a band where nothing was measured.

    `measured` holds one rack and many, in this order. Below, predicted over measured time. Nine traces.

    >>> from course_lib.plan.rackruns import between, measured
    >>> len(all_reduces(measured(), between(2)).data)
    9
    """
    one, many = measured
    xaxis = size_axis(
        float(min(m.message_B.min() for m in measured)) / 1.4, float(max(m.message_B.max() for m in measured)) * 1.4
    )
    xaxis |= {"anchor": "y2"}
    values = [2**k * 2**20 for k in range(9, 15, 1)]
    xaxis |= {
        "tickvals": values,
        "ticktext": [say_bytes(float(v)) if k in (0, 4) else "" for k, v in enumerate(values)],  # narrow pages
    }
    top = 1.15 * max(float(m.busbw_Bps.max()) for m in measured)
    top = max(top, 1.1 * float(unmeasured.busbw_Bps(unmeasured.low_s).max())) / 1e9
    yaxis = linear_axis(_("bus bandwidth (GB/s)"), 0, top, nticks=5) | {"domain": [0.42, 1]}
    worst = max(float(np.abs(m.residual).max()) for m in measured)
    below = linear_axis(_("predicted ÷ measured"), float(np.exp(-worst)) * 0.9, 1.25, nticks=5) | {"domain": [0, 0.28]}
    low, high = (unmeasured.busbw_Bps(t) / 1e9 for t in (unmeasured.high_s, unmeasured.low_s))
    between = [
        _("{size} over {n} racks, predicted: {a}, between {b} and {c}").format(
            size=say_bytes(float(m)),
            n=unmeasured.racks,
            a=say_rate(float(p)),
            b=say_rate(1e9 * float(b)),
            c=say_rate(1e9 * float(c)),
        )
        for m, p, b, c in zip(unmeasured.message_B, unmeasured.busbw_Bps(unmeasured.time_s), low, high, strict=True)
    ]
    data = [
        line(unmeasured.message_B, low, role="network", width=0),
        line(unmeasured.message_B, high, role="network", width=0) | {"fill": "tonexty", "fillcolor": _clear("network")},
        line(
            unmeasured.message_B,
            unmeasured.busbw_Bps(unmeasured.time_s) / 1e9,
            role="network",
            width=2,
            dash="dot",
            hover="%{text}",
            text=between,
        ),
    ]
    rows, labels = (
        [],
        [
            (
                _("{n} racks,<br>unmeasured").format(n=unmeasured.racks),
                float(unmeasured.busbw_Bps(unmeasured.time_s)[-1]) / 1e9,
                "network",
            )
        ],
    )
    for m, role, symbol, dash in ((one, "nvlink", "x", "solid"), (many, "network", "circle", "dashdot")):
        name = _("1 rack") if m.racks == 1 else _("{n} racks").format(n=m.racks)
        texts = [
            _("{size}, {name}: measured {a}, predicted {b}, predicted ÷ measured time {r}").format(
                size=say_bytes(float(v)),
                name=name,
                a=say_rate(float(s)),
                b=say_rate(float(p)),
                r=say_number(float(np.exp(r)), 2),
            )
            for v, s, p, r in zip(m.message_B, m.busbw_Bps, m.predicted_busbw_Bps, m.residual, strict=True)
        ]
        data.append(line(m.message_B, m.predicted_busbw_Bps / 1e9, role=role, dash=dash))
        data.append(points(m.message_B, m.busbw_Bps / 1e9, symbol=symbol, size=9, hover="%{text}", text=texts))
        data.append(
            points(m.message_B, np.exp(m.residual), symbol=symbol, size=9, hover="%{text}", text=texts)
            | {"yaxis": "y2", "mode": "lines+markers", "line": {"color": color("measured"), "width": 1, "dash": dash}}
        )
        labels.append((name, float(m.predicted_busbw_Bps[-1]) / 1e9, role))
        rows += [
            (name, say_bytes(float(v)), say_rate(float(s)), say_rate(float(p)), f"{r:+.2f}")
            for v, s, p, r in zip(m.message_B, m.busbw_Bps, m.predicted_busbw_Bps, m.residual, strict=True)
        ]
    rows += [
        (
            _("{n} racks").format(n=unmeasured.racks),
            say_bytes(float(v)),
            _("not measured"),
            say_rate(float(p)),
            f"{say_rate(1e9 * float(b))} … {say_rate(1e9 * float(c))}",
        )
        for v, p, b, c in zip(unmeasured.message_B, unmeasured.busbw_Bps(unmeasured.time_s), low, high, strict=True)
    ]
    miss = min((m for m in measured), key=lambda m: float(m.residual.min()))
    k = int(np.argmin(miss.residual))
    said = {
        "n": miss.racks,
        "size": say_bytes(float(miss.message_B[k])),
        "share": say_number(100 * float(np.exp(miss.residual[k])), 2),
    }
    level = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y2",
        "y0": 1,
        "y1": 1,
        "line": {"color": color("limit"), "width": 1.5, "dash": "dash"},
    }
    return base_figure(
        data,
        title=title or _("Over {n} racks the predictor gives {share} % of the measured time at {size}").format(**said),
        subtitle=_(
            "crosses: 1 rack, circles: {n} racks, measured; lines: predicted; band: nobody measured two racks"
        ).format(n=many.racks),
        xaxis=xaxis,
        yaxis=yaxis,
        yaxis2=below,
        height=540,
        margin={"r": OUTSIDE + 6},
        shapes=[level],
        annotations=end_labels(labels, yaxis, outside=True, height=340),
        meta=describe(
            _("Bus bandwidth of all-reduces over message size, measured and predicted: {list}.").format(
                list="; ".join(f"{r[0]}, {r[1]}: {r[2]}, {r[3]}" for r in rows)
            ),
            [_("where"), _("size"), _("measured"), _("predicted"), _("ln(predicted ÷ measured), or range")],
            rows,
        ),
    )


def _clear(role: str) -> str:
    shade = color(role).lstrip("#")
    return "rgba({},{},{},0.18)".format(*(int(shade[i : i + 2], 16) for i in (0, 2, 4)))
