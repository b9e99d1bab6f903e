"""What an answer may look like, and how close is close: strict about types, generous by a tolerance, helpful about units."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading import wire
from course_lib.grading.shown import expected, say
from course_lib.grading.slips import slip


class Expected:
    """What an answer looks like. `refuse` looks at its form, `agrees` at its value; both see plain data only."""

    def refuse(self, given: Any, right: Any) -> str:
        """Return "" if `given` has the form of `right`, else a sentence that says what was expected."""
        raise NotImplementedError

    def agrees(self, given: Any, right: Any) -> bool:
        """Return whether `given`, which was not refused, is `right`."""
        raise NotImplementedError

    def hint(self, given: Any, right: Any, slips: bool = True) -> str:
        """Return where to look, and with `slips` a sentence about a factor that has a name; or ""."""
        return ""

    def show(self, value: Any) -> str:
        return say(value)

    def same(self, given: Any, right: Any) -> bool:
        """Return whether `given` has the right form and the right value."""
        return not self.refuse(given, right) and self.agrees(given, right)


@dataclass(frozen=True)
class Number(Expected):
    """A number, or an array or list of numbers if the reference is one.

    `tolerance` is relative, on the difference; `near_zero` is the absolute slack (needed where the right answer is 0).
    `whole`: exactly this integer. Booleans, text, complex numbers, NaN and arrays of length one are not numbers; what np.where
    makes of two numbers, an array without a length, is one.
    """

    unit: str = ""
    tolerance: float = 0.01
    whole: bool = False
    near_zero: float = 1e-12

    def refuse(self, given: Any, right: Any) -> str:
        shape = np.shape(right)
        unit = _(" in {unit}").format(unit=self.unit) if self.unit else ""
        if shape == ():
            what = (_("a whole number") if self.whole else _("a number")) + unit
            if type(given) is np.ndarray and given.shape == ():
                given = given.item()  # what np.where makes of two numbers
            if type(given) not in (int, float):
                return expected(what, given)
            numbers = [given]
        else:
            what = _("numbers{unit} in the shape {shape}").format(unit=unit, shape=shape)
            try:
                numbers = _flat(given)
            except TypeError:
                return expected(what, given)
            if (got := _shape(given)) != shape:
                return _("Expected {what}, got the shape {got}.").format(what=what, got=got)
        with np.errstate(all="ignore"):
            may_be_infinite = bool(np.isinf(np.asarray(right, dtype=float)).any())
        for number in numbers:
            if type(number) is int and number.bit_length() > 1000:
                return _("Expected {what}, got {given}.").format(what=what, given=say(number))
            if number != number or (abs(number) == math.inf and not may_be_infinite):
                return _("Expected {what}, got {given}, which is not finite.").format(what=what, given=say(number))
            if self.whole and abs(number) != math.inf and number != int(number):
                return _("Expected {what}, got {given}.").format(
                    what=what, given=f"{number:.10g}"
                )  # not rounded to one
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        pairs = zip(_flat(given), _flat(right), strict=True)
        return all(self._near(one, other) for one, other in pairs)

    def _near(self, given: float, right: float) -> bool:
        if given == right or self.whole or math.inf in (abs(given), abs(right)):
            return given == right
        # The last factor keeps answers that lie on the edge on the same side whatever the last digit.
        return abs(given - right) <= max(self.tolerance * abs(right), self.near_zero) * (1 + 1e-9)

    def hint(self, given: Any, right: Any, slips: bool = True) -> str:
        pairs = [(g, r) for g, r in zip(_flat(given), _flat(right), strict=True) if r != 0 and math.isfinite(r)]
        if self.whole or not slips or not pairs or any(g == 0 for g, r in pairs):
            return ""  # a count has neither prefix nor percent
        return slip([g / r for g, r in pairs], self.unit, self.tolerance)

    def show(self, value: Any) -> str:
        return say(value, self.unit)


def _flat(value: Any) -> list[int | float]:
    """Return the numbers in a scalar, array or nested list; TypeError if anything else is in it."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "iuf":
            raise TypeError
        return np.ravel(value).tolist()
    if type(value) in (list, tuple):
        return [number for item in value for number in _flat(item)]
    if type(value) not in (int, float):
        raise TypeError
    return [value]


def _shape(value: Any) -> tuple[int, ...] | str:
    if type(value) in (list, tuple):
        inner = {_shape(item) for item in value}
        return (len(value), *(inner.pop() if inner else ())) if len(inner) <= 1 and "?" not in inner else "?"
    return np.shape(value)


