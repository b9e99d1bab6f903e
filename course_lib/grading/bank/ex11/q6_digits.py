"""Question 11.q6: what a rounded figure allows."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Listing, Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def _bounds(text: str, unit: float = 0.5) -> tuple[float, float]:
    half = unit * 10.0 ** -len(text.partition(".")[2])
    return max(1e-6, float(text) - half), float(text) + half  # a whole unit below 0.01 is nothing


def _readings(
    one_box: str, boxes: str, message_B: float, n_ranks: int, *, unit: float = 0.5, factor: bool = True
) -> dict[str, list]:
    (a, b), (c, d) = _bounds(one_box, unit), _bounds(boxes, unit)
    moved_B = (2 * (n_ranks - 1) / n_ranks if factor else 1.0) * message_B
    return {
        "time_us": [moved_B / d / 1e3, moved_B / c / 1e3],
        "slowdown": [a / d, b / c],
    }


def readings(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    """Return the range of the time (µs) and of the slowdown that two printed bus bandwidths allow.

    >>> found = readings("1.20", "0.01", 32768, 32)
    >>> [round(v) for v in found["time_us"]], [round(v) for v in found["slowdown"]]
    ([4233, 12698], [80, 241])
    """
    return _readings(one_box, boxes, message_B, n_ranks)


def _readings_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ("1.20", "0.01", 32768.0, 32),
        ("2.17", "0.04", 65536.0, 32),
        ("740.64", "377.34", 2.0**32, 32),
        ("1.2", "0.02", 32768.0, 32),
        ("12", "3", 2.0**20, 16),
    ]
    for _i in range(6):
        digits = int(rng.integers(0, 3))
        low = max(10.0**-digits, float(rng.uniform(0.01, 5)))
        texts = f"{low * float(rng.uniform(2, 40)):.2f}", f"{low:.{digits}f}"
        rows.append((*texts, float(2 ** int(rng.integers(15, 24))), int(rng.choice([16, 32, 64]))))
    names = ("one_box", "boxes", "message_B", "n_ranks")
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _exact(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    return _readings(one_box, boxes, message_B, n_ranks, unit=0.0)


def _ends_paired(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    (a, b), (c, d) = _bounds(one_box), _bounds(boxes)
    pairs = sorted([a / c, b / d])
    return readings(one_box, boxes, message_B, n_ranks) | {"slowdown": pairs}


def _ends_in_order(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    (a, b), (c, d) = _bounds(one_box), _bounds(boxes)
    return readings(one_box, boxes, message_B, n_ranks) | {"slowdown": [a / c, b / d]}


def _cut_off(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    (a, b), (c, d) = ((float(text), float(text) + 10.0 ** -len(text.partition(".")[2])) for text in (one_box, boxes))
    moved_B = 2 * (n_ranks - 1) / n_ranks * message_B
    return {"time_us": [moved_B / d / 1e3, moved_B / c / 1e3], "slowdown": [a / d, b / c]}


def _one_exact(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    c, d = _bounds(boxes)
    return readings(one_box, boxes, message_B, n_ranks) | {"slowdown": [float(one_box) / d, float(one_box) / c]}


_RANGE = Listing((Number("µs", tolerance=0.005), Number("µs", tolerance=0.005)))
_FACTORS = Listing((Number(tolerance=0.005), Number(tolerance=0.005)))

q6 = Question(
    id="11.q6",
    title=_("What one printed digit allows"),
    points=1,
    answer="readings",
    kind="function",
    expects=Entries({"time_us": _RANGE, "slowdown": _FACTORS}, each=False),
    inputs=_readings_cases,
    reference=readings,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the print is exact",
            _exact,
            _("You take the printed numbers for exact. 0.01 stands for anything that rounds to it."),
        ),
        Misconception(
            "a whole unit to either side",
            lambda one_box, boxes, message_B, n_ranks: _readings(one_box, boxes, message_B, n_ranks, unit=1.0),
            _("You allow a whole unit of the last digit to either side. Rounding moves a number by half of one."),
        ),
        Misconception(
            "cut off, not rounded",
            _cut_off,
            _("You let digits be cut off. A print is rounded: half a unit below is as possible as half a unit above."),
        ),
        Misconception(
            "one print exact",
            _one_exact,
            _("You take the print of one box for exact. It is rounded like the other."),
        ),
        Misconception(
            "bus bandwidth taken for bytes over time",
            lambda one_box, boxes, message_B, n_ranks: _readings(one_box, boxes, message_B, n_ranks, factor=False),
            _("You divide the message by the bus bandwidth. Bus bandwidth is message over time, times 2(n−1)/n."),
        ),
        Misconception(
            "low over low",
            _ends_paired,
            _("You divide low by low and high by high. The largest ratio is the highest over the lowest."),
        ),
        Misconception(
            "low over low, as they come",
            _ends_in_order,
            _(
                "You pair the ends as they come. The smallest ratio is the lowest over the highest, the largest the other way round."
            ),
        ),
    ),
)
