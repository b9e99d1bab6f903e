"""The ideal time: α–β of the system alone, each algorithm stepped on its machine at the best pipeline depth."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm import registry
from course_lib.comm.schedule import Schedule
from course_lib.timing import place
from course_lib.timing.closedform import Form, form
from course_lib.timing.laws import Law, shape
from course_lib.timing.stepped import Timing, stepped
from course_lib.timing.system import System

MOST_DIRECT = 512  # ranks up to which n² transfers are stepped; the closed form is the same beyond
MOST_PRICED = 1024  # ranks up to which every shallow pipeline is priced by itself
LONG = 256  # repeats until a pipeline is full; longer ones are priced full only
MOST_QUICK = 8192  # ranks beyond which only the two-level algorithms are weighed
GRID = 4  # depths priced per doubling
SHARDED = ("hierarchical-ring", "hierarchical-halving-doubling")  # have a closed form on rails
NONE = "none"


@dataclass(frozen=True, slots=True)
class Line:
    """A schedule's stepped time as a line: seconds and seconds per byte, apart for repeats that stay inside and that leave."""

    pieces: int
    repeats: tuple[float, float]
    fixed_s: tuple[float, float]
    per_byte_s: tuple[float, float]


def _domains(system: System, n: int, n_hosts: int) -> tuple[int, int]:
    s = shape(system, n, n_hosts)
    return s.domains, s.k


def line(op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None) -> Line:
    """Step one algorithm at one pipeline depth (None: it has no pipeline).

    >>> from course_lib.timing.system import load
    >>> line("all_reduce", "ring", load("dgx-h100"), 8, 1, None).repeats
    (14.0, 0.0)
    """
    return _summed(_stepped(op, algorithm, system, n, n_hosts, pieces)[1], pieces)


def _schedule(op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None) -> Schedule:
    domains, k = _domains(system, n, n_hosts)
    hierarchical = {"ranks_per_domain": k} if algorithm.startswith("hierarchical-") else {}
    radix = 32
    if "sharp" in algorithm and domains > 1:
        per_leaf = place.topology_of(system, n_hosts).plan.net.hosts_per_block
        radix = [*([] if hierarchical else [max(k, 2)]), max(per_leaf, 2), 64, 64]
    return registry.build(op, n, algorithm, pipeline=pieces, radix=radix, **hierarchical)


def _stepped(
    op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None
) -> tuple[Schedule, Timing]:
    machine, k = place.topology_of(system, n_hosts), _domains(system, n, n_hosts)[1]
    schedule = _schedule(op, algorithm, system, n, n_hosts, pieces)
    return schedule, stepped(schedule, machine, place.switches(schedule, machine, k))


def _summed(t: Timing, pieces: int | None, repeats=None, second_per_B=None) -> Line:
    repeats = t.repeats.astype(float) if repeats is None else repeats
    second = t.second_per_B if second_per_B is None else second_per_B
    split = lambda x: (float(x[~t.crosses].sum()), float(x[t.crosses].sum()))  # noqa: E731
    return Line(pieces or 0, split(repeats), split(repeats * t.latency_s), split(repeats * second))


@functools.lru_cache(maxsize=256)
def lines(op: str, algorithm: str, system: System, n: int, n_hosts: int) -> tuple[Line, ...]:
    """Return the lines of an algorithm at many pipeline depths.

    Beyond the depth at which all transfers overlap, one more piece adds one more repeat with all of them at work, and bytes
    of a repeat shrink with the number of pieces. One depth there gives all deeper ones exactly.

    >>> from course_lib.timing.system import load
    >>> [x.pieces for x in lines("all_reduce", "tree", load("dgx-h100"), 8, 1)][:4]
    [1, 2, 3, 4]
    """
    if algorithm == "direct" and n > MOST_DIRECT:
        return (_direct(op, system, n, n_hosts),)
    if n > MOST_QUICK and op == "all_reduce" and algorithm in SHARDED and on_rails(system, n, n_hosts):
        return (sharded(algorithm, system, n, n_hosts),)
    if not registry.has_pipeline(op, algorithm):
        return (line(op, algorithm, system, n, n_hosts, None),)
    first = _schedule(op, algorithm, system, n, n_hosts, 1)
    fill = max(2, 1 + max((int(step.first.max(initial=0)) for step in first.steps), default=0))
    shallow = sorted({round(2 ** (i / GRID)) for i in range(GRID * 20)} | {1, 2, 3})
    few = [p for p in shallow if p < fill]
    if n > 64:  # the best depth of a long pipeline is rarely a shallow one
        few = [p for p in few if p & (p - 1) == 0] if n <= MOST_PRICED and fill <= LONG else []
    try:
        found = [line(op, algorithm, system, n, n_hosts, p) for p in few]
        full, timing = _stepped(op, algorithm, system, n, n_hosts, fill)
    except CourseError:
        if op in ("reduce_scatter", "all_gather"):  # many pieces would need n² transfers
            return (line(op, algorithm, system, n, n_hosts, 1),)
        raise
    alike = len(first.steps) == len(full.steps)  # else the stages of one piece were steps of their own
    piped = [
        i
        for i, step in enumerate(full.steps)
        if len(step) and (step.count == fill).all() and not (alike and (first.steps[i].count > 1).any())
    ]
    return tuple(found + [_deeper(full, timing, piped, p) for p in sorted({fill, *(q for q in shallow if q > fill)})])


