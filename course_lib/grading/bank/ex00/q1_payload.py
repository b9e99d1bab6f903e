"""Question 00.q1: a rate from transfers, lanes and code."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question


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
    expects=Number("GB/s"),
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
        Misconception(
            "one lane",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: transfers_GTps * payload_bits / coded_bits / 8,
            _("That is the rate of one lane. All lanes carry bits at the same time: multiply by their number."),
        ),
        Misconception(
            "overhead of the payload",
            lambda transfers_GTps, lanes, payload_bits, coded_bits: (
                transfers_GTps * lanes / 8 * (1 - (coded_bits - payload_bits) / payload_bits)
            ),
            _(
                "You took the added bits off as a share of payload_bits. They are a share of all that is sent, coded_bits."
            ),
        ),
    ),
)
