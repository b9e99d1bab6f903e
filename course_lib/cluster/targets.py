"""Targets of a roll-out from a small TOML file: bounds with unit, owner, review date and the person a miss goes to."""

import datetime as dt
import os
from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.claims import EVIDENCE
from course_lib.cluster.gatefile import Place, load
from course_lib.cluster.quantities import Measure, nearest

TARGET_KEYS = ("at_most", "at_least", "owner", "review", "escalate_to", "roll_back", "needs")
TOP_TARGETS = ("title", "roll_back", "targets")


@dataclass(frozen=True, slots=True)
class Target:
    """One gate, as its file has it.

    `bound` is in SI units of `measure`, `most` True for "at most"; `owner` brings the number, a miss goes to `escalate_to`,
    `roll_back` undoes the step, and `needs` is the evidence that counts ("" for any but an assumption).
    """

    measure: Measure
    bound: float
    most: bool
    owner: str
    review: dt.date
    escalate_to: str
    roll_back: str
    needs: str


@dataclass(frozen=True, slots=True)
class Targets:
    """A file of targets."""

    title: str
    roll_back: str
    targets: tuple[Target, ...]


def _date(place: Place, table: Mapping, section: str) -> dt.date:
    value = table.get("review")
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        if value is None:
            raise place.fail(section, "", _("[{s}] needs the key 'review'.").format(s=section)) from None
        raise place.fail(
            section, "review", _("review is {v!r}; a date like 2027-03-01 is expected.").format(v=value)
        ) from None


def read_targets(source: "str | os.PathLike | Mapping") -> Targets:
    """Read targets from the path of a TOML file (or its text, or the dict of one) and check every key, unit, date and name.

    ```toml
    title = "Roll-out of the training cluster"
    [targets.goodput]
    at_least = "90 %"
    owner = "Training lead"
    review = 2027-03-01
    escalate_to = "Head of infrastructure"
    roll_back = "return to the old pool"   # optional
    needs = "measured"                     # optional: measured, predicted or assumed
    ```

    Raises CourseError that names the file, the line and the valid keys, units or measures.

    >>> gate = {"at_least": "90 %", "owner": "Ada", "review": "2027-03-01", "escalate_to": "Grace"}
    >>> read_targets({"title": "Roll-out", "targets": {"goodput": gate}}).targets[0].bound
    0.9
    >>> read_targets({"title": "Roll-out", "targets": {"goodput": gate | {"at_least": "90 ms"}}})
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: targets, [targets.goodput] goodput is '90 ms': it has no unit 'ms'. Valid: %, share.
    """
    name, text, data = load(source, "targets")
    place = Place(name, text)
    place.keys(data, "", TOP_TARGETS)
    tables = data.get("targets")
    if not isinstance(tables, Mapping) or not tables:
        raise CourseError(_("{name}: at least one section like [targets.goodput] is needed.").format(name=name))
    found = []
    for key, table in tables.items():
        section = f"targets.{key}"
        measure = place.measure(key, section)
        place.keys(table, section, TARGET_KEYS)
        bounds = [k for k in ("at_most", "at_least") if k in table]
        if len(bounds) != 1:
            sentence = _("[{s}] needs one of at_most and at_least, and not both.")
            raise place.fail(section, bounds[-1] if bounds else "", sentence.format(s=section))
        expected = "at_most" if measure.better == "lower" else "at_least"
        if bounds[0] != expected:
            sentence = _("{name} is better when it is {better}: write {expected}.")
            better = _("lower") if measure.better == "lower" else _("higher")
            raise place.fail(section, bounds[0], sentence.format(name=key, better=better, expected=expected))
        needs = place.words(table, section, "needs", "")
        if needs and needs not in EVIDENCE:
            raise place.fail(
                section, "needs", _("there is no evidence '{n}'. {hint}").format(n=needs, hint=nearest(needs, EVIDENCE))
            )
        owner, above = place.words(table, section, "owner"), place.words(table, section, "escalate_to")
        if owner.lower() == above.lower():
            raise place.fail(
                section, "escalate_to", _("a miss cannot go to its owner ({o}); name another person.").format(o=owner)
            )
        found.append(
            Target(
                measure, place.quantity(measure, table, section, bounds[0]), bounds[0] == "at_most", owner,
                _date(place, table, section), above, place.words(table, section, "roll_back", ""), needs,
            )
        )  # fmt: skip
    return Targets(place.words(data, "", "title", "Targets"), place.words(data, "", "roll_back", ""), tuple(found))
