"""Chances without SciPy: the tails of Poisson, normal and Student distributions, and their quantiles."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, together, whole
from course_lib.base.language import _
from course_lib.cluster.inrange import finite, single

_NORMAL = NormalDist()
MANY, MOST_COUNT = 10_000, 1e15
_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def share(name: str, value: object) -> float:
    """Return `value` as a float between 0 and 1, both excluded, or raise a CourseError.

    >>> share("level", 0.9)
    0.9
    >>> share("level", 90)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: level is 90.0; a share between 0 and 1 is expected (0.9 for 90 %).
    """
    number = single(name, value)
    if not 0 < number < 1:
        text = _("{name} is {value}; a share between 0 and 1 is expected (0.9 for 90 %).")
        raise CourseError(text.format(name=name, value=number))
    return number


def poisson_at_least(count: ArrayLike, mean: ArrayLike):
    """Return the chance that a Poisson number with this mean is `count` or more; both broadcast.

    Args:
        count: whole numbers from 0 up.
        mean: means, at least 0.

    Raises:
        CourseError: negative or not finite numbers, counts that are not whole, either beyond 1e15.

    Exact up to counts of 10,000; beyond, the normal distribution of the cube root, good to 1e-5.

    >>> round(poisson_at_least(1, 1.0), 6) == round(1 - math.exp(-1), 6), poisson_at_least(0, 5.0)
    (True, 1.0)
    """
    k = np.asarray(finite("count", count, at_least=0), float)
    x = np.asarray(finite("mean", mean, at_least=0), float)
    if (k != np.floor(k)).any():
        raise CourseError(_("count is {value}; whole numbers are expected.").format(value=count))
    if (k > MOST_COUNT).any() or (x > MOST_COUNT).any():
        raise CourseError(_("Counts and means beyond {most} are not expected.").format(most=f"{MOST_COUNT:g}"))
    shape = together(count=k, mean=x)
    k, x = (np.broadcast_to(v, shape).ravel() for v in (k, x))
    # P(N ≥ k) is the regularised lower incomplete gamma function of k at the mean.
    out = np.where(k == 0, 1.0, 0.0)
    inside = (k > 0) & (x > 0)
    many = inside & (k > MANY)
    if many.any():  # Wilson and Hilferty: the cube root of a gamma number is nearly normal
        a, z = k[many], x[many]
        root = np.cbrt(z / a) - 1 + 1 / (9 * a)
        out[many] = normal_below(np.clip(3 * np.sqrt(a) * root, -1e15, 1e15))
    inside &= ~many
    series = inside & (x < k + 1)
    if series.any():
        a, z = k[series], x[series]
        term = total = 1 / a
        step = a
        for _round in range(100_000):
            step = step + 1
            term = term * z / step
            total = total + term
            if (term < 1e-17 * total).all():
                break
        out[series] = total * np.exp(a * np.log(z) - z - _log_gamma(a))
    fraction = inside & ~series
    if fraction.any():
        a, z = k[fraction], x[fraction]
        b = z + 1 - a
        c = np.full_like(a, 1e300)
        d = 1 / b
        h = d
        for i in range(1, 100_000):
            an = -i * (i - a)
            b = b + 2
            d = an * d + b
            d = 1 / np.where(np.abs(d) < 1e-300, 1e-300, d)
            c = b + an / c
            c = np.where(np.abs(c) < 1e-300, 1e-300, c)
            h = h * d * c
            if (np.abs(d * c - 1) < 1e-15).all():
                break
        out[fraction] = 1 - np.exp(a * np.log(z) - z - _log_gamma(a)) * h
    out = np.minimum(np.maximum(out, 0.0), 1.0).reshape(shape)
    return float(out) if out.ndim == 0 else out


def poisson_quantile(level: float, mean: float) -> int:
    """Return the smallest whole number that a Poisson number with this mean does not exceed with chance `level`.

    >>> poisson_quantile(0.5, 10.0), poisson_quantile(0.95, 419.0)
    (10, 453)
    """
    p, mu = share("level", level), single("mean", mean, at_least=0)
    return least_where_not(lambda k: 1 - poisson_at_least(k + 1, mu) < p)


def least_where_not(holds: Callable[[int], bool]) -> int:
    """Return the smallest whole number from 0 up for which `holds` is false; it holds below and nowhere above.

    >>> least_where_not(lambda k: k < 37)
    37
    """
    if not holds(0):
        return 0
    low, high = 0, 1
    while holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def normal_below(value: ArrayLike):
    """Return the chance that a standard normal number is below `value`; broadcasts.

    >>> normal_below(0.0), round(normal_below(1.96), 3)
    (0.5, 0.975)
    """
    z = finite("value", value)
    found = np.vectorize(_NORMAL.cdf, otypes=[float])(z)
    return float(found) if np.ndim(z) == 0 else found


def normal_quantile(level: float) -> float:
    """Return the number below which a standard normal number lies with chance `level`.

    >>> round(normal_quantile(0.95), 3)
    1.645
    """
    return _NORMAL.inv_cdf(share("level", level))


def student_quantile(level: float, freedom: int) -> float:
    """Return the number below which Student's t with whole degrees of freedom lies with chance `level`.

    >>> round(student_quantile(0.95, 4), 3), round(student_quantile(0.975, 1), 2)
    (2.132, 12.71)
    """
    p, df = share("level", level), whole("freedom", freedom, at_least=1)
    if p < 0.5:
        return -student_quantile(1 - p, df)
    if df > 2000:
        return normal_quantile(p)  # less than 1e-3 apart from here on
    low, high = 0.0, 1.0
    while _student_below(high, df) < p:
        high *= 2
    for _round in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_below(middle, df) < p else (low, middle)
    return (low + high) / 2


def _student_below(t: float, df: int) -> float:
    """Return the chance by the finite series for whole degrees of freedom."""
    angle = math.atan2(t, math.sqrt(df))
    cosine, sine = math.cos(angle), math.sin(angle)
    if df % 2:
        total, term = 0.0, cosine
        for k in range(1, df - 1, 2):
            total += term
            term *= (k + 1) / (k + 2) * cosine * cosine
        return 0.5 + (angle + sine * total) / math.pi
    total, term = 0.0, 1.0
    for k in range(0, df - 1, 2):
        total += term
        term *= (k + 1) / (k + 2) * cosine * cosine
    return 0.5 + sine * total / 2
