"""Without peer access: a copy between GPUs goes through host memory, somewhere between two ends of a model."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib.base import measured
from course_lib.base.errors import finite
from course_lib.base.hardware import value
from course_lib.base.sources import Source
from course_lib.links.linerate import payload_Bps
from course_lib.links.paths import direct_s, staged_s

LATENCY_OFF = "dgx1-v100-latency-off"  # the only published small write with peer access off whose machine is named
TOOL_MESSAGE_B = {"p2pBandwidthLatencyTest": 160e6, "nvbandwidth": 512 * 2.0**20}  # what the tools copy by default


@cache
def stage_latency_s() -> float:
    """Return the latency of one stage of a staged copy in seconds: half of a small write without peer access on a DGX-1.

    Two stages make the copy; the median over the seven other GPUs is taken. Newer machines publish none.

    >>> round(stage_latency_s() * 1e6, 1)
    8.4
    """
    return _median(measured.matrix(LATENCY_OFF)) / 2


@dataclass(frozen=True, slots=True)
class StagedEnds:
    """Rates of a copy between two GPUs over one kind of PCIe slot, arrays over message_B, bytes per second of one direction.

    `direct` is peer access under one switch; `pipelined` goes through host memory in the best chunks; `stored` waits in host
    memory until all of it is there.
    """

    link: str
    message_B: np.ndarray
    direct_Bps: np.ndarray
    pipelined_Bps: np.ndarray
    stored_Bps: np.ndarray


def staged_ends(message_B, link: str = "pcie5") -> StagedEnds:
    """Return what a copy of message_B (scalar or (n,), bytes, above 0) gets with peer access and at both ends of staging.

    The direct path has the latency of the link; a stage takes `stage_latency_s()`. The way in is a write to host memory, the way
    out a read. Measured copies without peer access reach 80 to 130 % of `stored`, never `pipelined`.

    >>> ends = staged_ends(160e6)
    >>> [round(float(rate) / 1e9, 1) for rate in (ends.direct_Bps, ends.pipelined_Bps, ends.stored_Bps)]
    [57.6, 51.1, 28.5]
    """
    message_B = finite("message_B", message_B, above=0, unit="bytes")
    write_Bps, read_Bps = float(payload_Bps(link)), float(payload_Bps(link, request="read"))
    stages = (stage_latency_s(), write_Bps, stage_latency_s(), read_Bps)
    size = np.asarray(message_B, dtype=float)
    return StagedEnds(
        link=link,
        message_B=size,
        direct_Bps=size / direct_s(size, value(link, "latency_s"), write_Bps),
        pipelined_Bps=size / staged_s(size, *stages),
        stored_Bps=size / staged_s(size, *stages, chunk_B=size),
    )


@dataclass(frozen=True, slots=True)
class Unpeered:
    """Large copies of a machine whose GPUs have no peer access; `rate_Bps` is the median over its pairs, one direction."""

    machine: str
    link: str
    rate_Bps: float
    lowest_Bps: float
    highest_Bps: float
    message_B: float
    source: Source


def without_peer_access() -> list[Unpeered]:
    """Return the published matrices of large copies without peer access, newest slot first.

    >>> [(u.machine, u.link, round(u.rate_Bps / 1e9, 1)) for u in without_peer_access()]
    [('HGX H100', 'pcie5', 37.2), ('DGX-1 V100', 'pcie3', 7.2), ('2x RTX 2080 Ti', 'pcie3', 5.7)]
    """
    found = []
    for name in ("h100-8-off", "dgx1-v100-row0-off", "rtx2080ti-2"):
        matrix = measured.matrix(name)
        pairs = _pairs(matrix)
        size = TOOL_MESSAGE_B[matrix.tool]
        rates = float(np.median(pairs)), float(pairs.min()), float(pairs.max())
        found.append(Unpeered(matrix.machine, matrix.link, *rates, size, matrix.source))
    return found


def _pairs(matrix: measured.Matrix) -> np.ndarray:
    """Return the values of a matrix without its diagonal, which is a copy inside one GPU."""
    different = np.not_equal.outer(np.array(matrix.src), np.array(matrix.dst))
    return matrix.values[different & np.isfinite(matrix.values)]


def _median(matrix: measured.Matrix) -> float:
    return float(np.median(_pairs(matrix)))
