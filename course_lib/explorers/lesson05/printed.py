"""Lesson 05: choices and times as a library's log and as the table of nccl-tests print them."""

from collections.abc import Sequence

import numpy as np

from course_lib.comm.meaning import bus_factor
from course_lib.timing.tuning import predict

# NCCL's own spelling of what it chose, from 2.24 on; before, numbers stood in their place.
_ALGORITHM = {"ring": "RING", "tree": "TREE", "in-network": "NVLS", "in-network tree": "NVLS_TREE"}


def tuning_log(message_B: Sequence[float], system: str = "dgx-h200", n_ranks: int = 8) -> str:
    """Return the predictor's choices as the library's log prints its own (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING).

    >>> print(tuning_log([2**20]))
    host-1:1702 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128
    """
    p = predict("all_reduce", np.asarray(message_B, dtype=float), system, n_ranks)
    return "\n".join(
        f"host-1:1702 [0] NCCL INFO AllReduce: {int(m)} Bytes -> Algo {_ALGORITHM.get(str(a), str(a))} proto {str(q).upper()}"
        for m, a, q in zip(p.message_B, p.algorithm, p.protocol)
    )


def tests_table(message_B: Sequence[float], time_s: Sequence[float], n_ranks: int) -> str:
    """Return times as the rows that nccl-tests prints for an all-reduce: size, time in µs, algorithm and bus bandwidth in GB/s.

    >>> print(tests_table([8 * 2**20], [90e-6], 8))
          size (B)   time (us)  algbw (GB/s)  busbw (GB/s)
           8388608       90.00         93.21        163.11
    """
    head = f"{'size (B)':>14}{'time (us)':>12}{'algbw (GB/s)':>14}{'busbw (GB/s)':>14}"
    factor = bus_factor("all_reduce", n_ranks)
    rows = [
        f"{int(m):>14}{t * 1e6:>12.2f}{m / t / 1e9:>14.2f}{m / t / 1e9 * factor:>14.2f}"
        for m, t in zip(message_B, time_s)
    ]
    return "\n".join([head, *rows])
