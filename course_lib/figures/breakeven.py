"""Break-even: a step with dense and with compressed gradients over bandwidth, and the loss that training reaches."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    describe,
    limit_line,
    line,
    log_axis,
    note,
    points,
    rate_axis,
    time_axis,
    wrapped,
)
from course_lib.figures.theme import theme


def break_even(
    bandwidth_Bps,
    dense_s,
    packed_s,
    *,
    at_Bps: float,
    crossing_Bps: float,
    losses: Sequence[tuple[str, float]],
    name: str,
    title: str,
) -> go.Figure:
    """Return the step with dense and with compressed gradients over bandwidth, and under it the loss that training reaches.

    `crossing_Bps` is drawn dashed where it lies in the range; `at_Bps` is the bandwidth chosen. `losses` are (name, loss above
    0) of three runs: dense, with error feedback, without. Five traces.

    >>> fig = break_even([1e9, 1e11], [2.0, 1.0], [1.2, 1.1], at_Bps=1e9, crossing_Bps=5e10,
    ...                  losses=[("dense", 0.04), ("kept", 0.03), ("lost", 0.2)], name="top-k", title="A step of 1.2 s")
    >>> len(fig.data), len(fig.layout.shapes)
    (5, 1)
    """
    rates = np.asarray(finite("bandwidth_Bps", np.asarray(bandwidth_Bps), above=0))
    dense, packed = (
        np.asarray(finite(n, np.asarray(v), above=0, unit="s")) for n, v in (("dense_s", dense_s), ("packed_s", packed_s))
    )  # fmt: skip
    if not dense.shape == packed.shape == rates.shape or len(losses) != 3:
        raise CourseError(_("A step for each bandwidth is expected, dense and packed, and three losses."))
    reached = np.array([finite(_("loss"), value, above=0) for _n, value in losses])
    low, high = min(dense.min(), packed.min()), max(dense.max(), packed.max())
    xaxis = rate_axis(
        float(rates[0]), float(rates[-1]), wrapped(_("bandwidth of each GPU's card, one direction"), 32)
    ) | {
        "anchor": "y",
        "domain": [0, 1],
    }
    yaxis = time_axis(low / 1.5, high * 1.6, _("time of a step")) | {"domain": [0.42, 1]}
    loss_axis = log_axis(_("loss after training the small model"), 0.015, 4.0, say_number, 7) | {"anchor": "y2"}
    here = [float(np.exp(np.interp(np.log(at_Bps), np.log(rates), np.log(v)))) for v in (dense, packed)]
    texts = [
        _("{name}: {time} at {rate}").format(name=n, time=say_time(v), rate=say_rate(at_Bps))
        for n, v in zip((_("FP32"), name), here)
    ]
    marks = points([at_Bps] * 2, here, role="attention", symbol="diamond", size=11, hover="%{text}", text=texts)
    marks["marker"]["line"] = {"width": 1.5, "color": theme().ink}
    below = points(
        reached,
        [0, 1, 2],
        role="model",
        symbol="circle",
        size=10,
        hover="%{text}",
        text=[f"{n}: {say_number(float(v), 3)}" for (n, _v), v in zip(losses, reached)],
        xaxis="x2",
        yaxis="y2",
    )
    below["marker"]["symbol"] = ["circle", "diamond", "x"]
    data = [
        line(rates, dense, role="model", name=_("FP32"), hover=_("FP32") + ": %{x:.3s}B/s, %{y:.3s}s"),
        line(rates, packed, role="attention", dash="dashdot", name=name, hover=f"{name}: %{{x:.3s}}B/s, %{{y:.3s}}s"),
        marks,
        line(np.repeat(reached, 3), [0, 0, None, 1, 1, None, 2, 2, None], role="limit", xaxis="x2", yaxis="y2"),
        below,
    ]
    notes = [
        note(
            f"{n}: <b>{say_number(float(v), 2)}</b>",
            x=float(np.log10(v)),
            xref="x2",
            y=i,
            yref="y2",
            xanchor="left" if v < 0.2 else "right",
            xshift=9 if v < 0.2 else -9,
        )
        for i, ((n, _v), v) in enumerate(zip(losses, reached))
    ]
    for v, text, role in ((dense, _("FP32"), ""), (packed, name, "attention")):
        up = v[0] >= max(dense[0], packed[0])
        notes.append(
            note(
                f"<b>{text}</b>",
                role=role,
                x=at(xaxis, float(rates[0])),
                xref="x",
                xanchor="left",
                xshift=8,
                y=at(yaxis, float(v[0])),
                yref="y",
                yshift=14 if up else -14,
            )
        )
    shapes = []
    if rates[0] < crossing_Bps < rates[-1]:
        shapes = [
            limit_line(x=crossing_Bps, yref="y domain"),
        ]
        right = np.log10(crossing_Bps) > np.mean(np.log10(rates[[0, -1]]))
        notes.append(
            note(
                _("break-even {rate}").format(rate=say_rate(crossing_Bps, 2)),
                role="limit",
                x=at(xaxis, crossing_Bps),
                xref="x",
                xanchor="right" if right else "left",
                xshift=-5 if right else 5,
                y=0,
                yref="y domain",
                yanchor="bottom",
            )
        )
    return base_figure(
        data,
        title=title,
        subtitle=_(
            "above: a step with FP32 gradients and with {name}, diamonds at the chosen card; below: the loss reached"
        ).format(name=name),
        xaxis=xaxis,
        yaxis=yaxis,
        xaxis2=loss_axis,
        yaxis2={"visible": False, "range": [2.6, -0.6], "domain": [0, 0.22], "fixedrange": True, "anchor": "x2"},
        height=560,
        annotations=notes,
        shapes=shapes,
        meta=describe(
            "; ".join(texts)
            + ". "
            + _("Loss of the small model: ")
            + ", ".join(f"{n} {say_number(float(v), 2)}" for (n, _v), v in zip(losses, reached))
            + ".",
            [_("bandwidth"), _("FP32"), name],
            [(say_rate(float(b)), say_time(float(d)), say_time(float(p))) for b, d, p in zip(rates, dense, packed)],
        ),
    )
