"""How often another cluster will fail: rates fitted on published fleets, and the interval that their differences leave."""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.cluster.chances import normal_quantile, share, student_quantile
from course_lib.cluster.inrange import single
from course_lib.cluster.published import Fleet, fleet, fleets


@dataclass(frozen=True, slots=True)
class Pool:
    """Rates of several fleets as a log-normal: mean and standard deviation of the logarithm of failures per host-second."""

    names: tuple[str, ...]
    log_mean: float
    log_sd: float

    @property
    def rate_per_host_s(self) -> float:
        """The middle (geometric mean) of the fleets' rates, per host-second."""
        return math.exp(self.log_mean)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted number of failures.

    `low` … `high` holds the differences between fleets and chance; the `counted_` pair holds the chance of counting alone,
    there and here, as if all fleets failed alike.
    """

    names: tuple[str, ...]
    level: float
    expected: float
    low: float
    high: float
    counted_low: float
    counted_high: float


@dataclass(frozen=True, slots=True)
class Checked:
    """A prediction beside what happened; `error` is predicted / counted − 1."""

    predicted: Predicted
    counted: int

    @property
    def error(self) -> float:
        """Relative error of the expected number."""
        return self.predicted.expected / self.counted - 1

    @property
    def inside(self) -> bool:
        """Whether the count lies in the whole interval."""
        return self.predicted.low <= self.counted <= self.predicted.high

    @property
    def inside_counted(self) -> bool:
        """Whether the count lies in the interval that knows chance only."""
        return self.predicted.counted_low <= self.counted <= self.predicted.counted_high


def pool(names: "tuple[str, ...] | list[str] | None" = None) -> Pool:
    """Return the pooled rate of fleets; None: all whose use is "fit". Each fleet weighs the same.

    The rule, fixed before the comparison: one rate for each fleet, the one its authors project with or count themselves;
    definitions of "failure" differ between them, and the spread holds that difference too.

    >>> five = pool()
    >>> len(five.names), round(five.rate_per_host_s * 86400 * 1000, 2)  # failures in 1,000 host-days
    (5, 4.79)
    """
    chosen: list[Fleet] = fleets("fit") if names is None else [fleet(n) for n in names]
    if not chosen:
        raise CourseError(_("At least one fleet is needed."))
    logs = np.log([f.rate_per_host_s for f in chosen])
    spread = float(logs.std(ddof=1)) if len(logs) > 1 else 0.0
    return Pool(tuple(f.name for f in chosen), float(logs.mean()), spread)


def predict_count(
    n_hosts: int, span_s: float, *, names: "tuple[str, ...] | list[str] | None" = None, level: float = 0.9
) -> Predicted:
    """Predict the failures of a fleet that none of the rates was taken from.

    Args:
        n_hosts: hosts of the fleet to predict.
        span_s: over how many seconds.
        names: fleets whose rates are used; None: all of use "fit".
        level: chance that the interval should hold.

    Returns:
        `Predicted`. With k fleets the interval of the rate is log-mean ± t · log-sd · √(1 + 1/k) with Student's t of
        k − 1 degrees of freedom, widened by the chance of counting. One fleet alone says nothing about differences:
        its interval is of chance only (of its own count as well, where that was published).

    Raises:
        CourseError: unknown fleets, counts below 1, spans below 0, a level that is no share.

    >>> p = predict_count(2048, 54 * 86400)
    >>> round(p.expected), p.low < 419 < p.high
    (529, True)
    """
    hosts, span = whole("n_hosts", n_hosts, at_least=1, at_most=10**9), single("span_s", span_s, at_least=0, unit="s")
    p = share("level", level)
    fitted = pool(names)
    expected = fitted.rate_per_host_s * hosts * span
    seen = [n for n in (fleet(name).failures for name in fitted.names) if n]
    k = len(fitted.names)
    noise = 1 / max(expected, 0.5) + (1 / sum(seen) if len(seen) == k else 0.0)
    chance = normal_quantile((1 + p) / 2) * math.sqrt(noise)
    width = 0.0 if k == 1 else student_quantile((1 + p) / 2, k - 1) * fitted.log_sd * math.sqrt(1 + 1 / k)
    whole_width = math.exp(math.hypot(width, chance))
    return Predicted(
        fitted.names,
        p,
        expected,
        expected / whole_width,
        expected * whole_width,
        expected / math.exp(chance),
        expected * math.exp(chance),
    )


def held_out(name: str = "llama3-405b", level: float = 0.9) -> list[Checked]:
    """Return predictions of a fleet's count beside it: by each other fleet alone, then by all of them together (last).

    >>> rows = held_out()
    >>> [r.inside_counted for r in rows[:2]], rows[-1].inside
    ([False, False], True)
    """
    target = fleet(name)
    if target.failures is None:
        raise CourseError(_("{name} publishes a rate, not a count.").format(name=name))
    others = [f.name for f in fleets("fit") if f.name != target.name]
    hosts = round(target.hosts)
    sets = [(n,) for n in others] + [tuple(others)]
    return [Checked(predict_count(hosts, target.span_s, names=names, level=level), target.failures) for names in sets]
