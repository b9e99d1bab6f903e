"""Promise: what every rank holds before and after a collective, as labels that people can read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.meaning import REDUCING, canonical_op, owner, wanted
from course_lib.comm.schedule import blocks_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SUM = "Σ"


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """Labels of what is in every slot, (n_ranks, n_ranks) each, before and after; "" where nothing is promised.

    A letter is the rank that a part comes from (A is rank 0), the number behind it the part of that rank's vector; Σ2 is the
    sum of part 2 over all ranks.
    """

    op: str
    before: NDArray[np.str_]
    after: NDArray[np.str_]


def promise(op: str, n_ranks: int, *, root: int = 0) -> Promise:
    """Return what a collective finds and what it leaves, each vector cut into as many parts as there are ranks.

    Args:
        op: a collective in any usual spelling.
        n_ranks: ranks, 1 to 26 (one letter each).
        root: the rank that rooted collectives start or end at.

    Raises:
        CourseError: an unknown collective, more ranks than letters, or a root that is no rank.

    >>> promise("reduce_scatter", 2).after.tolist()
    [['Σ0', ''], ['', 'Σ1']]
    >>> promise("all_to_all", 2).after.tolist()  # rank 1 ends with part 1 of everybody
    [['A0', 'B0'], ['A1', 'B1']]
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=1, at_most=len(LETTERS))
    root = whole("root", root, at_least=0, at_most=n - 1)
    if op == "send_recv":
        raise CourseError(_("send_recv moves one buffer to one neighbour; there are no parts to show."))
    chunks = n * n if blocks_of(op, n) == n * n else n
    whose = owner(op, n, chunks, root)
    holds = whose[None, :] == np.arange(n)[:, None]
    goal = wanted(op, n, chunks, root)
    if op in REDUCING:
        before = [[f"{LETTERS[r]}{c}" for c in range(n)] for r in range(n)]
        after = [[f"{SUM}{c}" if goal[r, c] else "" for c in range(n)] for r in range(n)]
        return Promise(op, np.array(before), np.array(after))
    several = chunks // len(set(whose.tolist())) > 1
    names = [LETTERS[w] + (str(c % n) if several else "") for c, w in enumerate(whose.tolist())]
    before, after = (np.where(mask, np.array(names)[None, :], "") for mask in (holds, goal))
    if chunks > n:  # n of the n² slots belong to a rank: shown side by side, in their order
        before, after = (labels[mask].reshape(n, n) for labels, mask in ((before, holds), (after, goal)))
    return Promise(op, before, after)
