"""The law of each algorithm and protocol: α + β·m + 2κ√(α·β·m), with α and β made of named parts.

A library sends a message in pieces. With pieces of the best size the time of a pipelined transfer is
(√α + √(βm))², which is α + βm + 2√(αβm): latency, transfer, and between them the filling of the pipeline. Real
pipelines fill a little better or worse, which is the one constant κ. Everything else is counted (steps, bytes over a link),
described by the system (latency, bandwidth) or fitted per family of link (`data/constants.csv`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.timing.system import System

Constants = Mapping[str, float]

#: NCCL's word for how data and flags travel: LL (8 bytes, half of them flags), LL128 (120 of 128 bytes), Simple (bulk).
PROTOCOLS = ("LL", "LL128", "Simple")
#: Cards through which a ring or tree leaves a rack, however many it has: the one published run over racks moves 405 GB/s.
RACK_CARDS = 8
POINT_TO_POINT = ("all_to_all", "send_recv", "scatter", "gather")


@dataclass(frozen=True, slots=True)
class Law:
    """One algorithm with one protocol: seconds that do not grow with the message, seconds per byte, and κ."""

    algorithm: str
    protocol: str
    fixed_s: dict[str, float]
    per_byte_s: dict[str, float]
    kappa: float
    bottleneck: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the ranks sit: `k` in each scale-up domain, `domains` of them, and the rates they see (one direction)."""

    n: int
    k: int
    domains: int
    up_Bps: float
    pair_Bps: float
    net_host_Bps: float
    net_gpu_Bps: float


def shape(system: System, n: int, n_hosts: int) -> Shape:
    """Place `n` ranks evenly on `n_hosts` hosts of `system`.

    A mesh gives a GPU only the links to the ranks that take part; a subset of a host's GPUs uses only its share of
    the network cards (at least one). `pair_Bps` is what one pair of neighbours has.

    >>> from course_lib.timing.system import load
    >>> s = shape(load("dgx-h100"), 4, 2)
    >>> s.k, s.domains, s.net_host_Bps / 1e9
    (2, 2, 100.0)
    """
    domains = math.ceil(n_hosts / system.hosts_per_domain)
    k = math.ceil(n / domains)
    g = system.gpus_per_domain
    up = pair = system.scale_up.bandwidth_Bps
    if system.scale_up.kind == "mesh" and g > 1:
        pair /= g - 1
        up = pair * max(k - 1, 1)
    elif system.scale_up.kind == "ring" and g > 2:
        pair /= 2
        up = pair if k < g else up
    host = gpu = math.inf
    if domains > 1:
        out = system.scale_out
        per_host = math.ceil(n / n_hosts)
        hosts_here = math.ceil(n_hosts / domains)
        cards = out.nics_per_host * min(1.0, max(per_host / system.gpus_per_host, 1 / out.nics_per_host))
        host = cards * hosts_here * out.bandwidth_Bps / out.oversubscription
        gpu = max(out.nics_per_host / system.gpus_per_host, 1.0) * out.bandwidth_Bps / out.oversubscription
    return Shape(n, k, domains, up, pair, host, gpu)


def _laws(algorithm, launch, up_s, net_s, up_B, net_B, copy_B, bulk, c, kappa, protocols=PROTOCOLS) -> list[Law]:
    """The protocols of one algorithm: `up_B`, `net_B`, `copy_B` are seconds per byte over each resource in bulk mode."""
    laws = []
    for protocol in protocols:
        if protocol == "LL":
            stretch, rate, k = 1.0, c["ll_rate"], kappa * c["ll_kappa"]
        elif protocol == "LL128":
            stretch, rate, k = c["ll128_latency"], 120 / 128, kappa * c["ll128_kappa"]
        else:
            stretch, rate, k = bulk, 1.0, kappa
        transfer = "network transfer" if net_B > up_B else "scale-up transfer"
        fixed = {"launch": launch, "scale-up steps": up_s * stretch, "network steps": net_s * stretch}
        per_byte = {transfer: max(up_B, net_B) / rate, "local copy": copy_B}
        laws.append(Law(algorithm, protocol, fixed, per_byte, k, "network" if net_B > up_B else "scale-up"))
    return laws


