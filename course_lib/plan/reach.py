"""Where a group of ranks sits on a system: how many hosts and domains it spans, and how to ask the price of its talk.

Ranks fill hosts one after the other; the domains of a system (racks that share NVLink) are filled equally.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.plan.shares import divisors
from course_lib.timing.system import System


def offsets(strides: tuple[tuple[int, int], ...]) -> NDArray[np.int64]:
    """Return the ranks of the group of rank 0, from (size, stride) of the axes that differ in it.

    >>> offsets(((2, 1), (3, 8))).tolist()
    [0, 1, 8, 9, 16, 17]
    """
    found = np.zeros(1, np.int64)
    for size, stride in strides:
        found = (np.arange(size)[:, None] * stride + found).ravel()
    return found


@dataclass(frozen=True, slots=True)
class Reach:
    """Where one group of a kind sits at its widest: ranks, how they spread over hosts and over domains."""

    n_ranks: int
    n_hosts: int
    ranks_per_host: int
    n_domains: int
    ranks_per_domain: int


@functools.lru_cache(maxsize=4096)
def used_per_domain(system: System, n_ranks: int) -> int:
    """Return how many GPUs of each domain a job uses: all, or as many as fill the domains equally.

    256 ranks on racks of 72 take 64 of each, so that groups of a power of two stay inside.

    >>> from course_lib.timing.system import load
    >>> used_per_domain(load("gb200-nvl72"), 256), used_per_domain(load("gb200-nvl72"), 144), used_per_domain(load("dgx-h100"), 64)
    (64, 72, 8)
    """
    most, host = system.gpus_per_domain, system.gpus_per_host
    if n_ranks <= most or system.hosts_per_domain == 1:
        return most
    whole_hosts = [d for d in divisors(n_ranks) if d <= most and d % host == 0]
    return max(whole_hosts) if whole_hosts and 2 * max(whole_hosts) > most else most


@functools.lru_cache(maxsize=65536)
def reach(strides: tuple[tuple[int, int], ...], per_host: int, per_domain: int, n_ranks: int) -> Reach:
    """Return how the widest group with these (size, stride) spreads; groups start anywhere that the layout lets them.

    >>> reach(((8, 8),), 8, 8, 64)
    Reach(n_ranks=8, n_hosts=8, ranks_per_host=1, n_domains=8, ranks_per_domain=1)
    """
    inside = np.sort(offsets(strides))
    period = int(np.lcm(per_host, per_domain))
    starts = np.arange(0, max(1, min(period, n_ranks - int(inside[-1]))))
    if (
        len(strides) == 1 and strides[0][1] > 0
    ):  # starts that are multiples of the group's own extent, or inside a stride
        size, stride = strides[0]
        starts = starts[starts // stride % size == 0]
    widest = (0, 0, 0, 0)
    for start in np.unique(np.concatenate([starts[:: max(1, len(starts) // 8)], starts[-1:]])):
        hosts, in_hosts = np.unique((inside + start) // per_host, return_counts=True)
        domains, in_domains = np.unique((inside + start) // per_domain, return_counts=True)
        widest = max(widest, (len(domains), len(hosts), int(in_domains.max()), int(in_hosts.max())))
    n = len(inside)
    return Reach(n, widest[1], -(-n // widest[1]), widest[0], -(-n // widest[0]))


@functools.lru_cache(maxsize=256)
def shared(system: System, per_domain_as_host: bool) -> System:
    """Return the system as groups see it that all talk at once: GPUs share cards. `per_domain_as_host` makes a domain one host.

    >>> from course_lib.timing.system import load
    >>> shared(load("aws-p4d"), False).scale_out.bandwidth_Bps / 1e9
    6.25
    """
    up = system
    if per_domain_as_host and system.hosts_per_domain > 1:
        out, k = system.scale_out, system.hosts_per_domain
        up = replace(
            system,
            gpus_per_host=system.gpus_per_domain,
            hosts_per_domain=1,
            hosts=max(1, system.hosts // k),
            scale_out=out and replace(out, nics_per_host=out.nics_per_host * k),
        )
    out = up.scale_out
    if out is not None and out.nics_per_host < up.gpus_per_host:
        total_Bps = out.nics_per_host * out.bandwidth_Bps
        up = replace(
            up, scale_out=replace(out, nics_per_host=up.gpus_per_host, bandwidth_Bps=total_Bps / up.gpus_per_host)
        )
    return up


def view(system: System, at: Reach) -> tuple[System, int, int]:
    """Return (system, ranks, hosts) to ask `timing.tuning.predict` about one group of a kind, when all of the kind talk at once.

    Cards that fewer than the GPUs of a host are shared equally. Groups with a few ranks in each of several NVLink
    domains are placed by domains.

    >>> from course_lib.timing.system import load
    >>> [view(load("dgx-h100"), reach(((8, stride),), 8, 8, 64))[2] for stride in (1, 8)]
    [1, 8]
    """
    if at.n_domains == 1:
        hosts = min(at.n_hosts, system.hosts_per_domain, at.n_ranks)
        return shared(system, False), at.n_ranks, max(hosts, -(-at.n_ranks // system.gpus_per_host))
    if system.hosts_per_domain == 1:
        return shared(system, False), at.n_ranks, max(at.n_hosts, -(-at.n_ranks // system.gpus_per_host))
    hosts = at.n_domains * system.hosts_per_domain
    if at.n_ranks >= hosts and hosts <= system.hosts:
        return shared(system, False), at.n_ranks, hosts
    return shared(system, True), at.n_ranks, max(at.n_domains, -(-at.n_ranks // system.gpus_per_domain))


def check_room(n_ranks: int, system: System) -> None:
    """Refuse more ranks than the system has, and several domains where no network joins them.

    >>> from course_lib.timing.system import load
    >>> check_room(64, load("dgx-h100"))
    """
    if n_ranks > system.n_max:
        raise CourseError(
            _("{n} GPUs are more than {name} has: {hosts} × {g} (hosts × GPUs of a host). Use at most {most}.").format(
                n=n_ranks, name=system.name, hosts=system.hosts, g=system.gpus_per_host, most=system.n_max
            )
        )
    if system.scale_out is None and n_ranks > system.gpus_per_domain:
        raise CourseError(
            _("{name} has no network: the {n} GPUs of this plan do not fit its {most}. Use at most {most}.").format(
                name=system.name, n=n_ranks, most=system.gpus_per_domain
            )
        )
