"""Closed forms: the textbook time of every algorithm as latencies and bytes, α·steps + β·factor·m."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor, canonical_op

#: What each name stands for, as (steps, bytes over a rank's busiest direction / message), for n ranks and p pieces.
ALGORITHMS = {
    "all_reduce": ("ring", "binomial", "halving-doubling", "direct", "in-network", "sharp", "hierarchical-ring"),
    "reduce_scatter": ("ring", "halving-doubling", "direct", "in-network"),
    "all_gather": ("ring", "halving-doubling", "direct", "in-network"),
    "broadcast": ("ring", "binomial", "direct", "in-network"),
    "reduce": ("ring", "binomial", "direct", "in-network"),
    "all_to_all": ("direct",),
    "send_recv": ("direct",),
    "scatter": ("direct",),
    "gather": ("direct",),
}


@dataclass(frozen=True, slots=True)
class Form:
    """`steps` latencies follow one another; `factor` messages cross the busiest direction of a rank's link one after another."""

    steps: float
    factor: float


def form(op: str, algorithm: str, n_ranks: int, *, pieces: int = 1) -> Form:
    """Return the closed form of a flat algorithm on n equal links into one switch that blocks nobody.

    Args:
        op: a collective in any usual spelling.
        algorithm: ring, binomial, halving-doubling, direct, in-network (NVLS: each owner pulls its sum through the switch
            and multicasts it) or sharp (one switch adds what is pushed up and sends it down).
        n_ranks: ranks.
        pieces: pipeline depth of ring broadcast and reduce and of in-network ones.

    Raises:
        CourseError: unknown names, or a rank count that has no closed form (halving–doubling off powers of two).

    Validity: full-duplex links; a barrier after each step. With pieces, the first and last repeats of in-network all-reduce
    carry fewer bytes than its steady ones; the form counts them exactly. From a rank to the switch
    is half a latency. The double binary tree has none here: its repeats
    differ at the start and the end, so it is stepped.
    Sources: Thakur, Rabenseifner and Gropp (2005); Patarasu and Yuan (2009).

    >>> form("all_reduce", "ring", 8)
    Form(steps=14.0, factor=1.75)
    >>> form("all_reduce", "in-network", 8, pieces=1000).factor  # towards 1 + 1/8
    1.127875
    """
    op, n, p = canonical_op(op), whole("n_ranks", n_ranks, at_least=1), whole("pieces", pieces, at_least=1)
    name = one_of(_("closed form of {op}").format(op=op), algorithm, ALGORITHMS[op])
    if name == "hierarchical-ring":
        raise CourseError(_("hierarchical-ring has two links; use hierarchical_ring_s."))
    if n == 1:
        return Form(0.0, 0.0)
    laps, share, log = (2.0 if op == "all_reduce" else 1.0), (n - 1) / n, float(np.log2(n))
    rooted = op in ("broadcast", "reduce")
    if name == "ring":
        if rooted:  # a chain: the last piece leaves the root after p repeats and passes n − 2 more ranks
            return Form(n + p - 2.0, (n + p - 2.0) / p)
        return Form(laps * (n - 1), laps * share)
    if name == "binomial":
        levels = laps * float(np.ceil(log))
        return Form(levels, levels)
    if name == "halving-doubling":
        if n & (n - 1):
            raise CourseError(
                _(
                    "Halving–doubling has its closed form on powers of two; {n} ranks fold first: step the schedule."
                ).format(n=n)
            )
        return Form(laps * log, laps * share)
    if name == "direct":
        return Form(laps, laps * (n - 1) if rooted else bus_factor(op, n))
    if name == "sharp":
        return Form((p + 1.0) / 2, (p + 1.0) / p)
    return _nvls(op, n, p)


def _nvls(op: str, n: int, p: int) -> Form:
    if op == "all_reduce":
        # Stages: out n shards, in 1, out 1, in n shards (of a piece). Busiest direction of each repeat, in shards:
        repeats = np.arange(p + 3)[:, None]
        at_work = (repeats >= np.arange(4)) & (repeats < np.arange(4) + p)
        out, into = at_work[:, 0] * n + at_work[:, 2], at_work[:, 1] + at_work[:, 3] * n
        return Form((p + 3.0) / 2, float(np.maximum(out, into).sum()) / (n * p))
    if op in ("broadcast", "reduce"):
        return Form((p + 1.0) / 2, (p + 1.0) / p)
    # One stage moves n shards of a piece a rank, the other one: they are in different directions.
    return Form((p + 1.0) / 2, (n * p + 1.0) / (n * p))


def time_s(op: str, algorithm: str, message_B, n_ranks: int, latency_s, bandwidth_Bps, *, pieces: int = 1):
    """Return seconds for a message; broadcasts over message_B, latency_s and bandwidth_Bps (one direction of a rank's link).

    >>> round(time_s("all_reduce", "ring", 1e9, 8, 1e-6, 450e9) * 1e3, 4)
    3.9029
    """
    f = form(op, algorithm, n_ranks, pieces=pieces)
    m = finite("message_B", message_B, at_least=0, unit="B")
    alpha = finite("latency_s", latency_s, at_least=0, unit="s")
    beta = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    return f.steps * alpha + f.factor * m / beta


def hierarchical_ring_s(message_B, domains: int, per_domain: int, inner: tuple, outer: tuple):
    """Return seconds of hierarchical ring all-reduce: reduce-scatter inside, all-reduce of a shard between, all-gather inside.

    Args:
        message_B: bytes, or an array of them.
        domains: boxes or racks.
        per_domain: ranks in each.
        inner: (latency_s, bandwidth_Bps) of a rank's link inside, one direction.
        outer: the same between domains, for each rank (its own card).

    >>> round(hierarchical_ring_s(1e9, 4, 8, (1e-6, 450e9), (5e-6, 50e9)) * 1e3, 4)
    7.6829
    """
    d, k = whole("domains", domains, at_least=1), whole("per_domain", per_domain, at_least=1)
    m = finite("message_B", message_B, at_least=0, unit="B")
    inside = [time_s(op, "ring", m, k, *inner) for op in ("reduce_scatter", "all_gather")]
    return sum(inside) + time_s("all_reduce", "ring", m / k, d, *outer)


def bandwidth_bound_s(op: str, message_B, n_ranks: int, bandwidth_Bps):
    """Return the least seconds any algorithm without adding switches needs: the busiest rank's bytes over its link.

    >>> round(bandwidth_bound_s("all_to_all", 450e9, 8, 450e9), 3)
    0.875
    """
    m = finite("message_B", message_B, at_least=0, unit="B")
    n = whole("n_ranks", n_ranks, at_least=1)
    return (bus_factor(op, n) if n > 1 else 0.0) * m / finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