def laws(op: str, system: System, n: int, n_hosts: int, up: Constants, net: Constants | None) -> list[Law]:
    """Every law a library would weigh for `op` on `n` ranks of `system`, with the constants of its two families.

    >>> from course_lib.timing.system import load
    >>> from course_lib.timing.constants import load as fitted
    >>> sorted({law.algorithm for law in laws("all_reduce", load("dgx-h100"), 8, 1, fitted("up", "nvlink4-switch"), None)})
    ['in-network', 'ring']
    """
    s = shape(system, n, n_hosts)
    inside = s.domains == 1
    hop = up["step"] * system.scale_up.latency_s
    wire = 0.0 if inside else system.scale_out.latency_s
    c, kappa = (dict(up), up["kappa"]) if inside else ({**up, **net}, net["net_kappa"])
    launch = up["launch_us"] * 1e-6 + (0.0 if inside else net["net_launch_us"] * 1e-6)
    bulk = up["bulk_latency"] if inside else net["net_bulk_latency"]
    if not inside:
        c["ll_rate"], c["ll_kappa"] = net["net_ll_rate"], net["net_ll_kappa"]
    ring_up, tree_up = s.up_Bps * up["ring_eff"], s.up_Bps * up["tree_eff"]
    host = s.net_host_Bps * (1.0 if inside else net["net_eff"])
    if not inside and system.hosts_per_domain > 1:
        host = min(host, RACK_CARDS * s.net_gpu_Bps * net["net_eff"])
    copy = up["copy"] * s.up_Bps
    share = (n - 1) / n
    found: list[Law] = []
    if op in POINT_TO_POINT:
        lp = up["p2p_launch_us"] * 1e-6 + (0.0 if inside else net["net_launch_us"] * 1e-6)
        peers = s.k - 1 if op != "send_recv" else 1
        away = n - s.k if op != "send_recv" else 1
        per_gpu = s.up_Bps * up["p2p_eff"]
        if op == "all_to_all":
            up_B = (s.k - 1) / n / per_gpu
            net_B = 0.0 if inside else s.k * (n - s.k) / n / (s.net_host_Bps * net["net_p2p_eff"])
        elif op == "send_recv":
            up_B = 1 / (s.pair_Bps * up["p2p_eff"]) if s.k > 1 else 0.0
            net_B = 0.0 if inside else 1 / (s.net_gpu_Bps * net["net_p2p_eff"])
        else:
            up_B = share / per_gpu
            net_B = 0.0 if inside else (n - s.k) / n / host
        own = {**c, "ll_rate": c["ll_rate"] * up["p2p_ll"]}
        net_s = 0.0 if inside else max(net["net_peer"] * away, 1.0) * wire  # nothing arrives before the wire's latency
        up_s = hop * max(math.log2(peers + 1), 0.0)
        return _laws("direct", lp, up_s, net_s, up_B, net_B, 0.0, bulk, own, kappa, ("LL", "Simple"))
    laps = 2 if op == "all_reduce" else 1
    rooted = op in ("broadcast", "reduce")
    factor = 1.0 if rooted else laps * share
    copy_B = 0.0 if rooted else 1 / n / copy
    up_B = factor / (s.up_Bps * up["rooted_eff"] if rooted else ring_up) if s.k > 1 else 0.0
    net_B = 0.0 if inside else factor / host
    if inside:
        found += _laws("ring", launch, laps * (n - 1) * hop, 0.0, up_B, 0.0, copy_B, bulk, c, kappa)
    else:
        net_s = laps * max((n - 1) * net["net_ring"], 1.0) * wire
        # A chain from or to one root has no second half in which its filling could hide.
        filling = max(kappa, 1.0) if rooted else kappa
        found += _laws("ring", launch, 0.0, net_s, up_B, net_B, copy_B, bulk, c, filling)
    if op == "all_reduce":
        if not inside:
            levels = 2 * math.ceil(math.log2(s.domains))
            net_s = max(levels * net["net_tree"], 2.0) * wire
            up_s = 2 * (s.k - 1) * hop
            flows = 1.0 / net["net_pair"] if s.domains == 2 else 2.0
            up_B = 2 * share / tree_up if s.k > 1 else 0.0
            found += _laws("tree", launch, up_s, net_s, up_B, flows / host, copy_B, bulk, c, kappa)
            if system.scale_up.in_network_reduction and s.k > 2:
                fast = (1 + 1 / s.k) / (s.up_Bps * up["nvls_eff"])
                base = launch + up["nvls_us"] * 1e-6
                found += _laws(
                    "in-network tree",
                    base,
                    0.0,
                    net_s,
                    fast,
                    (1.0 if s.domains == 2 else 2.0) / host,
                    0.0,
                    bulk,
                    c,
                    kappa,
                    ("Simple",),
                )
            if system.scale_out.in_network_reduction:
                fast = up_B
                if system.scale_up.in_network_reduction and s.k > 2:
                    fast = (1 + 1 / s.k) / (s.up_Bps * up["nvls_eff"])
                base = launch + up["nvls_us"] * 1e-6
                found += _laws(
                    "in-network",
                    base,
                    0.0,
                    max(net["net_tree"], 1.0) * wire * 2,
                    fast,
                    1 / host,
                    0.0,
                    bulk,
                    c,
                    kappa,
                    ("Simple",),
                )
        elif system.scale_up.in_network_reduction and n > 2:
            fast = (1 + 1 / n) / (s.up_Bps * up["nvls_eff"])
            base = launch + up["nvls_us"] * 1e-6
            found += _laws("in-network", base, 0.0, 0.0, fast, 0.0, 0.0, bulk, c, kappa, ("Simple",))
            if n > 8:
                found += _laws(
                    "tree",
                    launch,
                    2 * (3 + math.ceil(math.log2(n / 4))) * hop,
                    0.0,
                    2 * share / tree_up,
                    0.0,
                    copy_B,
                    bulk,
                    c,
                    kappa,
                )
    return found


