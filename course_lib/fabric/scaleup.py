"""Scale-up machines: hosts and racks whose GPUs are joined by their own links."""

from collections.abc import Sequence

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.fabric.topology import Topology, assemble


def nvswitch_box(
    name: str, n_gpus: int, links_per_switch: Sequence[int], bandwidth_Bps: float, *, latency_s: float = 1e-6
) -> Topology:
    """Return a host whose GPUs all reach every switch chip: HGX A100 to B200, NVL72.

    Args:
        name: what to call it.
        n_gpus: GPUs in the domain.
        links_per_switch: links of one GPU to each switch chip, such as (5, 4, 4, 5).
        bandwidth_Bps: one direction of one link.
        latency_s: from GPU to GPU through one switch.

    >>> nvswitch_box("hgx-h100", 8, (5, 4, 4, 5), 25e9).n_links
    64
    """
    n = whole("n_gpus", n_gpus, at_least=1)
    widths = [whole("links_per_switch", w, at_least=1) for w in links_per_switch]
    if not widths:
        raise CourseError(_("links_per_switch is empty; a switched box needs at least one switch."))
    vertices = [("gpu", 0)] * n + [("nvswitch", 0)] * len(widths)
    cables = [
        (g, n + s, "nvlink", bandwidth_Bps, latency_s / 2, width) for g in range(n) for s, width in enumerate(widths)
    ]
    return assemble(name, vertices, cables, main_kinds=("nvlink",))
