"""Bundles: links that fill alike are one, so that many transfers of a cluster are priced as few numbers.

With adaptive routing every uplink of a leaf carries the same, and so does every cable between the spines and cores of a pod.
A bundle is such a set of links, or one link by itself. The ways of transfers over bundles are found by arithmetic, a few
columns for all of them; `routes` gives the same links one by one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.fabric.clusterroutes import ClusterPlan
from course_lib.fabric.search import searched
from course_lib.fabric.topology import Topology

FAMILIES = ("leaf_up", "leaf_down", "spine_up", "spine_down")
MOST_PAIRS = 1 << 22  # pairs of places in a host that are looked up in a table


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """The bundles of a cluster: links up to the cards one by one, then a bundle for each leaf and pod, up and down.

    `second` (b,) is the time of the slowest link of a bundle for a byte on the whole of it, `link` (b,) that link, `first`
    where each family begins, `alike` the `second` of families in which all are equal; `card_s` and `switch_s` are the
    latencies of their hops. `out` and `back` are the ways from each GPU of a host to its card and from there to it.
    """

    plan: ClusterPlan
    host: NDArray[np.int32]
    second: NDArray[np.float64]
    link: NDArray[np.int64]
    first: dict[str, int]
    alike: dict[str, float]
    card_s: float
    switch_s: float
    out: "_Columns"
    back: "_Columns"


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Ways inside a host of k pairs of places, a column for each link of the longest: link and share (columns, k), latency (k,)."""

    link: NDArray[np.int32]
    share: NDArray[np.float64]
    latency_s: NDArray[np.float64]

    @classmethod
    def of(cls, template: Topology, src: NDArray, dst: NDArray) -> "_Columns":
        found = searched(template, src, dst, "adaptive", 0)
        _pair, link, share = found.spread()
        length = np.diff(found.start)
        columns = np.arange(int(length.max(initial=0)))[:, None]
        at, here = np.minimum(found.start[:-1] + columns, max(len(link) - 1, 0)), columns < length
        link, share = (np.where(here, x[at] if len(x) else 0, 0) for x in (link, share))
        return cls(link.astype(np.int32), share, found.latency_s)


