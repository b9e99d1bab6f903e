"""One depth: an algorithm stepped on its machine at one depth of its pipeline, as latency and seconds per byte."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.comm import hierarchical as two_levels
from course_lib.comm import registry, rings
from course_lib.comm.schedule import Schedule
from course_lib.fabric.topology import LINK_KINDS
from course_lib.timing import place
from course_lib.timing.laws import shape
from course_lib.timing.stepped import Timing, stepped
from course_lib.timing.system import System

MOST_PRICED = 1024  # ranks up to which every shallow pipeline is priced by itself
MOST_CHANNELS = 16  # GPUs of a mesh that are given all its rings
CUBE = "nvlink-cube"
TWO_LEVELS = ("all_reduce", "reduce_scatter", "all_gather")


@dataclass(frozen=True, slots=True)
class Line:
    """A schedule's stepped time as a line: seconds and seconds per byte, apart for repeats that stay inside and that leave."""

    pieces: int
    repeats: tuple[float, float]
    fixed_s: tuple[float, float]
    per_byte_s: tuple[float, float]


def domains_and_ranks(system: System, n: int, n_hosts: int) -> tuple[int, int]:
    """Return how many scale-up domains the ranks fill, and how many ranks are in each.

    >>> from course_lib.timing.system import load
    >>> domains_and_ranks(load("dgx-h100"), 64, 8)
    (8, 8)
    """
    s = shape(system, n, n_hosts)
    return s.domains, s.k


def line(op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None) -> Line:
    """Step one algorithm at one pipeline depth (None: it has no pipeline).

    >>> from course_lib.timing.system import load
    >>> line("all_reduce", "ring", load("dgx-h100"), 8, 1, None).repeats
    (14.0, 0.0)
    """
    return summed(stepped_on(op, algorithm, system, n, n_hosts, pieces)[1], pieces)


def schedule_on(op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None) -> Schedule:
    """Return an algorithm's schedule for these ranks: two levels by the domains, switches that add by the network's leaves.

    >>> from course_lib.timing.system import load
    >>> schedule_on("all_reduce", "hierarchical-ring", load("dgx-h100"), 16, 2, None).n_ranks
    16
    """
    domains, k = domains_and_ranks(system, n, n_hosts)
    hierarchical = {"ranks_per_domain": k} if algorithm.startswith("hierarchical-") else {}
    radix = 32
    inner, _plus, outer = algorithm.removeprefix("hierarchical-").rpartition("+")
    if (
        hierarchical
        and op in TWO_LEVELS
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


def stepped_on(
    op: str, algorithm: str, system: System, n: int, n_hosts: int, pieces: int | None
) -> tuple[Schedule, Timing]:
    """Return that schedule and its timing on the system's machine.

    >>> from course_lib.timing.system import load
    >>> int(stepped_on("all_reduce", "ring", load("dgx-h100"), 8, 1, None)[1].repeats.sum())
    14
    """
    machine, k = place.topology_of(system, n_hosts), domains_and_ranks(system, n, n_hosts)[1]
    schedule = schedule_on(op, algorithm, system, n, n_hosts, pieces)
    return schedule, stepped(schedule, machine, place.switches(schedule, machine, k))


def summed(t: Timing, pieces: int | None, repeats=None, second_per_B=None) -> Line:
    """Return a timing as a line, its repeats inside and between domains apart; `repeats` and `second_per_B` replace its own.

    >>> from course_lib.timing.system import load
    >>> summed(stepped_on("all_reduce", "ring", load("dgx-h100"), 8, 1, None)[1], None).repeats
    (14.0, 0.0)
    """
    repeats = t.repeats.astype(float) if repeats is None else repeats
    second = t.second_per_B if second_per_B is None else second_per_B
    split = lambda x: (float(x[~t.crosses].sum()), float(x[t.crosses].sum()))  # noqa: E731
    return Line(pieces or 0, split(repeats), split(repeats * t.latency_s), split(repeats * second))


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
