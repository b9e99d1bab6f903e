"""Step: transfers that start together and go on for several repeats, in arrays; the grain of every schedule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ARRAYS = ("src", "dst", "chunk", "reduce", "width", "first", "count")
_LEAST = {"src": 0, "dst": 0, "chunk": 0, "width": 1, "first": 0, "count": 1}
MOST = 1 << 40  # of any number in a step: products of two stay within 64 bits where they are formed
MOST_REPEATS = 1 << 22


def whole_array(name: str, value: object) -> IntArray:
    """Return `value` as int64 (a number or a list), or raise a CourseError.

    >>> whole_array("src", [0, 1.0])
    array([0, 1])
    """
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):  # a ragged list
        array = np.asarray(None)
    if array.size == 0 and array.dtype.kind in "fiu":
        return array.astype(np.int64).reshape(-1)
    whole_floats = (
        array.dtype.kind == "f" and bool((np.abs(array) <= MOST).all()) and bool((array == np.floor(array)).all())
    )
    if array.ndim > 1 or not (array.dtype.kind in "iu" or whole_floats):
        raise CourseError(_("{name} of a step has to be a list of whole numbers.").format(name=name))
    if array.dtype.kind == "u" and int(array.max(initial=0)) > MOST:
        raise CourseError(_("{name} of a step can be at most {most}.").format(name=name, most=MOST))
    return array.astype(np.int64, copy=True)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Transfers that start together and may go on for several repeats, the chunk moving on each time.

    Arrays have one entry per transfer, shape (t,); a single number stands for all of them. In repeat k a transfer is
    at work if first <= k < first + count; it then sends `width` chunks from b + (c - b + shift * (k - first)) % window
    on, where c is its first chunk and b = c // window * window the start of its block. Chunks that run over the end of
    the block go on at its start. Reads of a repeat happen before its writes.

    Errors: CourseError in words for arrays of unequal length, negative or broken numbers, a node that sends to itself,
    or chunks that do not lie in one block.

    >>> step = Step(src=[0, 1, 2], dst=[1, 2, 0], chunk=[0, 1, 2], reduce=True, count=2, shift=-1, window=3)
    >>> step.repeats, step.n_transfers
    (2, 6)
    >>> step.active(1), step.chunk_at(1)
    (array([0, 1, 2]), array([2, 0, 1]))
    """

    src: IntArray  # (t,) sending node
    dst: IntArray  # (t,) receiving node
    chunk: IntArray  # (t,) first chunk sent
    reduce: BoolArray  # (t,) add at the destination, else replace
    width: IntArray = 1  # (t,) chunks per transfer
    first: IntArray = 0  # (t,) repeat in which this transfer begins …
    count: IntArray = 1  # (t,) … and for how many repeats it goes on: pipelines fill and drain
    shift: int = 0  # chunks moved on per repeat, within …
    window: int | None = None  # … a block of this many chunks; None: just the chunks sent (only without shift)

    def __post_init__(self) -> None:
        given = {name: whole_array(name, getattr(self, name)) for name in ARRAYS if name != "reduce"}
        try:
            reduce = np.asarray(self.reduce)
        except (ValueError, TypeError):
            reduce = np.asarray(None)
        if reduce.size == 0:
            reduce = reduce.astype(np.bool_)
        if reduce.ndim > 1 or (
            reduce.dtype != np.bool_ and not (reduce.dtype.kind in "iu" and np.isin(reduce, (0, 1)).all())
        ):
            raise CourseError(_("reduce of a step has to be True (add) or False (replace) for each transfer."))
        given["reduce"] = reduce.astype(np.bool_)
        lengths = {name: array.size for name, array in given.items() if array.ndim}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {size}" for name, size in lengths.items())
            raise CourseError(_("The arrays of a step need one length; here they have {shown}.").format(shown=shown))
        size = next(iter(lengths.values()), 1)
        for name, array in given.items():
            if name in _LEAST and array.size and int(array.min()) < _LEAST[name]:
                raise CourseError(
                    _("{name} of a step is {value}; it has to be at least {bound}.").format(
                        name=name, value=int(array.min()), bound=_LEAST[name]
                    )
                )
            most = MOST_REPEATS if name in ("first", "count") else MOST
            if array.size and int(array.max()) > most:
                raise CourseError(
                    _("{name} of a step is {value}; it can be at most {most}.").format(
                        name=name, value=int(array.max()), most=most
                    )
                )
            array = np.broadcast_to(array, (size,))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "shift", whole("shift", self.shift))
        if self.window is None:
            if self.shift:
                raise CourseError(_("A step with a shift needs a window: the block within which its chunks move."))
            object.__setattr__(self, "window", 1 + int((self.chunk + self.width).max(initial=1)))
        object.__setattr__(self, "window", whole("window", self.window, at_least=1, at_most=4 * MOST))
        if abs(self.shift) > self.window:
            object.__setattr__(self, "shift", self.shift % self.window)
        if self.shift and abs(self.shift) * self.repeats > 1 << 62:
            raise CourseError(_("A shift of {shift} goes too far.").format(shift=self.shift))
        to_itself = np.flatnonzero(self.src == self.dst)
        if to_itself.size:
            i = int(to_itself[0])
            raise CourseError(
                _("Transfer {i} goes from node {node} to itself; a chunk stays where it is without a transfer.").format(
                    i=i, node=int(self.src[i])
                )
            )
        over = np.flatnonzero(self.chunk % self.window + self.width > self.window)
        if over.size:
            i = int(over[0])
            raise CourseError(
                _("Transfer {i} sends {width} chunks from {chunk} on, over the end of its block of {window}.").format(
                    i=i, width=int(self.width[i]), chunk=int(self.chunk[i]), window=self.window
                )
            )

    def __len__(self) -> int:
        return self.src.size

    @property
    def repeats(self) -> int:
        """Number of repeats, the idle ones of late starters included."""
        return int((self.first + self.count).max(initial=0))

    @property
    def n_transfers(self) -> int:
        """Transfers over all repeats."""
        return int(self.count.sum())

    @property
    def chunk_moves(self) -> int:
        """Chunks moved over all repeats: the sum of width × count."""
        return int(np.dot(self.count, self.width))

    def active(self, repeat: int) -> IntArray:
        """Indices (into the step's arrays) of the transfers at work in `repeat`."""
        return np.flatnonzero((self.first <= repeat) & (repeat < self.first + self.count))

    def chunk_at(self, repeat: int, which: IntArray | None = None) -> IntArray:
        """First chunk that each active transfer (or each of `which`) sends in `repeat`."""
        which = self.active(repeat) if which is None else which
        chunk, first = self.chunk[which], self.first[which]
        block = chunk // self.window * self.window
        return block + (chunk - block + self.shift * (repeat - first)) % self.window

    def moves(self, repeat: int) -> "Moves":
        """Every single chunk that moves in `repeat`, wide transfers written out."""
        which = self.active(repeat)
        chunk, width = self.chunk_at(repeat, which), self.width[which]
        src, dst, reduce = self.src[which], self.dst[which], self.reduce[which]
        if (width != 1).any():
            rows = np.repeat(np.arange(which.size), width)
            inside = np.arange(rows.size) - np.repeat(np.cumsum(width) - width, width)
            block = chunk[rows] // self.window * self.window
            chunk = block + (chunk[rows] - block + inside) % self.window
            which, src, dst, reduce = which[rows], src[rows], dst[rows], reduce[rows]
        return Moves(which, src, dst, chunk, reduce)


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """The chunks that move in one repeat, one entry each, and the transfer that each belongs to."""

    transfer: IntArray
    src: IntArray
    dst: IntArray
    chunk: IntArray
    reduce: BoolArray
