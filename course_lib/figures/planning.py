"""Plans: a training step by tensor degree with the memory below it, and one step term by term."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import GB, say_bytes, say_number, say_time
from course_lib.figures.base import base_figure, describe, limit_line, limit_name, linear_axis, note
from course_lib.figures.columns import same_length
from course_lib.figures.degrees import HATCH, bars, frame_round
from course_lib.figures.rows import row_label, rows_layout
from course_lib.figures.theme import color, faded, theme

PARTS = ("computing", "recomputing", "exposed communication", "bubble", "optimizer")
ROW = 38


def _fills() -> dict[str, tuple[str, str]]:
    """Colour and hatching of each part of a step."""
    return {
        "computing": (faded(color("memory"), 0.55), ""),
        "recomputing": (faded(color("memory"), 0.9), "x"),
        "exposed communication": (color("network"), "/"),
        "bubble": (faded(color("attention"), 0.55), "."),
        "optimizer": (color("model"), "-"),
    }


def _said() -> dict[str, str]:
    return {
        "computing": _("computing"),
        "recomputing": _("recomputing"),
        "exposed communication": _("exposed communication"),
        "bubble": _("bubble"),
        "optimizer": _("optimizer"),
    }


def by_degree(
    tensor: Sequence[int],
    groups: Mapping[str, Sequence[float]],
    memory_B,
    capacity_B: float,
    *,
    chosen: int,
    title: str,
    gpu: str = "GPU",
) -> go.Figure:
    """Return the step of a plan at every tensor degree in five parts, and under it what the fullest GPU holds; six traces.

    `groups` maps `PARTS` to seconds (n,), NaN where a degree does not divide; `memory_B` (n,) likewise. The `chosen` degree is
    framed.

    >>> parts = {p: [1.0, float("nan")] for p in PARTS}
    >>> fig = by_degree([1, 2], parts, [4e9, float("nan")], 80e9, chosen=1, title="TP 1: 5 s")
    >>> len(fig.data), fig.layout.meta["table"]["rows"][1][1]
    (6, 'does not divide')
    """
    tensor = [whole("tensor", t, at_least=1) for t in tensor]
    given = {p: np.asarray(groups[p], float) for p in PARTS}
    memory = np.asarray(memory_B, float)
    same_length(len(tensor), memory_B=memory, **given)
    if chosen not in tensor:
        raise CourseError(
            _("{n} is not among the degrees drawn: {all}.").format(n=chosen, all=", ".join(map(str, tensor)))
        )
    capacity_B = finite("capacity_B", capacity_B, above=0, unit="bytes")
    here, x, total = tensor.index(chosen), np.arange(len(tensor), dtype=float), sum(given.values())
    good = np.isfinite(total)
    if not good.any():
        raise CourseError(_("None of the degrees {all} divides.").format(all=", ".join(map(str, tensor))))
    said, fills = _said(), _fills()
    texts = [
        _("tensor {t}: {step} a step ({parts}); {size} on the fullest GPU").format(
            t=t,
            step=say_time(float(total[i])),
            parts=", ".join(f"{said[p]} {say_time(float(given[p][i]))}" for p in PARTS if given[p][i] > 0),
            size=say_bytes(float(memory[i])),
        )
        if good[i]
        else _("tensor {t}: does not divide").format(t=t)
        for i, t in enumerate(tensor)
    ]
    data, base = [], np.zeros(len(x))
    for part in PARTS:
        high = np.nan_to_num(given[part])
        trace = bars(x, high, base, [fills[part][0]] * len(x), texts)
        trace["marker"]["pattern"] = HATCH | {"fgcolor": theme().ground, "shape": fills[part][1]}
        data.append(trace)
        base = base + high
    ok = memory <= capacity_B
    held = bars(x, np.nan_to_num(memory) / GB, 0, [faded(color("memory"), 0.8 if f else 0.35) for f in ok], texts)
    held["marker"]["pattern"] = HATCH | {"fgcolor": theme().muted, "shape": ["" if f else "x" for f in ok]}
    data.append(held | {"yaxis": "y2"})
    top = float(np.nanmax(total)) * 1.2
    most = min(max(float(np.nanmax(memory)), capacity_B) * 1.25, 3.2 * capacity_B)
    labels = [
        note(
            (f"<b>{say_number(float(v), 3)}</b>" if i == here else say_number(float(v), 3)) if g else "–",
            x=float(i),
            y=float(v) if g else 0.0,
            xref="x",
            yref="y",
            yshift=11,
        )
        for i, (v, g) in enumerate(zip(total, good))
    ]
    labels += [
        note(
            say_bytes(float(m)),
            x=float(i),
            y=most * 0.93,
            xref="x",
            yref="y2",
        )
        for i, m in enumerate(memory)
        if good[i] and m / GB > most / GB * 0.93
    ]
    labels.append(
        limit_name(_("{gpu} has {size}").format(gpu=gpu, size=say_bytes(capacity_B)), capacity_B / GB, yref="y2")
    )
    frame = frame_round(here)
    columns = [_("tensor"), _("step"), *said.values(), _("memory"), _("fits")]
    rows = [
        (
            t,
            say_time(float(total[i])),
            *(say_time(float(given[p][i])) for p in PARTS),
            say_bytes(float(memory[i])),
            _("yes") if ok[i] else _("no"),
        )
        if good[i]
        else (t, _("does not divide"), *("–",) * (len(columns) - 2))
        for i, t in enumerate(tensor)
    ]
    return base_figure(
        data,
        title=title,
        subtitle=_(
            "plain grey: computing; crossed: recomputing; hatched: exposed communication; dotted: bubble; "
            "below: the fullest GPU, crossed out where it does not fit"
        ),
        xaxis=linear_axis(_("tensor ranks (TP)"), -0.6, len(x) - 0.4)
        | {"tickvals": x.tolist(), "ticktext": [str(t) for t in tensor], "showgrid": False, "anchor": "y2"},
        yaxis=linear_axis(_("one step (s)"), 0, top) | {"domain": [0.46, 1], "nticks": 5},
        yaxis2=linear_axis(_("memory (GB)"), 0, most / GB) | {"domain": [0, 0.34], "nticks": 4},
        barmode="overlay",
        height=540,
        annotations=labels,
        shapes=[limit_line(y=capacity_B / GB, yref="y2"), frame],
        meta=describe("; ".join(texts) + ".", columns, rows),
    )


def terms(named_s: Mapping[str, float], *, groups: Mapping[str, str], title: str = "", subtitle: str = "") -> go.Figure:
    """Return the terms of one step (seconds by name) as bars, longest first, those of no length left out; one trace.

    `groups` says to which of `PARTS` a term belongs.

    >>> terms({"matrix products": 3.0, "bubble": 1.0}, groups={"matrix products": "computing", "bubble": "bubble"}).layout.title.text
    'Matrix products take 75 % of a step of 4 s'
    """
    kept = {n: finite(n, v, at_least=0, unit="s") for n, v in named_s.items()}
    kept = {n: v for n, v in sorted(kept.items(), key=lambda item: -item[1]) if v > 0}
    if not kept:
        raise CourseError(_("No term has a length."))
    names, value = list(kept), np.array(list(kept.values()))
    total, y, fills = float(value.sum()), np.arange(len(kept), dtype=float), _fills()
    share = value / total
    texts = [
        _("{name}: {time}, {share} %").format(name=_(n), time=say_time(float(v)), share=say_number(100 * float(s), 2))
        for n, v, s in zip(names, value, share)
    ]
    trace = bars(value, y, 0, [fills[groups[n]][0] for n in names], texts, across=True)
    trace["marker"]["pattern"] = HATCH | {"fgcolor": theme().ground, "shape": [fills[groups[n]][1] for n in names]}
    return base_figure(
        [trace],
        title=title
        or _("{name} take {share} % of a step of {time}").format(
            name=_(names[0]).capitalize(), share=say_number(100 * float(share[0]), 2), time=say_time(total)
        ),
        subtitle=subtitle
        or _("plain grey: computing; crossed: recomputing; hatched: exposed communication; dotted: bubble"),
        xaxis=linear_axis(_("time (s)"), 0, float(value.max()) * 1.05),
        **rows_layout(len(names), ROW),
        barmode="overlay",
        annotations=[
            row_label(f"{_(n)}  <b>{say_time(float(v))}</b>", i, up=17) for i, (n, v) in enumerate(zip(names, value))
        ],
        meta=describe(
            _("A step of {time}: {list}.").format(time=say_time(total), list="; ".join(texts)),
            [_("term"), _("time"), _("share")],
            [(_(n), say_time(float(v)), f"{100 * float(s):.1f} %") for n, v, s in zip(names, value, share)],
        ),
    )
