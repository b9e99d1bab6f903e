"""nvbandwidth: every test with its direction and unit, waived tests, sums; as text and as JSON."""

import re
from dataclasses import dataclass

import numpy as np

from course_lib.base.language import _
from course_lib.machine.gpunames import known_gpu
from course_lib.machine.matrices import Matrix, MatrixReader
from course_lib.machine.text import Damage, Damages, Line, lines

_KNOWN = frozenset({
    "all", "bidirectional", "bisect", "broadcast", "ce", "chase", "copy", "device", "from", "host", "latency", "local",
    "memcpy", "memory", "multicast", "multinode", "one", "pageable", "pinned", "ptr", "read", "sm", "to", "write",
})  # fmt: skip
_RUNNING = re.compile(r"\bRunning ([a-z][a-z0-9_]{2,60})\b")
TITLE = re.compile(
    r"(CPU|GPU)\(row\)\s*(<->|<-|->|reads from|writes to)\s*(CPU|GPU)\(column\)"
    r"\s*(?:.{0,40}?(bandwidth|latency))?.{0,40}?\(([A-Za-z/µ]{1,8})\)",
    re.IGNORECASE,
)
_TITLED = re.compile(r"\b(latency|bandwidth)\b.*\(row\)", re.IGNORECASE)
_SUM = re.compile(r"\bSUM ([a-z][a-z0-9_]{2,60})\s+([\d.]{1,24})\s*$")
_DEVICE = re.compile(r"Device (\d{1,3}):\s*(.{1,80})")
_WAIVED = re.compile(r"\bWaiv(?:ed\b|ing ([a-z]+_[a-z_]{2,60}))", re.IGNORECASE)
_WORDS = {"reads from": "<-", "writes to": "->"}
MOST = 256


@dataclass(frozen=True, slots=True, eq=False)
class Bandwidths:
    """Matrices in the order they were printed; `sums` by name; `waived` tests; `seen` names that have no matrix."""

    gpus: tuple[str | None, ...]
    matrices: tuple[Matrix, ...]
    sums: tuple[tuple[str, float], ...]
    waived: int
    without: tuple[str, ...]
    damaged: tuple[Damage, ...]
    unknown: tuple[str, ...]
    pattern_failed: int = 0  # tests whose data came out wrong

    def matrix(self, name: str) -> Matrix | None:
        """Return a matrix by the name of its test, or None."""
        return next((m for m in self.matrices if m.name == name), None)


def known_name(name: str) -> str:
    """Return the name of a test where all its words are the benchmark's, else "": nothing else of a log is repeated.

    >>> known_name("host_to_device_memcpy_ce"), known_name("device_to_my_password")
    ('host_to_device_memcpy_ce', '')
    """
    return name if set(name.split("_")) <= _KNOWN else ""


