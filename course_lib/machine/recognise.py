"""Recognise: one pass over a text that says what it is and reads everything it holds."""

import json
import re
from dataclasses import dataclass
from functools import cache

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.machine import jsonresults
from course_lib.machine.interest import (
    BANDS,
    EVERYBODY,
    LINK,
    LINKS,
    NCCL,
    OTHER,
    PEER,
    TOPO,
    interest_of,
    key_of,
    shape_of,
)
from course_lib.machine.nccltests import NcclLog, NcclReader
from course_lib.machine.nvbandwidth import BandwidthReader, Bandwidths, from_json
from course_lib.machine.nvlink import NvlinkReader, NvlinkStatus
from course_lib.machine.p2p import PeerReader, PeerTest
from course_lib.machine.text import Line, Unreadable, clean, raw_lines
from course_lib.machine.topo import TopoMatrix, TopoReader


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing of a file is used: what it is, and what to paste instead."""

    saw: str
    paste: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything read from one source. `kinds` names what was found; `refused` is set where nothing can be used."""

    name: str
    kinds: tuple[str, ...]
    topo: TopoMatrix | None = None
    topos: tuple[TopoMatrix, ...] = ()
    nccl: NcclLog | None = None
    nvbandwidth: Bandwidths | None = None
    p2p: PeerTest | None = None
    nvlink: NvlinkStatus | None = None
    refused: Refused | None = None
    permission: bool = False
    n_lines: int = 0


def anything() -> str:
    """What the command can read, for people who pasted something else."""
    return _(
        "Paste the whole output of one of: `nvidia-smi topo -m`, `nvidia-smi nvlink -s`, a run of nccl-tests "
        "(`all_reduce_perf -b 8 -e 8G -f 2 -g 8`), `nvbandwidth`, `p2pBandwidthLatencyTest`."
    )


@cache
def _others() -> tuple[tuple[re.Pattern, str, str], ...]:
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


_OTHER_GATE = re.compile(
    r"Link \d+: [RCTD0-9]|\(UUID: |Failed to|No devices|Bandwidth Test|bandwidthTest|Transfer Size|NVSMI|GPU Link|Xid"
    r"|ROCm|between two|XGMI|TABLE|amd-smi|HCCS|NPU|GPU \d+/|XL\d|xpu-smi|-i must|-p2p|Invalid comb"
    r"|supported|NVIDIA-SMI|Fan |#bytes|BW Test|OSU|iperf|bits/sec|Rocm|TransferBench|USAGE|minbytes|denied|not found|No such"
)
_HTML = re.compile(r"<(?:!doctype html|html|head|body|script|meta|div|title)\b", re.IGNORECASE)


# Logs of containers: one JSON object a line, the line itself under one of these keys.
_WRAPPED = re.compile(r'\ufeff?\s*\{\s*"(?:log|message|msg|stream|time|ts|timestamp)"\s*:.*\}\s*$')


def _unwrapped(raw: str) -> str:
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    said = (
        next((entry[key] for key in ("log", "message", "msg") if key in entry), "") if isinstance(entry, dict) else ""
    )
    return said.rstrip("\n") if isinstance(said, str) else ""


MOST_SHAPES = 20_000  # remembered, of lines up to
LONGEST_SHAPE = 240  # bytes


class _All:
    """Every reader; a line goes to those it can matter to and to those that are inside a table of their own."""

    def __init__(self):
        self.topo, self.nccl, self.bands = TopoReader(), NcclReader(), BandwidthReader()
        self.peer, self.links = PeerReader(), NvlinkReader()
        self.other: int | None = None
        self.inside, self.open = 0, EVERYBODY  # readers that want every line; readers that can still learn something
        self.shapes: dict[bytes, int] = {}

    def feed(self, line: Line, bits: int) -> None:
        """Give a line to the readers of these bits."""
        if bits & TOPO:
            self.topo.feed(line)
        if bits & NCCL:
            self.nccl.feed(line)
        if bits & BANDS:
            self.bands.feed(line)
        if bits & PEER:
            self.peer.feed(line)
        if bits & (LINKS | LINK):
            self.links.feed(line)
        if bits & OTHER and self.other is None and _OTHER_GATE.search(line.text):
            self.other = next((k for k, (p, _s, _p) in enumerate(_others()) if p.search(line.text)), None)
        closed = 0
        if self.topo.full:
            closed |= TOPO
        if self.bands.full:
            closed |= BANDS
        if self.peer.full:
            closed |= PEER
        if self.links.again:
            closed |= LINK
        if self.other is not None:
            closed |= OTHER
        self.open = EVERYBODY & ~closed
        inside = TOPO if self.topo.wrapping else 0
        if self.bands.open is not None:
            inside |= BANDS
        if self.peer.open is not None:
            inside |= PEER
        self.inside = inside & ~closed

    def wanted(self, shape: bytes) -> int | None:
        """Return who wants a line of this shape, None where it was not met before."""
        bits = self.shapes.get(shape)
        return None if bits is None else bits & self.open | self.inside

    def remember(self, shape: bytes, text: str) -> None:
        """Keep whom a line matters to; titles of P2P are left out, as prefixes in front of them are told by their digit."""
        if len(self.shapes) < MOST_SHAPES and len(shape) <= LONGEST_SHAPE and b"P0P" not in shape:
            self.shapes[shape] = interest_of(shape_of(text), _OTHER_GATE)


