"""Topology matrix: what `nvidia-smi topo -m` printed, with whatever happened to it on the way here."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.language import _
from course_lib.machine.text import Damage, Damages, Line, lines
from course_lib.machine.topocells import (
    CELL,
    LABEL,
    PERMISSION,
    affinities,
    cells_of,
    header_of,
    label_known,
)

MOST_DEVICES = 256
MOST_MATRICES = 64  # of one text; later ones are not read


@dataclass(frozen=True, slots=True)
class TopoMatrix:
    """A topology matrix as read. Words are X, NV1 … NV18, PIX, PXB, PHB, NODE, SYS, or "" where it could not be read.

    `links` is (g, g), `to_nics` (g, k); `cpu_affinity`, `numa`, `gpu_numa` have an entry per GPU (None: not printed or
    not readable). `nic_names` gives the device of a card where a legend names it. `missing_rows` are GPUs and cards
    that the header names and no row describes. `complete` says whether every pair of GPUs is known.
    """

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    links: tuple[tuple[str, ...], ...]
    to_nics: tuple[tuple[str, ...], ...]
    cpu_affinity: tuple[tuple[int, ...] | None, ...]
    numa: tuple[tuple[int, ...] | None, ...]
    gpu_numa: tuple[int | None, ...]
    nic_names: tuple[str, ...]
    missing_rows: tuple[str, ...]
    asymmetric: tuple[tuple[str, str], ...]
    damaged: tuple[Damage, ...]
    unknown: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the link of every pair of GPUs was read."""
        return all(word for row in self.links for word in row)

    @property
    def nvlinks(self) -> NDArray[np.int64]:
        """(g, g) NVLinks between pairs; 0 where there is none or the cell is unknown."""
        count = [[int(word[2:]) if word.startswith("NV") else 0 for word in row] for row in self.links]
        return np.array(count, np.int64).reshape(len(self.gpus), len(self.gpus))

    def near_nics(self, gpu: int) -> tuple[str, ...]:
        """Cards that share a PCIe switch with a GPU (PIX or PXB)."""
        return tuple(nic for nic, word in zip(self.nics, self.to_nics[gpu], strict=True) if word in ("PIX", "PXB"))


