"""Exercise 02, how fast is this link: fit a line, find a hidden link, send many or one, sort messages by regime."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Choice, Entries, Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.links.alphabeta import many_s, regime, time_s
from course_lib.links.calibrate import fit, mystery_link

# q1 ------------------------------------------------------------------------------------------------------------------


def fit_line(message_KB: Sequence[float], time_us: Sequence[float], weight: Sequence[float]) -> tuple[float, float]:
    """Return (latency in µs, bandwidth in GB/s) of the line with the least weighted sum of squared misses."""
    found = fit(np.array(message_KB) * KB, np.array(time_us) * US, weights=weight)
    return found.latency_s / US, found.bandwidth_Bps / GB


def _slope_kept(message_KB, time_us, weight):
    latency_us, bandwidth_GBps = fit_line(message_KB, time_us, weight)
    return latency_us, 1 / bandwidth_GBps


def _ends_only(message_KB, time_us, weight):
    slope = (time_us[-1] - time_us[0]) / (message_KB[-1] - message_KB[0])
    return time_us[0] - slope * message_KB[0], 1 / slope


def _fit_case(rng: np.random.Generator, n: int, noise: float) -> dict[str, list[float]]:
    """Return points about a line, sizes near the half-size so that both numbers show; with noise one point is spoiled.

    The spoiled point has the weight 0. Drawn again until the best line starts well above zero.
    """
    while True:
        latency_us, bandwidth_GBps = float(np.exp(rng.uniform(0.5, 3))), float(np.exp(rng.uniform(1.6, 6)))
        message_KB = np.sort(latency_us * bandwidth_GBps * np.exp(rng.uniform(np.log(0.05), np.log(4), n)))
        time_us = (
            time_s(message_KB * KB, latency_us * US, bandwidth_GBps * GB) / US * (1 + noise * rng.uniform(-1, 1, n))
        )
        weight = rng.integers(1, 10, n).astype(float)
        if noise:
            spoiled = int(rng.integers(1, n))
            time_us[spoiled] *= 3
            weight[spoiled] = 0
        case = {
            "message_KB": [round(float(v), 3) for v in message_KB],
            "time_us": [round(float(v), 4) for v in time_us],
            "weight": weight.tolist(),
        }
        if 0.5 * latency_us < fit_line(**case)[0] < 2 * latency_us:
            return case


def _fit_cases(rng: np.random.Generator) -> list[Case]:
    line, weights = "points on a line", "weights"
    exact = [
        {"message_KB": [0.0, 100.0], "time_us": [2.0, 4.0], "weight": [1.0, 1.0]},
        {"message_KB": [1, 2, 4, 8], "time_us": [6.0, 7.0, 9.0, 13.0], "weight": [1, 1, 1, 1]},
        {"message_KB": [1.0, 1e6], "time_us": [5.01, 10005.0], "weight": [1.0, 1.0]},
    ]
    spoiled = {"message_KB": [0, 10, 20, 40], "time_us": [3.0, 4.0, 9.0, 7.0], "weight": [1.0, 2.0, 0.0, 4.0]}
    uneven = {"message_KB": [1.0, 10.0, 100.0], "time_us": [10.1, 11.5, 30.0], "weight": [1.0, 4.0, 2.0]}
    return [
        *(Case(case, line) for case in exact),
        *(Case(_fit_case(rng, n, 0.0), line) for n in (3, 9)),
        Case(uneven, weights),
        Case(spoiled, weights),
        *(Case(_fit_case(rng, n, 0.12), weights) for n in (5, 6, 7, 8, 9, 10, 12, 16)),
    ]


q1 = Question(
    id="02.q1",
    title=_("Fit α and β with weights"),
    points=4,
    answer="fit_line",
    kind="function",
    expects=Listing((Number("µs"), Number("GB/s"))),
    inputs=_fit_cases,
    reference=fit_line,
    withholds=("course_lib.links.calibrate",),
    misconceptions=(
        Misconception(
            "slope for bandwidth",
            _slope_kept,
            _("Your second number is the slope, in µs per KB. A bandwidth is bytes per time: one over the slope."),
        ),
        Misconception(
            "weights ignored",
            lambda message_KB, time_us, weight: fit_line(message_KB, time_us, [1.0] * len(time_us)),
            _(
                "Every point counts the same in your line: the weights are not used, and a spoiled point pulls it along."
            ),
        ),
        Misconception(
            "weights squared",
            lambda message_KB, time_us, weight: fit_line(message_KB, time_us, [w * w for w in weight]),
            _(
                "Your weights act twice: you multiply the misses by them before squaring, as np.polyfit(w=…) does. Here they "
                "multiply the squared misses; np.polyfit needs their square root."
            ),
        ),
        Misconception(
            "first and last point",
            _ends_only,
            _("Your line goes through the first and the last point, and the points between them do not count."),
        ),
    ),
)

# q2 ------------------------------------------------------------------------------------------------------------------


def _mystery(rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the points of this learner's mystery link, such that equal weights find another latency than they should."""
    while True:
        link = mystery_link(int(rng.integers(1_000_000)))
        points = {
            "message_B": [int(b) for b in link.message_B],
            "time_us": [float(f"{t / US:.5g}") for t in link.time_s],
        }
        ratio = _found(**points, weights="equal")["latency_us"] / _found(**points)["latency_us"]
        if ratio < 0.4 or 0.6 < ratio < 0.8 or ratio > 2.5:
            return points


