"""Lesson 00: the lines of a data sheet, and the spec-line decoder: a rate typed in any usual form, in every other form."""

import re
from dataclasses import dataclass
from functools import cache

from course_lib.base import hardware, typed
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import GB, say_bytes, say_number, say_rate, say_time
from course_lib.base.specline import Decoded, decode
from course_lib.explorers.controls import Choice, Entry, SizeSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.datasheet import forms
from course_lib.links.linerate import Comparison, measured_copies, waterfall

ASK = "ask"
SAME = 1e-3
CLOSE = 0.02  # a typed rate is called a known link's within this relative distance
HIGHEST_Bps = 1e18  # above it a prefix slipped: all the world's links together carry less


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A line of a data sheet: what it prints, the number in it, and the rate of one direction in bytes per second."""

    name: str
    role: str
    printed: str
    number: float
    rate_Bps: float


def data_sheet() -> tuple[SheetLine, ...]:
    """Return three lines of the data sheet of an 8-GPU H100 server, as vendors print them: NVLink, PCIe slot, network card.

    >>> [(line.printed, line.rate_Bps / 1e9) for line in data_sheet()]
    [('900 GB/s', 450.0), ('128 GB/s', 64.0), ('400 Gb/s', 50.0)]
    """
    nvlink, port = hardware.line("nvlink4", "advertised_Bps"), hardware.line("ib-ndr", "port_bps")
    (_both, pcie_Bps), (_one, slot_Bps) = waterfall("pcie5")[:2]
    rows = (
        (_("NVLink"), "nvlink", float(nvlink.published), nvlink.unit, nvlink.value),
        (_("PCIe slot"), "pcie", pcie_Bps / GB, "GB/s", slot_Bps),
        (_("network card"), "network", float(port.published), port.unit, hardware.value("ib-ndr", "line_Bps")),
    )
    return tuple(
        SheetLine(name, role, f"{say_number(number)} {unit}", number, rate) for name, role, number, unit, rate in rows
    )


def columns(lines: tuple[SheetLine, ...], what: str = "number") -> tuple[list, list, list, list]:
    """Return names, printed texts, `what` ("number" or "rate_Bps") and colour roles of the lines, as the figures take them.

    >>> columns(data_sheet())[2]
    [900.0, 128.0, 400.0]
    """
    return tuple([getattr(line, field) for line in lines] for field in ("name", "printed", what, "role"))


def duplex() -> tuple[Comparison, Comparison]:
    """Return two published copies between the same two H200: one alone, and one with another running against it.

    >>> alone, together = duplex()
    >>> round(alone.measured_Bps / 1e9, 1), round(together.measured_Bps / 1e9, 1)
    (396.4, 391.9)
    """
    found = {c.case: c for c in measured_copies("nvlink4") if c.machine == "8x H200"}
    return found["GPU to GPU"], found["GPU to GPU, both ways at once"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the decoder shows: the decoded line, the direction that was filled in (or None), and the size to move."""

    decoded: Decoded
    filled_in: str | None
    message_B: float

    @property
    def time_s(self) -> float:
        """How long the size takes in one direction."""
        return self.message_B / self.decoded.rate.per_direction_Bps


def read_line(line: str, unsaid: str, message_B: float) -> Reading:
    """Return the reading of a specification line; `unsaid` ("ask", "both" or "per direction") holds where it names no direction.

    >>> read_line("900 GB/s", "both", 9e9).time_s
    0.02
    >>> read_line("400 Gb/s", "both", 1e9).decoded.rate.per_direction_Bps / 1e9  # a port's bit rate is one direction by standard
    50.0
    """
    filled_in = None
    try:
        decoded = decode(line)
    except CourseError:
        if unsaid == ASK:
            raise
        decoded, filled_in = decode(line, unsaid), unsaid
    rate_Bps = decoded.rate.per_direction_Bps
    if rate_Bps == 0:
        raise CourseError(_("{line!r} is a rate of zero; nothing ever arrives. Type a rate above 0.").format(line=line))
    if not 1 <= rate_Bps <= HIGHEST_Bps:
        raise CourseError(
            _(
                "{line!r} is {rate} in one direction; rates from 1 B/s to {high} are decoded here. Look at the prefix."
            ).format(line=line, rate=say_rate(rate_Bps), high=say_rate(HIGHEST_Bps))
        )
    return Reading(decoded, filled_in, message_B)


