"""Facts: what debug and error lines of a log say, reduced to codes and counts; their text is never kept."""

import re
from dataclasses import dataclass

ENOUGH = 200  # a fact is counted that often and then no longer looked for
LONGEST = 2000  # characters of a line that are searched


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a log states: a code, the first line that says so, how often (200 at most), a number or word where one belongs."""

    code: str
    line: int
    count: int = 1
    value: str = ""


# code: (small words of which one has to be there, pattern).
_FACTS = {
    "via shared memory": (("via shm",), r"\bvia SHM\b"),
    "via peer access": (("via p2p",), r"\bvia P2P\b"),
    "via sockets": (
        ("net/socket", "network socket"),
        r"\bvia NET/Socket\b|Using network Socket\b|NET/Socket : Using",
    ),
    "via InfiniBand": (("net/ib",), r"\bvia NET/IB\b|NET/IB : Using"),
    "with GPUDirect RDMA": (("gdrdma", "direct rdma"), r"via NET/[^ ]*/GDRDMA|GPU Direct RDMA Enabled"),
    "no GPUDirect RDMA": (
        ("direct rdma", "gdr", "nv_peer_mem"),
        r"GPU Direct RDMA (?:Disabled|not)|GDR(?:DMA)? (?:is )?(?:not supported|disabled)|nv_peer_mem (?:not|is not)",
    ),
    "in-network sum in use": (
        ("nvls",),
        r"NVLS (?:comm|multicast)|\b[1-9]\d* nvls channels|Connected NVLS tree|via NVLS",
    ),
    "multicast failed": (
        ("nvls", "multicast"),
        r"nvls\.cc:\d+\s+NCCL WARN|NCCL WARN [^\n]{0,200}(?:nvls|multicast)|transport/nvls[^\n]{0,200}(?:fail|error|invalid)"
        r"|NVLS[^\n]{0,200}(?:invalid argument|CUDA failure|failed)|invalid argument'[^\n]{0,200}nvls",
    ),
    "fabric not ready": (
        ("not yet initialized", "systemnotready", "system_not_ready", "802", "fabric", "unsupported display driver"),
        r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY|\berror:? 802\b|failure:? 802\b"
        r"|unsupported display driver / cuda driver combination|Fabric ?Manager[^\n]{0,200}(?:not running|failed|inactive|mismatch)",
    ),
    "driver mismatch": (
        ("driver",),
        r"driver version is insufficient|Driver/library version mismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    ),
    "no GPU": (
        ("no devices", "no cuda", "nvidia-smi has"),
        r"No devices were found|no CUDA-capable|NVIDIA-SMI has failed",
    ),
    "out of memory": (("out of memory", "out_of_memory"), r"out of memory|CUDA_ERROR_OUT_OF_MEMORY"),
    "timeout": (
        ("timeout", "timed out", "completion", "retry_exc", "watchdog"),
        r"NCCL WARN[^\n]{0,300}(?:timeout|timed out)|Got completion [^\n]{0,200}error|WC_RETRY_EXC_ERR|Watchdog caught|Test timeout",
    ),
    "call failed": (
        ("failure", "unhandled", "ncclinternalerror", "remote process"),
        r"Test (?:NCCL|CUDA) failure|unhandled (?:system|cuda) error|Cuda failure|ncclInternalError|remote process exited",
    ),
    "network missing": (("no ib", "no interface"), r"No (?:IB|interface)(?: device)?s? (?:device|found)"),
    "same GPU twice": (("duplicate gpu",), r"Duplicate GPU detected"),
    "access control": (("acs", "access control"), r"ACS (?:is )?enabled|ACSCtl:[^\n]{0,80}SrcValid\+"),
    "RoCE": (("roce",), r"(?:\b|/)RoCE\b"),
    "ended early": (
        ("aborted", "mpi_abort", "killed", "segmentation"),
        r"Aborted \(core dumped\)|MPI_ABORT|\bKilled\b|Segmentation fault",
    ),
}
WORDS = tuple(dict.fromkeys(word for words, _pattern in _FACTS.values() for word in words))
_FACTS = {code: (words, re.compile(pattern, re.IGNORECASE)) for code, (words, pattern) in _FACTS.items()}
_ENV = re.compile(
    r"NCCL_(P2P_LEVEL|P2P_DISABLE|SHM_DISABLE|IB_DISABLE|NVLS_ENABLE|NET_GDR_LEVEL|ALGO|PROTO|COLLNET_ENABLE)"
    r"\s*(?:set by environment to|=|set to)\s*:?\s*[\"']?"
    r"(LOC|NVL|PIX|PXB|PHB|SYS|Ring|Tree|NVLSTree|NVLS|Simple|LL128|LL|\d{1,2})\b",
    re.IGNORECASE,
)
_ALGO = re.compile(r"\d+ Bytes -> Algo (\d{1,2}) proto", re.IGNORECASE)
ALGORITHMS = ("tree", "ring", "CollNet direct", "CollNet chain", "NVLS", "NVLS tree", "PAT")
_RANKS = re.compile(r"\brank (\d{1,6}) nranks (\d{1,6})\b")
_NNODES = re.compile(r"\bnNodes (\d{1,6})\b")

_NEVER_DULL = ("warn", "fail", "error", "  ", "\t")


class FactReader:
    """Counts facts line by line; `done` returns them in the order of their first lines."""

    def __init__(self):
        self.found: dict[tuple[str, str], list[int]] = {}
        self.ranks: dict[int, set[int]] = {}
        self.dull, self.total = False, 0  # did the last line say nothing; facts noted so far
        self.words = [(word, code) for code, (words, _pattern) in _FACTS.items() for word in words]

    def note(self, code: str, line: int, value: str = "") -> None:
        """Count one fact."""
        self.total += 1
        entry = self.found.get((code, value))
        if entry is None:
            if len(self.found) < 200:
                self.found[code, value] = [line, 1]
        elif entry[1] < ENOUGH:
            entry[1] += 1
            if entry[1] == ENOUGH:
                self.words = [pair for pair in self.words if pair[1] != code]

    def feed(self, text: str, number: int) -> bool:
        """Take one line; say whether it is a line of a log rather than of a table."""
        if len(text) > LONGEST:
            text = text[:LONGEST]
        small = text.lower()
        before = self.total
        hits = [code for word, code in self.words if word in small]
        for code in dict.fromkeys(hits):
            if _FACTS[code][1].search(text):
                self.note(code, number)
        if "nccl_" in small and (env := _ENV.search(text)):
            self.note("set: NCCL_" + env.group(1).upper(), number, env.group(2).upper())
        if "-> algo" in small and (algo := _ALGO.search(text)) and int(algo.group(1)) < len(ALGORITHMS):
            self.note("algorithm", number, ALGORITHMS[int(algo.group(1))])
        if "nranks" in small and (ranks := _RANKS.search(text)) and len(self.ranks) < 64:
            seen = self.ranks.setdefault(int(ranks.group(2)), set())
            self.total += 1
            if len(seen) < 1 << 16:
                seen.add(int(ranks.group(1)))
        if "nnodes" in small and (nodes := _NNODES.search(text)):
            self.note("nodes", number, nodes.group(1))
        is_log = "NCCL" in text or "RCCL" in text  # in capitals: hosts and pods are called nccl-test-… too
        self.dull = is_log and before == self.total and not any(word in small for word in _NEVER_DULL)
        return is_log

    def done(self) -> tuple[Fact, ...]:
        """Return what was found."""
        made = [Fact(code, line, count, value) for (code, value), (line, count) in self.found.items()]
        made += [Fact("communicator size", 0, len(seen), str(n)) for n, seen in self.ranks.items() if n > 0]
        return tuple(made)
