"""Pipeline timelines: stages down, time across, forward pale and backward strong, bubbles left empty and counted."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
    points,
    wrapped,
)
from course_lib.figures.theme import SERIES_DASH, color, contrast, faded, theme
from course_lib.plan.pipeline import Timeline, in_flight

MOST_BARS = 6_000
MOST_LINES = 4


def pipeline(timeline: Timeline, *, name: str = "", micro: int | None = 0, title: str = "") -> go.Figure:
    """Return a pipeline's timeline: a row a stage, pale forward, strong backward, hatched what a split backward puts off.

    `name` is the schedule's; the blocks of micro-batch `micro` are amber (None: of none), later chunks a little stronger.
    At the right, each stage's idle share and the most micro-batches that it holds. Times are in the timeline's unit, as
    numbers. Always three traces.

    >>> from course_lib.plan.orders import make
    >>> from course_lib.plan.pipeline import run
    >>> pipeline(run(make("1f1b", 4, 8)), name="1F1B").layout.title.text
    '1F1B: 27 % of the step is bubble; the<br>first stage holds 4 micro-batches'
    """
    if timeline.start_s.size > MOST_BARS:
        raise CourseError(
            _("{n} pieces of work are too fine to draw; at most {most} are.").format(
                n=timeline.start_s.size, most=MOST_BARS
            )
        )
    held, idle = in_flight(timeline), timeline.idle_s / timeline.step_s
    row_px = 50 if timeline.p <= 5 else 40
    labels = [
        note(
            _("idle {share} %<br>holds {n}").format(share=say_number(100 * float(i), 2), n=say_number(float(h), 3)),
            x=1,
            xref="paper",
            xanchor="left",
            xshift=6,
            align="left",
            y=s,
            yref="y",
        )
        for s, (i, h) in enumerate(zip(idle, held))
    ]
    words = _("{share} % of the step is bubble; the first stage holds {n} {unit}").format(
        share=say_number(100 * timeline.bubble_of_step, 2),
        n=say_number(float(held[0]), 3),
        unit=_("micro-batch") if held[0] == 1 else _("micro-batches"),
    )
    rows = [
        (
            s,
            say_number(float(timeline.busy_s[s]), 4),
            say_number(float(timeline.idle_s[s]), 4),
            f"{say_number(100 * float(idle[s]), 3)} %",
            say_number(float(held[s]), 3),
        )
        for s in range(timeline.p)
    ]
    return base_figure(
        [_pieces(timeline, kind, micro) for kind in "FBW"],
        title=title or (f"{name}: {words}" if name else words[0].upper() + words[1:]),
        subtitle=_("pale: forward, strong: backward{split}, empty: bubble; numbers name micro-batches{amber}").format(
            split=_(", hatched: gradients of weights") if timeline.split else "",
            amber="" if micro is None else _(", {i} is amber").format(i=micro),
        ),
        xaxis=linear_axis(_("time (one forward of a whole stage = 1)"), 0, timeline.step_s),
        yaxis=linear_axis("", timeline.p - 0.5, -0.5)
        | {
            "tickvals": list(range(timeline.p)),
            "ticktext": [_("stage {s}").format(s=s) for s in range(timeline.p)],
            "showgrid": False,
            "fixedrange": True,
        },
        height=round(row_px * timeline.p) + 168,
        margin={"l": 68, "r": OUTSIDE - 4},
        barmode="overlay",
        uniformtext={"minsize": 9, "mode": "hide"},
        annotations=labels,
        meta=describe(
            _("{name}: stages {p}, micro-batches {m}, chunks of a stage {v}. It takes {t}; {words}. ").format(
                name=name or _("A pipeline"),
                p=timeline.p,
                m=timeline.m,
                v=timeline.v,
                t=say_number(timeline.step_s, 4),
                words=words,
            )
            + "; ".join(_("stage {s}: idle {i}, holds {h}").format(s=r[0], i=r[2], h=r[4]) for r in rows)
            + ".",
            [_("stage"), _("busy"), _("idle"), _("idle, part of the step"), _("micro-batches held")],
            rows,
        ),
    )


def _pieces(timeline: Timeline, kind: str, micro: int | None) -> dict:
    """The bars of one kind of work."""
    mine = timeline.kind == kind
    chunk, number = timeline.chunk[mine], timeline.micro[mine]
    low, high = {"F": (0.20, 0.36), "B": (0.80, 0.96), "W": (0.45, 0.45)}[kind]
    grey, amber = (
        np.array([faded(color(role), at + (high - low) * c / max(timeline.v - 1, 1)) for c in range(timeline.v)])
        for role, at in (("model", low), ("attention", low + (0.18 if kind == "F" else 0.04)))
    )
    chosen = number == (-1 if micro is None else micro)
    on_grey, on_amber = (np.array([_readable(shade) for shade in shades]) for shades in (grey, amber))
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": (timeline.end_s - timeline.start_s)[mine],
        "y": timeline.stage[mine],
        "base": timeline.start_s[mine],
        "width": 0.72,
        "marker": {
            "color": np.where(chosen, amber[chunk], grey[chunk]),
            "line": {"width": 0.8, "color": theme().ground},
        },
        "text": number.astype(str),
        "customdata": np.stack([number, chunk, timeline.start_s[mine], timeline.end_s[mine]], axis=1),
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "inside",
        "textfont": {
            "size": 11,
            "color": np.where(chosen, on_amber[chunk], on_grey[chunk]),
        },
        "cliponaxis": True,
        "hovertemplate": {"F": _("forward"), "B": _("backward"), "W": _("gradients of weights")}[kind]
        + _(" of micro-batch %{customdata[0]}, chunk %{customdata[1]}: %{customdata[2]:.4g} to %{customdata[3]:.4g}")
        + "<extra></extra>",
    }
    if kind == "W":
        trace["marker"]["pattern"] = {"shape": "/", "size": 5, "solidity": 0.3, "fgcolor": theme().ground}
    return trace


def _readable(shade: str) -> str:
    """The ink or the ground, whichever can be read on a bar of this shade."""
    return max((theme().ink, theme().ground), key=lambda text: contrast(text, shade))


def held_by_stage(names: Sequence[str], held, *, title: str = "") -> go.Figure:
    """Return the most micro-batches that each stage holds, a line a schedule; `held` is (schedules, stages).

    One trace a schedule.

    >>> held_by_stage(["GPipe", "1F1B"], [[8, 8, 8], [3, 2, 1]]).layout.title.text
    'The first stage holds 8 micro-batches with GPipe, 3 with 1F1B'
    """
    held = np.atleast_2d(np.asarray(finite("held", held, at_least=0), float))
    if held.shape[0] != len(names) or len(names) > MOST_LINES:
        raise CourseError(
            _("One row per schedule and at most {most} are expected; here are {a} names and {b} rows.").format(
                most=MOST_LINES, a=len(names), b=held.shape[0]
            )
        )
    stage = np.arange(held.shape[1])
    yaxis = linear_axis(_("micro-batches held at once"), 0, float(held.max()) * 1.12)
    data = [
        line(
            stage,
            row,
            role="model",
            dash=SERIES_DASH[k],
            name=name,
            hover=_("{name}, stage %{{x}}: holds %{{y:.3g}}").format(name=name),
            mode="lines+markers",
        )
        for k, (name, row) in enumerate(zip(names, held))
    ]
    most, least = int(np.argmax(held[:, 0])), int(np.argmin(held[:, 0]))
    head = _("The first stage holds {a} micro-batches with {most}, {b} with {least}").format(
        a=say_number(float(held[most, 0]), 3),
        most=names[most],
        b=say_number(float(held[least, 0]), 3),
        least=names[least],
    )
    return base_figure(
        data,
        title=title or head,
        subtitle=_("each point: the most micro-batches whose activations a stage keeps at the same time"),
        xaxis=linear_axis(_("stage"), -0.25, held.shape[1] - 0.75)
        | {"tickvals": stage.tolist(), "ticktext": stage.astype(str).tolist()},
        yaxis=yaxis,
        annotations=end_labels([(wrapped(n, 12), float(r[-1]), "") for n, r in zip(names, held)], yaxis, outside=True),
        margin={"r": OUTSIDE + 6},
        meta=describe(
            head
            + ". "
            + "; ".join(f"{n}: {', '.join(say_number(float(h), 3) for h in r)}" for n, r in zip(names, held)),
            [_("schedule"), *(_("stage {s}").format(s=s) for s in stage)],
            [(n, *(say_number(float(h), 3) for h in r)) for n, r in zip(names, held)],
        ),
    )


def steps_over_micro(n_micro, measured_s, pace_s: float, fixed_s: float, bubble_s: float) -> go.Figure:
    """Return measured steps over the number of micro-batches with their line drawn to zero, and what the bubble explains there.

    Crosses: measured, (n,), in seconds. Solid: the line `fixed_s` + `pace_s`·m; dotted: the bubble alone; dashed: no
    bubble. Four traces.

    >>> steps_over_micro([32, 128], [35.8, 107.1], 0.74, 12.0, 7.5).layout.title.text
    'With no micro-batch at all a step would<br>take 12 s; 7.5 s of that are bubble'
    """
    m, t = (np.asarray(finite(n, v, above=0), float) for n, v in (("n_micro", n_micro), ("measured_s", measured_s)))
    pace, fixed, bubble = (
        finite(n, v, at_least=0, unit="s")
        for n, v in (("pace_s", pace_s), ("fixed_s", fixed_s), ("bubble_s", bubble_s))
    )
    if m.shape != t.shape or m.ndim != 1:
        raise CourseError(_("n_micro has {a} entries and measured_s {b}.").format(a=m.size, b=t.size))
    x = np.array([0.0, m.max() * 1.06])
    texts = [_("{n} micro-batches: {time} s").format(n=int(a), time=say_number(float(b), 4)) for a, b in zip(m, t)]
    data = [
        line(x, pace * x, role="limit", name=_("no bubble")),
        line(x, bubble + pace * x, role="model", dash="dot", width=1.8, name=_("bubble")),
        line(x, fixed + pace * x, role="model", name=_("line")),
        points(m, t, size=10, hover="%{text}", text=texts),
    ]
    data[-1]["marker"]["line"] = {"width": 2, "color": color("measured")}
    labels = [
        note(
            _("line at zero: {all}<br>bubble: {part}").format(
                all=say_number(fixed, 2) + " s", part=say_number(bubble, 2) + " s"
            ),
            role="model",
            x=0.03,
            xref="paper",
            xanchor="left",
            align="left",
            y=0.9,
            yref="paper",
        )
    ]
    labels.append(
        note(
            _("dashed: no bubble<br>dotted: bubble only"),
            role="limit",
            x=1,
            xref="paper",
            xanchor="right",
            align="right",
            y=0.12,
            yref="paper",
        )
    )
    return base_figure(
        data,
        title=_("With no micro-batch at all a step would take {all} s; {part} s of that are bubble").format(
            all=say_number(fixed, 2), part=say_number(bubble, 2)
        ),
        subtitle=_("crosses: measured; solid: the straight line through them; the model foretells the dotted one"),
        xaxis=linear_axis(_("micro-batches in a step"), 0, float(x[1])),
        yaxis=linear_axis(_("step (s)"), 0, float(t.max()) * 1.12),
        annotations=labels,
        meta=describe(
            "; ".join(texts)
            + _(". The line through them has {all} at zero; {part} are bubble.").format(
                all=say_time(fixed), part=say_time(bubble)
            ),
            [_("micro-batches"), _("measured"), _("line"), _("no bubble")],
            [
                (int(a), *(f"{say_number(float(v), 4)} s" for v in (b, fixed + pace * a, pace * a)))
                for a, b in zip(m, t)
            ],
        ),
    )
