"""Columns that a figure is given: as long as they have to be, and above zero where an axis is logarithmic."""

import numpy as np

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _


def same_length(n: int, **columns) -> None:
    """Refuse columns that have not n entries.

    >>> same_length(2, names=["a", "b"])
    """
    for name, column in columns.items():
        if len(column) != n:
            raise CourseError(_("{name} has {m} entries; {n} are expected.").format(name=name, m=len(column), n=n))


def above_zero(**columns) -> list[np.ndarray]:
    """Return the columns as arrays above zero; CourseError where their lengths differ.

    >>> above_zero(time_s=[1e-6, 2e-6])[0].tolist()
    [1e-06, 2e-06]
    """
    found = [np.atleast_1d(finite(name, np.asarray(values, dtype=float), above=0)) for name, values in columns.items()]
    if len({column.shape for column in found}) > 1:
        shown = ", ".join(f"{name} {column.size}" for name, column in zip(columns, found))
        raise CourseError(_("One entry a point is expected in each of: {sizes}.").format(sizes=shown))
    return found
