"""Ranks and collective of a table from its own numbers: bus factor, size over count, roots and names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.base.language import _
from course_lib.machine.ncclrow import ELEMENT_B, Row

MOST_RANKS = 1 << 20
_SPLIT = ("reduce_scatter", "all_gather", "all_to_all", "scatter", "gather")  # their size counts all ranks' parts


@dataclass(frozen=True, slots=True)
class Found:
    """What the numbers leave: the collective or those that fit, the ranks or the range that fits, contradictions in words."""

    op: str | None
    ops: tuple[str, ...]
    n_ranks: int | None
    ranks_range: tuple[int, int] | None
    contradicts: tuple[str, ...]


def ratio_range(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Return the least and most that bus over algorithm bandwidth can be, given the digits printed, or None.

    >>> ratio_range([]) is None
    True
    """
    low, high = 0.0, math.inf
    for row in rows:
        for half in (row.out, row.inplace):
            if half.algbw_Bps and half.busbw_Bps is not None and half.algbw_Bps >= 0.2e9:
                a, b, ulp = half.algbw_Bps / 1e9, half.busbw_Bps / 1e9, 0.0051
                low, high = max(low, (b - ulp) / (a + ulp)), min(high, (b + ulp) / (a - ulp))
    return None if math.isinf(high) or low > high else (low, high)


def _ranks_of(op: str, ratio: tuple[float, float]) -> tuple[int, int] | None:
    """Return the least and most ranks whose bus factor lies in a range; None: none does."""
    if op in ("broadcast", "reduce", "send_recv"):
        return (2, MOST_RANKS) if ratio[0] <= 1.0 <= ratio[1] else None
    top = 2.0 if op == "all_reduce" else 1.0
    low, high = ratio
    if high <= 0 or low >= top:
        return None
    least = max(1, math.ceil(top / (top - low) - 1e-9)) if low > 0 else 1
    most = MOST_RANKS if high >= top else math.floor(top / (top - high) + 1e-9)
    return (least, min(most, MOST_RANKS)) if least <= most else None


def _parts(rows: Sequence[Row]) -> int | None:
    """Return size over count in elements where all rows agree: ranks for collectives that split, else 1."""
    found = {row.size_B // (row.count * ELEMENT_B[row.type]) for row in rows if row.count}
    return found.pop() if len(found) == 1 else None


def op_and_ranks(
    name: str | None, rows: Sequence[Row], listed: int | None, stated: int | None, blank_redop: bool
) -> Found:
    """Return what collective and how many ranks a table is of, and what contradicts.

    Args:
        name: the collective the log names, or None.
        rows: its rows.
        listed: ranks in the list of devices, or None.
        stated: ranks that debug lines state, or None.
        blank_redop: the header has a column redop and the rows leave it empty, as nccl-tests does for all-to-all.
    """
    parts, ratio, said = _parts(rows), ratio_range(rows), []
    roots = {row.root for row in rows} - {None}
    redops = {row.redop for row in rows} - {None, "none"}
    if name:
        ops = [name]
    elif parts is not None and parts > 1:
        ops = ["reduce_scatter"] if redops else ["all_to_all"] if blank_redop else ["all_gather", "all_to_all"]
        ops = (["scatter", "gather"] if not redops else []) if any(r >= 0 for r in roots) else ops
    elif any(r >= 0 for r in roots):
        ops = ["reduce"] if redops else ["broadcast"]
    elif ratio is not None and ratio[0] > 1.0:
        ops = ["all_reduce"]
    else:
        ops = ["all_reduce", "send_recv"] if redops else ["send_recv", "broadcast"]
    n_known = listed or stated
    one = any(op not in ("broadcast", "reduce", "send_recv") for op in ops)
    if one and ratio is not None and ratio[1] < 0.1:  # busbw 0 beside a real algbw: the factor of one rank
        return Found(name, tuple(ops), 1, (1, 1), ())
    fits = {op: (2, MOST_RANKS) if ratio is None else _ranks_of(op, ratio) for op in ops}
    if not name and n_known and ratio is not None:
        kept = [op for op in ops if fits[op] and fits[op][0] <= n_known <= fits[op][1]]
        ops = kept or ops
    ranges = [fits[op] for op in ops if fits[op]]
    both = (min(r[0] for r in ranges), max(r[1] for r in ranges)) if ranges else None
    op = ops[0] if len(ops) == 1 else None
    if both is None and ratio is not None:
        said.append(_("bus over algorithm bandwidth is the factor of no number of ranks for this collective"))
    if parts is not None and parts > 1 and all(o in _SPLIT for o in ops):
        exact = parts
        if both and not both[0] <= exact <= both[1]:
            said.append(
                _("size over count says {n} ranks, the bus factor {low} to {high}").format(
                    n=exact, low=both[0], high=both[1]
                )
            )
        if n_known and n_known != exact:
            said.append(
                _("size over count says {n} ranks, the list of devices {listed}").format(n=exact, listed=n_known)
            )
        return Found(op, tuple(ops), exact, (exact, exact), tuple(said))
    if n_known and both and both[0] <= n_known <= both[1]:
        return Found(op, tuple(ops), n_known, (n_known, n_known), tuple(said))
    if n_known and both:
        said.append(
            _("the log lists {listed} ranks, the bus factor says {low} to {high}").format(
                listed=n_known, low=both[0], high=both[1]
            )
        )
    if ratio is None or both is None or both[1] >= MOST_RANKS:
        known = n_known if ratio is None or (both and not said) else None
        return Found(
            op, tuple(ops), known, (known, known) if known else both if ratio is not None else None, tuple(said)
        )
    exact = both[0] if both[0] == both[1] else None
    if exact and (len(ops) > 1):
        exact = exact if all(fits[o] == (exact, exact) for o in ops) else None
    return Found(op, tuple(ops), exact, both, tuple(said))
