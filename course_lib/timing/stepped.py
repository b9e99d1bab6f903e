"""Stepped time: a barrier after every repeat of a schedule; the fullest link and the longest way set the pace."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.meaning import buffers_B
from course_lib.comm.schedule import Schedule, Step
from course_lib.fabric.routes import Routes, routes
from course_lib.fabric.topology import Topology, link_name

MAX_SPANS = 20_000  # changes of the active transfers that are priced before a schedule is left to its closed form


@dataclass(frozen=True, slots=True)
class Timing:
    """The stepped time of a schedule: `fixed_s` + `per_byte_s` · message, and what sets it, span by span.

    A span is a run of repeats with the same transfers at work. Its entries: the step it belongs to (g,), how many repeats
    it lasts (g,), the longest way's latency (g,), seconds per byte of message on the fullest link (g,), that link (g,), and
    whether any transfer leaves its host (g,).
    """

    fixed_s: float
    per_byte_s: float
    step: NDArray[np.int64]
    repeats: NDArray[np.int64]
    latency_s: NDArray[np.float64]
    second_per_B: NDArray[np.float64]
    link: NDArray[np.int64]
    crosses: NDArray[np.bool_]
    topology: Topology

    def time_s(self, message_B: ArrayLike):
        """Seconds for a message, or an array of messages."""
        return self.fixed_s + self.per_byte_s * finite("message_B", message_B, at_least=0, unit="B")

    def bottleneck(self, step: int) -> str:
        """The name of the link that takes longest in a step of the schedule; "" where nothing moves."""
        mine = np.flatnonzero(self.step == whole("step", step, at_least=0))
        if not mine.size:
            return ""
        longest = mine[np.argmax(self.second_per_B[mine] * self.repeats[mine])]
        return link_name(self.topology, int(self.link[longest]))

    @property
    def slowest_link(self) -> str:
        """The name of the link on which most of the time goes, over all steps."""
        if not self.link.size:
            return ""
        seconds = np.bincount(self.link, weights=self.second_per_B * self.repeats)
        return link_name(self.topology, int(np.argmax(seconds)))


def stepped(
    schedule: Schedule,
    topology: Topology,
    placement: ArrayLike | None = None,
    *,
    choice: str = "adaptive",
    seed: int = 0,
) -> Timing:
    """Time a schedule on a machine, repeat by repeat.

    All transfers of a repeat start together; it ends when the last has arrived: the longest way's latency plus the fullest
    link's bytes over its bandwidth. Repeats with the same transfers are priced once; where transfers begin or end,
    only their bytes are added or taken away.

    Args:
        schedule: what moves.
        topology: the machine.
        placement: (n_nodes,) the vertex of every rank and switch node; None: rank i on GPU i, switches as
            `place.switches` finds them.
        choice: how the network picks among its paths: `adaptive`, `fixed` or `hashed`.
        seed: of the hash.

    Raises:
        CourseError: a placement that does not fit, a pair that nothing joins, or more spans than can be priced.

    Validity: no overlap between repeats and no start-up cost beyond the links' latency, so a pipeline's time depends on its
    number of pieces. Equal to the closed forms where both apply; never below the time the fullest link needs for all its
    bytes.

    >>> from course_lib.comm import ring
    >>> from course_lib.fabric.scaleup import simple_host
    >>> t = stepped(ring.all_reduce(4), simple_host("switch", 4, 100e9, 1e-6))
    >>> round(t.time_s(4e8) * 1e6, 6)  # 6 steps of 1 µs and 1 ms each
    6006.0
    """
    from course_lib.timing.place import switches

    where = switches(schedule, topology) if placement is None else np.asarray(placement)
    if where.shape != (schedule.n_nodes,) or where.dtype.kind not in "iu":
        raise CourseError(
            _("placement holds {n} vertices; the schedule has {m} nodes.").format(n=where.size, m=schedule.n_nodes)
        )
    ranks = where[: schedule.n_ranks]
    if len(np.unique(ranks)) < len(ranks):
        raise CourseError(_("placement puts two ranks on one vertex; every rank has a GPU of its own."))
    unit_B = float(buffers_B(schedule.op, 1.0, schedule.n_ranks)) / schedule.chunks
    spans: list[tuple] = []
    priced: list[tuple[Step, list[tuple]]] = []
    for number, step in enumerate(schedule.steps):
        if len(step):
            known = next((found for other, found in priced if _alike(step, other)), None)
            found = _price(step, number, topology, where, unit_B, choice, seed) if known is None else known
            priced.append((step, found))
            spans += [(number, *span) for span in found]
    columns = list(zip(*spans, strict=True)) if spans else [()] * 6
    kinds = (np.int64, np.int64, np.float64, np.float64, np.int64, bool)
    step, repeats, latency, second, link, crosses = (
        np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)
    )
    return Timing(
        float(repeats @ latency), float(repeats @ second), step, repeats, latency, second, link, crosses, topology
    )


def _alike(a: Step, b: Step) -> bool:
    """Whether two steps put the same bytes on the same ways at the same repeats, whichever chunks they are."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("src", "dst", "width", "first", "count"))


