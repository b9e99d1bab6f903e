"""Stepped time: a barrier after every repeat of a schedule; the fullest link and the longest way set the pace."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.meaning import buffers_B
from course_lib.comm.schedule import Schedule, Step
from course_lib.fabric.bundles import Bundles, bundles, ways
from course_lib.fabric.routes import routes
from course_lib.fabric.topology import Topology, ends, link_name
from course_lib.timing.filling import OnBundles, OnLinks

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
    where = ends(topology, "placement", where)
    ranks = where[: schedule.n_ranks]
    if int(np.bincount(ranks).max()) > 1:
        raise CourseError(_("placement puts two ranks on one vertex; every rank has a GPU of its own."))
    unit_B = float(buffers_B(schedule.op, 1.0, schedule.n_ranks)) / schedule.chunks
    where = None if np.array_equal(where, np.arange(len(where))) else where
    wires = bundles(topology) if choice == "adaptive" else None
    spans: list[tuple] = []
    priced: list[tuple[Step, list[tuple]]] = []
    for number, step in enumerate(schedule.steps):
        if len(step):
            known = next((found for other, found in priced if _alike(step, other)), None)
            found = _price(step, number, topology, where, unit_B, choice, seed, wires) if known is None else known
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
    pairs = [(getattr(a, name), getattr(b, name)) for name in ("dst", "width", "first", "count", "src")]
    return all(len(x) == len(y) and x[0] == y[0] and x[-1] == y[-1] for x, y in pairs) and all(
        np.array_equal(x, y) for x, y in pairs
    )


def _price(
    step: Step, number: int, topology: Topology, where, unit_B: float, choice: str, seed: int, wires: Bundles | None
) -> list[tuple]:
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
    if int(step.first.max()):
        order = np.argsort(_short(step.first), kind="stable")
        src, dst, begin, count, width = (x[order] for x in (step.src, step.dst, step.first, step.count, step.width))
    else:
        src, dst, begin, count, width = step.src, step.dst, step.first, step.count, step.width
    src, dst = (src, dst) if where is None else (where[src], where[dst])
    end, weight = begin + count, width * unit_B
    found = None if wires is None else ways(wires, src, dst, weight)
    if found is None:
        now = OnLinks(
            topology, routes(topology, src, dst, choice, seed), weight, topology.host[src] != topology.host[dst]
        )
    else:
        now = OnBundles(found)
    alike = bool((count == count[0]).all())  # then transfers end in the order they began
    leaving = None if alike else np.argsort(end, kind="stable")
    in_upto = np.searchsorted(begin, marks, side="right")
    out_upto = np.searchsorted(end if alike else end[leaving], marks, side="right")
    spans, was_in, was_out = [], 0, 0
    for i, mark in enumerate(marks[:-1]):
        if out_upto[i] > was_out:
            now.leave(slice(was_out, out_upto[i]) if alike else leaving[was_out : out_upto[i]])
        if in_upto[i] > was_in:
            now.enter(slice(was_in, in_upto[i]))
        was_in, was_out = in_upto[i], out_upto[i]
        spans.append((int(marks[i + 1] - mark), *now.span()))
    return spans


def _short(first: NDArray) -> NDArray:
    """Return the same numbers in 16 bits where they fit: these sort by counting."""
    return first.astype(np.uint16) if int(first.max()) < 1 << 16 else first
