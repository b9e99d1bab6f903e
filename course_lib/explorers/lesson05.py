"""Lesson 05: the race of algorithms over size and ranks, the ramp of a switch that adds, a library's log of its choices."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from course_lib.base import hardware
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import GiB, say_bytes, say_number, say_rate, say_time
from course_lib.comm import registry
from course_lib.comm.meaning import bus_factor
from course_lib.explorers.controls import Choice, CountSlider, SizeSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.algorithms import contest_figure, steps_and_bytes
from course_lib.figures.inswitch import busbw_over_gpus, choice_beside
from course_lib.figures.stepbars import in_time
from course_lib.timing.closedform import form, time_s
from course_lib.timing.contest import Contest, contest
from course_lib.timing.place import switches, topology_of
from course_lib.timing.stepped import stepped
from course_lib.timing.sweeps import part, sweeps
from course_lib.timing.system import load
from course_lib.timing.timeline import timeline
from course_lib.timing.tuning import Prediction, predict
from course_lib.timing.wire import busbw_limit_Bps, carried, wire_Bps

SIZES = 2.0 ** np.arange(3, 34.5, 0.5)
COUNTS = (2, 3, 4, 6, 8, 12, 16, 32, 64, 72, 128)
# What is shown, the system, and the colour of its links inside a domain.
SYSTEMS = {
    "dgx-h100": (_("H100 boxes of 8, the switch adds"), "nvlink"),
    "dgx-h100-sharp": (_("H100 boxes of 8, switch and network add"), "nvlink"),
    "dgx-a100": (_("A100 boxes of 8, the switch passes on"), "nvlink"),
    "gb200-nvl72": (_("GB200 racks of 72, the switch adds"), "nvlink"),
    "mi300x": (_("MI300X boxes of 8, no switch"), "nvlink"),
    "dgx1-v100": (_("V100 boxes of 8, cube mesh"), "nvlink"),
    "pcie4-box": (_("boxes of 8 on PCIe 4"), "pcie"),
}
WHO = ((_("what a library weighs"), True), (_("every algorithm"), False))
#: Eight H200 of one host, all-reduce of 8 GiB, published for these numbers of GPUs.
RAMP_GPUS = (4, 5, 6, 7, 8)
LEAST_SHOWN_B = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What the explorer shows: a contest, the marked message, and the times there, (a,)."""

    found: Contest
    message_B: float
    at_s: np.ndarray
    role: str

    @property
    def best(self) -> int:
        """The place of the quickest of those that take part at the marked message."""
        part = np.array([name in self.found.taking_part for name in self.found.names])
        return int(np.argmin(np.where(part, self.at_s, np.inf)))


@cache
def _contest(system: str, n_ranks: int, library_only: bool) -> Contest:
    return contest(system, n_ranks, SIZES, library_only=library_only)


def race(n_ranks: int, message_B: float, system: str, library_only: bool) -> Reading:
    """Return the contest on a system, with the times of one message.

    >>> now = race(8, 2.0**30, "dgx-h100", True)
    >>> now.found.names[now.best], now.found.taking_part
    ('in the switch', ('ring', 'in the switch'))
    """
    found = _contest(system, n_ranks, library_only)
    at = np.array([np.exp(np.interp(np.log(message_B), np.log(SIZES), np.log(row))) for row in found.time_s])
    inside = found.n_hosts <= found.system.hosts_per_domain
    return Reading(found, float(message_B), at, SYSTEMS[system][1] if inside else "network")


def ring_tree_or_switch() -> Explorer:
    """Return the explorer of the lesson: ranks, message, system, and who takes part.

    >>> shown = ring_tree_or_switch()
    >>> shown.set(system="dgx-a100")
    >>> shown.figure.layout.title.text
    '8 GPUs: ring is the only one that takes part'
    """
    for system in SYSTEMS:  # price all of them now, a second or so, so that every choice answers at once
        for n_ranks in COUNTS:
            for library_only in (True, False):
                _contest(system, n_ranks, library_only)
    return Explorer(
        race,
        lambda now: contest_figure(now.found, now.message_B, role=now.role),
        question=_("Which algorithm is the quickest, for which message, on how many GPUs?"),
        equation=_equation,
        sentence=_sentence,
        n_ranks=CountSlider(_("GPUs"), 2, 128, 8, counts=COUNTS),
        message_B=SizeSlider(_("marked message"), 8, 2**34, 2**20),
        system=Choice(_("on"), tuple((text, name) for name, (text, _role) in SYSTEMS.items())),
        library_only=Choice(_("takes part"), WHO),
    )


def _at(now: Reading) -> Prediction:
    return predict("all_reduce", now.message_B, now.found.system, now.found.n_ranks)


