"""Suspect: the algorithm that the shape of a sweep speaks for, and what the log itself says about it."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import say_rate, say_time
from course_lib.machine.judging.shape import Shape
from course_lib.machine.ncclfacts import Fact
from course_lib.machine.records import Suspected
from course_lib.timing.system import System

HOST_STAGED_Bps = 40e9  # PCIe 5 host memory staging stays below
SOCKET_ALPHA_S = 40e-6


def codes(facts: tuple[Fact, ...]) -> dict[str, str]:
    """Return the facts of a log as code to value, the first of each code.

    >>> codes((Fact("algorithm", 3, 1, "ring"),))
    {'algorithm': 'ring'}
    """
    found: dict[str, str] = {}
    for fact in facts:
        found.setdefault(fact.code, fact.value)
    return found


def suspected(
    op: str | None, n: int | None, hosts: int | None, shape: Shape, system: System | None, facts
) -> Suspected:
    """Return the algorithm a sweep speaks for.

    Order: what the log states; bandwidths only one algorithm reaches; bandwidths that betray a detour; the ring.
    """
    said = codes(facts)
    stated = said.get("algorithm") or said.get("set: NCCL_ALGO", "").lower()
    if stated:
        names = {"nvls": "in-network", "nvls tree": "in-network", "nvlstree": "in-network"}
        name = "in-network" if stated.startswith("CollNet") else names.get(stated.lower(), stated)
        return Suspected(name, _("the log names it"))
    if "via sockets" in said:
        return Suspected("sockets", _("the log says that data goes through NET/Socket"))
    if "via shared memory" in said and hosts in (None, 1):
        return Suspected("staged through the host", _("the log says that data goes through shared memory (SHM)"))
    best = shape.plateau_Bps
    if op is None or n is None or best is None or n < 2:
        return Suspected("unknown", _("sizes, ranks or the collective are missing"))
    if op in ("all_to_all", "send_recv"):
        return Suspected("direct", _("this collective has only one algorithm"))
    inside = hosts == 1 or (hosts is None and system is not None and n <= system.gpus_per_domain)
    if system is not None and inside:
        up = system.scale_up
        if op == "all_reduce" and n > 2 and best > 0.87 * up.bandwidth_Bps:
            text = _("bus bandwidth {best} is more than a ring gets through a link of {link}")
            return Suspected("in-network", text.format(best=say_rate(best), link=say_rate(up.bandwidth_Bps)))
        if up.kind != "pcie" and best < HOST_STAGED_Bps and best < 0.35 * up.bandwidth_Bps and not shape.rising:
            text = _("{best} is the speed of PCIe, not of links of {link}")
            return Suspected(
                "staged through the host", text.format(best=say_rate(best), link=say_rate(up.bandwidth_Bps))
            )
        return Suspected("ring", _("the bandwidth at large sizes is what a ring reaches"))
    if system is not None and system.scale_out is not None and hosts and hosts > 1:
        host_Bps = system.scale_out.nics_per_host * system.scale_out.bandwidth_Bps
        if op == "all_reduce" and best > 1.02 * host_Bps:
            name = "tree" if hosts == 2 else "in-network or tree"
            text = _("bus bandwidth {best} is more than a ring gets through {host} a host")
            return Suspected(name, text.format(best=say_rate(best), host=say_rate(host_Bps)))
        if shape.fit and shape.fit.latency_s > SOCKET_ALPHA_S * max(1.0, np.log2(hosts)) and best < 0.25 * host_Bps:
            text = _("a latency of {alpha} and under a quarter of the cards' rate")
            return Suspected("sockets", text.format(alpha=say_time(shape.fit.latency_s)))
        return Suspected("ring", _("the bandwidth at large sizes stays below the cards of a host"))
    return Suspected("unknown", _("the machine is not known; name it with --system"))
