"""An all-reduce that leaves its box: published times, what their digits allow, and which models they exclude."""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from course_lib.base import tables
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.timing.closedform import bandwidth_bound_s, hierarchical_ring_s
from course_lib.timing.sweeps import sweeps
from course_lib.timing.system import load

DATA = Path(__file__).parent / "data"
PER_BOX = 8
MODELS = ("one card", "ring over all cards", "levels one after the other", "levels at the same time")


@dataclass(frozen=True, slots=True)
class Run:
    """A published sweep: `printed` (s,) bus bandwidths in GB/s as texts, with the digits that were printed; bytes and seconds (s,)."""

    name: str
    boxes: int
    n_ranks: int
    message_B: NDArray[np.float64]
    printed: tuple[str, ...]
    busbw_Bps: NDArray[np.float64]
    time_s: NDArray[np.float64]
    settings: str
    title: str
    address: str

    def at(self, message_B: float) -> int:
        """The place of a size in the arrays; CourseError where it was not measured."""
        found = np.flatnonzero(self.message_B == message_B)
        if not len(found):
            raise CourseError(_("{name} has no size of {size:.0f} bytes.").format(name=self.name, size=message_B))
        return int(found[0])


@functools.cache
def runs() -> dict[str, Run]:
    """Return the published sweeps by name: `one-box`, `four-boxes` and, measured again later, `four-boxes-again`.

    They are shown and judged only; no constant of the predictor saw them.

    >>> four = runs()["four-boxes"]
    >>> four.n_ranks, round(float(four.time_s[four.at(2**32)]) * 1e3, 2)
    (32, 22.05)
    """
    rows: dict[str, list[dict[str, str]]] = {}
    for row in tables.rows(DATA / "boxes_b200.csv"):
        rows.setdefault(row["run"], []).append(row)
    found = {}
    for about in tables.rows(DATA / "boxes_b200_runs.csv"):
        mine = rows[about["run"]]
        boxes = int(mine[0]["boxes"])
        size = np.array([float(r["message_KiB"]) * 1024 for r in mine])
        printed = tuple(r["printed_GBps"] for r in mine)
        rate = np.array([float(text) for text in printed]) * 1e9
        n = boxes * PER_BOX
        time_s = bus_factor("all_reduce", n) * size / rate
        where = (about["settings"], about["title"], about["address"])
        found[about["run"]] = Run(about["run"], boxes, n, size, printed, rate, time_s, *where)
    return found


def two_boxes(message_B: float = 2.0**32) -> tuple[float, str]:
    """Return the time of an all-reduce over two boxes of eight B200 in another cloud (GCP A4, RoCE), and its source.

    >>> round(two_boxes()[0] * 1e3, 2)
    11.95
    """
    for sweep in sweeps():
        if (sweep.measured_on, sweep.op, sweep.n_ranks) == ("GCP A4 (8x B200)", "all_reduce", 16):
            where = np.flatnonzero(sweep.message_B == message_B)
            if len(where):
                return float(sweep.time_s[where[0]]), sweep.source
    raise CourseError(_("No all-reduce of {size:.0f} bytes over two boxes is known.").format(size=message_B))


def interval(printed: str) -> tuple[float, float]:
    """Return the lowest and highest value that is printed as this text: half a unit of the last digit to either side.

    Raises:
        CourseError: a text that is no plain decimal number of at least 0.

    >>> interval("0.01"), interval("1.20")
    ((0.005, 0.015), (1.195, 1.205))
    """
    text = str(printed).strip()
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise CourseError(_("{text!r} is not a printed number such as 0.01 or 377.34.").format(text=text))
    digits = len(text.partition(".")[2])
    half = 0.5 * 10.0**-digits
    return max(0.0, round(float(text) - half, digits + 1)), round(float(text) + half, digits + 1)


def time_interval_s(printed_GBps: str, message_B: float, n_ranks: int) -> tuple[float, float]:
    """Return the shortest and longest time of an all-reduce whose bus bandwidth is printed so; inf where it may be 0.

    >>> [round(t * 1e3, 1) for t in time_interval_s("0.01", 32768, 32)]
    [4.2, 12.7]
    """
    low, high = interval(printed_GBps)
    n = whole("n_ranks", n_ranks, at_least=2)
    moved_B = bus_factor("all_reduce", n) * finite("message_B", message_B, above=0, unit="B")
    return moved_B / (high * 1e9), moved_B / (low * 1e9) if low else math.inf