def read(source, name: str = "") -> Reading:
    """Read whatever a source holds in one pass.

    Args:
        source: a path, bytes, text with a line end, or an open file.
        name: what to call it in reports.

    Raises:
        CourseError: a file that cannot be opened.

    >>> read("\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV4\\nGPU1\\tNV4\\t X \\n").kinds
    ('topology matrix',)
    >>> read("<html>\\n").refused.saw
    'a web page (HTML)'
    """
    readers, n, growing, last = _All(), 0, True, -1
    text, html, started = [], False, False
    json_size, dull, wrapped = 0, set(), False
    try:
        for n, raw, goes_on in raw_lines(source):
            if not started and raw.strip("\ufeff \t\r\n"):
                started = True
                wrapped = bool(_WRAPPED.match(raw))
                if wrapped:
                    pass
                elif raw.lstrip("\ufeff \t").startswith(("{", "[\n", "[{")):
                    text = [raw]
                elif _HTML.match(raw.lstrip("\ufeff \t")) or raw.lstrip("\ufeff \t").lower().startswith("<?xml"):
                    html = True
                if text or html:
                    if html:
                        break
                    continue
            if text:
                json_size += len(raw)
                if json_size > jsonresults.MOST_CHARACTERS:
                    return Reading(name, (), refused=Refused(_("JSON of more than 64 MiB"), anything()), n_lines=n)
                text.append(raw)
                continue
            if goes_on:
                continue
            if wrapped:
                raw = _unwrapped(raw)
            if not readers.inside and raw.lstrip()[:1].isdigit() and readers.nccl.row(raw, n, ""):
                continue
            shape = key_of(raw)
            debug = "NCCL" in raw
            if debug and shape in dull:  # a debug line that differs from an idle one in its digits only
                continue
            bits = readers.wanted(shape)
            if bits == 0:
                continue
            said, tag, stderr, bare = clean(raw)
            if bare is not None and not tag:
                growing = growing and bare > last
                last = bare
                tag = "" if growing else str(bare)
            readers.nccl.facts.dull = False
            if bits is None:
                if not readers.inside and readers.nccl.row(said, n, tag):
                    continue
                if bare is None:
                    readers.remember(shape, said)
            readers.feed(Line(n, said, tag, stderr), EVERYBODY if bits is None else bits)
            if debug and readers.nccl.facts.dull and len(dull) < MOST_SHAPES:
                dull.add(shape)
    except Unreadable as error:
        return Reading(name, (), refused=Refused(error.saw, anything()))
    if html:
        saw = _("a web page (HTML)")
        return Reading(
            name,
            (),
            refused=Refused(saw, _("Save or paste the text of the page's table.") + " " + anything()),
            n_lines=n,
        )
    if not started:
        return Reading(name, (), refused=Refused(_("nothing: the file is empty"), anything()), n_lines=n)
    return _json(name, "".join(text), n) if text else _reading(name, readers, n)


def _json(name: str, text: str, n: int) -> Reading:
    data, whole = jsonresults.parse(text)
    if data is not None:
        log = jsonresults.nccl_log(data, whole)
        if log is not None:
            return Reading(name, ("nccl-tests JSON",), nccl=log, n_lines=n)
        reader = BandwidthReader()
        if isinstance(data.get("nvbandwidth", data), dict):
            from_json(data, reader)
        found = reader.done()
        if found is not None and found.matrices:
            return Reading(name, ("nvbandwidth JSON",), nvbandwidth=found, n_lines=n)
    saw = _("JSON, but no result file of nccl-tests or nvbandwidth") if whole else _("JSON that is cut off or broken")
    paste = _("Run nccl-tests with `-J file` or nvbandwidth with `-j`, or paste the tables they print.")
    return Reading(name, (), refused=Refused(saw, paste), n_lines=n)


def _reading(name: str, readers: _All, n: int) -> Reading:
    topos = tuple(readers.topo.done())
    log, bands, peer, links = readers.nccl.done(), readers.bands.done(), readers.peer.done(), readers.links.done()
    permission, foreign = readers.topo.permission, readers.topo.foreign
    kinds, refused = [], None
    if topos:
        kinds.append("topology matrix")
    if log is not None and (log.jobs or log.n_damaged or log.facts or readers.nccl.seen_header):
        kinds.append("nccl-tests" if log.jobs or log.n_damaged or readers.nccl.seen_header else "log")
    if bands is not None and (bands.matrices or bands.sums or bands.waived or bands.damaged or bands.pattern_failed):
        kinds.append("nvbandwidth")
    if peer is not None:
        kinds.append("p2pBandwidthLatencyTest")
    if links is not None and links.gpus:
        kinds.append("nvlink status")
    useful = [k for k in kinds if k != "log"]
    if permission and not useful:
        refused = Refused(
            _("a table of peer permission (OK, NS …): OK means permitted, it says nothing about speed or wires"),
            _("Run `nvidia-smi topo -m` and paste its matrix as well."),
        )
    elif readers.other is not None and not useful and not kinds:
        _pattern, saw, paste = _others()[readers.other]
        refused = Refused(saw, paste)
    elif foreign and not useful:
        saw = _("a matrix of GPUs whose words are not those of `nvidia-smi topo -m` (another vendor's tool?)")
        refused = Refused(saw, anything())
    elif not kinds:
        refused = Refused(_("{n} lines of text, none of a kind this command knows").format(n=n), anything())
    return Reading(
        name, tuple(kinds), topos[0] if topos else None, topos, log, bands if "nvbandwidth" in kinds else None,
        peer, links if links is not None and links.gpus else None, refused, permission, n,
    )  # fmt: skip


__all__ = ["CourseError", "Reading", "Refused", "anything", "read"]
