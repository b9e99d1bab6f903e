"""Unit words: every way to write a unit that `base.units` reads, with its worth, for readers that are not Python."""

from itertools import product

from course_lib.base import units
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _

KINDS = ("time", "size", "rate")
WORDS = tuple(units.PREFIX_WORDS)  # "Mega…" may be written in any case
_PARTS = ("B", "b", "Byte", "Bytes", "byte", "bytes", "Bit", "Bits", "bit", "bits")
_PER_SECOND = ("/s", "ps")


def spellings(kind: str) -> dict[str, float]:
    """Return the units of "time", "size" or "rate" (each with its worth in s, B or B/s); units.py itself says which it takes.

    A rate is per second as "/s" or "ps"; other ways to say it, and the direction, a reader makes into these.

    >>> spellings("time")["days"], spellings("size")["MiB"], spellings("rate")["Gbit/s"], spellings("rate")["GBps"]
    (86400.0, 1048576.0, 125000000.0, 1000000000.0)
    """
    kind = one_of(_("kind of unit"), kind, KINDS)
    if kind == "time":
        words = [f"{word}{end}" for word, end in product(units.TIMES, ("", "s"))]
        read = units.parse_time
    else:
        sizes = [f"{prefix}{part}" for prefix, part in product((*units.PREFIXES, *units.PREFIX_WORDS), _PARTS)]
        if kind == "size":
            words, read = [*sizes, *units.PREFIXES], units.parse_bytes
        else:
            words = [f"{size}{per}" for size, per in product(sizes, _PER_SECOND)]

            def read(text: str) -> float:
                return units.parse_rate(text, direction="per direction").per_direction_Bps

    found = {}
    for word in words:
        try:
            found[word] = read(f"1 {word}")
        except CourseError:
            continue
    found.pop("", None)
    return found


def directions() -> dict[str, float]:
    """Return the words for a direction that may follow a rate, each with what it makes of the rate.

    >>> directions()["both ways"], directions()["per direction"]
    (0.5, 1)
    """
    return dict.fromkeys((*sorted(units.ONE_WAY), "/direction", "/dir"), 1) | dict.fromkeys(
        sorted(units.BOTH_WAYS), 0.5
    )
