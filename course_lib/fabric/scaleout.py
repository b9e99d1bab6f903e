"""Clusters: one kind of host many times, joined by rails or leaves, spines and cores."""

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.fabric.clos import Clos, clos
from course_lib.fabric.clusterroutes import ClusterPlan, leaf_of
from course_lib.fabric.rates import hop_s, pcie_Bps
from course_lib.fabric.routes import routes
from course_lib.fabric.topology import (
    LINK_KINDS,
    VERTEX_KINDS,
    Topology,
    number_within,
)

NIC, LEAF, SPINE, CORE = (VERTEX_KINDS.index(k) for k in ("nic", "leaf", "spine", "core"))
CROSSINGS = ("spine", "host")


def cluster(
    host: Topology,
    n_hosts: int,
    *,
    nics_per_host: int = 8,
    bandwidth_Bps: float = 50e9,
    latency_s: float | None = None,
    switch_latency_s: float | None = None,
    oversubscription: float = 1.0,
    attach: str = "rail",
    cross_rail: str = "spine",
    radix: int | None = None,
    levels: int | None = None,
    link_kind: str = "ib",
    name: str | None = None,
) -> Topology:
    """Return `n_hosts` copies of a host joined by a network. A rack that is one NVLink domain counts as a host here.

    GPUs are numbered host by host and are vertices 0 … n−1; then come the hosts' other vertices, host by host, then
    leaves, spines, cores.

    Args:
        host: topology of one host. If it has no cards, each card is put on the GPUs it serves, by a link of PCIe 5
            or of the card's rate, whichever is more.
        n_hosts: how many.
        nics_per_host: cards of a host; GPU i uses card i · nics // gpus. Ignored when the host has cards.
        bandwidth_Bps: of one card, one direction, and of every cable of the network.
        latency_s: between two GPUs of different hosts under one leaf, all hops together; None: the sum of usual hops.
            Further switches add their hops.
        switch_latency_s: of each hop between switches; None: the usual one.
        oversubscription: at the leaves. The uplinks together carry exactly down / ratio: where the ratio does not
            divide the ports, each is taken a little slower.
        attach: `rail` (card i of each host on leaf i) or `leaf` (a host's cards together).
        cross_rail: how traffic reaches another rail: `spine`, or `host` (to the GPU of the right rail first).
        radix: ports of a switch; None: 64, more where that cannot reach.
        levels: 1 to 3; None: as few as possible.
        link_kind: `ib` or `eth`.
        name: what to call it.

    Raises:
        CourseError: counts that do not fit together; the sentence says which.

    >>> from course_lib.fabric.scaleup import nvswitch_box
    >>> pod = cluster(nvswitch_box("h100", 8, [18], 25e9), 128)
    >>> pod.n_gpus, pod.plan.net.n_leaves, pod.plan.net.n_spines
    (1024, 32, 16)
    """
    h = whole("n_hosts", n_hosts, at_least=1)
    beta = finite("bandwidth_Bps", bandwidth_Bps, above=0)
    link_kind = one_of("network", link_kind, ("ib", "eth"))
    cross_rail = one_of("way between rails", cross_rail, CROSSINGS)
    total_s = None if latency_s is None else finite("latency_s", latency_s, at_least=0)
    template = _with_cards(host, nics_per_host, beta, total_s)
    m = int(np.count_nonzero(template.kind == NIC))
    net = clos(h, m, radix=radix, oversubscription=oversubscription, attach=attach, levels=levels)
    if net.levels == 1 and net.n_leaves > 1:
        cross_rail = "host"
    g, v = template.n_gpus, template.n_vertices
    card = np.flatnonzero(template.kind == NIC)

    # Vertices: all GPUs, the rest of every host, then the switches.
    rest = v - g
    n_host_vertices = h * v
    first_leaf = n_host_vertices
    first_spine, first_core = first_leaf + net.n_leaves, first_leaf + net.n_leaves + net.n_spines
    n_vertices = first_core + net.n_cores
    kind = np.empty(n_vertices, np.uint8)
    kind[: h * g] = 0
    kind[h * g : first_leaf] = np.tile(template.kind[g:], h)
    kind[first_leaf:first_spine], kind[first_spine:first_core], kind[first_core:] = LEAF, SPINE, CORE
    host_of = np.full(n_vertices, -1, np.int32)
    host_of[: h * g] = _hosts_of(template.host[:g], h, template.n_hosts)
    host_of[h * g : first_leaf] = _hosts_of(template.host[g:], h, template.n_hosts)
    level = np.empty(n_vertices, np.float32)
    level[: h * g] = np.tile(template.level[:g], h)
    level[h * g : first_leaf] = np.tile(template.level[g:], h)
    top = max(0.0, float(template.level.max()))
    for k, (lo, hi) in ((1, (first_leaf, first_spine)), (2, (first_spine, first_core)), (3, (first_core, n_vertices))):
        level[lo:hi] = top + k
    ordinal = np.empty(n_vertices, np.int32)
    ordinal[: h * g] = np.tile(template.ordinal[:g], h)
    ordinal[h * g : first_leaf] = np.tile(template.ordinal[g:], h)
    for lo, hi in ((first_leaf, first_spine), (first_spine, first_core), (first_core, n_vertices)):
        ordinal[lo:hi] = np.arange(hi - lo)
    if (template.host < 0).any():  # a rack's own switches belong to no host: number them through
        ordinal = number_within(kind, host_of)
    position = np.empty(n_vertices, np.float32)
    shift = np.arange(h, dtype=np.float32)[:, None]
    position[: h * g] = ((template.position[:g] + shift) / h).ravel()
    position[h * g : first_leaf] = ((template.position[g:] + shift) / h).ravel()
    for lo, hi in ((first_leaf, first_spine), (first_spine, first_core), (first_core, n_vertices)):
        position[lo:hi] = (np.arange(hi - lo) + 0.5) / max(1, hi - lo)

    # Links: every host's own, then cards up and down, leaves up and down, spines up and down.
    n_local = template.n_links
    ends_local = []
    for end in (template.src, template.dst):
        gpu = end < g
        base, step = np.where(gpu, end, h * g + end - g), np.where(gpu, g, rest)
        ends_local.append((base + step * np.arange(h, dtype=np.int64)[:, None]).astype(np.int32).ravel())
    cards = (h * g + card - g + rest * np.arange(h, dtype=np.int64)[:, None]).astype(np.int32)
    leaf_of_card = leaf_of(net, np.arange(h)[:, None], np.arange(m)[None, :]).astype(np.int32) + first_leaf
    leaf, uplink = np.divmod(np.arange(net.n_leaves * net.uplinks), max(1, net.uplinks))
    spine_of_uplink = leaf // net.leaves_per_pod * net.spines_per_pod + uplink // max(1, net.cables_per_spine)
    spine, way = np.divmod(np.arange(net.n_spines * net.spine_uplinks), max(1, net.spine_uplinks))
    core_of_way = spine % max(1, net.spines_per_pod) * net.cores_per_group + way // max(1, net.cables_per_core)
    uplink_Bps = beta * _down_ports(net) / (net.oversubscription * max(1, net.uplinks))
    switch_s = hop_s("switch") if switch_latency_s is None else finite("switch_latency_s", switch_latency_s, at_least=0)
    card_s = hop_s("nic") if total_s is None else _card_latency_s(template, card, total_s)
    families = [
        ("card_up", cards.ravel(), leaf_of_card.ravel(), beta, card_s),
        ("card_down", leaf_of_card.ravel(), cards.ravel(), beta, card_s),
        ("leaf_up", leaf + first_leaf, spine_of_uplink + first_spine, uplink_Bps, switch_s),
        ("leaf_down", spine_of_uplink + first_spine, leaf + first_leaf, uplink_Bps, switch_s),
        ("spine_up", spine + first_spine, core_of_way + first_core, uplink_Bps, switch_s),
        ("spine_down", core_of_way + first_core, spine + first_spine, uplink_Bps, switch_s),
    ]
    first_link, at = {}, h * n_local
    for key, ends_up, *_rest in families:
        first_link[key] = at
        at += len(ends_up)

    def column(local: NDArray, network: list, dtype: type) -> NDArray:
        return np.concatenate([np.tile(local, h).astype(dtype, copy=False), *(np.asarray(x, dtype) for x in network)])

    lengths = [len(f[1]) for f in families]
    plan = ClusterPlan(
        template,
        net,
        cross_rail,
        _card_of(template, m),
        int(card[0]),
        first_leaf,
        first_spine,
        first_core,
        first_link,
    )
    return Topology(
        name or f"{h} × {host.name}",
        kind,
        host_of,
        ordinal,
        level,
        position,
        np.concatenate([ends_local[0], *(np.asarray(f[1], np.int32) for f in families)]),
        np.concatenate([ends_local[1], *(np.asarray(f[2], np.int32) for f in families)]),
        column(template.bandwidth_Bps, [np.full(n, f[3]) for n, f in zip(lengths, families, strict=True)], np.float64),
        column(template.latency_s, [np.full(n, f[4]) for n, f in zip(lengths, families, strict=True)], np.float64),
        column(template.link_kind, [np.full(sum(lengths), LINK_KINDS.index(link_kind))], np.uint8),
        column(template.parallel, [np.ones(sum(lengths))], np.int16),
        tuple(dict.fromkeys((*template.main_kinds, "pcie", "smp", link_kind))),
        template.gpus_forward,
        plan,
    )