def time_s(law: Law, message_B):
    """Seconds of one law for a message size or an array of sizes.

    >>> law = Law("ring", "LL", {"launch": 4e-6}, {"transfer": 1e-9}, 0.5, "scale-up")
    >>> round(float(time_s(law, 1000.0)) * 1e6, 6)  # 4 + 1 + 2 · ½ · √(4 · 1)
    7.0
    """
    alpha = sum(law.fixed_s.values())
    transfer = sum(law.per_byte_s.values()) * message_B
    return alpha + transfer + 2 * law.kappa * np.sqrt(alpha * transfer)


def times_s(found: Sequence[Law], message_B):
    """Seconds of several laws, shape (laws, sizes), for an array of sizes (s,); an ideal time weighs a hundred of them.

    >>> two = [Law("ring", "LL", {"launch": 4e-6}, {"transfer": 1e-9}, kappa, "scale-up") for kappa in (0.0, 0.5)]
    >>> (times_s(two, np.array([0.0, 1000.0])) * 1e6).round(3).tolist()
    [[4.0, 5.0], [4.0, 7.0]]
    """
    alpha = np.array([sum(law.fixed_s.values()) for law in found])[:, None]
    beta = np.array([sum(law.per_byte_s.values()) for law in found])[:, None]
    times = beta * message_B
    for i, law in enumerate(found):
        if law.kappa:
            times[i] += 2 * law.kappa * np.sqrt(alpha[i] * times[i])
    times += alpha
    return times


def best_time_s(found: Sequence[Law], message_B):
    """Seconds of the quickest of several laws, size by size.

    >>> slow = Law("ring", "Simple", {"launch": 9e-6}, {"transfer": 1e-10}, 0.0, "scale-up")
    >>> quick = Law("ring", "LL", {"launch": 4e-6}, {"transfer": 1e-9}, 0.0, "scale-up")
    >>> (best_time_s([slow, quick], np.array([0.0, 1e5])) * 1e6).round(3).tolist()
    [4.0, 19.0]
    """
    return np.min(times_s(found, np.asarray(message_B, float)), axis=0)
