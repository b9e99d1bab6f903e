"""Published measurements of single links: large copies, times by size, matrices of pairs, each with its source."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib.base import sources as _sources
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.table import UNITS


@dataclass(frozen=True, slots=True)
class Copy:
    """A large copy over one link. `measured_Bps` is one direction; `share` is the part of the GPU's link that was used.

    `direction` is how the source prints it ("both" was halved on loading); `request` is "read" or "write" for PCIe.
    """

    link: str
    share: float
    case: str
    machine: str
    tool: str
    request: str
    measured_Bps: float
    direction: str
    pairs: int
    source: _sources.Source
    note: str


@dataclass(frozen=True, slots=True)
class Series:
    """A measurement over message size: arrays message_B (n,), time_s (n,) and rate_Bps (n,), one direction.

    `quantity` says what was measured: "time" of one message in flight, or "rate" with many in flight (then time_s is
    bytes over rate, and holds no latency).
    """

    name: str
    title: str
    machine: str
    tool: str
    link: str
    quantity: str
    message_B: np.ndarray
    time_s: np.ndarray
    rate_Bps: np.ndarray
    source: _sources.Source
    note: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Pairs of GPUs: `values` (rows, columns) from GPU `src` to GPU `dst`, in bytes per second of one direction, or in seconds.

    Cells that the source does not give are NaN. The diagonal is a copy inside one GPU.
    """

    name: str
    title: str
    machine: str
    tool: str
    link: str
    unit: str
    src: tuple[int, ...]
    dst: tuple[int, ...]
    values: np.ndarray
    source: _sources.Source
    note: str


def _number(file: str, row: dict[str, str], direction: str = "per direction") -> float:
    try:
        found = float(row["value"]) * UNITS[row["unit"]]
    except (ValueError, KeyError):
        raise CourseError(
            _("{file}, line {line}: {value!r} {unit!r} cannot be read.").format(
                file=file, line=row["line"], value=row["value"], unit=row["unit"]
            )
        ) from None
    if row["unit"] == "Gb/s":
        found /= 8
    return found / 2 if direction == "both" else found


@cache
def copies() -> tuple[Copy, ...]:
    """Return every published large copy.

    >>> max(c.measured_Bps for c in copies() if c.link == "pcie5") / 1e9 > 55
    True
    """
    return tuple(
        Copy(
            row["link"], float(row["share"]), row["case"], row["machine"], row["tool"], row["request"],
            _number("copies.csv", row, row["direction"]), row["direction"], int(row["pairs"]),
            _sources.source(row["source"]), row["note"],
        )
        for row in _sources.rows("copies.csv")
    )  # fmt: skip


def series_names() -> list[str]:
    """Return the names of the series.

    >>> "gdrcopy-write" in series_names()
    True
    """
    return [row["series"] for row in _sources.rows("series_index.csv")]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


@cache
def series(name: str) -> Series:
    """Return a series by its name, sorted by size; raises CourseError with the nearest names.

    >>> s = series("rdma-gpu-edr-latency")
    >>> s.message_B[0], round(s.time_s[0] * 1e6, 2)
    (np.float64(2.0), np.float64(1.83))
    """
    index = {row["series"]: row for row in _sources.rows("series_index.csv")}
    head = index[one_of(_("series"), name, index)]
    points = [row for row in _sources.rows("series.csv") if row["series"] == head["series"]]
    message_B = np.array([float(row["message_B"]) for row in points])
    given = np.array([_number("series.csv", row) for row in points])
    if len(points) != int(head["points"]) or not (np.diff(message_B) > 0).all() or not (given > 0).all():
        raise CourseError(_("series.csv: {name} is not complete or not sorted.").format(name=head["series"]))
    time_s, rate_Bps = (given, message_B / given) if head["quantity"] == "time" else (message_B / given, given)
    return Series(
        head["series"], head["title"], head["machine"], head["tool"], head["link"], head["quantity"],
        _frozen(message_B), _frozen(time_s), _frozen(rate_Bps), _sources.source(head["source"]), head["note"],
    )  # fmt: skip


def matrix_names() -> list[str]:
    """Return the names of the matrices.

    >>> "h100-8" in matrix_names()
    True
    """
    return [row["matrix"] for row in _sources.rows("matrices_index.csv")]


@cache
def matrix(name: str) -> Matrix:
    """Return a matrix of pairs by its name; raises CourseError with the nearest names.

    >>> m = matrix("h100-8")
    >>> m.values.shape, m.unit, bool(m.values[0, 1] / 1e9 > 360)
    ((8, 8), 'B/s', True)
    """
    index = {row["matrix"]: row for row in _sources.rows("matrices_index.csv")}
    head = index[one_of(_("matrix"), name, index)]
    cells = [row for row in _sources.rows("matrices.csv") if row["matrix"] == head["matrix"]]
    src = tuple(sorted({int(row["src"]) for row in cells}))
    dst = tuple(sorted({int(row["dst"]) for row in cells}))
    values = np.full((len(src), len(dst)), np.nan)
    for row in cells:
        values[src.index(int(row["src"])), dst.index(int(row["dst"]))] = _number("matrices.csv", row, head["direction"])
    if len(cells) != int(head["cells"]):
        raise CourseError(_("matrices.csv: {name} is not complete.").format(name=head["matrix"]))
    unit = "s" if cells[0]["unit"] == "us" else "B/s"
    return Matrix(
        head["matrix"], head["title"], head["machine"], head["tool"], head["link"], unit, src, dst,
        _frozen(values), _sources.source(head["source"]), head["note"],
    )  # fmt: skip
