"""Slips with a name: by which factor a number is off where a prefix, bits and bytes or a direction were mixed up."""

import re
from collections.abc import Sequence

from course_lib.base.language import _

_DATA = re.compile("[KMGT]?i?[Bb](?P<rate>/s)?")  # a unit of bits or bytes, and no other word with a b in it


def slip(ratios: Sequence[float], unit: str, tolerance: float) -> str:
    """Return the sentence for the factor that all of `ratios` (given over right) share; "" where none has a name.

    `unit` says which slips can have happened; `tolerance` is the relative one of the numbers.

    >>> slip([8.0, 8.0], "B", 0.01), slip([8.0], "s", 0.01)
    ('It is 8 times too large: bits and bytes.', '')
    """
    for factor, text in _named(unit):
        # Factors near 1 are told apart from a number that is a little off.
        near = 0.003 if factor < 1.2 else tolerance
        for value, way in ((factor, _("too large")), (1 / factor, _("too small"))):
            if all(abs(ratio / value - 1) <= near for ratio in ratios):
                return text.format(way=way)
    return ""


def _named(unit: str) -> list[tuple[float, str]]:
    named = [
        (1e3, _("It is 1000 times {way}: look at the prefix.")),
        (1e6, _("It is a million times {way}: look at the prefix.")),
        (1e9, _("It is 1,000,000,000 times {way}: look at the prefix.")),
    ]
    if data := _DATA.fullmatch(unit):
        named += [
            (8.0, _("It is 8 times {way}: bits and bytes.")),
            (8e3, _("It is 8000 times {way}: bits and bytes, and the prefix.")),
            (1.024, _("It is 2.4 % {way}: 1024 for 1000, or the other way round.")),
            (1.024**2, _("It is 4.9 % {way}: a binary prefix (MiB) for a decimal one (MB), or the other way round.")),
            (1.024**3, _("It is 7.4 % {way}: a binary prefix (GiB) for a decimal one (GB), or the other way round.")),
            (1.024**4, _("It is 10 % {way}: a binary prefix (TiB) for a decimal one (TB), or the other way round.")),
        ]
        # a rate has a direction; bytes need not: a memory has none
        if data["rate"]:
            named.append((2.0, _("It is 2 times {way}: one direction, or both together?")))
        else:
            named.append((2.0, _("It is 2 times {way}: the bytes of a number, or how often it is counted?")))
    if unit in ("", "%"):
        named.append((100.0, _("It is 100 times {way}: a fraction, or percent?")))
    return named
