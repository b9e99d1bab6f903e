"""Errors that teach: the value, what was expected, and the nearest valid choice."""

import difflib
import math
import numbers
from collections.abc import Iterable

import numpy as np

from course_lib.base.language import _, punctuated


class CourseError(ValueError):
    """An input the course cannot use; the message is a sentence for a person."""

    def __init__(self, text: str = "") -> None:
        super().__init__(punctuated(str(text)))

    def _render_traceback_(self) -> list[str]:
        """Return what IPython prints in place of a traceback: the sentence, and the line of the cell that led to it."""
        line = None
        step = self.__traceback__
        while step is not None:
            if "ipykernel" in (name := step.tb_frame.f_code.co_filename) or name.startswith("<ipython-input"):
                line = step.tb_lineno
            step = step.tb_next
        where = "" if line is None else _(" (line {line} of this cell)").format(line=line)
        return [f"{type(self).__name__}: {self}{where}"]


def _shown(value: object) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) and value.size <= 6 else value)
    return text if len(text) <= 80 else text[:77] + "…"


def finite(name: str, value: object, *, at_least: float | None = None, above: float | None = None, unit: str = ""):
    """Return `value` as float64 (a Python float for a scalar, an array for an array), or raise a CourseError.

    Bounds are inclusive (`at_least`) or exclusive (`above`). Booleans, text, None, NaN and infinities are refused.

    >>> finite("message_B", 8)
    8.0
    >>> finite("bandwidth_Bps", 0, above=0)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: bandwidth_Bps is 0; it has to be more than 0.
    """
    unit = f" {unit}" if unit else ""
    if value is None or isinstance(value, (bool, np.bool_, str, bytes, complex)):
        raise CourseError(
            _("{name} is {value}; a number is expected{unit}.").format(
                name=name, value=_shown(value), unit=unit and _(", in") + unit
            )
        )
    try:
        given = np.asarray(value)
        kinds_ok = given.dtype.kind in "iuf" or (
            given.dtype == object and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in given.flat)
        )
        if not kinds_ok:
            raise TypeError
        array = given.astype(np.float64)
    except OverflowError:
        raise CourseError(_("{name} is {value}; that is too large.").format(name=name, value=_shown(value))) from None
    except (TypeError, ValueError):
        raise CourseError(
            _("{name} is {value}; a number is expected{unit}.").format(
                name=name, value=_shown(value), unit=unit and _(", in") + unit
            )
        ) from None
    if not np.isfinite(array).all():
        raise CourseError(_("{name} is {value}; a finite number is expected.").format(name=name, value=_shown(value)))
    if at_least is not None and (array < at_least).any():
        raise CourseError(
            _("{name} is {value}; it has to be at least {bound}{unit}.").format(
                name=name, value=_shown(value), bound=f"{at_least:g}", unit=unit
            )
        )
    if above is not None and (array <= above).any():
        raise CourseError(
            _("{name} is {value}; it has to be more than {bound}{unit}.").format(
                name=name, value=_shown(value), bound=f"{above:g}", unit=unit
            )
        )
    return float(array) if array.ndim == 0 else array


def together(**values: object) -> tuple[int, ...]:
    """Return the common shape of numbers and arrays that are to be combined, or raise a CourseError that names two that do not fit.

    >>> together(message_B=[1, 2, 3], latency_s=[1, 2])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: message_B has the shape (3,) and latency_s (2,): these do not go together.
    """
    shape, names = (), []
    for name, value in values.items():
        try:
            shape = np.broadcast_shapes(shape, np.shape(value))
        except ValueError:
            for other in names:
                try:
                    np.broadcast_shapes(np.shape(values[other]), np.shape(value))
                except ValueError:
                    break
            text = _("{a} has the shape {shape_a} and {b} {shape_b}: these do not go together.")
            raise CourseError(
                text.format(a=other, shape_a=np.shape(values[other]), b=name, shape_b=np.shape(value))
            ) from None
        names.append(name)
    return shape


def whole(name: str, value: object, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Return `value` as an int, or raise a CourseError; 8.0 counts as 8, 2.5 and True and "8" are refused.

    >>> whole("n_ranks", 8.0, at_least=1)
    8
    >>> whole("n_ranks", 2.5)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: n_ranks is 2.5; a whole number is expected.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value, is_number = value.item(), value.dtype.kind in "iuf"
    may_be_broken = not isinstance(value, numbers.Integral)  # a whole number may be too large for a float
    if not is_number or (may_be_broken and (not math.isfinite(value) or value != int(value))):
        raise CourseError(_("{name} is {value}; a whole number is expected.").format(name=name, value=_shown(value)))
    value = int(value)
    if at_least is not None and value < at_least:
        raise CourseError(
            _("{name} is {value}; it has to be at least {bound}.").format(
                name=name, value=_shown(value), bound=at_least
            )
        )
    if at_most is not None and value > at_most:
        raise CourseError(
            _("{name} is {value}; it has to be at most {bound}.").format(name=name, value=_shown(value), bound=at_most)
        )
    return value


def one_of(kind: str, name: object, valid: Iterable[str], few: Iterable[str] | None = None) -> str:
    """Return `name` if it is one of `valid`, else raise a CourseError that lists the nearest names.

    Where none is near it lists `few`, or `valid` where that is short enough to be read.

    >>> one_of("link", "nvlink7", ["nvlink5", "nvlink6", "pcie5"])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no link 'nvlink7'. The nearest: nvlink6, nvlink5.
    """
    valid = list(valid)
    if isinstance(name, str) and name in valid:
        return name
    lowered = {v.lower().replace("_", "-"): v for v in valid}
    asked = str(name).lower().replace("_", "-").strip()
    if asked in lowered and isinstance(name, str):
        return lowered[asked]
    near = [lowered[n] for n in difflib.get_close_matches(asked, lowered, n=4, cutoff=0.5)]
    if near:
        raise CourseError(
            _("There is no {kind} {name}. The nearest: {near}.").format(
                kind=kind, name=_shown(name), near=", ".join(near)
            )
        )
    raise CourseError(
        _("There is no {kind} {name}. Valid: {valid}.").format(
            kind=kind, name=_shown(name), valid=", ".join(valid[:40] if few is None else few)
        )
    )
