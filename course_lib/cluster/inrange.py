"""Numbers that a cluster can have: finite, not empty, and not so large or small that products leave the range of a float."""

import numpy as np

from course_lib.base import errors
from course_lib.base.errors import CourseError
from course_lib.base.language import _

LEAST, MOST = 1e-30, 1e30


def finite(name: str, value: object, *, at_least: float | None = None, above: float | None = None, unit: str = ""):
    """Return `value` as `base.errors.finite` does, and refuse empty arrays and sizes beyond 1e30 or below 1e-30 but for 0.

    >>> finite("span_s", 3600), finite("rate_per_s", 0, at_least=0)
    (3600.0, 0.0)
    >>> finite("span_s", 1e300)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: span_s is 1e+300; nothing in a cluster is that large or small (1e-30 to 1e+30).
    """
    number = errors.finite(name, value, at_least=at_least, above=above, unit=unit)
    size = np.abs(np.asarray(number))
    if size.size == 0:
        raise CourseError(_("{name} is empty; at least one number is expected.").format(name=name))
    if ((size > MOST) | ((size > 0) & (size < LEAST))).any():
        sentence = _("{name} is {value}; nothing in a cluster is that large or small ({least} to {most}).")
        raise CourseError(sentence.format(name=name, value=value, least=f"{LEAST:g}", most=f"{MOST:g}"))
    return number


def single(
    name: str, value: object, *, at_least: float | None = None, above: float | None = None, unit: str = ""
) -> float:
    """Return one number, not an array, checked as `finite` does.

    >>> single("level", [1, 2])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: level holds 2 numbers; one is expected.
    """
    number = finite(name, value, at_least=at_least, above=above, unit=unit)
    if np.ndim(number):
        raise CourseError(_("{name} holds {n} numbers; one is expected.").format(name=name, n=np.size(number)))
    return number
