"""Question A.q1: a box whose GPUs do not reach each other."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.exa.logs import CAUSES, VERDICTS, largest
from course_lib.grading.question import Misconception, Question
from course_lib.machine.writelog import nccl_tests

_GPUS = {"NVIDIA A100-SXM4-80GB": (12, 25.0), "NVIDIA H100 80GB HBM3": (18, 25.0), "NVIDIA H800": (8, 25.0)}


def _slow_box(rng: np.random.Generator) -> dict:
    gpu = list(_GPUS)[int(rng.integers(len(_GPUS)))]
    plateau = float(rng.uniform(12.0, 26.0)) * 1e9
    sizes = 2.0 ** np.arange(13, 34)
    times = (float(rng.uniform(40, 90)) * 1e-6 + sizes * 1.75 / plateau) * np.exp(rng.normal(0, 0.01, sizes.size))
    way = "node-1:{pid}:4{i}88 [{i}] NCCL INFO Channel 00 : {i}[{i}] -> {j}[{j}] via SHM/direct/direct"
    debug = [way.format(pid=4100 + 7 * i, i=i, j=(i + 1) % 8) for i in range(8)]
    links, link_GBps = _GPUS[gpu]
    log = nccl_tests("all_reduce", sizes, times, 8, gpu, debug=debug)
    return {"log": log, "links": links, "link_GBps": link_GBps}


def _box(log: str, links: int, link_GBps: float) -> dict:
    busbw = largest(log, 7)
    return {
        "busbw_GBps": busbw, "link_GBps": links * link_GBps, "share": busbw / (links * link_GBps),
        "verdict": "finding", "cause": "peer access is off",
    }  # fmt: skip


def _average(log: str, links: int, link_GBps: float) -> dict:
    average = float(next(line for line in log.splitlines() if "Avg bus bandwidth" in line).split(":")[1])
    return _box(log, links, link_GBps) | {"busbw_GBps": average, "share": average / (links * link_GBps)}


def _both_directions(log: str, links: int, link_GBps: float) -> dict:
    right = _box(log, links, link_GBps)
    return right | {"link_GBps": 2 * right["link_GBps"], "share": right["share"] / 2}


q1 = Question(
    id="A.q1",
    title=_("A slow box: plateau, link, share, verdict and cause"),
    points=3,
    answer="slow_box",
    expects=Entries(
        {
            "busbw_GBps": Number("GB/s", tolerance=0.03),
            "link_GBps": Number("GB/s"),
            "share": Number(tolerance=0.03),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_slow_box,
    reference=_box,
    misconceptions=(
        Misconception(
            "the footer's average",
            _average,
            _(
                "You took the average of the footer. It is over all sizes, most of them small; the result is at the large end."
            ),
        ),
        Misconception(
            "both directions of the link",
            _both_directions,
            _("You compare with both directions of the links together. A bus bandwidth is one direction."),
        ),
        Misconception(
            "a link is down",
            lambda **given: _box(**given) | {"cause": "a link is down"},
            _(
                "You think that a link is down. One of many links down costs its share, not nine tenths. Read the debug lines: "
                "by what way do the channels go?"
            ),
        ),
        Misconception(
            "algorithm bandwidth",
            lambda log, links, link_GBps: (
                _box(log, links, link_GBps)
                | {"busbw_GBps": largest(log, 6), "share": largest(log, 6) / (links * link_GBps)}
            ),
            _("That is the column algbw. Compare a link with busbw, the column beside it."),
        ),
        Misconception(
            "one link for the GPU",
            lambda log, links, link_GBps: (
                _box(log, links, link_GBps) | {"link_GBps": link_GBps, "share": largest(log, 7) / link_GBps}
            ),
            _("You take one link for the GPU. All of its links carry the sum."),
        ),
        Misconception(
            "a detour",
            lambda **given: _box(**given) | {"cause": "peer copies are redirected"},
            _("You see direct copies on a detour. The channels go via SHM, host memory: there are no direct copies."),
        ),
        Misconception(
            "healthy",
            lambda **given: _box(**given) | {"verdict": "healthy"},
            _("You call a box healthy that reaches a small part of one direction of its links. Look at the share."),
        ),
    ),
)
