"""Patterns of traffic by name: who sends to whom at the same time."""

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
PATTERNS = ("pair", "shift", "permutation", "incast", "outcast", "all-to-all", "halves")


def pair(n: int, src: int = 0, dst: int = 1) -> Pairs:
    """Return one sender and one receiver.

    >>> [end.tolist() for end in pair(8, 0, 7)]
    [[0], [7]]
    """
    n = whole("n", n, at_least=1)
    return tuple(np.array([whole("GPU", v, at_least=0, at_most=n - 1)], np.int64) for v in (src, dst))


def shift(n: int, by: int = 1) -> Pairs:
    """Return every GPU sending to the one `by` places on, round the end: a ring's traffic for 1.

    >>> shift(4, 1)[1].tolist()
    [1, 2, 3, 0]
    """
    src = np.arange(whole("n", n, at_least=1))
    return src, (src + whole("by", by)) % n


def permutation(n: int, seed: int = 0) -> Pairs:
    """Return every GPU sending to one other, each receiving once, drawn at random without a GPU that keeps its own.

    >>> src, dst = permutation(8, seed=3)
    >>> sorted(dst.tolist()) == src.tolist(), bool((src != dst).all())
    (True, True)
    """
    n = whole("n", n, at_least=1)
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    src, dst = np.arange(n), rng.permutation(n)
    fixed = np.flatnonzero(src == dst)
    if len(fixed) == 1 and n > 1:  # swap the one that stayed with its neighbour
        other = (fixed[0] + 1) % n
        dst[[fixed[0], other]] = dst[[other, fixed[0]]]
    elif len(fixed) > 1:
        dst[fixed] = np.roll(dst[fixed], 1)
    return src, dst


def incast(n: int, to: int = 0) -> Pairs:
    """Return all others sending to one GPU.

    >>> incast(4, 3)[0].tolist()
    [0, 1, 2]
    """
    target = whole("to", to, at_least=0, at_most=whole("n", n, at_least=1) - 1)
    src = np.delete(np.arange(n), target)
    return src, np.full(len(src), target)


def outcast(n: int, source: int = 0) -> Pairs:
    """Return one GPU sending to all others.

    >>> outcast(4, 3)[1].tolist()
    [0, 1, 2]
    """
    others, same = incast(n, source)
    return same, others


def all_to_all(n: int) -> Pairs:
    """Return every GPU sending to every other.

    >>> len(all_to_all(8)[0])
    56
    """
    n = whole("n", n, at_least=1, at_most=4096)
    src, dst = np.divmod(np.arange(n * n), n)
    return src[src != dst], dst[src != dst]


def halves(n: int) -> Pairs:
    """Return the first half sending to the second, i to i + n/2: what a bisection in number order has to carry.

    >>> [end.tolist() for end in halves(4)]
    [[0, 1], [2, 3]]
    """
    n = whole("n", n, at_least=1)
    src = np.arange(n // 2)
    return src, src + (n + 1) // 2


def pattern(name: str, n: int, **details: int) -> Pairs:
    """Return a pattern by name, for menus: one of PATTERNS, with its own details (`by`, `seed`, `to`, `source`, `src`, `dst`).

    Raises:
        CourseError: unknown name, or a detail that this pattern does not have.

    >>> len(pattern("incast", 8, to=7)[0])
    7
    """
    made = {
        "pair": (pair, ("src", "dst")),
        "shift": (shift, ("by",)),
        "permutation": (permutation, ("seed",)),
        "incast": (incast, ("to",)),
        "outcast": (outcast, ("source",)),
        "all-to-all": (all_to_all, ()),
        "halves": (halves, ()),
    }
    function, known = made[one_of(_("pattern"), name, PATTERNS)]
    for detail in details:
        if detail not in known:
            raise CourseError(
                _("The pattern {name} has no {detail}; it has: {known}.").format(
                    name=name, detail=detail, known=", ".join(known) or "–"
                )
            )
    return function(n, **details)
