"""Step bars: schedules along a time axis, each step its latency and then its bytes."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.figures.base import base_figure, blank_axis, describe, linear_axis, note
from course_lib.figures.theme import color, faded, theme
from course_lib.timing.timeline import Timeline

MOST_SEGMENTS = 2_000


def in_time(names: Sequence[str], lines: Sequence[Timeline], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return schedules as bars along a common time axis, one a row: each step is its latency (pale), then its bytes (strong).

    Two traces. The title compares the slowest with the quickest.

    >>> from course_lib.comm import ring
    >>> from course_lib.fabric.scaleup import simple_host
    >>> from course_lib.timing.stepped import stepped
    >>> from course_lib.timing.timeline import timeline
    >>> one, other = (timeline(stepped(ring.all_reduce(n), simple_host("switch", 8, 100e9, 1e-6)), 0) for n in (2, 8))
    >>> in_time(["two ranks", "eight"], [one, other]).layout.title.text
    '0 B: two ranks takes 2 µs, eight 14 µs, 7 × as long'
    """
    if len(names) != len(lines) or not lines:
        raise CourseError(
            _("One name per timeline is expected; here are {a} and {b}.").format(a=len(names), b=len(lines))
        )
    longest = max(one.time_s for one in lines)
    if not longest:
        raise CourseError(_("Nothing moves in these schedules, so there is no time to draw."))
    n, row_px = len(lines), 62
    best, worst = min(lines, key=lambda one: one.time_s), max(lines, key=lambda one: one.time_s)
    by = dict(zip(map(id, lines), names, strict=True))
    words = [
        _("{name}: {n} steps, {latency} of latency and {bytes} of bytes, {time} in all").format(
            name=name,
            n=one.start_s.size,
            latency=say_time(float(one.latency_s.sum())),
            bytes=say_time(float(one.transfer_s.sum())),
            time=say_time(one.time_s),
        )
        for name, one in zip(names, lines, strict=True)
    ]
    head = (
        _("{size}: {a} takes {fast}, {b} {slow}, {ratio} × as long").format(
            size=say_bytes(worst.message_B),
            a=by[id(best)],
            fast=say_time(best.time_s),
            b=by[id(worst)],
            slow=say_time(worst.time_s),
            ratio=say_number(worst.time_s / best.time_s, 2),
        )
        if n > 1 and best is not worst
        else words[0]
    )
    labels = [
        note(
            _("{name}  <b>{time}</b>, {n} steps").format(name=name, time=say_time(one.time_s), n=one.start_s.size),
            x=0,
            xref="paper",
            xanchor="left",
            y=i,
            yref="y",
            yshift=22,
        )
        for i, (name, one) in enumerate(zip(names, lines, strict=True))
    ]
    yaxis = blank_axis(n - 1 + 0.35, -0.8)
    return base_figure(
        segments(lines, 18 / row_px),
        title=title or head,
        subtitle=subtitle or _("each step: pale for latency, then strong for the bytes on its fullest link"),
        xaxis=seconds_axis(longest),
        yaxis=yaxis,
        height=round(row_px * (n + 0.15)) + 160,
        margin={"l": 16, "b": 58},
        annotations=labels,
        barmode="overlay",
        meta=describe(
            _("Schedules along one time axis. {list}.").format(list="; ".join(words)),
            [_("schedule"), _("steps"), _("latency"), _("bytes"), _("in all")],
            [
                (
                    name,
                    one.start_s.size,
                    say_time(float(one.latency_s.sum())),
                    say_time(float(one.transfer_s.sum())),
                    say_time(one.time_s),
                )
                for name, one in zip(names, lines, strict=True)
            ],
        ),
    )


def segments(lines: Sequence[Timeline], width: float, upto: int | None = None, axes: dict | None = None) -> list[dict]:
    """Return two traces of bars, latency and bytes, a row a timeline; steps from `upto` on are still to come and pale.

    `width` is that of a bar, in rows; `axes` names other axes than the first.
    """
    if sum(one.start_s.size for one in lines) > MOST_SEGMENTS:
        raise CourseError(_("More than {most} steps are too fine to draw in time.").format(most=MOST_SEGMENTS))
    join = lambda of: np.concatenate([of(one) for one in lines]) if lines else np.zeros(0)  # noqa: E731
    row = join(lambda one: np.full(one.start_s.size, float(lines.index(one))))
    number = join(lambda one: np.arange(one.start_s.size))
    past = number < (np.inf if upto is None else upto)
    start, latency, transfer = (join(lambda one, f=f: getattr(one, f)) for f in ("start_s", "latency_s", "transfer_s"))
    deep = color("nvlink")
    texts = [
        _("step {i}: {latency} latency, {bytes} bytes on {link}").format(
            i=int(i), latency=say_time(float(a)), bytes=say_time(float(b)), link=link
        )
        for i, a, b, link in zip(number, latency, transfer, [link for one in lines for link in one.link], strict=True)
    ]
    shades = ((latency, start, 0.30, 0.10), (transfer, start + latency, 1.0, 0.38))
    return [
        {
            "type": "bar",
            "orientation": "h",
            "x": length,
            "y": row,
            "base": base,
            "width": width,
            "marker": {
                "color": np.where(past, faded(deep, strong), faded(deep, pale)).tolist(),
                "line": {"width": 0.8, "color": theme().ground},
            },
            "text": texts,
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
            **(axes or {}),
        }
        for length, base, strong, pale in shades
    ]


def seconds_axis(longest_s: float) -> dict:
    """Return a linear axis of time from 0 to `longest_s` with ticks in human units.

    >>> seconds_axis(4e-3)["ticktext"]
    ['0', '1 ms', '2 ms', '3 ms', '4 ms']
    """
    unit = 10 ** np.floor(np.log10(longest_s))
    step = next(s for s in (0.2, 0.25, 0.5, 1, 2, 2.5, 5) if longest_s / (unit * s) <= 4.5) * unit
    values = np.arange(0, longest_s * 1.0001, step)
    axis = linear_axis(_("time"), 0, longest_s * 1.02)
    return axis | {
        "tickvals": values.tolist(),
        "ticktext": [say_time(float(v)) if v else "0" for v in values],
        "fixedrange": True,
    }
