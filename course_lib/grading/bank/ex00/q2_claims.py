"""Question 00.q2: five claims of a data sheet to repair."""

from course_lib.base.hardware import value
from course_lib.base.language import _
from course_lib.base.units import GB, MB, TB, US
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Misconception, Question
from course_lib.links.linerate import measured_copies


def _repaired() -> dict[str, float]:
    """Return the five quantities as they should be, in the units that the question asks for."""
    one_way_Bps = value("nvlink4", "line_Bps")
    return {
        "A": 2 * value("nvlink5", "line_Bps") / TB,
        "B": one_way_Bps / GB,
        "C": value("pcie5", "raw_Bps") / GB,
        "D": value("ib-ndr", "line_Bps") / GB,
        "E": 64 * MB / one_way_Bps / US,
    }


def _factor_1000() -> dict[str, float]:
    right = _repaired()
    return {"A": right["A"] * 1000, "E": right["E"] / 1000}


def _per_link() -> dict[str, float]:
    right, links = _repaired(), value("nvlink4", "links")
    return {"B": right["B"] / links, "E": right["E"] * links}


q2 = Question(
    id="00.q2",
    title=_("Five claims to repair"),
    points=5,
    answer="repaired",
    expects=Entries(
        {"A": Number("TB/s"), "B": Number("GB/s"), "C": Number("GB/s"), "D": Number("GB/s"), "E": Number("µs")}
    ),
    reference=_repaired,
    misconceptions=(
        Misconception(
            "factor 1000",
            _factor_1000,
            _(
                "A prefix slipped: the number is off by exactly 1000. 1000 GB/s are 1 TB/s, and a size in MB over a rate in GB/s "
                "is a time in ms."
            ),
        ),
        Misconception(
            "per link for per GPU",
            _per_link,
            _("That is the rate of a single link. A GPU has many links; the claim is about all of them."),
        ),
        Misconception(
            "both directions for one",
            lambda: {k: 2 * v for k, v in _repaired().items() if k in "BCD"} | {"E": _repaired()["E"] / 2},
            _("That adds both directions. One direction is asked for, and a copy only goes one way."),
        ),
        Misconception(
            "one direction for both",
            lambda: {"A": _repaired()["A"] / 2},
            _(
                "That is one direction. The claim quotes a data sheet, which adds both directions, and so does the question."
            ),
        ),
        Misconception(
            "bits for bytes",
            lambda: {"D": 8 * _repaired()["D"]},
            _("Network cards are sold in bits per second, copies are counted in bytes: eight bits make a byte."),
        ),
        Misconception(
            "one direction halved",
            lambda: {k: v / 2 for k, v in _repaired().items() if k in "CD"},
            _(
                "You halved a rate that is one direction already. 400 Gb/s go into a port and, at the same time, out of it; "
                "so do 32 GT/s on each lane of a slot."
            ),
        ),
        Misconception(
            "after the code",
            lambda: {"C": value("pcie5", "line_Bps") / GB},
            _("That is the line rate, after the code. Here the rate before it is asked for."),
        ),
        Misconception(
            "both directions of one link",
            lambda: {"B": 2 * _per_link()["B"]},
            _("That is one link of many, with both directions added. The whole GPU and one direction are asked for."),
        ),
        Misconception(
            "a measured copy",
            lambda: {"B": value("nvlink4", "copy_Bps") / GB, "C": measured_copies("pcie5")[0].measured_Bps / GB},
            _(
                "That is what a copy was measured at. The claim is about the link, before packets and waiting take their share."
            ),
        ),
    ),
)
