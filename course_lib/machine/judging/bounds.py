"""Bounds: what the network of hosts allows a collective, whatever the algorithm."""

from dataclasses import dataclass

from course_lib.base.errors import finite, whole
from course_lib.base.language import _
from course_lib.base.units import say_rate
from course_lib.comm.meaning import bus_factor, canonical_op


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of the bus bandwidth: its name (ring, two-host tree, hard, all-to-all), value and arithmetic."""

    name: str
    busbw_Bps: float
    arithmetic: str


def network_bounds(op: str, n_ranks: int, n_hosts: int, host_Bps: float) -> list[Bound]:
    """Return what a network lets through.

    Args:
        op: the collective.
        n_ranks: ranks, spread evenly.
        n_hosts: hosts; 1 gives no bound.
        host_Bps: all cards of one host together, one direction.

    Validity: full bisection between hosts; nothing else uses the cards. The hard bound counts bytes that have to
    leave each host; a ring needs busbw ≤ the host's rate; on two hosts a tree sends each byte once.

    >>> [(b.name, round(b.busbw_Bps / 1e9, 2)) for b in network_bounds("all_reduce", 16, 2, 50e9)]
    [('ring', 50.0), ('two-host tree', 93.75), ('hard', 93.75)]
    >>> [(b.name, round(b.busbw_Bps / 1e9, 1)) for b in network_bounds("all_reduce", 32, 4, 50e9)]
    [('ring', 50.0), ('hard', 64.6)]
    >>> round(network_bounds("all_to_all", 64, 8, 12.5e9)[0].busbw_Bps / 1e9, 2)
    1.76
    """
    op, n, hosts = canonical_op(op), whole("n_ranks", n_ranks, at_least=1), whole("n_hosts", n_hosts, at_least=1)
    rate = finite("host_Bps", host_Bps, above=0, unit="B/s")
    if hosts < 2 or n <= hosts - 1:
        return []
    factor, per, said = float(bus_factor(op, n)), n / hosts, say_rate(rate)
    if op == "all_to_all":
        cap = rate / per * (n - 1) / (n - per)
        text = _("card rate per GPU {rate} × (n−1)/(n−M) = {rate} × {a}/{b} = {cap}")
        words = text.format(rate=say_rate(rate / per), a=n - 1, b=f"{n - per:g}", cap=say_rate(cap))
        return [Bound("all-to-all", cap, words)]
    found = []
    ring = _("a ring sends every byte through each host's cards: busbw ≤ {rate}").format(rate=said)
    if op in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"):
        found.append(Bound("ring", rate, ring))
    if op == "all_reduce":
        if hosts == 2:
            cap = rate * factor
            text = _("a tree over two hosts sends each byte over the network once: busbw ≤ {rate} × 2(n−1)/n = {cap}")
            found.append(Bound("two-host tree", cap, text.format(rate=said, cap=say_rate(cap))))
        hard = rate * hosts / (2 * (hosts - 1)) * factor
        text = _("bytes that have to leave a host: algbw ≤ {rate} × N/(2(N−1)), so busbw ≤ {cap}")
        found.append(Bound("hard", hard, text.format(rate=said, cap=say_rate(hard))))
    elif op in ("reduce_scatter", "all_gather"):
        hard = rate * hosts / (hosts - 1) * factor
        text = _("bytes that have to enter a host: algbw ≤ {rate} × N/(N−1), so busbw ≤ {cap}")
        found.append(Bound("hard", hard, text.format(rate=said, cap=say_rate(hard))))
    return found
