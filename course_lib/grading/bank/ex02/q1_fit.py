"""Question 02.q1: fit α and β with weights."""

from collections.abc import Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.links.alphabeta import time_s
from course_lib.links.calibrate import fit


def fit_line(message_KB: Sequence[float], time_us: Sequence[float], weight: Sequence[float]) -> tuple[float, float]:
    """Return (latency in µs, bandwidth in GB/s) of the line with the least weighted sum of squared misses."""
    found = fit(np.array(message_KB) * KB, np.array(time_us) * US, weights=weight)
    return found.latency_s / US, found.bandwidth_Bps / GB


def _slope_kept(message_KB, time_us, weight):
    latency_us, bandwidth_GBps = fit_line(message_KB, time_us, weight)
    return latency_us, 1 / bandwidth_GBps


def _ends_only(message_KB, time_us, weight):
    slope = (time_us[-1] - time_us[0]) / (message_KB[-1] - message_KB[0])
    return time_us[0] - slope * message_KB[0], 1 / slope


def _plain_means(message_KB, time_us, weight) -> tuple[tuple[float, float], ...]:
    """Return the lines with means that leave the weights out: both means everywhere, or only where the latency is read off."""
    x, y, w = (np.array(column, dtype=float) for column in (message_KB, time_us, weight))
    plain = (w * (x - x.mean()) * (y - y.mean())).sum() / (w * (x - x.mean()) ** 2).sum()
    right = 1 / fit_line(message_KB, time_us, weight)[1]
    return tuple((float(y.mean() - slope * x.mean()), float(1 / slope)) for slope in (plain, right))


def _through_zero(message_KB, time_us, weight):
    x, y, w = (np.array(column, dtype=float) for column in (message_KB, time_us, weight))
    return 0.0, float((w * x * x).sum() / (w * x * y).sum())


def _fit_case(rng: np.random.Generator, n: int, noise: float) -> dict[str, list[float]]:
    """Return points about a line, sizes near the half-size so that both numbers show; with noise one point is spoiled.

    The spoiled point has the weight 0. Drawn again until the best line starts well above zero.
    """
    while True:
        latency_us, bandwidth_GBps = float(np.exp(rng.uniform(0.5, 3))), float(np.exp(rng.uniform(1.6, 6)))
        message_KB = np.sort(latency_us * bandwidth_GBps * np.exp(rng.uniform(np.log(0.05), np.log(4), n)))
        time_us = (
            time_s(message_KB * KB, latency_us * US, bandwidth_GBps * GB) / US * (1 + noise * rng.uniform(-1, 1, n))
        )
        weight = rng.integers(1, 10, n).astype(float)
        if noise:
            spoiled = int(rng.integers(1, n))
            time_us[spoiled] *= 3
            weight[spoiled] = 0
        case = {
            "message_KB": [round(float(v), 3) for v in message_KB],
            "time_us": [round(float(v), 4) for v in time_us],
            "weight": weight.tolist(),
        }
        if 0.5 * latency_us < fit_line(**case)[0] < 2 * latency_us:
            return case


def _fit_cases(rng: np.random.Generator) -> list[Case]:
    line, weights = "points on a line", "weights"
    exact = [
        {"message_KB": [0.0, 100.0], "time_us": [2.0, 4.0], "weight": [1.0, 1.0]},
        {"message_KB": [1, 2, 4, 8], "time_us": [6.0, 7.0, 9.0, 13.0], "weight": [1, 1, 1, 1]},
        {"message_KB": [1.0, 1e6], "time_us": [5.01, 10005.0], "weight": [1.0, 1.0]},
    ]
    spoiled = {"message_KB": [0, 10, 20, 40], "time_us": [3.0, 4.0, 9.0, 7.0], "weight": [1.0, 2.0, 0.0, 4.0]}
    uneven = {"message_KB": [1.0, 10.0, 100.0], "time_us": [10.1, 11.5, 30.0], "weight": [1.0, 4.0, 2.0]}
    return [
        *(Case(case, line) for case in exact),
        *(Case(_fit_case(rng, n, 0.0), line) for n in (3, 9)),
        Case(uneven, weights),
        Case(spoiled, weights),
        *(Case(_fit_case(rng, n, 0.12), weights) for n in (5, 6, 7, 8, 9, 10, 12, 16)),
    ]


q1 = Question(
    id="02.q1",
    title=_("Fit α and β with weights"),
    points=4,
    answer="fit_line",
    kind="function",
    expects=Listing((Number("µs"), Number("GB/s"))),
    inputs=_fit_cases,
    reference=fit_line,
    withholds=("course_lib.links.calibrate",),
    misconceptions=(
        Misconception(
            "slope for bandwidth",
            _slope_kept,
            _("Your second number is the slope, in µs per KB. A bandwidth is bytes per time: one over the slope."),
        ),
        Misconception(
            "weights ignored",
            lambda message_KB, time_us, weight: fit_line(message_KB, time_us, [1.0] * len(time_us)),
            _(
                "Every point counts the same in your line: the weights are not used, and a spoiled point pulls it along."
            ),
        ),
        Misconception(
            "weights squared",
            lambda message_KB, time_us, weight: fit_line(message_KB, time_us, [w * w for w in weight]),
            _(
                "Your weights act twice: you multiply the misses by them before squaring, as np.polyfit(w=…) does. Here they "
                "multiply the squared misses; np.polyfit needs their square root."
            ),
        ),
        Misconception(
            "first and last point",
            _ends_only,
            _("Your line goes through the first and the last point, and the points between them do not count."),
        ),
        Misconception(
            "the two in the other order",
            lambda message_KB, time_us, weight: fit_line(message_KB, time_us, weight)[::-1],
            _("Your two numbers are right and in the other order: first the latency, then the bandwidth."),
        ),
        Misconception(
            "slope and intercept as np.polyfit gives them",
            lambda message_KB, time_us, weight: _slope_kept(message_KB, time_us, weight)[::-1],
            _(
                "You return slope and intercept, as np.polyfit does. The intercept is the latency and comes first; the bandwidth is "
                "one over the slope."
            ),
        ),
        Misconception(
            "means without weights",
            lambda message_KB, time_us, weight: _plain_means(message_KB, time_us, weight)[0],
            _("The means in your line leave the weights out, so points that count little, or nothing, pull at it."),
            recognise=lambda given, **case: any(q1.expects.same(given, wrong) for wrong in _plain_means(**case)),
        ),
        Misconception(
            "a line through zero",
            _through_zero,
            _("Your line goes through zero, as if a message of no bytes took no time. What it takes is the latency."),
        ),
    ),
)
