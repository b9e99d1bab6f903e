"""A PCIe tree: which links a flow takes, with ACS or without, and what flows that share links get together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _

KINDS = ("root", "switch", "gpu", "nic")


@dataclass(frozen=True, slots=True)
class Tree:
    """A PCIe tree: `parent[i]` is the index of what i hangs on (−1 for a root complex); `uplink_Bps[i]` one direction of that link.

    Root complexes stand for a socket with its memory, so a flow to a root is a copy to host memory. `socket_Bps` joins any
    two sockets, one direction; 0 where there is one socket.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    parent: np.ndarray
    uplink_Bps: np.ndarray
    socket_Bps: float

    def of_kind(self, kind: str) -> list[str]:
        """Names of this kind, in order."""
        return [n for n, k in zip(self.names, self.kinds) if k == kind]


def tree(
    layout: Mapping[str, object],
    bandwidth_Bps: float,
    *,
    uplinks_Bps: Mapping[str, float] | None = None,
    socket_Bps: float | None = None,
) -> Tree:
    """Return a Tree from a nested layout: root complexes at the top, mappings are switches, lists hold GPUs and cards.

    Names that start with "nic" are network cards, other leaves GPUs. Every link carries `bandwidth_Bps` in one direction;
    `uplinks_Bps` gives other values by the name of the lower end. With several roots `socket_Bps` is needed. Raises
    CourseError for names that appear twice and for a layout of another form.

    >>> box = tree({"cpu0": {"sw0": ["gpu0", "gpu1"], "sw1": ["gpu2", "nic0"]}}, 57.6e9)
    >>> box.of_kind("switch"), box.of_kind("gpu")
    (['sw0', 'sw1'], ['gpu0', 'gpu1', 'gpu2'])
    """
    bandwidth_Bps = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="bytes per second")
    if not isinstance(layout, Mapping) or not layout:
        raise CourseError(
            _("The layout is {layout!r}; root complexes with what hangs on them are expected.").format(layout=layout)
        )
    names: list[str] = []
    kinds: list[str] = []
    parents: list[int] = []

    def add(name: object, kind: str, parent: int) -> int:
        if not isinstance(name, str) or not name or name in names:
            raise CourseError(_("{name!r} is no name of its own: every part of a tree needs one.").format(name=name))
        names.append(name)
        kinds.append(kind)
        parents.append(parent)
        return len(names) - 1

    def grow(below: object, parent: int) -> None:
        if isinstance(below, Mapping):
            for name, inner in below.items():
                grow(inner, add(name, "switch", parent))
        elif isinstance(below, Sequence) and not isinstance(below, str):
            for leaf in below:
                if isinstance(leaf, Mapping):
                    grow(leaf, parent)
                else:
                    add(leaf, "nic" if str(leaf).lower().startswith("nic") else "gpu", parent)
        else:
            raise CourseError(
                _("{below!r} hangs in the layout; a mapping of switches or a list of names is expected.").format(
                    below=below
                )
            )

    for root, below in layout.items():
        grow(below, add(root, "root", -1))
    if kinds.count("root") > 1 and socket_Bps is None:
        raise CourseError(
            _("There are {n} root complexes: socket_Bps is needed, the bandwidth between two of them.").format(
                n=kinds.count("root")
            )
        )
    uplink_Bps = np.full(len(names), bandwidth_Bps)
    for name, rate in (uplinks_Bps or {}).items():
        uplink_Bps[names.index(one_of(_("part of the tree"), name, names))] = finite(
            f"uplinks_Bps[{name}]", rate, above=0
        )
    socket_Bps = 0.0 if socket_Bps is None else finite("socket_Bps", socket_Bps, above=0)
    return Tree(tuple(names), tuple(kinds), np.array(parents), uplink_Bps, socket_Bps)


def _checked(box: Tree) -> Tree:
    if not isinstance(box, Tree):
        text = _("box is {value!r}; a Tree is expected, as tree({{'cpu0': ['gpu0', 'gpu1']}}, 57.6e9) makes one.")
        raise CourseError(text.format(value=box))
    return box


