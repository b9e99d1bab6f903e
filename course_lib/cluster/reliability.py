"""Failures of many parts: rates add up, so a cluster's time between failures is that of a part over their number."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, one_of, together, whole
from course_lib.base.language import _
from course_lib.cluster.chances import poisson_at_least, poisson_quantile, share
from course_lib.cluster.inrange import finite, single
from course_lib.cluster.published import Part, fleet, parts

MOST_DRAWS = 20_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """How often one part of a kind fails, per second; `low` and `high` bound it at 90 % for the count it rests on."""

    name: str
    title: str
    group: str
    parts_per_host: int
    events: int
    rate_per_s: float
    low_per_s: float
    high_per_s: float


@dataclass(frozen=True, slots=True)
class Simulated:
    """Failures in simulated fleets: `counts` (runs, kinds) of the kinds `names`, and `total` (runs,)."""

    names: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def total(self) -> NDArray[np.int64]:
        """Failures of each run, all kinds together."""
        return self.counts.sum(1)


def between_s(rate_per_s: ArrayLike, n_parts: ArrayLike):
    """Return the mean time in seconds between failures of `n_parts` parts that each fail at `rate_per_s`; inf where none can.

    Rates of independent parts in series add up; the arguments broadcast. Validity: failures that come at any time alike
    and independently. Firmware, power and heat take many parts at once, and new or bad parts fail more often.

    >>> hours = between_s(1 / (50_700 * 3600), [8, 16_384, 100_000]) / 3600
    >>> hours.round(2).tolist()
    [6337.5, 3.09, 0.51]
    """
    rate = finite("rate_per_s", rate_per_s, at_least=0, unit="1/s")
    n = finite("n_parts", n_parts, at_least=0)
    together(rate_per_s=rate, n_parts=n)
    total = np.asarray(rate * n, float)
    out = np.divide(1.0, total, out=np.full(total.shape, np.inf), where=total > 0)
    return float(out) if out.ndim == 0 else out


def count_interval(expected: float, level: float = 0.9) -> tuple[int, int]:
    """Return the (low, high) counts between which a Poisson number with this mean lies with chance `level`, evenly cut.

    >>> count_interval(419.0)
    (386, 453)
    """
    p, mean = share("level", level), single("expected", expected, at_least=0)
    return poisson_quantile((1 - p) / 2, mean), poisson_quantile((1 + p) / 2, mean)


def rate_interval(events: ArrayLike, exposure_s: ArrayLike, level: float = 0.9) -> tuple:
    """Return the (low, high) rates per second for which `events` in `exposure_s` part-seconds are not too many nor too few.

    The exact interval of Garwood: no rate below `low` gives this many or more with chance (1 − level)/2, no rate above
    `high` this few or fewer. Numbers, or arrays that broadcast.

    >>> low, high = rate_interval(10, 1.0)
    >>> round(low, 2), round(high, 2)
    (5.43, 16.96)
    """
    n, exposure = finite("events", events, at_least=0), finite("exposure_s", exposure_s, above=0, unit="s")
    tail = (1 - share("level", level)) / 2
    shape = together(events=n, exposure_s=exposure)
    n = np.asarray(n, float)

    def solve(count, target: float):
        low, high = np.zeros(n.shape), n + 5 * np.sqrt(n) + 12
        while np.any(short := poisson_at_least(count, high) < target):
            high = np.where(short, 2 * high, high)
        for _round in range(48):
            middle = (low + high) / 2
            below = poisson_at_least(count, middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    least = np.where(n == 0, 0.0, solve(np.maximum(n, 1), tail)) / exposure
    most = solve(n + 1, 1 - tail) / exposure
    return (float(least), float(most)) if shape == () else (least, most)


@functools.cache
def part_rates(name: str = "llama3-405b") -> tuple[Rate, ...]:
    """Return how often each kind of part fails, from the counts of Llama 3's table (source: `published.fleet(name)`).

    Exposure is parts × 54 days. These rates describe that fleet; its own 419 are no test of them (`fleetfit` tests).

    >>> rates = {r.name: r for r in part_rates()}
    >>> round(1 / rates["gpu"].rate_per_s / 3600)  # hours of one GPU between faults of the kind "faulty GPU"
    143471
    """
    where = fleet(name)
    if where.name != "llama3-405b":
        raise CourseError(_("{name} gives no counts by part; llama3-405b does.").format(name=where.name))
    kinds = parts()
    exposure_s = np.array([where.hosts * p.parts_per_host * where.span_s for p in kinds])
    events = np.array([p.events for p in kinds])
    low, high = rate_interval(events, exposure_s)
    rate = events / exposure_s
    return tuple(
        Rate(p.name, p.title, p.group, p.parts_per_host, p.events, float(r), float(a), float(b))
        for p, r, a, b in zip(kinds, rate, low, high, strict=True)
    )


def host_rate_per_s(rates: "tuple[Rate, ...] | None" = None, without: "tuple[str, ...]" = ()) -> float:
    """Return how often one host stops a job, per second: the rates of all its parts added, but for the kinds in `without`.

    >>> per_day = host_rate_per_s() * 86400
    >>> round(per_day, 5), host_rate_per_s(without=("gpu", "hbm")) < host_rate_per_s()
    (0.00379, True)
    """
    rates = part_rates() if rates is None else rates
    names = [r.name for r in rates]
    gone = {one_of(_("kind of part"), name, names) for name in without}
    return float(sum(r.rate_per_s * r.parts_per_host for r in rates if r.name not in gone))


def simulate(
    n_hosts: int,
    span_s: float,
    *,
    rates: "tuple[Rate, ...] | None" = None,
    uneven: float = 0.0,
    n_runs: int = 1000,
    seed: int = 0,
) -> Simulated:
    """Return the failures of simulated fleets of `n_hosts` hosts over `span_s` seconds.

    Args:
        n_hosts: hosts.
        span_s: how long, in seconds.
        rates: how often parts fail; None: `part_rates()`.
        uneven: relative spread of the rate between fleets (0: all alike). A fleet's rate is drawn from a gamma
            distribution with this standard deviation over its mean.
        n_runs: simulated fleets.
        seed: of the random numbers; the same seed gives the same fleets.

    Returns:
        `Simulated` with `counts` (n_runs, kinds of parts).

    Raises:
        CourseError: counts below 1, times below 0, more than 20 million draws.

    Each kind of part is drawn by itself; parts fail independently. A failed part is replaced at once.

    >>> fleets = simulate(2048, 54 * 86400.0, n_runs=2000)
    >>> bool(abs(fleets.total.mean() - 419) < 2), bool(18 < fleets.total.std() < 23)
    (True, True)
    """
    hosts, runs = whole("n_hosts", n_hosts, at_least=1, at_most=10**9), whole("n_runs", n_runs, at_least=1)
    span, spread = single("span_s", span_s, at_least=0, unit="s"), single("uneven", uneven, at_least=0)
    rates = part_rates() if rates is None else rates
    if runs * len(rates) > MOST_DRAWS:
        raise CourseError(_("{n} runs are too many; take fewer.").format(n=runs))
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    mean = np.array([r.rate_per_s * r.parts_per_host * hosts * span for r in rates])
    factor = 1.0 if spread == 0 else rng.gamma(1 / spread**2, spread**2, size=(runs, 1))
    return Simulated(tuple(r.name for r in rates), rng.poisson(mean * factor, size=(runs, len(rates))))


def shares(group: bool = False) -> dict[str, float]:
    """Return the share of each kind of part (or group of kinds) among the failures, from the counts.

    The published table prints 30.1 % for its first line; 148 of 419 are 35.3 %. We use counts.

    >>> round(shares()["gpu"], 3), round(shares(group=True)["GPU"], 2)
    (0.353, 0.64)
    """
    kinds: tuple[Part, ...] = parts()
    total = sum(p.events for p in kinds)
    found: dict[str, float] = {}
    for p in kinds:
        key = p.group if group else p.name
        found[key] = found.get(key, 0.0) + p.events / total
    return found
