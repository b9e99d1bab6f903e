"""Question 02.q4: twelve messages sorted by regime."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.question import Misconception, Question
from course_lib.links.alphabeta import regime

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
    columns = (np.array([m[name] for m in messages.values()]) for name in ("size_KB", "latency_us", "bandwidth_GBps"))
    words = regime(*(column * unit for column, unit in zip(columns, (KB, US, GB), strict=True)))
    return {i: str(word) for i, word in zip(messages, words, strict=True)}


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
                "You call mixed what is far from the half-size of its link. 10 KB is large for one link and small for another: "
                "compare each with its own α · β, ten times and a tenth of it."
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
