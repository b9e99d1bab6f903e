"""Exercise 00, start here: read a data sheet without losing a factor of 1000, 8, 2 or 1.074."""

import numpy as np

from course_lib.base.hardware import value
from course_lib.base.language import _
from course_lib.base.units import GB, MB, TB, US, GiB
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Case, Misconception, Question

# q1 ------------------------------------------------------------------------------------------------------------------


def payload_GBps(transfers_GTps: float, lanes: int, payload_bits: int, coded_bits: int) -> float:
    """Return GB/s in one direction: a transfer moves one bit on each lane, and the code spends some of them."""
    return transfers_GTps * lanes * payload_bits / coded_bits / 8


def _lane_cases(rng: np.random.Generator) -> list[Case]:
    fixed = [(8, 1, 1, 1), (2.5, 1, 8, 10), (32, 16, 128, 130), (8, 16, 128, 130), (5, 4, 8, 10)]
    codes = [(8, 10), (128, 130), (64, 66)]
    drawn = [
        (float(rng.integers(4, 129)) / 2, int(2 ** rng.integers(0, 5)), *codes[rng.integers(len(codes))])
        for _unused in range(12)
    ]
    names = ("transfers_GTps", "lanes", "payload_bits", "coded_bits")
    return [Case(dict(zip(names, row, strict=True))) for row in fixed + drawn]


q1 = Question(
    id="00.q1",
    title=_("A rate from transfers, lanes and code"),
    points=2,
    answer="payload_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.005),
    inputs=_lane_cases,
    reference=payload_GBps,
    misconceptions=(
        Misconception(
            "bits for bytes",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: transfers_GTps * lanes * payload_bits / coded_bits,
            _("A transfer moves one bit on a lane. Your result is in Gb/s; eight bits make a byte."),
        ),
        Misconception(
            "code forgotten",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: transfers_GTps * lanes / 8,
            _(
                "You count every bit on the wire. The code spends some: only payload_bits of each coded_bits are payload."
            ),
        ),
        Misconception(
            "code upside down",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: (
                transfers_GTps * lanes * coded_bits / payload_bits / 8
            ),
            _("Your payload is more than the wire carries: the code's fraction is upside down."),
        ),
        Misconception(
            "both directions",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: (
                2 * payload_GBps(transfers_GTps, lanes, payload_bits, coded_bits)
            ),
            _("That is both directions together. A bandwidth in this course is one direction."),
        ),
    ),
)

# q2 ------------------------------------------------------------------------------------------------------------------


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
                "A prefix slipped: the number is off by exactly 1000. 1800 GB/s is 1.8 TB/s, and a size in MB over a rate in GB/s "
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
            lambda: {k: 2 * v for k, v in _repaired().items() if k in ("B", "C")},
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
    ),
)

# q3 ------------------------------------------------------------------------------------------------------------------

_DIRECTION = {1: "one", 2: "both", 3: "one", 4: "one", 5: "both", 6: "both", 7: "both", 8: "one"}

q3 = Question(
    id="00.q3",
    title=_("One direction or both"),
    points=2,
    answer="direction",
    expects=Entries(Choice(("one", "both"))),
    reference=_DIRECTION,
    misconceptions=(
        Misconception(
            "headline read as one direction",
            {2: "one", 6: "one"},
            _("An NVLink headline adds both directions: 900 GB/s on the data sheet of an H100 is 450 each way."),
        ),
        Misconception(
            "network port read as both",
            {3: "both"},
            _("A network port is named after one direction: 400 Gb/s in and, at the same time, 400 Gb/s out."),
        ),
        Misconception(
            "sum of two copies read as one direction",
            {5: "one", 7: "one"},
            _("Where two copies run against each other and their rates are added, the number counts both directions."),
        ),
        Misconception(
            "a measured copy read as both",
            {1: "both", 4: "both", 8: "both"},
            _(
                "A single copy goes one way, and so does the wire speed that a bus bandwidth is compared with. Nothing is added here."
            ),
        ),
    ),
)

# q4 ------------------------------------------------------------------------------------------------------------------


def _ben(rng: np.random.Generator) -> dict[str, float]:
    moved_GiB = int(rng.integers(4, 33))
    rate_GBps = float(rng.uniform(20, 55))
    return {"moved_GiB": moved_GiB, "time_s": round(moved_GiB * GiB / (rate_GBps * GB), 4)}


q4 = Question(
    id="00.q4",
    title=_("A merged figure that is 7.4 % off"),
    points=1,
    answer="ben_GBps",
    expects=Number("GB/s"),
    parameters=_ben,
    reference=lambda moved_GiB, time_s: moved_GiB * GiB / time_s / GB,
    misconceptions=(
        Misconception(
            "GiB for GB",
            lambda moved_GiB, time_s: moved_GiB / time_s,
            lambda moved_GiB, time_s: _(
                "{rate} is in GiB/s. A GiB is 1.0737 GB, so in GB/s the number is larger: these are the 7.4 % in the figure."
            ).format(rate=f"{moved_GiB / time_s:.1f}"),
        ),
        Misconception(
            "the wrong way round",
            lambda moved_GiB, time_s: moved_GiB / (GiB / GB) / time_s,
            _("You divided where you have to multiply: a GiB is the larger unit, so the number of GB is larger."),
        ),
        Misconception(
            "1024 once",
            lambda moved_GiB, time_s: moved_GiB * 1.024 / time_s,
            _("A GiB is 1024 × 1024 × 1024 bytes: the 2.4 % come three times, 7.4 % in all."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4)