class TopoReader:
    """Collects the matrices of a text line by line; `done` returns them."""

    def __init__(self):
        self.found: list[TopoMatrix] = []
        self.permission = False  # a matrix of OK and NS was seen
        self.foreign = False  # a matrix of GPUs whose words are another tool's
        self._clear()

    @property
    def full(self) -> bool:
        """Whether no more is kept."""
        return len(self.found) >= MOST_MATRICES

    def _clear(self) -> None:
        self.header: tuple[list[str], list[str], int] | None = None
        self.wrapping = False
        self.rows: dict[str, tuple[int, list[str], tuple, bool]] = {}
        self.bad_rows: set[str] = set()
        self.legend: dict[str, str] = {}
        self.damage = Damages()
        self.glued = False

    def feed(self, line: Line) -> None:
        """Take one line."""
        text = line.text
        if self.full:
            return
        if "GPU" not in text and "NIC" not in text and ((self.header is None and not self.rows) or not text.strip()):
            return
        if len(text) > 16384:
            return
        bare = text.strip().lstrip("#>|").strip()
        named = re.match(r"(NIC\d{1,3})\s*:\s*(\S+)", bare)
        if named:
            if self.rows and label_known(named.group(2)):
                self.legend.setdefault(named.group(1), named.group(2))
            return
        row = LABEL.match(bare) or re.search(r"(?:^|[\s:])(?=GPU\d{1,3}\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS)\s)", bare)
        if row and row.re is not LABEL:
            bare = bare[row.end() :]
        if row and self._row(line.number, bare, text):
            return
        header = header_of(bare, self.header if self.wrapping else None)
        if header:
            if not self.wrapping and self.rows:
                self._close()
            self.header, self.wrapping, self.glued = header[:3], True, self.glued or header[3]
        else:
            self.wrapping = False

    def _row(self, number: int, bare: str, text: str) -> bool:
        label, _blank, rest = (
            bare.partition(" ") if "\t" not in bare else re.match(r"(\S+)(\s)(.*)", bare + " ").groups()
        )
        rest = rest.strip(" ")
        if not re.match(r"\S", rest.strip()) or (not label.startswith("GPU") and not label_known(label)):
            return False
        words = rest.split()
        if not CELL.fullmatch(words[0]):
            if len(words) > 1 and all(PERMISSION.fullmatch(w) for w in words[:8]):
                self.permission = True
            elif (
                label.startswith("GPU")
                and self.header
                and not self.rows
                and re.fullmatch(r"\d+|[A-Z]\w{1,7}|N/A", words[0])
            ):
                self.foreign = self.foreign or (len(words) > 1 and not words[0].startswith(("GPU", "CPU", "NIC")))
            return False
        if label.startswith("GPU") and any(PERMISSION.fullmatch(w) and w != "X" for w in words):
            others = [w for w in words if w != "X"]
            if all(PERMISSION.fullmatch(w) for w in others):
                self.permission = True
                return True
            if not any(CELL.fullmatch(w) for w in others):
                self.foreign = True
                return True
        elif label.startswith("GPU") and words[0] == "X" and len(words) > 1 and self._foreign_word(words[1]):
            self.foreign = True
            return True
        self.wrapping = False
        cells, tail, glued = cells_of(rest)
        if glued:
            self.damage.add(number, _("cells without a blank between them were read apart"))
        if len(self.rows) > MOST_DEVICES:
            return True
        if label in self.rows and self.rows[label][1] != cells:
            if label == next(iter(self.rows)) and self.header is None:  # the next host's matrix, its header lost too
                self._close()
            else:
                self.damage.add(number, _("a second, different row for {label}; neither is used").format(label=label))
                self.bad_rows.add(label)
                return True
        ended = not tail.strip()
        self.rows.setdefault(
            label, (number, cells, affinities(tail, "\t" in text, self.header[2] if self.header else 0), ended)
        )
        return True

    @staticmethod
    def _foreign_word(word: str) -> bool:
        return (
            bool(re.fullmatch(r"[A-Z]{2,6}\d*", word)) and not CELL.fullmatch(word) and not PERMISSION.fullmatch(word)
        )

    def _close(self) -> None:
        if any(label.startswith("GPU") for label in self.rows):
            self.found.append(self._build())
        self._clear()

    def done(self) -> list[TopoMatrix]:
        """Return all matrices that were read."""
        self._close()
        return self.found

    def _build(self) -> TopoMatrix:
        unknown = []
        rows = {label: row for label, row in self.rows.items() if label not in self.bad_rows}
        if self.header and self.header[0]:
            gpus, nics = list(self.header[0]), list(self.header[1])
        else:
            gpus, nics = self._without_header(rows, unknown)
        columns = gpus + nics
        known = {label: self._placed(label, row, columns) for label, row in rows.items() if label in columns}
        for label, row in rows.items():
            if label not in columns:
                self.damage.add(row[0], _("a row for {label}, which the header does not name").format(label=label))
        g, trusted = len(gpus), {label: ok for label, (_cells, ok) in known.items()}
        got = {label: cells for label, (cells, _ok) in known.items()}
        links, odd = [[""] * g for _gpu in gpus], []
        for i, a in enumerate(gpus):
            for j, b in enumerate(gpus):
                mine, other = got.get(a, {}).get(b, ""), got.get(b, {}).get(a, "")
                if mine and other and mine != other:
                    if trusted[a] != trusted[b]:
                        links[i][j] = mine if trusted[a] else other
                    elif i < j:
                        odd.append((a, b))
                elif (mine and (trusted[a] or other)) or (other and (trusted[b] or mine)):
                    links[i][j] = mine or other
                if i == j:
                    links[i][j] = "X"
        if odd:
            unknown.append(_("pairs whose two cells disagree: {n}").format(n=len(odd)))
        to_nics = [[got.get(a, {}).get(b, "") if trusted.get(a) else "" for b in nics] for a in gpus]
        for i, a in enumerate(gpus):
            for j, b in enumerate(nics):
                if not to_nics[i][j] and trusted.get(b):
                    to_nics[i][j] = got[b].get(a, "")
        missing = [label for label in columns if label not in rows]
        affinity = [rows[a][2] if a in rows else (None, None, None) for a in gpus]
        if not any(any(v is not None for v in entry) for entry in affinity):
            unknown.append(_("CPU and NUMA affinities"))
        return TopoMatrix(
            tuple(gpus),
            tuple(nics),
            tuple(tuple(row) for row in links),
            tuple(tuple(row) for row in to_nics),
            *(tuple(entry[k] for entry in affinity) for k in range(3)),
            tuple(self.legend.get(nic, nic if not nic.startswith("NIC") else "") for nic in nics),
            tuple(missing),
            tuple(odd),
            tuple(self.damage.kept),
            tuple(unknown),
        )

    def _without_header(self, rows: dict, unknown: list[str]) -> tuple[list[str], list[str]]:
        numbers = [int(label[3:]) for label in rows if label.startswith("GPU")]
        most = max(numbers) + 1
        for _number, cells, _affinity, _ended in rows.values():
            most = max([most, *(k + 1 for k, word in enumerate(cells) if word.startswith("NV"))])
        most = min(most, MOST_DEVICES)
        width = max(len(cells) for _number, cells, _affinity, _ended in rows.values())
        nics = [label for label in rows if not label.startswith("GPU")]
        if width > most and len(nics) != width - most:
            text = _("no header: what the last {n} columns are (more GPUs, or network cards)")
            unknown.append(text.format(n=width - most))
            nics = []
        self.damage.add(None, _("the header line is missing; GPUs are counted from the rows"))
        return [f"GPU{i}" for i in range(most)], nics

    def _placed(self, label: str, row: tuple, columns: list[str]) -> tuple[dict[str, str], bool]:
        """Return the cells of a row by column, and whether they are sure to stand where they are put."""
        number, cells, _affinity, ended = row
        k, own = len(cells), columns.index(label)
        at = cells.index("X") if "X" in cells else None
        shown = dict(zip(columns, cells, strict=False))
        if at is not None and at != own:
            self.damage.add(
                number, _("a cell before the X of {label} is lost: the row is not used").format(label=label)
            )
            return {}, False
        if at is None and (k > own or not ended):
            self.damage.add(number, _("the row of {label} has no X: it is not used").format(label=label))
            return {}, False
        if k == len(columns) or (k > len(columns) and not self.header):
            return shown, True
        if k > len(columns):
            self.damage.add(number, _("{k} cells where the header names {n}").format(k=k, n=len(columns)))
            return shown, not self.glued and False
        self.damage.add(number, _("the row of {label} has {k} of {n} cells").format(label=label, k=k, n=len(columns)))
        return shown, ended


def read(source) -> TopoMatrix | None:
    """Read the first topology matrix of a source (see `text.raw_lines`); None where there is none.

    >>> matrix = read("\\tGPU0\\tGPU1\\tCPU Affinity\\nGPU0\\t X \\tNV4\\t0-7\\nGPU1\\tNV4\\t X \\t0-7\\n")
    >>> matrix.links, matrix.cpu_affinity[0][:3], matrix.complete
    ((('X', 'NV4'), ('NV4', 'X')), (0, 1, 2), True)
    """
    reader = TopoReader()
    for line in lines(source):
        reader.feed(line)
    found = reader.done()
    return found[0] if found else None
