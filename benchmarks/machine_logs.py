"""Reading speed and memory of `machine.recognise.read` by kind of log, each file read in a process of its own."""

import random
import tempfile
import time
from pathlib import Path

from common import alone, peak_MB

SIDE = 8


def nccl_table(rng):
    """A dense table: 128 B to 8 GiB, every row agreeing with itself."""
    text = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    text += "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    for power in range(7, 34):
        size, halves = 1 << power, ""
        for _half in range(2):
            taken = round((20 + size / 370e3) * rng.uniform(0.9, 1.1), 2)
            taken = taken if taken < 1000 else round(taken, 1) if taken < 10_000 else round(taken)
            rate = size / taken / 1e3
            halves += f"  {taken:>7}  {rate:6.2f}  {rate * 1.75:6.2f}      0"
        text += f"{size:>12}  {size // 4:>12}     float     sum      -1{halves}\n"
    return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 88.1234 \n#\n"


def nccl_tagged(rng):
    """The same table as mpirun prints it."""
    return "".join(f"[1,0]<stdout>:{line}\n" for line in nccl_table(rng).splitlines())


def nccl_debug(rng):
    """Lines of NCCL_DEBUG=INFO."""
    return "".join(
        f"node-{rng.randrange(64)}:{rng.randrange(99999)}:{rng.randrange(99999)} [{k % 8}] NCCL INFO Channel {k:02d}/0 : "
        f"{rng.randrange(512)}[{k % 8}] -> {rng.randrange(512)}[{k % 8}] via P2P/CUMEM\n"
        for k in range(32)
    )


def topo_matrix(rng):
    """A matrix of 8 GPUs and 8 cards with its legend, in blanks."""
    names = [f"GPU{k}" for k in range(SIDE)] + [f"NIC{k}" for k in range(SIDE)]
    text = "        " + "".join(f"{name:8}" for name in names) + "CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
    for i, name in enumerate(names):
        near = lambda j: "PIX" if i % SIDE == j % SIDE else "NODE" if i % SIDE // 4 == j % SIDE // 4 else "SYS"  # noqa: E731, B023
        cells = ["X" if i == j else "NV18" if i < SIDE and j < SIDE else near(j) for j in range(2 * SIDE)]
        text += (
            f"{name:8}"
            + "".join(f"{cell:8}" for cell in cells)
            + ("0-55,112-167    0       N/A\n" if i < SIDE else "\n")
        )
    text += "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes\n\n"
    return text + "NIC Legend:\n\n" + "".join(f"  NIC{k}: mlx5_{k}\n" for k in range(SIDE)) + "\n"


def _square(rng, corner, low, high, digits):
    text = corner + "".join(f"{k:>10}" for k in range(SIDE)) + "\n"
    for i in range(SIDE):
        text += f"{i:>6}" + "".join(f"{rng.uniform(low, high):>10.{digits}f}" for _j in range(SIDE)) + "\n"
    return text


def nvbandwidth(rng):
    """Two tests, one of them eight by eight."""
    text = "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:18:00)\n\n"
    text += "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    text += (
        "".join(f"{k:>10}" for k in range(SIDE))
        + "\n 0"
        + "".join(f"{rng.uniform(50, 56):>10.2f}" for _k in range(SIDE))
    )
    text += (
        f"\n\nSUM host_to_device_memcpy_ce {rng.uniform(400, 440):.2f}\n\nRunning device_to_device_memcpy_read_ce.\n"
    )
    text += "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" + _square(rng, "", 380, 400, 2)
    return text + f"\nSUM device_to_device_memcpy_read_ce {rng.uniform(20000, 22000):.2f}\n\n"


def p2p(rng):
    """One run of p2pBandwidthLatencyTest on eight GPUs."""
    text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    text += "".join(
        f"Device: {k}, NVIDIA H100 80GB HBM3, pciBusID: {k + 24:x}, pciDeviceID: 0, pciDomainID:0\n"
        for k in range(SIDE)
    )
    text += "".join(f"Device={a} CAN Access Peer Device={b}\n" for a in range(SIDE) for b in range(SIDE) if a != b)
    for title in ("Unidirectional P2P=Disabled Bandwidth", "Unidirectional P2P=Enabled Bandwidth (P2P Writes)"):
        text += f"{title} Matrix (GB/s)\n" + _square(rng, "   D\\D", 380, 400, 2)
    for title in ("P2P=Disabled Latency", "P2P=Enabled Latency (P2P Writes)"):
        text += f"{title} Matrix (us)\n" + _square(rng, "   GPU", 2, 20, 2) + "\n" + _square(rng, "   CPU", 2, 20, 2)
    return text + "\n"


def nvlink(rng):
    """Eight GPUs of eighteen links."""
    return "".join(
        f"GPU {g}: NVIDIA H100 80GB HBM3 (UUID: GPU-{rng.getrandbits(64):016x})\n"
        + "".join(f"\t Link {k}: 26.562 GB/s\n" for k in range(18))
        for g in range(SIDE)
    )


def prose(rng):
    """Lines of a job that no reader knows."""
    return "".join(
        f"step {rng.randrange(10**6)} loss {rng.uniform(1, 9):.4f} lr 3.00e-04 tokens/s {rng.randrange(10**6)}\n"
        for _k in range(32)
    )


def nccl_json(rng):
    """Results as nccl-tests writes them with -J."""
    half = '{"time": 50.0, "alg_bw": 20.97, "bus_bw": 36.7, "nwrong": 0}'
    row = '{"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": -1, '
    row += f'"out_of_place": {half}, "in_place": {half}}},\n'
    return row * 16


KINDS = {
    "nccl-tests table": nccl_table,
    "the same, tagged by mpirun": nccl_tagged,
    "NCCL debug lines": nccl_debug,
    "topology matrices": topo_matrix,
    "nvbandwidth": nvbandwidth,
    "p2pBandwidthLatencyTest": p2p,
    "nvlink -s": nvlink,
    "other text": prose,
    "nccl-tests JSON": nccl_json,
}


def write(kind, path, size_B):
    """Write a log of about that size: sixteen different blocks, repeated."""
    rng = random.Random(7)
    blocks = [KINDS[kind](rng) for _k in range(16)]
    with open(path, "w", encoding="utf-8") as out:
        json = kind.endswith("JSON")
        written, k = out.write('{"results": [\n' if json else ""), 0
        while written < size_B:
            written += out.write(blocks[k % 16])
            k += 1
        if json:
            out.write(blocks[0].splitlines()[0].rstrip(",\n") + "]}\n")


def reading(path: Path) -> dict:
    """Read one file; return processor seconds and the kinds found."""
    from course_lib.machine.recognise import read

    read("warm\n")
    before_MB, start = peak_MB(), time.process_time()
    found = read(path)
    taken = time.process_time() - start
    return {"cpu_s": taken, "more_MB": peak_MB() - before_MB, "found": list(found.kinds)}


def measure(megabytes: float = 10) -> dict:
    """Return processor seconds and memory of a log of so many megabytes for each kind."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = Path(folder, "log.txt")
            write(kind, path, megabytes * 1e6)
            told = alone(lambda: reading(path))["result"]  # noqa: B023
            rows.append({"kind": kind, "size_MB": path.stat().st_size / 1e6, **told})
    return {"megabytes": megabytes, "rows": rows}
