"""Layout: where the parts of a machine stand in a drawing, and which links are drawn as one line; no colours, no loads.

Four kinds of drawing: rows (GPUs below, what joins them above, a crossbar as one wide bar), a mesh (GPUs on two arcs, the host
outside), a grid for a torus, and blocks for clusters, where a host or a block of hosts is one part. Units are pixels at 700 px width.
"""

import weakref

import numpy as np

from course_lib.fabric.topology import VERTEX_KINDS, Topology
from course_lib.figures.layoutmany import NETWORK, blocks, grid
from course_lib.figures.layoutparts import Layout
from course_lib.figures.layoutrows import mesh, rows


def layout(topology: Topology, *, chips: bool = False) -> Layout:
    """Return the layout of a machine: places that depend on its wiring only, so that a change of traffic moves nothing.

    Args:
        topology: the machine, from a pair of cards to a cluster of thousands.
        chips: draw every NVSwitch chip by itself; else chips that reach the same GPUs are one bar, "4 NVSwitches".

    >>> from course_lib.fabric.registry import build
    >>> [part.name for part in layout(build("hgx-h100")).parts][-2:]
    ['GPU 7', '4 NVSwitches']
    >>> [part.name for part in layout(build("superpod-h100")).parts][:2]
    ['hosts 0–31', 'hosts 32–63']
    """
    kept = _kept.setdefault(topology, {})
    if chips not in kept:
        kept[chips] = _laid_out(topology, chips)
    return kept[chips]


_kept: "weakref.WeakKeyDictionary[Topology, dict[bool, Layout]]" = weakref.WeakKeyDictionary()


def _laid_out(topology: Topology, chips: bool) -> Layout:
    kinds = np.array(VERTEX_KINDS)[topology.kind]
    dims = getattr(topology.plan, "dims", None)
    if dims is not None:
        return grid(topology, dims)
    if np.isin(kinds, NETWORK).any():
        return blocks(topology, kinds)
    gpu = topology.kind == 0
    direct = gpu[topology.src] & gpu[topology.dst]
    partners = np.bincount(topology.src[direct], minlength=topology.n_vertices)
    if partners.max(initial=0) > 1:
        return mesh(topology, kinds)
    return rows(topology, kinds, chips)
