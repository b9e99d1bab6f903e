"""Lines: the stepped time of an algorithm as latency and seconds per byte, at every depth of its pipeline."""

import functools

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.comm import registry, rings
from course_lib.comm.overlap import overlap
from course_lib.comm.schedule import Schedule
from course_lib.timing import place
from course_lib.timing.beyond import SHARDED, direct_line, on_rails, sharded
from course_lib.timing.onedepth import (
    CUBE,
    MOST_PRICED,
    TWO_LEVELS,
    Line,
    domains_and_ranks,
    line,
    rings_of,
    schedule_on,
    stepped_on,
    summed,
)
from course_lib.timing.stepped import Timing, stepped
from course_lib.timing.system import System

MOST_DIRECT = 512  # ranks up to which n² transfers are stepped; the closed form is the same beyond
LONG = 256  # repeats until a pipeline is full; longer ones are priced full only
MOST_QUICK = 8192  # ranks beyond which only the two-level algorithms are weighed
MOST_OVERLAPPED = 1 << 18  # transfers of an algorithm that is put in a pipeline as a whole
MANY = 256  # ranks beyond which fewer shallow depths are priced
GRID = 4  # depths priced per doubling


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
        return (direct_line(op, system, n, n_hosts),)
    if n > MOST_QUICK and op == "all_reduce" and algorithm in SHARDED and on_rails(system, n, n_hosts):
        return (sharded(algorithm, system, n, n_hosts),)
    if not registry.has_pipeline(op, algorithm):
        return (line(op, algorithm, system, n, n_hosts, None),)
    first = schedule_on(op, algorithm, system, n, n_hosts, 1)
    fill = max(2, 1 + max((int(step.first.max(initial=0)) for step in first.steps), default=0))
    shallow = sorted({round(2 ** (i / GRID)) for i in range(GRID * 20)} | {1, 2, 3})
    few = [p for p in shallow if p < fill]
    if n > 64:  # the best depth of a long pipeline is rarely a shallow one
        few = [p for p in few if p & (p - 1) == 0] if n <= MOST_PRICED and fill <= LONG else []
    try:
        found = [line(op, algorithm, system, n, n_hosts, p) for p in few]
        full, timing = stepped_on(op, algorithm, system, n, n_hosts, fill)
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
    return summed(t, p, repeats, second)


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
    domains, k = domains_and_ranks(system, n, n_hosts)
    chains = op in ("broadcast", "reduce")
    if n != domains * k or k == 1 or (domains > 1 and not chains) or not (chains or op in TWO_LEVELS):
        return ()
    orders = rings_of(system, k)
    if len(orders) * (k if domains > 1 else 1) * n > MOST_OVERLAPPED or not len(orders):
        return ()
    if domains == 1 and len(orders) == 1 and system.scale_up.family != CUBE:
        return ()
    machine = place.topology_of(system, n_hosts)
    where = place.ranks(machine, n, k)
    if not chains:
        return (summed(stepped(getattr(rings, op)(orders), machine, where), None),)

    def at(pieces: int) -> tuple[Schedule, Timing]:
        made = getattr(rings, op)(orders, n_domains=domains, pipeline=pieces)
        return made, stepped(made, machine, where)

    fill = max(2, at(1)[0].repeats)
    full, timing = at(fill)
    few = [1 << i for i in range(0, fill.bit_length(), 1 if n <= MANY else 3) if 1 << i < fill]
    found = [summed(at(p)[1], p) for p in few]
    return tuple(found + [_deeper(full, timing, [0], p) for p in _depths(fill)])


@functools.lru_cache(maxsize=256)
def halves(op: str, system: System, n: int, n_hosts: int) -> tuple[Line, ...]:
    """Return the lines of a direct broadcast or reduce in two halves: scatter and all-gather, or reduce-scatter and gather.

    Two steps, and twice the message over the root's links; nothing between domains or on many ranks.

    >>> from course_lib.timing.system import load
    >>> halves("broadcast", load("mi300x"), 8, 1)[0].repeats
    (2.0, 0.0)
    """
    domains, _k = domains_and_ranks(system, n, n_hosts)
    if domains > 1 or n > MOST_DIRECT:
        return ()
    ends = ("scatter", "all_gather") if op == "broadcast" else ("reduce_scatter", "gather")
    made = registry.build(ends[0], n, "direct").then(registry.build(ends[1], n, "direct"), op=op)
    return (summed(stepped(made, place.topology_of(system, n_hosts)), None),)


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
    base = schedule_on(op, algorithm, system, n, n_hosts, 1 if registry.has_pipeline(op, algorithm) else None)
    if not base.n_transfers or base.n_transfers > MOST_OVERLAPPED:
        return ()
    machine, k = place.topology_of(system, n_hosts), domains_and_ranks(system, n, n_hosts)[1]

    def at(pieces: int) -> tuple[Schedule, Timing]:
        made = overlap(base, pieces)
        return made, stepped(made, machine, place.switches(made, machine, k))

    fill = max(2, base.repeats)
    few = [1 << i for i in range(1, fill.bit_length(), 1 if n <= MANY else 3) if 1 << i < fill]
    full, timing = at(fill)
    found = [summed(at(p)[1], p) for p in few]
    return tuple(found + [_deeper(full, timing, [0], p) for p in _depths(fill)])
