"""Searched: all plans of a search by time and memory, and those that nothing beats."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import GB, say_bytes, say_number, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    describe,
    limit_line,
    limit_name,
    line,
    linear_axis,
    log_axis,
    note,
    points,
    say_tick_time,
)
from course_lib.figures.columns import same_length


def all_plans(
    step_s,
    memory_B,
    frontier: Sequence[int],
    names: Sequence[str],
    capacity_B: float,
    *,
    n_plans: int,
    most: int = 1500,
    title: str = "",
) -> go.Figure:
    """Return plans as points of step time and memory, those that nothing beats joined by a line, and the capacity dashed.

    `frontier` are places in the arrays (in order of time), `names` what each of them is called. At most `most` of the others are
    drawn, evenly. Three traces.

    >>> fig = all_plans([1.0, 2.0, 3.0], [70e9, 60e9, 65e9], [0, 1], ["a", "b"], 80e9, n_plans=3)
    >>> len(fig.data), fig.layout.title.text.startswith("3 plans: the quickest takes 1 s")
    (3, True)
    """
    time = np.asarray(finite("step_s", step_s, above=0, unit="s"), float)
    memory = np.asarray(finite("memory_B", memory_B, above=0, unit="bytes"), float)
    same_length(len(time), memory_B=memory)
    same_length(len(frontier), names=names)
    if not len(frontier):
        raise CourseError(_("There is no plan to draw."))
    front = np.asarray(frontier, int)
    seen = np.unique(np.linspace(0, len(time) - 1, min(most, len(time))).astype(int))
    cloud = points(time[seen], memory[seen] / GB, role="limit", symbol="circle", size=4)
    cloud["marker"]["size"] = 3  # as strong as its role, and small
    cloud |= {"hoverinfo": "skip"}
    texts = [
        _("{name}: {time} a step, {size}").format(
            name=n, time=say_time(float(time[i])), size=say_bytes(float(memory[i]))
        )
        for n, i in zip(names, front)
    ]
    edge = line(time[front], memory[front] / GB, role="model", width=1.5)
    marks = points(time[front], memory[front] / GB, role="model", symbol="diamond", size=9, hover="%{text}", text=texts)
    xaxis = log_axis(_("one step"), float(time.min()) / 1.15, float(np.quantile(time, 0.97)) * 1.1, say_tick_time, 4)
    yaxis = linear_axis(_("memory of the fullest GPU (GB)"), 0, capacity_B / GB * 1.12)
    best, lean = int(front[0]), int(front[-1])
    labels = [
        note(
            names[0].split(",")[0],
            role="model",
            x=at(xaxis, float(time[best])),
            xref="x",
            xanchor="left",
            xshift=8,
            y=float(memory[best]) / GB,
            yref="y",
            yshift=12,
        ),
        limit_name(_("capacity {size}").format(size=say_bytes(capacity_B)), capacity_B / GB),
    ]
    head = _("{n} plans: the quickest takes {a} a step, the leanest {b} and {size}").format(
        n=say_number(n_plans),
        a=say_time(float(time[best])),
        b=say_time(float(time[lean])),
        size=say_bytes(float(memory[lean])),
    )
    return base_figure(
        [cloud, edge, marks],
        title=title or head,
        subtitle=_("dots: plans that fit; diamonds: plans that no other beats in both time and memory"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=labels,
        shapes=[limit_line(y=capacity_B / GB)],
        meta=describe(
            head + ". " + "; ".join(texts) + ".",
            [_("plan"), _("step"), _("memory")],
            [(n, say_time(float(time[i])), say_bytes(float(memory[i]))) for n, i in zip(names, front)],
        ),
    )
