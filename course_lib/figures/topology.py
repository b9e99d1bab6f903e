"""Topology: a machine with what flows over its links; width is what flows, colour how full a link is.

Fullness is never colour alone: unused links are thin and dotted, full ones are outlined, and the fullest is named in the title.
"""

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.fabric.topology import Topology, link_name
from course_lib.figures.base import base_figure, blank_axis, describe, note
from course_lib.figures.graphs import LEVELS, fullness_colours
from course_lib.figures.layout import layout
from course_lib.figures.layoutparts import WIDTH, Layout, Part
from course_lib.figures.theme import ink, theme

FULL = LEVELS[-1]
WIDEST = 9.0  # pixels of the widest line
MAX_ROWS = 160  # of the table of numbers
_SHAPES = {"gpu": "square", "host": "square", "cpu": "circle"}  # switches of every kind are hexagons
MANY = 60  # lines from which each has fewer places to hover on


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
    lines = _lines(plan, topology, flow)
    widest = min(WIDEST, 0.8 * plan.room)
    most = max((line.capacity_Bps for line in lines), default=1.0)
    for line in lines:
        line.width = max(1.4, widest * line.flow_Bps / most) if line.flow_Bps else 1.1
    before_others = -1 if first is None else next((i for i, b in enumerate(plan.bundles) if first in b.links), -1)
    order = [(round(line.full, 9), i == before_others, line.flow_Bps) for i, line in enumerate(lines)]
    worst = lines[max(range(len(lines)), key=order.__getitem__)] if lines else None
    labels = _labels(plan)
    if worst is not None and worst.flow_Bps:
        x, y = worst.point(0.5)
        # A trunk between two bars, or a bridge between two cards, can be shorter than its label.
        level = abs(worst.ends[0][1] - worst.ends[1][1]) < 1
        beside = 0 if not level else 26 if worst.a.wide else -17
        text = f"<b>{say_rate(worst.flow_Bps)}</b>"
        edge = "left" if x < 0.12 * WIDTH else "right" if x > 0.88 * WIDTH else "center"  # all of it on a narrow page
        labels.append(note(text, color=ink("network"), x=x, y=y, xref="x", yref="y", xanchor=edge, yshift=beside))
    said = _title(topology, flow, lines, worst)
    moving = sorted((line for line in lines if line.flow_Bps), key=lambda line: -line.full)
    return base_figure(
        [_hover(lines), _arrows(lines, widest), _parts(plan)],
        title=title or said,
        subtitle=subtitle
        or _("squares: GPUs; width: what flows one way; colour: how full; outlined: full; dotted: unused"),
        xaxis=blank_axis(0, WIDTH),
        yaxis=blank_axis(0, plan.height),
        height=round(plan.height) + 74,
        margin={"l": 4, "r": 4, "b": 12},
        annotations=labels,
        shapes=_line_shapes(lines) + _bars(plan),
        revision=f"topology-{topology.name}-{chips}",
        meta=describe(
            _alt(topology, plan, said, moving),
            [_("from"), _("to"), _("flow, one direction"), _("width of the link"), _("its fullest link")],
            [line.row() for line in (moving if len(lines) > MAX_ROWS else lines)[:MAX_ROWS]],
        ),
    )


class _Line:
    """A bundle with its numbers and its two ends."""

    __slots__ = ("a", "b", "capacity_Bps", "ends", "flow_Bps", "full", "level", "said", "width")

    def __init__(self, a: Part, b: Part, ends: list, flow_Bps: float, capacity_Bps: float, full: float, said: tuple):
        self.a, self.b, self.ends, self.flow_Bps, self.capacity_Bps, self.full = (
            a,
            b,
            ends,
            flow_Bps,
            capacity_Bps,
            full,
        )
        self.level, self.width, self.said = bisect_right(LEVELS, min(full, 1.0) + 1e-9) - 1, 1.0, said

    def point(self, part: float) -> tuple[float, float]:
        """Return the place at a fraction of the way."""
        (x0, y0), (x1, y1) = self.ends
        return x0 + part * (x1 - x0), y0 + part * (y1 - y0)

    @property
    def name(self) -> str:
        return f"{self.a.name} → {self.b.name}"

    def words(self) -> str:
        """Return what hovering says."""
        return f"{self.name}: {self.said[0]}"

    def row(self) -> tuple:
        """Return its row of the table."""
        return self.a.name, self.b.name, *self.said[1:]


