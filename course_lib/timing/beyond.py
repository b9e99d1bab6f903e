"""Beyond: closed forms equal to the stepped time, for more ranks than are worth stepping."""

from course_lib.timing.closedform import Form, form
from course_lib.timing.laws import shape
from course_lib.timing.onedepth import CUBE, Line, line
from course_lib.timing.system import System

OUTER = ("ring", "halving-doubling")
SHARDED = tuple(f"hierarchical-{inner}{outer}" for inner in ("", "direct+") for outer in OUTER)  # closed forms on rails


def direct_line(op: str, system: System, n: int, n_hosts: int) -> Line:
    """Return the closed form of direct algorithms, equal to the stepped time below MOST_DIRECT ranks.

    >>> from course_lib.timing.system import load
    >>> direct_line("all_reduce", load("dgx-h100"), 8, 1).repeats
    (2.0, 0.0)
    """
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
