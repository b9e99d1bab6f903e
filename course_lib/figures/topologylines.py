"""Lines of a drawn machine: what flows over each, how full it is, and how both are drawn.

Fullness is never colour alone: unused lines are thin and dotted, full ones are outlined.
"""

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.fabric.topology import Topology
from course_lib.figures.graphs import LEVELS, fullness_colours
from course_lib.figures.layoutparts import Layout, Part
from course_lib.figures.theme import theme

FULL = LEVELS[-1]
MANY = 60  # lines from which each has fewer places to hover on


class Line:
    """A bundle with its numbers and its two ends."""

    __slots__ = ("a", "b", "capacity_Bps", "ends", "flow_Bps", "full", "level", "said", "width")

    def __init__(self, a: Part, b: Part, ends: list, flow_Bps: float, capacity_Bps: float, full: float, said: tuple):
        self.a, self.b, self.ends = a, b, ends
        self.flow_Bps, self.capacity_Bps, self.full = flow_Bps, capacity_Bps, full
        self.level, self.width, self.said = bisect_right(LEVELS, min(full, 1.0) + 1e-9) - 1, 1.0, said

    def point(self, part: float) -> tuple[float, float]:
        """Return the place at a fraction of the way."""
        (x0, y0), (x1, y1) = self.ends
        return x0 + part * (x1 - x0), y0 + part * (y1 - y0)

    @property
    def name(self) -> str:
        """From where to where."""
        return f"{self.a.name} → {self.b.name}"

    def words(self) -> str:
        """Return what hovering says."""
        return f"{self.name}: {self.said[0]}"

    def row(self) -> tuple:
        """Return its row of the table."""
        return self.a.name, self.b.name, *self.said[1:]


def lines_of(plan: Layout, topology: Topology, flow: np.ndarray) -> list[Line]:
    """Return the lines with their numbers: a bundle's flow and width are sums, its fullness that of its fullest link."""
    if not plan.bundles:
        return []
    starts = np.cumsum([0] + [len(b.links) for b in plan.bundles[:-1]])
    links = np.concatenate([b.links for b in plan.bundles])
    sums = np.add.reduceat(np.stack([flow, topology.bandwidth_Bps])[:, links], starts, axis=1).tolist()
    full = np.maximum.reduceat((flow / topology.bandwidth_Bps)[links], starts).tolist()
    said = lru_cache(maxsize=None)(_said)
    numbers = zip(plan.bundles, plan.ends.tolist(), *sums, full)
    return [Line(plan.parts[b.a], plan.parts[b.b], ends, f, c, u, said(f, c, u)) for b, ends, f, c, u in numbers]


def _said(flow_Bps: float, capacity_Bps: float, full: float) -> tuple[str, str, str, str]:
    """Return what hovering says, and the cells of the table: most lines of a machine carry the same."""
    flow, capacity = say_rate(flow_Bps), say_rate(capacity_Bps)
    words = _("{flow} of {all}, {percent} % full")
    if capacity_Bps * full > flow_Bps * 1.001:  # one of its links is fuller than all of them together
        words = _("{flow} of {all}, its fullest link {percent} % full")
    words = words.format(flow=flow, all=capacity, percent=say_number(100 * full, 3))
    return words, flow, capacity, f"{100 * full:.0f} %"


def line_shapes(lines: list[Line]) -> list[dict]:
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


def hover(lines: list[Line]) -> dict:
    """Return the trace of invisible marks along the lines that say their numbers when pointed at."""
    steps = (0.25, 0.5, 0.75) if len(lines) > MANY else (0.15, 0.3, 0.43, 0.57, 0.7, 0.85)
    at = np.array([line.point(s) for line in lines for s in steps]).reshape(-1, 2)
    text = np.repeat(np.array([line.words() for line in lines], dtype=str), len(steps))
    trace = {"type": "scatter", "mode": "markers", "x": at[:, 0], "y": at[:, 1], "text": text}
    look = {"size": 9, "opacity": 0, "color": theme().ground}
    return trace | {"hovertemplate": "%{text}<extra></extra>", "marker": look}


def arrows(lines: list[Line], widest: float) -> dict:
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
