"""Collectives: what each promises, what the busiest rank carries, and how that grows with the ranks."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number
from course_lib.comm.promise import LETTERS, SUM, Promise
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    blank_axis,
    count_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
)
from course_lib.figures.theme import MARGIN, color, faded, ink, theme

ROW_PX, HEAD_ROWS = 23, 1.45  # of a grid; above it the name of its collective
BAR_ROW_PX = 62


def promises(shown: Sequence[Promise], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return collectives as grids, before on the left and after on the right: a row a rank, in each cell what it holds.

    All of the same number of ranks. Three traces: cells, dark and light labels.

    >>> from course_lib.comm.promise import promise
    >>> promises([promise("all_reduce", 4), promise("reduce", 4)]).layout.title.text
    'What 2 collectives promise to 4 ranks'
    """
    sizes = {one.before.shape for one in shown}
    if len(sizes) != 1:
        raise CourseError(_("Grids of one number of ranks are expected; here are {n} kinds.").format(n=len(sizes)))
    n = sizes.pop()[0]
    tall = n + HEAD_ROWS
    x, y, labels = [], [], []
    for k, one in enumerate(shown):
        for side, held in enumerate((one.before, one.after)):
            for r in range(n):
                for c in range(n):
                    x.append(c + side * (n + 0.9))
                    y.append(k * tall + HEAD_ROWS + r)
                    labels.append(str(held[r, c]))
    x, y, labels = np.array(x), np.array(y), np.array(labels)
    summed, empty = np.char.startswith(labels, SUM), labels == ""
    shades = [faded(theme().muted, 0.06), faded(ink("nvlink"), 0.20), ink("nvlink")]
    kind = np.where(empty, 0, np.where(summed, 2, 1))
    wide = 0.94
    box = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * wide
    shapes = [
        {
            "type": "rect",
            "x0": a + box[0, 0],
            "x1": a + box[1, 0],
            "y0": b - 0.46,
            "y1": b + 0.46,
            "line": {"width": 0},
            "fillcolor": shades[q],
            "layer": "below",
        }
        for a, b, q in zip(x.tolist(), y.tolist(), kind.tolist())
    ]
    texts = [
        {
            "type": "scatter",
            "mode": "text",
            "x": x[kind == q],
            "y": y[kind == q],
            "text": labels[kind == q].tolist(),
            "textfont": {"size": 12, "color": shade},
            "hoverinfo": "skip",
        }
        for q, shade in ((1, ink()), (2, theme().ground))
    ]
    heads = [
        note(
            f"<b>{one.op.replace('_', '-')}</b>",
            x=-0.5,
            xref="x",
            xanchor="left",
            y=k * tall + HEAD_ROWS - 0.95,
            yref="y",
        )
        for k, one in enumerate(shown)
    ]
    arrows = [
        note("→", x=n - 0.05, xref="x", xanchor="center", y=k * tall + HEAD_ROWS + (n - 1) / 2, yref="y")
        for k in range(len(shown))
    ]
    rows = [
        (one.op, r, " ".join(label or "·" for label in one.before[r]), " ".join(label or "·" for label in one.after[r]))
        for one in shown
        for r in range(n)
    ]
    words = "; ".join(_promise_words(one) for one in shown)
    high = len(shown) * tall + 0.2
    return base_figure(
        texts,
        title=title or _("What {k} collectives promise to {n} ranks").format(k=len(shown), n=n),
        subtitle=subtitle
        or _("left before, right after; a row is a rank; A1: part 1 of rank 0's vector; Σ1: the sum of all parts 1"),
        xaxis=blank_axis(-0.6, 2 * n + 0.6),
        yaxis=blank_axis(high, 0),
        height=round(ROW_PX * high) + 96,
        margin={"l": 14, "r": 14, "b": 12},
        annotations=heads + arrows,
        shapes=shapes,
        meta=describe(
            _("Grids of what {n} ranks hold before and after. {list}.").format(n=n, list=words),
            [_("collective"), _("rank"), _("before"), _("after")],
            rows,
        ),
    )


