"""Cuts and bisections: how much can pass between two parts of a machine, and between any two GPUs."""

import itertools
import math
from collections import deque
from collections.abc import Iterable
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.fabric.clusterroutes import ClusterPlan
from course_lib.fabric.routes import Routes, routes
from course_lib.fabric.topology import OWN_KINDS, Topology, ends, links_of
from course_lib.fabric.torus import TorusPlan, torus_bisection_links

MAX_HALVES = 200_000
MAX_MATRIX = 1024


def cut_Bps(topology: Topology, gpus: ArrayLike, kinds: Iterable[str] | None = None) -> float | None:
    """Return what the given GPUs together can send to all others, one direction: the smallest cut that parts them.

    Switches stand on whichever side makes the cut smaller; every route may be used (a scheme of routes may reach less).

    Args:
        topology: the machine.
        gpus: GPUs on the sending side.
        kinds: link kinds that count; None: the machine's main links (NVLink in an NVLink box, PCIe in a PCIe server).

    Returns:
        Bytes per second, or None where nothing joins the two sides (or one side is empty): no link is not a link of 0 GB/s.

    >>> from course_lib.fabric.registry import build
    >>> cut_Bps(build("hgx-h100"), [7]) / 1e9
    450.0
    """
    side = np.zeros(topology.n_gpus, bool)
    chosen = ends(topology, "gpus", gpus)
    if (chosen >= topology.n_gpus).any():
        raise CourseError(
            _("gpus holds vertices that are not GPUs; GPUs are 0 … {last}.").format(last=topology.n_gpus - 1)
        )
    side[chosen] = True
    value = _Graph(topology, kinds).cut(side)
    return value or None


def bisection_Bps(topology: Topology, kinds: Iterable[str] | None = None) -> float | None:
    """Return the bisection: the least that any half of the GPUs can send to the other half, one direction.

    Exact where halves can be tried out (GPUs that stand alike are exchanged only once): all single hosts, NVL72, small
    tori. By formula for larger tori (`torus_bisection_links`) and for clusters, where the halves are made of whole
    hosts and leaves are filled in turn, which is the best cut of equal leaves. With an odd number the halves differ by one.
    Both directions together are twice this; the sum over all GPUs of what they can send ("aggregate") is another number.

    Args:
        topology: the machine.
        kinds: link kinds that count; None: the machine's main links.

    Returns:
        Bytes per second, or None where a half is not joined to the other at all, or there are fewer than two GPUs.

    Raises:
        CourseError: an irregular machine with too many different halves to try.

    >>> from course_lib.fabric.registry import build
    >>> bisection_Bps(build("nvl72-gb200")) / 1e12, bisection_Bps(build("dgx1-v100")) / 1e9
    (32.4, 150.0)
    """
    if topology.n_gpus < 2:
        return None
    value = plan_bisection_Bps(topology.plan, topology, kinds)
    return value or None


def aggregate_Bps(topology: Topology, kinds: Iterable[str] | None = None) -> float:
    """Return what all GPUs together can send over their own links, one direction ("130 TB/s" is both directions of this).

    Without `kinds`: NVLink, Infinity Fabric or torus links where GPUs have them, else the machine's main links.

    >>> from course_lib.fabric.registry import build
    >>> 2 * aggregate_Bps(build("nvl72-gb200")) / 1e12
    129.6
    """
    if kinds is None:
        kinds = [k for k in OWN_KINDS if k in topology.main_kinds] or topology.main_kinds
    counted = links_of(topology, kinds)
    return float(topology.bandwidth_Bps[counted & (topology.kind[topology.src] == 0)].sum())


@singledispatch
def plan_bisection_Bps(plan: object, topology: Topology, kinds: Iterable[str] | None) -> float:
    """Return the bisection of a topology as its plan allows; without a plan, halves are tried out.

    >>> from course_lib.fabric.registry import build
    >>> plan_bisection_Bps(None, build("mi300x"), None) / 1e9
    1024.0
    """
    return _tried_Bps(topology, kinds)


@plan_bisection_Bps.register
def _torus_bisection(plan: TorusPlan, topology: Topology, kinds: Iterable[str] | None) -> float:
    return torus_bisection_links(plan.dims, plan.wrap) * float(topology.bandwidth_Bps[0])


