"""Which links a transfer takes: routes of many pairs at once, as runs of links with shares.

Inside a host every shortest path is used, split in proportion to the width of the links, as the hardware stripes
addresses over NVLinks: 18 links over four switches carry 5, 4, 4 and 5 parts. In a network the choice is

- `fixed`: by destination, the table a subnet manager loads (the remainder of the destination number picks the uplink);
- `hashed`: one path per pair of ends, picked by a seeded hash, as ECMP does with flows;
- `adaptive`: spread evenly over all shortest paths, the limit of per-packet spraying.
"""

from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.fabric.runs import Routes
from course_lib.fabric.search import searched
from course_lib.fabric.topology import Topology, ends

__all__ = ["CHOICES", "Routes", "plan_routes", "routes"]

CHOICES = ("fixed", "hashed", "adaptive")


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
