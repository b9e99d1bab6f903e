"""Between GPUs of two hosts: the card reads GPU memory (GPUDirect RDMA), or the message goes through both hosts' memories."""

from collections.abc import Sequence

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.links.linerate import payload_Bps
from course_lib.links.paths import direct_s
from course_lib.links.staging import stage_latency_s

CHUNK_B = 2.0**20


def relayed_s(message_B, stages: Sequence[tuple[float, float]], chunk_B: float = CHUNK_B):
    """Return seconds of a message that passes several stages in chunks, each stage working on another chunk; broadcasts over message_B.

    The first chunk passes all stages; the others follow it at the pace of the slowest. With two stages and chunks that divide the
    message this is `paths.staged_s`.

    Args:
        message_B: bytes.
        stages: (latency_s, bandwidth_Bps) of each, at least one.
        chunk_B: bytes of a chunk.

    >>> round(relayed_s(8e6, [(1e-6, 50e9)] * 3, 1e6) * 1e6)
    210
    """
    size = np.asarray(finite("message_B", message_B, at_least=0, unit="bytes"), float)
    chunk = np.minimum(finite("chunk_B", chunk_B, above=0, unit="bytes"), np.maximum(size, 1.0))
    if not len(stages):
        raise CourseError(_("A message has to pass at least one stage."))
    count = np.maximum(size / chunk, 1.0)
    each = [
        finite("latency_s", alpha, at_least=0) + np.minimum(chunk, size) / finite("bandwidth_Bps", beta, above=0)
        for alpha, beta in stages
    ]
    total = sum(each) + (count - 1) * np.maximum.reduce(each)
    return float(total) if np.ndim(message_B) == 0 else total


def between_hosts_s(message_B, nic: str = "ib-ndr", slot: str = "pcie5") -> tuple:
    """Return (straight, through the hosts) seconds between GPUs of two hosts; broadcasts over message_B.

    Straight, the sending card reads GPU memory and the receiving card writes it: one α and the slower of slot and wire. Through the
    hosts there are a copy down, the wire, and a copy up, pipelined; a copy's latency is that of half a staged copy on a DGX-1
    (`staging.stage_latency_s`), the only one that was published.

    >>> straight, through = between_hosts_s(8.0)
    >>> through > 5 * straight
    True
    """
    net_s, wire_Bps = hardware.value(nic, "latency_s"), float(payload_Bps(nic))
    slot_Bps, copy_s = float(payload_Bps(slot)), stage_latency_s()
    straight = direct_s(message_B, net_s, min(wire_Bps, slot_Bps))
    return straight, relayed_s(message_B, [(copy_s, slot_Bps), (net_s, wire_Bps), (copy_s, slot_Bps)])
