"""Space and time of a schedule: ranks down, chunks across, the parts in each cell, one picture per step."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_time
from course_lib.comm.trace import Trace
from course_lib.figures.base import base_figure, blank_axis, describe, line, linear_axis, note, points, wrapped
from course_lib.figures.spacetimecells import cells, numbers, rows_of, words_of
from course_lib.figures.stepbars import seconds_axis, segments
from course_lib.figures.theme import MARGIN, ink
from course_lib.timing.timeline import Timeline

MOST_CELLS = 96  # ranks (with switches) or chunks that still make a picture
MOST_ARROWS = 400
BELOW_PX, STRIP_PX, GAP_PX = 50, 30, 92  # under the grid: its axis; the strip of time; what lies between the two


def spacetime(seen: Trace, frame: int = 0, timed: Timeline | None = None, *, title: str = "") -> go.Figure:
    """Return one state of a schedule: a row a rank, a column a chunk, in the cell the number of parts summed in it.

    Args:
        seen: the states of the schedule, from `comm.trace.trace`.
        frame: 0 is the start, f the state after f steps.
        timed: with it, a strip under the grid shows the same steps in time: pale is latency, strong is bytes.
        title: in place of the computed one.

    Raises:
        CourseError: a frame that does not exist, or more ranks or chunks than can be drawn.

    Eight traces: cells, two of numbers (dark and light), arrows, their heads, frames around what arrived, two of the strip.

    >>> from course_lib.comm import ring
    >>> from course_lib.comm.trace import trace
    >>> spacetime(trace(ring.reduce_scatter(8)), 5).layout.title.text
    'After 5 of 7 steps, the fullest slots hold 6 of 8 parts'
    """
    frame = whole("frame", frame, at_least=0, at_most=seen.frames - 1)
    n_nodes, chunks = seen.schedule.n_nodes, seen.schedule.chunks
    if max(n_nodes, chunks) > MOST_CELLS:
        raise CourseError(
            _("A picture of {n} nodes and {c} chunks is too fine to read; at most {most} of each.").format(
                n=n_nodes, c=chunks, most=MOST_CELLS
            )
        )
    row_px = min(40, max(12, 420 // n_nodes))
    grid_px = row_px * n_nodes
    below_px = GAP_PX + STRIP_PX if timed is not None else 0
    plot_px = grid_px + below_px
    strip, extra = _strip(timed, frame, seen) if timed is not None else (_no_strip(), {})
    if timed is not None:
        extra["yaxis2"] |= {"domain": [0, STRIP_PX / plot_px]}
    yaxis = {
        **linear_axis(_("rank"), n_nodes - 0.5, -0.5, tickvals=list(range(n_nodes)), ticktext=rows_of(seen)),
        "domain": [below_px / plot_px, 1],
        "showgrid": False,
        "fixedrange": True,
    }
    apart = max(1, -(-chunks // 16))
    ticks = list(range(0, chunks, apart))
    xaxis = linear_axis(_("chunk"), -0.5, chunks - 0.5, tickvals=ticks, ticktext=[str(c) for c in ticks])
    xaxis |= {"showgrid": False, "fixedrange": True, "anchor": "y"}
    said = _said(seen, frame)
    return base_figure(
        [cells(seen, frame), *numbers(seen, frame, row_px), *_arrows(seen, frame), _frames(seen, frame), *strip],
        title=title or said,
        subtitle=_subtitle(seen, timed is not None),
        xaxis=xaxis,
        yaxis=yaxis,
        height=plot_px + BELOW_PX + MARGIN["t"] + 54,
        margin={"l": 58 if n_nodes == seen.schedule.n_ranks else 84, "r": 12, "b": BELOW_PX},
        meta=_meta(seen, frame, said, timed),
        **extra,
    )


def _said(seen: Trace, frame: int) -> str:
    n, steps = seen.schedule.n_ranks, seen.schedule.repeats
    promised, done = int(seen.wanted.sum()), int(seen.done[frame].sum())
    after = _("After {f} of {steps} steps").format(f=frame, steps=steps)
    if seen.fault and frame == seen.frames - 1:
        return _("It stops after {f} of {steps} steps. {fault}").format(f=frame, steps=steps, fault=seen.fault)
    twice = int(seen.wrong[frame, :n].sum())
    if twice:
        if twice == 1:
            return _("{after}, 1 slot holds a part more than once").format(after=after)
        return _("{after}, {k} slots hold a part more than once").format(after=after, k=twice)
    if frame == 0:
        return _("Before the first of {steps} steps, {done} of {promised} slots hold what they should").format(
            steps=steps, done=done, promised=promised
        )
    if done == promised:
        return _("{after}, all {promised} slots hold what they should").format(after=after, promised=promised)
    if done or seen.full == 1:
        return _("{after}, {done} of {promised} slots hold what they should").format(
            after=after, done=done, promised=promised
        )
    return _("{after}, the fullest slots hold {most} of {full} parts").format(
        after=after, most=int(seen.parts[frame, :n].max()), full=seen.full
    )


def _subtitle(seen: Trace, timed: bool) -> str:
    what = _("number: parts summed so far") if seen.full > 1 else _("number: whose chunk it is")
    text = what + _("; framed: arrived in the last step; full colour: all parts are in")
    return text + _("; strip: the same steps in time, pale for latency, strong for bytes") if timed else text


# What moved


def _arrows(seen: Trace, frame: int) -> list[dict]:
    moves = seen.moves[frame - 1] if frame else None
    if moves is None or moves.src.size > MOST_ARROWS:
        src = dst = chunk = np.zeros(0, dtype=np.int64)
    else:
        src, dst, chunk = moves.src, moves.dst, moves.chunk
    order = np.argsort(chunk, kind="stable")
    src, dst, chunk = src[order], dst[order], chunk[order]
    of = np.bincount(chunk, minlength=1)
    before = np.arange(chunk.size) - (np.cumsum(of) - of)[chunk]  # of this column's arrows
    several = int(of.max(initial=0)) > 1
    x = chunk + 0.40 - 0.24 * before / np.maximum(of[chunk] - 1, 1)
    down = dst > src
    tip = dst + np.where(down, -0.40, 0.40)
    path = lambda a, b: np.column_stack([a, b, np.full(a.size, np.nan)]).ravel()  # noqa: E731
    shaft = line(
        path(x, x),
        path(src.astype(float), tip),
        role="attention",
        width=1 if several else 1.6,
        dash="solid",
        name=_("sent"),
    )
    heads = points(x, tip, role="attention", size=5 if several else 8, name=_("sent"))
    shaft["line"]["color"] = ink("attention")  # amber alone is too pale for a thin line on white
    heads["marker"]["symbol"] = np.where(down, "triangle-down", "triangle-up").tolist()
    return [shaft, heads]


def _frames(seen: Trace, frame: int) -> dict:
    row, chunk = np.nonzero(seen.arrived[frame])
    corner = np.array([[-0.47, -0.47], [0.47, -0.47], [0.47, 0.47], [-0.47, 0.47], [-0.47, -0.47], [np.nan, np.nan]])
    x, y = (chunk[:, None] + corner[:, 0]).ravel(), (row[:, None] + corner[:, 1]).ravel()
    frames = line(x, y, role="attention", width=2.5, dash="solid", name=_("arrived"))
    frames["line"]["color"] = ink("attention")
    return frames


# Time


def _no_strip() -> list[dict]:
    return segments([], 1.0)


def _strip(timed: Timeline, frame: int, seen: Trace) -> tuple[list[dict], dict]:
    if timed.start_s.size < seen.frames - 1:
        raise CourseError(
            _("The timeline has {a} steps, the schedule {b}; they are not of one schedule.").format(
                a=timed.start_s.size, b=seen.frames - 1
            )
        )
    now_s = float(timed.end_s[frame - 1]) if frame else 0.0
    bars = segments([timed], 1.0, frame, {"xaxis": "x2", "yaxis": "y2"})
    said = note(
        _("<b>{now}</b> of {all} for {size}").format(
            now=say_time(now_s) if frame else "0", all=say_time(timed.time_s), size=say_bytes(timed.message_B)
        ),
        x=0,
        xref="paper",
        xanchor="left",
        y=0.5,
        yref="y2",
        yshift=STRIP_PX / 2 + 12,
    )
    extra = {
        "xaxis2": seconds_axis(timed.time_s or 1e-6) | {"anchor": "y2"},
        "yaxis2": blank_axis(-0.5, 0.5),
        "annotations": [said],
        "barmode": "overlay",
    }
    return bars, extra


def _meta(seen: Trace, frame: int, said: str, timed: Timeline | None) -> dict:
    rows, words = rows_of(seen), words_of(seen, frame)
    moves = seen.moves[frame - 1] if frame else None
    alt = said.rstrip(".") + ". "
    if moves is not None and moves.src.size:
        few = [
            _("{a} to {b} chunk {c}").format(a=rows[a], b=rows[b], c=c)
            for a, b, c in zip(moves.src[:8].tolist(), moves.dst[:8].tolist(), moves.chunk[:8].tolist())
        ]
        alt += _("Chunks moved in this step ({n}): {list}.").format(
            n=moves.src.size, list=", ".join(few) + (" …" if moves.src.size > 8 else "")
        )
    if timed is not None:
        alt += " " + _("For {size} all steps take {time}.").format(
            size=say_bytes(timed.message_B), time=say_time(timed.time_s)
        )
    columns = [_("rank"), *(_("chunk {c}").format(c=c) for c in range(seen.schedule.chunks))]
    return describe(wrapped(alt, 10_000), columns, [[rows[r], *words[r].tolist()] for r in range(len(rows))])
