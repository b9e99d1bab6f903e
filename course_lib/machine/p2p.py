"""p2pBandwidthLatencyTest: which pairs may reach each other, and six matrices with nearly the same title."""

import re
from dataclasses import dataclass

from course_lib.base.language import _
from course_lib.machine.gpunames import known_gpu
from course_lib.machine.matrices import Matrix, MatrixReader
from course_lib.machine.text import Damage, Damages, Line, lines

# What the tool prints, in its order.
SECTIONS = (
    "connectivity",
    "unidirectional disabled",
    "unidirectional enabled",
    "bidirectional disabled",
    "bidirectional enabled",
    "latency disabled",
    "latency enabled",
)
_TITLES = (
    (re.compile(r"P2P Connectivity Matrix", re.IGNORECASE), lambda m: "connectivity"),
    (
        re.compile(
            r"(Uni|Bi)directional P2P\s*=\s*(Disabled|Enabled)(?: Bandwidth)?\s*(?:\(P2P (Writes|Reads)\))?"
            r"(?: Bandwidth)?(?: Matrix)?\s*(?:\((\S{1,8})\))?",
            re.IGNORECASE,
        ),
        lambda m: (
            f"{m.group(1).lower()}directional {m.group(2).lower()}" + (" reads" if "eads" in (m.group(3) or "") else "")
        ),
    ),
    (
        re.compile(
            r"P2P\s*=\s*(Disabled|Enabled) Latency\s*(?:\(P2P (Writes|Reads)\))?(?: Matrix)?\s*(?:\((\S{1,8})\))?",
            re.IGNORECASE,
        ),
        lambda m: f"latency {m.group(1).lower()}" + (" reads" if "eads" in (m.group(2) or "") else ""),
    ),
)
MOST_TITLES = 512  # of one text; later sections are not read
_DEVICE = re.compile(r"Device:?\s*(\d{1,3}),\s*(.{1,80}?),\s*pciBusID", re.IGNORECASE)
_ACCESS = re.compile(r"Device=(\d{1,3})\s+(CAN|CANNOT)\s+Access Peer\s+Device=(\d{1,3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class PeerTest:
    """What the test printed. `access` holds (a, b, may a reach b directly); `missing` names sections that were not found."""

    gpus: tuple[str | None, ...]
    access: tuple[tuple[int, int, bool], ...]
    matrices: tuple[Matrix, ...]
    missing: tuple[str, ...]
    damaged: tuple[Damage, ...]
    unknown: tuple[str, ...]

    def matrix(self, name: str) -> Matrix | None:
        """Return a section by its name in SECTIONS, or None."""
        return next((m for m in self.matrices if m.name == name), None)


class PeerReader:
    """Collects sections line by line; `done` returns the record."""

    def __init__(self):
        self.damage = Damages()
        self.made: list[Matrix] = []
        self.open: MatrixReader | None = None
        self.latency = ""
        self.gpus: dict[int, str | None] = {}
        self.access: dict[tuple[int, int], bool] = {}
        self.titles: list[str] = []

    @property
    def full(self) -> bool:
        """Whether no more is kept."""
        return len(self.titles) > MOST_TITLES

    def feed(self, line: Line) -> None:
        """Take one line."""
        text = line.text
        if self.full:
            return
        if "P2P" in text:
            for pattern, name_of in _TITLES:
                found = pattern.search(text)
                if found:
                    self._begin(name_of(found), (found.groups() or (None,))[-1], line.number)
                    return
        if self.open is not None:
            bare = text.strip()
            if self.latency and re.match(r"(?:GPU|CPU)\s+\d", bare):
                self._close()
                self.open = self._latency(bare[:3].lower(), line.number)
            if self.open.feed(text, line.number):
                return
            if self.latency and not bare:
                return
            if not self.latency:
                self._close()
        if "evice" in text:
            small = text.lower()
            device = _DEVICE.search(text) if "pcibu" in small else None
            if device and int(device.group(1)) < 256:
                self.gpus.setdefault(int(device.group(1)), known_gpu(device.group(2)))
            reach = _ACCESS.search(text) if "peer" in small else None
            if reach and len(self.access) < 1 << 16:
                pair = (int(reach.group(1)), int(reach.group(3)))
                self.access[pair] = reach.group(2).upper() == "CAN"

    def _begin(self, name: str, unit: str | None, number: int) -> None:
        self._close()
        self.latency = name if name.startswith("latency") else ""
        default = "us" if self.latency else "GB/s"
        if name == "connectivity":
            title = (name, "GPU", "GPU", "->", "access", "")
        else:
            arrow = "<->" if name.startswith("bi") else "->"
            title = (name, "GPU", "GPU", arrow, "latency" if self.latency else "bandwidth", unit or default)
        self.titles.append(name)
        self.open = MatrixReader(title, number, self.damage)

    def _latency(self, by: str, number: int) -> MatrixReader:
        title = (f"{self.latency} {by}", "GPU", "GPU", "->", "latency", "us")
        return MatrixReader(title, number, self.damage)

    def _close(self) -> None:
        made = self.open.done() if self.open else None
        if made is not None and len(self.made) < 64:
            if any(m.name == made.name for m in self.made):
                self.damage.add(made.line, _("a second matrix of the same title; the first is used"))
            else:
                self.made.append(made)
        self.open = None

    def done(self) -> PeerTest | None:
        """Return the record, or None where nothing of the test was found."""
        self._close()
        if not self.made and not self.access and not self.titles:
            return None
        connectivity = next((m for m in self.made if m.name == "connectivity"), None)
        access = dict(self.access)
        if connectivity is not None:
            for i, a in enumerate(connectivity.rows):
                for j, b in enumerate(connectivity.columns):
                    if a != b and connectivity.values[i, j] in (0.0, 1.0):
                        access.setdefault((a, b), bool(connectivity.values[i, j]))
        got = {m.name for m in self.made}
        missing = tuple(
            s
            for s in SECTIONS
            if not any(name == s or (s.startswith("latency") and name.startswith(s + " ")) for name in got)
        )
        unknown = [_("which pairs have peer access")] if not access else []
        count = max(self.gpus, default=-1) + 1
        return PeerTest(
            tuple(self.gpus.get(k) for k in range(count)),
            tuple((a, b, may) for (a, b), may in sorted(access.items())),
            tuple(self.made),
            missing,
            tuple(self.damage.kept),
            tuple(unknown),
        )


def read(source) -> PeerTest | None:
    """Read the output of p2pBandwidthLatencyTest (see `text.raw_lines` for sources); None where there is none.

    >>> test = read("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\\n D\\\\D 0 1\\n 0 900.0 22.5\\n 1 22.4 901.0\\n")
    >>> test.matrix("unidirectional enabled").off_diagonal().tolist()
    [22.5, 22.4]
    """
    reader = PeerReader()
    for line in lines(source):
        reader.feed(line)
    return reader.done()
