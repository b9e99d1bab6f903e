"""Schedule: one description of a collective, which executing, proving, counting, timing and drawing all read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.meaning import buffers_B, canonical_op
from course_lib.comm.step import ARRAYS, MOST, IntArray, Moves, Step, whole_array

__all__ = ["Moves", "Schedule", "Step", "blocks_of"]


MAX_TRANSFERS = 1 << 26  # beyond this a schedule is a mistake, not a plan: it would not fit in memory
_ADD = {"add": True, "reduce": True, "sum": True, "+": True}
_COPY = {"copy": False, "replace": False, "move": False, "=": False}


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
        put(self, "n_ranks", whole("n_ranks", self.n_ranks, at_least=1, at_most=1 << 31))
        put(self, "n_nodes", whole("n_nodes", self.n_nodes, at_least=self.n_ranks, at_most=1 << 32))
        put(self, "chunks", whole("chunks", self.chunks, at_least=1, at_most=MOST))
        put(self, "root", whole("root", self.root, at_least=0, at_most=self.n_ranks - 1))
        put(self, "steps", tuple(_listed(_("The steps"), self.steps)))
        n_switches = self.n_nodes - self.n_ranks
        for name in ("switch_rank", "switch_level"):
            value = getattr(self, name)
            value = np.zeros(n_switches, dtype=np.int64) if value is None else whole_array(name, value).reshape(-1)
            if value.size != n_switches:
                raise CourseError(
                    _("{name} has {size} entries for {n} switches.").format(name=name, size=value.size, n=n_switches)
                )
            put(self, name, value)
        blocks = blocks_of(self.op, self.n_ranks)
        if self.chunks % blocks:
            raise CourseError(
                _(
                    "{op} on {n} ranks shares out {blocks} equal parts; the number of chunks, {chunks}, is no multiple of {blocks}."
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
                _("Step {i}: the number of chunks, {chunks}, is no multiple of its window of {window}.").format(
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
        # Looked up once: a schedule by hand may have thousands of transfers.
        place, source, destination = _("Step {i}, transfer {t}"), _("source"), _("destination")
        for i, transfers in enumerate(_listed(_("The steps"), steps)):
            rows = _listed(_("Step {i}").format(i=i), transfers)
            for t, row in enumerate(rows):
                where = place.format(i=i, t=t)
                if not isinstance(row, (tuple, list)) or len(row) != 4:
                    raise CourseError(
                        _('{where} is {row!r}; (source, destination, chunk, "add" or "copy") is expected.').format(
                            where=where, row=row
                        )
                    )
                for value, what in ((row[0], source), (row[1], destination)):
                    whole(f"{where}: {what}", value, at_least=0, at_most=n_ranks - 1)
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
        """Bytes that each node sends, shape (n_nodes,), or (…, n_nodes) for an array of messages."""
        return np.multiply.outer(self.chunk_B(message_B), self._moved(lambda step: step.src))

    def received_B(self, message_B: float) -> NDArray[np.float64]:
        """Bytes that each node receives, shape (n_nodes,), or (…, n_nodes) for an array of messages."""
        return np.multiply.outer(self.chunk_B(message_B), self._moved(lambda step: step.dst))

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
                {name: getattr(step, name).tolist() for name in ARRAYS} | {"shift": step.shift, "window": step.window}
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
            if not isinstance(parts, dict) or set(parts) != {*ARRAYS, "shift", "window"}:
                raise CourseError(_("Step {i} in arrays needs: {keys}.").format(i=i, keys=", ".join(ARRAYS)))
            steps.append(Step(**parts))
        return cls(*(arrays[key] for key in keys[:-1]), tuple(steps), name=str(arrays.get("name", ""))[:80], **extra)

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
    """Equal parts that a collective shares out: n² for all_to_all, n where ranks own shards, else 1.

    >>> [blocks_of(op, 4) for op in ("all_to_all", "all_gather", "all_reduce")]
    [16, 4, 1]
    """
    if op == "all_to_all":
        return n_ranks * n_ranks
    return 1 if op in ("all_reduce", "broadcast", "reduce") else n_ranks
