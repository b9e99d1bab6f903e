"""Evidence gates from a small TOML file: targets with unit, owner, review date and the person a miss goes to."""

import datetime as dt
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.quantities import MEASURES, Measure, nearest, parse
from course_lib.timing.tomlfile import check_keys, line_of

TARGET_KEYS = ("at_most", "at_least", "owner", "review", "escalate_to", "roll_back", "needs")
DESIGN_KEYS = ("value", "from", "valid", "note")
EVIDENCE = ("measured", "predicted", "assumed")
TOP_TARGETS = ("title", "roll_back", "targets")
TOP_DESIGN = ("name", "reason", "would_change_my_mind", "values")


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


@dataclass(frozen=True, slots=True)
class Claim:
    """What a design says of one measure.

    `value` is in SI units, `evidence` "measured", "predicted" or "assumed"; `valid` says whether a prediction is inside what
    its model was held against.
    """

    measure: Measure
    value: float
    evidence: str
    valid: bool
    note: str


@dataclass(frozen=True, slots=True)
class Design:
    """A design to be checked: its claims by the name of the measure, its reason, and what would change its author's mind."""

    name: str
    reason: str
    would_change_my_mind: str
    claims: dict[str, Claim]


def _load(source: "str | os.PathLike | Mapping", kind: str) -> tuple[str, str, Mapping]:
    """Return (name for messages, text, data) of a path, of the text of a file, or of a mapping."""
    if isinstance(source, Mapping):
        return kind, "", source
    if isinstance(source, str) and "\n" in source:
        try:
            return kind, source, tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise CourseError(_("{path} is not valid TOML: {why}.").format(path=kind, why=error)) from None
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if path is None:
        raise CourseError(_("{kind}: the path of a TOML file, its text or a dict is expected.").format(kind=kind))
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        return os.path.basename(path), text, tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise CourseError(_("The file {path} cannot be read: {why}.").format(path=path, why=why)) from None
    except tomllib.TOMLDecodeError as error:
        raise CourseError(
            _("{path} is not valid TOML: {why}.").format(path=os.path.basename(path), why=error)
        ) from None


