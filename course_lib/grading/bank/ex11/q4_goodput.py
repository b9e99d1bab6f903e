"""Question 11.q4: goodput of a link that loses packets."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

LINE = ("loss", "line_GBps", "round_trip_us", "packet_B")


def goodput(loss: float, line_GBps: float, round_trip_us: float, packet_B: float) -> dict[str, float]:
    """Return GB/s that count, for a card that goes back N and for one that repeats what was lost.

    >>> {k: round(v, 1) for k, v in goodput(0.01, 50, 20, 4096).items()}
    {'go_back_n': 14.4, 'selective_repeat': 49.5}
    """
    behind = line_GBps * 1e3 * round_trip_us / packet_B
    return {
        "go_back_n": line_GBps * (1 - loss) / (1 + loss * behind),
        "selective_repeat": line_GBps * (1 - loss),
    }


def _goodput_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (0.0, 50.0, 20.0, 4096.0),
        (0.001, 50.0, 20.0, 4096.0),
        (0.01, 50.0, 20.0, 4096.0),
        (0.01, 50.0, 0.0, 4096.0),
        (0.3, 12.5, 10.0, 1024.0),
    ]
    for _i in range(8):
        rows.append(
            (
                float(f"{10 ** rng.uniform(-5, -1):.3g}"),
                float(rng.choice([12.5, 25.0, 50.0, 100.0])),
                float(rng.integers(2, 60)),
                float(rng.choice([1024.0, 4096.0])),
            )
        )
    return [Case(dict(zip(LINE, row, strict=True))) for row in rows]


def _wrong_goodput(change: Callable[[float, float], float]) -> Callable[..., dict[str, float]]:
    """Go-back-N by another rule: change(loss, behind) is its share."""

    def model(loss: float, line_GBps: float, round_trip_us: float, packet_B: float) -> dict[str, float]:
        behind = line_GBps * 1e3 * round_trip_us / packet_B
        right = goodput(loss, line_GBps, round_trip_us, packet_B)
        return right | {"go_back_n": line_GBps * change(loss, behind)}

    return model


q4 = Question(
    id="11.q4",
    title=_("Goodput of go-back-N against loss"),
    points=2,
    answer="goodput",
    kind="function",
    expects=Entries(Number("GB/s", tolerance=0.005, near_zero=1e-9), each=False),
    inputs=_goodput_cases,
    reference=goodput,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "other plugs",
            _wrong_goodput(lambda p, w: 1 - p),
            _(
                "You let both cards lose what was lost and no more, as if RoCE were InfiniBand with other plugs. A card that "
                "goes back N also repeats all that left behind the lost packet."
            ),
        ),
        Misconception(
            "loss costs nothing",
            lambda loss, line_GBps, round_trip_us, packet_B: {"go_back_n": line_GBps, "selective_repeat": line_GBps},
            _("You let a lossy line carry its full rate. What is sent twice counts once."),
        ),
        Misconception(
            "a window without a loss",
            _wrong_goodput(lambda p, w: (1 - p) ** (1 + w)),
            _("You give the chance that a whole window arrives. What arrived before the lost packet counts."),
        ),
        Misconception(
            "the lost packet not counted",
            _wrong_goodput(lambda p, w: 1 / (1 + p * w)),
            _("You count what left behind a lost packet, and not the packet itself. It was sent for nothing, too."),
        ),
        Misconception(
            "half a window",
            _wrong_goodput(lambda p, w: (1 - p) / (1 + p * w / 2)),
            _(
                "You let half of a round trip be lost. The sender learns of it after the whole, and all that left since is dropped."
            ),
        ),
        Misconception(
            "two windows",
            _wrong_goodput(lambda p, w: (1 - p) / (1 + 2 * p * w)),
            _("You count the round trip twice. From the lost packet until the sender knows of it there is one."),
        ),
        Misconception(
            "selective repeat for nothing",
            lambda loss, line_GBps, round_trip_us, packet_B: (
                goodput(loss, line_GBps, round_trip_us, packet_B) | {"selective_repeat": line_GBps}
            ),
            _(
                "Your selective repeat keeps the full rate. The lost packet was sent for nothing, and its repeat takes time."
            ),
        ),
        Misconception(
            "repeats that arrive",
            lambda loss, line_GBps, round_trip_us, packet_B: (
                goodput(loss, line_GBps, round_trip_us, packet_B) | {"selective_repeat": line_GBps / (1 + loss)}
            ),
            _("You let every repeat arrive. It is lost as often as the first try."),
        ),
        Misconception(
            "the two exchanged",
            lambda loss, line_GBps, round_trip_us, packet_B: dict(
                zip(
                    ("selective_repeat", "go_back_n"),
                    goodput(loss, line_GBps, round_trip_us, packet_B).values(),
                    strict=True,
                )
            ),
            _("You have exchanged the two. Go-back-N is the one that repeats a whole window."),
        ),
        Misconception(
            "a straight line",
            _wrong_goodput(lambda p, w: max(0.0, 1 - p * (1 + w))),
            _(
                "You subtract a window for each lost packet from the line rate, which falls below zero. Count what is sent "
                "for each packet that counts."
            ),
        ),
    ),
)
