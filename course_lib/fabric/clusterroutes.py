"""The way from host to host in a cluster: out over a card, up and down the network, in over a card, by arithmetic."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.fabric.clos import Clos, Place, climb
from course_lib.fabric.routes import plan_routes
from course_lib.fabric.runs import Routes, gather
from course_lib.fabric.search import searched
from course_lib.fabric.topology import Topology


@dataclass(frozen=True, slots=True, eq=False)
class ClusterPlan:
    """What routes of a cluster are computed from: one host as a template, the network's sizes, where links begin."""

    template: Topology
    net: Clos
    cross_rail: str  # "spine": the sender's own card and the spine; "host": over NVLink to the receiver's rail first
    card_of: NDArray  # (template vertices,) card, counted from 0, that a vertex sends and receives through
    first_card: int  # vertex numbers
    first_leaf: int
    first_spine: int
    first_core: int
    link: dict[str, int]  # first link of each family


def leaf_of(net: Clos, host: NDArray, card: NDArray) -> NDArray:
    """Return the leaf, counted from 0, that a card of a host is plugged into.

    >>> from course_lib.fabric.clos import clos
    >>> leaf_of(clos(64), 33, 2)
    10
    """
    block = host // net.hosts_per_block
    return block * net.nics_per_host + card if net.attach == "rail" else block + 0 * card


def _ends(plan: ClusterPlan, vertex: NDArray) -> tuple[NDArray, NDArray]:
    """Return (host, local vertex) of each vertex, (-1, -1) for switches of the network."""
    g, v = plan.template.n_gpus, plan.template.n_vertices
    n_gpus = plan.net.n_hosts * g
    rest = np.maximum(vertex - n_gpus, 0)
    gpu, network = vertex < n_gpus, vertex >= plan.first_leaf
    host = np.where(gpu, vertex // g, rest // max(1, v - g))
    local = np.where(gpu, vertex % g, g + rest % max(1, v - g))
    return np.where(network, -1, host), np.where(network, -1, local)


def _place(plan: ClusterPlan, vertex: NDArray, host: NDArray, card: NDArray) -> Place:
    """Return where the ends stand: hosts at their card, switches where they are."""
    net = plan.net
    level = 0 + (host < 0) * (1 + (vertex >= plan.first_spine) + (vertex >= plan.first_core))
    leaf = np.where(
        level == 0, leaf_of(net, np.maximum(host, 0), card), np.where(level == 1, vertex - plan.first_leaf, -1)
    )
    per_pod = max(1, net.spines_per_pod)
    spine_number, core_number = vertex - plan.first_spine, vertex - plan.first_core
    per_group = max(1, net.cores_per_group)
    spine = np.where(level == 2, spine_number % per_pod, np.where(level == 3, core_number // per_group, -1))
    pod = np.where(level <= 1, leaf // net.leaves_per_pod, np.where(level == 2, spine_number // per_pod, -1))
    core = np.where(level == 3, core_number % per_group, -1)
    port = host % net.hosts_per_block * (1 if net.attach == "rail" else net.nics_per_host)
    port = port if net.attach == "rail" else port + card
    return Place(level, leaf, spine, pod, core, np.where(level == 0, port, vertex))


@plan_routes.register
def _cluster_routes(
    plan: ClusterPlan, topology: Topology, src: NDArray, dst: NDArray, choice: str, seed: int
) -> Routes:
    """Inside a host as its template routes; between hosts from card to card, up and down the network."""
    (host_a, a), (host_b, b) = _ends(plan, src), _ends(plan, dst)
    inside = (host_a == host_b) & (host_a >= 0) & (src != dst)
    pieces = [_local(plan, np.flatnonzero(inside), host_a[inside], a[inside], b[inside], 1.0)]
    across = np.flatnonzero(~inside & (src != dst))
    if len(across) == 0:
        return gather(topology, len(src), pieces)
    host_a, a, host_b, b, src, dst, n_pairs = *(x[across] for x in (host_a, a, host_b, b, src, dst)), len(src)
    m, g, net = plan.net.nics_per_host, plan.template.n_gpus, plan.net
    lanes = max(1, m // g)
    for lane in range(lanes):
        card_a, card_b = (
            np.where((x >= 0) & (x < g), plan.card_of[x] + lane, plan.card_of[x]) if lanes > 1 else plan.card_of[x]
            for x in (a, b)
        )
        # To another rail over the sender's own host: first to the GPU that stands where the receiver does.
        leave = a.copy()
        if plan.cross_rail == "host":
            turn = (a >= 0) & (a < g) & (b >= 0) & (b < g) & (card_a != card_b)
            leave, card_a = np.where(turn, b, a), np.where(turn, card_b, card_a)
            pieces.append(_local(plan, across[turn], host_a[turn], a[turn], leave[turn], 1 / lanes))
        here = (host_a >= 0) & (leave != plan.first_card + card_a)
        first_card = plan.first_card + card_a
        pieces.append(_local(plan, across[here], host_a[here], leave[here], first_card[here], 1 / lanes))
        up = np.flatnonzero(host_a >= 0)
        pieces.append(_each(across, up, plan.link["card_up"] + host_a[up] * m + card_a[up], 1, 1 / lanes))
        runs = climb(
            net,
            _place(plan, src, host_a, card_a),
            _place(plan, dst, host_b, card_b),
            src * lanes + lane,
            dst,
            choice,
            seed,
        )
        for key, (which, first, count) in runs.items():
            pieces.append(_each(across, which, plan.link[key] + first, count, 1 / lanes / np.maximum(count, 1)))
        down = np.flatnonzero(host_b >= 0)
        pieces.append(_each(across, down, plan.link["card_down"] + host_b[down] * m + card_b[down], 1, 1 / lanes))
        there = (host_b >= 0) & (b != plan.first_card + card_b)
        last_card = plan.first_card + card_b
        pieces.append(_local(plan, across[there], host_b[there], last_card[there], b[there], 1 / lanes))
    return gather(topology, n_pairs, pieces)


def _each(across: NDArray, which: NDArray, first: NDArray, count: NDArray | int, share: NDArray | float) -> tuple:
    return across[which], first, np.broadcast_to(count, len(which)), np.broadcast_to(share, len(which))


def _local(plan: ClusterPlan, pair: NDArray, host: NDArray, a: NDArray, b: NDArray, share: float) -> tuple:
    """Return the runs inside hosts: each distinct pair of places is searched once in the template."""
    n = plan.template.n_vertices
    distinct, which = np.unique(a * n + b, return_inverse=True)
    found = searched(plan.template, distinct // n, distinct % n, "adaptive", 0).take(which)
    entry = found.pair
    return pair[entry], found.first + host[entry] * plan.template.n_links, found.count, found.share * share
