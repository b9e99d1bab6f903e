"""The fabric that a topology matrix describes, as a Topology; rates only where wires and GPU name them."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.hardware import value
from course_lib.base.language import _
from course_lib.fabric.rates import hop_s, nvlink_Bps, pcie_Bps
from course_lib.fabric.topology import Topology, assemble
from course_lib.machine.gpunames import link_Bps as rate_of
from course_lib.machine.gpunames import model_of, pcie_generation
from course_lib.machine.topo import TopoMatrix

MOST_LINKS = 18  # no GPU has more NVLinks
NVLINK_SHARE = 0.8  # of the raw rate that collectives and copies between pairs reach


@dataclass(frozen=True, slots=True, eq=False)
class Fabric:
    """What a matrix describes. `shape` is one of: switch, mesh, partial mesh, islands, pair, pcie, single.

    `links_per_gpu` (g,) counts NVLinks (through a switch: those to the switch). `link_Bps` is one direction of one
    NVLink, None where the matrix leaves several; `candidates` lists those.
    Where a rate is not known the topology carries the least of the candidates, and `said` says so.
    """

    topology: Topology
    shape: str
    links_per_gpu: tuple[int, ...]
    link_Bps: float | None
    candidates: tuple[tuple[float, str], ...]
    said: tuple[str, ...]


def groups(near: np.ndarray) -> list[list[int]]:
    """Return the connected groups of a symmetric (v, v) boolean matrix, each in rising order.

    >>> groups(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool))
    [[0, 1], [2]]
    """
    left, found = set(range(len(near))), []
    while left:
        group, edge = set(), {min(left)}
        while edge:
            group |= edge
            edge = {int(b) for a in edge for b in np.flatnonzero(near[a])} - group
        found.append(sorted(group))
        left -= group
    return found


def widths(links: np.ndarray, group: list[int]) -> np.ndarray | None:
    """Return the links of each GPU of a group to a switch, or None where they are joined pair by pair.

    Behind a switch a pair shows as many links as the GPU of the two that has fewer.

    >>> widths(12 * (1 - np.eye(8, dtype=int)), list(range(8)))[:2].tolist()
    [12, 12]
    """
    part = links[np.ix_(group, group)]
    if len(group) < 2 or not part[~np.eye(len(group), dtype=bool)].all():
        return None
    own = part.max(1)
    same = np.minimum(own[:, None], own[None, :]) * (1 - np.eye(len(group), dtype=int))
    return own if (same == part).all() and int(part.sum(1).max()) > MOST_LINKS else None


def short_pairs(links: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs of a full mesh of four or more GPUs with fewer links than all others, if they are few (a quarter at most).

    >>> mesh = 4 * (1 - np.eye(4, dtype=int))
    >>> mesh[0, 2] = mesh[2, 0] = 3
    >>> short_pairs(mesh)
    [(0, 2)]
    """
    g = len(links)
    pairs = [(a, b) for a in range(g) for b in range(a + 1, g)]
    most = int(links.max(initial=0))
    low = [(a, b) for a, b in pairs if links[a, b] != most]
    if g < 4 or not all(links[a, b] for a, b in pairs) or len(low) > len(pairs) / 4:
        return []
    return low


def _switched(links: np.ndarray, group: list[int]) -> bool:
    return widths(links, group) is not None


def shape_of(links: np.ndarray) -> tuple[str, tuple[int, ...]]:
    """Return (shape, GPUs that have no NVLink though others do) of a (g, g) matrix of NVLinks between pairs.

    >>> shape_of(4 * (1 - np.eye(4, dtype=int))), shape_of(12 * (1 - np.eye(8, dtype=int)))[0]
    (('mesh', ()), 'switch')
    """
    g = len(links)
    if g == 1:
        return "single", ()
    if not links.any():
        return "pcie", ()
    found = groups(links > 0)
    alone = tuple(group[0] for group in found if len(group) == 1)
    joined = [group for group in found if len(group) > 1]
    if len(joined) > 1:
        return "islands", alone
    group = joined[0]
    part = links[np.ix_(group, group)][~np.eye(len(group), dtype=bool)]
    if len(group) == 2:
        return "pair", alone
    if _switched(links, group):
        return "switch", alone
    return ("mesh" if (part == part[0]).all() else "partial mesh"), alone


def link_candidates(links: np.ndarray, shape: str) -> list[tuple[float, str]]:
    """Return (rate of one NVLink and direction, models) that counts of links between pairs leave.

    >>> [models for _rate, models in link_candidates(18 * (1 - np.eye(8, dtype=int)), "switch")]
    ['H100, H200', 'B200, B300, GB200']
    """
    most, total = int(links.max(initial=0)), int(links.sum(1).max(initial=0))
    old, slow = nvlink_Bps(1), value("nvlink-bridge-ga102", "link_Bps")
    if most == 18:
        return [(nvlink_Bps(4), "H100, H200"), (nvlink_Bps(5), "B200, B300, GB200")]
    if most == 12:
        return [(nvlink_Bps(3), "A100, or H100 with bridges")]
    if most == 8:
        return [(nvlink_Bps(3), "A800, H800")]
    if most == 6:
        return [(nvlink_Bps(4), "V100, H100, GH200: 25 GB/s each")]
    if most == 4 and shape == "mesh" and len(links) == 4:
        return [(nvlink_Bps(3), "A100")]
    if most == 4:
        return [(slow, "RTX 3090, A6000"), (nvlink_Bps(3), "A100")]
    if most in (2, 3):
        return [(nvlink_Bps(2), "V100, RTX of 2018")]
    if most == 1 and shape == "partial mesh" and total == 4:
        return [(old, "P100")]
    if most == 1:
        return [(old, "P100"), (nvlink_Bps(2), "V100, RTX of 2018")]
    return []