def _switches_with_acs(box: Tree, acs: bool | Collection[str]) -> set[str]:
    switches = _checked(box).of_kind("switch")
    if isinstance(acs, (bool, np.bool_)):
        return set(switches) if acs else set()
    return {one_of(_("switch"), name, switches) for name in ([acs] if isinstance(acs, str) else acs)}


def route(box: Tree, src: str, dst: str, *, acs: bool | Collection[str] = False) -> list[tuple[str, str]]:
    """Return the directed links of a flow as (from, to) names, in order.

    Without ACS a flow turns at the lowest part that both ends hang on. A switch with ACS (access control: `True` for all, or
    names) sends what would turn in it up to the root complex and back down. Between sockets it goes root to root.

    >>> box = tree({"cpu0": {"sw0": ["gpu0", "gpu1"]}}, 57.6e9)
    >>> route(box, "gpu0", "gpu1")
    [('gpu0', 'sw0'), ('sw0', 'gpu1')]
    >>> route(box, "gpu0", "gpu1", acs=True)
    [('gpu0', 'sw0'), ('sw0', 'cpu0'), ('cpu0', 'sw0'), ('sw0', 'gpu1')]
    """
    guarded = _switches_with_acs(box, acs)
    start, end = (box.names.index(one_of(_("part of the tree"), n, box.names)) for n in (src, dst))
    for i in (start, end):
        if box.kinds[i] == "switch":
            raise CourseError(
                _("{name} is a switch: a flow begins and ends at a GPU, a card or a root complex.").format(
                    name=box.names[i]
                )
            )
    if start == end:
        raise CourseError(_("The flow from {name} to itself uses no link.").format(name=src))
    up, down = _to_root(box, start), _to_root(box, end)
    turn = next((i for i in up if i in down), None)
    if turn is not None and box.names[turn] in guarded:
        turn = up[-1]
    if turn is None:
        climb, fall = up, down[::-1]
    else:
        climb, fall = up[: up.index(turn) + 1], down[: down.index(turn) + 1][::-1]
    hops = list(pairwise(climb)) + ([(climb[-1], fall[0])] if climb[-1] != fall[0] else []) + list(pairwise(fall))
    return [(box.names[a], box.names[b]) for a, b in hops]


def _to_root(box: Tree, index: int) -> list[int]:
    chain = [index]
    while box.parent[chain[-1]] >= 0:
        chain.append(int(box.parent[chain[-1]]))
    return chain


@dataclass(frozen=True, slots=True)
class Shares:
    """What flows get when they run together: `rate_Bps` (f,), and for every directed link its load, capacity and flows.

    `bottleneck[i]` is the link that holds flow i back; a flow that crosses a link twice counts twice.
    """

    flows: tuple[tuple[str, str], ...]
    rate_Bps: np.ndarray
    links: tuple[tuple[str, str], ...]
    load_Bps: np.ndarray
    capacity_Bps: np.ndarray
    count: np.ndarray
    bottleneck: tuple[tuple[str, str], ...]


def flow_rates(box: Tree, flows: Iterable[tuple[str, str]], *, acs: bool | Collection[str] = False) -> Shares:
    """Return the max–min fair rates of flows (src, dst) that run at the same time.

    Every directed link carries the sum of its flows, its two directions are separate, and no flow can gain but at the cost
    of one that has no more. Raises CourseError for unknown names (with the nearest) and for a flow to itself.

    >>> box = tree({"cpu0": {"sw0": ["gpu0", "gpu1"]}}, 60e9)
    >>> shares = flow_rates(box, [("gpu0", "cpu0"), ("gpu1", "cpu0"), ("cpu0", "gpu0")])
    >>> (shares.rate_Bps / 1e9).tolist(), shares.bottleneck[0]
    ([30.0, 30.0, 60.0], ('sw0', 'cpu0'))
    """
    _checked(box)
    pairs = []
    for flow in flows:
        if isinstance(flow, str) or not isinstance(flow, Sequence) or len(flow) != 2:
            raise CourseError(_("The flow {flow!r} is no pair of names (from, to).").format(flow=flow))
        pairs.append((str(flow[0]), str(flow[1])))
    routes = [route(box, src, dst, acs=acs) for src, dst in pairs]
    links = tuple(dict.fromkeys(link for path in routes for link in path))
    place = {link: i for i, link in enumerate(links)}
    crossing = np.zeros((len(pairs), len(links)))
    for i, path in enumerate(routes):
        for link in path:
            crossing[i, place[link]] += 1
    capacity = np.array([_capacity(box, a, b) for a, b in links])
    rate, held = np.zeros(len(pairs)), np.full(len(pairs), -1)
    active = np.ones(len(pairs), dtype=bool)
    left = capacity.copy()
    while active.any():
        load = crossing[active].sum(axis=0)
        room = np.divide(left, load, out=np.full(len(links), np.inf), where=load > 0)
        tight = int(np.argmin(room))
        step = max(room[tight], 0.0)
        rate[active] += step
        left = left - step * load
        # Links that fill in the same step hold their flows together, whatever the last digit says.
        full = room <= step * (1 + 1e-12)
        stopped = active & (crossing[:, full].sum(axis=1) > 0)
        for i in np.flatnonzero(stopped):
            held[i] = int(np.flatnonzero(full & (crossing[i] > 0))[0])
        active &= ~stopped
    count = crossing.sum(axis=0).astype(int)
    return Shares(tuple(pairs), rate, links, rate @ crossing, capacity, count, tuple(links[i] for i in held))


