"""Write logs in the shape that tools print them, for exercises, examples and tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor, canonical_op


def nccl_tests(
    op: str,
    message_B: ArrayLike,
    time_s: ArrayLike,
    n_ranks: int,
    gpu: str,
    *,
    per_host: int | None = None,
    debug: Sequence[str] = (),
    prefix: str = "",
    alone: bool = False,
) -> str:
    """Return a log of nccl-tests.

    Args:
        op: the collective.
        message_B: (s,) sizes.
        time_s: (s,) times; the in-place times stand beside them, one percent shorter.
        n_ranks: ranks.
        gpu: the name that the log prints.
        per_host: GPUs of one host, all of them unless given.
        debug: lines of NCCL_DEBUG=INFO before the table.
        prefix: what a launcher puts before every line.
        alone: as if every process had run by itself: each prints rank 0 and a bus bandwidth of zero.

    >>> print(nccl_tests("all_reduce", [2**20], [50e-6], 8, "NVIDIA H100 80GB HBM3").splitlines()[-4].split()[5:8])
    ['50.00', '20.97', '36.70']
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=1)
    sizes, times = (
        np.atleast_1d(finite("message_B", message_B, above=0)),
        np.atleast_1d(finite("time_s", time_s, above=0)),
    )
    if sizes.shape != times.shape:
        raise CourseError(_("message_B and time_s have to be lists of the same length."))
    hold = n if per_host is None else whole("per_host", per_host, at_least=1)
    factor = 0.0 if alone else float(bus_factor(op, n))
    program = op.replace("all_to_all", "alltoall").replace("send_recv", "sendrecv")
    lines = [
        "# nccl-tests version 2.18.2 nccl-headers=22907 nccl-library=22907",
        f"# Collective test starting: {program}_perf",
        f"# nThread 1 nGpus 1 minBytes {int(sizes[0])} maxBytes {int(sizes[-1])} step: 2(factor) warmup iters: 5 "
        "iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    for rank in range(n):
        shown = 0 if alone else rank
        lines.append(
            f"#  Rank {shown:>2} Group  0 Pid {4100 + 7 * rank:>6} on node-{rank // hold + 1:<3} device {rank % hold:>2} "
            f"[0x{16 + 11 * (rank % hold):02x}] {gpu}"
        )
    lines += [
        "#",
        *debug,
        f"#{'out-of-place':>74}{'in-place':>34}",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    redop, seen = ("sum" if op in ("all_reduce", "reduce_scatter", "reduce") else "none"), []
    count = sizes / 4 if op in ("all_reduce", "broadcast", "reduce") else sizes / 4 / n
    for size, number, seconds in zip(sizes, count, times):
        for _again in range(n if alone else 1):
            cells = []
            for took in (seconds, seconds * 0.99):
                algbw = size / took / 1e9
                seen.append(algbw * factor)
                us = took * 1e6
                shown = f"{us:.2f}" if us < 100 else f"{us:.1f}" if us < 10_000 else f"{us:.0f}"
                cells.append(f"{shown:>9} {algbw:>7.2f} {algbw * factor:>7.2f} {0:>6}")
            lines.append(f"{int(size):>12} {int(number):>13} {'float':>9} {redop:>7} {-1:>7}" + "".join(cells))
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {float(np.mean(seen)):.4f}", "#"]
    return "\n".join(prefix + line for line in lines) + "\n"


def peer_test(gpu: str, off: ArrayLike, on: ArrayLike, *, peer: bool = True) -> str:
    """Return a log of p2pBandwidthLatencyTest: the matrices without and with peer access, GB/s, (n, n); one direction.

    >>> "CAN Access Peer" in peer_test("NVIDIA L40S", [[700, 20], [20, 700]], [[700, 2], [2, 700]])
    True
    """
    off, on = (finite(name, np.asarray(m, float), at_least=0) for name, m in (("off", off), ("on", on)))
    n = len(off)
    if off.shape != (n, n) or on.shape != (n, n):
        raise CourseError(_("Two square matrices of one size are expected."))
    lines = ["[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]"]
    lines += [f"Device: {i}, {gpu}, pciBusID: {16 + 17 * i:x}, pciDeviceID: 0, pciDomainID:0" for i in range(n)]
    word = "CAN" if peer else "CANNOT"
    lines += [f"Device={a} {word} Access Peer Device={b}" for a in range(n) for b in range(n) if a != b]
    lines += ["", "P2P Connectivity Matrix", "     D\\D" + "".join(f"{i:>6}" for i in range(n))]
    lines += [f"     {a}\t" + "".join(f"{int(a == b or peer):>6}" for b in range(n)) for a in range(n)]
    titles = (
        ("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", off),
        ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", on),
    )
    for title, matrix in titles:
        lines += [title, "   D\\D" + "".join(f"{i:>7}" for i in range(n))]
        lines += [f"{a:>6}" + "".join(f"{value:>7.2f}" for value in row) for a, row in enumerate(matrix)]
    return "\n".join(lines) + "\n"


def topo_matrix(links: Sequence[Sequence[str]], *, ansi: bool = False) -> str:
    """Return the output of `nvidia-smi topo -m` for a matrix of words (X, NV18, PIX, SYS …), with CPU and NUMA columns.

    >>> topo_matrix([["X", "NV4"], ["NV4", "X"]]).splitlines()[1].split()
    ['GPU0', 'X', 'NV4', '0-31', '0', 'N/A']
    """
    n = len(links)
    names = [f"GPU{i}" for i in range(n)] + ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    head = "\t".join(f"\x1b[4m{name}\x1b[0m" if ansi else name for name in names)
    lines = ["\t" + head]
    for i, row in enumerate(links):
        half = int(i >= max(1, n // 2)) if n > 2 else 0
        lines.append(
            "\t".join([f"GPU{i}", *(f" {word} " for word in row), f"{32 * half}-{32 * half + 31}", str(half), "N/A"])
        )
    lines += [
        "", "Legend:", "", "  X    = Self",
        "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
        "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node",
        "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)",
        "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)",
        "  PIX  = Connection traversing at most a single PCIe bridge",
        "  NV#  = Connection traversing a bonded set of # NVLinks",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def copy_matrix(values: ArrayLike, version: str = "0.8") -> str:
    """Return a log of nvbandwidth with one matrix of copies between devices, GB/s, (n, n), NaN where there is none.

    >>> copy_matrix([[np.nan, 270.5], [271.0, np.nan]]).splitlines()[-4].split()
    ['0', 'N/A', '270.50']
    """
    matrix = np.asarray(values, float)
    n = len(matrix)
    if matrix.shape != (n, n):
        raise CourseError(_("A square matrix is expected."))
    seen = matrix[np.isfinite(matrix)]
    lines = [
        f"nvbandwidth Version: v{version}", "Built from Git version: ", "", "CUDA Runtime Version: 12080",
        "CUDA Driver Version: 12080", "Driver Version: 570.86", "", "Running device_to_device_memcpy_read_ce.",
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        "  " + "".join(f"{i:>10}" for i in range(n)),
    ]  # fmt: skip
    for i, row in enumerate(matrix):
        lines.append(f"{i:>2}" + "".join(f"{'N/A':>10}" if np.isnan(v) else f"{v:>10.2f}" for v in row))
    lines += ["", f"SUM device_to_device_memcpy_read_ce {float(seen.sum()):.2f}"]
    return "\n".join(lines) + "\n"
