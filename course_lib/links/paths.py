"""Direct copies, copies staged in host memory, and flows that share a PCIe tree."""

import numpy as np

from course_lib.base.errors import finite, together
from course_lib.links import alphabeta
from course_lib.links.pcietree import Shares, Tree, flow_rates, loads, lost_pairs, pair_paths, route, tree

__all__ = [
    "Shares", "Tree", "best_chunk_B", "direct_s", "flow_rates", "loads", "lost_pairs", "pair_paths", "route", "staged_s", "tree",
]  # fmt: skip

SMALLEST_CHUNK_B = 4096.0  # chunks below a page are not tried


def direct_s(message_B, latency_s, bandwidth_Bps):
    """Return the time of a direct copy in seconds; the α–β line of `alphabeta.time_s`.

    >>> round(direct_s(64e6, 2e-6, 396e9) * 1e6, 1)
    163.6
    """
    return alphabeta.time_s(message_B, latency_s, bandwidth_Bps)


def staged_s(message_B, latency_in_s, bandwidth_in_Bps, latency_out_s, bandwidth_out_Bps, chunk_B=None):
    """Return the time of a copy through a bounce buffer in host memory, in seconds.

    The message goes in chunks: while one leaves the buffer, the next enters it (two buffers, two directions of a full-duplex
    link). A stage takes latency + chunk / bandwidth. `chunk_B=None` takes the best chunk (`best_chunk_B`); a chunk of the
    whole message is store and forward, with no overlap. The last chunk may be smaller. All arguments broadcast; zero bytes
    cost both latencies. Real drivers lie between store and forward and the best chunk.

    >>> pcie = (10e-6, 50e9)
    >>> round(staged_s(1e9, *pcie, *pcie, chunk_B=1e9) * 1e3, 2), round(staged_s(1e9, *pcie, *pcie) * 1e3, 2)
    (40.02, 20.9)
    """
    message_B = finite("message_B", message_B, at_least=0, unit="bytes")
    stages = {"latency_in_s": latency_in_s, "bandwidth_in_Bps": bandwidth_in_Bps}
    stages |= {"latency_out_s": latency_out_s, "bandwidth_out_Bps": bandwidth_out_Bps}
    together(message_B=message_B, chunk_B=0.0 if chunk_B is None else chunk_B, **stages)
    if chunk_B is None:
        chunk_B = best_chunk_B(message_B, latency_in_s, bandwidth_in_Bps, latency_out_s, bandwidth_out_Bps)
    chunk_B = finite("chunk_B", chunk_B, above=0, unit="bytes")
    chunk = np.minimum(chunk_B, np.maximum(message_B, 1.0))
    # A count such as 3.0000000001 is rounding of the division, not a fourth chunk.
    count = np.maximum(np.ceil(np.divide(message_B, chunk) * (1 - 1e-12)), 1.0)
    last = np.maximum(message_B - (count - 1) * chunk, 0.0)
    full_in = alphabeta.time_s(chunk, latency_in_s, bandwidth_in_Bps)
    full_out = alphabeta.time_s(chunk, latency_out_s, bandwidth_out_Bps)
    last_in = alphabeta.time_s(last, latency_in_s, bandwidth_in_Bps)
    last_out = alphabeta.time_s(last, latency_out_s, bandwidth_out_Bps)
    in_done = (count - 1) * full_in + last_in
    out_free = np.where(count > 1, full_in + full_out + (count - 2) * np.maximum(full_in, full_out), 0.0)
    total = np.maximum(in_done, out_free) + last_out
    return float(total) if np.ndim(total) == 0 else total


def best_chunk_B(message_B, latency_in_s, bandwidth_in_Bps, latency_out_s, bandwidth_out_Bps):
    """Return the equal chunk that makes a staged copy fastest, in bytes: at least 4 KiB, at most the message.

    With one bottleneck stage b and the other stage o, the time is α_o + c/β_o + (m/c)(α_b + c/β_b): least at
    c = √(m·α_b·β_o). The stage that is the bottleneck can change with the chunk, so both and the change are tried.

    >>> round(best_chunk_B(1e9, 10e-6, 50e9, 10e-6, 50e9) / 1e6, 1)
    22.2
    """
    message_B = finite("message_B", message_B, at_least=0, unit="bytes")
    stage_in = (finite("latency_in_s", latency_in_s, at_least=0), finite("bandwidth_in_Bps", bandwidth_in_Bps, above=0))
    stage_out = (
        finite("latency_out_s", latency_out_s, at_least=0),
        finite("bandwidth_out_Bps", bandwidth_out_Bps, above=0),
    )
    together(
        message_B=message_B, latency_in_s=stage_in[0], bandwidth_in_Bps=stage_in[1],
        latency_out_s=stage_out[0], bandwidth_out_Bps=stage_out[1],
    )  # fmt: skip
    m, a1, b1, a2, b2 = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (message_B, *stage_in, *stage_out)))
    size = np.maximum(m, 1.0)
    change = np.divide(a2 - a1, 1 / b1 - 1 / b2, out=np.full(m.shape, SMALLEST_CHUNK_B), where=b1 != b2)
    most = np.maximum(np.floor(size / SMALLEST_CHUNK_B), 1.0)
    best_time, best_count = np.full(m.shape, np.inf), np.ones(m.shape)
    for chunk in (np.sqrt(size * a1 * b2), np.sqrt(size * a2 * b1), np.maximum(change, SMALLEST_CHUNK_B)):
        for round_to_whole in (np.floor, np.ceil):
            count = np.clip(round_to_whole(size / np.maximum(chunk, 1.0)), 1.0, most)
            first, second = a1 + size / count / b1, a2 + size / count / b2
            time = first + second + (count - 1) * np.maximum(first, second)
            better = time < best_time
            best_time, best_count = np.where(better, time, best_time), np.where(better, count, best_count)
    result = size / best_count
    return float(result) if result.ndim == 0 else result
