"""Quantities as people type them: sizes, rates, times. What can be read in two ways is asked, not guessed."""

import re

from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _
from course_lib.base.scale import (  # everything about units is importable from here
    GB,
    GBITPS,
    GBPS,
    KB,
    MB,
    MS,
    NOTHING,
    NS,
    PB,
    TB,
    US,
    GiB,
    KiB,
    MiB,
    PiB,
    Rate,
    TiB,
    say_binary_rate,
    say_bit_rate,
    say_bytes,
    say_number,
    say_rate,
    say_share,
    say_time,
)
from course_lib.base.typed import number_and_rest

__all__ = [
    "DIRECTIONS", "GB", "GBITPS", "GBPS", "KB", "MB", "MS", "NOTHING", "NS", "PB", "TB", "US", "GiB", "KiB", "MiB", "PiB", "Rate", "TiB",
    "parse_bytes", "parse_rate", "parse_time", "say_binary_rate", "say_bit_rate", "say_bytes", "say_number", "say_rate", "say_share",
    "say_time", "says_direction",
]  # fmt: skip

DIRECTIONS = ("per direction", "both")

# No port of one cable is faster than this; a larger bit rate is a switch's total, which vendors count in either way.
FASTEST_PORT_Bps = 1600 * GBITPS

PREFIXES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
PREFIXES |= {"ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
PREFIX_WORDS = {
    "kilo": "k",
    "mega": "M",
    "giga": "G",
    "tera": "T",
    "peta": "P",
    "kibi": "Ki",
    "mebi": "Mi",
    "gibi": "Gi",
    "tebi": "Ti",
}
_UNIT = re.compile(r"([kKMGTPE]i?)?(B|b|[Bb]ytes?|[Bb]its?)")
_PER_SECOND = re.compile(
    r"\s*(?:/\s*s(?:ec(?:ond)?)?\b|\bper\s+s(?:ec(?:ond)?)?\b|(?<=[Bbts])(?-i:ps)\b)\.?", re.IGNORECASE
)
TIMES = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
    "min": 60,
    "minute": 60,
    "h": 3600,
}
TIMES |= {"hour": 3600, "day": 86400, "d": 86400, "millisecond": 1e-3, "microsecond": 1e-6, "nanosecond": 1e-9}
ONE_WAY = {"per direction", "per dir", "each direction", "one direction", "each way", "one way", "oneway", "unidirectional", "uni",
            "unidir", "single direction", "a direction", "in each direction", "in one direction", "simplex"}  # fmt: skip
BOTH_WAYS = {"both", "both directions", "both ways", "bidirectional", "bidir", "in both directions", "total bidirectional",
              "bidirectional total", "both directions together", "both directions summed", "two way"}  # fmt: skip


def _split(text: object, what: str, example: str) -> tuple[float, str]:
    """Return the number at the start of `text` and what follows it."""
    if not isinstance(text, str):
        raise CourseError(
            _("{what} is {text!r}; text such as {example!r} is expected.").format(what=what, text=text, example=example)
        )
    found = number_and_rest(text)
    if found is None:
        raise CourseError(
            _("{what} {text!r} does not start with a number; write it as {example!r}.").format(
                what=what, text=text, example=example
            )
        )
    return finite(_("{what} {text!r}").format(what=what, text=text), found[0], at_least=0), found[1]


def _unit(unit: str, text: str, example: str) -> tuple[float, bool]:
    """Return (bytes per unit, whether the unit was bits)."""
    for word, prefix in PREFIX_WORDS.items():
        if unit.lower().startswith(word):
            unit = prefix + unit[len(word) :].lower()
    match = _UNIT.fullmatch(unit)
    if match:
        bits = match[2] == "b" or match[2].lower().startswith("bit")
        if not (
            bits and match[2] == "b" and (match[1] or "").endswith("i")
        ):  # "Gib" is more often a slip than a gibibit
            return PREFIXES[match[1] or ""] / (8 if bits else 1), bits
    near = {"kb": "KB", "mb": "MB", "gb": "GB", "tb": "TB", "kib": "KiB", "mib": "MiB", "gib": "GiB", "tib": "TiB"}.get(
        unit.lower()
    )
    if near:
        raise CourseError(
            _("{text!r}: bits or bytes? Write {bytes} for bytes or {bits} for bits.").format(
                text=text, bytes=near, bits=near[:-1] + "bit"
            )
        )
    raise CourseError(
        _("{text!r} has the unit {unit!r}, which is not known here; write it as {example!r}.").format(
            text=text, unit=unit, example=example
        )
    )


