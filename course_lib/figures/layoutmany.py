"""Layouts of many: a torus as a grid, a cluster as blocks of hosts below its network."""

from collections import defaultdict

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.topology import Topology
from course_lib.figures.layoutparts import (
    MARGIN_X,
    WIDTH,
    Bundle,
    Layout,
    Part,
    bundles_of,
    ends_of,
    finished,
    kind_word,
    part_of,
)

MAX_PARTS = 40  # network parts drawn one by one; beyond it those that stand alike become one
MAX_GRID = 256
NETWORK = ("leaf", "spine", "core")


def grid(topology: Topology, dims: tuple[int, ...]) -> Layout:
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
    for bundle in bundles_of(topology, part_of(topology, parts)):
        p, q = parts[bundle.a], parts[bundle.b]
        dx, dy = q.x - p.x, q.y - p.y
        far = np.hypot(dx, dy) > 1.5 * max(cell if abs(abs(dx) - abs(dy)) > 1e-6 or not lean else lean * 1.5, 1.0)
        way = (-np.sign(dx), -np.sign(dy)) if far else None
        bundles.append(Bundle(bundle.a, bundle.b, bundle.links, way))
    room = float(min(8.0, 0.2 * (lean or cell)))
    return Layout(tuple(parts), tuple(bundles), ends_of(parts, bundles, room), height, (), room)


def blocks(topology: Topology, kinds: np.ndarray) -> Layout:
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
    return finished(topology, parts, 48.0 + gap * (len(groups) - 1) + 50, float(room))


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
            name = kind_word(kind, len(vertices))
            return (f"{name} ({i})" if of > 1 else name), name
        return f"{kind_word(kind, 1)} {i}", str(i)
    hosts = np.unique(topology.host[vertices])
    gpus = int((np.array(vertices) < topology.n_gpus).sum())
    if len(hosts) == 1:
        return _("host {n}").format(n=int(hosts[0])), str(int(hosts[0]))
    name = _("hosts {a}–{b}").format(a=int(hosts[0]), b=int(hosts[-1]))
    return name, _("{name}<br>{gpus} GPUs").format(name=name, gpus=gpus)
