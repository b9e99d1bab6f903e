"""Layout: where the parts of a machine stand in a drawing, and which links are drawn as one line; no colours, no loads.

Four kinds of drawing: rows (GPUs below, what joins them above, a crossbar as one wide bar), a mesh (GPUs on two arcs, the host
outside), a grid for a torus, and blocks for clusters, where a host or a block of hosts is one part. Units are pixels at 700 px width.
"""

import weakref
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.topology import VERTEX_KINDS, Topology, vertex_name

WIDTH = 700.0
MARGIN_X = 34.0
MAX_PARTS = 40  # network parts drawn one by one; beyond it those that stand alike become one
MAX_GRID = 256
NETWORK = ("leaf", "spine", "core")


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


def layout(topology: Topology, *, chips: bool = False) -> Layout:
    """Return the layout of a machine: places that depend on its wiring only, so that a change of traffic moves nothing.

    Args:
        topology: the machine, from a pair of cards to a cluster of thousands.
        chips: draw every NVSwitch chip by itself; else chips that reach the same GPUs are one bar, "4 NVSwitches".

    >>> from course_lib.fabric.registry import build
    >>> [part.name for part in layout(build("hgx-h100")).parts][-2:]
    ['GPU 7', '4 NVSwitches']
    >>> [part.name for part in layout(build("superpod-h100")).parts][:2]
    ['hosts 0–31', 'hosts 32–63']
    """
    kept = _kept.setdefault(topology, {})
    if chips not in kept:
        kept[chips] = _laid_out(topology, chips)
    return kept[chips]


_kept: "weakref.WeakKeyDictionary[Topology, dict[bool, Layout]]" = weakref.WeakKeyDictionary()


def _laid_out(topology: Topology, chips: bool) -> Layout:
    kinds = np.array(VERTEX_KINDS)[topology.kind]
    dims = getattr(topology.plan, "dims", None)
    if dims is not None:
        return _grid(topology, dims)
    if np.isin(kinds, NETWORK).any():
        return _blocks(topology, kinds)
    gpu = topology.kind == 0
    direct = gpu[topology.src] & gpu[topology.dst]
    partners = np.bincount(topology.src[direct], minlength=topology.n_vertices)
    if partners.max(initial=0) > 1:
        return _mesh(topology, kinds)
    return _rows(topology, kinds, chips)


# Parts and bundles


def _kind_word(kind: str, n: int) -> str:
    one = {"nvswitch": _("NVSwitch"), "pcie-switch": _("PCIe switch"), "cpu": _("CPU")}
    one |= {"leaf": _("leaf"), "spine": _("spine"), "core": _("core")}
    many = {"nvswitch": _("{n} NVSwitches"), "leaf": _("{n} leaves"), "spine": _("{n} spines"), "core": _("{n} cores")}
    return one[kind] if n == 1 else many.get(kind, "{n} " + one[kind]).format(n=n)


def _name(topology: Topology, vertex: int) -> str:
    kind, number = VERTEX_KINDS[topology.kind[vertex]], int(topology.ordinal[vertex])
    if kind == "gpu":
        return _("GPU {n}").format(n=vertex)
    return f"{_kind_word(kind, 1)} {number}" if kind != "nic" else vertex_name(topology, vertex)


def _short(name: str) -> str:
    """Return a name for the picture: shapes say what is a switch, and narrow pages have little room."""
    return name.replace(_("PCIe switch"), _("PCIe"))


def _bundles(topology: Topology, part_of: np.ndarray) -> tuple[Bundle, ...]:
    """Return one bundle for each two parts and direction that links join; links inside a part are not drawn."""
    a, b = part_of[topology.src], part_of[topology.dst]
    drawn = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k in drawn:
        groups[int(a[k]), int(b[k])].append(int(k))
    return tuple(Bundle(*ends, np.array(links)) for ends, links in groups.items())


