"""Requests: what a rank's program may yield, and the log of what then took place."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from course_lib.base.errors import CourseError
from course_lib.base.language import _


class Request:
    """What all requests have in common: they are no answers, and say so where somebody computes with one.

    >>> AllReduce(1.0) + 1
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: AllReduce(…) only asks: write y = yield AllReduce(…), and compute with y.
    """

    __slots__ = ()

    def _no_answer(self, *_others: object, **_options: object) -> None:
        name = type(self).__name__
        raise CourseError(_("{name}(…) only asks: write y = yield {name}(…), and compute with y.").format(name=name))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _no_answer
    __truediv__ = __rtruediv__ = __neg__ = __getitem__ = __array__ = _no_answer


@dataclass(frozen=True, slots=True, eq=False)
class AllReduce(Request):
    """Ask for the sum of `x` over the group; the answer has the shape of x."""

    x: object
    group: tuple[int, ...] | None = None  # ranks, in order; None: all


@dataclass(frozen=True, slots=True, eq=False)
class ReduceScatter(Request):
    """Ask for this rank's part of the sum of `x` over the group, cut along `axis` (which the group has to divide)."""

    x: object
    axis: int = 0
    group: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AllGather(Request):
    """Ask for the parts `x` of all ranks in the group, joined along `axis`."""

    x: object
    axis: int = 0
    group: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Request):
    """Ask for the root's `x` (the others may give None); `root` is a rank number, not a place in the group."""

    x: object
    root: int = 0
    group: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AllToAll(Request):
    """Give one array to each rank of the group and ask for the list of those meant for this rank, in group order."""

    parts: Sequence
    group: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Send(Request):
    """Send `x` to a rank; goes on when that rank receives (answer: None)."""

    x: object
    to: int


@dataclass(frozen=True, slots=True, eq=False)
class Recv(Request):
    """Ask for what rank `source` sends."""

    source: int


@dataclass(frozen=True, slots=True, eq=False)
class SendRecv(Request):
    """Send `x` to one rank and ask for what another sends, both at once."""

    x: object
    to: int
    source: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One communication that took place: message_B as nccl-tests counts it, wire_B summed over all ranks' sends."""

    op: str
    ranks: tuple[int, ...]
    message_B: int
    wire_B: float
    algorithm: str


@dataclass(frozen=True, slots=True)
class Log:
    """Everything that was communicated, in order."""

    entries: tuple[Entry, ...] = field(default=())

    def counts(self, rank: int | None = None) -> dict[str, int]:
        """Number of communications per collective, or of those in which `rank` took part."""
        return dict(Counter(e.op for e in self.entries if rank is None or rank in e.ranks))

    def message_B(self, op: str | None = None, rank: int | None = None) -> int:
        """Sum of the message sizes, of one collective or all, in which `rank` took part."""
        return sum(e.message_B for e in self.entries if op in (None, e.op) and (rank is None or rank in e.ranks))

    def wire_B(self, op: str | None = None) -> float:
        """Bytes that crossed the network in all."""
        return sum(e.wire_B for e in self.entries if op in (None, e.op))


COLLECTIVES = (AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll)
REQUESTS = (*COLLECTIVES, Send, Recv, SendRecv)