def typed_form(reading: Reading) -> int | None:
    """Return which row of the figure holds the number as it was typed, or None where no row does.

    >>> [typed_form(read_line(line, "both", 1.0)) for line in ("900 GB/s", "400 Gb/s", "NVLink 4")]
    [1, 2, None]
    """
    text, one = reading.decoded.text, reading.decoded.rate.per_direction_Bps
    if re.search(r"\d\s*[GM]T\s*/", text):
        return 6
    found = re.match(r"\s*([\d.,]+)\s*([kKMGTP])(i?)(B|b)", text)
    if not found:
        return None
    scale = (1024 if found[3] else 1000) ** (1 + "KMGTP".index(found[2].upper())) / (8 if found[4] == "b" else 1)
    typed_Bps = typed.number(found[1], "900") * scale
    first = 4 if found[3] else 2 if found[4] == "b" else 0
    return next((first + i for i, rate in enumerate((one, 2 * one)) if abs(typed_Bps / rate - 1) < 1e-6), None)


@cache
def _links() -> tuple[tuple[float, str], ...]:
    """Line rates and titles of all links, slowest first; links of one rate share an entry."""
    titles: dict[float, list[str]] = {}
    for link in map(hardware.link, hardware.items("link")):
        titles.setdefault(link.line_Bps, []).append(_(link.title))
    return tuple(sorted((rate_Bps, _(" and of ").join(same)) for rate_Bps, same in titles.items()))


def nearest_links(rate_Bps: float) -> str:
    """Return a sentence that places a rate (bytes/s, one direction) among the line rates of the hardware table.

    >>> nearest_links(50e9)
    'That is the line rate of InfiniBand NDR, one port and of RoCE v2 on 400 Gb/s Ethernet, one port.'
    """
    apart, title = min((abs(rate_Bps / line_Bps - 1), title) for line_Bps, title in _links())
    if apart < SAME:
        return _("That is the line rate of {title}.").format(title=title)
    if apart < CLOSE:
        return _("That is within 2 % of the line rate of {title}.").format(title=title)
    above = [pair for pair in _links() if pair[0] > rate_Bps]
    below = [pair for pair in _links() if pair[0] < rate_Bps]
    if not above:
        return _("No link of the course is as fast; the fastest is {title}, {rate}.").format(
            title=below[-1][1], rate=say_rate(below[-1][0])
        )
    if not below:
        return _("Every link of the course is faster; the slowest is {title}, {rate}.").format(
            title=above[0][1], rate=say_rate(above[0][0])
        )
    return _("It lies between {a}, {a_rate}, and {b}, {b_rate}.").format(
        a=below[-1][1], a_rate=say_rate(below[-1][0]), b=above[0][1], b_rate=say_rate(above[0][0])
    )


def _draw(reading: Reading):
    found = reading.decoded
    lanes = _("{lanes:g} lanes, {encoding}").format(lanes=found.lanes, encoding=found.encoding)
    return forms(
        found.text, found.rate.per_direction_Bps, found.lane_Tps / 1e9, lanes, typed_form(reading), rows=found.forms
    )


def _equation(reading: Reading) -> tuple[str, str]:
    size, rate = say_bytes(reading.message_B), say_rate(reading.decoded.rate.per_direction_Bps)
    return (
        _("time = bytes ÷ rate of one direction"),
        _("time = {size} ÷ {rate} = {time}").format(size=size, rate=rate, time=say_time(reading.time_s)),
    )


def _sentence(reading: Reading) -> str:
    place = nearest_links(reading.decoded.rate.per_direction_Bps)
    if reading.filled_in == "both":
        return (
            _("The line does not say its direction; it was read as both directions added, so one has half.")
            + " "
            + place
        )
    if reading.filled_in:
        return _("The line does not say its direction; it was read as one direction.") + " " + place
    said = _("Read as {reading}.").format(reading=reading.decoded.reading)
    named = reading.decoded.text.strip()[0].isalpha()  # the name of a link says where the rate belongs
    return said if named else said + " " + place


def decoder() -> Explorer:
    """Return the spec-line decoder: a line, what to do where it hides its direction, and bytes to move.

    >>> decoder().figure.layout.title.text
    '"900 GB/s" is 450 GB/s in one direction'
    """
    return Explorer(
        read_line,
        _draw,
        question=_("What does this line of a data sheet say?"),
        equation=_equation,
        sentence=_sentence,
        line=Entry(
            _("a line, then Enter"),
            "900 GB/s",
            hint="32 GT/s x16 128b/130b",
            help=_("a rate, transfers with lanes and code, or the name of a link"),
        ),
        unsaid=Choice(
            _("if it does not say its direction"),
            ((_("ask me"), ASK), (_("one direction"), "per direction"), (_("both directions added"), "both")),
            "both",
        ),
        message_B=SizeSlider(_("bytes to move"), 1_000_000, 10**13, 10**10, base=10),
    )
