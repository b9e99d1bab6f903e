"""Question 14.q2: an incident report with five errors."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.base.units import GiB
from course_lib.cluster.telemetry import counter_alarm
from course_lib.grading.answers import Plain
from course_lib.grading.question import Misconception, Question

CARD_GBps, CARDS = 50.0, 8


def _facts(rng: np.random.Generator) -> dict[str, float]:
    return {
        "hosts": int(2 ** rng.integers(4, 8)),
        "size_GiB": int(2 ** rng.integers(0, 4)),
        "days": int(rng.integers(30, 90)),
        "stops": int(rng.integers(12, 60)),
        "restart_min": int(rng.integers(8, 25)),
        "interval_min": int(rng.integers(30, 90)),
        "links": int(2 ** rng.integers(9, 13)),
        "readings": int(rng.choice([24, 48, 96])),
        "errors": round(float(rng.uniform(0.08, 0.2)), 3),
        "threshold": int(rng.integers(3, 5)),
        "usd": round(float(rng.uniform(2, 6)), 2),
        "useful": round(float(rng.uniform(0.7, 0.9)), 2),
    }


def _tail(f: Mapping[str, float], threshold: float) -> float:
    return float(counter_alarm(int(threshold), f["errors"], 5.0, 1, 1.0).false_per_day)


def _sent(f: Mapping[str, float]) -> float:
    n = f["hosts"] * 8
    return 2 * (n - 1) / n * f["size_GiB"]


def _between_h(f: Mapping[str, float]) -> float:
    return f["days"] * 24 / f["stops"]


# key: unit, what the report says it is, the right number, and the plausible wrong one.
LINES: dict[str, tuple[str, str, Callable, Callable]] = {
    "sent": (
        "GiB",
        _("In the ring all-reduce each GPU sends"),
        _sent,
        lambda f: f["size_GiB"] / (f["hosts"] * 8),
    ),
    "host rate": (
        "GB/s",
        _("Together its eight cards let a host send, one way,"),
        lambda f: CARDS * CARD_GBps,
        lambda f: 2 * CARDS * CARD_GBps,
    ),
    "network time": (
        "ms",
        _("With a ring over each of the eight cards, all cards busy, the network takes at least"),
        lambda f: _sent(f) * GiB / (CARDS * CARD_GBps * 1e9) * 1e3,
        lambda f: _sent(f) * GiB / (CARD_GBps * 1e9) * 1e3,
    ),
    "between stops": (
        "h",
        _("From one stop to the next the whole job ran, on average,"),
        _between_h,
        lambda f: _between_h(f) * f["hosts"],
    ),
    "at twice the size": (
        "h",
        _("On twice as many hosts of the same kind it would run, on average,"),
        lambda f: _between_h(f) / 2,
        _between_h,
    ),
    "redone": (
        "%",
        _("Of the time between stops, training that is lost and done again is, on average,"),
        lambda f: 100 * f["interval_min"] / 2 / 60 / _between_h(f),
        lambda f: 100 * f["interval_min"] / 60 / _between_h(f),
    ),
    "false alarms": (
        "a day",
        _("If all links are healthy, the alarm rings"),
        lambda f: _tail(f, f["threshold"]) * f["links"] * f["readings"],
        lambda f: _tail(f, f["threshold"]) * f["links"],
    ),
    "cost": (
        "USD",
        _("With the share that was kept, a million tokens cost"),
        lambda f: f["usd"] / f["useful"],
        lambda f: f["usd"] * f["useful"],
    ),
}

TOLERANCE = 0.01


def _five(value: float) -> float:
    return float(f"{value:.5g}")


def _report(rng: np.random.Generator) -> dict[str, Any]:
    facts = _facts(rng)
    planted = sorted(rng.choice(len(LINES), size=5, replace=False).tolist())
    stated = {
        key: _five((wrong if i in planted else right)(facts))
        for i, (key, (_u, _w, right, wrong)) in enumerate(LINES.items())
    }
    return {"facts": facts, "stated": stated, "report": [*_told(facts), "", *_lines(stated)]}


def _told(f: Mapping[str, float]) -> list[str]:
    text = _(
        "INCIDENT REPORT (draft). The job ran on {hosts} hosts of 8 GPUs, each host with eight cards of 400 Gb/s (one way). It stopped "
        "{stops} times in {days} days; a restart takes {restart} min, and it saves every {interval} min. A step ends with an all-reduce "
        "of {size} GiB over all GPUs. {links} links are read {readings} times a day; a healthy one has {errors} errors a reading "
        "(Poisson), and the alarm rings at {threshold} or more in one reading. With nothing lost a million tokens cost {usd} USD; "
        "{useful} % of the time was kept."
    )
    return [
        text.format(
            hosts=f["hosts"],
            stops=f["stops"],
            days=f["days"],
            restart=f["restart_min"],
            interval=f["interval_min"],
            size=f["size_GiB"],
            links=f["links"],
            readings=f["readings"],
            errors=f["errors"],
            threshold=f["threshold"],
            usd=f["usd"],
            useful=round(100 * f["useful"]),
        )
    ]


def _lines(stated: Mapping[str, float]) -> list[str]:
    return [f"[{key}] {LINES[key][1]} {say_number(stated[key], 5)} {LINES[key][0]}." for key in LINES]


def review(facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> dict[str, float]:
    """Return the number that should stand in every line.

    >>> review(**_report(np.random.default_rng(0)))["host rate"]
    400.0
    """
    return {key: _five(right(facts)) for key, (_u, _w, right, _x) in LINES.items()}


def _near(given: Any, right: float) -> bool:
    return type(given) in (int, float) and abs(given - right) <= TOLERANCE * abs(right)


def reviewed(answer: Any, facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> dict[str, str]:
    """Return a sentence for each planted error that is not mended, and one for right lines that were changed."""
    right = review(facts, stated, report)
    for key in answer:
        if key not in right:
            keys = ", ".join(right)
            return {"all": _("There is no line {key!r}; the lines are: {keys}.").format(key=key, keys=keys)}
    errors = [key for key in right if not _near(stated[key], right[key])]
    found = {
        key: ""
        if _near(answer.get(key), right[key])
        else _("An error is still in the report, or is replaced by another number that is not right.")
        for key in errors
    }
    spoilt = [key for key in right if key not in errors and not _near(answer.get(key, stated[key]), right[key])]
    if spoilt:
        found["left alone"] = _("A line that was right is changed: {keys}.").format(keys=", ".join(spoilt))
    elif all(found.values()):
        found["left alone"] = _("None of the five errors is mended yet.")
    else:
        found["left alone"] = ""
    return found


def _believed(key: str) -> Callable[..., dict[str, float]]:
    return lambda facts, stated, report: {key: _five(LINES[key][3](facts))}


def _believes(key: str) -> Callable[..., bool]:
    def says(answer: Any, facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> bool:
        return _near(answer.get(key), _five(LINES[key][3](facts)))

    return says


_NAMED = {
    "sent": (
        "each rank sends its share once",
        _("You let each GPU send an n-th of the message. In a ring it sends nearly all of it, twice."),
    ),
    "host rate": (
        "both directions for one",
        _("You count both directions of the cards. What a host can send is one."),
    ),
    "network time": (
        "one network card for each host",
        _("You price one network card. A host has eight, and all of them carry the ring's bytes."),
    ),
    "between stops": (
        "a host for the job",
        _("You take the time between failures of one host. The job stops when any of them fails."),
    ),
    "at twice the size": (
        "failures do not add up",
        _("You leave the time between stops as it is at twice the size. Rates add up, so it halves."),
    ),
    "redone": (
        "a whole interval lost",
        _("You lose a whole interval at each stop. It strikes in the middle, on average."),
    ),
    "false alarms": (
        "one reading a day",
        _("You let each link ring once a day. It can ring at every reading."),
    ),
    "cost": (
        "cost shrinks with useful time",
        _("You multiply by the share that was kept. Fewer tokens for the same bill cost more each: it divides."),
    ),
}

q2 = Question(
    id="14.q2",
    title=_("Five errors in an incident report"),
    points=3,
    answer="review",
    expects=Plain(
        "a dict with a number for each line of the report", fits=lambda given: type(given) is dict and given != {}
    ),
    parameters=_report,
    reference=review,
    accept=reviewed,
    misconceptions=tuple(
        Misconception(name, _believed(key), sentence, recognise=_believes(key))
        for key, (name, sentence) in _NAMED.items()
    ),
)
