"""Halving and doubling: distances that halve while data is added, and double while it is collected; log₂ n steps."""

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.schedule import MAX_TRANSFERS, Schedule, Step
from course_lib.comm.step import IntArray


class _Workers:
    """A power of two of ranks that do the work; each of the others is folded into its left-hand neighbour.

    Worker w is rank `rank[w]` and is responsible for chunks begin[w] … begin[w+1]-1: its own and its neighbour's.
    """

    def __init__(self, n: int, chunk_per_rank: bool) -> None:
        self.p = 1 << (n.bit_length() - 1)
        if self.p * (n.bit_length() - 1) > MAX_TRANSFERS:
            raise CourseError(
                _("Halving–doubling on {n} ranks has more than {most:,} transfers; time it by its closed form.").format(
                    n=n, most=MAX_TRANSFERS
                )
            )
        extra = n - self.p  # ranks 1, 3, … 2·extra−1 are folded into 0, 2, …
        w = np.arange(self.p)
        self.rank = np.where(w < extra, 2 * w, w + extra)
        self.folded = 2 * np.arange(extra) + 1
        self.begin = np.append(self.rank, n) if chunk_per_rank else np.arange(self.p + 1)
        self.chunks = n if chunk_per_rank else self.p

    def exchange(self, distance: int, halving: bool) -> Step:
        """All workers with a partner at `distance`: give away the partner's half, or everything collected so far."""
        w = np.arange(self.p)
        partner = w ^ distance
        half = (partner if halving else w) & -distance
        if not self.folded.size or self.chunks == self.p:  # worker w has chunk w
            dst = self.rank[partner] if self.folded.size else partner
            return Step(self.rank, dst, half, halving, distance)
        begin, end = self.begin[half], self.begin[half + distance]
        return Step(self.rank, self.rank[partner], begin, halving, end - begin)

    def distances(self) -> list[int]:
        return [self.p >> (i + 1) for i in range(self.p.bit_length() - 1)]

    def fold(self, chunk: IntArray | int, width: IntArray | int, inward: bool, reduce: bool) -> tuple[Step, ...]:
        if not self.folded.size:
            return ()
        near = self.folded - 1
        ends = (self.folded, near) if inward else (near, self.folded)
        return (Step(*ends, chunk, reduce, width),)


def reduce_scatter(n_ranks: int) -> Schedule:
    """Recursive halving: exchange half of what is left with a partner, log₂ n times; any n.

    Where n is no power of two, the odd ones of the first ranks fold their vector into their neighbour first and get
    their shard from it at the end: two steps more, and a whole message for these ranks.

    >>> reduce_scatter(8).repeats, reduce_scatter(9).repeats
    (3, 5)
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    team = _Workers(n, True)
    steps = team.fold(0, n, True, True) + tuple(team.exchange(d, True) for d in team.distances())
    steps += team.fold(team.folded, 1, False, False)
    return Schedule("reduce_scatter", n, n, n, steps, "halving-doubling")


def all_gather(n_ranks: int) -> Schedule:
    """Recursive doubling: exchange everything collected so far with a partner twice as far each time; any n.

    >>> all_gather(16).repeats, float(all_gather(16).sent_B(1.0).max())
    (4, 0.9375)
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    team = _Workers(n, True)
    steps = team.fold(team.folded, 1, True, False) + tuple(team.exchange(d, False) for d in reversed(team.distances()))
    if team.folded.size:  # all but the shard they brought themselves
        near, far = np.tile(team.folded - 1, 2), np.tile(team.folded, 2)
        chunk = np.concatenate([np.zeros_like(team.folded), team.folded + 1])
        width = np.concatenate([team.folded, n - team.folded - 1])
        steps += (Step(*(a[width > 0] for a in (near, far, chunk)), False, width[width > 0]),)
    return Schedule("all_gather", n, n, n, steps, "halving-doubling")


def all_reduce(n_ranks: int) -> Schedule:
    """Recursive halving, then doubling: 2 log₂ n steps and the bytes of a ring; two whole messages more where n is odd.

    Where n is no power of two, the ranks beyond it are folded into a neighbour before and get the result after.
    Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005).

    >>> all_reduce(16).repeats, all_reduce(72).repeats, float(all_reduce(16).sent_B(1.0).max())
    (8, 14, 1.875)
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    team = _Workers(n, False)
    steps = team.fold(0, team.chunks, True, True) + tuple(team.exchange(d, True) for d in team.distances())
    steps += tuple(team.exchange(d, False) for d in reversed(team.distances()))
    steps += team.fold(0, team.chunks, False, False)
    return Schedule("all_reduce", n, n, team.chunks, steps, "halving-doubling")