@plan_bisection_Bps.register
def _cluster_bisection(plan: ClusterPlan, topology: Topology, kinds: Iterable[str] | None) -> float:
    net = plan.net
    if net.n_hosts == 1:
        return _tried_Bps(plan.template, kinds)
    template, card = plan.template, plan.first_card
    slot_Bps = float(template.bandwidth_Bps[template.dst == card].sum())  # a card brings no more than its slot
    beta = min(float(topology.bandwidth_Bps[plan.link["card_up"]]), slot_Bps)
    per_block = net.nics_per_host if net.attach == "rail" else 1
    per_host = net.nics_per_host // per_block  # cards of a host on one leaf
    up_Bps = float(topology.bandwidth_Bps[plan.link["leaf_up"]]) * net.uplinks if net.uplinks else 0.0
    full, last = net.hosts_per_block, net.n_hosts - net.hosts_per_block * (net.n_hosts // net.hosts_per_block)
    blocks = [full] * (net.n_hosts // full) + ([last] if last else [])

    def crossing(inside: int, size: int, spine_inside: bool) -> float:
        a, b = inside * per_host * beta, (size - inside) * per_host * beta
        return per_block * (min(b, a + up_Bps) if spine_inside else min(a, b + up_Bps))

    # Concave in the hosts taken from each leaf, so at most one leaf is split: fill leaves in turn, the odd one first or last.
    best = math.inf
    for order in (blocks, blocks[::-1]):
        for spine_inside in (False, True):
            left, total = net.n_hosts // 2, 0.0
            for size in order:
                inside = min(left, size)
                left -= inside
                total += crossing(inside, size, spine_inside)
            best = min(best, total)
    return best


def _tried_Bps(topology: Topology, kinds: Iterable[str] | None) -> float:
    graph = _Graph(topology, kinds)
    classes = graph.alike()
    n_halves = math.prod(len(c) + 1 for c in classes)
    if n_halves > MAX_HALVES:
        raise CourseError(
            _("{name}: {n} different halves are too many to try; give the part to cut off to cut_Bps.").format(
                name=topology.name, n=n_halves
            )
        )
    half = topology.n_gpus // 2
    sides = []
    for counts in itertools.product(*(range(len(c) + 1) for c in classes)):
        if sum(counts) == half:
            side = np.zeros(topology.n_gpus, bool)
            for members, count in zip(classes, counts, strict=True):
                side[members[:count]] = True
            sides.append(side)
    return graph.least_cut(np.array(sides))


class _Graph:
    """Widths between GPUs and the vertices that pass traffic on, over the kinds of link that count."""

    def __init__(self, topology: Topology, kinds: Iterable[str] | None):
        counted = links_of(topology, topology.main_kinds if kinds is None else kinds)
        src, dst = topology.src[counted].astype(int), topology.dst[counted].astype(int)
        used = np.unique(np.concatenate([np.arange(topology.n_gpus), src, dst]))
        place = np.full(topology.n_vertices, -1)
        place[used] = np.arange(len(used))
        self.n, self.n_gpus = len(used), topology.n_gpus
        if self.n > 3000:
            raise CourseError(_("{name} is too large to cut by search.").format(name=topology.name))
        self.width = np.zeros((self.n, self.n))
        np.add.at(self.width, (place[src], place[dst]), topology.bandwidth_Bps[counted])

    def alike(self) -> list[list[int]]:
        """Return groups of GPUs with the same links to the same vertices, or to each other in the same way."""
        groups: dict = {}
        for g in range(self.n_gpus):
            groups.setdefault((self.width[g].tobytes(), self.width[:, g].tobytes()), []).append(g)
        groups_of = list(groups.values())
        inner = self.width[: self.n_gpus, : self.n_gpus]
        off = inner[~np.eye(self.n_gpus, dtype=bool)]
        if self.n == self.n_gpus and len(off) and (off == off[0]).all():
            return [list(range(self.n_gpus))]
        return groups_of

    def least_cut(self, sides: NDArray[np.bool_]) -> float:
        """Return the smallest cut, both directions tried, over rows of sides."""
        n = self.n_gpus
        inner = self.width[:n, :n]
        if self.n == n:
            inside = sides.astype(float)
            out = (inside @ inner * (1 - inside)).sum(1)
            back = ((1 - inside) @ inner * inside).sum(1)
            return float(min(out.min(), back.min()))
        return min(min(self.cut(side), self.cut(~side)) for side in sides)

    def cut(self, side: NDArray[np.bool_]) -> float:
        """Return the largest flow from the GPUs of one side to the others."""
        n = self.n_gpus
        a, b = np.flatnonzero(side), np.flatnonzero(~side)
        direct = self.width[np.ix_(a, b)].sum()
        into, out_of = self.width[a, n:].sum(0), self.width[n:, b].sum(1)
        between = self.width[n:, n:]
        if not between.any():
            return float(direct + np.minimum(into, out_of).sum())
        return float(direct + _max_flow(into, between, out_of))


def _max_flow(into: NDArray, between: NDArray, out_of: NDArray) -> float:
    """Return the largest flow source → switches → sink, by shortest augmenting paths on what is left of each width."""
    k = len(into)
    left = np.zeros((k + 2, k + 2))
    left[k, :k], left[:k, :k], left[:k, k + 1] = into, between, out_of
    tiny = 1e-12 * max(1.0, left.max())
    total = 0.0
    while True:
        before = np.full(k + 2, -1)
        before[k] = k
        queue = deque([k])
        while queue and before[k + 1] < 0:
            at = queue.popleft()
            for nxt in np.flatnonzero((left[at] > tiny) & (before < 0)):
                before[nxt] = at
                queue.append(nxt)
        if before[k + 1] < 0:
            return total
        path, at = [], k + 1
        while at != k:
            path.append((before[at], at))
            at = before[at]
        amount = min(left[e] for e in path)
        for p, q in path:
            left[p, q] -= amount
            left[q, p] += amount
        total += amount


def direct_links(topology: Topology, kinds: Iterable[str] | None = None) -> NDArray[np.int64]:
    """Return (n, n) how many cables join each pair of GPUs without anything between: the NV1 and NV2 of a cube mesh.

    >>> from course_lib.fabric.registry import build
    >>> direct_links(build("dgx1-v100"))[0].tolist()
    [0, 1, 1, 2, 2, 0, 0, 0]
    """
    n = topology.n_gpus
    if n > MAX_MATRIX:
        raise CourseError(_("A matrix of {n} × {n} GPUs is too large; at most {most}.").format(n=n, most=MAX_MATRIX))
    counted = links_of(topology, topology.main_kinds if kinds is None else kinds)
    counted &= (topology.src < n) & (topology.dst < n)
    table = np.zeros((n, n), np.int64)
    np.add.at(table, (topology.src[counted], topology.dst[counted]), topology.parallel[counted].astype(np.int64))
    return table


def path_Bps(topology: Topology, paths: Routes) -> NDArray[np.float64]:
    """Return (p,) how fast each pair can go alone: its links' widths over their shares, the least; inf for a pair of one vertex.

    >>> from course_lib.fabric.registry import build
    >>> (path_Bps(build("dgx1-v100"), routes(build("dgx1-v100"), 0, [1, 3, 5])) / 1e9).round(1).tolist()
    [25.0, 50.0, 15.8]
    """
    rate = np.full(paths.n_pairs, np.inf)
    if (paths.count == 1).all():
        np.minimum.at(rate, paths.pair, topology.bandwidth_Bps[paths.first] / paths.share)
        return rate
    padded = np.append(topology.bandwidth_Bps, np.inf)
    stops = np.stack([paths.first, paths.first + paths.count], 1).ravel()
    least = np.minimum.reduceat(padded, stops)[::2]
    np.minimum.at(rate, paths.pair, least / paths.share)
    return rate


def pair_matrix_Bps(topology: Topology, choice: str = "adaptive", seed: int = 0) -> np.ma.MaskedArray:
    """Return (n, n) bandwidth from GPU to GPU, each pair alone, one direction; masked where there is no way, and on the diagonal.

    >>> from course_lib.fabric.registry import build
    >>> (pair_matrix_Bps(build("dgx1-p100"))[0] / 1e9).round(1).tolist()
    [None, 20.0, 20.0, 20.0, 20.0, 15.8, 15.8, 15.8]
    """
    n = topology.n_gpus
    if n > MAX_MATRIX:
        raise CourseError(_("A matrix of {n} × {n} GPUs is too large; at most {most}.").format(n=n, most=MAX_MATRIX))
    src, dst = np.divmod(np.arange(n * n), n)
    paths = routes(topology, src, dst, choice, seed, missing="empty")
    rate = path_Bps(topology, paths).reshape(n, n)
    return np.ma.MaskedArray(np.where(np.isfinite(rate), rate, 0.0), mask=~np.isfinite(rate))