def ratio_interval(printed: str, other: str) -> tuple[float, float]:
    """Return between which factors two printed numbers, `printed` over `other`, may differ.

    >>> [round(r) for r in ratio_interval("1.20", "0.01")]
    [80, 241]
    """
    (a_low, a_high), (b_low, b_high) = interval(printed), interval(other)
    return a_low / b_high, a_high / b_low if b_low else math.inf


def _rates_Bps(up_Bps: float | None, card_Bps: float | None) -> tuple[float, float]:
    boxes = load("dgx-b200")
    up = boxes.scale_up.bandwidth_Bps if up_Bps is None else finite("up_Bps", up_Bps, above=0)
    return up, boxes.scale_out.bandwidth_Bps if card_Bps is None else finite("card_Bps", card_Bps, above=0)


def least_times_s(
    boxes: int, message_B: float, *, per_box: int = PER_BOX, up_Bps: float | None = None, card_Bps: float | None = None
) -> dict[str, float]:
    """Return the least seconds that four models of an all-reduce allow, all at line rate and without latency.

    - one card: a ring over all GPUs that leaves each box by a single card;
    - ring over all cards: as many rings as a box has cards, each with its part of the message;
    - levels one after the other: reduce-scatter in the box, all-reduce of a shard on every rail, all-gather, each waiting for the last;
    - levels at the same time: the same, pieces overlapping so well that only the cards count.

    Args:
        boxes: at least 2.
        message_B: bytes on each GPU.
        per_box: GPUs of a box, each with its card.
        up_Bps: one GPU's NVLink, one direction; None: that of the measured boxes.
        card_Bps: one card, one direction; None: the same.

    >>> {name: round(t * 1e3, 1) for name, t in least_times_s(4, 2**32).items()}
    {'one card': 166.4, 'ring over all cards': 20.8, 'levels one after the other': 24.5, 'levels at the same time': 16.1}
    """
    k, g = whole("boxes", boxes, at_least=2), whole("per_box", per_box, at_least=1)
    up, card = _rates_Bps(up_Bps, card_Bps)
    one = bandwidth_bound_s("all_reduce", message_B, k * g, card)
    serial = hierarchical_ring_s(message_B, k, g, (0.0, up), (0.0, card))
    overlapped = bandwidth_bound_s("all_reduce", finite("message_B", message_B, at_least=0) / g, k, card)
    return dict(zip(MODELS, (float(v) for v in (one, one / g, serial, overlapped)), strict=True))


def serial_with_sums_s(
    boxes: int, message_B: float, *, per_box: int = PER_BOX, up_Bps: float | None = None, card_Bps: float | None = None
) -> float:
    """Return the least seconds of levels one after the other where NVSwitch adds: inside, a GPU carries S(1 + 1/g) and not 2(g − 1)/g · S.

    >>> round(serial_with_sums_s(4, 2**32) * 1e3, 1)
    21.5
    """
    between = least_times_s(boxes, message_B, per_box=per_box, up_Bps=up_Bps, card_Bps=card_Bps)[MODELS[3]]
    return between + float(message_B) * (1 + 1 / per_box) / _rates_Bps(up_Bps, card_Bps)[0]


def excluded(least_s: Mapping[str, float], measured_s: float) -> list[str]:
    """Return the models that a measurement excludes: even at line rate they need longer than was measured.

    >>> excluded(least_times_s(4, 2**32), 22.05e-3)
    ['one card', 'levels one after the other']
    """
    seen = finite("measured_s", measured_s, above=0, unit="s")
    return [one_of(_("model"), name, MODELS) for name, least in least_s.items() if least > seen]


def card_rate_Bps(busbw_Bps, boxes: int, per_box: int = PER_BOX):
    """Return what each card carried at a bus bandwidth, if the collective has two levels: busbw · (boxes − 1)/(ranks − 1).

    >>> four = runs()["four-boxes"]
    >>> round(float(card_rate_Bps(four.busbw_Bps[four.at(2**32)], 4)) / 1e9, 1)
    36.5
    """
    k, g = whole("boxes", boxes, at_least=2), whole("per_box", per_box, at_least=1)
    return finite("busbw_Bps", busbw_Bps, at_least=0) * (k - 1) / (k * g - 1)
