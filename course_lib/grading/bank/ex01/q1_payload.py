"""Question 01.q1: the payload rate of a link."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question


def payload_rate_GBps(
    transfers_GTps: float, lanes: int, payload_bits: int, coded_bits: int, data_B: float, headers_B: float
) -> float:
    """Return GB/s of payload in one direction: lanes × rate × code ÷ 8, times the share of data in a packet."""
    return transfers_GTps * lanes * payload_bits / coded_bits / 8 * data_B / (data_B + headers_B)


def _links(rng: np.random.Generator) -> list[Case]:
    fixed = [(32, 16, 128, 130, 256, 24), (8, 1, 1, 1, 128, 24), (2.5, 16, 8, 10, 128, 28), (16, 8, 128, 130, 4096, 24)]
    fixed.append((32, 16, 128, 130, 64, 24))  # a small message: its only packet is not full
    codes = [(8, 10), (128, 130), (64, 66)]
    drawn = [
        (float(rng.integers(5, 129)) / 2, int(2 ** rng.integers(0, 5)), *codes[rng.integers(3)],
         int(2 ** rng.integers(6, 12)), int(rng.integers(12, 41)))
        for _unused in range(12)
    ]  # fmt: skip
    names = ("transfers_GTps", "lanes", "payload_bits", "coded_bits", "data_B", "headers_B")
    return [Case(dict(zip(names, row, strict=True))) for row in fixed + drawn]


def _line_GBps(transfers_GTps, lanes, payload_bits, coded_bits, data_B, headers_B):
    return transfers_GTps * lanes * payload_bits / coded_bits / 8


q1 = Question(
    id="01.q1",
    title=_("Payload rate of a link"),
    points=3,
    answer="payload_rate_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.002),
    inputs=_links,
    reference=payload_rate_GBps,
    misconceptions=(
        Misconception(
            "headers forgotten",
            _line_GBps,
            _("That is the line rate. You forgot that each packet also carries headers_B bytes that are not data."),
        ),
        Misconception(
            "both directions",
            lambda **link: 2 * payload_rate_GBps(**link),
            _("You added both directions. A copy goes one way, and a bandwidth in this course is one direction."),
        ),
        Misconception(
            "headers subtracted from the rate",
            lambda **link: _line_GBps(**link) * (1 - link["headers_B"] / link["data_B"]),
            _(
                "You took headers_B / data_B off the rate. Headers are a share of the whole packet, and that holds data and headers."
            ),
        ),
        Misconception(
            "code forgotten",
            lambda **link: payload_rate_GBps(**link | {"payload_bits": 1, "coded_bits": 1}),
            _("You counted the packets, and forgot the line code: of coded_bits on the wire only payload_bits arrive."),
        ),
        Misconception(
            "bits for bytes",
            lambda **link: 8 * payload_rate_GBps(**link),
            _("You left out the division by eight: a transfer moves one bit on a lane, and your rate is in Gb/s."),
        ),
        Misconception(
            "one lane",
            lambda **link: payload_rate_GBps(**link | {"lanes": 1}),
            _("That is the rate of one lane. All lanes carry bits at the same time: multiply by their number."),
        ),
        Misconception(
            "code upside down",
            lambda **link: payload_rate_GBps(
                **link | {"payload_bits": link["coded_bits"], "coded_bits": link["payload_bits"]}
            ),
            _("The code's fraction is upside down: of coded_bits on the wire payload_bits are useful, and not more."),
        ),
        Misconception(
            "packet upside down",
            lambda **link: _line_GBps(**link) * (link["data_B"] + link["headers_B"]) / link["data_B"],
            _("The packet's fraction is upside down: your payload is more than the line carries."),
        ),
        Misconception(
            "nothing taken off",
            lambda **link: _line_GBps(**link | {"payload_bits": 1, "coded_bits": 1}),
            _("That is the rate of the wire. Neither the line code nor the headers are taken off yet."),
        ),
    ),
)
