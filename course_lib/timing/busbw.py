"""Bus bandwidth: what a link carries when an algorithm reaches one, and the one that full links would give."""

import functools

from course_lib.base.errors import finite, whole
from course_lib.comm import registry
from course_lib.comm.meaning import bus_factor, canonical_op


@functools.lru_cache(maxsize=512)
def carried(op: str, algorithm: str, n_ranks: int) -> tuple[float, float]:
    """Return (sent, received) by the busiest rank over the message, counted on the schedule itself, (0, 0) for one rank.

    Args:
        op: a collective in any usual spelling.
        algorithm: a flat algorithm of `comm.registry`: ring, tree, direct, in-network, sharp …
        n_ranks: ranks.

    Raises:
        CourseError: unknown names, or a number of ranks that is none.

    >>> carried("all_reduce", "ring", 8), carried("all_reduce", "in-network", 8), carried("all_reduce", "sharp", 8)
    ((1.75, 1.75), (1.125, 1.125), (1.0, 1.0))
    >>> carried("all_gather", "in-network", 8)  # each sends its shard and gets all of them
    (0.125, 1.0)
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=1)
    schedule = registry.build(op, n, algorithm)
    return float(schedule.sent_B(1.0)[:n].max()), float(schedule.received_B(1.0)[:n].max())


def busbw_limit_Bps(op: str, algorithm: str, n_ranks: int, bandwidth_Bps):
    """Return the bus bandwidth of an algorithm on links that are always full; broadcasts over bandwidth_Bps (one direction).

    A bus bandwidth counts the bytes that ranks have to send without help. Where switches add, a link carries fewer, and the
    limit lies above the link.

    >>> [round(busbw_limit_Bps("all_reduce", name, 8, 450e9) / 1e9) for name in ("ring", "in-network", "sharp")]
    [450, 700, 788]
    """
    beta = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    n = whole("n_ranks", n_ranks, at_least=2)
    return bus_factor(op, n) / max(carried(op, algorithm, n)) * beta


def wire_Bps(op: str, algorithm: str, n_ranks: int, busbw_Bps):
    """Return what the busier direction of a rank's link carries at a bus bandwidth; broadcasts over busbw_Bps.

    >>> round(wire_Bps("all_reduce", "in-network", 8, 473.1e9) / 1e9, 1)
    304.1
    """
    rate = finite("busbw_Bps", busbw_Bps, at_least=0, unit="B/s")
    n = whole("n_ranks", n_ranks, at_least=2)
    return rate * max(carried(op, algorithm, n)) / bus_factor(op, n)