def _found(message_B: list[int], time_us: list[float], weights: str = "relative") -> dict[str, float]:
    found = fit(message_B, np.array(time_us) * US, weights)
    return {
        "latency_us": found.latency_s / US,
        "bandwidth_GBps": found.bandwidth_Bps / GB,
        "half_KB": found.half_size_B / KB,
    }


def _equal_weights(message_B: list[int], time_us: list[float]) -> dict[str, float]:
    found = _found(message_B, time_us, "equal")
    return {"latency_us": found["latency_us"], "half_KB": found["half_KB"]}


q2 = Question(
    id="02.q2",
    title=_("The mystery link"),
    points=3,
    answer="mystery",
    expects=Entries(
        {
            "latency_us": Number("µs", tolerance=0.06),
            "bandwidth_GBps": Number("GB/s", tolerance=0.06),
            "half_KB": Number("KB", tolerance=0.1),
        }
    ),
    parameters=_mystery,
    reference=_found,
    misconceptions=(
        Misconception(
            "equal weights",
            _equal_weights,
            _(
                "That is the latency of a fit in which every microsecond counts the same. The noise of the largest messages is "
                "many times the latency: count every point by its relative error."
            ),
        ),
        Misconception(
            "average of the rates",
            lambda message_B, time_us: {"bandwidth_GBps": float(np.mean(np.array(message_B) / np.array(time_us))) / KB},
            _(
                "You averaged the rates of all sizes. The small messages wait for latency; the bandwidth is what the large ones "
                "come close to."
            ),
        ),
        Misconception(
            "time at the half-size",
            lambda message_B, time_us: {"latency_us": 2 * _found(message_B, time_us)["latency_us"]},
            _("That is the time of a message of the half-size. Half of it is latency, the other half is bytes."),
        ),
        Misconception(
            "half of the half-size",
            lambda message_B, time_us: {"half_KB": _found(message_B, time_us)["half_KB"] / 2},
            _("You halved α · β. The product itself is the size at which latency and bytes take the same time."),
        ),
    ),
)

# q3 ------------------------------------------------------------------------------------------------------------------


def _pair(small_us: float, large_us: float) -> tuple[float, float, str]:
    return float(small_us), float(large_us), "small" if small_us <= large_us else "large"


