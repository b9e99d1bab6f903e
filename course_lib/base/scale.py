"""Prefixes as numbers, a rate that knows its direction, and quantities said in short human text."""

import math
import re
from dataclasses import dataclass

from course_lib.base.errors import finite
from course_lib.base.language import _

KB, MB, GB, TB, PB = 1e3, 1e6, 1e9, 1e12, 1e15
KiB, MiB, GiB, TiB, PiB = 2**10, 2**20, 2**30, 2**40, 2**50
NS, US, MS = 1e-9, 1e-6, 1e-3
GBPS = 1e9  # 1 GB/s in bytes per second
GBITPS = 1e9 / 8  # 1 Gb/s in bytes per second

NOTHING = "–"  # what a quantity that does not exist looks like, as the rate of a message of zero bytes

_DECIMAL = ((1.0, ""), (1e3, "K"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E"))
_BINARY = tuple((float(2 ** (10 * i)), p) for i, p in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_SECONDS = (
    (1e-9, "ns"),
    (1e-6, "µs"),
    (1e-3, "ms"),
    (1.0, "s"),
    (60.0, "min"),
    (3600.0, "h"),
    (86400.0, "days"),
    (31_557_600.0, "years"),
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A data rate of one direction, in bytes per second; what both directions carry together is derived.

    >>> Rate(450 * GBPS).bidirectional_Bps / GBPS
    900.0
    """

    per_direction_Bps: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_direction_Bps", finite("per_direction_Bps", self.per_direction_Bps, at_least=0))

    @property
    def bidirectional_Bps(self) -> float:
        """Both directions together, in bytes per second."""
        return 2 * self.per_direction_Bps

    def __str__(self) -> str:
        return say_rate(self.per_direction_Bps)


def say_number(value: float, digits: int = 3) -> str:
    """Return `value` with at most `digits` significant digits and no trailing zeros; digits before the point all stay.

    >>> say_number(12.345), say_number(1234.5), say_number(2.0), say_number(0.000123)
    ('12.3', '1,235', '2', '0.000123')
    """
    if not _exists(value):
        return NOTHING
    value = float(value)
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{max(digits - 1, 0)}e}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    # Half up, as people round, and not to even.
    rounded = math.copysign(math.floor(abs(value) * 10**places + 0.5 + 1e-9) / 10**places, value)
    text = f"{rounded:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exists(value: object) -> bool:
    try:
        return value is not None and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _said(value: float, ladder: tuple[tuple[float, str], ...], unit: str, digits: int) -> str:
    """Pick the rung whose rounded number is below the next rung, so that 999.99 MB reads 1 GB."""
    size, rung = abs(value), 0
    near = 1 - 10.0 ** (1 - digits)  # of a rung's step: what is below cannot be rounded up to it
    while rung + 1 < len(ladder):
        step, part = round(ladder[rung + 1][0] / ladder[rung][0]), size / ladder[rung][0]
        if part < step and (part < step * near or float(say_number(part, digits).replace(",", "")) < step):
            break
        rung += 1
    scale, prefix = ladder[rung]
    return f"{say_number(value / scale, digits)} {prefix}{unit}"


def say_share(share: float, places: int = 0) -> str:
    """Return a share of one in percent with `places` decimals, "–" for None or NaN.

    >>> say_share(0.074), say_share(0.0741, 1), say_share(1.5), say_share(float("nan"))
    ('7 %', '7.4 %', '150 %', '–')
    """
    return f"{float(share):,.{places}%}".replace("%", " %") if _exists(share) else NOTHING


def say_bytes(size_B: float, digits: int = 3) -> str:
    """Return a size in words: binary prefixes where they are exact, decimal ones elsewhere, "–" for None or NaN.

    >>> say_bytes(2**26), say_bytes(64e6), say_bytes(0), say_bytes(999_999_999), say_bytes(1536)
    ('64 MiB', '64 MB', '0 B', '1 GB', '1.5 KiB')
    """
    if not _exists(size_B):
        return NOTHING
    value = float(size_B)
    if abs(value) >= 1024 and value % 1000 != 0:
        scale, prefix = next((s, p) for s, p in reversed(_BINARY) if abs(value) >= s)
        if (value / scale * 4).is_integer() and abs(value) / scale < 1024:
            return f"{say_number(value / scale, 6)} {prefix}B"
    return _said(value, _DECIMAL, "B", digits)


def say_rate(rate_Bps: float, digits: int = 3) -> str:
    """Return a rate in words, decimal prefixes, "–" for None or NaN.

    >>> say_rate(450e9), say_rate(55.43e9), say_rate(0), say_rate(999.99e6), say_rate(float("nan"))
    ('450 GB/s', '55.4 GB/s', '0 B/s', '1 GB/s', '–')
    """
    return _said(float(rate_Bps), _DECIMAL, "B/s", digits) if _exists(rate_Bps) else NOTHING


def say_bit_rate(rate_Bps: float, digits: int = 3) -> str:
    """Return a rate that is given in bytes per second in bits per second, as network cards are sold.

    >>> say_bit_rate(50e9), say_bit_rate(100e9)
    ('400 Gb/s', '800 Gb/s')
    """
    return _said(8 * float(rate_Bps), _DECIMAL, "b/s", digits) if _exists(rate_Bps) else NOTHING


def say_binary_rate(rate_Bps: float, digits: int = 3) -> str:
    """Return a rate with binary prefixes, as some tools print it.

    >>> say_binary_rate(50e9)
    '46.6 GiB/s'
    """
    return _said(float(rate_Bps), _BINARY, "B/s", digits) if _exists(rate_Bps) else NOTHING


def say_time(time_s: float, digits: int = 3) -> str:
    """Return a time in words, from nanoseconds to days; "–" for None or NaN.

    >>> say_time(12.34e-6), say_time(0), say_time(0.9999e-3), say_time(90), say_time(86400 * 3)
    ('12.3 µs', '0 s', '1 ms', '1.5 min', '3 days')
    """
    if not _exists(time_s):
        return NOTHING
    number, unit = ("0", "s") if time_s == 0 else _said(float(time_s), _SECONDS, "", digits).split(" ")
    words = {"days": _("{n} days"), "years": _("{n} years")}
    return words[unit].format(n=number) if unit in words else f"{number} {unit}"


_UNIT_AFTER = re.compile(r"(?<=\d) (?=(?:%|×|[kKMGTPE]?i?[Bb](?:/s)?|[nµm]?s|min|h)(?!\w))")


def kept_together(text: str) -> str:
    """Return `text` with a no-break space between a number and its unit, for pages that wrap lines.

    >>> kept_together("90 % of 450 GB/s, 8 GPUs").count("\\u00a0")
    2
    """
    return _UNIT_AFTER.sub("\u00a0", text)
