"""A torus of chips that forward for each other, as TPU pods are wired; routes by dimension order, no search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.fabric.rates import hop_s
from course_lib.fabric.routes import plan_routes
from course_lib.fabric.runs import Routes, gather, mix
from course_lib.fabric.topology import LINK_KINDS, Topology


@dataclass(frozen=True, slots=True)
class TorusPlan:
    """Sizes along each dimension (the last one fastest) and the first link of each.

    Links of dimension d: first[d] + line · per_line + coordinate of the sender for steps up, then as many for steps down,
    by the coordinate of the receiver. `per_line` is k on a ring and k − 1 on an open line; two chips have one link,
    numbered as a ring with only the upward half.
    """

    dims: tuple[int, ...]
    wrap: bool
    first: tuple[int, ...]


def torus(
    name: str, dims: Sequence[int], bandwidth_Bps: float, *, wrap: bool = True, latency_s: float | None = None
) -> Topology:
    """Return a 1D to 4D torus (or open mesh, `wrap=False`) of chips.

    Args:
        name: what to call it.
        dims: chips along each dimension; the last varies fastest in the numbering.
        bandwidth_Bps: one direction of one link to a neighbour.
        wrap: close every line to a ring. A ring of two is one link, not two.
        latency_s: of one hop; None: 1 µs (assumed).

    Raises:
        CourseError: no dimension, or more than four.

    >>> torus("tpu", (4, 4), 45e9).n_links
    64
    """
    dims = tuple(whole("dims", k, at_least=1) for k in dims)
    if not 1 <= len(dims) <= 4:
        raise CourseError(_("dims is {dims}; a torus here has one to four dimensions.").format(dims=dims))
    beta = finite("bandwidth_Bps", bandwidth_Bps, above=0)
    alpha = hop_s("ici") if latency_s is None else finite("latency_s", latency_s, at_least=0)
    n = math.prod(dims)
    src, dst, first, total = [], [], [], 0
    grid = np.arange(n, dtype=np.int32).reshape(dims)
    for d, k in enumerate(dims):
        first.append(total)
        if k == 1:
            continue
        lines = np.moveaxis(grid, d, -1).reshape(-1, k)
        above = np.roll(lines, -1, axis=1)
        if not wrap and k > 2:
            lines, above = lines[:, :-1], above[:, :-1]
        ways = ((lines, above),) if k == 2 else ((lines, above), (above, lines))
        for a, b in ways:
            src.append(a.ravel())
            dst.append(b.ravel())
            total += a.size
    src = np.concatenate(src) if src else np.zeros(0, np.int32)
    dst = np.concatenate(dst) if dst else np.zeros(0, np.int32)
    row = np.arange(n)
    width = dims[-1]
    return Topology(
        name,
        np.zeros(n, np.uint8),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int32),
        (row // width).astype(np.float32),
        ((row % width + 0.5) / width).astype(np.float32),
        src,
        dst,
        np.full(len(src), beta),
        np.full(len(src), alpha),
        np.full(len(src), LINK_KINDS.index("ici"), np.uint8),
        np.ones(len(src), np.int16),
        ("ici",),
        True,
        TorusPlan(dims, bool(wrap), tuple(first)),
    )


@plan_routes.register
def _torus_routes(plan: TorusPlan, topology: Topology, src: NDArray, dst: NDArray, choice: str, seed: int) -> Routes:
    """Dimension after dimension, the shorter way round; half a ring away both ways serve (fixed: upwards)."""
    at, to = (np.array(np.unravel_index(v, plan.dims)) for v in (src, dst))
    n, n_pairs = math.prod(plan.dims), len(src)
    pieces = []
    for d, k in enumerate(plan.dims):
        if k == 1:
            continue
        here = at.copy()  # earlier dimensions have arrived, later ones have not left
        here[:d] = to[:d]
        line = (
            np.ravel_multi_index(np.delete(here, d, axis=0), plan.dims[:d] + plan.dims[d + 1 :])
            if len(plan.dims) > 1
            else 0
        )
        ring = plan.wrap or k == 2
        per_line = k if ring else k - 1
        away = to[d] - at[d]
        ahead = away % k if ring else np.maximum(away, 0)
        back = (k - ahead) % k if ring else np.maximum(-away, 0)
        up_share = (ahead < back) * 1.0 if ring else (away > 0) * 1.0
        if ring:
            tie = (ahead == back) & (ahead > 0)
            either = {"fixed": 1.0, "adaptive": 0.5}.get(choice)
            either = (mix(seed, src, dst, d) % np.uint64(2)).astype(float) if either is None else either
            up_share = np.where(tie, 1.0 if k == 2 else either, up_share)
        base = plan.first[d] + line * per_line
        pieces += _arc(base, at[d], ahead, per_line, up_share, ahead > 0)
        if k > 2:
            base = base + n // k * per_line
            pieces += _arc(base, (at[d] - back) % k, back, per_line, 1.0 - up_share, back > 0)
    return gather(topology, n_pairs, pieces)


def _arc(base, begin, length, per_line, share, moves) -> list[tuple]:
    """Return the one or two runs of an arc that begins at a coordinate and may pass the end of its line."""
    pair = np.flatnonzero(moves & (share > 0))
    base = np.broadcast_to(base, len(moves))[pair]
    begin, length, share = begin[pair], length[pair], share[pair]
    before = np.minimum(length, per_line - begin)
    rest = length - before
    over = rest > 0
    return [(pair, base + begin, before, share), (pair[over], base[over], rest[over], share[over])]


def torus_bisection_links(dims: Sequence[int], wrap: bool = True) -> int:
    """Return how many links (one direction) the best cut into two halves crosses.

    Cutting a dimension of even size k crosses every line of it twice on a ring (once on an open line or a pair); with odd k the middle
    layer is halved in turn. The best over the order of dimensions is taken; equal to enumeration on small tori.

    >>> torus_bisection_links((16, 16, 16)), torus_bisection_links((4, 2)), torus_bisection_links((3, 3))
    (512, 4, 8)
    """
    dims = [k for k in dims if k > 1]
    n, best = math.prod(dims), None
    for d, k in enumerate(dims):
        rest = dims[:d] + dims[d + 1 :]
        crossings = n // k * (2 if wrap and k > 2 else 1)
        links = crossings + (torus_bisection_links(rest, wrap) if k % 2 else 0)
        best = links if best is None else min(best, links)
    return best or 0