def parse_bytes(text: str | float, *, bare: str | None = None) -> float:
    """Return a size in bytes. "64 MiB", "64 MB", "1e6" and plain numbers (bytes) are clear.

    A bare "1M" is 1 MiB for nccl-tests and 1 MB on a data sheet: it is refused unless `bare` is "binary" or "decimal".
    Raises CourseError for what is unclear, negative, not finite or no size.

    >>> parse_bytes("64 MiB"), parse_bytes("1e6"), parse_bytes("1M", bare="binary")
    (67108864.0, 1000000.0, 1048576.0)
    >>> parse_bytes("1M")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: '1M' can be 1 MiB (1,048,576 bytes, as nccl-tests counts) or 1 MB (1,000,000 bytes): write which.
    """
    if bare is not None:
        bare = one_of(_("reading of a bare prefix"), bare, ("binary", "decimal"))
    if not isinstance(text, str):
        return finite("size", text, at_least=0, unit="bytes")
    number, unit = _split(text, _("The size"), "64 MiB")
    if not unit:
        return number
    if _PER_SECOND.search(unit):
        raise CourseError(_("{text!r} is a rate; a size such as '64 MiB' is expected.").format(text=text))
    if re.fullmatch(r"[kKmMgGtTpP]i?", unit):
        prefix = unit[0].upper()
        binary, decimal = number * PREFIXES[prefix + "i"], number * PREFIXES[prefix]
        if len(unit) == 2 or bare == "binary":
            return binary
        if bare == "decimal":
            return decimal
        raise CourseError(
            _(
                "{text!r} can be {n} {p}iB ({binary} bytes, as nccl-tests counts) or {n} {p}B ({decimal} bytes): write which."
            ).format(text=text, n=say_number(number, 6), p=prefix, binary=f"{binary:,.0f}", decimal=f"{decimal:,.0f}")
        )
    scale, bits = _unit(unit, text, "64 MiB")
    if bits and "bit" not in unit.lower():
        raise CourseError(
            _(
                "{text!r} is written in bits and would be {size}. Sizes are in bytes here: write {unit}B, or {unit}bit if bits are meant."
            ).format(text=text, size=say_bytes(number * scale), unit=unit[:-1])
        )
    return finite("size", number * scale, unit="bytes")


