"""Matrices of numbers with a numbered row and column of devices, as p2pBandwidthLatencyTest and nvbandwidth print them."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.language import _
from course_lib.machine.text import Damages

MOST_SIDE = 256
_COLUMNS = re.compile(r"(?:[A-Z]{1,3}\\?[A-Z]{0,3})?\s*\d{1,3}(?:\s+\d{1,3})*")
_ROW = re.compile(r"(\d{1,3})\s+(\S.*)")
_CELL = re.compile(r"\d{1,12}(?:\.\d{1,9})?(?:[eE][-+]?\d{1,3})?")


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A matrix as printed: `values` (r, c) in `unit`, NaN where a cell is N/A or its row was damaged or missing.

    `name` is a stable word for what it holds, `row_role` and `column_role` are CPU or GPU, `arrow` the direction
    (`->` from row to column, `<-` from column to row, `<->` both), `quantity` bandwidth or latency.
    """

    name: str
    row_role: str
    column_role: str
    arrow: str
    quantity: str
    unit: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: NDArray[np.float64]
    line: int

    def off_diagonal(self) -> NDArray[np.float64]:
        """Finite values between different devices; all finite values where rows and columns are not the same kind."""
        keep = np.isfinite(self.values)
        if self.row_role == self.column_role:
            keep &= np.array(self.rows)[:, None] != np.array(self.columns)[None, :]
        return self.values[keep]


class MatrixReader:
    """Reads one matrix after its title; `feed` says whether a line belonged to it."""

    def __init__(self, title: tuple, line: int, damage: Damages):
        self.title, self.line, self.damage = title, line, damage
        self.columns: tuple[int, ...] | None = None
        self.rows: dict[int, list[float]] = {}
        self.started = False
        self.ended = False

    def feed(self, text: str, number: int) -> bool:
        """Take one line."""
        bare = text.strip()
        if self.ended:
            return False
        if not bare:
            self.ended = self.started
            return not self.started
        if self.columns is None and not self.rows and _COLUMNS.fullmatch(bare):
            words = re.findall(r"\d+", bare)
            found = tuple(int(w) for w in words)
            if found == tuple(sorted(set(found))) and len(found) <= MOST_SIDE:
                self.columns, self.started = found, True
                return True
        row = _ROW.fullmatch(bare)
        if row is None:
            self.ended = True
            return False
        self.started = True
        words = row.group(2).split()
        if not all(_CELL.fullmatch(w) or w.upper() == "N/A" for w in words):
            self.damage.add(number, _("a row of a matrix with a cell that is no number"))
            return True
        values = [np.nan if w.upper() == "N/A" else float(w) for w in words]
        label = int(row.group(1))
        if self.columns is None:
            self.damage.add(number, _("a row of a matrix whose line of column numbers is missing"))
        elif len(values) != len(self.columns):
            text = _("row {label} has {n} of {want} cells")
            self.damage.add(number, text.format(label=label, n=len(values), want=len(self.columns)))
        elif label in self.rows:
            self.damage.add(number, _("a second row {label} of one matrix").format(label=label))
            self.rows[label] = [np.nan] * len(values)
        elif len(self.rows) < MOST_SIDE:
            self.rows[label] = values
        return True

    def done(self) -> Matrix | None:
        """Return the matrix, or None where no row of it was whole."""
        if not self.columns or not self.rows:
            return None
        labels = tuple(self.rows)
        return Matrix(*self.title, labels, self.columns, np.array([self.rows[k] for k in labels], float), self.line)
