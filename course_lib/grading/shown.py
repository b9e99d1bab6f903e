"""How an answer is shown to people: a short text for a value, what kind it is, and what was expected."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading import wire


def say(value: Any, unit: str = "", most: int = 240) -> str:
    """Return a short text for a plain value, at most `most` letters: six digits are enough for people.

    >>> say(437.5, "GB/s"), say({"a": 1 / 3}), say([0.5] * 32)
    ('437.5 GB/s', "{'a': 0.333333}", '[0.5] * 32')
    """
    text = _short(value)
    text = text if len(text) <= most else text[: most - 3] + "…"
    return f"{text} {unit}" if unit and not isinstance(value, (str, bool, type(None))) else text


def _short(value: Any) -> str:
    if isinstance(value, wire.Foreign):
        return value.shown or value.type_name
    if type(value) is int and value.bit_length() > 1000:
        return _("a number of {n} bits").format(n=value.bit_length())
    if isinstance(value, np.ndarray):
        few = value.size <= 24 and max(value.shape, default=0) <= 24
        return _short(value.tolist()) if few else _("an array of shape {s}").format(s=value.shape)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if isinstance(value, (np.integer, np.bool_)):
        return repr(value.item())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_short(k)}: {_short(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        shown = [_short(item) for item in value]
        if len(shown) > 3 and len(set(shown)) == 1 and isinstance(value, list):
            return f"[{shown[0]}] * {len(shown)}"
        inside = ", ".join(shown)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    return repr(value) if isinstance(value, (str, int, bool, complex, type(None))) else type(value).__name__


def kind_of(value: Any) -> str:
    """Return what a plain value is, in words, for "got …"."""
    if isinstance(value, wire.Foreign):
        return value.type_name
    if isinstance(value, np.ndarray):
        return _("an array of shape {s}").format(s=value.shape)
    words = {bool: _("True or False"), str: _("text"), complex: _("a complex number"), list: _("a list")}
    words |= {tuple: _("a tuple"), dict: _("a dict"), int: _("a whole number"), float: _("a number")}
    return words.get(type(value), type(value).__name__)


def expected(what: str, given: Any) -> str:
    """Return the sentence that says what was expected and what came."""
    if isinstance(given, wire.Foreign):
        return _("Expected {what}, got an object of type {kind}.").format(what=what, kind=given.type_name)
    return _("Expected {what}, got {given} ({kind}).").format(what=what, given=say(given), kind=kind_of(given))
