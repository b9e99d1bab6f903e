"""Degrees of tensor slicing: the time of a pass at each degree, and under it what one GPU holds."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import GB, say_bytes, say_number, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    describe,
    limit_line,
    limit_name,
    linear_axis,
    log_axis,
    note,
)
from course_lib.figures.columns import same_length
from course_lib.figures.theme import color, faded, ink, theme

BAR = 0.62
ROW_PX, BAR_PX = 58, 17
HATCH = {"shape": "/", "size": 6, "solidity": 0.3}


def time_and_memory(
    tensor: Sequence[int],
    compute_s,
    communicate_s,
    memory_B,
    capacity_B: float,
    *,
    chosen: int,
    roles: Sequence[str],
    title: str,
    gpu: str = "GPU",
    what: str = "",
) -> go.Figure:
    """Return, for each degree, the time of a pass (grey computing, coloured communication) and under it one GPU's memory.

    Arrays have one entry a degree, in seconds and bytes; `roles` colours the communication by its link. The `chosen` degree is
    framed in amber. Always three traces.

    >>> fig = time_and_memory([1, 2], [2.0, 1.0], [0.0, 0.5], [160e9, 80e9], 90e9, chosen=2, roles=["nvlink", "nvlink"], title="2 GPUs")
    >>> len(fig.data), fig.layout.shapes[0].line.dash
    (3, 'dash')
    """
    tensor = [whole("tensor", t, at_least=1) for t in tensor]
    compute, communicate = (
        np.asarray(finite(n, v, at_least=0, unit="s"), float)
        for n, v in (("compute_s", compute_s), ("communicate_s", communicate_s))
    )
    memory = np.asarray(finite("memory_B", memory_B, above=0, unit="bytes"), float)
    same_length(len(tensor), compute_s=compute, communicate_s=communicate, memory_B=memory, roles=roles)
    if chosen not in tensor:
        raise CourseError(
            _("{n} is not among the degrees drawn: {all}.").format(n=chosen, all=", ".join(map(str, tensor)))
        )
    here = tensor.index(chosen)
    capacity_B = finite("capacity_B", capacity_B, above=0, unit="bytes")
    x, total = np.arange(len(tensor), dtype=float), compute + communicate
    unit, name = (1e-3, "ms") if total.max() < 1 else (1.0, "s")
    texts = [
        _("degree {n}: {a} of computing, {b} of communication, {c} together; {size} in each GPU").format(
            n=t, a=say_time(float(a)), b=say_time(float(b)), c=say_time(float(a + b)), size=say_bytes(float(m))
        )
        for t, a, b, m in zip(tensor, compute, communicate, memory)
    ]
    low, high = 10 ** np.floor(np.log10(min(memory.min(), capacity_B) / 1.5)), max(memory.max(), capacity_B) * 2.5
    below = log_axis(_("memory of one GPU"), low, high, say_bytes, 4) | {"domain": [0, 0.34]}
    above = linear_axis(_("time of a pass ({unit})").format(unit=name), 0, float(total.max()) / unit * 1.15) | {
        "domain": [0.46, 1],
        "nticks": 5,
    }
    data = [
        bars(x, compute / unit, 0, [faded(color("memory"), 0.5)] * len(x), texts),
        bars(x, communicate / unit, compute / unit, [color(r) for r in roles], texts),
        bars(x, memory - low, low, [faded(color("memory"), 0.8 if m <= capacity_B else 0.35) for m in memory], texts)
        | {"yaxis": "y2"},
    ]
    data[1]["marker"]["pattern"] = HATCH | {"fgcolor": theme().ground}
    data[2]["marker"]["pattern"] = HATCH | {
        "fgcolor": theme().muted,
        "shape": ["" if m <= capacity_B else "x" for m in memory],
    }
    faster = [say_number(float(total[0] / t), 2) + " ×" if t else "" for t in total]
    labels = [
        note(f"<b>{f}</b>" if i == here else f, x=float(i), y=float(t) / unit, xref="x", yref="y", yshift=11)
        | {"font": {"size": 11 if len(x) > 5 else 13, "color": ink()}}
        for i, (f, t) in enumerate(zip(faster, total))
    ]
    labels += [
        limit_name(_("{gpu} has {size}").format(gpu=gpu, size=say_bytes(capacity_B)), at(below, capacity_B), yref="y2"),
        note(_("■ computing"), role="limit", x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="top"),
        note(
            _("▨ communication"),
            role=roles[here],
            x=1,
            xref="paper",
            xanchor="right",
            y=1,
            yref="paper",
            yanchor="top",
            yshift=-20,
        ),
    ]
    frame = frame_round(here)
    level = limit_line(y=capacity_B, yref="y2")
    return base_figure(
        data,
        title=title,
        subtitle=_(
            "above: time, and how many times as fast as one GPU; below: what one GPU holds, crossed out where it does not fit"
        ),
        xaxis=linear_axis(_("GPUs that share every layer"), -0.6, len(x) - 0.4)
        | {"tickvals": x.tolist(), "ticktext": [str(t) for t in tensor], "showgrid": False, "anchor": "y2"},
        yaxis=above,
        yaxis2=below,
        barmode="overlay",
        height=520,
        annotations=labels,
        shapes=[level, frame],
        meta=describe(
            (what + " " if what else "")
            + "; ".join(texts)
            + "."
            + _(" A GPU has {size}.").format(size=say_bytes(capacity_B)),
            [
                _("GPUs"),
                _("computing"),
                _("communication"),
                _("times as fast as one"),
                _("memory of one GPU"),
                _("fits"),
            ],
            [
                (
                    t,
                    say_time(float(a)),
                    say_time(float(b)),
                    f,
                    say_bytes(float(m)),
                    _("yes") if m <= capacity_B else _("no"),
                )
                for t, a, b, f, m in zip(tensor, compute, communicate, faster, memory)
            ],
        ),
    )


def bars(a, b, base, colours: Sequence[str], texts: Sequence[str], *, across: bool = False) -> dict:
    """Return a bar trace from `base`; `across` draws it from left to right.

    >>> bars([0, 1], [3, 4], 0, ["#000000"] * 2, ["a", "b"])["orientation"]
    'v'
    """
    base = np.broadcast_to(np.asarray(base, float), (len(texts),)).tolist()
    width = BAR_PX / ROW_PX if across else BAR
    return {
        "type": "bar",
        "orientation": "h" if across else "v",
        "x": np.asarray(a, float),
        "y": np.asarray(b, float),
        "base": base,
        "width": width,
        "marker": {"color": list(colours), "line": {"width": 0}},
        "text": list(texts),
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def frame_round(x: float) -> dict:
    """Return the frame round the chosen bar, over the whole height.

    >>> frame_round(2)["x1"]
    2.44
    """
    return {
        "type": "rect",
        "xref": "x",
        "x0": x - 0.44,
        "x1": x + 0.44,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": color("attention"), "width": 2},
        "layer": "below",
    }


def stack_labels(total_B, capacity_B: float, capacity: str, *, yshift: int = 11) -> list[dict]:
    """Return the sizes over stacked bars in GB, and what the capacity is called at the right end of its line.

    >>> [label["text"] for label in stack_labels([120e9, 8e9], 80e9, "H100 has 80 GB")]
    ['<b>120 GB</b>', '<b>8 GB</b>', 'H100 has 80 GB']
    """
    labels = [
        note(f"<b>{say_bytes(float(t))}</b>", x=float(i), y=float(t) / GB, xref="x", yref="y", yshift=11)
        for i, t in enumerate(total_B)
    ]
    right = {"x": 1, "xref": "paper", "xanchor": "right"}
    return [*labels, note(capacity, role="limit", y=capacity_B / GB, yref="y", yshift=yshift, **right)]