def _equation(now: Reading) -> tuple[str, str]:
    p = _at(now)
    parts = sorted((term for term in p.terms.items() if term[1] > 1e-3 * p.time_s), key=lambda term: -term[1])
    return (
        _("time of the library's choice = {names}").format(names=" + ".join(_(name) for name, _s in parts)),
        f"{say_time(p.time_s)} = {' + '.join(say_time(s) for _name, s in parts)}",
    )


def _sentence(now: Reading) -> str:
    found, p, i = now.found, _at(now), now.best
    last = int(np.argmax(now.at_s))
    first = _("{size} on {n} GPUs ({hosts}): {best} takes {time}").format(
        size=say_bytes(now.message_B),
        n=found.n_ranks,
        hosts=_("one host") if found.n_hosts == 1 else _("{n} hosts").format(n=found.n_hosts),
        best=_(found.names[i]),
        time=say_time(float(now.at_s[i])),
    )
    ratio = float(now.at_s[last] / now.at_s[i])
    if ratio > 1.005:
        first += _(", {worst} {ratio} × as long").format(
            worst=_(found.names[last]), ratio=say_number(ratio, 3 if ratio < 2 else 2)
        )
    return (
        first
        + ". "
        + _("A library takes {algorithm} with the protocol {protocol}: bus bandwidth {rate}.").format(
            algorithm=_(p.algorithm), protocol=p.protocol, rate=say_rate(p.busbw_Bps)
        )
    )


# What the cells before the explorer show


