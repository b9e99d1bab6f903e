"""Question 10.q3: the range around a prediction."""

import math
from collections.abc import Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Listing, Number
from course_lib.grading.bank.ex10.rack import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def range_s(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    """Return the range of a time that nobody measured, if the predictor misses as it did elsewhere, or not at all.

    >>> range_s(2.0, [-0.5, 0.1])[0] < 2.0 < range_s(2.0, [-0.5, 0.1])[1]
    True
    """
    factors = [math.exp(-r) for r in residuals] + [1.0]
    return [predicted_s * min(factors), predicted_s * max(factors)]


def _range_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(0.02, [-0.08, 0.06]), (0.005, [-0.3, -0.6]), (1.0, [0.2, 0.4]), (3e-3, [0.0])]
    rows += [
        (float(rng.uniform(1e-4, 1)), [round(float(v), 3) for v in rng.normal(0, 0.3, int(rng.integers(1, 6)))])
        for _i in range(6)
    ]
    return [Case({"predicted_s": p, "residuals": r}) for p, r in rows]


def _wrong_way(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    return range_s(predicted_s, [-r for r in residuals])


def _symmetric(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    most = max(abs(r) for r in residuals)
    return range_s(predicted_s, [most, -most])


def _never_right(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    factors = [math.exp(-r) for r in residuals]
    return [predicted_s * min(factors), predicted_s * max(factors)]


def _added(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    found = [predicted_s * (1 - r) for r in residuals] + [predicted_s]
    return [min(found), max(found)]


def _divided(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    found = [predicted_s / (1 + r) for r in residuals] + [predicted_s]
    return [min(found), max(found)]


q3 = Question(
    id="10.q3",
    title=_("Two racks: a range and not a number"),
    points=1,
    answer="range_s",
    kind="function",
    expects=Listing((Number("s", tolerance=0.005), Number("s", tolerance=0.005))),
    inputs=_range_cases,
    reference=range_s,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "multiplied by the miss",
            _wrong_way,
            _(
                "You multiply by predicted / measured. Where the predictor was too quick, the real time is longer: divide."
            ),
        ),
        Misconception(
            "the same to both sides",
            _symmetric,
            _(
                "You take the largest miss to both sides. A predictor that was always too quick says nothing of being too slow."
            ),
        ),
        Misconception(
            "never right",
            _never_right,
            _("You leave out that the predictor may be right. Its own time belongs to the range."),
        ),
        Misconception(
            "residual as a percentage",
            _added,
            _("You take a residual for a percentage. It is a logarithm: the factor is e to the power of it."),
        ),
        Misconception(
            "residual as a relative error",
            _divided,
            _(
                "You divide by 1 + a residual, as if it were a relative error. It is a logarithm: divide by e to its power."
            ),
        ),
        Misconception(
            "high before low",
            lambda predicted_s, residuals: range_s(predicted_s, residuals)[::-1],
            _("You give the longer time first. The order is low, high."),
        ),
        Misconception(
            "factors for times",
            lambda predicted_s, residuals: range_s(1.0, residuals),
            _("You give factors. Multiply predicted_s by them."),
        ),
        Misconception(
            "base ten",
            lambda predicted_s, residuals: range_s(predicted_s, [r * math.log(10) for r in residuals]),
            _("You take 10 to the power of a residual. It is a natural logarithm: e to the power of it."),
        ),
        Misconception(
            "the mean miss",
            lambda predicted_s, residuals: range_s(predicted_s, [sum(residuals) / len(residuals)]),
            _("You take the mean of the misses. The predictor may miss as far as its worst."),
        ),
    ),
)
