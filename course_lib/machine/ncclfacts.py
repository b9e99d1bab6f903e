"""Facts: what debug and error lines of a log say, reduced to codes and counts; their text is never kept."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a log states: a code of FACTS, the first line that says so, how many do, and a number or word where one belongs."""

    code: str
    line: int
    count: int = 1
    value: str = ""


_P = r"NCCL_(P2P_LEVEL|P2P_DISABLE|SHM_DISABLE|IB_DISABLE|NVLS_ENABLE|NET_GDR_LEVEL|ALGO|PROTO|COLLNET_ENABLE)"
# code, pattern; a group is kept only where it is a number or one of a few words.
_FACTS = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        ("via shared memory", r"\bvia SHM\b"),
        ("via peer access", r"\bvia P2P\b"),
        ("via sockets", r"\bvia NET/Socket\b|Using network Socket\b|NET/Socket : Using"),
        ("via InfiniBand", r"\bvia NET/IB\b|NET/IB : Using"),
        ("with GPUDirect RDMA", r"\bvia NET/[^ ]*/GDRDMA|GPU Direct RDMA Enabled"),
        (
            "no GPUDirect RDMA",
            r"GPU Direct RDMA Disabled|GDR(?:DMA)? (?:is )?(?:not supported|disabled)|nv_peer_mem (?:not|is not)",
        ),
        (
            "in-network tree in use",
            r"NVLS (?:comm|multicast)|\d+ nvls channels(?<!\b0 nvls channels)|Connected NVLS tree",
        ),
        (
            "multicast failed",
            r"nvls\.cc:\d+\s+NCCL WARN|transport/nvls.*(?:fail|error|invalid)|NVLS.*(?:invalid argument|CUDA failure|failed)"
            r"|Cuda failure \d+ 'invalid argument'.*nvls|multicast.*(?:failed|invalid argument)",
        ),
        (
            "fabric not ready",
            r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY|\berror 802\b|Cuda failure 802"
            r"|system has unsupported display driver / cuda driver combination|Fabric ?Manager.*(?:not running|failed|inactive|version)",
        ),
        (
            "driver mismatch",
            r"driver version is insufficient|Driver/library version mismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        ),
        ("no GPU", r"No devices were found|no CUDA-capable device|NVIDIA-SMI has failed"),
        ("out of memory", r"out of memory|CUDA_ERROR_OUT_OF_MEMORY"),
        (
            "timeout",
            r"NCCL WARN.*(?:timeout|timed out)|ibv_poll_cq.*|Got completion .*error|IBV_WC_RETRY_EXC_ERR|Watchdog caught",
        ),
        (
            "call failed",
            r"Test (?:NCCL|CUDA) failure|unhandled (?:system|cuda) error|NCCL WARN (?:Cuda|Call)|remote process exited",
        ),
        (
            "network missing",
            r"No plugin found \(libnccl-net|Failed to find .*libnccl-net|No (?:IB|interface) (?:device|found)",
        ),
        ("same GPU twice", r"Duplicate GPU detected"),
        (
            "permission tool misused",
            r"-i must be used with|Option .*-p2p.*requires|Invalid combination of input arguments",
        ),
        ("access control", r"ACS (?:is )?enabled|ACSCtl:.*SrcValid\+|PCI Access Control"),
        ("virtual machine", r"IOMMU.*(?:enabled|translated)|Virtual Machine"),
        ("RoCE", r"\bRoCE\b|/RoCE"),
        ("finalize", r"Test timeout|Aborted \(core dumped\)|MPI_ABORT|Killed|Segmentation fault"),
    )
)
_ENV = re.compile(
    rf"{_P}\s*(?:set by environment to|=|set to|environment variable)\s*:?\s*(LOC|NVL|PIX|PXB|PHB|SYS|Ring|Tree|NVLS\w*|Simple|LL128|LL|\d{{1,2}})\b",
    re.IGNORECASE,
)
_ALGO = re.compile(r"(\d+) Bytes -> Algo (\d+|[A-Z_]+) proto (\d+|[A-Z0-9]+)", re.IGNORECASE)
_ALGOS = ("tree", "ring", "CollNet direct", "CollNet chain", "NVLS", "NVLS tree", "PAT")
_RANKS = re.compile(r"\brank (\d{1,6}) nranks (\d{1,6})\b")
_NNODES = re.compile(r"\bnNodes (\d{1,6})\b")
_GATE = re.compile(
    r"NCCL|RCCL|failure|error|SHM|Direct RDMA|fabric|Fabric|driver|devices|memory|Duplicate|-i must|must be used|ACS|IOMMU|Virtual"
    r"|RoCE|timeout|Abort|ABORT|Killed|Segmentation|initialized|NVIDIA-SMI|Invalid comb|multicast|nvls|CUDA_ERROR"
)


class FactReader:
    """Counts facts line by line; `done` returns them in the order of their first lines."""

    def __init__(self):
        self.found: dict[tuple[str, str], list[int]] = {}
        self.ranks: dict[int, set[int]] = {}

    def note(self, code: str, line: int, value: str = "") -> None:
        """Count one fact."""
        entry = self.found.get((code, value))
        if entry is not None:
            entry[1] += 1
        elif len(self.found) < 200:
            self.found[code, value] = [line, 1]

    def feed(self, text: str, number: int) -> bool:
        """Take one line; say whether it is a line of a log rather than of a table."""
        if not _GATE.search(text):
            return False
        for code, pattern in _FACTS:
            if pattern.search(text):
                self.note(code, number)
        env = _ENV.search(text)
        if env:
            self.note("set: NCCL_" + env.group(1).upper(), number, env.group(2).upper())
        algo = _ALGO.search(text)
        if algo and (word := algo.group(2)).isdigit() and int(word) < len(_ALGOS):
            self.note("algorithm", number, _ALGOS[int(word)])
        ranks = _RANKS.search(text)
        if ranks and int(ranks.group(2)) > 0 and len(self.ranks) < 64:
            self.ranks.setdefault(int(ranks.group(2)), set()).add(int(ranks.group(1)))
        nodes = _NNODES.search(text)
        if nodes:
            self.note("nodes", number, nodes.group(1))
        return "NCCL" in text or "RCCL" in text

    def done(self) -> tuple[Fact, ...]:
        """Return what was found."""
        made = [Fact(code, line, count, value) for (code, value), (line, count) in self.found.items()]
        made += [Fact("communicator size", 0, len(seen), str(n)) for n, seen in self.ranks.items()]
        return tuple(made)
