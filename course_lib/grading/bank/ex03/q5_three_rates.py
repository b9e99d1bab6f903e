"""Question 03.q5: three rates for one link."""

from course_lib.base.hardware import value
from course_lib.base.language import _
from course_lib.base.units import GB
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Misconception, Question

CAUSES = ("packets", "line code", "both directions", "a broken link")


def _three_rates() -> dict:
    wire_Bps = value("nvlink4", "links") * value("nvlink4", "smi_link_Bps")
    sheet_Bps = wire_Bps * value("nvlink4", "code_in") / value("nvlink4", "code_out")
    return {
        "wire": wire_Bps / GB,
        "sheet": sheet_Bps / GB,
        "copy_percent": 100 * value("nvlink4", "copy_Bps") / sheet_Bps,
        "rest": CAUSES[0],
    }


q5 = Question(
    id="03.q5",
    title=_("Three rates for one link"),
    points=2,
    answer="three_rates",
    expects=Entries(
        {
            "wire": Number("GB/s", tolerance=0.002),
            "sheet": Number("GB/s", tolerance=0.002),
            "copy_percent": Number("%", tolerance=0.006),
            "rest": Choice(CAUSES),
        }
    ),
    reference=_three_rates,
    misconceptions=(
        Misconception(
            "one link for all",
            lambda: {"wire": value("nvlink4", "smi_link_Bps") / GB, "sheet": value("nvlink4", "link_Bps") / GB},
            _("That is the rate of a single link. The GPU has eighteen."),
        ),
        Misconception(
            "both directions",
            lambda: {"wire": 2 * _three_rates()["wire"], "sheet": 2 * _three_rates()["sheet"], "rest": CAUSES[2]}
            | {"copy_percent": _three_rates()["copy_percent"] / 2},
            _("You bring in both directions. All three numbers are one direction, so that is not where they differ."),
        ),
        Misconception(
            "code upside down",
            lambda: {"sheet": _three_rates()["wire"] * 17 / 16},
            _("You multiply by 17/16. The code sends 17 parts for 16 useful ones, so less is left, not more."),
        ),
        Misconception(
            "code counted twice",
            lambda: {"copy_percent": 100 * value("nvlink4", "copy_Bps") / GB / _three_rates()["wire"], "rest": CAUSES[1]},
            _("You let the line code explain the last step, too. The data sheet's rate is already after the code."),
        ),
        Misconception(
            "a fault seen where there is none",
            lambda: {"rest": CAUSES[3]},
            _("You take 88 % of the data sheet for a fault. Headers and acknowledgements cost about that much on every healthy NVLink."),
        ),
        Misconception(
            "the code taken off before the wire",
            lambda: {"wire": _three_rates()["sheet"], "sheet": _three_rates()["sheet"] * 16 / 17},
            _("You begin with 25 GB/s a link, which is already after the code. On the wire a link carries 26.5625 GB/s."),
        ),
        Misconception(
            "the code left on",
            lambda: {"sheet": _three_rates()["wire"]},
            _("That is the rate on the wire. The data sheet counts the useful parts: 16 of 17."),
        ),
        Misconception(
            "the share that is missing",
            lambda: {"copy_percent": 100 - _three_rates()["copy_percent"]},
            _("That is what the copy lacks. What it reaches is asked for, in percent of the data sheet's rate."),
        ),
    ),
)  # fmt: skip
