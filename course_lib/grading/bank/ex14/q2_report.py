"""Question 14.q2: an incident report with five errors."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Plain
from course_lib.grading.bank.ex14.report import CARDS, LINES, CARD_GBps, between_h, drawn, lines, sent, tail, told
from course_lib.grading.question import Misconception, Question
from course_lib.grading.slips import slip

TOLERANCE = 0.01


def _five(value: float) -> float:
    return float(f"{value:.5g}")


def _report(rng: np.random.Generator) -> dict[str, Any]:
    facts = drawn(rng)
    planted = sorted(rng.choice(len(LINES), size=5, replace=False).tolist())
    stated = {
        key: _five((wrong if i in planted else right)(facts))
        for i, (key, (_u, _w, right, wrong)) in enumerate(LINES.items())
    }
    return {"facts": facts, "stated": stated, "report": [*told(facts), "", *lines(stated)]}


def review(facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> dict[str, float]:
    """Return the number that should stand in every line.

    >>> review(**_report(np.random.default_rng(0)))["host rate"]
    400.0
    """
    return {key: _five(right(facts)) for key, (_u, _w, right, _x) in LINES.items()}


def _near(given: Any, right: float) -> bool:
    return type(given) in (int, float) and abs(given - right) <= TOLERANCE * abs(right)


# What a wrong number is compared in, where the line's own unit hides bytes.
_SLIPS_IN = {"network time": "GB", "redone": "%"}


def _unmended(key: str, answer: Mapping[str, Any], stated: float, right: float) -> str:
    """Return what to say of an error that is still there: nothing about which, unless its line was touched."""
    given = answer.get(key)
    if given is None or _near(given, stated):
        return _("An error is still in the report.")
    if type(given) not in (int, float):
        return _("[{key}]: a number is expected, without a unit.").format(key=key)
    hint = slip([given / right], _SLIPS_IN.get(key, LINES[key][0]), TOLERANCE) if math.isfinite(given) else ""
    return (
        _("[{key}]: the report is wrong there, and so is {given}. {hint}")
        .format(key=key, given=f"{given:.5g}", hint=hint)
        .strip()
    )


def reviewed(answer: Any, facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> dict[str, str]:
    """Return a sentence for each planted error that is not mended, and one for right lines that were changed."""
    right = review(facts, stated, report)
    for key in answer:
        if key not in right:
            keys = ", ".join(right)
            return {"all": _("There is no line {key!r}; the lines are: {keys}.").format(key=key, keys=keys)}
    errors = [key for key in right if not _near(stated[key], right[key])]
    found = {
        key: "" if _near(answer.get(key), right[key]) else _unmended(key, answer, stated[key], right[key])
        for key in errors
    }
    kept = {key: stated[key] if answer.get(key) is None else answer[key] for key in right}  # None: left out
    spoilt = [key for key in right if key not in errors and not _near(kept[key], right[key])]
    if spoilt:
        found["left alone"] = _("A line that was right is changed: {keys}.").format(keys=", ".join(spoilt))
    elif all(found.values()):
        found["left alone"] = _("None of the five errors is mended yet.")
    else:
        found["left alone"] = ""
    return found


def _copied(answer: Any, facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> bool:
    """Return whether nothing differs from the report: its wrong numbers are then not the learner's."""
    return all(value is None or _near(value, stated.get(key, math.nan)) for key, value in answer.items())


def _believed(key: str, wrong: Callable) -> Callable[..., dict[str, float]]:
    return lambda facts, stated, report: {key: _five(wrong(facts))}


def _believes(key: str, wrong: Callable) -> Callable[..., bool]:
    def says(answer: Any, facts: Mapping[str, float], stated: Mapping[str, float], report: list[str]) -> bool:
        return not _copied(answer, facts, stated, report) and _near(answer.get(key), _five(wrong(facts)))

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

# Wrong numbers that reviewers put in the place of wrong numbers.
_MENDED_WRONG = (
    (
        "sent",
        "only half of an all-reduce",
        lambda f: sent(f) / 2,
        _("You count the way to the sum alone. Every GPU gets the sums back as well: twice."),
    ),
    (
        "network time",
        "GB for GiB",
        lambda f: sent(f) / (CARDS * CARD_GBps) * 1e3,
        _("You divide GiB by GB/s. The message is in GiB, 7.4 % more bytes than in GB."),
    ),
    (
        "at twice the size",
        "the root of the size",
        lambda f: between_h(f) / math.sqrt(2),
        _("You take the root of the size. Intervals between checkpoints do; failures add up."),
    ),
    (
        "at twice the size",
        "twice the hosts, twice as long",
        lambda f: between_h(f) * 2,
        _("You let twice the hosts run twice as long. They stop the job twice as often."),
    ),
    (
        "redone",
        "a share for percent",
        lambda f: f["interval_min"] / 2 / 60 / between_h(f),
        _("You give a share. The line is in percent."),
    ),
    (
        "false alarms",
        "one link watched",
        lambda f: tail(f, f["threshold"]) * f["readings"],
        _("You watch one link. Every link of the fleet can ring."),
    ),
    (
        "false alarms",
        "more than the threshold",
        lambda f: tail(f, f["threshold"] + 1) * f["links"] * f["readings"],
        _("You ring above the threshold. It rings at the threshold, too."),
    ),
)

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
    misconceptions=(
        Misconception(
            "the report as it is",
            lambda facts, stated, report: dict(stated),
            _("Those are the report's own numbers, and five of its lines are wrong: write what should stand there."),
            recognise=_copied,
        ),
        *(
            Misconception(name, _believed(key, LINES[key][3]), sentence, recognise=_believes(key, LINES[key][3]))
            for key, (name, sentence) in _NAMED.items()
        ),
        *(
            Misconception(name, _believed(key, wrong), sentence, recognise=_believes(key, wrong))
            for key, name, wrong, sentence in _MENDED_WRONG
        ),
    ),
)
