"""Schedule: one description of a collective, which executing, proving, counting, timing and drawing all read."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.meaning import buffers_B, canonical_op

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MAX_TRANSFERS = 1 << 26  # beyond this a schedule is a mistake, not a plan: it would not fit in memory
_ARRAYS = ("src", "dst", "chunk", "reduce", "width", "first", "count")
_LEAST = {"src": 0, "dst": 0, "chunk": 0, "width": 1, "first": 0, "count": 1}
_ADD = {"add": True, "reduce": True, "sum": True, "+": True}
_COPY = {"copy": False, "replace": False, "move": False, "=": False}


def _whole_array(name: str, value: object) -> IntArray:
    array = np.asarray(value)
    if array.size == 0 and array.dtype.kind in "fiu":
        return array.astype(np.int64).reshape(-1)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise CourseError(_("{name} of a step has to be a list of whole numbers.").format(name=name))
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
        given = {name: _whole_array(name, getattr(self, name)) for name in _ARRAYS if name != "reduce"}
        reduce = np.asarray(self.reduce)
        if reduce.dtype != np.bool_ and not (reduce.dtype.kind in "iu" and np.isin(reduce, (0, 1)).all()):
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
            array = np.broadcast_to(array, (size,))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "shift", whole("shift", self.shift))
        if self.window is None:
            if self.shift:
                raise CourseError(_("A step with a shift needs a window: the block within which its chunks move."))
            object.__setattr__(self, "window", 1 + int((self.chunk + self.width).max(initial=1)))
        object.__setattr__(self, "window", whole("window", self.window, at_least=1))
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


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A collective as steps: who sends which chunk to whom, and whether it is added or replaces.

    Nodes 0 … n_ranks-1 are ranks, nodes from n_ranks up are switches that can add; `switch_rank` and `switch_level`
    say for each of these a rank below it and its level (0 = in the box). A chunk keeps its index wherever it lives;
    `chunks` of them are all the data of the collective (all_to_all numbers them source · n + destination). `root` is
    the rank that rooted collectives start or end at.

    Errors: CourseError for an unknown collective, nodes or chunks that do not exist, or a chunk count that the
    collective cannot share out.

    >>> pair = Schedule.from_transfers("all_reduce", 2, 2, [
    ...     [(0, 1, 1, "add"), (1, 0, 0, "add")],
    ...     [(0, 1, 0, "copy"), (1, 0, 1, "copy")]])
    >>> print(pair)
    all_reduce on 2 ranks, 2 chunks, by hand: 4 transfers in 2 repeats
    step 0: 0→1 chunk 1 add; 1→0 chunk 0 add
    step 1: 0→1 chunk 0 copy; 1→0 chunk 1 copy
    """

    op: str
    n_ranks: int
    n_nodes: int
    chunks: int
    steps: tuple[Step, ...]
    name: str = ""
    root: int = 0
    switch_rank: IntArray | None = field(default=None, repr=False)
    switch_level: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "op", canonical_op(self.op))
        put(self, "n_ranks", whole("n_ranks", self.n_ranks, at_least=1))
        put(self, "n_nodes", whole("n_nodes", self.n_nodes, at_least=self.n_ranks))
        put(self, "chunks", whole("chunks", self.chunks, at_least=1))
        put(self, "root", whole("root", self.root, at_least=0, at_most=self.n_ranks - 1))
        put(self, "steps", tuple(self.steps))
        n_switches = self.n_nodes - self.n_ranks
        for name in ("switch_rank", "switch_level"):
            value = getattr(self, name)
            value = np.zeros(n_switches, dtype=np.int64) if value is None else _whole_array(name, value).reshape(-1)
            if value.size != n_switches:
                raise CourseError(
                    _("{name} has {size} entries for {n} switches.").format(name=name, size=value.size, n=n_switches)
                )
            put(self, name, value)
        blocks = blocks_of(self.op, self.n_ranks)
        if self.chunks % blocks:
            raise CourseError(
                _(
                    "{op} on {n} ranks shares out {blocks} equal parts; {chunks} chunks is no multiple of {blocks}."
                ).format(op=self.op, n=self.n_ranks, blocks=blocks, chunks=self.chunks)
            )
        total = 0
        for i, step in enumerate(self.steps):
            if not isinstance(step, Step):
                raise CourseError(_("Step {i} is a {kind}; a Step is expected.").format(i=i, kind=type(step).__name__))
            total += len(step)
            self._check(i, step)
        if total > MAX_TRANSFERS:
            raise CourseError(
                _("This schedule has {total} transfers; at most {most} fit.").format(total=total, most=MAX_TRANSFERS)
            )

    def _check(self, i: int, step: Step) -> None:
        for name, values in (("src", step.src), ("dst", step.dst)):
            if values.size and int(values.max()) >= self.n_nodes:
                t = int(np.argmax(values))
                raise CourseError(
                    _("Step {i}, transfer {t}: {name} is node {node}; the nodes are 0 … {last}.").format(
                        i=i, t=t, name=name, node=int(values[t]), last=self.n_nodes - 1
                    )
                )
        last = step.chunk + step.width - 1
        if last.size and int(last.max()) >= self.chunks:
            t = int(np.argmax(last))
            raise CourseError(
                _("Step {i}, transfer {t}: chunk {chunk} does not exist; the chunks are 0 … {last}.").format(
                    i=i, t=t, chunk=int(last[t]), last=self.chunks - 1
                )
            )
        if step.shift and self.chunks % step.window:
            raise CourseError(
                _("Step {i}: {chunks} chunks are no multiple of its window of {window}.").format(
                    i=i, chunks=self.chunks, window=step.window
                )
            )

    @classmethod
    def from_transfers(
        cls,
        op: str,
        n_ranks: int,
        chunks: int,
        steps: Sequence[Iterable[tuple]],
        *,
        name: str = "by hand",
        root: int = 0,
    ) -> "Schedule":
        """Build a schedule from lists: one list per step, one (source, destination, chunk, "add" or "copy") per transfer.

        Steps without transfers are left out.

        >>> Schedule.from_transfers("broadcast", 2, 1, [[(0, 1, 0, "paste")]])
        Traceback (most recent call last):
        ...
        course_lib.base.errors.CourseError: Step 0, transfer 0: 'paste' is neither "add" nor "copy".
        """
        built, kinds = [], {**_ADD, **_COPY}
        n_ranks, chunks = whole("n_ranks", n_ranks, at_least=1), whole("chunks", chunks, at_least=1)
        for i, transfers in enumerate(_listed(_("The steps"), steps)):
            rows = _listed(_("Step {i}").format(i=i), transfers)
            for t, row in enumerate(rows):
                where = _("Step {i}, transfer {t}").format(i=i, t=t)
                if not isinstance(row, (tuple, list)) or len(row) != 4:
                    raise CourseError(
                        _('{where} is {row!r}; (source, destination, chunk, "add" or "copy") is expected.').format(
                            where=where, row=row
                        )
                    )
                for value, what, n in ((row[0], _("source"), n_ranks), (row[1], _("destination"), n_ranks)):
                    whole(f"{where}: {what}", value, at_least=0, at_most=n - 1)
                whole(f"{where}: chunk", row[2], at_least=0, at_most=chunks - 1)
                if not isinstance(row[3], str) or row[3].lower() not in kinds:
                    raise CourseError(
                        _('{where}: {kind!r} is neither "add" nor "copy".').format(where=where, kind=row[3])
                    )
                if row[0] == row[1]:
                    raise CourseError(_("{where} goes from rank {r} to itself.").format(where=where, r=row[0]))
            if rows:
                src, dst, chunk, kind = zip(*rows)
                built.append(Step(src, dst, chunk, [kinds[k.lower()] for k in kind], window=chunks))
        return cls(op, n_ranks, n_ranks, chunks, tuple(built), name, root)

    @property
    def repeats(self) -> int:
        """Number of repeats over all steps: the rounds that follow one another."""
        return sum(step.repeats for step in self.steps)

    @property
    def n_transfers(self) -> int:
        """Number of transfers over all repeats."""
        return sum(step.n_transfers for step in self.steps)

    def chunk_B(self, message_B: float):
        """Bytes in one chunk (fractional) for `message_B` as nccl-tests counts it; broadcasts.

        >>> Schedule("all_to_all", 4, 4, 16, ()).chunk_B(400)
        100.0
        """
        return buffers_B(self.op, finite("message_B", message_B, at_least=0, unit="B"), self.n_ranks) / self.chunks

    def sent_B(self, message_B: float) -> NDArray[np.float64]:
        """Bytes that each node sends, shape (n_nodes,)."""
        return self._moved(lambda step: step.src) * self.chunk_B(message_B)

    def received_B(self, message_B: float) -> NDArray[np.float64]:
        """Bytes that each node receives, shape (n_nodes,)."""
        return self._moved(lambda step: step.dst) * self.chunk_B(message_B)

    def _moved(self, end) -> NDArray[np.float64]:
        moved = np.zeros(self.n_nodes)
        for step in self.steps:
            moved += np.bincount(end(step), weights=(step.width * step.count).astype(float), minlength=self.n_nodes)
        return moved

    def each_repeat(self) -> Iterator[tuple[int, int, Moves]]:
        """Give (step number, repeat, moves) in order, written out one repeat at a time."""
        for i, step in enumerate(self.steps):
            for k in range(step.repeats):
                yield i, k, step.moves(k)

    def then(self, other: "Schedule", *, op: str | None = None, name: str | None = None) -> "Schedule":
        """This schedule followed by another one on the same nodes and chunks."""
        if (self.n_ranks, self.n_nodes, self.chunks) != (other.n_ranks, other.n_nodes, other.chunks):
            raise CourseError(_("Only schedules with the same ranks, nodes and chunks can follow one another."))
        return Schedule(
            op or self.op, self.n_ranks, self.n_nodes, self.chunks, self.steps + other.steps,
            self.name if name is None else name, self.root, self.switch_rank, self.switch_level,
        )  # fmt: skip

    def to_arrays(self) -> dict:
        """Return plain numbers and lists, ready for JSON; `from_arrays` reads them back.

        >>> import json
        >>> one = Schedule.from_transfers("broadcast", 2, 1, [[(0, 1, 0, "copy")]])
        >>> str(Schedule.from_arrays(json.loads(json.dumps(one.to_arrays())))) == str(one)
        True
        """
        return {
            "op": self.op, "n_ranks": self.n_ranks, "n_nodes": self.n_nodes, "chunks": self.chunks, "name": self.name,
            "root": self.root, "switch_rank": self.switch_rank.tolist(), "switch_level": self.switch_level.tolist(),
            "steps": [
                {name: getattr(step, name).tolist() for name in _ARRAYS} | {"shift": step.shift, "window": step.window}
                for step in self.steps
            ],
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: dict) -> "Schedule":
        """Rebuild and check a schedule from `to_arrays`; anything unexpected is a CourseError."""
        keys = ("op", "n_ranks", "n_nodes", "chunks", "steps")
        if not isinstance(arrays, dict) or any(key not in arrays for key in keys):
            raise CourseError(_("A schedule in arrays needs: {keys}.").format(keys=", ".join(keys)))
        extra = {key: arrays[key] for key in ("root", "switch_rank", "switch_level") if key in arrays}
        steps = []
        for i, parts in enumerate(_listed(_("The steps"), arrays["steps"])):
            if not isinstance(parts, dict) or set(parts) != {*_ARRAYS, "shift", "window"}:
                raise CourseError(_("Step {i} in arrays needs: {keys}.").format(i=i, keys=", ".join(_ARRAYS)))
            steps.append(Step(**parts))
        return cls(*(arrays[key] for key in keys[:-1]), tuple(steps), name=str(arrays.get("name", "")), **extra)

    def __str__(self) -> str:
        plural = lambda n, word: f"{n} {word}" + ("" if n == 1 else "s")  # noqa: E731
        switches = self.n_nodes - self.n_ranks
        lines = [
            f"{self.op} on {plural(self.n_ranks, 'rank')}"
            + (f" and {plural(switches, 'switch node')}" if switches else "")
            + f", {plural(self.chunks, 'chunk')}, {self.name or '?'}: "
            + f"{plural(self.n_transfers, 'transfer')} in {plural(self.repeats, 'repeat')}"
        ]
        lines += [f"step {i}: {_step_line(step)}" for i, step in enumerate(self.steps)]
        return "\n".join(lines)