class BandwidthReader:
    """Collects tests line by line; `done` returns the record."""

    def __init__(self):
        self.damage = Damages()
        self.made: list[Matrix] = []
        self.open: MatrixReader | None = None
        self.name = ""
        self.names: list[str] = []
        self.sums: dict[str, float] = {}
        self.gpus: dict[int, str | None] = {}
        self.waived = self.pattern_failed = 0
        self.seen = False

    @property
    def full(self) -> bool:
        """Whether no more is kept."""
        return len(self.made) >= MOST

    def feed(self, line: Line) -> None:
        """Take one line."""
        text = line.text
        if self.full:
            return
        title = TITLE.search(text) if "(row)" in text else None
        if title:
            self._close()
            row, arrow, column, quantity, unit = title.groups()
            arrow = _WORDS.get(arrow.lower(), arrow)
            quantity = quantity or (_TITLED.search(text).group(1) if _TITLED.search(text) else "")
            quantity = (quantity or ("bandwidth" if "B/s" in unit else "latency")).lower()
            self.open = MatrixReader(
                (self.name, row.upper(), column.upper(), arrow, quantity, unit), line.number, self.damage
            )
            self.seen = True
            return
        if self.open is not None:
            if self.open.feed(text, line.number):
                return
            self._close()
        if "Running " in text and (found := _RUNNING.search(text)):
            self.name = known_name(found.group(1))
            if self.name and len(self.names) < MOST:
                self.names.append(self.name)
        elif "SUM " in text and (found := _SUM.search(text)):
            self.seen = True
            if found.group(2).count(".") <= 1 and len(self.sums) < MOST and known_name(found.group(1)):
                self.sums[found.group(1)] = float(found.group(2))
        elif "aiv" in text and (found := _WAIVED.search(text)):
            self.waived += 1
            self.seen = self.seen or bool(found.group(1))
        elif "Invalid value when checking the pattern" in text:
            self.seen, self.pattern_failed = True, self.pattern_failed + 1
        elif "nvbandwidth" in text:
            self.seen = True
        elif "Device " in text and (found := _DEVICE.search(text)) and int(found.group(1)) < MOST:
            self.gpus.setdefault(int(found.group(1)), known_gpu(found.group(2)))

    def add(self, matrix: Matrix) -> None:
        """Take a matrix that was read elsewhere (JSON)."""
        self.seen = True
        if len(self.made) < MOST:
            self.made.append(matrix)

    def _close(self) -> None:
        if self.open is None:
            return
        made = self.open.done()
        if made is not None:
            self.add(made)
        else:
            self.damage.add(self.open.line, _("a matrix without a whole row"))
        self.open = None

    def done(self) -> Bandwidths | None:
        """Return the record, or None where nothing of nvbandwidth was found."""
        self._close()
        if not self.seen:
            return None
        have = {m.name for m in self.made}
        without = tuple(dict.fromkeys(n for n in self.names if n not in have))
        unknown = [_("the name of a test: its line is missing")] if any(not m.name for m in self.made) else []
        count = max(self.gpus, default=-1) + 1
        return Bandwidths(
            tuple(self.gpus.get(k) for k in range(count)),
            tuple(self.made),
            tuple(self.sums.items()),
            self.waived,
            without,
            tuple(self.damage.kept),
            tuple(unknown),
            self.pattern_failed,
        )


def from_json(data: dict, reader: BandwidthReader) -> None:
    """Put the test cases of nvbandwidth's JSON into a reader."""
    body = data.get("nvbandwidth", data)
    for case in body.get("testcases", []) if isinstance(body.get("testcases"), list) else []:
        if not isinstance(case, dict):
            continue
        name = case.get("name") if isinstance(case.get("name"), str) else ""
        name = known_name(name)
        if str(case.get("status", "")).lower() == "waived":
            reader.waived += 1
        title = TITLE.search(str(case.get("bandwidth_description") or case.get("description") or ""))
        table = case.get("bandwidth_matrix") or case.get("matrix")
        if not (title and isinstance(table, list) and table and all(isinstance(row, list) for row in table)):
            continue
        try:
            values = [[float(c) if str(c).strip().upper() != "N/A" else np.nan for c in row] for row in table[:MOST]]
        except (TypeError, ValueError):
            reader.damage.add(None, _("a matrix with a cell that is no number"))
            continue
        if len({len(row) for row in values}) != 1 or not values[0]:
            reader.damage.add(None, _("a matrix whose rows differ in length"))
            continue
        row, arrow, column, quantity, unit = title.groups()
        arrow = _WORDS.get(arrow.lower(), arrow)
        shape = (tuple(range(len(values))), tuple(range(len(values[0]))))
        quantity = quantity or ("bandwidth" if "B/s" in unit else "latency")
        reader.add(
            Matrix(name, row.upper(), column.upper(), arrow, quantity.lower(), unit, *shape, np.array(values), 0)
        )
    listed = body.get("GPU Device List")
    for k, text in enumerate(listed[:MOST] if isinstance(listed, list) else []):
        reader.gpus[k] = known_gpu(str(text)[:200])


def read(source) -> Bandwidths | None:
    """Read the output of nvbandwidth (see `text.raw_lines` for sources); None where there is none.

    >>> text = "Running a_b_c.\\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\\n 0 1\\n0 55.1 N/A\\n\\nSUM a_b_c 55.1\\n"
    >>> read(text).matrices[0].values.tolist()
    [[55.1, nan]]
    """
    reader = BandwidthReader()
    for line in lines(source):
        reader.feed(line)
    return reader.done()
