"""What a design claims of itself, with its evidence, from a small TOML file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.gatefile import Place, load
from course_lib.cluster.quantities import MEASURES, Measure, nearest, parse

DESIGN_KEYS = ("value", "from", "valid", "note")
EVIDENCE = ("measured", "predicted", "assumed")
TOP_DESIGN = ("name", "reason", "would_change_my_mind", "values")


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
class Claims:
    """A design to be checked: its claims by the name of the measure, its reason, and what would change its author's mind."""

    name: str
    reason: str
    would_change_my_mind: str
    claims: dict[str, Claim]


def read_claims(source: "str | os.PathLike | Mapping") -> Claims:
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

    >>> d = read_claims({"name": "a", "values": {"goodput": "92 %", "power": {"value": "1 MW", "from": "measured"}}})
    >>> d.claims["goodput"].evidence, d.claims["power"].value
    ('predicted', 1000000.0)
    """
    name, text, data = load(source, "design")
    place = Place(name, text)
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
    return Claims(
        place.words(data, "", "name", "design"),
        place.words(data, "", "reason", ""),
        place.words(data, "", "would_change_my_mind", ""),
        claims,
    )


def _is_section(text: str, key: str) -> bool:
    return any(line.split("#")[0].replace(" ", "").startswith(f"[values.{key}]") for line in text.splitlines())


def _measure_in_values(place: Place, key: str) -> Measure:
    if key not in MEASURES:
        sentence = _("there is no measure '{name}'. {hint}")
        section = "values" if not _is_section(place.text, key) else f"values.{key}"
        raise place.fail(
            section, key if section == "values" else "", sentence.format(name=key, hint=nearest(key, tuple(MEASURES)))
        )
    return MEASURES[key]
