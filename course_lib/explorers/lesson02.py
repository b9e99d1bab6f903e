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
from course_lib.figures.fits import Fitted, dragged_line, say_miss
from course_lib.figures.latency import split_message
from course_lib.links import alphabeta
from course_lib.links.calibrate import Fit, fit
from course_lib.links.linerate import parameters
from course_lib.timing.sweeps import sweeps

# Twenty-four steps a decade: fine enough that no line is missed, coarse enough for arrow keys.
_E24 = (1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1)  # fmt: skip
GOOD = 1.25  # a line within this factor of the smallest misses is called as good as a line gets
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
    for name, series, role, title in (
        ("host-write", "gdrcopy-write", "pcie", _("CPU writes to GPU, PCIe 3")),
        ("host-read", "gdrcopy-read", "pcie", _("CPU reads from GPU, PCIe 3")),
        ("peer-rdma", "rdma-gpu-edr-latency", "network", _("GPU to GPU, RDMA on EDR")),
    ):
        s = measured.series(series)
        found[name] = Points(title, s.machine, role, s.message_B, s.time_s, f"{s.source}: {s.source.address}")
    sweep = {s.name: s for s in sweeps()}[NVLINK_SWEEP]
    title = _("GPU to GPU, NCCL on NVLink 4")
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


# Where the name of each series stands in the picture of all of them: at which point, on which side, how much higher.
_LABELS = {
    "host-write": (8, False, 8),
    "host-read": (-9, True, -30),
    "peer-rdma": (14, True, -24),
    "peer-nvlink": (3, False, 20),
}


def lines() -> list[Fitted]:
    """Return the four series with the rates of their best lines, as `rates_with_lines` takes them.

    >>> [round(line.half_B) for line in lines()][0]
    884
    """
    found = []
    for name, s in points().items():
        one, (label_at, label_right, label_up) = best(name), _LABELS[name]
        rates = s.message_B / s.time_s, alphabeta.rate_Bps(s.message_B, one.latency_s, one.bandwidth_Bps)
        dash = "dot" if name == "host-read" else "solid"
        found.append(
            Fitted(s.title, s.role, s.message_B, *rates, one.half_size_B, dash, label_at, label_right, label_up)
        )
    return found


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


def _typical(line_s: np.ndarray, measured_s: np.ndarray) -> float:
    """Return the root mean square of the misses as parts of the measured times: what the best line makes smallest."""
    return float(np.sqrt(np.mean((line_s / measured_s - 1) ** 2)))


def _percent(part: float) -> str:
    return _("{percent} %").format(percent=say_number(100 * part, 2))


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
    s, found = r["points"], r["best"]
    mine = _typical(r["model_s"], s.time_s)
    best_s = alphabeta.time_s(s.message_B, found.latency_s, found.bandwidth_Bps)
    least = _typical(best_s, s.time_s)
    text = _(
        "Your line has the half-size {half} and misses by {mine} (root mean square); no line misses by less than {least}."
    )
    text = text.format(half=say_bytes(r["half_B"]), mine=_percent(mine), least=_percent(least))
    if mine > GOOD * least:
        return text
    worst = float((s.time_s / best_s)[np.argmax(np.abs(np.log(s.time_s / best_s)))])
    done = _("Yours is as good as a line gets here: at the best line's worst point the measurement is {worst}.")
    return text + " " + done.format(worst=say_miss(worst))


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
        bandwidth_Bps=Slider(_("bandwidth β, one direction"), _steps(0.1e9, 1e12), 1e9, say_rate),
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
