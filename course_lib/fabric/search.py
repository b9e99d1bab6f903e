"""Shortest paths by search, for hosts and irregular machines of up to a few thousand vertices."""

import weakref

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.fabric.runs import Routes, from_entries, mix
from course_lib.fabric.topology import NETWORK_KINDS, OWN_KINDS, VERTEX_KINDS, Topology, links_of, vertex_name

NIC = VERTEX_KINDS.index("nic")
MAX_SEARCHED = 2000  # vertices; beyond that a topology needs a plan
_reach_cache: "weakref.WeakKeyDictionary[Topology, list]" = weakref.WeakKeyDictionary()


def _tiers(topology: Topology) -> list[tuple[NDArray, NDArray, NDArray]]:
    """Return (links, forwards, hops) of each tier: the GPUs' own links are preferred to the rest of the machine."""
    if topology in _reach_cache:
        return _reach_cache[topology]
    if topology.n_vertices > MAX_SEARCHED:
        raise CourseError(
            _("{name} has {n} vertices and no plan for its routes; a search stops at {most}.").format(
                name=topology.name, n=topology.n_vertices, most=MAX_SEARCHED
            )
        )
    gpu, forwards = topology.kind == 0, np.ones(topology.n_vertices, bool)
    forwards[gpu] = topology.gpus_forward
    on_wire = np.zeros(topology.n_vertices, bool)
    for end in (topology.src, topology.dst):
        on_wire[end[links_of(topology, NETWORK_KINDS)]] = True
    forwards[(topology.kind == NIC) & ~on_wire] = False  # a card is a way out, not a way between the GPUs of its host
    own = links_of(topology, OWN_KINDS)
    tiers = []
    for links in (own, np.ones(topology.n_links, bool)):
        if links.any():
            tiers.append((np.flatnonzero(links), forwards, _hops(topology, links, forwards)))
    _reach_cache[topology] = tiers
    return tiers


def _hops(topology: Topology, links: NDArray, forwards: NDArray) -> NDArray[np.int32]:
    """Return (v, v) fewest hops over the given links through forwarding vertices, -1 where there is no way."""
    n = topology.n_vertices
    joined = np.zeros((n, n), np.float32)
    joined[topology.src[links], topology.dst[links]] = 1
    hops = np.full((n, n), -1, np.int32)
    np.fill_diagonal(hops, 0)
    frontier, distance = np.eye(n, dtype=np.float32), 0
    while frontier.any():
        distance += 1
        reached = (frontier @ joined > 0) & (hops < 0)
        hops[reached] = distance
        frontier = (reached & forwards).astype(np.float32)
    return hops