def _promise_words(one: Promise) -> str:
    last = len(one.after) - 1
    held = [label for label in one.after[last].tolist() if label]
    return _("{op}: rank {r}, which is {letter}, ends with {list}").format(
        op=one.op, r=last, letter=LETTERS[last], list=", ".join(held) or _("nothing new")
    )


def heaviest(names: Sequence[str], most_B, least_B: float, *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return the bytes of the busiest rank (in its busier direction) of each schedule as bars, and the least possible as a dashed line.

    One trace.

    >>> heaviest(["all to rank 0", "ring"], [7e9, 1.75e9], 1.75e9).layout.title.text.replace("<br>", " ")
    'The busiest rank carries 7 GB with all to rank 0, 1.75 GB with ring'
    """
    most = np.atleast_1d(finite("most_B", np.asarray(most_B, dtype=float), at_least=0))
    least = finite("least_B", least_B, at_least=0)
    if len(names) != most.size or not most.size or not most.max():
        raise CourseError(
            _("One name per schedule is expected, and bytes that move; here are {a} names and {b} values.").format(
                a=len(names), b=most.size
            )
        )
    n, high = most.size, float(max(most.max(), least))
    texts = [f"{name}: {say_bytes(float(b))}" for name, b in zip(names, most, strict=True)]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": most,
        "y": np.arange(n, dtype=float),
        "width": 18 / BAR_ROW_PX,
        "marker": {"color": color("nvlink"), "line": {"width": 0}},
        "text": texts,
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }
    labels = [
        note(f"{name}  <b>{say_bytes(float(b))}</b>", x=0, xref="paper", xanchor="left", y=i, yref="y", yshift=22)
        for i, (name, b) in enumerate(zip(names, most, strict=True))
    ]
    limit = {
        "type": "line",
        "x0": least,
        "x1": least,
        "y0": -0.75,
        "y1": n - 0.6,
        "line": {"color": color("limit"), "width": 2, "dash": "dash"},
    }
    labels.append(
        note(
            _("least possible {b}").format(b=say_bytes(least)),
            role="limit",
            x=least,
            xref="x",
            xanchor="left" if least < high / 2 else "right",
            xshift=6 if least < high / 2 else -6,
            y=n - 0.48,
            yref="y",
        )
    )
    worst, best = int(np.argmax(most)), int(np.argmin(most))
    head = (
        _("The busiest rank carries {a} with {slow}, {b} with {fast}").format(
            a=say_bytes(float(most[worst])), slow=names[worst], b=say_bytes(float(most[best])), fast=names[best]
        )
        if most[worst] > most[best]
        else _("The busiest rank carries {a}, with {list}").format(
            a=say_bytes(float(most[0])), list=_(" and with ").join(names)
        )
    )
    ticks = np.linspace(0, _round_up(high), 5)
    return base_figure(
        [bars],
        title=title or head,
        subtitle=subtitle
        or _("bytes in the busier direction of the busiest rank; dashed: no schedule can do with less"),
        xaxis=linear_axis(_("bytes, one direction"), 0, high * 1.02)
        | {"tickvals": ticks.tolist(), "ticktext": [say_bytes(float(t)) if t else "0" for t in ticks]},
        yaxis=blank_axis(n - 0.3, -0.8),
        height=round(BAR_ROW_PX * (n + 0.5)) + MARGIN["b"] + 84,
        margin={"l": 16},
        annotations=labels,
        shapes=[limit],
        meta=describe(
            _("Bytes of the busiest rank in its busier direction: {list}. The least possible is {b}.").format(
                list="; ".join(texts), b=say_bytes(least)
            ),
            [_("schedule"), _("bytes of the busiest rank")],
            [(name, say_bytes(float(b))) for name, b in zip(names, most, strict=True)]
            + [(_("least possible"), say_bytes(least))],
        ),
    )


def _round_up(high: float) -> float:
    unit = 10 ** np.floor(np.log10(high))
    return float(next(unit * s for s in (1, 2, 4, 5, 8, 10) if unit * s >= high * 0.999))


def bytes_over_ranks(
    n_ranks,
    shares: Sequence[tuple[str, np.ndarray]],
    belief: tuple[str, np.ndarray] | None = None,
    *,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return the bytes each rank sends, as a share of the message, over the number of ranks; `belief` is dashed (1/n unless given).

    `shares` are (name, values over n_ranks). Traces: one a share, and the belief.

    >>> n = np.array([2, 8, 72])
    >>> bytes_over_ranks(n, [("all-reduce", 2 * (n - 1) / n)]).layout.title.text.replace("<br>", " ")
    'all-reduce: from 2 to 72 ranks the bytes of a rank rise from 1 to 1.97 of the message'
    """
    n = np.atleast_1d(finite("n_ranks", np.asarray(n_ranks, dtype=float), at_least=1))
    belief = belief or (_("if it fell as 1/n"), 1 / n)
    rows = [(name, np.asarray(y, dtype=float)) for name, y in (*shares, belief)]
    if any(y.shape != n.shape for _name, y in rows) or n.size < 2:
        raise CourseError(_("Each line needs one value per number of ranks, and there have to be two or more."))
    xaxis = count_axis(float(n.min()), float(n.max()) * 1.001, _("ranks"), [int(v) for v in n])
    high = max(float(y.max()) for _name, y in rows)
    yaxis = linear_axis(_("bytes sent ÷ message size"), 0, high * 1.08)
    dashes = ("solid", "dot", "dashdot")
    data = [
        line(n, y, role="nvlink", dash=dashes[i % 3], name=name, hover="%{text}", text=_points(name, n, y))
        for i, (name, y) in enumerate(rows[:-1])
    ]
    data.append(
        line(n, rows[-1][1], role="limit", name=rows[-1][0], hover="%{text}", text=_points(rows[-1][0], n, rows[-1][1]))
    )
    labels = [
        (f"{name}<br><b>{say_number(float(y[-1]))}</b>", float(y[-1]), "nvlink" if i < len(shares) else "limit")
        for i, (name, y) in enumerate(rows)
    ]
    name, y = rows[0]
    verb = _("rise") if y[-1] > y[0] else _("fall")
    return base_figure(
        data,
        title=title
        or _("{name}: from {a} to {b} ranks the bytes of a rank {verb} from {lo} to {hi} of the message").format(
            name=name, a=int(n[0]), b=int(n[-1]), verb=verb, lo=say_number(float(y[0])), hi=say_number(float(y[-1]))
        ),
        subtitle=subtitle or _("lines: the least a rank has to send; dashed grey: a common belief, which is wrong"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True),
        margin={"r": OUTSIDE + 24, "l": 64},
        meta=describe(
            _("Bytes sent by a rank over message size. ")
            + " ".join(
                _("{name}: {lo} at {a} ranks, {hi} at {b}.").format(
                    name=_one_line(k),
                    lo=say_number(float(v[0])),
                    a=int(n[0]),
                    hi=say_number(float(v[-1])),
                    b=int(n[-1]),
                )
                for k, v in rows
            ),
            [_("ranks"), *(_one_line(k) for k, _v in rows)],
            [[int(m), *(float(v[i]) for _k, v in rows)] for i, m in enumerate(n)],
        ),
    )


def _one_line(name: str) -> str:
    return name.replace("<br>", " ")


def _points(name: str, n: np.ndarray, y: np.ndarray) -> list[str]:
    return [
        _("{name}, {n} ranks: {y}").format(name=_one_line(name), n=int(a), y=say_number(float(b)))
        for a, b in zip(n, y, strict=True)
    ]
