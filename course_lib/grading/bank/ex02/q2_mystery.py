"""Question 02.q2: find α and β of a hidden link."""

from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Misconception, Question
from course_lib.links.calibrate import fit, mystery_link


def _mystery(rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the points of this learner's mystery link, such that equal weights find another latency than they should."""
    while True:
        points, tells = _points(int(rng.integers(1_000_000)))
        if tells:
            return {name: list(values) for name, values in points.items()}


@cache  # a learner's link is looked for again at every check
def _points(seed: int) -> tuple[dict[str, list[float]], bool]:
    """Return the points of a seed, and whether equal weights find another latency there than they should."""
    link = mystery_link(seed)
    points = {
        "message_B": [int(b) for b in link.message_B],
        "time_us": [float(f"{t / US:.5g}") for t in link.time_s],
    }
    ratio = _found(**points, weights="equal")["latency_us"] / _found(**points)["latency_us"]
    return points, ratio < 0.4 or 0.6 < ratio < 0.8 or ratio > 2.5


def _found(message_B: list[int], time_us: list[float], weights: str = "relative") -> dict[str, float]:
    found = fit(message_B, np.array(time_us) * US, weights)
    return {
        "latency_us": found.latency_s / US,
        "bandwidth_GBps": found.bandwidth_Bps / GB,
        "half_KB": found.half_size_B / KB,
    }


def _equal_weights(message_B: list[int], time_us: list[float]) -> dict[str, float]:
    found = _found(message_B, time_us, "equal")
    return {"latency_us": found["latency_us"], "half_KB": found["half_KB"]}


q2 = Question(
    id="02.q2",
    title=_("The mystery link"),
    points=3,
    answer="mystery",
    expects=Entries(
        {
            "latency_us": Number("µs", tolerance=0.06),
            "bandwidth_GBps": Number("GB/s", tolerance=0.06),
            "half_KB": Number("KB", tolerance=0.1),
        }
    ),
    parameters=_mystery,
    reference=_found,
    misconceptions=(
        Misconception(
            "equal weights",
            _equal_weights,
            _(
                "That is the latency of a fit in which every microsecond counts the same. The noise of the largest messages is "
                "many times the latency: count every point by its relative error."
            ),
        ),
        Misconception(
            "average of the rates",
            lambda message_B, time_us: {"bandwidth_GBps": float(np.mean(np.array(message_B) / np.array(time_us))) / KB},
            _(
                "You averaged the rates of all sizes. The small messages wait for latency; the bandwidth is what the large ones "
                "come close to."
            ),
        ),
        Misconception(
            "time at the half-size",
            lambda message_B, time_us: {"latency_us": 2 * _found(message_B, time_us)["latency_us"]},
            _("That is the time of a message of the half-size. Half of it is latency, the other half is bytes."),
        ),
        Misconception(
            "half of the half-size",
            lambda message_B, time_us: {"half_KB": _found(message_B, time_us)["half_KB"] / 2},
            _("You halved α · β. The product itself is the size at which latency and bytes take the same time."),
        ),
        Misconception(
            "latency over bandwidth",
            lambda message_B, time_us: {
                "half_KB": _found(message_B, time_us)["latency_us"] / _found(message_B, time_us)["bandwidth_GBps"]
            },
            _("You divided α by β. The half-size is their product: the bytes that pass in the time α."),
        ),
        Misconception(
            "slope for bandwidth",
            lambda message_B, time_us: {"bandwidth_GBps": 1 / _found(message_B, time_us)["bandwidth_GBps"]},
            _("That is the slope of the line. The bandwidth is one over it."),
        ),
    ),
)