@dataclass(frozen=True)
class Choice(Expected):
    """One of a few words; capitals and spaces around it do not matter."""

    options: tuple[str, ...]

    def refuse(self, given: Any, right: Any) -> str:
        what = _("one of {options}").format(options=", ".join(repr(o) for o in self.options))
        if type(given) is not str or _plain(given) not in {_plain(o) for o in self.options}:
            return expected(what, given)
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        return _plain(given) == _plain(right)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True)
class Truth(Expected):
    """True or False, and nothing that only behaves like it."""

    def refuse(self, given: Any, right: Any) -> str:
        return "" if type(given) is bool else expected(_("True or False"), given)

    def agrees(self, given: Any, right: Any) -> bool:
        return given == right


@dataclass(frozen=True)
class Entries(Expected):
    """A dict with the reference's keys. `of` is one form for all entries, or a dict of forms by key.

    For a value question every key is a part and earns its share; with `each=False` it is all or nothing.
    """

    of: Expected | Mapping[str, Expected]
    each: bool = True

    def form(self, key: Any) -> Expected:
        return self.of[key] if isinstance(self.of, Mapping) else self.of

    def refuse(self, given: Any, right: Any) -> str:
        if type(given) is not dict:
            return expected(_("a dict with the keys {keys}").format(keys=", ".join(map(repr, right))), given)
        for key in given:
            if key not in right:
                near = difflib.get_close_matches(str(key), [str(k) for k in right], n=1)
                text = _("There is no entry {key}.").format(key=say(key))
                return text + (_(" Did you mean {near}?").format(near=repr(near[0])) if near else "")
        if self.each:
            return ""
        for key in right:
            if key not in given:
                return _("The entry {key} is missing.").format(key=say(key))
            if text := self.form(key).refuse(given[key], right[key]):
                return _("Entry {key}: {text}").format(key=say(key), text=text)
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        return all(key in given and self.form(key).same(given[key], right[key]) for key in right)

    def hint(self, given: Any, right: Any, slips: bool = True) -> str:
        for key in right:
            if not self.form(key).agrees(given[key], right[key]):
                return (
                    _("Look at entry {key}. {hint}")
                    .format(key=say(key), hint=self.form(key).hint(given[key], right[key], slips))
                    .strip()
                )
        return ""


@dataclass(frozen=True)
class Listing(Expected):
    """A list or tuple. `of` is one form for all items, or a tuple of forms by position; `ordered=False` compares as a set."""

    of: Expected | tuple[Expected, ...]
    ordered: bool = True

    def form(self, place: int) -> Expected:
        return self.of[place] if isinstance(self.of, tuple) else self.of

    def refuse(self, given: Any, right: Any) -> str:
        if isinstance(given, np.ndarray) and given.ndim:
            given = given.tolist()
        if type(given) not in (list, tuple):
            return expected(_("a list"), given)
        if len(given) != len(right) and (self.ordered or isinstance(self.of, tuple)):
            return _("Expected a list of {n} items, got {m}.").format(n=len(right), m=len(given))
        if not len(right):
            return ""
        for place, item in enumerate(given):
            like = right[place] if place < len(right) else right[-1]
            if text := self.form(place).refuse(item, like):
                return _("Item {place}: {text}").format(place=place, text=text)
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if self.ordered:
            return all(self.form(i).agrees(g, r) for i, (g, r) in enumerate(zip(given, right, strict=True)))
        left = list(right)
        for item in given:
            match = next((i for i, r in enumerate(left) if self.form(0).same(item, r)), None)
            if match is None:
                return False
            del left[match]
        return not left

    def hint(self, given: Any, right: Any, slips: bool = True) -> str:
        if self.ordered:
            for place, (one, other) in enumerate(zip(given, right, strict=True)):
                if not self.form(place).agrees(one, other):
                    text = _("Look at item {place}. {hint}")
                    return text.format(place=place, hint=self.form(place).hint(one, other, slips)).strip()
        return ""


@dataclass(frozen=True)
class Record(Expected):
    """One of the records that cross as their fields (wire.RECORDS), a Schedule for one. Use it with `accept`."""

    name: str

    def refuse(self, given: Any, right: Any) -> str:
        if type(given).__name__ != self.name or wire.RECORDS.get(self.name) != type(given).__module__:
            return expected(_("a {name}").format(name=self.name), given)
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        return wire.encode(given) == wire.encode(right)

    def show(self, value: Any) -> str:
        return _("a {name}").format(name=self.name) if type(value).__name__ == self.name else say(value)


@dataclass(frozen=True)
class Plain(Expected):
    """Any plain data, described by `what`; the question's `accept` looks at the rest. `fits(given)` checks the form."""

    what: str
    fits: Any = None

    def refuse(self, given: Any, right: Any) -> str:
        if isinstance(given, wire.Foreign) or (self.fits is not None and not self.fits(given)):
            return expected(self.what, given)
        return ""

    def agrees(self, given: Any, right: Any) -> bool:
        return wire.encode(given) == wire.encode(right)
