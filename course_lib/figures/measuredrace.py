"""Measured collectives beside their prediction: two algorithms over size, and below the ratio of their times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.figures.base import (
    OUTSIDE,
    at,
    base_figure,
    capital,
    describe,
    end_labels,
    line,
    linear_axis,
    points,
    size_axis,
    time_axis,
)

HEIGHT = 560
_SYMBOLS, _DASHES = ("circle", "x"), ("solid", "dash")


@dataclass(frozen=True, slots=True)
class Timed:
    """One algorithm: measured times with the quartiles of their rounds, and predicted times, all (n,) over `message_B`."""

    name: str
    message_B: np.ndarray
    time_s: np.ndarray
    low_s: np.ndarray
    high_s: np.ndarray
    predicted_s: np.ndarray


def measured_race(
    pair: Sequence[Timed], *, crossing_B: float | None = None, where: str = "", title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return two measured algorithms with their predictions (above) and the ratio of their times (below).

    Bars are the quartiles of the rounds. `crossing_B` is marked where the prediction changes its winner; `where` names the
    machine. Eight traces, always: for each a line and points, the ratio's line and points, one time each, and the crossing.

    >>> sizes, t = np.array([8.0, 1e6]), np.array([1e-5, 1e-3])
    >>> ring, tree = (Timed(n, sizes, t * k, t * k, t * k * 1.1, t * k) for n, k in (("ring", 1), ("tree", [0.5, 2])))
    >>> fig = measured_race([ring, tree])
    >>> fig.layout.title.text.replace("<br>", " "), len(fig.data)
    ('Tree takes 0.5 × as long as ring at 8 B, and 2 × at 1 MB', 8)
    """
    if len(pair) != 2:
        raise CourseError(_("Two algorithms are drawn against one another; here are {n}.").format(n=len(pair)))
    for one in pair:
        for name in ("message_B", "time_s", "low_s", "high_s", "predicted_s"):
            finite(name, getattr(one, name), above=0)
    first, second = pair
    common = np.array(sorted(set(first.message_B.tolist()) & set(second.message_B.tolist())))
    if common.size < 2:
        raise CourseError(_("The two algorithms have fewer than two sizes in common; no curve can be drawn."))
    places = [np.searchsorted(one.message_B, common) for one in pair]
    seen = second.time_s[places[1]] / first.time_s[places[0]]
    said = second.predicted_s[places[1]] / first.predicted_s[places[0]]
    share = 0.60
    sizes = np.concatenate([one.message_B for one in pair])
    times = np.concatenate([v for one in pair for v in (one.time_s, one.high_s, one.predicted_s)])
    xaxis = size_axis(float(sizes.min()) / 1.5, float(sizes.max()) * 1.5) | {"anchor": "y2"}
    yaxis = time_axis(float(min(times.min(), *(one.low_s.min() for one in pair))) / 1.6, float(times.max()) * 1.6)
    yaxis |= {"domain": [1 - share, 1]}
    data, labels, rows = [], [], []
    for k, one in enumerate(pair):
        texts = [
            _("{name}, {size}: measured {t}, predicted {p}").format(
                name=one.name, size=say_bytes(b), t=say_time(t), p=say_time(p)
            )
            for b, t, p in zip(one.message_B.tolist(), one.time_s.tolist(), one.predicted_s.tolist())
        ]
        data.append(line(one.message_B, one.predicted_s, role="model", dash=_DASHES[k], name=one.name))
        data.append(
            points(
                one.message_B, one.time_s, low=np.minimum(one.low_s, one.time_s), high=np.maximum(one.high_s, one.time_s),
                symbol=_SYMBOLS[k], name=one.name, hover="%{text}", text=texts,
            )
        )  # fmt: skip
        labels.append((one.name, float(one.predicted_s[-1]), "model"))
        rows += [
            (one.name, say_bytes(b), say_time(t), f"{say_time(low)} … {say_time(high)}", say_time(p))
            for b, t, low, high, p in zip(
                *(getattr(one, n).tolist() for n in ("message_B", "time_s", "low_s", "high_s", "predicted_s"))
            )
        ]
    reach = max(1.5, *(float(np.exp(np.abs(np.log(r)).max())) for r in (seen, said))) * 1.15
    ticks = [v for v in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if 1 / reach <= v <= reach]
    ratio_axis = linear_axis(_("{b} ÷ {a}").format(a=first.name, b=second.name)) | {
        "type": "log", "range": [-float(np.log10(reach)), float(np.log10(reach))], "domain": [0, 1 - share - 0.1],
        "tickvals": ticks, "ticktext": [_("{factor} ×").format(factor=say_number(v)) for v in ticks],
    }  # fmt: skip
    ends = [float(common[0]), float(common[-1])]
    data += [
        line(common, said, role="model", dash="solid", yaxis="y2", name=_("predicted")),
        points(common, seen, symbol="diamond", yaxis="y2", name=_("measured"), hover="%{y:.2f} ×"),
        line(ends, [1, 1], role="limit", width=1.5, yaxis="y2"),
        points(
            [] if crossing_B is None else [crossing_B], [] if crossing_B is None else [1.0], role="attention",
            symbol="star", size=13, yaxis="y2", hover=_("predicted crossing"),
        ),
    ]  # fmt: skip
    words = {
        "a": first.name, "b": second.name, "small": say_bytes(ends[0]), "large": say_bytes(ends[1]),
        "r": say_number(float(seen[0]), 2), "q": say_number(float(seen[-1]), 2),
    }  # fmt: skip
    head = capital(_("{b} takes {r} × as long as {a} at {small}, and {q} × at {large}").format(**words))
    figure = base_figure(
        data,
        title=title or head,
        subtitle=subtitle or _("points: measured, bars: quartiles of the rounds; lines: predicted; below: the ratio"),
        xaxis=xaxis,
        yaxis=yaxis,
        yaxis2=ratio_axis,
        height=HEIGHT,
        margin={"r": OUTSIDE},
        meta=describe(
            _("Measured and predicted times{where}: {head}.").format(where=where and f" ({where})", head=head),
            [_("algorithm"), _("size"), _("measured"), _("quartiles"), _("predicted")],
            rows,
        ),
    )
    spots = end_labels(labels, yaxis, outside=True, height=int(HEIGHT * share))
    if crossing_B is not None:
        spots.append(
            {
                "text": say_bytes(crossing_B), "x": at(xaxis, crossing_B), "xref": "x", "y": 0, "yref": "y2",
                "showarrow": False, "yshift": 18, "font": figure.layout.font.to_plotly_json(),
            }
        )  # fmt: skip
    figure.layout.annotations = spots
    return figure
