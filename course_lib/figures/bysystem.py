"""Residuals by system: predicted over measured of published sweeps, a row a system, from the best to the worst."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.figures.base import base_figure, blank_axis, describe, line, linear_axis, note, points
from course_lib.figures.theme import color, faded, theme
from course_lib.timing.evidence import Residuals

ROW_PX = 34
HEAD_PX, FOOT_PX = 24, 58
REACH = 3.2  # the axis goes from 1/REACH to REACH; what lies beyond is drawn at the edge
MIDDLE = (25, 75)
OUTER = (5, 95)
NAME_CHARS = 46


def residuals_by_system(found: Sequence[Residuals], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Return predicted ÷ measured of every system: a thick bar for the middle half of its points, a thin one for nine tenths, its median.

    Systems inside one box or rack come first, then those across hosts, each from best to worst. Five traces.

    >>> from course_lib.timing.evidence import residuals
    >>> fig = residuals_by_system([x for x in residuals("training") if x.part == "judging"])
    >>> len(fig.data), fig.layout.title.text.startswith("Half of all predictions are within 1")
    (5, True)
    """
    if not found:
        raise CourseError(_("There is no sweep to draw; one or more are expected."))
    groups: dict[tuple[bool, str], list[Residuals]] = {}
    for one in found:
        groups.setdefault((not one.sweep.inside, one.sweep.measured_on), []).append(one)
    joined = {key: np.concatenate([x.residual for x in mine]) for key, mine in groups.items()}
    order = sorted(groups, key=lambda key: (key[0], float(np.median(np.abs(joined[key])))))
    y, ticks, heads = [], [], []
    for i, key in enumerate(order):
        first = i == 0 or order[i - 1][0] != key[0]
        if first:
            heads.append((len(y) + len(heads), _("across hosts") if key[0] else _("inside one box or rack")))
        y.append(i + len(heads))
        ticks.append(key)
    rows = len(order) + len(heads)
    y = np.array(y, dtype=float)
    spread = np.array([np.exp(np.percentile(joined[key], (*OUTER, *MIDDLE, 50))) for key in order])
    texts = [
        _("{name}: sweeps {k}, points {n}; median {m}, half between {a} and {b}").format(
            name=key[1],
            n=joined[key].size,
            k=len(groups[key]),
            m=say_number(float(s[4]), 3),
            a=say_number(float(s[2]), 2),
            b=say_number(float(s[3]), 2),
        )
        for key, s in zip(order, spread)
    ]
    inside = np.clip(spread, 1 / REACH, REACH)
    across = np.array([key[0] for key in order])
    data = [
        line([1, 1], [-0.6, rows - 0.4], role="limit", width=1.5, dash="solid"),
        _bars(inside[:, 0], inside[:, 1], y, 2, "measured", 1.0),
        _bars(inside[:, 2], inside[:, 3], y, 8, "measured", 0.55),
    ]
    for mine, role, symbol in ((~across, "nvlink", "circle"), (across, "network", "diamond")):
        shown = points(inside[mine, 4], y[mine], role=role, size=11, symbol=symbol, hover="%{text}")
        data.append(shown | {"text": [t for t, m in zip(texts, mine) if m]})
    low, high = -np.log10(REACH), np.log10(REACH)
    marks = [1 / 3, 0.5, 1 / 1.25, 1, 1.25, 2, 3]
    xaxis = linear_axis(_("predicted ÷ measured time"), low, high) | {
        "type": "log",
        "tickvals": marks,
        "ticktext": ["1/3", "1/2", "", _("right"), "", "2 ×", "3 ×"],
    }
    labels = [
        note(
            _short(key[1]),
            x=0,
            xref="paper",
            xanchor="left",
            y=float(v),
            yref="y",
            yshift=13,
            font={"size": 11, "color": theme().muted},
            bgcolor=theme().ground,
        )
        for key, v in zip(order, y)
    ]
    labels += [note(f"<b>{text}</b>", x=0, xref="paper", xanchor="left", y=float(v), yref="y") for v, text in heads]
    whole = np.abs(np.concatenate(list(joined.values())))
    worst = max(order, key=lambda key: float(np.median(np.abs(joined[key]))))
    said = {
        "near": say_number(100 * (float(np.exp(np.median(whole))) - 1), 2),
        "name": worst[1],
        "far": say_number(100 * (float(np.exp(np.median(np.abs(joined[worst])))) - 1), 2),
        "n": len({name for _across, name in order}),
        "points": whole.size,
    }
    return base_figure(
        data,
        title=title
        or _("Half of all predictions are within {near} %: the worst system, {name}, is off by {far} %").format(**said),
        subtitle=subtitle
        or _(
            "point: median; thick bar: the middle half of the points; thin: nine tenths; left of the line: slower than predicted"
        ),
        xaxis=xaxis,
        yaxis=blank_axis(rows - 0.4, -0.6),
        height=round(ROW_PX * rows) + HEAD_PX + FOOT_PX + 90,
        margin={"l": 16},
        annotations=labels,
        meta=describe(
            _(
                "Predicted over measured time of {points} points on {n} systems. Half of all are within {near} %."
                " The largest median error is {far} %, on {name}."
            ).format(**said),
            [_("system"), _("where"), _("points"), _("5 %"), _("25 %"), _("median"), _("75 %"), _("95 %")],
            [
                (
                    key[1],
                    _("across") if key[0] else _("inside"),
                    joined[key].size,
                    *(round(float(s[k]), 3) for k in (0, 2, 4, 3, 1)),
                )
                for key, s in zip(order, spread)
            ],
        ),
    )


def _bars(low, high, y, width: float, role: str, strong: float) -> dict:
    x = np.column_stack([low, high, np.full_like(low, np.nan)]).ravel()
    bar = line(x, np.repeat(y, 3), role=role, width=width, dash="solid")
    bar["line"]["color"] = faded(color(role), strong)
    return bar


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1].rstrip() + "…"