def parse_rate(text: str | Rate, direction: str | None = None) -> Rate:
    """Return a Rate from text such as "400 Gb/s", "450 GB/s per direction" or "900 GB/s both directions".

    `direction` ("per direction" or "both") says how to read a rate that does not say it; None asks, where it can be mistaken.
    It cannot be for the bit rate of a port (up to 1.6 Tb/s), which every network standard counts per direction. It can for bytes
    per second: NVLink is advertised with both directions summed, a copy is measured in one. Raises CourseError naming both readings.

    >>> parse_rate("400 Gb/s").per_direction_Bps, parse_rate("900 GB/s", direction="both").per_direction_Bps
    (50000000000.0, 450000000000.0)
    >>> parse_rate("900 GB/s")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: '900 GB/s' does not say its direction. Per direction it is 900 GB/s each way; ...
    """
    if direction is not None:
        direction = one_of(_("direction"), direction, DIRECTIONS)
    if isinstance(text, Rate):
        return text
    number, rest = _split(text, _("The rate"), "450 GB/s per direction")
    per_second = _PER_SECOND.search(rest)
    if re.search(r"\b[GM]T\b", rest):
        raise CourseError(
            _(
                "{text!r} counts transfers of one lane: lanes and encoding make it a rate, as in '32 GT/s x16 128b/130b' (see decode)."
            ).format(text=text)
        )
    if not per_second:
        raise CourseError(_no_seconds(text, number, rest))
    scale, bits = _unit(rest[: per_second.start()].strip(), text, "450 GB/s per direction")
    rate_Bps = finite("rate", number * scale)
    said = _direction(rest[per_second.end() :], text)
    if said and direction and said != direction:
        raise CourseError(
            _("{text!r} says one direction and direction={direction!r} another.").format(text=text, direction=direction)
        )
    chosen = said or direction or ("per direction" if bits and rate_Bps <= FASTEST_PORT_Bps else None)
    if chosen is None:
        raise CourseError(
            _(
                "{text!r} does not say its direction. Per direction it is {one} each way; for both directions it is {half} each way. "
                'Add "per direction" or "both directions".'
            ).format(text=text, one=say_rate(rate_Bps), half=say_rate(rate_Bps / 2))
        )
    return Rate(rate_Bps if chosen == "per direction" else rate_Bps / 2)


def says_direction(text: str) -> bool:
    """Return whether something stands after "per second": then it is to be read as the direction.

    >>> says_direction("900 GB/s both ways"), says_direction("900 GB/s")
    (True, False)
    """
    per_second = _PER_SECOND.search(text)
    return bool(per_second and text[per_second.end() :].strip(" .,;()"))


def _no_seconds(text: str, number: float, rest: str) -> str:
    if re.fullmatch(r"[kKmMgGtT]?", rest):
        prefix = rest.upper() or "G"
        shown = say_number(number, 6)
        return _("{text!r}: bits or bytes? {n} {p}b/s is {as_bits}; {n} {p}B/s is {as_bytes}. Write which.").format(
            text=text,
            n=shown,
            p=prefix,
            as_bits=say_rate(number * PREFIXES[prefix] / 8),
            as_bytes=say_rate(number * PREFIXES[prefix]),
        )
    return _(
        "{text!r} is no rate: it does not say per second. Write it as '450 GB/s per direction' or '400 Gb/s'."
    ).format(text=text)


def _direction(words: str, text: str) -> str | None:
    plain = " ".join(
        re.sub(r"[(),;.]", " ", words.lower().replace("bi-d", "bid").replace("uni-d", "unid").replace("-", " ")).split()
    )
    plain = plain.replace("/direction", "per direction").replace("/dir", "per direction")
    if not plain:
        return None
    if plain in ONE_WAY:
        return "per direction"
    if plain in BOTH_WAYS:
        return "both"
    raise CourseError(
        _(
            '{text!r} ends in {words!r}, which names no direction here; write "per direction" or "both directions".'
        ).format(text=text, words=words.strip())
    )


def parse_time(text: str | float) -> float:
    """Return a time in seconds from text such as "12 us", "1.5 ms" or "2 h"; a plain number is taken as seconds.

    >>> parse_time("250 ms"), parse_time("2 h")
    (0.25, 7200.0)
    >>> parse_time("12")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: '12' has no unit of time; write it as '12 us'.
    """
    if not isinstance(text, str):
        return finite("time", text, at_least=0, unit="s")
    number, unit = _split(text, _("The time"), "12 us")
    scale = TIMES.get(unit, TIMES.get(unit.removesuffix("s")) if len(unit) > 2 else None)
    if not unit:
        raise CourseError(
            _("{text!r} has no unit of time; write it as '{n} us'.").format(text=text, n=say_number(number, 6))
        )
    if scale is None:
        raise CourseError(
            _("{text!r} has the unit {unit!r}, which is no time here; write ns, us, ms, s, min or h.").format(
                text=text, unit=unit
            )
        )
    return finite("time", number * scale)
