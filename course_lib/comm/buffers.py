"""Buffers: how a rank's array is cut into a schedule's chunks and put together again, padded where it has to be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.meaning import owner
from course_lib.comm.schedule import Schedule

_SHARED_OUT = ("reduce_scatter", "scatter", "all_to_all")  # the input is cut into one part per rank
_KEEPS_SHAPE = ("all_reduce", "broadcast", "reduce", "send_recv")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of one rank's array go: parts per rank, elements per part and per chunk.

    >>> from course_lib.comm.schedule import Schedule
    >>> layout = Layout.of(Schedule("reduce_scatter", 4, 4, 8, ()), [[1, 2, 3, 4, 5]] * 4)
    >>> layout.part_elements, layout.chunk_elements
    (2, 1)
    """

    schedule: Schedule
    shape: tuple[int, ...]
    dtype: np.dtype
    part_elements: int
    pieces: int  # chunks per part

    @property
    def elements(self) -> int:
        """Elements in the array of one rank."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def chunk_elements(self) -> int:
        """Elements per chunk, the last ones padded."""
        return -(-self.part_elements // self.pieces)

    @classmethod
    def of(cls, schedule: Schedule, data: Sequence) -> "Layout":
        """Look at the arrays and check that there is one per rank, of one shape and dtype."""
        op, n = schedule.op, schedule.n_ranks
        rows = _rows(schedule, data)
        arrays = [row for row in rows if row is not None]
        if not arrays:
            raise CourseError(_("There is no data: rank {root} has to bring an array.").format(root=schedule.root))
        shapes, dtypes = {a.shape for a in arrays}, {a.dtype for a in arrays}
        if len(shapes) > 1 or len(dtypes) > 1:
            shown = ", ".join(str(s) for s in sorted(shapes)) + "; " + ", ".join(sorted(str(d) for d in dtypes))
            raise CourseError(_("All ranks need arrays of one shape and dtype; here: {shown}.").format(shown=shown))
        if arrays[0].dtype.kind in "OSUM":
            raise CourseError(_("Arrays of numbers are expected, not {dtype}.").format(dtype=arrays[0].dtype))
        size = arrays[0].size
        part = -(-size // n) if op in _SHARED_OUT else size
        parts = n * n if op == "all_to_all" else 1 if op in ("all_reduce", "broadcast", "reduce") else n
        return cls(schedule, arrays[0].shape, arrays[0].dtype, part, schedule.chunks // parts)

    def pack(self, data: Sequence) -> np.ndarray:
        """Return the first state, shape (n_nodes · chunks, chunk_elements); what a rank does not have is zero."""
        s = self.schedule
        state = np.zeros((s.n_nodes, s.chunks, self.chunk_elements), dtype=self.dtype)
        whose = owner(s.op, s.n_ranks, s.chunks, s.root)
        for rank, row in enumerate(_rows(s, data)):
            if row is not None:
                mine = np.flatnonzero((whose < 0) | (whose == rank))
                parts = mine.size // self.pieces
                padded = np.zeros(parts * self.part_elements, dtype=self.dtype)
                padded[: row.size] = row.reshape(-1)
                spread = np.zeros((parts, self.pieces * self.chunk_elements), dtype=self.dtype)
                spread[:, : self.part_elements] = padded.reshape(parts, self.part_elements)
                state[rank, mine] = spread.reshape(mine.size, self.chunk_elements)
        return state.reshape(s.n_nodes * s.chunks, self.chunk_elements)

    def unpack(self, state: np.ndarray) -> list[np.ndarray | None]:
        """Return what each rank holds at the end of the collective, padding cut off."""
        s = self.schedule
        n, state = s.n_ranks, state.reshape(s.n_nodes, s.chunks, self.chunk_elements)
        results: list[np.ndarray | None] = []
        for rank in range(n):
            if s.op in ("reduce", "gather") and rank != s.root:
                results.append(None)
                continue
            mine = state[rank].reshape(s.chunks // self.pieces, self.pieces * self.chunk_elements)[
                :, : self.part_elements
            ]
            if s.op == "send_recv":
                mine = mine[(rank - 1) % n]
            elif s.op in _SHARED_OUT:
                begin = rank * self.part_elements
                size = max(0, min(self.part_elements, self.elements - begin))
                mine = mine[rank::n][:, :size] if s.op == "all_to_all" else mine[rank, :size]
            mine = mine.reshape(-1).copy()
            results.append(mine.reshape(self.shape) if s.op in _KEEPS_SHAPE else mine)
        return results


def _rows(schedule: Schedule, data: Sequence) -> list[np.ndarray | None]:
    if isinstance(data, (str, bytes, dict)) or not hasattr(data, "__len__") or len(data) != schedule.n_ranks:
        n = len(data) if hasattr(data, "__len__") else type(data).__name__
        raise CourseError(
            _("{op} on {n} ranks needs {n} arrays, one per rank; here: {given}.").format(
                op=schedule.op, n=schedule.n_ranks, given=n
            )
        )
    rooted = schedule.op in ("broadcast", "scatter")
    rows = [None if rooted and rank != schedule.root else data[rank] for rank in range(schedule.n_ranks)]
    if any(row is None for rank, row in enumerate(rows) if not rooted or rank == schedule.root):
        raise CourseError(_("Every rank that sends has to bring an array; one is None."))
    return [None if row is None else np.asarray(row) for row in rows]
