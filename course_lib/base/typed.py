"""Typed: where the number ends in what a person types. A comma marks thousands or is refused; a bare 1,5 is never 15."""

import re

from course_lib.base.errors import CourseError
from course_lib.base.language import _

# Read by Python and by the pages' scripts: nothing in it means two things to the two.
NUMBER = r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)?(?:\.\d*)?(?:[eE][+-]?\d+)?"
AFTER = r"(?![\d.,])\s*"
COMMA = r"\s*[+-]?[\d.]*\d,[\d.,]*"

_SPLIT = re.compile(rf"\s*({NUMBER}){AFTER}(.*?)\s*", re.ASCII | re.DOTALL)


def number_and_rest(text: str) -> tuple[float, str] | None:
    """Return the number at the start of `text` and what follows it, or None where it starts with none.

    A comma between thousands ("1,500") and an underscore between digits are passed over. Raises CourseError for any other comma.

    >>> number_and_rest("1,500 GB"), number_and_rest("2.5e3"), number_and_rest("fast")
    ((1500.0, 'GB'), (2500.0, ''), None)
    >>> number_and_rest("1,5 GB")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: '1,5 GB': a comma marks thousands here, as in 1,500. A decimal has a point: write 1.5.
    """
    match = _SPLIT.fullmatch(text)
    if match and any(c.isdigit() for c in match[1].lower().partition("e")[0]):
        return float(match[1].replace(",", "").replace("_", "")), match[2]
    comma = re.match(COMMA, text, re.ASCII)
    if comma:
        raise CourseError(comma_words(repr(text), pointed(comma[0].strip())))
    return None


def number(text: object, example: str) -> float:
    """Return `text` as a number without a unit. Raises CourseError with a sentence that shows `example`.

    >>> number("1,500", "12.5")
    1500.0
    """
    found = number_and_rest(str(text))
    if found is None or found[1]:
        raise CourseError(_("{text} is not a number; write it as {example}.").format(text=repr(text), example=example))
    return found[0]


def pointed(typed: str) -> str:
    """Return what a number with a stray comma may have meant: "1,5" is "1.5"; an example where nothing can be told.

    >>> pointed("1,5"), pointed("1.500,5"), pointed("1,2,3")
    ('1.5', '1500.5', '1.5')
    """
    whole, _comma, part = typed.rpartition(",")
    return f"{whole.replace('.', '')}.{part}" if part and "," not in whole and "." not in part else "1.5"


def comma_words(text: str, point: str) -> str:
    """Return the sentence that refuses a comma; both arguments are shown as they are."""
    return _("{text}: a comma marks thousands here, as in 1,500. A decimal has a point: write {point}.").format(
        text=text, point=point
    )