def fabric(matrix: TopoMatrix, gpu: str | None = None) -> Fabric:
    """Return the fabric of a matrix.

    Args:
        matrix: what `topo.read` returned; every pair of GPUs has to be known.
        gpu: a known GPU name (`gpunames.known_gpu`), which settles the rates.

    Raises:
        CourseError: no GPU, or pairs that are not known.

    >>> from course_lib.machine import topo
    >>> made = fabric(topo.read("\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV12\\nGPU1\\tNV12\\t X \\n"))
    >>> made.shape, made.links_per_gpu, made.topology.bandwidth_Bps.tolist()[:1]
    ('pair', (12, 12), [300000000000.0])
    """
    if not matrix.gpus:
        raise CourseError(_("The matrix names no GPU."))
    if not matrix.complete:
        raise CourseError(_("The links of some pairs of GPUs could not be read; paste the whole matrix."))
    links, g = matrix.nvlinks, len(matrix.gpus)
    shape, _odd = shape_of(links)
    said = []
    known = rate_of(gpu)
    found = [] if shape in ("pcie", "single") else [(known, model_of(gpu))] if known else link_candidates(links, shape)
    rate = found[0][0] if len(found) == 1 else None
    if shape not in ("pcie", "single") and rate is None:
        ways = "; ".join(f"{r / 1e9:g} GB/s ({models})" for r, models in found) or _("no known model")
        said.append(
            _("Rate of one NVLink, one direction: {ways}. Drawn with the least; name the system.").format(ways=ways)
        )
    drawn = rate or min((r for r, _m in found), default=nvlink_Bps(2))
    generation = pcie_generation(gpu)
    slot = pcie_Bps(generation or 3)
    if generation is None and (shape == "pcie" or matrix.nics):
        said.append(_("The matrix does not say the PCIe generation; drawn as generation 3 (the least)."))
    vertices, cables = [("gpu", 0)] * g, []
    per_gpu = links.sum(1)
    for group in groups(links > 0):
        if _switched(links, group):
            hub = len(vertices)
            vertices = [*vertices, ("nvswitch", 0)]
            own = widths(links, group)
            per_gpu[group] = own
            cables += [
                (a, hub, "nvlink", drawn, hop_s("nvlink-switched"), int(n)) for a, n in zip(group, own, strict=True)
            ]
        else:
            pairs = [(a, b) for a in group for b in group if a < b and links[a, b]]
            cables += [(a, b, "nvlink", drawn, hop_s("nvlink"), int(links[a, b])) for a, b in pairs]
    vertices, cables = _host_side(matrix, vertices, cables, slot)
    main = ("nvlink",) if links.any() else ("pcie", "smp")
    made = assemble(_("as printed"), vertices, cables, main_kinds=main)
    return Fabric(made, shape, tuple(int(n) for n in per_gpu), rate, tuple(found), tuple(said))


def _host_side(matrix: TopoMatrix, vertices: list, cables: list, slot: float) -> tuple[list, list]:
    """Add CPUs, PCIe switches and cards: PIX and PXB share a switch, PHB and NODE a CPU, SYS crosses between CPUs."""
    g, k = len(matrix.gpus), len(matrix.nics)
    words = np.full((g + k, g + k), "", dtype=object)
    for i in range(g):
        for j in range(g):
            words[i, j] = matrix.links[i][j]
        for j in range(k):
            words[i, g + j] = words[g + j, i] = matrix.to_nics[i][j]
    switch_groups = groups(np.isin(words, ("PIX", "PXB")))
    near = np.isin(words, ("PIX", "PXB", "PHB", "NODE"))
    for i in range(g):  # GPUs on NVLink show no PCIe distance: those whose CPUs are the same share one
        for j in range(g):
            same = matrix.cpu_affinity[i] is not None and matrix.cpu_affinity[i] == matrix.cpu_affinity[j]
            near[i, j] |= i != j and words[i, j].startswith("NV") and (same or matrix.cpu_affinity[i] is None)
    cpu_groups = [group for group in groups(near) if any(v < g for v in group)] or [list(range(g))]
    lone = sorted(set(range(g + k)) - {v for group in cpu_groups for v in group})
    nic_at = {}
    vertices = [*vertices, *[("cpu", 0)] * len(cpu_groups)]
    first = len(vertices) - len(cpu_groups)
    cpu_of = {v: first + c for c, group in enumerate(cpu_groups) for v in group}
    cpu_of |= dict.fromkeys(lone, first)
    for nic in range(g, g + k):
        nic_at[nic] = len(vertices)
        vertices = [*vertices, ("nic", 0)]
    place = lambda v: v if v < g else nic_at[v]  # noqa: E731
    for group in switch_groups:
        if len(group) > 1:
            hub = len(vertices)
            vertices = [*vertices, ("pcie-switch", 0)]
            cables = [*cables, *((place(v), hub, "pcie", slot, hop_s("pcie-switched"), 1) for v in group)]
            cables = [*cables, (hub, cpu_of[group[0]], "pcie", slot, hop_s("pcie-switched"), 1)]
        else:
            cables = [*cables, (place(group[0]), cpu_of[group[0]], "pcie", slot, hop_s("pcie"), 1)]
    between = [(a, b) for a in range(len(cpu_groups)) for b in range(a + 1, len(cpu_groups))]
    cables = [*cables, *((first + a, first + b, "smp", slot, hop_s("smp"), 1) for a, b in between)]
    return vertices, cables
