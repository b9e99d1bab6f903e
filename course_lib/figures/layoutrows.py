"""Layouts of one machine: GPUs below and what joins them above, or GPUs on two arcs with the host outside."""

from collections import defaultdict

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.topology import Topology
from course_lib.figures.layoutparts import MARGIN_X, WIDTH, Layout, Part, finished, kind_word, name_of, short_name


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


def rows(topology: Topology, kinds: np.ndarray, chips: bool) -> Layout:
    """Return GPUs in a row and, above them by level, switches (chips alike as one bar, or each), PCIe switches and CPUs."""
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
    parts = [Part(name_of(topology, g), "gpu", float(x_gpu[g]), y_gpu, str(g), (g,)) for g in range(n)]
    for members in [[int(s)] for s in switches] if chips else groups:
        near = np.unique(topology.dst[np.isin(topology.src, members)])
        xs = x_gpu[near[near < n]]
        name = name_of(topology, members[0]) if chips else kind_word("nvswitch", len(members))
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
        name = name_of(topology, members[0])
        parts.append(Part(name, kind, x, y_of[level], short_name(name), tuple(members)))
    captions = []
    if topology.n_hosts > 1:
        for h in range(topology.n_hosts):
            mine = x_gpu[topology.host[:n] == h]
            captions.append((str(h), float(mine.mean()), y_gpu - 24))
        captions.append((_("trays of {n} GPUs").format(n=n // topology.n_hosts), WIDTH / 2, y_gpu - 39))
    return finished(topology, parts, y_of[levels[-1]] + 44, float(min(4.5 if chips else 11.0, step * 0.5)), captions)


def arcs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y on a circle of radius 1: the first half down its left side, the second half down its right.

    So GPU i faces GPU i + n/2, and the four long links of a cube mesh are level.

    >>> [v.round(2).tolist() for v in arcs(4)]
    [[-0.71, -0.71, 0.71, 0.71], [0.71, -0.71, 0.71, -0.71]]
    """
    left = (n + 1) // 2
    turn = np.r_[90 + 180 * (np.arange(left) + 0.5) / left, 90 - 180 * (np.arange(n - left) + 0.5) / max(n - left, 1)]
    return np.cos(np.radians(turn)), np.sin(np.radians(turn))


def mesh(topology: Topology, kinds: np.ndarray) -> Layout:
    """Return GPUs on two arcs, what joins them to the host outside."""
    n = topology.n_gpus
    outside = np.flatnonzero((np.arange(topology.n_vertices) >= n) & (kinds != "nic"))
    x, y = arcs(n)
    rx, ry = (165.0, 132.0) if len(outside) else (225.0, 150.0)
    height = 2 * ry + (128.0 if len(outside) else 84.0)
    middle = height - ry - 40
    x, y = WIDTH / 2 + rx * x, middle + ry * y
    parts = [Part(name_of(topology, g), "gpu", float(x[g]), float(y[g]), str(g), (g,)) for g in range(n)]
    seen: dict[int, list[int]] = defaultdict(
        list
    )  # how many stand outside on each side, so that they do not hide each other
    for v in outside:
        near = topology.dst[topology.src == v]
        near = near[near < n]
        side = -1 if topology.position[v] < 0.5 else 1
        name = name_of(topology, v)
        if len(near):
            out = 52.0 + 66.0 * len(seen[side])
            seen[side].append(int(v))
            px, py = (out if side < 0 else WIDTH - out), float(y[near].mean())
        else:
            px, py = (80.0 if side < 0 else WIDTH - 80.0), 26.0
        parts.append(Part(name, kinds[v], px, py, short_name(name), (int(v),)))
    return finished(topology, parts, height, 10.0 if n < 6 else 6.5)
