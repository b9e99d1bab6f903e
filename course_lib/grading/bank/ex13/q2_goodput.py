"""Question 13.q2: the share of the time that is useful."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import goodput
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

SMALL, LARGE = _("losses are small"), _("losses are large")


def useful_share(between_s: float, interval_s: float, save_s: float, restart_s: float) -> float:
    """Return the share of the time that trains and stays.

    >>> round(useful_share(11_124.0, 840.0, 33.0, 660.0), 3)
    0.872
    """
    return float(goodput.useful(between_s, interval_s, save_s, restart_s).useful)


def _useful_cases(rng: np.random.Generator) -> list[Case]:
    names = ("between_s", "interval_s", "save_s", "restart_s")
    small = [(1e6, 3600.0, 0.0, 0.0), (1e5, 1000.0, 10.0, 0.0), (5e4, 1200.0, 5.0, 300.0)]
    large = [
        (1800.0, 600.0, 30.0, 660.0),
        (600.0, 300.0, 10.0, 1200.0),
        (900.0, 3600.0, 60.0, 60.0),
        (60.0, 30.0, 1.0, 660.0),
    ]
    for _unused in range(4):
        m = float(10 ** rng.uniform(4.7, 6))
        small.append(
            (m, m * float(rng.uniform(0.01, 0.03)), m * float(rng.uniform(1e-4, 5e-4)), m * float(rng.uniform(0, 0.01)))
        )
        m = float(10 ** rng.uniform(2.5, 4))
        large.append(
            (m, m * float(rng.uniform(0.2, 2)), m * float(rng.uniform(0.01, 0.2)), m * float(rng.uniform(0.2, 2)))
        )
    return [
        Case(dict(zip(names, row, strict=True)), part)
        for part, rows in ((SMALL, small), (LARGE, large))
        for row in rows
    ]


def _judge_useful(answer: float, **inputs: float) -> str:
    right = useful_share(**inputs)
    if not 0 <= answer <= 1:
        return _("you keep {given} of the time: a share lies between 0 and 1, also when nearly all is lost.").format(
            given=f"{answer:.6g}"
        )
    if abs(answer - right) > 0.004 * max(right, 0.05):
        return _("you keep {given} of the time, and it is {due}.").format(given=f"{answer:.5g}", due=f"{right:.5g}")
    return ""


def _near_one_of(*rules: Callable[..., float]) -> Callable[..., bool]:
    """Return a test whether an answer is what one of several forms of the same wrong model gives."""

    def recognise(answer: float, **inputs: float) -> bool:
        return any(abs(answer - wrong) <= 0.003 * max(abs(wrong), 1e-4) for wrong in (rule(**inputs) for rule in rules))

    return recognise


def _added(again: float, of_cycle: bool, cut: bool, restart: bool = True) -> Callable[..., float]:
    """Return a learner's sum of losses: `again` intervals redone at each failure, saving as a share of the cycle or of the interval."""

    def wrong(between_s: float, interval_s: float, save_s: float, restart_s: float) -> float:
        saving = save_s / (interval_s + save_s * of_cycle)
        kept = 1 - saving - (restart_s * restart + again * interval_s) / between_s
        return max(0.0, kept) if cut else kept

    return wrong


q2 = Question(
    id="13.q2",
    title=_("Goodput"),
    points=2,
    answer="useful_share",
    kind="function",
    expects=Number(tolerance=0.003),
    inputs=_useful_cases,
    reference=useful_share,
    accept=_judge_useful,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "losses added up",
            _added(0.5, of_cycle=False, cut=False),
            _(
                "You add the losses up and take them from 1. That holds while they are small, and goes below zero when not."
            ),
            recognise=_near_one_of(_added(0.5, False, False), _added(0.5, True, False)),
        ),
        Misconception(
            "losses added up, cut at zero",
            _added(0.5, of_cycle=False, cut=True),
            _("You add the losses up and cut at zero. Failures strike in restarts, too, and something is always kept."),
            recognise=_near_one_of(_added(0.5, False, True), _added(0.5, True, True)),
        ),
        Misconception(
            "restart forgotten",
            lambda between_s, interval_s, save_s, restart_s: useful_share(between_s, interval_s, save_s, 0.0),
            _("You forget the restart: from a failure until training goes on again."),
        ),
        Misconception(
            "saving forgotten",
            lambda between_s, interval_s, save_s, restart_s: useful_share(between_s, interval_s, 0.0, restart_s),
            _("You forget the time in which training stands still to save."),
        ),
        Misconception(
            "a restart that cannot fail",
            lambda between_s, interval_s, save_s, restart_s: (
                interval_s / (between_s + restart_s) / math.expm1(min((interval_s + save_s) / between_s, 700))
            ),
            _("You let every restart succeed. Parts fail while it goes on, and then it begins again."),
        ),
        Misconception(
            "a whole interval lost",
            _added(1.0, of_cycle=False, cut=True),
            _("You lose a whole interval at each failure. It strikes in the middle, on average."),
            recognise=_near_one_of(_added(1.0, False, True), _added(1.0, True, True)),
        ),
        Misconception(
            "a whole interval lost, not cut at zero",
            _added(1.0, of_cycle=False, cut=False),
            _(
                "You lose a whole interval at each failure, and may keep less than nothing. It strikes in the middle, on average."
            ),
            recognise=_near_one_of(_added(1.0, False, False), _added(1.0, True, False)),
        ),
        Misconception(
            "nothing done again",
            _added(0.0, of_cycle=False, cut=True),
            _("You count saving and restarts only. What was trained since the last checkpoint is done again, too."),
            recognise=_near_one_of(*(_added(0.0, cycle, cut) for cycle in (False, True) for cut in (False, True))),
        ),
        Misconception(
            "a restart in every interval",
            lambda between_s, interval_s, save_s, restart_s: (
                interval_s / between_s / math.expm1(min((interval_s + save_s + restart_s) / between_s, 700))
            ),
            _("You restart after every interval. A restart follows a failure, so it stands in a factor of its own."),
        ),
        Misconception(
            "failures only while it trains",
            lambda between_s, interval_s, save_s, restart_s: (
                1 / (1 + save_s / interval_s + (restart_s + interval_s / 2) / between_s)
            ),
            _("You let no failure strike while something is done again, saved or restarted. Parts fail all the time."),
            recognise=_near_one_of(
                lambda between_s, interval_s, save_s, restart_s: (
                    1 / (1 + save_s / interval_s + (restart_s + interval_s / 2) / between_s)
                ),
                lambda between_s, interval_s, save_s, restart_s: (
                    interval_s / (interval_s + save_s) / (1 + (restart_s + interval_s / 2) / between_s)
                ),
            ),
        ),
        Misconception(
            "what is lost",
            lambda **given: 1 - useful_share(**given),
            _("You return what is lost. The share that stays is asked for."),
        ),
        Misconception(
            "percent",
            lambda **given: 100 * useful_share(**given),
            _("You return percent. A share is a number between 0 and 1."),
        ),
    ),
)
