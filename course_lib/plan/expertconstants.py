"""The constants of expert exchanges: what kernels lose on the wires, fitted to published runs by `plan.expertfit`."""

import functools
from dataclasses import dataclass
from pathlib import Path

from course_lib.base import tables
from course_lib.base.errors import one_of
from course_lib.base.language import _

PHASES = ("dispatch", "combine")
WAYS = ("library", "low-latency", "throughput", "throughput-v1")
PATH = Path(__file__).parent / "data" / "expert_constants.csv"


@dataclass(frozen=True, slots=True)
class Constants:
    """Of one way and phase: seconds to launch (inside, across), shares of the links' rates, rate of one processor (bytes/s)."""

    launch_s: float
    net_launch_s: float
    up_eff: float
    net_eff: float
    per_sm_Bps: float


@functools.cache
def _table() -> dict[tuple[str, str], Constants]:
    return {
        (r["way"], r["phase"]): Constants(
            float(r["launch_us"]) * 1e-6,
            float(r["net_launch_us"]) * 1e-6,
            float(r["up_eff"]),
            float(r["net_eff"]),
            float(r["per_sm_GBps"]) * 1e9,
        )
        for r in tables.rows(PATH)
    }


@functools.lru_cache(maxsize=64)
def constants(way: str, phase: str) -> Constants:
    """Return the fitted constants of a way ("low-latency", "throughput", "throughput-v1") and a phase.

    >>> 10e-6 < constants("low-latency", "dispatch").launch_s < 30e-6
    True
    """
    way = one_of(_("way to exchange"), way, [w for w in WAYS if w != "library"])
    return _table()[way, one_of(_("phase"), phase, PHASES)]