def searched(topology: Topology, src: NDArray, dst: NDArray, choice: str, seed: int, strict: bool = True) -> Routes:
    """Return routes over all shortest paths, found by search (up to a few thousand vertices).

    >>> from course_lib.fabric.registry import build
    >>> searched(build("hgx-b200"), np.array([0]), np.array([1]), "adaptive", 0).share.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n_pairs, chunk = len(src), max(1, 20_000_000 // max(1, topology.n_vertices))
    parts = [
        _search_some(topology, src[i : i + chunk], dst[i : i + chunk], choice, seed, strict)
        for i in range(0, n_pairs, chunk)
    ]
    if not parts:
        none = np.zeros(0, np.int64)
        return from_entries(topology, 0, none, none, none, np.zeros(0))
    pair = np.concatenate([p + i * chunk for i, (p, _l, _s) in enumerate(parts)])
    link, share = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    return from_entries(topology, n_pairs, pair, link, np.ones(len(link), np.int64), share)


def _search_some(topology: Topology, src: NDArray, dst: NDArray, choice: str, seed: int, strict: bool) -> tuple:
    open_pairs = src != dst
    none = np.zeros(0, np.int64)
    found = [(none, none, none)]
    for links, forwards, hops in _tiers(topology):
        here = np.flatnonzero(open_pairs & (hops[src, dst] >= 0))
        open_pairs[here] = False
        found += [
            (here[p], links[k], depth)
            for p, k, depth in _on_the_way(topology, links, forwards, hops, src[here], dst[here])
        ]
    if strict and open_pairs.any():
        i = int(np.flatnonzero(open_pairs)[0])
        raise CourseError(
            _("No path in {topology} leads from {a} to {b}.").format(
                topology=topology.name, a=vertex_name(topology, src[i]), b=vertex_name(topology, dst[i])
            )
        )
    pair, link, depth = (np.concatenate([f[k] for f in found]) for k in range(3))
    return _split(topology, src, dst, pair, link, depth, choice, seed)


def _on_the_way(topology, links, forwards, hops, a, b) -> list[tuple]:
    """Return (pair, place in links, depth) of every link on a shortest path from a to b, depth by depth.

    The first hop looks along the links out of a, the last along those into b: switches have many links, pairs few of them.
    """
    u, v = topology.src[links], topology.dst[links]
    out_of, into = _by_vertex(u, topology.n_vertices), _by_vertex(v, topology.n_vertices)
    total = hops[a, b]
    found, pair, at = [], np.arange(len(a)), a
    for depth in range(int(total.max(initial=0))):
        last = np.flatnonzero((total == depth + 1) & (total > 1))
        i, k = _fan(into, b[last])
        ok = (hops[a[last][i], u[k]] == depth) & forwards[u[k]]
        ends_here = last[i[ok]], k[ok]
        more = (total[pair] > depth + 1) | (depth == 0)
        pair, at = pair[more], at[more]
        i, k = _fan(out_of, at)
        to, p = v[k], pair[i]
        ok = (hops[to, b[p]] == total[p] - depth - 1) & ((to == b[p]) | forwards[to])
        pair, k = p[ok], k[ok]
        for which, place in (ends_here, (pair, k)):
            found.append((which, place, np.full(len(which), depth)))
        reached = np.unique(pair * topology.n_vertices + v[k])
        pair, at = reached // topology.n_vertices, reached % topology.n_vertices
    return found


def _by_vertex(end: NDArray, n: int) -> tuple[NDArray, NDArray]:
    """Return (order, start): the links of vertex x are order[start[x] : start[x+1]]."""
    return np.argsort(end, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(end, minlength=n))])


def _fan(links_by_vertex: tuple, vertex: NDArray) -> tuple[NDArray, NDArray]:
    """Return (which entry of `vertex`, link) for all links of the vertices."""
    order, start = links_by_vertex
    degree = start[vertex + 1] - start[vertex]
    i = np.repeat(np.arange(len(vertex)), degree)
    return i, order[np.arange(len(i)) + np.repeat(start[vertex] - np.cumsum(degree) + degree, degree)]


def _split(topology: Topology, src, dst, pair, link, depth, choice, seed) -> tuple:
    """Send one unit per pair down its shortest paths; at each vertex it splits by width, or one way is chosen."""
    order = np.lexsort((link, topology.src[link], depth, pair))
    pair, link, depth = pair[order], link[order], depth[order]
    n = topology.n_vertices
    at = pair * n + topology.src[link]
    weight = topology.bandwidth_Bps[link].copy()
    if choice != "adaptive" and len(at):
        begins = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
        size = np.diff(np.r_[begins, len(at)])
        number = (
            mix(seed, src[pair[begins]], dst[pair[begins]], topology.src[link[begins]])
            if choice == "hashed"
            else dst[pair[begins]]
        )
        chosen = begins + (number % size.astype(number.dtype)).astype(np.int64)
        keep = ~links_of(topology, NETWORK_KINDS)[link]
        keep[chosen] = True
        weight[~keep] = 0
    total = np.bincount(at, weights=weight, minlength=0)
    flow = np.zeros(len(total) + len(src) * n)
    flow[np.arange(len(src)) * n + src] = 1
    share = np.zeros(len(link))
    for d in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == d)
        share[here] = flow[at[here]] * weight[here] / total[at[here]]
        np.add.at(flow, pair[here] * n + topology.dst[link[here]], share[here])
    used = share > 0
    return pair[used], link[used], share[used]