def bundles(topology: Topology) -> Bundles | None:
    """Return the bundles of a cluster, or None where a topology is none or latencies differ within a family.

    >>> from course_lib.fabric.registry import build
    >>> bundles(build("mi300x")) is None
    True
    """
    plan = topology.plan
    if not isinstance(plan, ClusterPlan) or plan.cross_rail == "host":
        return None
    net, template, h = plan.net, plan.template, plan.net.n_hosts
    single = plan.link["leaf_up"]
    local = topology.latency_s[: h * template.n_links].reshape(h, -1)
    cards, switches = topology.latency_s[h * template.n_links : single], topology.latency_s[single:]
    if (local != template.latency_s).any() or any(len(x) and (x != x[0]).any() for x in (cards, switches)):
        return None
    slow = 1 / topology.bandwidth_Bps[:single]
    second, link = [slow], [np.arange(single)]
    first = {"card_up": plan.link["card_up"], "card_down": plan.link["card_down"]}
    at, bundle = single, single
    sizes = [(net.n_leaves, net.uplinks)] * 2 + [(net.n_pods, net.spines_per_pod * net.spine_uplinks)] * 2
    for family, (many, width) in zip(FAMILIES, sizes, strict=True):
        first[family] = bundle
        if width:
            rate = topology.bandwidth_Bps[at : at + many * width].reshape(many, width)
            second.append(1 / rate.min(axis=1) / width)
            link.append(at + np.arange(many) * width + rate.argmin(axis=1))
            at, bundle = at + many * width, bundle + many
    families = [slow[: first["card_up"]], *np.split(slow[first["card_up"] :], 2), *second[1:]]
    alike = {k: float(x[0]) for k, x in zip(("", *first), families) if len(x) and (x == x[0]).all()}
    card_s, switch_s = (float(x[0]) if len(x) else 0.0 for x in (cards, switches))
    gpus, nic = np.arange(template.n_gpus), plan.first_card
    nic = nic + plan.card_of[gpus]
    ends = (_Columns.of(template, *pair) for pair in ((gpus, nic), (nic, gpus)))
    return Bundles(
        plan, topology.host, np.concatenate(second), np.concatenate(link), first, alike, card_s, switch_s, *ends
    )


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """One stretch of the ways: transfers `which` (p,), ascending (None: all), put `part` (p,) seconds per byte on `bundle` (p,)."""

    which: NDArray[np.int64] | None
    bundle: NDArray[np.int64]
    part: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The ways of t transfers: pieces, the link that stands for each bundle (b,), and the class (t,) of each latency (c,).

    `away` (t,) says which leave their host.
    """

    pieces: tuple[Piece, ...]
    link: NDArray[np.int64]
    latency_class: NDArray[np.int64]
    latency_s: NDArray[np.float64]
    away: NDArray[np.bool_]


def ways(wires: Bundles, src: NDArray, dst: NDArray, weight: NDArray) -> Ways | None:
    """Return the ways of transfers with adaptive routing, or None where only `routes` knows them.

    Args:
        wires: the bundles of a cluster.
        src, dst: (t,) vertices of hosts; to and from switches of the network there are no ways, only routes.
        weight: (t,) bytes of each per byte of message.

    >>> from course_lib.fabric.scaleout import cluster
    >>> from course_lib.fabric.scaleup import simple_host
    >>> pod = cluster(simple_host("switch", 8, 450e9, 1e-6), 128)
    >>> found = ways(bundles(pod), np.array([0]), np.array([1023]), np.ones(1))
    >>> [round(pod.bandwidth_Bps[found.link[piece.bundle[0]]] / 1e9) for piece in found.pieces]
    [63, 50, 50, 50, 50, 63]
    """
    plan = wires.plan
    net, template = plan.net, plan.template
    g, v, n_local, m, h = template.n_gpus, template.n_vertices, template.n_links, net.nics_per_host, net.n_hosts
    lanes = max(1, m // g)
    lone = net.n_pods == 1 or net.leaves_per_pod % lanes == 0 or net.attach == "leaf"
    if max(int(src.max(initial=0)), int(dst.max(initial=0))) >= plan.first_leaf or not (lanes == 1 or lone):
        return None
    (host_a, a), (host_b, b) = _ends(src, g, h, v), _ends(dst, g, h, v)
    within = host_a == host_b
    if within.any() or (v > g and max(int(a.max(initial=0)), int(b.max(initial=0))) >= g):
        inside, across = np.flatnonzero(within & (src != dst)), np.flatnonzero(~within)
        if (np.maximum(a[across], b[across]) >= g).any():
            return None  # a card or a switch of a box as the end of a way between hosts
    else:
        inside, across = np.zeros(0, np.int64), None
    pieces: list[Piece] = []
    code, latency = np.zeros(len(src), np.int64), [0.0]

    def lay(family: str, which: NDArray | None, bundle: NDArray, amount: NDArray) -> None:
        bundle = bundle.astype(np.int64)
        pieces.append(
            Piece(which, bundle, amount * (wires.alike[family] if family in wires.alike else wires.second[bundle]))
        )

    def local(which: NDArray | None, host: NDArray, found: _Columns, number: NDArray, amount: NDArray) -> NDArray:
        """Lay the ways inside hosts, and return their latencies."""
        base = host * np.int32(n_local)
        for link, share in zip(found.link, found.share, strict=True):
            lay("", which, base + _pick(link, number), amount * _pick(share, number))
        return _pick(found.latency_s, number)

    if len(inside):
        host, x, y = host_a[inside], a[inside], b[inside]
        pair, number = _distinct(x, y, v)
        taken = local(inside, host, _Columns.of(template, pair // v, pair % v), number, weight[inside])
        kinds, which = _classes(taken)
        code[inside] = len(latency) + which
        latency += kinds.tolist()
    if across is None or len(across):
        pick = (lambda x: x) if across is None else (lambda x: x[across])
        host_a, a, host_b, b, amount = (pick(x) for x in (host_a, a, host_b, b, weight))
        card_of = plan.card_of.astype(np.int32)
        card_a, card_b = card_of[a], card_of[b]
        lane = amount if lanes == 1 else amount / lanes
        taken = local(across, host_a, wires.out, a, lane)
        lay("card_up", across, host_a * np.int32(m) + (card_a + np.int32(wires.first["card_up"])), lane)
        rail = net.attach == "rail"
        leaf_a, leaf_b = (
            host // np.int32(net.hosts_per_block) * np.int32(m if rail else 1) + (card if rail else 0)
            for host, card in ((host_a, card_a), (host_b, card_b))
        )
        apart = leaf_a != leaf_b
        hops = np.zeros(len(leaf_a))
        if apart.any():
            if net.levels < 2:
                return None
            who, bytes_ = across, amount
            if not apart.all():
                some = np.flatnonzero(apart)
                who = some if across is None else across[some]
                leaf_a, leaf_b, bytes_ = leaf_a[some], leaf_b[some], amount[some]
            hops[apart] = 2
            on_leaf = bytes_ / lanes if rail and lanes > 1 else bytes_
            lay("leaf_up", who, np.int32(wires.first["leaf_up"]) + leaf_a, on_leaf)
            lay("leaf_down", who, np.int32(wires.first["leaf_down"]) + leaf_b, on_leaf)
            pod_a, pod_b = leaf_a // np.int32(net.leaves_per_pod), leaf_b // np.int32(net.leaves_per_pod)
            far = np.flatnonzero(pod_a != pod_b)
            if len(far):
                if net.levels < 3:
                    return None
                hops[far if who is across else some[far]] = 4
                who = far if who is None else who[far]
                lay("spine_up", who, wires.first["spine_up"] + pod_a[far], bytes_[far])
                lay("spine_down", who, wires.first["spine_down"] + pod_b[far], bytes_[far])
        lay("card_down", across, host_b * np.int32(m) + (card_b + np.int32(wires.first["card_down"])), lane)
        taken = taken + local(across, host_b, wires.back, b, lane)
        taken = taken + (2 * wires.card_s + hops * wires.switch_s)
        kinds, which = _classes(taken)
        code[... if across is None else across] = len(latency) + which
        latency += kinds.tolist()
    one = template.n_hosts <= 1  # a rack is one domain of several hosts
    away = ~within if one else wires.host[src] != wires.host[dst]
    return Ways(tuple(pieces), wires.link, code, np.array(latency), away)


def _pick(table: NDArray, number: NDArray) -> NDArray:
    """Return table[number]; one number where all of the table is equal."""
    return table[0] if (table == table[0]).all() else table[number]


def _ends(vertex: NDArray, g: int, h: int, v: int) -> tuple[NDArray, NDArray]:
    """Return (host, place in its template) of vertices of hosts, 32 bits each."""
    vertex = vertex.astype(np.int32)
    host = vertex // np.int32(g)
    local = vertex - host * np.int32(g)
    if len(vertex) and int(vertex.max()) >= h * g:
        rest = np.flatnonzero(vertex >= h * g)
        host[rest], local[rest] = np.divmod(vertex[rest] - h * g, v - g)
        local[rest] += g
    return host, local


def _distinct(x: NDArray, y: NDArray, v: int) -> tuple[NDArray, NDArray]:
    """Return the distinct x · v + y, and which of them each is."""
    key = x.astype(np.int64) * v + y
    if v * v > MOST_PAIRS:
        return np.unique(key, return_inverse=True)
    seen = np.zeros(v * v, bool)
    seen[key] = True
    pairs = np.flatnonzero(seen)
    number = np.zeros(v * v, np.int32)
    number[pairs] = np.arange(len(pairs))
    return pairs, number[key]


def _classes(values: NDArray) -> tuple[NDArray, NDArray | int]:
    """Return the distinct values and which of them each is; most often all are equal."""
    values = np.atleast_1d(values)
    if (values == values[0]).all():
        return values[:1], 0
    return np.unique(values, return_inverse=True)
