"""Answers: what a learner predicted, read with its unit, kept in the course's notes folder, and compared with the model."""

import json
import math
import os
import time

from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _
from course_lib.base.places import notes_folder
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.base.typed import comma_words, number_and_rest
from course_lib.base.units import parse_bytes, parse_rate, parse_time, says_direction

FILE = "predictions.jsonl"
CLOSE = 1.1
USUAL = {  # what a refusal offers; unitwords.py has every way to write them
    "time": ("ns", "µs", "ms", "s", "min", "h"),
    "size": ("B", "KB", "MB", "GB", "KiB", "MiB", "GiB"),
    "rate": ("MB/s", "GB/s", "TB/s", "Mb/s", "Gb/s", "Tb/s"),
}


def kind_of(unit: str) -> str:
    """Return "rate", "time", "size" or "number": the kind of quantity that `unit` measures.

    >>> kind_of("GB/s"), kind_of("µs"), kind_of("MiB"), kind_of("GPUs"), kind_of("")
    ('rate', 'time', 'size', 'number', 'number')
    """
    if "/s" in unit:
        return "rate"
    for kind, parse in (("time", parse_time), ("size", parse_bytes)):
        try:
            if unit:
                parse(f"1 {unit}")
                return kind
        except CourseError:
            continue
    return "number"


def spellings(unit: str) -> tuple[str, ...]:
    """Return how a unit that is neither a time, a size nor a rate may be typed, in small letters: no keyboard has a ×.

    >>> spellings("×"), spellings("GPUs"), spellings("")
    (('×', 'x', 'times'), ('gpus', 'gpu'), ('',))
    """
    also = {"×": ("x", "times"), "%": ("percent", "per cent")}.get(unit, ())
    return unit.lower(), *also, *((unit.lower().removesuffix("s"),) if len(unit) > 1 and unit.endswith("s") else ())


def read(text: str, unit: str = "") -> float:
    """Return what a person typed in SI units; a bare number is in `unit`. Raises CourseError with a sentence.

    >>> read("12", "s"), read("1.5 ms", "µs"), read("3.5x", "×")
    (12.0, 0.0015, 3.5)
    """
    text = str(text).strip()
    said = refusals(unit)
    if not text:
        raise CourseError(said["empty"])
    found = number_and_rest(text)
    if found is None:
        raise CourseError(said["number"].replace("{text}", repr(text)))
    number, rest = found
    kind = kind_of(unit)
    if kind == "number":
        if rest and rest.lower() not in spellings(unit):
            raise CourseError(said["unit"].replace("{unit}", repr(rest)))
        return finite(_("your guess"), number)
    typed = text if rest else f"{text} {unit}"
    if kind == "rate":
        return parse_rate(typed, direction=None if says_direction(typed) else "per direction").per_direction_Bps
    return parse_time(typed) if kind == "time" else parse_bytes(typed)


def refusals(unit: str) -> dict[str, str]:
    """Return the sentences that refuse an answer in `unit`; {text}, {unit} and {point} in them are for who says them.

    >>> refusals("ms")["unit"]
    'The unit {unit} is not understood here; write ns, µs, ms, s, min, h, or the number alone for ms.'
    """
    example = f"40 {unit}".strip()
    usual = ", ".join(USUAL.get(kind_of(unit), (unit,)))
    if unit:
        strange = _("The unit {unit} is not understood here; write {usual}, or the number alone for {own}.").format(
            unit="{unit}", usual=usual, own=unit
        )
    else:
        strange = _("The unit {unit} is not understood here; write the number alone.").format(unit="{unit}")
    return {
        "empty": _("Type a number first, as in {example}.").format(example=example),
        "number": _("{text} is not a number; write it as {example}.").format(text="{text}", example=example),
        "comma": comma_words("{text}", "{point}"),
        "unit": strange,
        "below": _("{name} is {value}; it has to be at least {bound}{unit}.").format(
            name=_("your guess"), value="{text}", bound=0, unit=""
        ),
        "endless": _("{name} is {value}; a finite number is expected.").format(name=_("your guess"), value="{text}"),
    }


def say(value: float, unit: str = "") -> str:
    """Return a quantity in words, in the kind of `unit`.

    >>> say(4e-05, "ms"), say(3.33333, "×"), say(450e9, "GB/s")
    ('40 µs', '3.33 ×', '450 GB/s')
    """
    kind = kind_of(unit)
    if kind == "number":
        return f"{say_number(value)} {unit}".strip()
    return {"time": say_time, "size": say_bytes, "rate": say_rate}[kind](value)


def answer(truth: float, unit: str = "", who: str = "model") -> str:
    """Return who says what the answer is: the "model", something "measured" or "counted", or a data "sheet".

    >>> answer(1.29, "×", "measured"), answer(8, "", "counted")
    ('it was measured as 1.29 ×', 'the count is 8')
    """
    words = {
        "model": _("the model says {truth}"),
        "measured": _("it was measured as {truth}"),
        "counted": _("the count is {truth}"),
        "sheet": _("the data sheets say {truth}"),
    }
    return words[one_of(_("who knows the answer"), who, words)].format(truth=say(truth, unit))


def verdict(guess: float, truth: float, unit: str = "", who: str = "model") -> str:
    """Return the sentence that sets a guess beside the answer; `who` has it, as in `answer`.

    >>> verdict(40e-6, 12e-6, "µs")
    'You said 40 µs; the model says 12 µs: 3.3 × too much.'
    >>> verdict(400e9, 396e9, "GB/s", "measured")
    'You said 400 GB/s; it was measured as 396 GB/s: within 10 %.'
    """
    both = _("You said {guess}; {answer}").format(guess=say(guess, unit), answer=answer(truth, unit, who))
    if guess == truth:
        return _("{both}, too.").format(both=both)
    if not (math.isfinite(guess) and math.isfinite(truth)) or guess * truth <= 0:
        return _("{both}.").format(both=both)
    ratio = guess / truth
    if 1 / CLOSE <= ratio <= CLOSE:
        return _("{both}: within 10 %.").format(both=both)
    factor = say_number(max(ratio, 1 / ratio), 2)
    if ratio > 1:
        return _("{both}: {factor} × too much.").format(both=both, factor=factor)
    return _("{both}: {factor} × too little.").format(both=both, factor=factor)


def grading() -> bool:
    """Return whether a grader runs this notebook: then nothing is kept.

    >>> isinstance(grading(), bool)
    True
    """
    return bool(os.environ.get("NBGRADER_EXECUTION") or os.environ.get("INTERCONNECT_GRADING"))


def keep(name: str, value: float, text: str, unit: str = "") -> bool:
    """Append a prediction to the learner's notes; returns False, and keeps nothing, while grading or on a read-only disk."""
    if grading():
        return False
    record = {"id": name, "value": value, "text": text, "unit": unit, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
    try:
        with open(notes_folder() / FILE, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError:
        return False
    return True


def kept(name: str) -> dict | None:
    """Return the first prediction that was kept under `name` (the later ones know more), or None; spoiled lines are passed over."""
    if grading():
        return None
    try:
        lines = (notes_folder() / FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("id") == name and isinstance(record.get("value"), (int, float)):
            return record
    return None
