"""Layout parts: what stands in a drawing, its names, and which links are drawn as one line."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.topology import VERTEX_KINDS, Topology, vertex_name

WIDTH = 700.0
MARGIN_X = 34.0


@dataclass(frozen=True, slots=True)
class Part:
    """One thing in the drawing: `members` are vertices of the topology, `wide` the ends of a bar (a crossbar is wide)."""

    name: str
    kind: str
    x: float
    y: float
    label: str
    members: tuple[int, ...]
    wide: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Links from part a to part b that are drawn as one line; `open_end` means that they leave the drawing and come back (a torus)."""

    a: int
    b: int
    links: np.ndarray
    open_end: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Parts, bundles and their two ends (bundles, 2, 2), the height, captions (text, x, y) and the room beside a line."""

    parts: tuple[Part, ...]
    bundles: tuple[Bundle, ...]
    ends: np.ndarray
    height: float
    captions: tuple[tuple[str, float, float], ...]
    room: float


def kind_word(kind: str, n: int) -> str:
    """Return "NVSwitch" or "4 NVSwitches"."""
    one = {"nvswitch": _("NVSwitch"), "pcie-switch": _("PCIe switch"), "cpu": _("CPU")}
    one |= {"leaf": _("leaf"), "spine": _("spine"), "core": _("core")}
    many = {"nvswitch": _("{n} NVSwitches"), "leaf": _("{n} leaves"), "spine": _("{n} spines"), "core": _("{n} cores")}
    return one[kind] if n == 1 else many.get(kind, "{n} " + one[kind]).format(n=n)


def name_of(topology: Topology, vertex: int) -> str:
    """Return a vertex in words, with its number among its kind."""
    kind, number = VERTEX_KINDS[topology.kind[vertex]], int(topology.ordinal[vertex])
    if kind == "gpu":
        return _("GPU {n}").format(n=vertex)
    return f"{kind_word(kind, 1)} {number}" if kind != "nic" else vertex_name(topology, vertex)


def short_name(name: str) -> str:
    """Return a name for the picture: shapes say what is a switch, and narrow pages have little room."""
    return name.replace(_("PCIe switch"), _("PCIe"))


def bundles_of(topology: Topology, part_of: np.ndarray) -> tuple[Bundle, ...]:
    """Return one bundle for each two parts and direction that links join; links inside a part are not drawn."""
    a, b = part_of[topology.src], part_of[topology.dst]
    drawn = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k in drawn:
        groups[int(a[k]), int(b[k])].append(int(k))
    return tuple(Bundle(*ends, np.array(links)) for ends, links in groups.items())


def part_of(topology: Topology, parts: list[Part]) -> np.ndarray:
    """Return for every vertex the part that it is drawn in, −1 for none."""
    place = np.full(topology.n_vertices, -1)
    for i, part in enumerate(parts):
        place[list(part.members)] = i
    return place


def finished(topology: Topology, parts: list[Part], height: float, room: float, captions=()) -> Layout:
    """Return the layout of these parts, with every link between two of them."""
    bundles = bundles_of(topology, part_of(topology, parts))
    return Layout(tuple(parts), bundles, ends_of(parts, bundles, room), height, tuple(captions), room)


def ends_of(parts: list[Part], bundles, room: float) -> np.ndarray:
    """Return the two ends of every bundle, moved to the right of its direction so that the way back has its own place."""
    ends = np.zeros((len(bundles), 2, 2))
    for i, bundle in enumerate(bundles):
        a, b = parts[bundle.a], parts[bundle.b]
        ends[i] = (_reach(a, b.x), a.y), (_reach(b, a.x), b.y)
        if bundle.open_end is not None:
            ends[i, 1] = ends[i, 0] + 40 * np.array(bundle.open_end)
    way = ends[:, 1] - ends[:, 0]
    length = np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, None]
    aside = 0.54 * room * np.stack([way[:, 1], -way[:, 0]], 1) / length
    return ends + aside[:, None, :]


def _reach(part: Part, x: float) -> float:
    """Return where a line to `x` meets a part: a bar is met above or below the other end."""
    return part.x if part.wide is None else min(max(x, part.wide[0] + 2), part.wide[1] - 2)
