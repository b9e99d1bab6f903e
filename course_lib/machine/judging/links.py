"""What links and the network let through, beside what a sweep reached, as sentences."""

from course_lib.base.language import _
from course_lib.base.units import say_rate, say_share
from course_lib.comm.meaning import bus_factor
from course_lib.machine.fabricof import NVLINK_SHARE
from course_lib.machine.records import Finding
from course_lib.timing.system import System

BOUND_SLACK = 1.03


def link_limit(op: str, n: int, place: System | None, hosts: int | None) -> float | None:
    """Return the bus bandwidth that no algorithm exceeds inside one domain: every byte enters a GPU through its links.

    A sum in the switch takes each byte once where a ring takes it 2(n−1)/n times, so all-reduce may reach that multiple.
    """
    if place is None or n > place.gpus_per_domain or (hosts is not None and hosts > place.hosts_per_domain):
        return None
    up = place.scale_up
    return up.bandwidth_Bps * (float(bus_factor(op, n)) if up.in_network_reduction and op == "all_reduce" else 1.0)


def against_bounds(best, limits, bounds, hosts, findings, arithmetic) -> bool:
    """Compare with the network's limits; say whether a ring is excluded."""
    hard = limits.get("hard") or limits.get("all-to-all") or limits.get("ring")
    first = bounds[0]
    if best > BOUND_SLACK * hard:
        text = _("{best} is above what the network lets through ({cap}): are the cards' count and rate right?")
        findings.append(Finding("above-bound", text.format(best=say_rate(best), cap=say_rate(hard))))
        return False
    if "ring" in limits and best > BOUND_SLACK * limits["ring"]:
        if hosts == 2:
            text = _(
                "{best} is above a ring's {ring}, below a tree's {tree}: possible, a tree. "
                "NCCL_ALGO=RING is the right mode for a test of the network."
            )
            arithmetic.append(text.format(best=say_rate(best), ring=say_rate(limits["ring"]), tree=say_rate(hard)))
        else:
            text = _(
                "{best} is above a ring's limit {ring}, though under the hard limit {hard}: which "
                "algorithm, and how many cards of what rate? Run with NCCL_ALGO=RING."
            )
            words = text.format(best=say_rate(best), ring=say_rate(limits["ring"]), hard=say_rate(hard))
            findings.append(Finding("above-ring", words))
        return True
    text = _("measured {best} is {share} of the {name} limit {cap}")
    arithmetic.append(
        text.format(
            best=say_rate(best), share=say_share(best / first.busbw_Bps), name=first.name, cap=say_rate(first.busbw_Bps)
        )
    )
    return False


def wire_in_switch(op, n, place, hosts, algorithm, best, arithmetic) -> float | None:
    """Return what a sum in the switch puts on each GPU's link, (n + 1)/n of the algorithm bandwidth."""
    if algorithm.name != "in-network" or op != "all_reduce" or best is None or hosts not in (None, 1):
        return None
    algbw = best / float(bus_factor(op, n))
    wire = algbw * (n + 1) / n
    text = _("the switch adds: algbw {algbw} × (n+1)/n = {wire} on each GPU's link")
    words = text.format(algbw=say_rate(algbw), wire=say_rate(wire))
    if place is not None:
        words += _(", {share} of {link}").format(
            share=say_share(wire / place.scale_up.bandwidth_Bps), link=say_rate(place.scale_up.bandwidth_Bps)
        )
    arithmetic.append(words + _(". Bus bandwidth assumes a ring, so it may stand above the link's rate."))
    return wire


def link_arithmetic(op, n, place, hosts, best, per_pair, link_Bps, arithmetic, wire) -> None:
    """Add, inside one host, what was reached beside the rate of the links between two GPUs, or of all links of one."""
    if best is None or hosts not in (None, 1):
        return
    if per_pair and link_Bps and op == "send_recv":
        raw = per_pair * link_Bps
        text = _("{k} links a pair × {link} = {raw} raw, about {net} after packets; measured {best} is {share} of that")
        net = raw * NVLINK_SHARE
        arithmetic.append(
            text.format(
                k=per_pair,
                link=say_rate(link_Bps),
                raw=say_rate(raw),
                net=say_rate(net),
                best=say_rate(best),
                share=say_share(best / net),
            )
        )
    elif per_pair and link_Bps and n > 2:
        text = _("{k} links to each of {m} neighbours × {link} = {raw} a GPU: all neighbours are used")
        arithmetic.append(
            text.format(k=per_pair, m=n - 1, link=say_rate(link_Bps), raw=say_rate(per_pair * (n - 1) * link_Bps))
        )
    elif place is not None and place.scale_up.kind == "switch" and wire is None:
        raw = place.scale_up.bandwidth_Bps
        text = _(
            "one direction of a GPU's links: {raw} raw, about {net} after packets; measured {best} is {share} of that"
        )
        net = raw * NVLINK_SHARE
        arithmetic.append(
            text.format(raw=say_rate(raw), net=say_rate(net), best=say_rate(best), share=say_share(best / net))
        )