def two_ways(
    count: int, message_KB: float, latency_us: float, bandwidth_GBps: float, pack_GBps: float
) -> tuple[float, float, str]:
    """Return the time in µs of `count` small messages, that of packing them and sending one large one, and which is faster."""
    small_s = many_s(message_KB * KB, count, latency_us * US, bandwidth_GBps * GB)
    large_s = count * message_KB * KB / (pack_GBps * GB) + time_s(
        count * message_KB * KB, latency_us * US, bandwidth_GBps * GB
    )
    return _pair(small_s / US, large_s / US)


def _as_times(*wrong):
    """Return a recogniser of the two times of `wrong` models; where they are equal, either word follows from them."""

    def recognise(given, **case):
        for model in wrong:
            small_us, large_us, faster = model(**case)
            near = abs(small_us - large_us) <= 1e-9 * large_us
            words = ("small", "large") if near else (faster,)
            if any(q3.expects.same(given, (small_us, large_us, word)) for word in words):
                return True
        return False

    return recognise


def _bytes_only(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    return two_ways(count, message_KB, 0, bandwidth_GBps, pack_GBps)


def _bytes_only_unpacked(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us = two_ways(count, message_KB, 0, bandwidth_GBps, pack_GBps)[0]
    return _pair(small_us, small_us)


def _one_latency(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us - (count - 1) * latency_us, large_us)


def _packing_free(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us - count * message_KB / pack_GBps)


def _every_latency(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us + (count - 1) * latency_us)


def _sending_cases(rng: np.random.Generator) -> list[Case]:
    names = ("count", "message_KB", "latency_us", "bandwidth_GBps", "pack_GBps")
    rows: list[tuple[Any, ...]] = [
        (1, 1.0, 2.0, 400.0, 1000.0),
        (1000, 1.0, 2.0, 400.0, 1000.0),
        (2, 10000.0, 2.0, 50.0, 100.0),
        (1000, 0.0, 2.0, 400.0, 1000.0),
        (100, 64.0, 0.0, 50.0, 500.0),
        (1000000, 0.004, 1.5, 12.5, 200.0),
    ]
    while len(rows) < 16:
        count, message_KB = int(2 ** rng.integers(1, 15)), round(float(np.exp(rng.uniform(-4, 9))), 3)
        link = round(float(rng.uniform(0.5, 20)), 2), round(float(rng.uniform(10, 800)), 1)
        row = (count, message_KB, *link, round(float(rng.uniform(100, 2000)), 0))
        small_us, large_us, _faster = two_ways(*row)
        if abs(small_us / large_us - 1) > 0.05:
            rows.append(row)
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q3 = Question(
    id="02.q3",
    title=_("A thousand small messages or one large one"),
    points=3,
    answer="two_ways",
    kind="function",
    expects=Listing((Number("µs"), Number("µs"), Choice(("small", "large")))),
    inputs=_sending_cases,
    reference=two_ways,
    withholds=("course_lib.links.alphabeta",),
    misconceptions=(
        Misconception(
            "bandwidth only",
            _bytes_only,
            _(
                "You count bytes over bandwidth and no latency. Then a thousand messages cost no more than one, and none do."
            ),
            recognise=_as_times(_bytes_only, _bytes_only_unpacked),
        ),
        Misconception(
            "latency once",
            _one_latency,
            _("You count the latency of the small messages once. They go one after the other: each one waits."),
            recognise=_as_times(_one_latency),
        ),
        Misconception(
            "packing is free",
            _packing_free,
            _("You send the large message without packing it first. Copying all its bytes together takes time, too."),
            recognise=_as_times(_packing_free),
        ),
        Misconception(
            "latency of every small message in the large one",
            _every_latency,
            _("Your large message pays one latency for each small one in it. It is one message: it waits once."),
            recognise=_as_times(_every_latency),
        ),
    ),
)

# q4 ------------------------------------------------------------------------------------------------------------------

REGIMES = ("latency", "mixed", "bandwidth")
# Per link: what it is, latency in µs, bandwidth in GB/s, and four messages with their size as a multiple of the half-size.
_ON_PCIE = (("a flag", 0.02), ("a parameter block", 0.5), ("an index list", 3.0), ("a batch of tokens", 50.0))
_ON_NVLINK = (
    ("a routing table", 0.003),
    ("a token's activations", 0.03),
    ("a batch's activations", 1.5),
    ("a gradient bucket", 60.0),
)
_ON_ETHERNET = (
    ("a heartbeat", 0.03),
    ("a key-value block", 0.4),
    ("a layer's weights", 30.0),
    ("a checkpoint shard", 400.0),
)
_LINKS = (
    ("CPU to GPU, PCIe", 0.5, 12.0, _ON_PCIE),
    ("GPU to GPU, NVLink", 2.0, 400.0, _ON_NVLINK),
    ("host to host, Ethernet", 20.0, 25.0, _ON_ETHERNET),
)


def _messages(rng: np.random.Generator) -> dict[str, dict[int, dict[str, Any]]]:
    rows = []
    for link, typical_us, typical_GBps, messages in _LINKS:
        latency_us = round(typical_us * float(rng.uniform(0.8, 1.25)), 2)
        bandwidth_GBps = round(typical_GBps * float(rng.uniform(0.8, 1.25)), 1)
        for what, ratio in messages:
            size_KB = float(f"{latency_us * bandwidth_GBps * ratio * float(rng.uniform(0.7, 1.4)):.2g}")
            rows.append(
                {
                    "what": what,
                    "size_KB": size_KB,
                    "link": link,
                    "latency_us": latency_us,
                    "bandwidth_GBps": bandwidth_GBps,
                }
            )
    return {"messages": {i + 1: rows[int(j)] for i, j in enumerate(rng.permutation(len(rows)))}}


def _regimes(messages: dict[int, dict[str, Any]]) -> dict[int, str]:
    return {i: regime(m["size_KB"] * KB, m["latency_us"] * US, m["bandwidth_GBps"] * GB) for i, m in messages.items()}


def _by_size_alone(messages: dict[int, dict[str, Any]]) -> dict[int, str]:
    """Return what one pair of bounds for all links says, 1 KB and 1 MB, where the truth is latency or bandwidth."""
    right = _regimes(messages)
    guess = {i: REGIMES[(m["size_KB"] >= 1) + (m["size_KB"] > 1000)] for i, m in messages.items()}
    return {i: word for i, word in guess.items() if right[i] != "mixed" and word == "mixed"}


def _two_only(messages: dict[int, dict[str, Any]]) -> dict[int, str]:
    right = _regimes(messages)
    half_KB = {i: m["latency_us"] * m["bandwidth_GBps"] for i, m in messages.items()}
    return {
        i: "latency" if messages[i]["size_KB"] < half_KB[i] else "bandwidth" for i in messages if right[i] == "mixed"
    }


def _upside_down(messages: dict[int, dict[str, Any]]) -> dict[int, str]:
    other = {"latency": "bandwidth", "bandwidth": "latency"}
    return {i: other[word] for i, word in _regimes(messages).items() if word in other}


q4 = Question(
    id="02.q4",
    title=_("Twelve messages by regime"),
    points=2,
    answer="regimes",
    expects=Entries(Choice(REGIMES)),
    parameters=_messages,
    reference=_regimes,
    misconceptions=(
        Misconception(
            "by size alone",
            _by_size_alone,
            _(
                "You sort by size alone. 10 KB is large for one link and small for another: compare with α · β of its link."
            ),
        ),
        Misconception(
            "two regimes only",
            _two_only,
            _(
                "You part the messages at the half-size. Within a factor of ten on either side of it neither part of the time can "
                "be neglected: that is the mixed regime."
            ),
        ),
        Misconception(
            "upside down",
            _upside_down,
            _("Small messages wait for latency and large ones for bandwidth; yours are the other way round."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4)
