"""A spec-line decoder: a rate typed in any usual form, and the same rate in every other form."""

import re
from dataclasses import dataclass

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.base.units import (
    DIRECTIONS,
    GB,
    GiB,
    Rate,
    parse_rate,
    say_binary_rate,
    say_bit_rate,
    say_number,
    say_rate,
    say_time,
)

_ENCODING = re.compile(r"(\d+)\s*b\s*/\s*(\d+)\s*b", re.IGNORECASE | re.ASCII)
_LANES = re.compile(
    r"\bx\s*(\d+)\b|\b(\d+)\s*(?:x\b|×|\*|lanes?\b)\s*(?:at|of)?|[×*]\s*(\d+)\b", re.IGNORECASE | re.ASCII
)
_TRANSFERS = re.compile(r"(\d+(?:\.\d+)?)\s*([GM])T\s*/\s*s(?:ec(?:ond)?)?\b", re.ASCII)
_COUNT = re.compile(r"\s*(\d+)\s*(?:x|×|\*)\s*(?=\d)(.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_PCIE = re.compile(r"\s*pcie?\s*-?\s*(?:gen\s*)?(\d)(?:\.0)?\s*(?:[x×]\s*(\d+))?\s*", re.IGNORECASE | re.ASCII)


_LINK_STARTS = ("pc", "nv", "c2", "ib", "et", "ro", "ni", "xg", "ic")  # what names of links begin with


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded line: how it was read, the rate, and `forms`, (label, text) of every other way to write it.

    `lane_Tps` is what each of `lanes` lanes transfers per second, with `encoding`, for the same rate.
    """

    text: str
    reading: str
    rate: Rate
    forms: tuple[tuple[str, str], ...]
    lanes: float
    encoding: str | float
    lane_Tps: float


def encoding_share(encoding: str | float) -> float:
    """Return useful bits over sent bits from "128b/130b", "8b/10b", "flit" (242/256), "none", or a number above 0 up to 1.

    >>> encoding_share("8b/10b"), encoding_share("flit"), encoding_share("none")
    (0.8, 0.9453125, 1.0)
    """
    if isinstance(encoding, str):
        match = _ENCODING.fullmatch(encoding.strip())
        word = encoding.strip().lower()
        if match and int(match[2]) > 0:
            share = int(match[1]) / int(match[2])
        elif word in ("none", "raw", "flit"):
            share = hardware.value("pcie6", "encoding") if word == "flit" else 1.0
        else:
            raise CourseError(
                _("The encoding is {text!r}; write it as '128b/130b', '8b/10b', 'flit' or 'none'.").format(
                    text=encoding
                )
            )
    else:
        share = finite("encoding", encoding)
    if not 0 < share <= 1:
        raise CourseError(
            _("The encoding {text!r} keeps {share:g} of the bits; it has to be above 0 and at most 1.").format(
                text=encoding, share=share
            )
        )
    return share


def decode(text: str, direction: str | None = None, *, lanes: int = 16, encoding: str | float = "128b/130b") -> Decoded:
    """Return the rate of a specification line in every other form.

    `text`: a rate ("400 Gb/s", "450 GB/s per direction", "18 x 50 GB/s both directions"), transfers with lanes and encoding
    ("32 GT/s x16 128b/130b"), or a name of the hardware table ("PCIe 5.0 x16", "NVLink 5", "ib-ndr"). `direction`, `lanes`
    and `encoding` stand in for what the text does not say; lanes and encoding are also used to write the rate as GT/s.
    Raises CourseError as `parse_rate` does where a line has two readings.

    >>> decode("32 GT/s x16 128b/130b").rate.per_direction_Bps / 1e9 > 63
    True
    >>> dict(decode("900 GB/s bidirectional").forms)["per direction"]
    '450 GB/s'
    """
    if not isinstance(text, str) or not text.strip():
        raise CourseError(
            _("The line is {text!r}; write a rate such as '450 GB/s per direction' or '32 GT/s x16'.").format(text=text)
        )
    if direction is not None:
        direction = one_of(_("direction"), direction, DIRECTIONS)
    lanes = whole("lanes", lanes, at_least=1)
    encoding_share(encoding)
    transfers = _TRANSFERS.search(text)
    if transfers:
        rate, reading, lanes, encoding = _transfers(text, transfers, lanes, encoding)
    else:
        rate, reading = _rate_or_name(text, direction)
    one, both = rate.per_direction_Bps, rate.bidirectional_Bps
    lane_Tps = one * 8 / lanes / encoding_share(encoding)
    forms = (
        (_("per direction"), say_rate(one, 4)),
        (_("both directions summed"), say_rate(both, 4)),
        (_("per direction, in bits"), say_bit_rate(one, 4)),
        (_("both directions, in bits"), say_bit_rate(both, 4)),
        (_("per direction, binary prefix"), say_binary_rate(one, 4)),
        (_("both directions, binary prefix"), say_binary_rate(both, 4)),
        (_("{lanes:g} lanes, {encoding}").format(lanes=lanes, encoding=encoding), _("{x} GT/s").format(x=say_number(lane_Tps / 1e9, 4))),
        (_("1 GB takes"), say_time(GB / one if one else None)),
        (_("1 GiB takes"), say_time(GiB / one if one else None)),
    )  # fmt: skip
    return Decoded(text, reading, rate, forms, lanes, encoding, lane_Tps)


def _transfers(text: str, found: re.Match, lanes: float, encoding: str | float) -> tuple[Rate, str, float, str | float]:
    rest = text[: found.start()] + " " + text[found.end() :]
    coded = _ENCODING.search(rest) or re.search(r"\bflit\b", rest, re.IGNORECASE)
    if coded:
        encoding = coded[0].replace(" ", "").lower()
        rest = rest.replace(coded[0], " ")
    counted = _LANES.search(rest)
    if counted:
        lanes = float(next(g for g in counted.groups() if g))
        rest = rest[: counted.start()] + " " + rest[counted.end() :]
    rest = re.sub(
        r"[\s,;×x*]|\bper lane\b|\blanes?\b|\bpcie?\b|\bNRZ\b|\bPAM4\b|\bat\b|\bwith\b", "", rest, flags=re.IGNORECASE
    )
    if rest:
        raise CourseError(
            _("{rest!r} in {text!r} is not understood; write it as '32 GT/s x16 128b/130b'.").format(
                rest=rest, text=text
            )
        )
    if lanes == 0:
        raise CourseError(_("{text!r} has no lanes; at least one is needed.").format(text=text))
    per_lane = float(found[1]) * (1e9 if found[2] == "G" else 1e6)
    rate = Rate(lanes * per_lane / 8 * encoding_share(encoding))
    reading = _("{lanes:g} lanes × {rate} GT/s × {encoding} ÷ 8, one direction").format(
        lanes=lanes, rate=say_number(per_lane / 1e9, 6), encoding=encoding
    )
    return rate, reading, lanes, encoding


def _rate_or_name(text: str, direction: str | None) -> tuple[Rate, str]:
    many = _COUNT.fullmatch(text)
    if many:
        rate = parse_rate(many[2], direction)
        total = Rate(int(many[1]) * rate.per_direction_Bps)
        return total, _("{n} × {one}, one direction").format(n=many[1], one=say_rate(rate.per_direction_Bps))
    if re.match(r"\s*[+-]?[\d.]", text):
        rate = parse_rate(text, direction)
        return rate, _("{one}, one direction").format(one=say_rate(rate.per_direction_Bps, 4))
    slot = _PCIE.fullmatch(text)
    name = f"pcie{slot[1]}" if slot else re.sub(r"(?<=[a-z])\s+(?=\d)", "", text.strip().lower())
    if not slot and (not re.match(r"[a-z][a-z0-9-]*$", name) or name[:2] not in _LINK_STARTS):
        raise CourseError(
            _(
                "{text!r} is neither a rate, such as '450 GB/s per direction', nor a link, such as 'PCIe 5.0 x16'."
            ).format(text=text)
        )
    link = hardware.link(name)
    reading = _("{title}: line rate of one direction, after the line code")
    if not slot or slot[2] is None:
        return Rate(link.line_Bps), reading.format(title=link.title)
    lanes = whole(_("the number of lanes"), int(slot[2]), at_least=1, at_most=16)
    return Rate(link.line_Bps * lanes / 16), reading.format(title=link.title.replace("x16", f"x{lanes}"))


# A factor between two numbers that has a name: what went wrong when they should have been equal.
_SLIPS = (
    (GiB / GB, "GiB for GB"), (2.0**20 / 1e6, "MiB for MB"), (2.0**40 / 1e12, "TiB for TB"),
    (2.0, "both directions for one"), (8.0, "bits for bytes"), (16.0, "both directions and bits for bytes"),
    (1000.0, "a prefix: factor 1000"), (1024.0, "a binary prefix: factor 1024"),
)  # fmt: skip


def unit_slip(given: float, expected: float, *, tolerance: float = 0.004) -> str | None:
    """Return a sentence that names the slip of units between two numbers, or None where there is none that fits.

    Knows GiB for GB (7.4 %) and its sisters, both directions for one (2), bits for bytes (8), a prefix (1000 or 1024).
    `tolerance` is relative. Both numbers finite and above 0, else None.

    >>> unit_slip(53.69, 50)
    'The number is 1.074 × too large: that is GiB for GB.'
    >>> unit_slip(25, 50), unit_slip(47, 50)
    ('The number is 2 × too small: that is both directions for one.', None)
    """
    try:
        ratio = float(given) / float(expected)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    if not 0 < ratio < float("inf") or abs(ratio - 1) <= tolerance:
        return None
    factor = max(ratio, 1 / ratio)
    near = [(abs(factor / known - 1), known, name) for known, name in _SLIPS if abs(factor / known - 1) <= tolerance]
    if not near:
        return None
    name = min(near)[2]
    words = {
        "GiB for GB": _("GiB for GB"), "MiB for MB": _("MiB for MB"), "TiB for TB": _("TiB for TB"),
        "both directions for one": _("both directions for one"), "bits for bytes": _("bits for bytes"),
        "a prefix: factor 1000": _("a prefix: factor 1000"), "a binary prefix: factor 1024": _("a binary prefix: factor 1024"),
        "both directions and bits for bytes": _("both directions and bits for bytes"),
    }  # fmt: skip
    sentence = (
        _("The number is {factor} × too large: that is {name}.")
        if ratio > 1
        else _("The number is {factor} × too small: that is {name}.")
    )
    return sentence.format(factor=say_number(factor, 4), name=words[name])
