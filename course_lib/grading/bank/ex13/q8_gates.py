"""Question 13.q8: who may stop a roll-out."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import gates
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Misconception, Question

DAY = "2026-12-01"
NOBODY, OWNER, ABOVE = "nobody", "owner", "above"
WHO = {gates.MET: NOBODY, gates.OVERDUE: OWNER, gates.MISSED: ABOVE, gates.OUTSIDE: ABOVE, gates.UNKNOWN: ABOVE}
# Name: the bound, its unit, whether it is the most, owner, and the person above.
GATES = {
    "goodput": (90.0, "%", False, "training lead", "head of infrastructure"),
    "restart_time": (10.0, "min", True, "on-call lead", "head of infrastructure"),
    "cost_per_million_tokens": (4.5, "USD/Mtokens", True, "capacity planner", "head of finance"),
    "availability": (99.0, "%", False, "operations lead", "head of product"),
    "step_time": (12.0, "s", True, "training lead", "head of infrastructure"),
    "time_between_failures": (3.0, "h", False, "hardware lead", "head of infrastructure"),
}
# What becomes of a gate: the margin by which its claim keeps the bound, what the gate needs and gets, and its review date.
FATES = (
    ("met", 0.06, "predicted", "predicted", "2027-03-01"),
    ("measured as asked", 0.03, "measured", "measured", "2027-02-01"),
    ("missed", -0.12, "predicted", "measured", "2027-03-01"),
    ("missed by a hair", -0.004, "predicted", "predicted", "2027-03-01"),
    ("only predicted", 0.08, "measured", "predicted", "2027-02-01"),
    ("overdue", 0.05, "predicted", "measured", "2026-11-15"),
)


def _span(bound: float, unit: str) -> float:
    """What a share of a bound is a share of: of what is lost, for a percentage."""
    return 100 - bound if unit == "%" else bound


def _numbers(rng: np.random.Generator) -> dict[str, Any]:
    targets, claims = {}, {}
    most_of = [gate[2] for gate in GATES.values()]
    places = rng.permutation(len(FATES)).tolist()
    while not any(most and place < 2 for most, place in zip(most_of, places)):  # one that is met with "at most"
        places = rng.permutation(len(FATES)).tolist()
    for (name, gate), place in zip(GATES.items(), places, strict=True):
        bound, unit, most, owner, above = gate
        _fate, margin, needs, evidence, review = FATES[place]
        step = margin * float(rng.uniform(0.8, 1.2)) * _span(bound, unit)
        value = bound - step if most else bound + step
        key = "at_most" if most else "at_least"
        targets[name] = {
            key: f"{bound:g} {unit}",
            "owner": owner,
            "review": review,
            "escalate_to": above,
            "needs": needs,
        }
        claims[name] = {"value": f"{value:.3f} {unit}", "from": evidence}
    return {"day": DAY, "targets": targets, "claims": claims}


def who_stops(day: str, targets: Mapping[str, Any], claims: Mapping[str, Any]) -> dict[str, str]:
    """Return for each gate who has to act before the roll-out goes on: "nobody", its "owner", or the person "above".

    >>> sorted(who_stops(**_numbers(np.random.default_rng(0))).values())
    ['above', 'above', 'above', 'nobody', 'nobody', 'owner']
    """
    design = {"name": "roll-out", "values": claims}
    report = gates.check({"title": "roll-out", "targets": targets}, design, dt.date.fromisoformat(day))
    return {v.target.measure.name: WHO[v.state] for v in report.verdicts}


def _as(fates: Mapping[str, str]) -> Callable[..., dict[str, str]]:
    """Return the answer of somebody who sends gates with these fates elsewhere."""

    def wrong(day: str, targets: Mapping[str, Any], claims: Mapping[str, Any]) -> dict[str, str]:
        found = {name: _fate(day, targets[name], claims[name]) for name in targets}
        return {name: fates[fate] for name, fate in found.items() if fate in fates}

    return wrong


def _fate(day: str, gate: Mapping[str, str], claim: Mapping[str, str]) -> str:
    """Return what becomes of a gate, as `FATES` names it."""
    most = "at_most" in gate
    bound, value = (float(text.split()[0]) for text in (gate["at_most" if most else "at_least"], claim["value"]))
    kept = bound - value if most else value - bound
    if kept < 0:
        return "missed by a hair" if kept > -0.01 * _span(bound, claim["value"].split()[1]) else "missed"
    if gate["needs"] == "measured":
        return "measured as asked" if claim["from"] == "measured" else "only predicted"
    return "overdue" if gate["review"] < day else "met"


def _higher_is_better(day: str, targets: Mapping[str, Any], claims: Mapping[str, Any]) -> dict[str, str]:
    """Every bound read as a least one: what keeps "at most" seems to miss."""
    right = who_stops(day, targets, claims)
    return {name: ABOVE for name, gate in targets.items() if "at_most" in gate and right[name] == NOBODY}


q8 = Question(
    id="13.q8",
    title=_("Who may stop a roll-out"),
    points=1,
    answer="stops",
    expects=Entries(Choice((NOBODY, OWNER, ABOVE))),
    parameters=_numbers,
    reference=who_stops,
    withholds=(*WITHHELD, "course_lib.cluster.gates"),
    misconceptions=(
        Misconception(
            "a good number is enough",
            _as({"only predicted": NOBODY}),
            _(
                "You let a good number through that nobody measured. The gate asks for a measurement, so a person decides."
            ),
        ),
        Misconception(
            "a hair is nothing",
            _as({"missed by a hair": NOBODY}),
            _(
                "You wave a miss through because it is small. A bound that gives way is none; the person above may move it."
            ),
        ),
        Misconception(
            "judges of their own",
            _as({"missed": OWNER, "missed by a hair": OWNER, "only predicted": OWNER}),
            _(
                "You let owners judge a miss of their own. The owner brings the number; a miss goes to the person above."
            ),
        ),
        Misconception(
            "dates do not count",
            _as({"overdue": NOBODY}),
            _("You overlook a review date that has passed. The owner looks again before anything goes on."),
        ),
        Misconception(
            "all to the person above",
            _as({"overdue": ABOVE}),
            _(
                "You send a review that is due to the person above. The number still keeps its bound: its owner looks again."
            ),
        ),
        Misconception(
            "more is always better",
            _higher_is_better,
            _("You read every bound as a least one. A time or a cost keeps its target from below."),
        ),
    ),
)
