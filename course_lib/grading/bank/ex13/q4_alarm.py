"""Question 13.q4: an alarm, with its false alarms."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import telemetry
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def alarm(healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float) -> dict[str, float]:
    """Return the lowest threshold that rings falsely at most so often a day, with its false alarms a day and its detection.

    >>> alarm(0.1, 5.0, 32_768, 24, 1.0)["threshold"]
    5
    """
    k = telemetry.least_threshold(healthy, n_links, readings_per_day, false_per_day)
    found = telemetry.counter_alarm(k, healthy, sick, n_links, readings_per_day)
    return {"threshold": k, "false alarms": found.false_per_day, "detection": found.detection}


def _alarm_cases(rng: np.random.Generator) -> list[Case]:
    names = ("healthy", "sick", "n_links", "readings_per_day", "false_per_day")
    rows = [(0.0, 1.0, 100, 1, 1.0), (1.0, 4.0, 1, 1, 1.0), (1.0, 4.0, 1, 24, 0.01), (0.1, 5.0, 32_768, 24, 1.0)]
    rows += [
        (
            round(float(10 ** rng.uniform(-2, 0.3)), 3),
            round(float(rng.uniform(3, 20)), 2),
            int(2 ** rng.integers(6, 17)),
            int(rng.choice([1, 24, 96])),
            float(rng.choice([0.1, 1.0, 5.0])),
        )
        for _unused in range(5)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _tail(k: int, mean: float) -> float:
    """Chance of k or more, summed as a learner would."""
    below, term = 0.0, math.exp(-mean)
    for i in range(k):
        below += term
        term *= mean / (i + 1)
    return max(1 - below, 0.0)


def _alarms(
    times: Callable[..., float], ring: Callable[[int, float], float] = _tail
) -> Callable[..., dict[str, float]]:
    """Return a learner's alarm: readings that can ring falsely a day, and the chance of one reading."""

    def wrong(
        healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float
    ) -> dict[str, float]:
        n, k = times(n_links, readings_per_day), 0
        while ring(k, healthy) * n > false_per_day and k < 10_000:
            k += 1
        return {"threshold": k, "false alarms": ring(k, healthy) * n, "detection": ring(k, sick)}

    return wrong


def _said(**entries: Callable[..., float]) -> Callable[..., dict[str, float]]:
    """Return a learner's right alarm with other entries: functions of the right ones and of the inputs."""

    def wrong(**given: float) -> dict[str, float]:
        right = alarm(**given)
        return right | {name.replace("_", " "): value(right, given) for name, value in entries.items()}

    return wrong


def _at(k: int, healthy: float, sick: float, n_links: int, readings_per_day: int) -> dict[str, float]:
    return {
        "threshold": k,
        "false alarms": _tail(k, healthy) * n_links * readings_per_day,
        "detection": _tail(k, sick),
    }


def _ringing_at(place: Callable[[float, float], float]) -> Callable[..., dict[str, float]]:
    """Return a learner's alarm whose threshold comes from the means of healthy and sick links alone."""
    return lambda healthy, sick, n_links, readings_per_day, false_per_day: _at(
        round(place(healthy, sick)), healthy, sick, n_links, readings_per_day
    )


def _rings_at(*places: Callable[[float, float], float]) -> Callable[..., bool]:
    return lambda answer, healthy, sick, **_rest: any(
        answer["threshold"] in (math.floor(x), math.ceil(x), round(x)) for x in (p(healthy, sick) for p in places)
    )


def _fewer(healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float) -> dict[str, float]:
    """The lowest threshold from 1 up that rings falsely less often than promised."""
    k = next(k for k in range(1, 10_000) if _tail(k, healthy) * n_links * readings_per_day < false_per_day)
    return _at(k, healthy, sick, n_links, readings_per_day)


def _by_reading(
    healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float
) -> dict[str, float]:
    """The lowest threshold at which one reading of one link keeps the promise."""
    k = next(k for k in range(10_000) if _tail(k, healthy) <= false_per_day)
    return _at(k, healthy, sick, n_links, readings_per_day)


def _bell(k: int, mean: float) -> float:
    """A normal distribution in place of Poisson."""
    return 0.5 * math.erfc((k - mean) / math.sqrt(2 * mean)) if mean > 0 else float(k <= 0)


q4 = Question(
    id="13.q4",
    title=_("An alarm and its false alarms"),
    points=2,
    answer="alarm",
    kind="function",
    expects=Entries(
        {
            "threshold": Number(whole=True),
            "false alarms": Number("a day", near_zero=1e-9),
            "detection": Number(near_zero=1e-9),
        },
        each=False,
    ),
    inputs=_alarm_cases,
    reference=alarm,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one link watched",
            _alarms(lambda n, r: r),
            _("You watch one link. Every link of the fleet can ring falsely."),
        ),
        Misconception(
            "one reading a day",
            _alarms(lambda n, r: n),
            _("You take one reading a day. Each link can ring at every reading."),
        ),
        Misconception(
            "more than the threshold",
            _alarms(lambda n, r: n * r, lambda k, mean: _tail(k + 1, mean)),
            _("You ring above the threshold. It rings at the threshold, too: k errors or more."),
        ),
        Misconception(
            "exactly the threshold",
            _alarms(lambda n, r: n * r, lambda k, mean: _tail(k, mean) - _tail(k + 1, mean)),
            _("You take the chance of exactly k errors. It rings at k or more."),
        ),
        Misconception(
            "a bell curve",
            _alarms(lambda n, r: n * r, _bell),
            _(
                "You take errors for normally distributed. Counts near zero are not: their tail is Poisson's, and longer."
            ),
        ),
        Misconception(
            "three deviations",
            _ringing_at(lambda healthy, sick: math.ceil(healthy + 3 * math.sqrt(healthy))),
            _(
                "You ring at the mean and three deviations, by habit. The promise about false alarms sets the threshold."
            ),
            recognise=_rings_at(lambda healthy, sick: healthy + 3 * math.sqrt(healthy)),
        ),
        Misconception(
            "the mean of sick links",
            _ringing_at(lambda healthy, sick: sick),
            _(
                "You ring at what a sick link has on average, or half-way to it. The promise about false alarms sets the threshold."
            ),
            recognise=_rings_at(lambda healthy, sick: sick, lambda healthy, sick: (healthy + sick) / 2),
        ),
        Misconception(
            "fewer than promised",
            _fewer,
            _(
                "You begin at k = 1, or want fewer than promised. A threshold of 0 rings at every reading, and that may be allowed."
            ),
        ),
        Misconception(
            "the promise for each reading",
            _by_reading,
            _("You keep the promise for one reading of one link. It is for all links and all readings of a day."),
        ),
        Misconception(
            "a reading for a day",
            _said(false_alarms=lambda right, given: _tail(right["threshold"], given["healthy"])),
            _("Your false alarms are the chance of one reading. A day has that of every link, at every reading."),
        ),
        Misconception(
            "the promise taken for the count",
            _said(false_alarms=lambda right, given: given["false_per_day"]),
            _(
                "You return the promise as the false alarms. The threshold is whole, so it rings less often than allowed."
            ),
        ),
        Misconception(
            "missed for found",
            _said(detection=lambda right, given: 1 - right["detection"]),
            _("Your detection is the chance that a sick link is missed. It rings with the rest."),
        ),
        Misconception(
            "found within a day",
            _said(detection=lambda right, given: 1 - (1 - right["detection"]) ** given["readings_per_day"]),
            _("Your detection is that of a whole day. That of one reading was asked for."),
        ),
    ),
)
