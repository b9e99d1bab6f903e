"""Other files: what else people paste, told by its words, and what to paste instead."""

import re
from functools import cache

from course_lib.base.language import _


def anything() -> str:
    """What the command can read, for people who pasted something else."""
    return _(
        "Paste the whole output of one of: `nvidia-smi topo -m`, `nvidia-smi nvlink -s`, a run of nccl-tests "
        "(`all_reduce_perf -b 8 -e 8G -f 2 -g 8`), `nvbandwidth`, `p2pBandwidthLatencyTest`."
    )


@cache
def others() -> tuple[tuple[re.Pattern, str, str], ...]:
    """Return what else people have at hand: (pattern, what it is, what to paste instead)."""
    amd = _("For AMD GPUs run rccl-tests and paste its table; the matrix reader knows `nvidia-smi topo -m` only.")
    links = _("Run `nvidia-smi nvlink -s`, which prints the state and rate of every link.")
    found = (
        (
            r"ROCm System Management|(?:Link Type|Weight|Hops) between two GPUs|\bXGMI\b",
            _("the topology of AMD's rocm-smi"),
            amd,
        ),
        (
            r"\b(?:ACCESS|WEIGHT|LINK TYPE|HOPS) TABLE:|\bamd-smi\b",
            _("a table of AMD's amd-smi"),
            amd,
        ),
        (
            r"\bNPU\d+\b.*\b(?:HCCS|HCCS_SW|PIX|SYS)\b|\bHCCS\b",
            _("a topology of another vendor's accelerators"),
            anything(),
        ),
        (
            r"\bGPU \d+/\d+\b|\bXL\d{1,2}\b|xpu-smi",
            _("a topology of Intel's xpu-smi"),
            anything(),
        ),
        (
            r"-i must be used with|-p2p|Invalid combination of input arguments",
            _("an error message of nvidia-smi about its options"),
            _("Run `nvidia-smi topo -m` without further options and paste its matrix."),
        ),
        (
            r"NVIDIA-SMI has failed|Failed to (?:initialize NVML|get topology)|No devices were found",
            _("an error message of nvidia-smi"),
            _("nvidia-smi did not reach a GPU: run it on the host, with the driver loaded, and paste its matrix."),
        ),
        (
            r"\[CUDA Bandwidth Test\]|bandwidthTest\b|Transfer Size \(Bytes\)",
            _("a run of CUDA's bandwidthTest"),
            _("Paste a run of nvbandwidth, which took its place, or of p2pBandwidthLatencyTest."),
        ),
        (
            r"NVSMI LOG|GPU Link Info",
            _("a listing of `nvidia-smi -q`"),
            _("Run `nvidia-smi topo -m` and `nvidia-smi nvlink -s` and paste what they print."),
        ),
        (
            r"Link \d+: [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:",
            _("the bus addresses behind the links (`nvidia-smi nvlink -p`)"),
            links,
        ),
        (
            r"\bNVRM: Xid\b",
            _("error lines of the NVIDIA driver (Xid) from the kernel's log"),
            _(
                "Xid 74 is an NVLink error, Xid 79 a GPU off the bus. Paste `nvidia-smi nvlink -s` and `nvidia-smi topo -m` as well."
            ),
        ),
        (
            r"GPU \d{1,3}: .{1,80}\(UUID: ",
            _("a list of GPUs without links (`nvidia-smi -L`, or GPUs that have no NVLink)"),
            _("Run `nvidia-smi topo -m` and paste its matrix."),
        ),
        (
            r"P2P is supported: (?:true|false)|Access to system memory supported",
            _("link capabilities (`nvidia-smi nvlink -c`)"),
            links,
        ),
        (
            r"Link \d+: (?:Replay|Recovery|CRC|Tx|Rx|Data)|Link \d+: Remote Device",
            _("counters or neighbours of links (`nvidia-smi nvlink -e`, `-R`)"),
            links,
        ),
        (
            r"\| NVIDIA-SMI \d|\bFan\s+Temp\s+Perf\b",
            _("the summary table of nvidia-smi"),
            _("Run `nvidia-smi topo -m` and paste its matrix; the summary says nothing about links."),
        ),
        (
            r"#bytes\s+#iterations\s+BW peak|RDMA_Write BW Test|Send BW Test",
            _("a perftest run (ib_write_bw)"),
            _("Paste a run of nccl-tests across the hosts; give the card's rate with --network."),
        ),
        (
            r"# OSU MPI|OSU Micro",
            _("an OSU micro-benchmark"),
            _("Paste a run of nccl-tests."),
        ),
        (
            r"\biperf\b|Mbits/sec|Gbits/sec",
            _("an iperf run"),
            _("Paste a run of nccl-tests across the hosts."),
        ),
        (
            r"RocmBandwidthTest|TransferBench",
            _("a bandwidth test of AMD GPUs"),
            _("Paste a run of rccl-tests."),
        ),
        (
            r"USAGE: \w+_perf|\[-b,--minbytes",
            _("the help text of nccl-tests"),
            _("Paste the table of a run."),
        ),
        (
            r"\bPermission denied\b|command not found|No such file",
            _("an error message of the shell"),
            _("The command did not run; paste its output once it does."),
        ),
    )
    return tuple((re.compile(pattern), saw, paste) for pattern, saw, paste in found)


OTHER_GATE = re.compile(
    r"Link \d+: [RCTD0-9]|\(UUID: |Failed to|No devices|Bandwidth Test|bandwidthTest|Transfer Size|NVSMI|GPU Link|Xid"
    r"|ROCm|between two|XGMI|TABLE|amd-smi|HCCS|NPU|GPU \d+/|XL\d|xpu-smi|-i must|-p2p|Invalid comb"
    r"|supported|NVIDIA-SMI|Fan |#bytes|BW Test|OSU|iperf|bits/sec|Rocm|TransferBench|USAGE|minbytes|denied|not found|No such"
)
