"""The published sweeps as records, and which of them train the constants and which only judge."""

import functools
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from course_lib.base import tables
from course_lib.timing.system import System, load

DATA = Path(__file__).parent / "data"
EVERY_THIRD = 3  # of the systems of a family, in order of their names, the 2nd, 5th, 8th … judge


@dataclass(frozen=True, slots=True)
class Sweep:
    """One published sweep: times over message sizes of one collective on one machine, and where it is from."""

    name: str
    measured_on: str
    system: System
    n_ranks: int
    n_hosts: int
    fabric: str
    op: str
    settings: str
    library: str
    flag: str
    source: str
    note: str
    message_B: NDArray[np.float64]
    time_s: NDArray[np.float64]

    @property
    def inside(self) -> bool:
        """Whether all ranks are in one scale-up domain."""
        return self.n_hosts <= self.system.hosts_per_domain

    @property
    def family(self) -> str:
        """The family of links whose constants this sweep speaks of."""
        return self.system.scale_up.family if self.inside else self.system.scale_out.family


@functools.cache
def sweeps() -> tuple[Sweep, ...]:
    """Return the published sweeps that the package carries.

    Chosen from 501 public ones by rule: NCCL's or RCCL's own choice of algorithm (none forced), at least five sizes,
    a machine and a network that are named, peer access as shipped, the newest revision of a page, and one run of
    several that are alike.

    >>> len(sweeps()) > 200
    True
    """
    points = defaultdict(list)
    for row in tables.rows(DATA / "points.csv"):
        points[row["sweep"]].append((float(row["message_B"]), float(row["time_us"]) * 1e-6))
    found = []
    for row in tables.rows(DATA / "sweeps.csv"):
        message_B, time_s = np.array(sorted(points[row["sweep"]])).T
        names = ("fabric", "op", "settings", "library", "flag", "source", "note")
        found.append(
            Sweep(
                row["sweep"],
                row["measured_on"],
                load(row["system"]),
                int(row["n_ranks"]),
                int(row["n_hosts"]),
                *(row[name] for name in names),
                message_B,
                time_s,
            )
        )
    return tuple(found)


@functools.cache
def judging() -> frozenset[str]:
    """Return the systems (as published) that only judge: no constant of the `training` column saw them.

    The rule: in each family of links, systems in order of their names, the 2nd, 5th, 8th … judge; so a family that one
    system measured trains only. Plain TCP sockets train only (their rate is the processor's). Sweeps with a flag do neither.

    >>> len(judging()) > 10
    True
    """
    by_family = defaultdict(set)
    for sweep in sweeps():
        if not sweep.flag and sweep.family != "tcp":
            by_family[sweep.family].add(sweep.measured_on)
    chosen = set()
    for measured_on in by_family.values():
        chosen |= set(sorted(measured_on, key=str.casefold)[1::EVERY_THIRD])
    return frozenset(chosen)


def part(sweep: Sweep) -> str:
    """Return "training", "judging" or "aside" (flagged) for a sweep.

    >>> {part(s) for s in sweeps()} == {"training", "judging", "aside"}
    True
    """
    if sweep.flag:
        return "aside"
    return "judging" if sweep.measured_on in judging() else "training"
