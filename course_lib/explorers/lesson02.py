"""Lesson 02: drag α and β through measured points, and cut one message into many; the measured series that go by size."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib.base import measured
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import MB, say_bytes, say_number, say_rate, say_time
from course_lib.explorers.controls import Choice, CountSlider, SizeSlider, Slider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.figures.fits import dragged_line, say_miss
from course_lib.figures.latency import split_message
from course_lib.links import alphabeta
from course_lib.links.calibrate import Fit, fit
from course_lib.links.linerate import parameters
from course_lib.timing.sweeps import sweeps

# Twenty-four steps a decade: fine enough that no line is missed, coarse enough for arrow keys.
_E24 = (1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1)  # fmt: skip
COUNTS = tuple(10**k for k in range(7))
NVLINK_SWEEP = "m352"
LINKS = {"nvlink4": "NVLink 4", "pcie5": "PCIe 5 x16", "ib-edr": "InfiniBand EDR", "ib-ndr": "InfiniBand NDR"}
_FAMILY = {"nvlink": "nvlink", "pcie": "pcie", "ib": "network"}


@dataclass(frozen=True, slots=True)
class Points:
    """Measured times by size: what was measured, on which machine, the colour role, bytes (n,), seconds (n,) and the source."""

    title: str
    machine: str
    role: str
    message_B: np.ndarray
    time_s: np.ndarray
    source: str


@cache
def points() -> dict[str, Points]:
    """Return the measured series of the lesson by name: two copies between host and GPU, two between GPUs.

    >>> [name for name in points()]
    ['host-write', 'host-read', 'peer-rdma', 'peer-nvlink']
    """
    found = {}
    for name, series, role in (
        ("host-write", "gdrcopy-write", "pcie"),
        ("host-read", "gdrcopy-read", "pcie"),
        ("peer-rdma", "rdma-gpu-edr-latency", "network"),
    ):
        s = measured.series(series)
        found[name] = Points(s.title, s.machine, role, s.message_B, s.time_s, f"{s.source}: {s.source.address}")
    sweep = {s.name: s for s in sweeps()}[NVLINK_SWEEP]
    title = _("GPU to GPU over NVLink 4, NCCL send and receive")
    found["peer-nvlink"] = Points(
        title, sweep.measured_on, "nvlink", sweep.message_B, sweep.time_s, f"NCCL {sweep.library}: {sweep.source}"
    )
    return found


def series(name: str) -> Points:
    """Return one of the lesson's series; raises CourseError with the nearest names.

    >>> series("peer-rdma").role
    'network'
    """
    return points()[one_of(_("series"), name, points())]


@cache
def best(name: str) -> Fit:
    """Return the best line through a series, every point counted by its relative error.

    >>> round(best("peer-rdma").latency_s * 1e6, 2)
    1.86
    """
    s = series(name)
    return fit(s.message_B, s.time_s)


def through_points(name: str, latency_s: float, bandwidth_Bps: float) -> dict:
    """Return a line with this latency and bandwidth beside the points of a series, and beside the best line."""
    s, found = series(name), best(name)
    grid_B = np.logspace(np.log10(s.message_B.min() / 1.5), np.log10(s.message_B.max() * 1.5), 121)
    half_B = alphabeta.half_size_B(latency_s, bandwidth_Bps)
    model_s = alphabeta.time_s(s.message_B, latency_s, bandwidth_Bps)
    ratio = s.time_s / model_s
    inside = s.message_B.min() <= half_B <= s.message_B.max()
    return {
        "points": s,
        "best": found,
        "latency_s": latency_s,
        "bandwidth_Bps": bandwidth_Bps,
        "model_s": model_s,
        "grid_B": grid_B,
        "line_s": alphabeta.time_s(grid_B, latency_s, bandwidth_Bps),
        "best_s": alphabeta.time_s(grid_B, found.latency_s, found.bandwidth_Bps),
        "half": (half_B, alphabeta.time_s(half_B, latency_s, bandwidth_Bps)) if inside else None,
        "half_B": half_B,
        "ratio": ratio,
        "worst": int(np.argmax(np.abs(np.log(ratio)))),
    }


def _middle(ratio: np.ndarray) -> str:
    """Return within which factor of the line half of the points lie, in percent where that reads well."""
    factor = float(np.exp(np.median(np.abs(np.log(ratio)))))
    if factor >= 2:
        return _("a factor of {factor}").format(factor=say_number(factor, 2))
    return _("{percent} %").format(percent=say_number(100 * (factor - 1), 2))


def _draw(r: dict):
    s = r["points"]
    return dragged_line(
        s.message_B, s.time_s, r["model_s"], r["grid_B"], r["line_s"], r["best_s"],
        half=r["half"], role=s.role, name=s.title,
    )  # fmt: skip


def _equation(r: dict) -> tuple[str, str]:
    size_B = float(r["points"].message_B[r["worst"]])
    numbers = _("t({size}) = {latency} + {size} / {rate} = {time}; measured {measured}").format(
        size=say_bytes(size_B),
        latency=say_time(r["latency_s"]),
        rate=say_rate(r["bandwidth_Bps"]),
        time=say_time(float(r["model_s"][r["worst"]])),
        measured=say_time(float(r["points"].time_s[r["worst"]])),
    )
    return "t(m) = α + m/β", numbers


def _sentence(r: dict) -> str:
    mine, found = r["ratio"], 1 + r["best"].residual
    worst = float(found[np.argmax(np.abs(np.log(found)))])
    mine_text = _("Half of the points are within {mine} of your line, whose half-size is {half}.")
    best_text = _("The best line has half of them within {best}; at its worst point the measurement is {worst}.")
    text = mine_text.format(mine=_middle(mine), half=say_bytes(r["half_B"]))
    text += " " + best_text.format(best=_middle(found), worst=say_miss(worst))
    if np.max(np.abs(np.log(mine))) <= np.max(np.abs(np.log(found))) * 1.1:
        text += " " + _("Yours is as good as a straight line gets here.")
    return text


def _steps(low: float, high: float) -> tuple[float, ...]:
    steps = (float(f"{m}e{k}") for k in range(-9, 13) for m in _E24)
    return tuple(v for v in steps if low <= v <= high)


def drag_the_line() -> Explorer:
    """Return the explorer of lesson 02: a line through measured points, its residuals below."""
    return Explorer(
        through_points,
        _draw,
        question=_("Which latency and which bandwidth does this link have?"),
        guess=Guess(
            "02.worst",
            _("How far does the best line miss its worst point of the RDMA copy?"),
            unit="%",
            truth=lambda: 100 * best("peer-rdma").worst,
        ),
        equation=_equation,
        sentence=_sentence,
        name=Choice(_("measured"), tuple((s.title, key) for key, s in points().items()), "peer-rdma"),
        latency_s=Slider(_("latency α"), _steps(20e-9, 1e-3), 10e-6, say_time),
        bandwidth_Bps=Slider(_("bandwidth β, one direction"), _steps(0.1e9, 1e12), 2e9, say_rate),
    )


def split(total_B: float, count: int, link: str) -> dict:
    """Return the time to move `total_B` over a link in one to a million equal messages, and its two parts."""
    latency_s, bandwidth_Bps = (float(v[0]) for v in parameters([link]))
    counts = np.unique(np.logspace(0, 6, 121).round())
    return {
        "link": link,
        "counts": counts,
        "total_B": total_B,
        "count": count,
        "latency_s": latency_s,
        "bandwidth_Bps": bandwidth_Bps,
        "waiting_s": alphabeta.many_s(0, counts, latency_s, bandwidth_Bps),
        "wire_s": np.full(counts.shape, alphabeta.time_s(total_B, 0, bandwidth_Bps)),
        "total_s": alphabeta.many_s(total_B / counts, counts, latency_s, bandwidth_Bps),
        "many_s": alphabeta.many_s(total_B / count, count, latency_s, bandwidth_Bps),
        "one_s": alphabeta.time_s(total_B, latency_s, bandwidth_Bps),
        "half_B": alphabeta.half_size_B(latency_s, bandwidth_Bps),
    }


def _draw_split(r: dict):
    return split_message(
        r["counts"], r["total_s"], r["waiting_s"], r["wire_s"],
        at_count=r["count"], total_B=r["total_B"], role=_FAMILY[r["link"].rstrip("0123456789").split("-")[0]], name=LINKS[r["link"]],
    )  # fmt: skip


def _equation_split(r: dict) -> tuple[str, str]:
    numbers = _("t = {n} · {latency} + {total} / {rate} = {time}").format(
        n=say_number(r["count"]),
        latency=say_time(r["latency_s"]),
        total=say_bytes(r["total_B"]),
        rate=say_rate(r["bandwidth_Bps"]),
        time=say_time(r["many_s"]),
    )
    return "t = n · α + M/β", numbers


def _sentence_split(r: dict) -> str:
    each_B = r["total_B"] / r["count"]
    names = {"latency": _("latency"), "mixed": _("mixed"), "bandwidth": _("bandwidth")}
    kind = names[alphabeta.regime(each_B, r["latency_s"], r["bandwidth_Bps"])]
    return _(
        "Each message has {each} and is in the {kind} regime: the half-size is {half}. One message would take {one}, these take {many}."
    ).format(
        each=say_bytes(each_B),
        kind=kind,
        half=say_bytes(r["half_B"]),
        one=say_time(r["one_s"]),
        many=say_time(r["many_s"]),
    )


def many_or_one() -> Explorer:
    """Return the second explorer of lesson 02: the same bytes in one message or in many."""
    return Explorer(
        split,
        _draw_split,
        question=_("From which count on do the latencies cost more than the bytes?"),
        equation=_equation_split,
        sentence=_sentence_split,
        total_B=SizeSlider(_("all bytes together"), 1e3, 1e9, MB, base=10),
        count=CountSlider(_("messages"), 1, 1_000_000, 1000, counts=COUNTS),
        link=Choice(_("link"), tuple((title, name) for name, title in LINKS.items())),
    )
