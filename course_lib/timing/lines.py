"""Lines: the stepped time of an algorithm as latency and seconds per byte, at every depth of its pipeline."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.comm import hierarchical as two_levels
from course_lib.comm import registry, rings
from course_lib.comm.overlap import overlap
from course_lib.comm.schedule import Schedule
from course_lib.fabric.topology import LINK_KINDS
from course_lib.timing import place
from course_lib.timing.closedform import Form, form
from course_lib.timing.laws import shape
from course_lib.timing.stepped import Timing, stepped
from course_lib.timing.system import System

MOST_DIRECT = 512  # ranks up to which n² transfers are stepped; the closed form is the same beyond
MOST_PRICED = 1024  # ranks up to which every shallow pipeline is priced by itself
LONG = 256  # repeats until a pipeline is full; longer ones are priced full only
MOST_QUICK = 8192  # ranks beyond which only the two-level algorithms are weighed
MOST_OVERLAPPED = 1 << 18  # transfers of an algorithm that is put in a pipeline as a whole
MANY = 256  # ranks beyond which fewer shallow depths are priced
MOST_CHANNELS = 16  # GPUs of a mesh that are given all its rings
GRID = 4  # depths priced per doubling
CUBE = "nvlink-cube"
_TWO_LEVELS = ("all_reduce", "reduce_scatter", "all_gather")
OUTER = ("ring", "halving-doubling")
SHARDED = tuple(f"hierarchical-{inner}{outer}" for inner in ("", "direct+") for outer in OUTER)  # closed forms on rails


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
    inner, _plus, outer = algorithm.removeprefix("hierarchical-").rpartition("+")
    if (
        hierarchical
        and op in _TWO_LEVELS
        and inner in ("", "ring")
        and system.scale_up.family == CUBE
        and n == k * domains
    ):
        orders = rings_of(system, k)[: None if n <= MOST_PRICED else 1]
        if len(orders):
            between = registry.build(op, domains, outer, pipeline=pieces)
            before, after = (getattr(rings, end)(orders) for end in ("reduce_scatter", "all_gather"))
            if op == "all_reduce":
                return two_levels.all_reduce(before, between, after)
            return getattr(two_levels, op)(before if op == "reduce_scatter" else after, between)
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


@functools.lru_cache(maxsize=64)
def rings_of(system: System, k: int) -> NDArray[np.int64]:
    """Return the rings (c, k) that a library runs on k GPUs of one domain: by all their links, or one ring where a switch joins them.

    A cube mesh has as many as its cables allow; (0, k) where k of its GPUs have no ring.

    >>> from course_lib.timing.system import load
    >>> [len(rings_of(load(name), 8)) for name in ("dgx-h100", "mi300x", "dgx1-p100", "dgx1-v100")]
    [1, 14, 4, 6]
    """
    up = system.scale_up
    if k > 2 and up.family == CUBE and system.gpu in place.CUBES:
        machine = place.topology_of(system, 1)
        own = np.isin(machine.link_kind, [LINK_KINDS.index("nvlink")]) & (machine.src < k) & (machine.dst < k)
        table = np.zeros((k, k), np.int64)
        np.add.at(table, (machine.src[own], machine.dst[own]), machine.parallel[own])
        return rings.disjoint(table)
    if k > 2 and up.kind == "mesh" and k <= MOST_CHANNELS:
        return rings.balanced(k)
    if k > 2 and up.kind == "ring" and k == system.gpus_per_domain:
        return np.stack([np.arange(k), np.arange(k)[::-1]])
    return np.arange(k)[None]


@functools.lru_cache(maxsize=256)
def several(op: str, system: System, n: int, n_hosts: int) -> tuple[Line, ...]:
    """Return the lines of the ring algorithm on all rings of a domain at once, and over all cards between domains.

    Nothing where that is the one ring in the order of ranks, or for collectives that have no ring.

    >>> from course_lib.timing.system import load
    >>> v100 = load("dgx1-v100")
    >>> one, six = (f[-1].per_byte_s[0] for f in (lines("all_reduce", "ring", v100, 8, 1), several("all_reduce", v100, 8, 1)))
    >>> round(one / six, 1)  # ranks 3 and 4 meet over PCIe
    9.5
    """
    domains, k = _domains(system, n, n_hosts)
    chains = op in ("broadcast", "reduce")
    if n != domains * k or k == 1 or (domains > 1 and not chains) or not (chains or op in _TWO_LEVELS):
        return ()
    orders = rings_of(system, k)
    if len(orders) * (k if domains > 1 else 1) * n > MOST_OVERLAPPED or not len(orders):
        return ()
    if domains == 1 and len(orders) == 1 and system.scale_up.family != CUBE:
        return ()
    machine = place.topology_of(system, n_hosts)
    where = place.ranks(machine, n, k)
    if not chains:
        return (_summed(stepped(getattr(rings, op)(orders), machine, where), None),)

    def at(pieces: int) -> tuple[Schedule, Timing]:
        made = getattr(rings, op)(orders, n_domains=domains, pipeline=pieces)
        return made, stepped(made, machine, where)

    fill = max(2, at(1)[0].repeats)
    full, timing = at(fill)
    few = [1 << i for i in range(0, fill.bit_length(), 1 if n <= MANY else 3) if 1 << i < fill]
    found = [_summed(at(p)[1], p) for p in few]
    return tuple(found + [_deeper(full, timing, [0], p) for p in _depths(fill)])


@functools.lru_cache(maxsize=256)
def halves(op: str, system: System, n: int, n_hosts: int) -> tuple[Line, ...]:
    """Return the lines of a direct broadcast or reduce in two halves: scatter and all-gather, or reduce-scatter and gather.

    Two steps, and twice the message over the root's links; nothing between domains or on many ranks.

    >>> from course_lib.timing.system import load
    >>> halves("broadcast", load("mi300x"), 8, 1)[0].repeats
    (2.0, 0.0)
    """
    domains, _k = _domains(system, n, n_hosts)
    if domains > 1 or n > MOST_DIRECT:
        return ()
    ends = ("scatter", "all_gather") if op == "broadcast" else ("reduce_scatter", "gather")
    made = registry.build(ends[0], n, "direct").then(registry.build(ends[1], n, "direct"), op=op)
    return (_summed(stepped(made, place.topology_of(system, n_hosts)), None),)


def _depths(fill: int) -> list[int]:
    return sorted({fill, *(round(fill * 2 ** (i / 2)) for i in range(1, 28))})


@functools.lru_cache(maxsize=256)
def overlapped(op: str, algorithm: str, system: System, n: int, n_hosts: int) -> tuple[Line, ...]:
    """Return the lines of an algorithm that is put in a pipeline as a whole, so that its parts work at the same time.

    Nothing for algorithms with too many transfers to be written out.

    >>> from course_lib.timing.system import load
    >>> h100 = load("dgx-h100")
    >>> alone, piped = (f("all_reduce", "hierarchical-ring", h100, 32, 4)[-1] for f in (lines, overlapped))
    >>> round(sum(alone.per_byte_s) / sum(piped.per_byte_s), 1)
    2.0
    """
    base = _schedule(op, algorithm, system, n, n_hosts, 1 if registry.has_pipeline(op, algorithm) else None)
    if not base.n_transfers or base.n_transfers > MOST_OVERLAPPED:
        return ()
    machine, k = place.topology_of(system, n_hosts), _domains(system, n, n_hosts)[1]

    def at(pieces: int) -> tuple[Schedule, Timing]:
        made = overlap(base, pieces)
        return made, stepped(made, machine, place.switches(made, machine, k))

    fill = max(2, base.repeats)
    few = [1 << i for i in range(1, fill.bit_length(), 1 if n <= MANY else 3) if 1 << i < fill]
    full, timing = at(fill)
    found = [_summed(at(p)[1], p) for p in few]
    return tuple(found + [_deeper(full, timing, [0], p) for p in _depths(fill)])


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
    if system.scale_up.family == CUBE:  # its cards are at unequal distances
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
    inner, _plus, between = algorithm.removeprefix("hierarchical-").rpartition("+")
    ends = [
        line(op, inner or "ring", system, s.k, n_hosts // s.domains, None) for op in ("reduce_scatter", "all_gather")
    ]
    power = 1 << (s.domains.bit_length() - 1)
    folded = 2 * (power < s.domains)  # the others give all they have to a neighbour, and get the sum back
    if between == "ring":
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
