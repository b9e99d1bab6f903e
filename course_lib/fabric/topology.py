"""A machine as directed links in arrays: what is joined to what, how wide, how far; everything else reads this.

**For a timer.** Ranks are vertices `0 … n_gpus-1`. Find the routes of all transfers once, then add bytes as often as needed::

    paths = routes(topology, src, dst)              # 131,072 pairs at once; `course_lib.fabric.routes`
    load_B = loads(topology, paths, message_B)      # (n_links,) bytes; `course_lib.fabric.sharing`
    time_s = paths.latency_s.max() + (load_B / topology.bandwidth_Bps).max()
    load_B += loads(topology, paths.take(begins), message_B) - loads(topology, paths.take(ends), message_B)

Routes are kept as runs of consecutive links that carry equal shares (one run stands for 32 uplinks), so 131,072
transfers need about ten runs each and no Python loop. Switch vertices are valid ends too, for sums inside a switch.
A pair that is one and the same vertex has no links and no latency.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _

VERTEX_KINDS = ("gpu", "nvswitch", "pcie-switch", "cpu", "nic", "leaf", "spine", "core")
LINK_KINDS = ("pcie", "smp", "nvlink", "c2c", "xgmi", "ici", "ib", "eth")
NETWORK_KINDS = ("ib", "eth")
OWN_KINDS = ("nvlink", "xgmi", "ici")  # links that GPUs have to each other; routes prefer them
LEVEL_OF_KIND = (0.0, 2.0, 1.0, 2.0, 1.5, 3.0, 4.0, 5.0)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Topology:
    """Vertices and directed links of one machine. GPUs are vertices 0 … n_gpus-1; bandwidths are one direction.

    A link entry may bundle `parallel` equal cables or lanes groups; its `bandwidth_Bps` is that of the whole bundle.
    `main_kinds` are the links that cuts and bisections count; `plan` knows how to find routes by arithmetic
    (None: they are searched). `level` (0 = GPUs, growing upwards) and `position` (0 … 1 along the row) are for drawing.

    >>> box = assemble("pair", [("gpu", 0), ("gpu", 0)], [(0, 1, "nvlink", 25e9, 1e-6, 4)])
    >>> box.n_gpus, box.n_links, box.bandwidth_Bps.tolist()
    (2, 2, [100000000000.0, 100000000000.0])
    """

    name: str
    kind: NDArray[np.uint8]  # (v,) index into VERTEX_KINDS
    host: NDArray[np.int32]  # (v,) host of the vertex, -1 for switches of the network
    ordinal: NDArray[np.int32]  # (v,) number among its kind (within its host, where it has one)
    level: NDArray[np.float32]  # (v,) row in a drawing
    position: NDArray[np.float32]  # (v,) place in that row, 0 … 1
    src: NDArray[np.int32]  # (l,)
    dst: NDArray[np.int32]  # (l,)
    bandwidth_Bps: NDArray[np.float64]  # (l,) one direction, all parallel cables together
    latency_s: NDArray[np.float64]  # (l,)
    link_kind: NDArray[np.uint8]  # (l,) index into LINK_KINDS
    parallel: NDArray[np.int16]  # (l,) cables in the bundle
    main_kinds: tuple[str, ...] = LINK_KINDS
    gpus_forward: bool = False  # chips of a torus pass traffic on; other GPUs do not
    plan: object = None

    @property
    def n_vertices(self) -> int:
        return len(self.kind)

    @property
    def n_links(self) -> int:
        return len(self.src)

    @property
    def n_gpus(self) -> int:
        return int(np.count_nonzero(self.kind == 0))

    @property
    def n_hosts(self) -> int:
        return int(self.host.max(initial=-1)) + 1

    @property
    def names(self) -> list[str]:
        """The name of every vertex, made on demand: fine for pictures, slow for 100,000 GPUs (`vertex_name` makes one)."""
        return [vertex_name(self, v) for v in range(self.n_vertices)]


def assemble(
    name: str,
    vertices: Sequence[tuple],
    cables: Iterable[tuple],
    *,
    main_kinds: tuple[str, ...] = LINK_KINDS,
    gpus_forward: bool = False,
) -> Topology:
    """Build a Topology from a short list of vertices and two-way cables.

    Args:
        name: what to call it.
        vertices: `(kind, host)` or `(kind, host, position)` or `(kind, host, position, level)`, GPUs first.
        cables: `(a, b, link kind, bandwidth_Bps of one cable and direction, latency_s, parallel)`; each becomes two
            directed links, side by side (a to b, b to a). A seventh entry `True` makes it one-way.
        main_kinds: link kinds that cuts and bisections count.
        gpus_forward: whether GPUs pass traffic on to others.

    Raises:
        CourseError: GPUs not first, an unknown kind or vertex, a bandwidth that is not positive.

    >>> assemble("pair", [("gpu", 0), ("gpu", 0)], [(0, 2, "nvlink", 25e9, 1e-6, 4)])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: end of a cable is 2; it has to be at most 1.
    """
    kinds = np.array([VERTEX_KINDS.index(one_of("kind of vertex", v[0], VERTEX_KINDS)) for v in vertices], np.uint8)
    hosts = np.array([v[1] for v in vertices], np.int32)
    n_gpus = int(np.count_nonzero(kinds == 0))
    if n_gpus == 0 or (kinds[:n_gpus] != 0).any():
        raise CourseError(
            _("{name}: the GPUs have to be the first vertices, and there must be at least one.").format(name=name)
        )
    level = np.array(
        [v[3] if len(v) > 3 else LEVEL_OF_KIND[k] for v, k in zip(vertices, kinds, strict=True)], np.float32
    )
    ordinal = number_within(kinds, hosts)
    position = spread_in_rows(level)
    for i, v in enumerate(vertices):
        if len(v) > 2 and v[2] is not None:
            position[i] = v[2]
    rows = [(*c, False) if len(c) == 6 else tuple(c) for c in cables]
    a, b, kind, bandwidth, latency, width, one_way = zip(*rows, strict=True) if rows else ((),) * 7
    for end in {*a, *b}:
        whole(_("end of a cable"), end, at_least=0, at_most=len(vertices) - 1)
    width = np.array([whole("parallel", n, at_least=1, at_most=32767) for n in width], np.int16)
    code_of = {k: LINK_KINDS.index(one_of("kind of link", k, LINK_KINDS)) for k in dict.fromkeys(kind)}
    for value in {*bandwidth}:
        finite("bandwidth_Bps", value, above=0)
    for value in {*latency}:
        finite("latency_s", value, at_least=0)
    bandwidth, latency = np.array(bandwidth, float) * width, np.array(latency, float)
    code = np.array([code_of[k] for k in kind], np.uint8)
    # Two directed links for a cable, side by side, but for one-way cables.
    keep = np.stack([np.ones(len(rows), bool), ~np.array(one_way, bool)], 1).ravel()
    there = np.array([a, b], np.int32).reshape(2, -1)

    def both_ways(column: NDArray) -> NDArray:
        return np.repeat(column, 2)[keep]

    return Topology(
        name,
        kinds,
        hosts,
        ordinal,
        level,
        position,
        np.stack([there[0], there[1]], 1).ravel()[keep],
        np.stack([there[1], there[0]], 1).ravel()[keep],
        both_ways(bandwidth),
        both_ways(latency),
        both_ways(code),
        both_ways(width),
        main_kinds,
        gpus_forward,
    )


def number_within(kind: NDArray, host: NDArray) -> NDArray[np.int32]:
    """Return (v,) numbers 0, 1, … among the vertices of the same kind and host.

    >>> number_within(np.array([0, 0, 1, 0]), np.array([0, 0, 0, 1])).tolist()
    [0, 1, 0, 0]
    """
    group = kind.astype(np.int64) * (int(host.max(initial=0)) + 2) + host + 1
    order = np.argsort(group, kind="stable")
    sorted_group = group[order]
    begins = np.flatnonzero(np.r_[True, sorted_group[1:] != sorted_group[:-1]]) if len(group) else np.zeros(0, int)
    rank = np.arange(len(group)) - np.repeat(begins, np.diff(np.r_[begins, len(group)]))
    out = np.empty(len(group), np.int32)
    out[order] = rank
    return out


def spread_in_rows(level: NDArray) -> NDArray[np.float32]:
    """Return (v,) positions 0 … 1 that spread the vertices of each row evenly, in their order.

    >>> spread_in_rows(np.array([0, 0, 1])).tolist()
    [0.25, 0.75, 0.5]
    """
    position = np.empty(len(level), np.float32)
    for row in np.unique(level):
        members = np.flatnonzero(level == row)
        position[members] = (np.arange(len(members)) + 0.5) / len(members)
    return position


def vertex_name(topology: Topology, vertex: int) -> str:
    """Return the name of one vertex: `gpu 3` in a single host, `host 2 gpu 3` in a cluster, `leaf 7` in the network.

    >>> vertex_name(assemble("one", [("gpu", 0)], []), 0)
    'gpu 0'
    """
    v = whole("vertex", vertex, at_least=0, at_most=topology.n_vertices - 1)
    kind = VERTEX_KINDS[topology.kind[v]]
    host = topology.host[v]
    name = f"{kind} {topology.ordinal[v]}"
    return name if host < 0 or topology.n_hosts == 1 else f"host {host} {name}"


def link_name(topology: Topology, link: int) -> str:
    """Return the name of one directed link, `gpu 0 → nvswitch 1`.

    >>> link_name(assemble("pair", [("gpu", 0), ("gpu", 0)], [(0, 1, "nvlink", 25e9, 1e-6, 4)]), 1)
    'gpu 1 → gpu 0'
    """
    k = whole("link", link, at_least=0, at_most=topology.n_links - 1)
    return f"{vertex_name(topology, topology.src[k])} → {vertex_name(topology, topology.dst[k])}"


def vertices_of(topology: Topology, kind: str, host: int | None = None) -> NDArray[np.int64]:
    """Return the vertices of a kind (`gpu`, `nvswitch`, `nic`, `leaf` …), of all hosts or of one.

    >>> vertices_of(assemble("pair", [("gpu", 0), ("gpu", 0)], []), "gpu").tolist()
    [0, 1]
    """
    chosen = topology.kind == VERTEX_KINDS.index(one_of("kind of vertex", kind, VERTEX_KINDS))
    return np.flatnonzero(chosen if host is None else chosen & (topology.host == host))


def links_of(topology: Topology, kinds: Iterable[str]) -> NDArray[np.bool_]:
    """Return (l,) which links are of the named kinds.

    >>> links_of(assemble("pair", [("gpu", 0), ("gpu", 0)], [(0, 1, "nvlink", 25e9, 1e-6, 4)]), ["pcie"]).tolist()
    [False, False]
    """
    codes = [LINK_KINDS.index(one_of("kind of link", k, LINK_KINDS)) for k in kinds]
    return np.isin(topology.link_kind, codes)


def ends(topology: Topology, name: str, vertices: ArrayLike) -> NDArray[np.int64]:
    """Return `vertices` as a flat int array after checking that each exists in the topology.

    Raises:
        CourseError: not whole numbers, or outside 0 … n_vertices-1.

    >>> ends(assemble("one", [("gpu", 0)], []), "src", 0).tolist()
    [0]
    """
    given = np.atleast_1d(np.asarray(vertices))
    if given.size == 0:
        return np.zeros(0, np.int64)
    if given.dtype.kind not in "iu":
        checked = np.atleast_1d(finite(name, vertices))
        if (checked != np.floor(checked)).any():
            raise CourseError(
                _("{name} has to hold whole numbers: vertices of {topology}.").format(name=name, topology=topology.name)
            )
        given = checked
    given = given.astype(np.int64).ravel()
    outside = (given < 0) | (given >= topology.n_vertices)
    if outside.any():
        raise CourseError(
            _("{name} holds {vertex}, but {topology} has vertices 0 … {last} (GPUs 0 … {gpu}).").format(
                name=name,
                vertex=int(given[outside][0]),
                topology=topology.name,
                last=topology.n_vertices - 1,
                gpu=topology.n_gpus - 1,
            )
        )
    return given