def loads(box: Tree, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return (up_Bps, down_Bps): for every part, what flows from it to its parent and back; 0 for root complexes.

    >>> box = tree({"cpu0": ["gpu0"]}, 60e9)
    >>> up_Bps, down_Bps = loads(box, flow_rates(box, [("gpu0", "cpu0")]))
    >>> (up_Bps / 1e9).tolist(), down_Bps.tolist()
    ([0.0, 60.0], [0.0, 0.0])
    """
    up_Bps, down_Bps = np.zeros(len(box.names)), np.zeros(len(box.names))
    for (a, b), load in zip(shares.links, shares.load_Bps):
        i, j = box.names.index(a), box.names.index(b)
        if box.parent[i] == j:
            up_Bps[i] = load
        elif box.parent[j] == i:
            down_Bps[j] = load
    return up_Bps, down_Bps


def _capacity(box: Tree, a: str, b: str) -> float:
    i, j = box.names.index(a), box.names.index(b)
    if box.parent[i] < 0 and box.parent[j] < 0:
        return box.socket_Bps
    return float(box.uplink_Bps[i] if box.parent[i] == j else box.uplink_Bps[j])


def pair_paths(box: Tree, *, acs: bool | Collection[str] = False) -> dict[tuple[str, str], str]:
    """Return how each pair of GPUs is joined, in the letters of `nvidia-smi topo -m`: PIX, PXB, PHB or SYS.

    PIX: one switch. PXB: several switches, no root complex. PHB: through one root complex. SYS: between sockets. A switch
    with ACS turns PIX and PXB into PHB: peer access loses its direct path and shares the uplinks with everything else.

    >>> pair_paths(tree({"cpu0": {"sw0": ["gpu0", "gpu1"]}}, 57.6e9), acs=True)
    {('gpu0', 'gpu1'): 'PHB'}
    """
    found = {}
    gpus = _checked(box).of_kind("gpu")
    for i, src in enumerate(gpus):
        for dst in gpus[i + 1 :]:
            kinds = [box.kinds[box.names.index(a)] for a, _b in route(box, src, dst, acs=acs)[1:]]
            roots = kinds.count("root")
            found[src, dst] = "SYS" if roots > 1 else "PHB" if roots == 1 else "PIX" if len(kinds) == 1 else "PXB"
    return found


def lost_pairs(box: Tree, *, acs: bool | Collection[str] = True) -> list[tuple[str, str]]:
    """Return the pairs of GPUs that lose their direct path (PIX or PXB) when ACS is on.

    >>> lost_pairs(tree({"cpu0": {"sw0": ["gpu0", "gpu1"], "sw1": ["gpu2"]}}, 57.6e9))
    [('gpu0', 'gpu1')]
    """
    before, after = pair_paths(box), pair_paths(box, acs=acs)
    return [pair for pair, letters in before.items() if letters in ("PIX", "PXB") and after[pair] not in ("PIX", "PXB")]