def _step_line(step: Step, most: int = 6) -> str:
    words = []
    for t in range(min(len(step), most)):
        chunk, width = int(step.chunk[t]), int(step.width[t])
        chunks = f"chunk {chunk}" if width == 1 else f"chunks {chunk}…{chunk + width - 1}"
        when = "" if step.repeats == 1 else f" ({int(step.first[t])}+{int(step.count[t])})"
        words.append(f"{int(step.src[t])}→{int(step.dst[t])} {chunks} {'add' if step.reduce[t] else 'copy'}{when}")
    if len(step) > most:
        words.append(f"… {len(step) - most} more")
    moving = f"; {step.repeats} repeats, chunk {step.shift:+d} each, window {step.window}" if step.repeats > 1 else ""
    return "; ".join(words) + moving


def _listed(what: str, value: object) -> list:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise CourseError(_("{what} has to be a list.").format(what=what))
    return list(value)


def blocks_of(op: str, n_ranks: int) -> int:
    """Equal parts that a collective shares out: n² for all_to_all, n where ranks own shards, else 1."""
    if op == "all_to_all":
        return n_ranks * n_ranks
    return 1 if op in ("all_reduce", "broadcast", "reduce") else n_ranks


def lift(
    schedule: Schedule, node_map: IntArray, chunk_base: IntArray, chunk_scale: int = 1, chunk_width: int | None = None
) -> tuple[Step, ...]:
    """Tile a schedule over groups: its steps with every node and chunk renamed, all groups at the same time.

    node_map (g, n_nodes): the new node for each old one, per group. chunk_base (g,): where the group's chunks begin.
    Chunk c becomes the `chunk_width` chunks from chunk_base + c · chunk_scale on (chunk_width: chunk_scale unless given;
    a smaller one leaves gaps that belong to other groups). Blocks have to stay blocks: a base is a multiple of the
    lifted window, or lies within the first chunk_scale chunks of one.

    >>> swap = Schedule.from_transfers("all_gather", 2, 2, [[(0, 1, 0, "copy"), (1, 0, 1, "copy")]])
    >>> lifted = lift(swap, [[0, 1], [2, 3]], [0, 2])[0]
    >>> lifted.src, lifted.dst, lifted.chunk
    (array([0, 1, 2, 3]), array([1, 0, 3, 2]), array([0, 1, 2, 3]))
    """
    node_map = np.asarray(node_map, dtype=np.int64)
    base = np.asarray(chunk_base, dtype=np.int64)
    scale = whole("chunk_scale", chunk_scale, at_least=1)
    wide = scale if chunk_width is None else whole("chunk_width", chunk_width, at_least=1, at_most=scale)
    if node_map.ndim != 2 or node_map.shape[1] != schedule.n_nodes or base.shape != node_map.shape[:1]:
        raise CourseError(
            _("node_map needs shape (groups, {n}) and chunk_base (groups,); they have {a} and {b}.").format(
                n=schedule.n_nodes, a=node_map.shape, b=base.shape
            )
        )
    lifted = []
    for i, step in enumerate(schedule.steps):
        window = step.window if schedule.chunks % step.window == 0 else schedule.chunks
        if step.shift and (base % (window * scale) >= scale).any():
            raise CourseError(
                _("Step {i} moves chunks in blocks of {w}; a group cannot begin at chunk {b}.").format(
                    i=i, w=window * scale, b=int(base[base % (window * scale) >= scale][0])
                )
            )
        parts = {name: getattr(step, name) for name in _ARRAYS}
        if wide < scale and (step.width > 1).any():
            if step.shift:
                raise CourseError(_("Step {i} has wide, moving transfers; they cannot be spread.").format(i=i))
            rows = np.repeat(np.arange(len(step)), step.width)
            inside = np.arange(rows.size) - np.repeat(np.cumsum(step.width) - step.width, step.width)
            parts = {name: array[rows] for name, array in parts.items()}
            parts["chunk"], parts["width"] = parts["chunk"] + inside, np.int64(1)
        tiled = {name: _tile(parts[name], len(base)) for name in ("reduce", "first", "count")}
        tiled["width"] = _tile(np.asarray(parts["width"]) * wide, len(base))
        chunk = (base[:, None] + parts["chunk"][None, :] * scale).ravel()
        lifted_window = window * scale if step.shift else None
        lifted.append(
            Step(
                node_map[:, parts["src"]].ravel(),
                node_map[:, parts["dst"]].ravel(),
                chunk,
                shift=step.shift * scale,
                window=lifted_window,
                **tiled,
            )  # fmt: skip
        )
    return tuple(lifted)


def _tile(array: np.ndarray, times: int) -> np.ndarray:
    """Repeat (t,) for every group, or keep one number where all are equal: 131,072 ranks stay cheap."""
    if array.size and (array == array.flat[0]).all():
        return array.flat[0]
    return np.tile(array, times)


def common_multiple(*numbers: int) -> int:
    """Return the least common multiple: the chunks that several pipelines can share."""
    return math.lcm(*numbers)
