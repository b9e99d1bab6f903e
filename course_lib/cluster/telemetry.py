"""Watching a fleet: counters, drift and stragglers simulated, and alarms with what they find and how often they cry wolf."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, together, whole
from course_lib.base.language import _
from course_lib.cluster.chances import least_where_not, normal_below, normal_quantile, poisson_at_least, share
from course_lib.cluster.inrange import finite, single

MOST_READINGS, MOST_PARTS = 50_000_000, 10**12


@dataclass(frozen=True, slots=True)
class Alarm:
    """What an alarm on a fleet does; numbers, or arrays over thresholds.

    `detection` is the chance that one reading of a sick part rings, `false_per_day` the false alarms of all healthy parts a
    day, `readings_to_ring` the mean number of readings until a sick part rings (inf where it never does).
    """

    threshold: float | NDArray
    detection: float | NDArray
    false_per_day: float | NDArray
    readings_to_ring: float | NDArray


@dataclass(frozen=True, slots=True)
class Readings:
    """Simulated readings: `value` (parts, readings), and which parts are `sick` (parts,)."""

    value: NDArray
    sick: NDArray[np.bool_]


def _alarm(threshold, detection, false_per_day) -> Alarm:
    detection = np.asarray(detection, float)
    wait = np.divide(1.0, detection, out=np.full(detection.shape, np.inf), where=detection > 0)
    plain = lambda v: float(v) if np.ndim(v) == 0 else v  # noqa: E731
    return Alarm(plain(threshold), plain(detection), plain(false_per_day), plain(wait))


def counter_alarm(threshold: ArrayLike, healthy: float, sick: float, n_links: int, readings_per_day: float) -> Alarm:
    """Return what an alarm on an error counter does that rings at `threshold` or more errors in one reading.

    Args:
        threshold: whole numbers; a number or an array.
        healthy: mean errors of a healthy link in one reading.
        sick: mean errors of a sick link in one reading.
        n_links: healthy links that are watched.
        readings_per_day: readings of each link a day.

    Returns:
        `Alarm` from Poisson tails. Validity: errors come one by one. Bursts make false alarms more common than this.

    >>> a = counter_alarm(5, 0.1, 5.0, 32_768, 24)
    >>> round(a.detection, 2), round(a.false_per_day, 2), round(a.readings_to_ring, 1)
    (0.56, 0.06, 1.8)
    """
    good, bad = single("healthy", healthy, at_least=0), single("sick", sick, at_least=0)
    n, often = (
        whole("n_links", n_links, at_least=1, at_most=MOST_PARTS),
        single("readings_per_day", readings_per_day, above=0),
    )
    return _alarm(
        finite("threshold", threshold, at_least=0),
        poisson_at_least(threshold, bad),
        np.asarray(poisson_at_least(threshold, good)) * n * often,
    )


def least_threshold(healthy: float, n_links: int, readings_per_day: float, false_per_day: float) -> int:
    """Return the lowest threshold of errors in a reading whose false alarms stay at or below `false_per_day`.

    Lower would ring too often; higher would find sick links later.

    >>> least_threshold(0.1, 32_768, 24, 1.0)
    5
    """
    allowed = single("false_per_day", false_per_day, above=0)
    return least_where_not(
        lambda k: counter_alarm(k, healthy, healthy, n_links, readings_per_day).false_per_day > allowed
    )


def simulate_counters(
    n_links: int, n_sick: int, healthy: float, sick: float, n_readings: int, seed: int = 0, bursts: float = 0.0
) -> Readings:
    """Return the error counts of a simulated fleet: `value` (n_links, n_readings), the first `n_sick` links sick.

    `bursts` is the relative spread of every reading's mean (gamma): 0 is Poisson, as the closed form takes it.
    Raises CourseError for more sick links than links, and for more than 50 million readings.

    >>> r = simulate_counters(1000, 10, 0.1, 5.0, 24)
    >>> r.value.shape, int(r.sick.sum()), bool(r.value[r.sick].mean() > 4)
    ((1000, 24), 10, True)
    """
    n, k = whole("n_links", n_links, at_least=1, at_most=MOST_PARTS), whole("n_sick", n_sick, at_least=0)
    times, spread = whole("n_readings", n_readings, at_least=1), single("bursts", bursts, at_least=0)
    if k > n:
        raise CourseError(_("{k} of {n} links cannot be sick; take at most {n}.").format(k=k, n=n))
    _room(n, times)
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    is_sick = np.arange(n) < k
    mean = np.where(is_sick, finite("sick", sick, at_least=0), finite("healthy", healthy, at_least=0))[:, None]
    if spread:
        mean = mean * rng.gamma(1 / spread**2, spread**2, size=(n, times))
    return Readings(rng.poisson(mean, size=(n, times)), is_sick)


def _room(n: int, times: int) -> None:
    if n * times > MOST_READINGS:
        raise CourseError(_("{n} readings are too many; take at most {most}.").format(n=n * times, most=MOST_READINGS))


def judged(readings: Readings, threshold: float, readings_per_day: float, below: bool = False) -> Alarm:
    """Return what an alarm did on simulated readings: share of sick readings that rang, false alarms a day, readings to ring.

    `below`: rings at the threshold or less (bandwidth), not at the threshold or more (errors). NaN where no part is sick.

    >>> r = simulate_counters(4000, 400, 0.1, 5.0, 48)
    >>> closed = counter_alarm(5, 0.1, 5.0, 3600, 24)
    >>> abs(judged(r, 5, 24).detection - closed.detection) < 0.02
    True
    """
    limit, often = finite("threshold", threshold), single("readings_per_day", readings_per_day, above=0)
    rang = readings.value <= limit if below else readings.value >= limit
    days = readings.value.shape[1] / often
    found = float(rang[readings.sick].mean()) if readings.sick.any() else float("nan")
    return _alarm(limit, found, float(rang[~readings.sick].sum() / days))


def drift_alarm(
    drop: ArrayLike, noise: float, threshold: ArrayLike, n_parts: int, readings_per_day: float, window: int = 1
) -> Alarm:
    """Return what an alarm does that rings when the mean of `window` readings is `threshold` (a share) or more below normal.

    Args:
        drop: share by which a sick part has drifted down (0.05: bus bandwidth 5 % low).
        noise: standard deviation of one reading, as a share of the normal value.
        threshold: share below normal at which it rings.
        n_parts: healthy parts watched.
        readings_per_day: readings of each part a day; windows do not overlap.
        window: readings that are averaged.

    Returns:
        `Alarm` from the normal distribution; drop and threshold broadcast. `readings_to_ring` counts readings, not windows.

    >>> one, nine = (drift_alarm(0.05, 0.02, 0.04, 2048, 24, window=w) for w in (1, 9))
    >>> one.false_per_day > 1000 > 1 > nine.false_per_day, round(nine.detection, 2)
    (True, 0.93)
    """
    k, n = whole("window", window, at_least=1, at_most=10**9), whole("n_parts", n_parts, at_least=1, at_most=MOST_PARTS)
    fall, limit = finite("drop", drop, at_least=0), finite("threshold", threshold)
    together(drop=fall, threshold=limit)
    spread = single("noise", noise, above=0) / k**0.5
    often = single("readings_per_day", readings_per_day, above=0) / k
    found = _alarm(limit, normal_below((fall - limit) / spread), normal_below(-limit / spread) * np.asarray(n * often))
    return Alarm(found.threshold, found.detection, found.false_per_day, found.readings_to_ring * k)


def drift_threshold(
    noise: float, n_parts: int, readings_per_day: float, false_per_day: float, window: int = 1
) -> float:
    """Return the share below normal at which an alarm on means of `window` readings rings falsely `false_per_day` times a day.

    >>> limit = drift_threshold(0.02, 2048, 24, 1.0)
    >>> round(limit, 3), round(drift_alarm(0.0, 0.02, limit, 2048, 24).false_per_day, 6)
    (0.082, 1.0)
    """
    k = whole("window", window, at_least=1, at_most=10**9)
    chances = single("false_per_day", false_per_day, above=0) * k
    chances /= whole("n_parts", n_parts, at_least=1, at_most=MOST_PARTS) * single(
        "readings_per_day", readings_per_day, above=0
    )
    return (
        -normal_quantile(share("false_per_day over all readings of a day", chances))
        * single("noise", noise, above=0)
        / k**0.5
    )


def stragglers(step_s: ArrayLike, factor: float = 1.1) -> NDArray[np.int64]:
    """Return the ranks whose median step is `factor` times the median of all, or slower: (ranks,) from step_s (ranks, steps).

    Medians, so that one slow step accuses nobody. In synchronous training every rank ends with the slowest: measure the
    time before the collective, not the whole step.

    >>> stragglers([[1.0, 1.1, 1.0], [1.0, 9.0, 1.0], [1.2, 1.3, 1.2]]).tolist()
    [2]
    """
    times = np.asarray(finite("step_s", step_s, above=0, unit="s"))
    if times.ndim != 2:
        raise CourseError(_("step_s has the shape {shape}; (ranks, steps) is expected.").format(shape=times.shape))
    each = np.median(times, 1)
    return np.flatnonzero(each >= finite("factor", factor, above=1) * np.median(each))
