"""The incident report of question 14.q2: its facts, its eight lines, right and plausibly wrong, and its text."""

from collections.abc import Callable, Mapping

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.base.units import GiB
from course_lib.cluster.telemetry import counter_alarm

CARD_GBps, CARDS = 50.0, 8


def drawn(rng: np.random.Generator) -> dict[str, float]:
    """Return the facts of a report, all of which are right."""
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


def tail(f: Mapping[str, float], threshold: float) -> float:
    """Return the chance that one reading of a healthy link has so many errors or more."""
    return float(counter_alarm(int(threshold), f["errors"], 5.0, 1, 1.0).false_per_day)


def sent(f: Mapping[str, float]) -> float:
    """Return the GiB that each GPU sends in a ring all-reduce."""
    n = f["hosts"] * 8
    return 2 * (n - 1) / n * f["size_GiB"]


def between_h(f: Mapping[str, float]) -> float:
    """Return the hours from one stop of the job to the next."""
    return f["days"] * 24 / f["stops"]


# key: unit, what the report says it is, the right number, and the plausible wrong one.
LINES: dict[str, tuple[str, str, Callable, Callable]] = {
    "sent": (
        "GiB",
        _("In the ring all-reduce each GPU sends"),
        sent,
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
        lambda f: sent(f) * GiB / (CARDS * CARD_GBps * 1e9) * 1e3,
        lambda f: sent(f) * GiB / (CARD_GBps * 1e9) * 1e3,
    ),
    "between stops": (
        "h",
        _("From one stop to the next the whole job ran, on average,"),
        between_h,
        lambda f: between_h(f) * f["hosts"],
    ),
    "at twice the size": (
        "h",
        _("On twice as many hosts of the same kind it would run, on average,"),
        lambda f: between_h(f) / 2,
        between_h,
    ),
    "redone": (
        "%",
        _("Of the time between stops, training that is lost and done again is, on average,"),
        lambda f: 100 * f["interval_min"] / 2 / 60 / between_h(f),
        lambda f: 100 * f["interval_min"] / 60 / between_h(f),
    ),
    "false alarms": (
        "a day",
        _("If all links are healthy, the alarm rings"),
        lambda f: tail(f, f["threshold"]) * f["links"] * f["readings"],
        lambda f: tail(f, f["threshold"]) * f["links"],
    ),
    "cost": (
        "USD",
        _("With the share that was kept, a million tokens cost"),
        lambda f: f["usd"] / f["useful"],
        lambda f: f["usd"] * f["useful"],
    ),
}


def told(f: Mapping[str, float]) -> list[str]:
    """Return the first paragraph of the report."""
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


def lines(stated: Mapping[str, float]) -> list[str]:
    """Return the lines of the report with the numbers that it states."""
    return [f"[{key}] {LINES[key][1]} {say_number(stated[key], 5)} {LINES[key][0]}." for key in LINES]