def _part_of(topology: Topology, parts: list[Part]) -> np.ndarray:
    part_of = np.full(topology.n_vertices, -1)
    for i, part in enumerate(parts):
        part_of[list(part.members)] = i
    return part_of


def _finish(topology: Topology, parts: list[Part], height: float, room: float, captions=()) -> Layout:
    bundles = _bundles(topology, _part_of(topology, parts))
    return Layout(tuple(parts), bundles, _ends(parts, bundles, room), height, tuple(captions), room)


def _ends(parts: list[Part], bundles, room: float) -> np.ndarray:
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


# Rows


def _gpu_places(topology: Topology, bar: np.ndarray) -> tuple[np.ndarray, float]:
    """Return x of every GPU, wider gaps between hosts and between the GPUs of different bars, and the distance of neighbours."""
    n = topology.n_gpus
    at = np.arange(n) + np.cumsum(np.r_[0.0, 0.9 * (np.diff(topology.host[:n]) != 0) + 1.6 * (np.diff(bar) != 0)])
    step = (WIDTH - 2 * MARGIN_X) / max(float(at[-1]) + 1, 1)
    return MARGIN_X + step * (at + 0.5), step


def _alike(topology: Topology, vertices: np.ndarray) -> list[list[int]]:
    """Return groups of vertices that are joined to the same GPUs."""
    groups: dict[tuple, list[int]] = defaultdict(list)
    for v in vertices:
        near = topology.dst[topology.src == v]
        groups[tuple(sorted(near[near < topology.n_gpus].tolist()))].append(int(v))
    return list(groups.values())


