"""Hosts and racks whose GPUs are joined by their own links: bridges, meshes, rings, switches."""

from collections.abc import Sequence

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.fabric.rates import hop_s, nvlink_Bps
from course_lib.fabric.topology import Topology, assemble

# NVLinks between the GPU pairs of a DGX-1, as `nvidia-smi topo -m` prints them. P100: each quad full, and i to i + 4.
CUBE_P100 = [(a, b, 1) for q in (0, 4) for a in range(q, q + 4) for b in range(a + 1, q + 4)] + [
    (i, i + 4, 1) for i in range(4)
]
CUBE_V100 = [
    *((0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 2, 2), (1, 3, 1), (2, 3, 2)),
    *((4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2)),
    *((0, 4, 2), (1, 5, 2), (2, 6, 1), (3, 7, 1)),
]


def nvswitch_box(
    name: str,
    n_gpus: int,
    links_per_switch: Sequence[int],
    bandwidth_Bps: float,
    *,
    merged: bool = False,
    gpus_per_host: int | None = None,
    latency_s: float | None = None,
) -> Topology:
    """Return a domain whose GPUs all reach every switch chip: HGX A100 to B200, NVL72.

    Args:
        name: what to call it.
        n_gpus: GPUs in the domain.
        links_per_switch: links of one GPU to each switch chip, such as (5, 4, 4, 5).
        bandwidth_Bps: one direction of one link.
        merged: draw all chips as one vertex. Traffic is striped over the chips in fixed parts, so nothing about
            speed changes; a sum inside "the switch" then has one place, and large clusters stay small.
        gpus_per_host: where the domain spans hosts (4 in the trays of an NVL72), how many are in each; None: one host.
        latency_s: from GPU to GPU through one switch; None: two hops of NVLink 4.

    Raises:
        CourseError: no switch, no GPU, or a width that is not a whole number of links.

    >>> nvswitch_box("hgx-h100", 8, (5, 4, 4, 5), 25e9).n_links
    64
    """
    n = whole("n_gpus", n_gpus, at_least=1)
    widths = [whole("links_per_switch", w, at_least=1) for w in links_per_switch]
    if not widths:
        raise CourseError(_("links_per_switch is empty; a switched box needs at least one switch."))
    widths = [sum(widths)] if merged else widths
    half = hop_s("nvlink-switched") if latency_s is None else finite("latency_s", latency_s, at_least=0) / 2
    per_host = n if gpus_per_host is None else whole("gpus_per_host", gpus_per_host, at_least=1)
    vertices = [("gpu", g // per_host) for g in range(n)] + [("nvswitch", 0 if per_host >= n else -1)] * len(widths)
    cables = [(g, n + s, "nvlink", bandwidth_Bps, half, w) for g in range(n) for s, w in enumerate(widths)]
    return assemble(name, vertices, cables, main_kinds=("nvlink",))


def two_board_box(name: str, gpus_per_board: int, planes: int, trunk_links: int, bandwidth_Bps: float) -> Topology:
    """Return a DGX-2: two boards, on each one switch per plane with a link to every GPU, trunks join the boards plane by plane.

    >>> box = two_board_box("dgx2", 8, 6, 8, 25e9)
    >>> box.n_gpus, box.n_vertices - box.n_gpus
    (16, 12)
    """
    per, planes = whole("gpus_per_board", gpus_per_board, at_least=1), whole("planes", planes, at_least=1)
    n = 2 * per
    vertices = [("gpu", 0)] * n + [("nvswitch", 0)] * (2 * planes)
    hop, trunk = hop_s("nvlink-switched", 2), hop_s("nvlink-trunk")
    cables = [
        (g, n + planes * (g // per) + p, "nvlink", bandwidth_Bps, hop, 1) for g in range(n) for p in range(planes)
    ]
    cables += [(n + p, n + planes + p, "nvlink", bandwidth_Bps, trunk, trunk_links) for p in range(planes)]
    return assemble(name, vertices, cables, main_kinds=("nvlink",))


def mesh_cables(
    pairs: Sequence[tuple[int, int, int]], bandwidth_Bps: float, kind: str = "nvlink", generation: int = 4
) -> list[tuple]:
    """Return cables for GPU pairs `(a, b, links)`, each link `bandwidth_Bps` one way; `generation` is that of NVLink.

    >>> len(mesh_cables(all_pairs(4, 2), 25e9))
    6
    """
    return [(a, b, kind, bandwidth_Bps, hop_s(kind, generation), links) for a, b, links in pairs if links]


def all_pairs(n_gpus: int, links: int) -> list[tuple[int, int, int]]:
    """Return `(a, b, links)` for every pair of n GPUs.

    >>> all_pairs(3, 4)
    [(0, 1, 4), (0, 2, 4), (1, 2, 4)]
    """
    return [(a, b, links) for a in range(n_gpus) for b in range(a + 1, n_gpus)]


def full_mesh(
    name: str, n_gpus: int, links_per_pair: int, bandwidth_Bps: float, kind: str = "nvlink", generation: int = 4
) -> Topology:
    """Return GPUs joined pair by pair without a switch: 4 × A100 (4 links a pair), MI300X (7 peers at 64 GB/s).

    >>> full_mesh("mi300x", 8, 1, 64e9, "xgmi").n_links
    56
    """
    n = whole("n_gpus", n_gpus, at_least=1)
    pairs = all_pairs(n, whole("links_per_pair", links_per_pair, at_least=1))
    cables = mesh_cables(pairs, bandwidth_Bps, kind, generation)
    return assemble(name, [("gpu", 0)] * n, cables, main_kinds=(kind,))


def simple_host(
    kind: str,
    n_gpus: int,
    bandwidth_Bps: float,
    latency_s: float,
    name: str = "host",
    *,
    nics: int = 0,
    nic_Bps: float | None = None,
) -> Topology:
    """Return a host given by four numbers, as a user describes one.

    Args:
        kind: `switch` (every GPU has all its bandwidth to one switch), `mesh` (split over the n − 1 peers), `ring`
            (split over two neighbours; chips forward), `pcie` (one root complex; every GPU has one uplink, shared by all it sends).
        n_gpus: GPUs in the host.
        bandwidth_Bps: of one GPU, one direction.
        latency_s: between two GPUs (neighbours, in a ring).
        name: what to call it.
        nics: network cards on the root complex (`pcie` only).
        nic_Bps: what such a card needs, one direction; its slot has that or a GPU's bandwidth, whichever is more.

    >>> float(simple_host("mesh", 8, 448e9, 1e-6).bandwidth_Bps[0])
    64000000000.0
    """
    kind = one_of("kind of scale-up", kind, ("switch", "mesh", "ring", "pcie"))
    n = whole("n_gpus", n_gpus, at_least=1)
    beta, alpha = finite("bandwidth_Bps", bandwidth_Bps, above=0), finite("latency_s", latency_s, at_least=0)
    gpus, cards = [("gpu", 0)] * n, whole("nics", nics, at_least=0)
    if cards and kind != "pcie":
        raise CourseError(
            _("Cards on the root complex go with kind 'pcie'; here the kind is {kind}.").format(kind=kind)
        )
    if kind in ("switch", "pcie"):
        hub, link = ("nvswitch", "nvlink") if kind == "switch" else ("cpu", "pcie")
        cables = [(g, n, link, beta, alpha / 2, 1) for g in range(n)]
        slot = beta if nic_Bps is None else max(beta, finite("nic_Bps", nic_Bps, above=0))
        cables += [(n + 1 + i, n, link, slot, 0.0, 1) for i in range(cards)]
        return assemble(name, [*gpus, (hub, 0), *[("nic", 0)] * cards], cables, main_kinds=(link,))
    if kind == "mesh":
        pairs = [(a, b, "nvlink", beta / (n - 1), alpha, 1) for a, b, _links in all_pairs(n, 1)]
    else:
        steps = [(0, 1)] if n == 2 else [(g, (g + 1) % n) for g in range(n if n > 2 else 0)]
        pairs = [(a, b, "nvlink", beta if n == 2 else beta / 2, alpha, 1) for a, b in steps]
    return assemble(name, gpus, pairs, main_kinds=("nvlink",), gpus_forward=kind == "ring")


def grace_hosts(
    name: str, n_cpus: int, gpus_per_cpu: int, nvlink: Topology | None, c2c_Bps: float, nics: int = 0
) -> Topology:
    """Return Grace boards: CPUs with GPUs on NVLink-C2C; `nvlink` is the GPUs' own fabric (the same GPUs, in order).

    A GB200 tray is 2 CPUs × 2 GPUs, a GH200 board of four is 4 × 1. C2C carries what goes to CPU memory; GPUs reach
    each other over NVLink. Links between the CPUs are left out: no published rate was found.

    >>> tray = grace_hosts("gb200-tray", 2, 2, nvswitch_box("up", 4, [18], 50e9), 450e9)
    >>> int((tray.link_kind == 3).sum())
    8
    """
    n_cpus, per = whole("n_cpus", n_cpus, at_least=1), whole("gpus_per_cpu", gpus_per_cpu, at_least=1)
    n = n_cpus * per
    others = [] if nvlink is None else [int(k) for k in np.flatnonzero(nvlink.kind != 0)]
    if nvlink is not None and nvlink.n_gpus != n:
        raise CourseError(
            _("{name}: {cpus} CPUs × {per} GPUs make {n}, but their NVLink fabric has {m}.").format(
                name=name, cpus=n_cpus, per=per, n=n, m=nvlink.n_gpus
            )
        )
    vertices = [("gpu", 0)] * n + [("nvswitch", 0)] * len(others)
    first_cpu = len(vertices)
    vertices += [("cpu", 0, (c + 0.5) / n_cpus, -1.0) for c in range(n_cpus)]
    cables = [(g, first_cpu + g // per, "c2c", c2c_Bps, hop_s("c2c"), 1) for g in range(n)]
    if nvlink is not None:
        for k in range(0, nvlink.n_links, 2):
            width = int(nvlink.parallel[k])
            cables.append(
                (
                    int(nvlink.src[k]),
                    int(nvlink.dst[k]),
                    "nvlink",
                    nvlink.bandwidth_Bps[k] / width,
                    nvlink.latency_s[k],
                    width,
                )
            )
    return assemble(name, vertices, cables, main_kinds=("nvlink",))


def cube_mesh(generation: int) -> list[tuple]:
    """Return the NVLink cables of a DGX-1: generation 1 is the P100's (4 single links), 2 the V100's (6 links: 1 or 2 a pair).

    >>> sum(6 if 0 in (a, b) else 0 for a, b, *_rest in cube_mesh(2)) // 6
    4
    """
    pairs = {1: CUBE_P100, 2: CUBE_V100}[int(one_of("generation of the cube mesh", str(generation), ("1", "2")))]
    return mesh_cables(pairs, nvlink_Bps(generation), generation=generation)
