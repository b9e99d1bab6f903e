"""Equal shares: what happens when heads, layers, tokens or experts do not divide by the ranks that should share them."""

from collections.abc import Callable

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _


def divisors(total: int) -> list[int]:
    """Return every divisor of `total`, in rising order.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    total = whole("total", total, at_least=1)
    low = [d for d in range(1, int(total**0.5) + 1) if total % d == 0]
    return sorted({*low, *(total // d for d in low)})


Fits = Callable[[int], bool]


def nearest(total: int, ways: int, count: int = 2, *, also: Fits | None = None) -> list[int]:
    """Return up to `count` divisors of `total` on either side of `ways`, nearest first; only those for which `also` is true.

    >>> nearest(32, 6), nearest(32, 6, also=lambda d: d > 4)
    ([4, 8], [8])
    """
    ways = whole("ways", ways)
    fits = [d for d in divisors(total) if also is None or also(d)]
    below = [d for d in fits if d <= ways][-1:]
    above = [d for d in fits if d > ways][:1]
    return sorted([*below, *above], key=lambda d: (abs(d - ways), d))[:count]


def share(total: int, ways: int, *, what: str, by: str, also: Fits | None = None) -> int:
    """Return `total // ways`, the equal share of each; `what` and `by` name both sides in the sentence for a misfit.

    Raises CourseError when `ways` does not divide `total`, with the nearest numbers that do. `also` says of a number
    whether everything else that has to be shared divides too: what is offered is then no dead end.

    >>> share(32, 8, what="attention heads", by="tensor-parallel ranks")
    4
    >>> share(32, 6, what="attention heads", by="tensor-parallel ranks")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 32 attention heads do not divide by 6 tensor-parallel ranks. The nearest that do: 4 or 8.
    """
    total = whole(what, total, at_least=1)
    ways = whole(by, ways, at_least=1)
    if total % ways:
        choices = _(" or ").join(str(d) for d in sorted(nearest(total, ways, also=also)))
        raise CourseError(
            _("{total} {what} do not divide by {ways} {by}. The nearest that do: {choices}.").format(
                total=total, what=what, ways=ways, by=by, choices=choices
            )
        )
    return total // ways
