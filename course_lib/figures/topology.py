"""Topology: a machine with what flows over its links; width is the flow, colour how full a link is, the fullest titled."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.fabric.topology import Topology, link_name
from course_lib.figures.base import base_figure, blank_axis, describe, note
from course_lib.figures.layout import layout
from course_lib.figures.layoutparts import WIDTH, Layout
from course_lib.figures.theme import ink
from course_lib.figures.topologylines import FULL, Line, arrows, hover, line_shapes, lines_of
from course_lib.figures.topologyparts import bars, labels, parts

WIDEST = 9.0  # pixels of the widest line
MAX_ROWS = 160  # of the table of numbers


def topology_loads(
    topology: Topology,
    flow_Bps: ArrayLike | None = None,
    *,
    chips: bool = False,
    first: int | None = None,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return a machine with the bytes per second on each of its directed links; always three traces: hover, arrows, parts.

    Args:
        topology: any machine; repeated parts are drawn as one (NVSwitch chips as a bar, hosts of a cluster as blocks).
        flow_Bps: (n_links,) bytes per second on every directed link, as `loads(topology, paths, rates)` returns; None: nothing flows.
        chips: draw NVSwitch chips one by one.
        first: a link to name and label where several are equally full, such as the one that fills first.
        title: in place of the sentence that names the fullest link.
        subtitle: in place of the line that says how to read the picture.

    Raises:
        CourseError: flows that are negative, not finite, or not one for each link.

    >>> from course_lib.fabric.patterns import incast
    >>> from course_lib.fabric.registry import build
    >>> from course_lib.fabric.routes import routes
    >>> from course_lib.fabric.sharing import loads, max_min_rates
    >>> box = build("hgx-h100")
    >>> paths = routes(box, *incast(8, 7))
    >>> fig = topology_loads(box, loads(box, paths, max_min_rates(box, paths)))
    >>> fig.layout.title.text, len(fig.data)
    ('4 NVSwitches → GPU 7 is full: 450 GB/s', 3)
    """
    flow = np.zeros(topology.n_links) if flow_Bps is None else np.atleast_1d(finite("flow_Bps", flow_Bps, at_least=0))
    if flow.shape != (topology.n_links,):
        raise CourseError(
            _("flow_Bps holds {n} numbers; {name} has {links} links.").format(
                n=flow.size, name=topology.name, links=topology.n_links
            )
        )
    plan = layout(topology, chips=chips)
    lines = lines_of(plan, topology, flow)
    widest = min(WIDEST, 0.8 * plan.room)
    most = max((line.capacity_Bps for line in lines), default=1.0)
    for line in lines:
        line.width = max(1.4, widest * line.flow_Bps / most) if line.flow_Bps else 1.1
    before_others = -1 if first is None else next((i for i, b in enumerate(plan.bundles) if first in b.links), -1)
    order = [(round(line.full, 9), i == before_others, line.flow_Bps) for i, line in enumerate(lines)]
    worst = lines[max(range(len(lines)), key=order.__getitem__)] if lines else None
    names = labels(plan)
    if worst is not None and worst.flow_Bps:
        x, y = worst.point(0.5)
        # A trunk between two bars, or a bridge between two cards, can be shorter than its label.
        level = abs(worst.ends[0][1] - worst.ends[1][1]) < 1
        beside = 0 if not level else 26 if worst.a.wide else -17
        text = f"<b>{say_rate(worst.flow_Bps)}</b>"
        edge = "left" if x < 0.12 * WIDTH else "right" if x > 0.88 * WIDTH else "center"  # all of it on a narrow page
        names.append(note(text, color=ink("network"), x=x, y=y, xref="x", yref="y", xanchor=edge, yshift=beside))
    said = _title(topology, flow, lines, worst)
    moving = sorted((line for line in lines if line.flow_Bps), key=lambda line: -line.full)
    return base_figure(
        [hover(lines), arrows(lines, widest), parts(plan)],
        title=title or said,
        subtitle=subtitle
        or _("squares: GPUs; width: what flows one way; colour: how full; outlined: full; dotted: unused"),
        xaxis=blank_axis(0, WIDTH),
        yaxis=blank_axis(0, plan.height),
        height=round(plan.height) + 74,
        margin={"l": 4, "r": 4, "b": 12},
        annotations=names,
        shapes=line_shapes(lines) + bars(plan),
        revision=f"topology-{topology.name}-{chips}",
        meta=describe(
            _alt(topology, plan, said, moving),
            [_("from"), _("to"), _("flow, one direction"), _("width of the link"), _("its fullest link")],
            [line.row() for line in (moving if len(lines) > MAX_ROWS else lines)[:MAX_ROWS]],
        ),
    )


def _title(topology: Topology, flow: np.ndarray, lines: list[Line], worst: Line | None) -> str:
    if not flow.any():
        return _("Nothing flows")
    full = flow / topology.bandwidth_Bps
    hidden = int(np.argmax(full))
    if worst is None or full[hidden] > worst.full * (1 + 1e-9):
        words = {
            "name": link_name(topology, hidden),
            "flow": say_rate(float(flow[hidden])),
            "full": float(full[hidden]),
        }
        others = 0
    else:
        words = {"name": worst.name, "flow": say_rate(worst.flow_Bps), "full": worst.full}
        if worst.flow_Bps < FULL * worst.full * worst.capacity_Bps:
            words["percent"] = say_number(100 * worst.full, 3)
            return _(
                "{name}: the fullest of the links drawn there is {percent} % full; together they carry {flow}"
            ).format(**words)
        others = sum(line.full >= worst.full * (1 - 1e-9) for line in lines) - 1
    if words["full"] >= FULL:
        if others == 1:
            return _("{name} is full: {flow}; so is one other line").format(**words)
        if others:
            return _("{name} is full: {flow}; so are {n} other lines").format(n=others, **words)
        return _("{name} is full: {flow}").format(**words)
    percent = say_number(100 * words["full"], 2)
    return _("{name} is {percent} % full, the fullest: {flow}").format(percent=percent, **words)


def _alt(topology: Topology, plan: Layout, said: str, moving: list[Line]) -> str:
    words = _("{name} with {n} GPUs, drawn as {parts} parts joined by {lines} lines. {said}.").format(
        name=topology.name, n=topology.n_gpus, parts=len(plan.parts), lines=len(plan.bundles), said=said
    )
    shown = "; ".join(line.words() for line in moving[:12])
    more = _(" and {n} more").format(n=len(moving) - 12) if len(moving) > 12 else ""
    return f"{words} {shown}{more}." if shown else words
