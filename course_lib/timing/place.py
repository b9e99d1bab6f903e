"""Places: the machine that a System describes, and the vertex on which every node of a schedule sits."""

import functools

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.schedule import Schedule
from course_lib.fabric import registry
from course_lib.fabric.clusterroutes import leaf_of
from course_lib.fabric.pciehost import pcie_host
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import cube_mesh, simple_host
from course_lib.fabric.topology import Topology, vertices_of
from course_lib.timing.system import System

CUBES = {"P100": "dgx1-p100", "V100": "dgx1-v100"}  # by generation of NVLink


@functools.lru_cache(maxsize=8)
def topology_of(system: System, n_hosts: int) -> Topology:
    """Return the machine of `n_hosts` hosts of a system, with the bandwidths and latencies of the system only.

    A scale-up domain is one host of the topology (an NVL72 rack is one). A cube mesh has its own cables; pairs without one
    meet over PCIe. Between domains the latency is the system's, whatever switches lie between.

    >>> from course_lib.timing.system import load
    >>> topology_of(load("dgx-h100"), 2).n_gpus
    16
    """
    domains = -(-n_hosts // system.hosts_per_domain)
    up, out = system.scale_up, system.scale_out
    hosts = min(n_hosts, system.hosts_per_domain)
    gpus = system.gpus_per_host * hosts
    cube = CUBES.get(system.gpu) if up.family == "nvlink-cube" else None
    if cube and domains == 1:
        return registry.build(cube)
    if domains == 1:
        return simple_host(up.kind, gpus, up.bandwidth_Bps, up.latency_s, system.name)
    cards = _cards(out.nics_per_host * hosts, gpus)
    card_Bps = out.bandwidth_Bps * out.nics_per_host * hosts / cards
    # A PCIe card reaches the network over the uplink that it reaches its peers by.
    behind = cards if up.kind == "pcie" and out.latency_s >= up.latency_s else 0
    if cube:
        generation = 1 + list(CUBES.values()).index(cube)
        host = pcie_host(cube, gpus, own_cables=cube_mesh(generation), nics=cards, generation=3, drawn_below=True)
    else:
        host = simple_host(up.kind, gpus, up.bandwidth_Bps, up.latency_s, system.name, nics=behind, nic_Bps=card_Bps)
    return cluster(
        host,
        domains,
        nics_per_host=cards,
        bandwidth_Bps=card_Bps,
        latency_s=out.latency_s,
        switch_latency_s=0.0,
        oversubscription=out.oversubscription,
        name=f"{domains} × {system.name}",
    )


def _cards(cards: int, gpus: int) -> int:
    """Cards that a topology can lay out: as they are, or one a GPU with the same bandwidth where they do not divide."""
    return cards if cards <= gpus or cards % gpus == 0 else gpus


def ranks(topology: Topology, n_ranks: int, per_domain: int) -> NDArray[np.int64]:
    """Return (n_ranks,) GPUs: `per_domain` consecutive ranks in every host of the topology.

    >>> from course_lib.timing.system import load
    >>> ranks(topology_of(load("dgx-h100"), 2), 4, 2).tolist()
    [0, 1, 8, 9]
    """
    g = topology.n_gpus // topology.n_hosts
    rank = np.arange(n_ranks)
    return rank // per_domain * g + rank % per_domain


def switches(schedule: Schedule, topology: Topology, per_domain: int | None = None) -> NDArray[np.int64]:
    """Return (n_nodes,) the vertex of every rank and of every switch node.

    A switch node of level 0 sits on the scale-up switch of its rank's host, or on its leaf where the host has none or where it
    speaks to the switches above it (the scale-up switch of a host has no cable out of it); level 1 on
    the leaf of its rank, level 2 on a spine, level 3 on a core, or on the highest switch there is.

    Raises:
        CourseError: more ranks than GPUs, or switch nodes on a machine without switches.

    >>> from course_lib.comm import registry
    >>> from course_lib.timing.system import load
    >>> switches(registry.build("all_reduce", 8, "in-network"), topology_of(load("dgx-h100"), 1)).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    """
    if schedule.n_ranks > topology.n_gpus:
        raise CourseError(
            _("{n} ranks on {m} GPUs of {name}: every rank needs one of its own.").format(
                n=schedule.n_ranks, m=topology.n_gpus, name=topology.name
            )
        )
    g = topology.n_gpus // max(topology.n_hosts, 1)
    where = ranks(topology, schedule.n_ranks, per_domain or g)
    if schedule.n_nodes == schedule.n_ranks:
        return where
    below, level = where[schedule.switch_rank], schedule.switch_level
    host, plan = below // g, topology.plan
    boxes = vertices_of(topology, "nvswitch")
    hub = boxes.reshape(max(topology.n_hosts, 1), -1)[:, 0] if boxes.size else None
    network = hasattr(plan, "net")
    if not network and hub is None:
        raise CourseError(_("{name} has no switch that could add.").format(name=topology.name))
    if not network:
        return np.concatenate([where, hub[host]])
    net = plan.net
    card = (below % g) * net.nics_per_host // g
    leaf = leaf_of(net, host, card)
    at = plan.first_leaf + leaf
    if net.n_spines:
        spine = leaf // net.leaves_per_pod * net.spines_per_pod + card % net.spines_per_pod
        at = np.where(level >= 2, plan.first_spine + spine, at)
        if net.n_cores:
            core = spine % net.spines_per_pod * net.cores_per_group + card % net.cores_per_group
            at = np.where(level >= 3, plan.first_core + core, at)
    if hub is not None and not _tied(schedule):
        at = np.where(level == 0, hub[host], at)
        _within_hosts(schedule, np.concatenate([where // g, np.where(level == 0, host, -1)]), topology)
    return np.concatenate([where, at])


def _tied(schedule: Schedule) -> bool:
    """Whether a switch of level 0 speaks to switches above it: then it cannot be the one in a box, which no cable leaves."""
    level = np.concatenate([np.full(schedule.n_ranks, -1), schedule.switch_level])
    ends = ((level[step.src], level[step.dst]) for step in schedule.steps)
    return any(bool(((np.minimum(a, b) == 0) & (np.maximum(a, b) > 0)).any()) for a, b in ends)


def _within_hosts(schedule: Schedule, host: NDArray, topology: Topology) -> None:
    """Refuse a switch in a box that is to add for GPUs of another box; `host` (n_nodes,) is −1 for switches of the network."""
    switch = np.arange(schedule.n_nodes) >= schedule.n_ranks
    for step in schedule.steps:
        a, b = host[step.src], host[step.dst]
        if ((switch[step.src] | switch[step.dst]) & (a >= 0) & (b >= 0) & (a != b)).any():
            raise CourseError(
                _(
                    "{algorithm} on {n} ranks needs one switch that reaches them all; the switches in a box of {name} add for "
                    "their own GPUs only. Between boxes use hierarchical-in-network+tree, or sharp where the network adds."
                ).format(algorithm=schedule.name, n=schedule.n_ranks, name=topology.name)
            )