def _lines(plan: Layout, topology: Topology, flow: np.ndarray) -> list[_Line]:
    """Return the lines with their numbers: a bundle's flow and width are sums, its fullness that of its fullest link."""
    if not plan.bundles:
        return []
    starts = np.cumsum([0] + [len(b.links) for b in plan.bundles[:-1]])
    links = np.concatenate([b.links for b in plan.bundles])
    sums = np.add.reduceat(np.stack([flow, topology.bandwidth_Bps])[:, links], starts, axis=1).tolist()
    full = np.maximum.reduceat((flow / topology.bandwidth_Bps)[links], starts).tolist()
    said = lru_cache(maxsize=None)(_said)
    numbers = zip(plan.bundles, plan.ends.tolist(), *sums, full)
    return [_Line(plan.parts[b.a], plan.parts[b.b], ends, f, c, u, said(f, c, u)) for b, ends, f, c, u in numbers]


def _said(flow_Bps: float, capacity_Bps: float, full: float) -> tuple[str, str, str, str]:
    """Return what hovering says, and the cells of the table: most lines of a machine carry the same."""
    flow, capacity = say_rate(flow_Bps), say_rate(capacity_Bps)
    words = _("{flow} of {all}, {percent} % full")
    if capacity_Bps * full > flow_Bps * 1.001:  # one of its links is fuller than all of them together
        words = _("{flow} of {all}, its fullest link {percent} % full")
    words = words.format(flow=flow, all=capacity, percent=say_number(100 * full, 3))
    return words, flow, capacity, f"{100 * full:.0f} %"


def _line_shapes(lines: list[_Line]) -> list[dict]:
    """Return the lines as few shapes: one path for all lines of a colour and a width, the fullest on top."""
    groups: dict[tuple, list[str]] = defaultdict(list)
    for line in lines:
        (x0, y0), (x1, y1) = line.ends
        path = f"M{x0:.1f},{y0:.1f}L{x1:.1f},{y1:.1f}"
        if line.full >= FULL:
            groups[line.level, 0, round(line.width + 2.2, 1)].append(path)  # the dark edge, under the line
        groups[line.level, 1, round(line.width, 1)].append(path)
    colours, dark = fullness_colours(), theme().ink
    shapes = []
    for level, top, width in sorted(groups):
        style = {
            "color": colours[level] if top else dark,
            "width": width,
            "dash": "dot" if level == 0 else "solid",
        }
        shapes.append({"type": "path", "path": "".join(groups[level, top, width]), "layer": "below", "line": style})
    return shapes


def _bars(plan: Layout) -> list[dict]:
    """Return the switches that are drawn as bars."""
    look = {"fillcolor": theme().panel, "line": {"color": theme().ink, "width": 1.8}, "layer": "below"}
    return [
        {"type": "rect", "x0": p.wide[0], "x1": p.wide[1], "y0": p.y - 18, "y1": p.y + 18, **look}
        for p in plan.parts
        if p.wide is not None
    ]


def _hover(lines: list[_Line]) -> dict:
    steps = (0.25, 0.5, 0.75) if len(lines) > MANY else (0.15, 0.3, 0.43, 0.57, 0.7, 0.85)
    at = np.array([line.point(s) for line in lines for s in steps]).reshape(-1, 2)
    text = np.repeat(np.array([line.words() for line in lines], dtype=str), len(steps))
    trace = {"type": "scatter", "mode": "markers", "x": at[:, 0], "y": at[:, 1], "text": text}
    look = {"size": 9, "opacity": 0, "color": theme().ground}
    return trace | {"hovertemplate": "%{text}<extra></extra>", "marker": look}


