"""Flows that meet by chance: how full the fullest of m paths gets when k flows each pick one by hash, exactly."""

import math

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _

MOST = 512


def fullest_chances(n_flows: int, n_paths: int) -> NDArray[np.float64]:
    """Return (n_flows + 1,) the chance that the fullest of n_paths carries exactly c flows, for c = 0 … n_flows.

    The number of ways to put k flows on m paths with at most c on each is k! times the coefficient of x^k in
    (1 + x + x²/2! + … + x^c/c!)^m; divided by m^k it is the chance that the fullest has c or fewer. The coefficients are
    those of a sum of Poisson counts, so that they stay in the range of floats.

    Raises:
        CourseError: more than 512 flows or paths; draw instead (`fabric.sharing.fullest_of_hashed`).

    Source: the classical problem of balls in bins.

    >>> fullest_chances(2, 2).round(9).tolist()
    [0.0, 0.5, 0.5]
    """
    k, m = whole("n_flows", n_flows, at_least=0), whole("n_paths", n_paths, at_least=1)
    if max(k, m) > MOST:
        raise CourseError(
            _("Exact chances are found for at most {most} flows and paths; draw them instead.").format(most=MOST)
        )
    mean = k / m
    single = np.array(
        [math.exp(c * math.log(mean) - mean - math.lgamma(c + 1)) if mean else float(c == 0) for c in range(k + 1)]
    )
    whole_chance = math.exp(k * math.log(k) - k - math.lgamma(k + 1)) if k else 1.0  # a Poisson of mean k is k
    at_most = np.ones(k + 1)
    for c in range(k + 1):
        at_most[c] = min(1.0, _power(np.where(np.arange(k + 1) <= c, single, 0.0), m, k)[k] / whole_chance)
        if at_most[c] > 1 - 1e-13:
            break
    return np.diff(at_most, prepend=0.0)


def _power(row: NDArray, m: int, top: int) -> NDArray:
    """Return the m-th power of a polynomial up to x^top, by squaring."""
    out = np.zeros(top + 1)
    out[0] = 1.0
    while m:
        if m & 1:
            out = np.convolve(out, row)[: top + 1]
        m >>= 1
        if m:
            row = np.convolve(row, row)[: top + 1]
    return out


def fullest_mean(n_flows: int, n_paths: int) -> float:
    """Return how many flows the fullest of n_paths carries on average.

    >>> round(fullest_mean(32, 32), 2), fullest_mean(1, 8)
    (3.53, 1.0)
    """
    chances = fullest_chances(n_flows, n_paths)
    return float(chances @ np.arange(len(chances)))


def slowest_share(n_flows: int, n_paths: int) -> float:
    """Return the rate of the slowest flow over that of an even spread, on average over hashes, where all paths are alike.

    The even share is n_flows / n_paths to a path, but at least one flow: a flow takes one path whole at most.

    >>> round(slowest_share(32, 32), 2), round(slowest_share(8, 8), 2)
    (0.3, 0.41)
    """
    k, m = whole("n_flows", n_flows, at_least=1), whole("n_paths", n_paths, at_least=1)
    chances = fullest_chances(k, m)
    counts = np.arange(1, k + 1)
    return float(max(1.0, k / m) * (chances[1:] / counts).sum())