def in_a_row(algorithms: Sequence[str], message_B: float, system: str = "dgx-h100", n_ranks: int = 8) -> go.Figure:
    """Return all-reduces along one time axis, each step on the wires of a system; names as in `comm.registry`.

    >>> in_a_row(["ring", "binomial"], 0).layout.title.text
    '0 B: binomial takes 6 µs, ring 14 µs, 2.3 × as long'
    """
    place = load(system)
    per_domain = min(n_ranks, place.gpus_per_domain)
    machine = topology_of(place, -(-n_ranks // place.gpus_per_host))
    lines = []
    for name in algorithms:
        inner = {"ranks_per_domain": per_domain} if name.startswith("hierarchical-") else {}
        schedule = registry.build("all_reduce", n_ranks, name, **inner)
        lines.append(timeline(stepped(schedule, machine, switches(schedule, machine, per_domain)), message_B))
    return in_time(list(algorithms), lines)


def plane(n_ranks: int, *, switch: bool = False) -> go.Figure:
    """Return steps and bytes of the algorithms that have a closed form on `n_ranks`, a power of two; `switch` adds those in it.

    >>> plane(64).layout.title.text.replace("<br>", " ")
    'On 64 GPUs: ring takes 126 steps and 1.97 messages, binomial tree 12 steps and 12'
    """
    names = {
        "ring": "ring",
        "binomial": _("binomial tree"),
        "halving-doubling": _("halving–doubling"),
        "direct": _("direct"),
    }
    deep = {"in-network": _("NVLS"), "sharp": _("push-up")} if switch else {}
    forms = [form("all_reduce", name, n_ranks) for name in names] + [form("all_reduce", name, n_ranks) for name in deep]
    bytes_ = [f.factor for f in forms[: len(names)]] + [max(carried("all_reduce", name, n_ranks)) for name in deep]
    best = list(deep.values())
    return steps_and_bytes([*names.values(), *best], [f.steps for f in forms], bytes_, n_ranks, best=best)


def on_wires(system: str, n_ranks: int, algorithms: Sequence[str], message_B: float = GiB) -> dict[str, str]:
    """Return the time of all-reduces on the wires of a system alone, in words; names as in `comm.registry`.

    >>> on_wires("dgx-h100", 8, ["ring", "binomial"])
    {'ring': '4.19 ms', 'binomial': '14.3 ms'}
    """
    times = {a: predict("all_reduce", message_B, system, n_ranks, algorithm=a, ideal=True).time_s for a in algorithms}
    return {name: say_time(time_s) for name, time_s in times.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Ramp:
    """Published bus bandwidths of 8 GiB on part of eight H200, (5,) each: adding in the switch allowed, and switched off."""

    n_ranks: np.ndarray
    allowed_Bps: np.ndarray
    off_Bps: np.ndarray

    @property
    def gain(self) -> np.ndarray:
        """Allowed over switched off."""
        return self.allowed_Bps / self.off_Bps

    @property
    def wire_Bps(self) -> np.ndarray:
        """What a link carried in one direction: by the bytes of NVLS where there is a gain, by those of the ring where there is none."""
        switched = self.gain > 1
        law = [wire_Bps("all_reduce", "in-network", int(n), b) for n, b in zip(self.n_ranks, self.allowed_Bps)]
        return np.where(switched, law, self.off_Bps)


def ramp() -> Ramp:
    """Return the published measurement of bus bandwidth over GPUs on an eight-GPU H200 host.

    >>> ramp().gain.round(2).tolist()
    [1.0, 1.14, 1.19, 1.26, 1.29]
    """
    read = lambda what: np.array([hardware.value("measured-busbw", f"h200_{n}_{what}_busbw_Bps") for n in RAMP_GPUS])  # noqa: E731
    return Ramp(np.array(RAMP_GPUS), read("nvls"), read("ring"))


def ramp_figure() -> go.Figure:
    """Return the published ramp with the limits of both forms of adding in the network, and of the link.

    >>> len(ramp_figure().data)
    5
    """
    seen, link_Bps = ramp(), load("dgx-h200").scale_up.bandwidth_Bps
    n = np.arange(2, 17)
    limits = {
        name: np.array([busbw_limit_Bps("all_reduce", algorithm, int(k), link_Bps) for k in n])
        for name, algorithm in ((_("NVLS"), "in-network"), (_("push-up"), "sharp"))
    }
    return busbw_over_gpus(n, limits, link_Bps, seen.n_ranks, seen.allowed_Bps, seen.off_Bps)


def sweep_figure(name: str) -> go.Figure:
    """Return a published all-reduce sweep inside one box from 64 KiB on, the predictor's choice and its ring beside it.

    Constants are those that did not see the sweep, where it judges.

    Raises:
        CourseError: no all-reduce sweep of that name in the package.

    >>> sweep_figure("m118").layout.title.text.replace("<br>", " ")
    '8x H100 80GB HBM3: 480 GB/s of bus bandwidth on a link of 450 GB/s'
    """
    known = {one.name: one for one in sweeps() if one.op == "all_reduce"}
    one = known[one_of(_("all-reduce sweep"), name, known)]
    link_Bps = one.system.scale_up.bandwidth_Bps
    column = "training" if part(one) == "judging" else "shipped"
    shown = one.message_B >= LEAST_SHOWN_B
    sizes = one.message_B[shown]
    asked = {"n_hosts": one.n_hosts, "column": column}
    choice = predict(one.op, sizes, one.system, one.n_ranks, **asked).busbw_Bps
    ring = predict(one.op, sizes, one.system, one.n_ranks, algorithm="ring", **asked).busbw_Bps
    measured = sizes / one.time_s[shown] * bus_factor(one.op, one.n_ranks)
    return choice_beside(sizes, measured, choice, ring, link_Bps, one.measured_on.split(" (")[0])


# NCCL's own spelling of what it chose, from 2.24 on; before, numbers stood in their place.
_ALGORITHM = {"ring": "RING", "tree": "TREE", "in-network": "NVLS", "in-network tree": "NVLS_TREE"}


def tuning_log(message_B: Sequence[float], system: str = "dgx-h200", n_ranks: int = 8) -> str:
    """Return the predictor's choices as the library's log prints its own (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING).

    >>> print(tuning_log([2**20]))
    host-1:1702 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128
    """
    p = predict("all_reduce", np.asarray(message_B, dtype=float), system, n_ranks)
    return "\n".join(
        f"host-1:1702 [0] NCCL INFO AllReduce: {int(m)} Bytes -> Algo {_ALGORITHM.get(str(a), str(a))} proto {str(q).upper()}"
        for m, a, q in zip(p.message_B, p.algorithm, p.protocol)
    )


def tests_table(message_B: Sequence[float], time_s: Sequence[float], n_ranks: int) -> str:
    """Return times as the rows that nccl-tests prints for an all-reduce: size, time in µs, algorithm and bus bandwidth in GB/s.

    >>> print(tests_table([8 * 2**20], [90e-6], 8))
          size (B)   time (us)  algbw (GB/s)  busbw (GB/s)
           8388608       90.00         93.21        163.11
    """
    head = f"{'size (B)':>14}{'time (us)':>12}{'algbw (GB/s)':>14}{'busbw (GB/s)':>14}"
    factor = bus_factor("all_reduce", n_ranks)
    rows = [
        f"{int(m):>14}{t * 1e6:>12.2f}{m / t / 1e9:>14.2f}{m / t / 1e9 * factor:>14.2f}"
        for m, t in zip(message_B, time_s)
    ]
    return "\n".join([head, *rows])


def parts_of_hierarchy(message_B: float, domains: int, per_domain: int, inner: tuple, outer: tuple) -> dict[str, str]:
    """Return the three parts of a hierarchical ring all-reduce as times; `inner` and `outer` are (latency_s, bandwidth_Bps).

    >>> parts_of_hierarchy(2**30, 4, 8, (1e-6, 450e9), (5e-6, 50e9))["all-gather inside"]
    '2.09 ms'
    """
    return {
        _("reduce-scatter inside"): say_time(time_s("reduce_scatter", "ring", message_B, per_domain, *inner), 3),
        _("all-reduce of a shard between"): say_time(
            time_s("all_reduce", "ring", message_B / per_domain, domains, *outer), 3
        ),
        _("all-gather inside"): say_time(time_s("all_gather", "ring", message_B, per_domain, *inner), 3),
    }
