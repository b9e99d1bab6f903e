"""Lesson 03: a machine and a pattern of traffic: which link fills first, and what every flow gets."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base.errors import whole
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.fabric.patterns import pattern
from course_lib.fabric.registry import build, describe
from course_lib.fabric.routes import routes
from course_lib.fabric.sharing import loads, max_min_rates, slowed_by
from course_lib.fabric.topology import Topology, link_name
from course_lib.figures.layout import layout
from course_lib.figures.topology import topology_loads

MACHINES = (
    (_("DGX-1 P100 (cube mesh)"), "dgx1-p100"),
    (_("DGX-1 V100 (cube mesh)"), "dgx1-v100"),
    (_("DGX-2 (16 V100, two boards)"), "dgx2"),
    ("HGX A100", "hgx-a100"),
    ("HGX H100", "hgx-h100"),
    ("HGX B200", "hgx-b200"),
    ("GB200 NVL72", "nvl72-gb200"),
    (_("8 × MI300X (full mesh)"), "mi300x"),
    (_("4 × GH200 (full mesh)"), "gh200-quad"),
    (_("4 × A100 PCIe, two bridges"), "a100-pcie-bridged"),
    (_("8 GPUs on PCIe 4"), "pcie-8"),
    (_("16 TPU v5e (4 × 4 torus)"), "tpu-v5e-16"),
)
PATTERNS = (
    (_("first half to second half"), "halves"),
    (_("all to all"), "all-to-all"),
    (_("a random permutation, number k"), "permutation"),
    (_("every GPU to the one k places on"), "shift"),
    (_("GPU 0 to GPU k alone"), "pair"),
    (_("GPU k to all others"), "outcast"),
    (_("all others to GPU k"), "incast"),
)
# What k is in the patterns that have one.
DETAILS = {"permutation": "seed", "shift": "by", "pair": "dst", "outcast": "source", "incast": "to"}


@dataclass(frozen=True, slots=True)
class Traffic:
    """A machine under a pattern: fair rates (p,), the link (l,) flows in bytes/s, what fills first, and how much slower than alone.

    `first` names the line of the picture that fills first (`first_link` is a link of it), `width_Bps` is its width, and
    `flows` how many flows it carries (parts of flows count as parts): width over flows is the slowest rate. `k` is the
    number that the pattern used, 0 where it has none.
    """

    topology: Topology
    name: str
    k: int
    src: np.ndarray
    dst: np.ndarray
    rate_Bps: np.ndarray
    slower: np.ndarray
    flow_Bps: np.ndarray
    first: str
    first_link: int
    width_Bps: float
    flows: float

    @property
    def slowest_Bps(self) -> float:
        return float(self.rate_Bps.min())

    @property
    def total_Bps(self) -> float:
        return float(self.rate_Bps.sum())


def counted(pattern_name: str, k: int, n_gpus: int) -> int:
    """Return the k that a machine of n GPUs can use: receivers and seeds count round, a GPU does not send to itself.

    >>> counted("incast", 9, 8), counted("pair", 8, 8), counted("permutation", 8, 4)
    (1, 1, 8)
    """
    if pattern_name in ("incast", "outcast"):
        return k % n_gpus
    return 1 + (k - 1) % (n_gpus - 1) if pattern_name in ("pair", "shift") else k


def traffic(machine: str, name: str, k: int = 1) -> Traffic:
    """Return what every flow of a pattern gets in a machine, max–min fair, and what fills first.

    Args:
        machine: a name that `course_lib.fabric.registry.build` knows.
        name: of a pattern in `course_lib.fabric.patterns`.
        k: receiver, sender, distance or seed, whichever the pattern has.

    Raises:
        CourseError: unknown names, or a k that is not a whole number of at least 1.

    >>> box = traffic("hgx-h100", "incast", 7)
    >>> round(box.slowest_Bps / 1e9, 1), box.flows, round(float(box.slower.max()), 2)
    (64.3, 7.0, 7.0)
    """
    k = counted(name, whole("k", k, at_least=1), _machines(machine)[0].n_gpus)
    return _traffic(machine, name, k if name in DETAILS else 0)


@lru_cache(maxsize=256)
def _traffic(machine: str, name: str, k: int) -> Traffic:
    topology, drawn = _machines(machine)
    src, dst = pattern(name, topology.n_gpus, **({DETAILS[name]: k} if name in DETAILS else {}))
    paths = routes(topology, src, dst)
    rate = max_min_rates(topology, paths)
    flow, shares = (_as_drawn(topology, drawn, loads(topology, paths, each)) for each in (rate, 1.0))
    return Traffic(drawn, name, k, src, dst, rate, slowed_by(topology, paths), flow, *_fills_first(drawn, shares))


def _fills_first(topology: Topology, shares: np.ndarray) -> tuple[str, int, float, float]:
    """Return the line of the picture that fills first when all flows grow alike: name, a link of it, width, flows over it."""
    fair = np.divide(topology.bandwidth_Bps, shares, out=np.full(topology.n_links, np.inf), where=shares > 0)
    link = int(np.flatnonzero(fair <= fair.min() * (1 + 1e-9))[0])
    plan = layout(topology)
    for bundle in plan.bundles:
        if link in bundle.links:
            name = f"{plan.parts[bundle.a].name} → {plan.parts[bundle.b].name}"
            width = float(topology.bandwidth_Bps[bundle.links].sum())
            return name, link, width, float(shares[bundle.links].sum().round(9))
    return link_name(topology, link), link, float(topology.bandwidth_Bps[link]), float(shares[link])


@lru_cache(maxsize=32)
def _machines(name: str) -> tuple[Topology, Topology]:
    """Return the machine to calculate with and the one to draw: a rack's 18 chips share all traffic in equal parts, so one
    vertex for all of them gives the same rates much faster."""
    drawn = build(name)
    return (build(name, merged=True), drawn) if drawn.n_gpus > 16 and (drawn.kind == 1).any() else (drawn, drawn)


def _as_drawn(topology: Topology, drawn: Topology, flow: np.ndarray) -> np.ndarray:
    """Return a flow on the links of the machine as drawn: chips that were one vertex share it by the widths of their links."""
    if topology is drawn:
        return flow
    n = topology.n_gpus
    whole_link = np.zeros((n + 1, n + 1), int)
    whole_link[topology.src, topology.dst] = np.arange(topology.n_links)
    link = whole_link[np.minimum(drawn.src, n), np.minimum(drawn.dst, n)]
    return flow[link] * drawn.bandwidth_Bps / topology.bandwidth_Bps[link]


def spread(found: Traffic) -> str:
    """Return in words how the flows fare: all alike, or slowest and fastest; against alone.

    >>> spread(traffic("hgx-h100", "permutation", 1))
    'Each of the 8 flows gets 450 GB/s, as much as alone.'
    """
    n, slow, fast = len(found.rate_Bps), say_rate(found.slowest_Bps), say_rate(float(found.rate_Bps.max()))
    worst = float(found.slower.max())
    against = (
        _("as much as alone") if worst < 1.0005 else _("{ratio} × slower than alone").format(ratio=say_number(worst, 3))
    )
    if n == 1:
        return _("The flow gets {rate}.").format(rate=slow)
    if float(found.rate_Bps.max()) <= found.slowest_Bps * 1.0005:
        return _("Each of the {n} flows gets {rate}, {against}.").format(n=n, rate=slow, against=against)
    most = (
        _("none is slower than alone")
        if worst < 1.0005
        else _("the worst hit is {ratio} × slower than alone").format(ratio=say_number(worst, 3))
    )
    return _("The {n} flows get between {slow} and {fast}; {most}.").format(n=n, slow=slow, fast=fast, most=most)


def _draw(found: Traffic):
    return topology_loads(found.topology, found.flow_Bps, first=found.first_link)


def _equation(found: Traffic) -> tuple[str, str]:
    return (
        _("slowest flow = width of the link that fills first ÷ flows over it"),
        _("slowest flow = {width} ÷ {flows} = {rate}  ({name})").format(
            width=say_rate(found.width_Bps),
            flows=say_number(found.flows, 3),
            rate=say_rate(found.slowest_Bps),
            name=found.first,
        ),
    )


def _sentence(found: Traffic, values: dict) -> str:
    parts = [describe(values["machine"]) + ".", spread(found)]
    if len(found.rate_Bps) > 1:
        parts.append(_("Together they move {total}.").format(total=say_rate(found.total_Bps)))
    if found.name not in DETAILS:
        parts.append(_("k plays no part in this pattern."))
    elif found.k != values["k"]:
        parts.append(
            _("k counts round: this machine has {n} GPUs, so k is {k} here.").format(n=found.topology.n_gpus, k=found.k)
        )
    return " ".join(parts)


def who_gets_what() -> Explorer:
    """Return the explorer of lesson 03: a machine, a pattern and its number; the fullest link and every flow's rate.

    >>> who_gets_what().figure.layout.title.text
    'GPU 0 → 4 NVSwitches is full: 450 GB/s; so is one other line'
    """
    for _title, machine in MACHINES:  # build and lay out all of them now, so that every choice answers at once
        layout(_machines(machine)[1])
        traffic(machine, "all-to-all")
    return Explorer(
        traffic,
        _draw,
        question=_("Which link fills first, and what does every flow get?"),
        guess=Guess(
            "03.incast",
            _("Seven H100 of a box send to the eighth, all at once. What does each get?"),
            "GB/s",
            lambda: traffic("hgx-h100", "incast", 7).slowest_Bps,
        ),
        equation=_equation,
        sentence=_sentence,
        machine=Choice(_("machine"), MACHINES, "hgx-h100"),
        name=Choice(_("who sends to whom"), PATTERNS, "pair"),
        k=CountSlider(_("k"), 1, 15, 5, counts=range(1, 16)),
    )


def picture(machine: str, name: str, k: int = 1, *, chips: bool = False):
    """Return the picture of a machine under a pattern; `chips=True` draws every NVSwitch chip by itself.

    >>> picture("dgx1-v100", "pair", 5).layout.title.text
    'GPU 0 → PCIe switch 0 is full: 15.8 GB/s; so are 4 other lines'
    """
    found = traffic(machine, name, k)
    return topology_loads(found.topology, found.flow_Bps, chips=chips, first=found.first_link)