def _hosts_of(host: NDArray, copies: int, n_hosts: int) -> NDArray[np.int32]:
    """Return the hosts of a template's vertices in every copy, -1 where a vertex belongs to none."""
    shifted = host + n_hosts * np.arange(copies, dtype=np.int32)[:, None]
    return np.where(host < 0, -1, shifted).astype(np.int32).ravel()


def _down_ports(net: Clos) -> int:
    return net.hosts_per_block * (1 if net.attach == "rail" else net.nics_per_host)


def _with_cards(host: Topology, nics_per_host: int, bandwidth_Bps: float, latency_s: float | None) -> Topology:
    """Return the host itself if it has cards, else a copy with cards on its GPUs."""
    g = host.n_gpus
    own = int(np.count_nonzero(host.kind == NIC))
    m = own or whole("nics_per_host", nics_per_host, at_least=1)
    if m > g and m % g:
        raise CourseError(
            _("{m} cards for {g} GPUs: more cards than GPUs have to be a whole number for each.").format(m=m, g=g)
        )
    if own:
        return host
    if host.plan is not None:
        raise CourseError(_("{name} routes by itself; it cannot be the host of a cluster.").format(name=host.name))
    slot = max(pcie_Bps(5), bandwidth_Bps)
    way_s = 2 * hop_s("pcie-switched") if latency_s is None else min(2 * hop_s("pcie-switched"), latency_s / 4)
    pairs = [(i, i * m // g) for i in range(g)] if m <= g else [(j * g // m, j) for j in range(m)]
    gpu, card = np.array(pairs).T
    ends_up = np.stack([gpu, card + host.n_vertices], 1)
    both = np.concatenate([ends_up, ends_up[:, ::-1]])
    n = len(both)
    kinds = np.r_[host.kind, np.full(m, NIC)].astype(np.uint8)
    hosts = np.r_[host.host, host.host[[gpu[card == j][0] for j in range(m)]]].astype(np.int32)
    below = min(0.0, float(host.level.min())) - 0.7
    position = [float(host.position[gpu[card == j]].mean()) for j in range(m)]
    return Topology(
        host.name,
        kinds,
        hosts,
        number_within(kinds, hosts),
        np.r_[host.level, np.full(m, below)].astype(np.float32),
        np.r_[host.position, position].astype(np.float32),
        np.r_[host.src, both[:, 0]].astype(np.int32),
        np.r_[host.dst, both[:, 1]].astype(np.int32),
        np.r_[host.bandwidth_Bps, np.full(n, slot)],
        np.r_[host.latency_s, np.full(n, way_s)],
        np.r_[host.link_kind, np.full(n, LINK_KINDS.index("pcie"))].astype(np.uint8),
        np.r_[host.parallel, np.ones(n)].astype(np.int16),
        host.main_kinds,
        host.gpus_forward,
    )


def _card_latency_s(template: Topology, card: NDArray, latency_s: float) -> float:
    """Return what is left for each of the two hops between card and leaf."""
    inside_s = float(routes(template, 0, card[0]).latency_s[0])
    if latency_s < 2 * inside_s:
        raise CourseError(
            _(
                "latency_s is {given} s, but the way from GPU to card and back in {host} takes {inside} s already."
            ).format(given=f"{latency_s:g}", host=template.name, inside=f"{2 * inside_s:g}")
        )
    return latency_s / 2 - inside_s


def _card_of(template: Topology, m: int) -> NDArray[np.int64]:
    of_kind = np.bincount(template.kind, minlength=len(VERTEX_KINDS))[template.kind]
    return number_within(template.kind, np.zeros_like(template.host)).astype(np.int64) * m // of_kind