def _arrows(lines: list[_Line], widest: float) -> dict:
    """Return arrow heads on lines that carry something, each turned along its line whatever the shape of the page."""
    heads: list[tuple] = []  # x, y, size, colour; a head turns away from the point before it
    colours, dark = fullness_colours(), theme().ink
    for line in lines:
        if line.flow_Bps:
            size = max(7.0, 5 + 1.1 * line.width) * (1 if widest > 4 else 0.55)
            colour = dark if line.full >= FULL else colours[line.level]
            heads += [(*line.point(0.5), 0.0, colour), (*line.point(0.66), size, colour), (np.nan, np.nan, 0.0, colour)]
    x, y, size, colour = (np.array(column) for column in zip(*heads)) if heads else ([], [], [], [])
    marker = {"symbol": "arrow", "angleref": "previous", "size": size, "color": colour, "line": {"width": 0}}
    marker["opacity"] = 1
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker, "hoverinfo": "skip"}


def _parts(plan: Layout) -> dict:
    """Return everything that is not a bar as markers; small where there are many."""
    shown = [p for p in plan.parts if p.wide is None]
    n_gpus = sum(p.kind == "gpu" for p in shown)
    many = n_gpus > 16
    size = {"gpu": 7 if n_gpus > 40 else 15 if many else 19 if n_gpus > 8 else 30, "host": 32}
    return {
        "type": "scatter", "mode": "markers", "x": [p.x for p in shown], "y": [p.y for p in shown], "text": [p.name for p in shown],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": [_SHAPES.get(p.kind, "hexagon2") for p in shown], "size": [size.get(p.kind, 30) for p in shown],
            "color": theme().panel, "line": {"color": theme().ink, "width": 1.2 if many else 1.8}, "opacity": 1,
        },
    }  # fmt: skip


def _labels(plan: Layout) -> list[dict]:
    """Return numbers in the GPUs, names in bars and beside other parts, and captions."""
    n_gpus = sum(p.kind == "gpu" for p in plan.parts)
    labels = []
    for part in plan.parts:
        place = {"x": part.x, "y": part.y, "xref": "x", "yref": "y", "bgcolor": "rgba(0,0,0,0)"}
        look = {"font": {"size": 11 if n_gpus > 8 or "<br>" in part.label else 12, "color": ink()}}
        if part.kind == "gpu":
            if n_gpus <= 16:
                labels.append(note(part.label, **place) | look)
        elif part.wide is not None:
            labels.append(note(part.label, **place) | look)
        elif "<br>" in part.label or len(part.label) > 3:
            below = part.y < 60
            labels.append(
                note(
                    part.label,
                    **place | {"bgcolor": theme().ground},
                    yshift=(-26 - 9 * part.label.count("<br>")) if below else 26,
                )
                | look
            )
        else:
            labels.append(note(part.label, **place) | look)
    labels += [
        note(text, x=x, y=y, xref="x", yref="y") | {"font": {"size": 11, "color": theme().muted}}
        for text, x, y in plan.captions
    ]
    return labels


def _title(topology: Topology, flow: np.ndarray, lines: list[_Line], worst: _Line | None) -> str:
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


def _alt(topology: Topology, plan: Layout, said: str, moving: list[_Line]) -> str:
    words = _("{name} with {n} GPUs, drawn as {parts} parts joined by {lines} lines. {said}.").format(
        name=topology.name, n=topology.n_gpus, parts=len(plan.parts), lines=len(plan.bundles), said=said
    )
    shown = "; ".join(line.words() for line in moving[:12])
    more = _(" and {n} more").format(n=len(moving) - 12) if len(moving) > 12 else ""
    return f"{words} {shown}{more}." if shown else words