class _Changing:
    """Loads of all links while transfers come and go; knows the fullest link and the longest way after every change.

    The fullest of 1,024 links at a time is kept, so that a change costs what it touches and not all links.
    """

    BITS = 10
    SPARSE = 64  # fewer than one transfer for so many links: sums are made by sorting, not by a table of all links

    def __init__(self, topology: Topology, paths: Routes, weight, away) -> None:
        self.start, self.first, self.count, self.away = paths.start, paths.first, paths.count, away
        self.part = np.repeat(weight, np.diff(paths.start)) * paths.share
        blocks = (topology.n_links >> self.BITS) + 1
        self.inverse = 1 / topology.bandwidth_Bps
        self.load = np.zeros(topology.n_links)
        self.second = np.zeros((blocks, 1 << self.BITS))
        self.top = np.zeros(blocks)
        self.latencies, self.which = np.unique(paths.latency_s, return_inverse=True)
        self.active = np.zeros(len(self.latencies), np.int64)
        self.crossing = 0

    def bytes_of(self, some: slice | NDArray) -> tuple[NDArray, NDArray]:
        """Return (links, bytes per byte of message) of transfers, a slice of them or their numbers; a link may come twice."""
        if isinstance(some, slice):
            runs: slice | NDArray = slice(self.start[some.start], self.start[some.stop])
        else:
            length = np.diff(self.start)[some]
            before = np.cumsum(length) - length
            runs = np.arange(length.sum()) + np.repeat(self.start[some] - before, length)
        first, count, part = self.first[runs], self.count[runs], self.part[runs]
        links, loads = [np.zeros(0, np.int64)], [np.zeros(0)]  # a way from a vertex to itself has no links
        for width in np.flatnonzero(np.bincount(count)):
            # Wide runs begin at few places: each place is summed once, then laid over its links.
            mine = count == width
            places, lump = self._summed(first[mine], part[mine])
            links.append((places[:, None] + np.arange(width)).ravel())
            loads.append(np.repeat(lump, width))
        return np.concatenate(links), np.concatenate(loads)

    def _summed(self, first: NDArray, part: NDArray) -> tuple[NDArray, NDArray]:
        if len(first) * self.SPARSE > len(self.load):
            lump = np.bincount(first, part)
            places = np.flatnonzero(lump)
            return places, lump[places]
        places, which = np.unique(first, return_inverse=True)
        return places, np.bincount(which, part, len(places))

    def change(self, some: slice | NDArray, loads: tuple[NDArray, NDArray], sign: int) -> None:
        """Add transfers with their `bytes_of` (sign 1), or take them away (−1)."""
        self.active += sign * np.bincount(self.which[some], minlength=len(self.active))
        self.crossing += sign * int(np.count_nonzero(self.away[some]))
        links, part = loads
        np.add.at(self.load, links, sign * part)
        self.second.reshape(-1)[links] = self.load[links] * self.inverse[links]
        blocks = np.flatnonzero(np.bincount(links >> self.BITS, minlength=len(self.top)))
        self.top[blocks] = self.second[blocks].max(axis=1)

    def span(self) -> tuple[float, float, int, bool]:
        """Return (longest latency, seconds per byte on the fullest link, that link, whether anything leaves its host)."""
        active = np.flatnonzero(self.active)
        if not active.size:
            return 0.0, 0.0, 0, False
        block = int(np.argmax(self.top))
        inner = int(np.argmax(self.second[block]))
        second = float(self.second[block, inner])
        return float(self.latencies[active[-1]]), second, (block << self.BITS) + inner, self.crossing > 0


def _price(step: Step, number: int, topology: Topology, where, unit_B: float, choice: str, seed: int) -> list[tuple]:
    """Spans (repeats, latency, seconds per byte, link, crosses) of one step."""
    begins, ends = np.bincount(step.first), np.bincount(step.first + step.count)
    marks = np.union1d(np.flatnonzero(begins), np.flatnonzero(ends))
    marks = marks if marks[0] == 0 else np.concatenate([[0], marks])
    if len(marks) > MAX_SPANS:
        raise CourseError(
            _("Step {i} changes its transfers {n} times; that is too long to price. Use the closed form.").format(
                i=number, n=len(marks)
            )
        )
    order = np.argsort(step.first, kind="stable")
    src, dst, begin, count = where[step.src[order]], where[step.dst[order]], step.first[order], step.count[order]
    end = begin + count
    paths = routes(topology, src, dst, choice, seed)
    now = _Changing(topology, paths, step.width[order] * unit_B, topology.host[src] != topology.host[dst])
    alike = bool((count == count[0]).all())  # then transfers end in the order they began
    leaving = None if alike else np.argsort(end, kind="stable")
    in_upto = np.searchsorted(begin, marks, side="right")
    out_upto = np.searchsorted(end if alike else end[leaving], marks, side="right")
    spans, was_in, was_out = [], 0, 0
    begun: dict[int, tuple] = {}  # what began together ends together where all go on equally long
    for i, mark in enumerate(marks[:-1]):
        if out_upto[i] > was_out:
            some = slice(was_out, out_upto[i]) if alike else leaving[was_out : out_upto[i]]
            now.change(some, begun.pop(int(was_out)) if alike else now.bytes_of(some), -1)
        if in_upto[i] > was_in:
            some = slice(was_in, in_upto[i])
            loads = now.bytes_of(some)
            now.change(some, loads, 1)
            if alike:
                begun[int(was_in)] = loads
        was_in, was_out = in_upto[i], out_upto[i]
        spans.append((int(marks[i + 1] - mark), *now.span()))
    return spans
