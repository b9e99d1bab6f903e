"""Which links a transfer takes: routes of many pairs at once, as runs of links with shares.

Inside a host every shortest path is used, split in proportion to the width of the links, as the hardware stripes
addresses over NVLinks: 18 links over four switches carry 5, 4, 4 and 5 parts. In a network the choice is

- `fixed`: by destination, the table a subnet manager loads (the remainder of the destination number picks the uplink);
- `hashed`: one path per pair of ends, picked by a seeded hash, as ECMP does with flows;
- `adaptive`: spread evenly over all shortest paths, the limit of per-packet spraying.
"""

import weakref
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.fabric.topology import NETWORK_KINDS, OWN_KINDS, Topology, ends, links_of, vertex_name

CHOICES = ("fixed", "hashed", "adaptive")


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """Routes of p pairs. Pair i uses runs start[i] … start[i+1]-1; a run is `count` links from `first` on.

    Each link of a run carries the fraction `share` of the pair's bytes. `latency_s` is the path's latency (the mean
    over its links' shares, where several paths are used at once).
    """

    start: NDArray[np.int64]  # (p+1,)
    first: NDArray[np.int64]  # (r,) first link of each run
    count: NDArray[np.int64]  # (r,) links in the run
    share: NDArray[np.float64]  # (r,) fraction of the pair's bytes on each link of the run
    latency_s: NDArray[np.float64]  # (p,)

    @property
    def n_pairs(self) -> int:
        return len(self.start) - 1

    @property
    def pair(self) -> NDArray[np.int64]:
        """(r,) the pair each run belongs to."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.start))

    def take(self, pairs: ArrayLike) -> "Routes":
        """Return the routes of some pairs, by index or by mask, in that order."""
        pairs = np.asarray(pairs)
        pairs = np.flatnonzero(pairs) if pairs.dtype == bool else pairs.astype(np.int64)
        length = np.diff(self.start)[pairs]
        start = np.concatenate([[0], np.cumsum(length)])
        runs = np.arange(start[-1]) + np.repeat(self.start[pairs] - start[:-1], length)
        return Routes(start, self.first[runs], self.count[runs], self.share[runs], self.latency_s[pairs])

    def spread(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return (pair, link, share), one entry per link: long for adaptive routes of many pairs."""
        pair = np.repeat(self.pair, self.count)
        offset = np.arange(len(pair)) - np.repeat(np.cumsum(self.count) - self.count, self.count)
        return pair, np.repeat(self.first, self.count) + offset, np.repeat(self.share, self.count)


def routes(
    topology: Topology,
    src: ArrayLike,
    dst: ArrayLike,
    choice: str = "adaptive",
    seed: int = 0,
    *,
    missing: str = "error",
) -> Routes:
    """Return the routes from src to dst, pair by pair.

    Args:
        topology: the machine.
        src: (p,) sending vertices; GPUs are 0 … n_gpus-1, switches and cards may be ends as well.
        dst: (p,) receiving vertices; src and dst broadcast against each other.
        choice: how a network picks among its paths: `fixed`, `hashed` or `adaptive`.
        seed: whole number that seeds the hash.
        missing: what a pair gets that nothing joins: `error`, or `empty` for no links (in machines that are searched).

    Raises:
        CourseError: unknown vertex or choice, or a pair that no path joins.

    Validity: shortest paths only; what a GPU does to forward for others is part of a schedule, not of a route
    (but for the chips of a torus, whose routers forward).

    >>> from course_lib.fabric.scaleup import nvswitch_box
    >>> box = nvswitch_box("hgx-h100", 8, (5, 4, 4, 5), 25e9)
    >>> routes(box, 0, 7).share.round(3).tolist()
    [0.278, 0.222, 0.222, 0.278, 0.278, 0.222, 0.222, 0.278]
    """
    choice = one_of("choice of routes", choice, CHOICES)
    seed = whole("seed", seed, at_least=0)
    a, b = ends(topology, "src", src), ends(topology, "dst", dst)
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError:
        raise CourseError(
            _("src holds {a} vertices and dst {b}; pairs need as many of each.").format(a=len(a), b=len(b))
        ) from None
    if one_of("answer to a missing path", missing, ("error", "empty")) == "empty" and topology.plan is None:
        return searched(topology, a, b, choice, seed, strict=False)
    return plan_routes(topology.plan, topology, a, b, choice, seed)


@singledispatch
def plan_routes(plan: object, topology: Topology, src: NDArray, dst: NDArray, choice: str, seed: int) -> Routes:
    """Find routes as the topology's plan does; a topology without one is searched.

    >>> from course_lib.fabric.registry import build
    >>> ring = build("mi300x")
    >>> plan_routes(None, ring, np.array([0]), np.array([5]), "fixed", 0).n_pairs
    1
    """
    return searched(topology, src, dst, choice, seed)


def from_entries(
    topology: Topology, n_pairs: int, pair: NDArray, first: NDArray, count: NDArray, share: NDArray
) -> Routes:
    """Return Routes from runs that are sorted by pair; latency is the share-weighted sum.

    >>> from course_lib.fabric.registry import build
    >>> mesh, one = build("mi300x"), np.array([1])
    >>> from_entries(mesh, 2, one, np.array([0]), one, np.array([1.0])).start.tolist()
    [0, 0, 1]
    """
    start = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=n_pairs))]).astype(np.int64)
    latency = np.bincount(pair, weights=topology.latency_s[first] * share * count, minlength=n_pairs)
    return Routes(start, first.astype(np.int64), count.astype(np.int64), share.astype(np.float64), latency)


def gather(topology: Topology, n_pairs: int, pieces: list[tuple]) -> Routes:
    """Return Routes from pieces `(pair, first, count, share)` in the order of travel; within a piece pairs ascend.

    >>> from course_lib.fabric.registry import build
    >>> first_hop, second_hop = (np.array([0, 1]), [0, 2], 1, 1.0), (np.array([1]), [5], 1, 1.0)
    >>> gather(build("mi300x"), 2, [first_hop, second_hop]).first.tolist()
    [0, 2, 5]
    """
    length = np.zeros(n_pairs, np.int64)
    for pair, *_rest in pieces:
        length += np.bincount(pair, minlength=n_pairs)
    start = np.concatenate([[0], np.cumsum(length)])
    cursor = start[:-1].copy()
    first, count, share = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64), np.empty(start[-1])
    for pair, piece_first, piece_count, piece_share in pieces:
        at = cursor[pair]
        if len(pair) > 1 and (pair[1:] == pair[:-1]).any():
            begins = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
            at = at + np.arange(len(pair)) - np.repeat(begins, np.diff(np.r_[begins, len(pair)]))
        first[at], count[at], share[at] = piece_first, piece_count, piece_share
        cursor += np.bincount(pair, minlength=n_pairs)
    return from_entries(topology, n_pairs, np.repeat(np.arange(n_pairs), length), first, count, share)


def mix(*parts: NDArray | int) -> NDArray[np.uint64]:
    """Return a well-mixed 64-bit hash of whole numbers (splitmix64), the same on every machine.

    >>> int(mix(1, 2)) == int(mix(1, 2)), int(mix(1, 2)) == int(mix(2, 1))
    (True, False)
    """
    with np.errstate(over="ignore"):
        state = np.zeros((), np.uint64)
        for part in parts:
            state = state ^ np.asarray(part).astype(np.uint64)
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state


# --- search, for hosts and irregular machines -------------------------------------------------------------------------

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