class _Place:
    """Where in a file we are: every complaint names the line when there is one."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text

    def fail(self, section: str, key: str, sentence: str) -> CourseError:
        if not self.text:
            return CourseError(f"{self.name}, [{section}] {sentence}" if section else f"{self.name}: {sentence}")
        line = self.line(section, key)
        return CourseError(_("{name}, line {line}: {why}").format(name=self.name, line=line, why=sentence))

    def line(self, section: str, key: str) -> int:
        if key and "." not in section:
            return line_of(self.text, section, key)
        header, found = f"[{section}]", None
        for number, line in enumerate(self.text.splitlines(), 1):
            bare = line.split("#")[0].strip()
            if bare.startswith("["):
                found = number if bare.replace('"', "").replace(" ", "") == header else None
            if found and key and bare.split("=")[0].strip().strip('"') == key:
                return number
            if found and not key:
                return found
        return line_of(self.text, "", key or section.rsplit(".", 1)[-1])

    def keys(self, table: object, section: str, valid: tuple[str, ...]) -> Mapping:
        if not isinstance(table, Mapping):
            raise self.fail("", section.rsplit(".", 1)[-1], _("[{s}] has to be a section.").format(s=section))
        if self.text and "." not in section:
            check_keys(self.name, self.text, table, section, valid)
        for key in table:
            if key not in valid:
                where = f"[{section}]" if section else _("the top level")
                sentence = _("there is no key '{key}' in {where}. {hint}")
                raise self.fail(section, key, sentence.format(key=key, where=where, hint=nearest(key, valid)))
        return table

    def words(self, table: Mapping, section: str, key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if value is None:
            raise self.fail(section, "", _("[{s}] needs the key '{key}'.").format(s=section, key=key))
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.fail(
                section, key, _("{key} is {value!r}; words in quotes are expected.").format(key=key, value=value)
            )
        return value.strip()

    def measure(self, name: str, section: str) -> Measure:
        if name not in MEASURES:
            sentence = _("there is no measure '{name}'. {hint}")
            raise self.fail(section, "", sentence.format(name=name, hint=nearest(name, tuple(MEASURES))))
        return MEASURES[name]

    def quantity(self, measure: Measure, table: Mapping, section: str, key: str) -> float:
        try:
            return parse(measure, table[key])
        except CourseError as error:
            raise self.fail(section, key, str(error)) from None


def _date(place: _Place, table: Mapping, section: str) -> dt.date:
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
    name, text, data = _load(source, "targets")
    place = _Place(name, text)
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


def read_design(source: "str | os.PathLike | Mapping") -> Design:
    """Read what a design claims, from the path of a TOML file, its text or the dict of one.

    ```toml
    name = "64 boxes on rails"
    reason = "the mix is all-to-all"
    would_change_my_mind = "measured busbw under 300 GB/s"
    [values]
    goodput = "92 %"                       # predicted, inside its model's range
    token_latency = { value = "48 ms", from = "measured" }
    power = { value = "1.2 MW", from = "predicted", valid = false, note = "outside the sweeps" }
    ```

    >>> d = read_design({"name": "a", "values": {"goodput": "92 %", "power": {"value": "1 MW", "from": "measured"}}})
    >>> d.claims["goodput"].evidence, d.claims["power"].value
    ('predicted', 1000000.0)
    """
    name, text, data = _load(source, "design")
    place = _Place(name, text)
    place.keys(data, "", TOP_DESIGN)
    values = data.get("values")
    if not isinstance(values, Mapping) or not values:
        raise CourseError(_("{name}: a section [values] with at least one value is needed.").format(name=name))
    claims = {}
    for key, given in values.items():
        measure = _measure_in_values(place, key)
        table = given if isinstance(given, Mapping) else {"value": given}
        section = f"values.{key}" if isinstance(given, Mapping) and _is_section(text, key) else "values"
        spot = "" if section != "values" else key
        for word in table:
            if word not in DESIGN_KEYS:
                sentence = _("there is no key '{key}' in {name}. {hint}")
                raise place.fail(
                    section, spot or word, sentence.format(key=word, name=key, hint=nearest(word, DESIGN_KEYS))
                )
        if "value" not in table:
            raise place.fail(section, spot, _("{name} needs the key 'value'.").format(name=key))
        try:
            value = parse(measure, table["value"])
        except CourseError as error:
            raise place.fail(section, spot or "value", str(error)) from None
        evidence, valid = table.get("from", "predicted"), table.get("valid", True)
        if evidence not in EVIDENCE:
            sentence = _("there is no evidence '{n}'. {hint}")
            raise place.fail(section, spot or "from", sentence.format(n=evidence, hint=nearest(evidence, EVIDENCE)))
        if not isinstance(valid, bool):
            raise place.fail(section, spot or "valid", _("valid is {v!r}; true or false is expected.").format(v=valid))
        note = table.get("note", "")
        if not isinstance(note, str):
            raise place.fail(section, spot or "note", _("note is {v!r}; words in quotes are expected.").format(v=note))
        claims[key] = Claim(measure, value, evidence, valid, note)
    return Design(
        place.words(data, "", "name", "design"),
        place.words(data, "", "reason", ""),
        place.words(data, "", "would_change_my_mind", ""),
        claims,
    )


def _is_section(text: str, key: str) -> bool:
    return any(line.split("#")[0].replace(" ", "").startswith(f"[values.{key}]") for line in text.splitlines())


def _measure_in_values(place: _Place, key: str) -> Measure:
    if key not in MEASURES:
        sentence = _("there is no measure '{name}'. {hint}")
        section = "values" if not _is_section(place.text, key) else f"values.{key}"
        raise place.fail(
            section, key if section == "values" else "", sentence.format(name=key, hint=nearest(key, tuple(MEASURES)))
        )
    return MEASURES[key]