def _deeper(full: Schedule, t: Timing, piped: list[int], p: int) -> Line:
    """The line at p pieces, from a timing at the depth where all transfers of the steps `piped` overlap."""
    repeats, second = t.repeats.astype(float), t.second_per_B.copy()
    for i in piped:
        step = full.steps[i]
        mine, fill = np.flatnonzero(t.step == i), int(step.count[0])
        begins = np.cumsum(t.repeats[mine]) - t.repeats[mine]
        repeats[mine[np.searchsorted(begins, int(step.first.max()), side="right") - 1]] += p - fill
        second[mine] *= fill / p
    return _summed(t, p, repeats, second)


def _direct(op: str, system: System, n: int, n_hosts: int) -> Line:
    """The closed form of direct algorithms, equal to the stepped time below MOST_DIRECT ranks."""
    s = shape(system, n, n_hosts)
    wire = 0.0 if s.domains == 1 else system.scale_out.latency_s
    laps = 2 if op == "all_reduce" else 1
    up_B, net_B = (s.k - 1) / n / s.up_Bps if s.k > 1 else 0.0, 0.0
    if s.domains > 1:
        net_B = s.k * (n - s.k) / n / s.net_host_Bps
    if op in ("broadcast", "reduce", "scatter", "gather"):
        share = n if op in ("broadcast", "reduce") else 1
        up_B, net_B = up_B * share, (n - s.k) / n * share / s.net_gpu_Bps if s.domains > 1 else 0.0
    elif op == "send_recv":
        up_B, net_B = 1 / s.pair_Bps, 1 / s.net_gpu_Bps if s.domains > 1 else 0.0
    away = s.domains > 1
    both = lambda x: (0.0, laps * x) if away else (laps * x, 0.0)  # noqa: E731
    return Line(0, both(1.0), both(wire if away else system.scale_up.latency_s), both(max(up_B, net_B)))


