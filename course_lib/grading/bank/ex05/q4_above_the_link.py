"""Question 05.q4: more than the link's rate, and why."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, US
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Misconception, Question
from course_lib.timing.busbw import busbw_limit_Bps, wire_Bps

CAUSES = ("broken benchmark", "both directions", "faster link", "switch adds")
LINKS = ((8, 450.0), (8, 900.0), (16, 900.0), (36, 900.0), (72, 900.0), (72, 1800.0))


def _row(rng: np.random.Generator) -> dict[str, float]:
    """Return a row of nccl-tests on NVLS, its links two thirds to four fifths full, so that it prints more than the link."""
    n, link_GBps = LINKS[int(rng.integers(len(LINKS)))]
    busbw_Bps = float(rng.uniform(0.68, 0.8)) * float(busbw_limit_Bps("all_reduce", "in-network", n, link_GBps * GB))
    size_B = int(2 ** rng.integers(31, 35))
    time_us = round(size_B * 2 * (n - 1) / n / busbw_Bps / US, 1)
    return {"n_ranks": n, "link_GBps": link_GBps, "size_B": size_B, "time_us": time_us}


def explained(n_ranks: int, link_GBps: float, size_B: int, time_us: float) -> dict:
    """Return the bus bandwidth of a row, what a link carried in one direction, the most that could be printed, and why."""
    busbw_Bps = size_B / (time_us * US) * 2 * (n_ranks - 1) / n_ranks
    return {
        "busbw_GBps": busbw_Bps / GB,
        "wire_GBps": float(wire_Bps("all_reduce", "in-network", n_ranks, busbw_Bps)) / GB,
        "limit_GBps": float(busbw_limit_Bps("all_reduce", "in-network", n_ranks, link_GBps * GB)) / GB,
        "cause": "switch adds",
    }


def _algbw_GBps(n_ranks: int, link_GBps: float, size_B: int, time_us: float) -> float:
    return size_B / (time_us * US) / GB


q4 = Question(
    id="05.q4",
    title=_("More than the link"),
    points=2,
    answer="explained",
    expects=Entries(
        {
            "busbw_GBps": Number("GB/s"),
            "wire_GBps": Number("GB/s"),
            "limit_GBps": Number("GB/s"),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_row,
    reference=explained,
    misconceptions=(
        Misconception(
            "broken benchmark",
            {"cause": "broken benchmark"},
            _(
                "You put it down to a broken benchmark. Time and size are right. It multiplies with the bytes that ranks need "
                "without help, and here they had help."
            ),
        ),
        Misconception(
            "both directions",
            lambda n_ranks, link_GBps, size_B, time_us: {"cause": "both directions", "limit_GBps": 2 * link_GBps},
            _(
                "You think that both directions were added up. A bus bandwidth is one direction; the wire carries less than its "
                "rate in each."
            ),
        ),
        Misconception(
            "a faster link",
            {"cause": "faster link"},
            _("You make the link faster than its data sheet. Work out what it carried: it is below the data sheet."),
        ),
        Misconception(
            "bus bandwidth taken for the wire",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "wire_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us) * 2 * (n_ranks - 1) / n_ranks
            },
            _("That is the bus bandwidth again. A link carried 1 + 1/n messages, not 2(n − 1)/n of them."),
        ),
        Misconception(
            "algorithm bandwidth",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "busbw_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us)
            },
            _("That is the algorithm bandwidth, size over time. The bus bandwidth is 2(n − 1)/n times as large."),
        ),
        Misconception(
            "push-up for NVLS",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "wire_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us),
                "limit_GBps": 2 * (n_ranks - 1) / n_ranks * link_GBps,
            },
            _(
                "You count one message per direction, as in push-up. With NVLS an owner also pulls its sum and sends it back: "
                "1 + 1/n."
            ),
        ),
        Misconception(
            "the data sheet's rate",
            lambda n_ranks, link_GBps, size_B, time_us: {"wire_GBps": link_GBps, "limit_GBps": link_GBps},
            _(
                "That is the rate on the data sheet. What a link carried follows from bytes and time; the limit is a bus bandwidth, "
                "and may be printed above the link's rate."
            ),
        ),
        Misconception(
            "an all-reduce is one lap",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "busbw_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us) * (n_ranks - 1) / n_ranks
            },
            _("You multiply with (n − 1)/n. The factor of an all-reduce is twice that."),
        ),
        Misconception(
            "the wire's bytes in the printed rate",
            lambda n_ranks, link_GBps, size_B, time_us: {
                "busbw_GBps": _algbw_GBps(n_ranks, link_GBps, size_B, time_us) * (1 + 1 / n_ranks)
            },
            _("That is what a link carried. A benchmark multiplies with 2(n − 1)/n, whatever the switch did."),
        ),
    ),
)