def _rows(topology: Topology, kinds: np.ndarray, chips: bool) -> Layout:
    n = topology.n_gpus
    switches = np.flatnonzero(kinds == "nvswitch")
    groups = _alike(topology, switches)
    bar = np.zeros(n, int)
    for i, members in enumerate(groups):
        near = topology.dst[np.isin(topology.src, members)]
        bar[near[near < n]] = i
    x_gpu, step = _gpu_places(topology, bar)
    drawn = np.flatnonzero((np.arange(topology.n_vertices) >= n) & (kinds != "nic"))
    levels = sorted({0.0} | {float(np.floor(topology.level[v])) for v in drawn})
    gap = 215.0 if len(levels) == 2 else 125.0
    y_of = {level: 44.0 + gap * i for i, level in enumerate(levels)}
    y_gpu = y_of[0.0]
    parts = [Part(_name(topology, g), "gpu", float(x_gpu[g]), y_gpu, str(g), (g,)) for g in range(n)]
    for members in [[int(s)] for s in switches] if chips else groups:
        near = np.unique(topology.dst[np.isin(topology.src, members)])
        xs = x_gpu[near[near < n]]
        name = _name(topology, members[0]) if chips else _kind_word("nvswitch", len(members))
        y = y_of[float(np.floor(topology.level[members[0]]))]
        if chips:
            i, of = members[0] - int(switches[0]), len(switches)
            x, half = MARGIN_X + (WIDTH - 2 * MARGIN_X) * (i + 0.5) / of, min(70.0, 250.0 / of)
            label = name.replace(" ", "<br>")
            parts.append(Part(name, "nvswitch", x, y, label, tuple(members), (x - half, x + half)))
            continue
        x0, x1 = float(xs.min()) - 0.4 * step, float(xs.max()) + 0.4 * step
        parts.append(Part(name, "nvswitch", (x0 + x1) / 2, y, name, tuple(members), (x0, x1)))
    twins: dict[tuple, list[int]] = defaultdict(list)  # the two ways of a PCIe switch with ACS on are one box
    for v in drawn[kinds[drawn] != "nvswitch"]:
        key = kinds[v], int(topology.host[v]), float(np.floor(topology.level[v])), round(float(topology.position[v]), 4)
        twins[key].append(int(v))
    for (kind, _host, level, position), members in twins.items():
        x = MARGIN_X + (WIDTH - 2 * MARGIN_X) * position
        name = _name(topology, members[0])
        parts.append(Part(name, kind, x, y_of[level], _short(name), tuple(members)))
    captions = []
    if topology.n_hosts > 1:
        for h in range(topology.n_hosts):
            mine = x_gpu[topology.host[:n] == h]
            captions.append((str(h), float(mine.mean()), y_gpu - 24))
        captions.append((_("trays of {n} GPUs").format(n=n // topology.n_hosts), WIDTH / 2, y_gpu - 39))
    return _finish(topology, parts, y_of[levels[-1]] + 44, float(min(4.5 if chips else 11.0, step * 0.5)), captions)


# Mesh


def arcs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y on a circle of radius 1: the first half down its left side, the second half down its right.

    So GPU i faces GPU i + n/2, and the four long links of a cube mesh are level.

    >>> [v.round(2).tolist() for v in arcs(4)]
    [[-0.71, -0.71, 0.71, 0.71], [0.71, -0.71, 0.71, -0.71]]
    """
    left = (n + 1) // 2
    turn = np.r_[90 + 180 * (np.arange(left) + 0.5) / left, 90 - 180 * (np.arange(n - left) + 0.5) / max(n - left, 1)]
    return np.cos(np.radians(turn)), np.sin(np.radians(turn))


def _mesh(topology: Topology, kinds: np.ndarray) -> Layout:
    n = topology.n_gpus
    outside = np.flatnonzero((np.arange(topology.n_vertices) >= n) & (kinds != "nic"))
    x, y = arcs(n)
    rx, ry = (165.0, 132.0) if len(outside) else (225.0, 150.0)
    height = 2 * ry + (128.0 if len(outside) else 84.0)
    middle = height - ry - 40
    x, y = WIDTH / 2 + rx * x, middle + ry * y
    parts = [Part(_name(topology, g), "gpu", float(x[g]), float(y[g]), str(g), (g,)) for g in range(n)]
    seen: dict[int, list[int]] = defaultdict(
        list
    )  # how many stand outside on each side, so that they do not hide each other
    for v in outside:
        near = topology.dst[topology.src == v]
        near = near[near < n]
        side = -1 if topology.position[v] < 0.5 else 1
        name = _name(topology, v)
        if len(near):
            out = 52.0 + 66.0 * len(seen[side])
            seen[side].append(int(v))
            px, py = (out if side < 0 else WIDTH - out), float(y[near].mean())
        else:
            px, py = (80.0 if side < 0 else WIDTH - 80.0), 26.0
        parts.append(Part(name, kinds[v], px, py, _short(name), (int(v),)))
    return _finish(topology, parts, height, 10.0 if n < 6 else 6.5)


# Grid


def _grid(topology: Topology, dims: tuple[int, ...]) -> Layout:
    """A torus: the last two dimensions as a grid, a third as steps to the upper right; links round the end leave the picture."""
    shape = list(dims)
    lines = 1  # chips that one square stands for: whole leading dimensions
    while np.prod(shape) > MAX_GRID and len(shape) > 2:
        lines *= shape.pop(0)
    shape = [1] * (3 - len(shape)) + shape if len(shape) < 4 else [int(np.prod(shape[:-2])), *shape[-2:]]
    depth, down, across = shape
    per = depth * down * across
    cell = min(118.0, (WIDTH - 120) / (across + 0.2), 460.0 / max(down, 1))
    lean = 0.62 * cell / max(depth, 1) if depth > 1 else 0.0
    x0 = (WIDTH - cell * (across - 1) - lean * (depth - 1)) / 2
    height = cell * (down - 1) + lean * (depth - 1) + 130
    parts = []
    for i in range(per):
        a, b, c = i // (down * across), i // across % down, i % across
        members = tuple(range(i, topology.n_gpus, per))
        name = _("chip {n}").format(n=i) if lines == 1 else _("chips {a} … {b}").format(a=i, b=i + per * (lines - 1))
        x, y = x0 + cell * c + lean * a, height - 64 - cell * b - lean * (depth - 1 - a)
        parts.append(Part(name, "gpu", x, y, str(i), members))
    bundles = []
    for bundle in _bundles(topology, _part_of(topology, parts)):
        p, q = parts[bundle.a], parts[bundle.b]
        dx, dy = q.x - p.x, q.y - p.y
        far = np.hypot(dx, dy) > 1.5 * max(cell if abs(abs(dx) - abs(dy)) > 1e-6 or not lean else lean * 1.5, 1.0)
        way = (-np.sign(dx), -np.sign(dy)) if far else None
        bundles.append(Bundle(bundle.a, bundle.b, bundle.links, way))
    room = float(min(8.0, 0.2 * (lean or cell)))
    return Layout(tuple(parts), tuple(bundles), _ends(parts, bundles, room), height, (), room)


# Blocks


def _blocks(topology: Topology, kinds: np.ndarray) -> Layout:
    """A cluster: hosts in a row, the network above; where there are many, those that are joined to the same things are one."""
    hosts = [np.flatnonzero(topology.host == h) for h in range(topology.n_hosts)]
    groups: list[tuple[str, list[list[int]]]] = [("host", [h.tolist() for h in hosts])]
    groups += [(k, [[int(v)] for v in np.flatnonzero(kinds == k)]) for k in NETWORK if (kinds == k).any()]
    if max(len(members) for _kind, members in groups) > MAX_PARTS:
        for i in range(len(groups)):
            groups[i] = groups[i][0], _joined_alike(topology, groups, i)
    gap = 150.0 if len(groups) < 4 else 120.0
    parts = []
    for row, (kind, members) in enumerate(groups):
        for i, vertices in enumerate(members):
            x = MARGIN_X + (WIDTH - 2 * MARGIN_X) * (i + 0.5) / len(members)
            name, label = _block_name(topology, kind, vertices, i, len(members))
            parts.append(Part(name, kind, x, 48.0 + gap * row, label, tuple(vertices)))
    room = min(9.0, 0.3 * (WIDTH - 2 * MARGIN_X) / max(len(m) for _kind, m in groups))
    return _finish(topology, parts, 48.0 + gap * (len(groups) - 1) + 50, float(room))


def _joined_alike(topology: Topology, groups: list, i: int) -> list[list[int]]:
    """Return the parts of a row, those that are joined to the same parts of the next row (or below, for the top) as one."""
    other = i + 1 if i + 1 < len(groups) else i - 1
    place = np.full(topology.n_vertices, -1)
    for number, vertices in enumerate(groups[other][1]):
        place[vertices] = number
    own = np.full(topology.n_vertices, -1)
    for number, vertices in enumerate(groups[i][1]):
        own[vertices] = number
    a, b = own[topology.src], place[topology.dst]
    joined = np.unique(np.stack([a, b], 1)[(a >= 0) & (b >= 0)], axis=0)
    seen: dict[tuple, list[int]] = defaultdict(list)
    for number, vertices in enumerate(groups[i][1]):
        seen[tuple(joined[joined[:, 0] == number, 1].tolist())] += vertices
    merged = list(seen.values())
    return merged if len(merged) <= MAX_PARTS else [[v for vertices in merged for v in vertices]]


def _block_name(topology: Topology, kind: str, vertices: list[int], i: int, of: int) -> tuple[str, str]:
    if kind != "host":
        if len(vertices) > 1:
            name = _kind_word(kind, len(vertices))
            return (f"{name} ({i})" if of > 1 else name), name
        return f"{_kind_word(kind, 1)} {i}", str(i)
    hosts = np.unique(topology.host[vertices])
    gpus = int((np.array(vertices) < topology.n_gpus).sum())
    if len(hosts) == 1:
        return _("host {n}").format(n=int(hosts[0])), str(int(hosts[0]))
    name = _("hosts {a}–{b}").format(a=int(hosts[0]), b=int(hosts[-1]))
    return name, _("{name}<br>{gpus} GPUs").format(name=name, gpus=gpus)
