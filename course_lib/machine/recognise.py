"""Recognise: one pass over a text that says what it is and reads everything it holds."""

import json
import re
from dataclasses import dataclass

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
from course_lib.machine.nccljobs import NcclLog
from course_lib.machine.nccltests import NcclReader
from course_lib.machine.nvbandwidth import BandwidthReader, Bandwidths, from_json
from course_lib.machine.nvlink import NvlinkReader, NvlinkStatus
from course_lib.machine.otherfiles import OTHER_GATE, anything, others
from course_lib.machine.p2p import PeerReader, PeerTest
from course_lib.machine.text import Leading, Line, Unreadable, clean, raw_lines
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
        if bits & OTHER and self.other is None and OTHER_GATE.search(line.text):
            self.other = next((k for k, (p, _s, _p) in enumerate(others()) if p.search(line.text)), None)
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
            self.shapes[shape] = interest_of(shape_of(text), OTHER_GATE)


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
    readers, n, leading = _All(), 0, Leading()
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
                tag = leading.tag(bare)
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
        _pattern, saw, paste = others()[readers.other]
        refused = Refused(saw, paste)
    elif foreign and not useful:
        saw = _("a matrix of GPUs whose words are not those of `nvidia-smi topo -m` (another vendor's tool?)")
        refused = Refused(saw, anything())
    elif not kinds:
        refused = Refused(_("nothing of a kind this command knows (lines: {n})").format(n=n), anything())
    return Reading(
        name, tuple(kinds), topos[0] if topos else None, topos, log, bands if "nvbandwidth" in kinds else None,
        peer, links if links is not None and links.gpus else None, refused, permission, n,
    )  # fmt: skip