def on_rails(system: System, n: int, n_hosts: int) -> bool:
    """Whether every GPU of full domains has cards of its own, or shares one with as many as all others do, and nothing blocks.

    >>> from course_lib.timing.system import load
    >>> on_rails(load("dgx-h100"), 64, 8), on_rails(load("dgx-h100"), 63, 8)
    (True, False)
    """
    s, out = shape(system, n, n_hosts), system.scale_out
    if system.scale_up.family == "nvlink-cube":  # its cards are at unequal distances
        return False
    if s.domains == 1 or n_hosts % s.domains or out.oversubscription > 1 or s.k * s.domains != n:
        return False
    cards = out.nics_per_host * (n_hosts // s.domains)
    return s.k == system.gpus_per_host * (n_hosts // s.domains) and (cards % s.k == 0 or s.k % cards == 0)


def sharded(algorithm: str, system: System, n: int, n_hosts: int) -> Line:
    """The closed form of a hierarchical all-reduce on rails: one domain stepped, and shards between domains that nobody blocks.

    Equal to the stepped time, which takes seconds on 100,000 ranks and more.

    >>> from course_lib.timing.system import load
    >>> sharded("hierarchical-halving-doubling", load("dgx-h100"), 131072, 16384).repeats
    (14.0, 28.0)
    """
    s = shape(system, n, n_hosts)
    ends = [line(op, "ring", system, s.k, n_hosts // s.domains, None) for op in ("reduce_scatter", "all_gather")]
    power = 1 << (s.domains.bit_length() - 1)
    folded = 2 * (power < s.domains)  # the others give all they have to a neighbour, and get the sum back
    if algorithm == "hierarchical-ring":
        outer = form("all_reduce", "ring", s.domains)
    else:
        outer = form("all_reduce", "halving-doubling", power)
        outer = Form(outer.steps + folded, outer.factor + folded)
    card_B = 1 / s.net_host_Bps
    if system.scale_up.kind == "pcie":
        card_B = max(card_B, 1 / s.k / s.up_Bps)  # one uplink for peers and network
    inside = lambda name: sum(getattr(end, name)[0] for end in ends)  # noqa: E731
    return Line(
        0,
        (inside("repeats"), outer.steps),
        (inside("fixed_s"), outer.steps * system.scale_out.latency_s),
        (inside("per_byte_s"), outer.factor * card_B),
    )


def algorithms(op: str, system: System, n: int, n_hosts: int) -> list[str]:
    """Return the algorithms that an ideal time chooses from on these ranks.

    >>> from course_lib.timing.system import load
    >>> algorithms("all_reduce", load("dgx-a100"), 8, 1)
    ['ring', 'tree', 'binomial', 'halving-doubling', 'direct']
    """
    domains, k = _domains(system, n, n_hosts)
    adds_up, adds_out = (
        system.scale_up.in_network_reduction,
        bool(system.scale_out and system.scale_out.in_network_reduction),
    )
    flat = [a for a in registry.algorithms(op, hierarchical=False) if a not in ("in-network", "sharp")]
    if domains == 1:
        return flat + (["in-network"] if adds_up and "in-network" in registry.algorithms(op) else [])
    if adds_out and op == "all_reduce" and n % domains == 0:
        flat.append("sharp" if k == 1 else "hierarchical-sharp")
    if op == "all_reduce" and k > 1 and n % domains == 0:
        flat += ["hierarchical-ring", "hierarchical-tree", "hierarchical-halving-doubling"]
        if adds_up:
            flat += ["hierarchical-in-network+ring", "hierarchical-in-network+tree"]
            flat += ["hierarchical-in-network+sharp"] if adds_out else []
    if n > MOST_PRICED and op in ("broadcast", "reduce"):
        flat.remove("ring")  # a chain of so many takes minutes to step and is never the quickest
    if n > MOST_QUICK:
        if op == "all_reduce" and k > 1 and n % domains == 0:
            flat = [a for a in flat if a in SHARDED or "sharp" in a]
        elif n & (n - 1) and "halving-doubling" in flat:
            flat.remove("halving-doubling")  # two whole messages more than the others, and minutes to build
    return flat


@functools.lru_cache(maxsize=64)
def ideal_laws(op: str, system: System, n: int, n_hosts: int, algorithm: str | None) -> tuple[list[Law], np.ndarray]:
    """Return laws without fitted constants, and the pipeline depth of each, for one algorithm or for all that fit.

    >>> from course_lib.timing.system import load
    >>> laws, pieces = ideal_laws("all_reduce", load("dgx-h100"), 8, 1, "ring")
    >>> [round(x * 1e6, 3) for x in laws[0].fixed_s.values()]
    [14.0, 0.0]
    """
    names = algorithms(op, system, n, n_hosts) if algorithm is None else [known(op, algorithm, system, n, n_hosts)]
    laws, pieces = [], []
    for name in names:
        try:
            found = lines(op, name, system, n, n_hosts)
        except CourseError:
            if algorithm is not None or len(names) == 1:
                raise
            continue
        for one in found:
            fixed = dict(zip(("scale-up steps", "network steps"), one.fixed_s, strict=True))
            per_byte = dict(zip(("scale-up transfer", "network transfer"), one.per_byte_s, strict=True))
            worst = "network" if one.per_byte_s[1] > one.per_byte_s[0] else "scale-up"
            laws.append(Law(name, NONE, fixed, per_byte, 0.0, worst))
            pieces.append(one.pieces)
    return laws, np.array(pieces)


def known(op: str, algorithm: str, system: System, n: int, n_hosts: int) -> str:
    """Return an algorithm's name as it runs here, or say in words why it cannot.

    >>> from course_lib.timing.system import load
    >>> known("all_reduce", "in-network", load("dgx-h100"), 16, 2)
    'hierarchical-in-network+tree'
    """
    domains, _k = _domains(system, n, n_hosts)
    up, out = system.scale_up, system.scale_out
    if algorithm == "in-network" and domains > 1:
        if out.in_network_reduction:
            return (
                "sharp"
                if _k == 1
                else "hierarchical-sharp"
                if not up.in_network_reduction
                else "hierarchical-in-network+sharp"
            )
        if not up.in_network_reduction:
            raise CourseError(_("No switch of {name} adds.").format(name=system.name))
        return "hierarchical-in-network+tree" if _k > 1 else "tree"
    inner, _plus, outer = algorithm.removeprefix("hierarchical-").rpartition("+")
    if algorithm.startswith("hierarchical-") and outer == "in-network":  # between domains it is the network that adds
        algorithm = f"hierarchical-{inner}+sharp" if inner else "hierarchical-sharp"
    if "in-network" in algorithm and not up.in_network_reduction:
        raise CourseError(
            _("The scale-up switches of {name} do not add; in-network needs some that do.").format(name=system.name)
        )
    if "sharp" in algorithm and not (domains > 1 and out.in_network_reduction):
        raise CourseError(_("The network of {name} does not add here.").format(name=system.name))
    if algorithm.startswith("hierarchical-") and domains == 1:
        raise CourseError(
            _("{algorithm} needs two domains or more; these {n} ranks are all in one.").format(algorithm=algorithm, n=n)
        )
    return algorithm


def log2_ceil(n: int) -> int:
    """Return ⌈log₂ n⌉.

    >>> log2_ceil(9)
    4
    """
    return math.ceil(math.log2(n)) if n > 1 else 0
