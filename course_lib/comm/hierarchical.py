"""Hierarchical: one algorithm inside every domain, another between domains; any inner with any outer."""

from collections.abc import Sequence

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.lifting import lift
from course_lib.comm.schedule import Schedule
from course_lib.comm.step import IntArray, Step


def domains_of(n_ranks: int, ranks_per_domain: int | Sequence[int]) -> tuple[int, int]:
    """Return (domains, ranks per domain); unequal domains are refused with the nearest counts that work.

    >>> domains_of(64, 8), domains_of(24, [8, 8, 8])
    ((8, 8), (3, 8))
    >>> domains_of(20, 8)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 20 ranks do not fill domains of 8: one would have 4. Nearest: 16 or 24 ranks.
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    if np.ndim(ranks_per_domain):
        sizes = [whole("ranks_per_domain", size, at_least=1) for size in ranks_per_domain]
        if sum(sizes) != n:
            raise CourseError(_("The domains have {sum} ranks together, not {n}.").format(sum=sum(sizes), n=n))
        if len(set(sizes)) > 1:
            raise CourseError(
                _(
                    "The domains have {sizes} ranks. A hierarchical algorithm needs the same number in each: rank j of every "
                    "domain works on shard j. Use {least} in each, or an algorithm without domains."
                ).format(sizes=", ".join(map(str, sizes[:12])) + (" …" if len(sizes) > 12 else ""), least=min(sizes))
            )
        return len(sizes), sizes[0]
    m = whole("ranks_per_domain", ranks_per_domain, at_least=1)
    if n % m:
        near = [str(k) for k in (n // m * m, (n // m + 1) * m) if k]
        text = _("{n} ranks do not fill domains of {m}: one would have {rest}. Nearest: {near} ranks.")
        raise CourseError(text.format(n=n, m=m, rest=n % m, near=_(" or ").join(near)))
    return n // m, m


class _Nodes:
    """Gives every lifted schedule its nodes: the ranks it runs on, and fresh switch nodes."""

    def __init__(self, n_domains: int, per_domain: int) -> None:
        self.d, self.m = n_domains, per_domain
        self.top = n_domains * per_domain
        self.switch_rank: list[IntArray] = []
        self.switch_level: list[IntArray] = []
        self.inner = np.arange(self.top).reshape(n_domains, per_domain)  # row: the ranks of a domain
        self.outer = self.inner.T  # row j: rank j of every domain, a rail

    def map(self, schedule: Schedule, ranks: IntArray, level: int) -> IntArray:
        """Node map (groups, n_nodes) of `schedule` on `ranks` (groups, n_ranks)."""
        groups, n_switches = ranks.shape[0], schedule.n_nodes - schedule.n_ranks
        fresh = self.top + np.arange(groups * n_switches).reshape(groups, n_switches)
        self.top += fresh.size
        self.switch_rank.append(ranks[:, schedule.switch_rank].ravel())
        self.switch_level.append(np.tile(schedule.switch_level + level, groups))
        return np.concatenate([ranks, fresh], axis=1)

    def schedule(self, op: str, chunks: int, steps: tuple, name: str, root: int = 0) -> Schedule:
        switches = (np.concatenate(self.switch_rank), np.concatenate(self.switch_level))
        return Schedule(op, self.d * self.m, self.top, chunks, steps, name, root, *switches)


def _name(inner: Schedule, outer: Schedule) -> str:
    return f"hierarchical-{inner.name}+{outer.name}" if inner.name != outer.name else f"hierarchical-{outer.name}"


def _levels(inner: Schedule) -> int:
    return 1 + int(inner.switch_level.max(initial=-1)) if inner.n_nodes > inner.n_ranks else 1


def _expect(schedule: Schedule, ops: Sequence[str], n: int | None = None) -> None:
    if schedule.op not in ops or n not in (None, schedule.n_ranks):
        raise CourseError(
            _("Here {ops} on {n} ranks is needed, not {op} on {m} ranks.").format(
                ops=_(" or ").join(ops), n=n or _("any number of"), op=schedule.op, m=schedule.n_ranks
            )
        )


def all_reduce(before: Schedule, outer: Schedule, after: Schedule) -> Schedule:
    """Put three schedules together: inside every domain, between the domains, inside again.

    before/after: reduce_scatter/all_gather on the ranks of one domain, and `outer` an all_reduce between domains that
    runs on every rail j at once, for the shard that rank j of every domain owns; or reduce/broadcast, and then the
    roots of the domains run `outer` with the whole message. Switch nodes of each part stay its own.

    >>> from course_lib.comm import ring, tree
    >>> both = all_reduce(ring.reduce_scatter(8), tree.all_reduce(4), ring.all_gather(8))
    >>> both.name, both.n_ranks, both.repeats
    ('hierarchical-ring+tree', 32, 21)
    """
    _expect(before, ("reduce_scatter", "reduce"))
    sharded, m = before.op == "reduce_scatter", before.n_ranks
    _expect(after, ("all_gather",) if sharded else ("broadcast",), m)
    _expect(outer, ("all_reduce",))
    d, nodes = outer.n_ranks, _Nodes(outer.n_ranks, m)
    inside = int(np.lcm(before.chunks, after.chunks))
    chunks, zeros = inside * outer.chunks, np.zeros(d, int)
    steps = lift(before, nodes.map(before, nodes.inner, 0), zeros, chunks // before.chunks)
    if sharded:
        base = np.arange(m) * (chunks // m)
        steps += lift(outer, nodes.map(outer, nodes.outer, _levels(before)), base, chunks // m // outer.chunks)
    else:
        leaders = nodes.outer[before.root : before.root + 1]
        steps += lift(outer, nodes.map(outer, leaders, _levels(before)), zeros[:1], inside)
    steps += lift(after, nodes.map(after, nodes.inner, 0), zeros, chunks // after.chunks)
    return nodes.schedule("all_reduce", chunks, steps, _name(before, outer))


def reduce_scatter(inner: Schedule, outer: Schedule) -> Schedule:
    """Reduce-scatter inside every domain, then on every rail between the domains.

    Only 1/m of the message leaves a domain per rank. Both parts need one chunk per rank. Shard E·m + j ends on rank j of
    domain E, so the inner part runs once for every E: n · domains transfers.

    >>> from course_lib.comm import ring
    >>> reduce_scatter(ring.reduce_scatter(4), ring.reduce_scatter(3)).repeats
    5
    """
    return _two_levels("reduce_scatter", inner, outer, inner_first=True)


def all_gather(inner: Schedule, outer: Schedule) -> Schedule:
    """All-gather on every rail between the domains, then inside every domain.

    >>> from course_lib.comm import ring
    >>> all_gather(ring.all_gather(4), ring.all_gather(3)).repeats
    5
    """
    return _two_levels("all_gather", inner, outer, inner_first=False)


def _two_levels(op: str, inner: Schedule, outer: Schedule, inner_first: bool) -> Schedule:
    _expect(inner, (op,))
    _expect(outer, (op,))
    d, m = outer.n_ranks, inner.n_ranks
    if inner.chunks % m or outer.chunks != d:
        raise CourseError(_("Both parts of a hierarchical {op} need one chunk per rank; use pipeline=1.").format(op=op))
    parts = inner.chunks // m  # of a shard, where several rings share it
    if d * sum(len(step) for step in inner.steps) * d > 1 << 24:
        raise CourseError(
            _("A hierarchical {op} over {d} domains has too many transfers to be built.").format(op=op, d=d)
        )
    nodes = _Nodes(d, m)
    inner_map = np.repeat(nodes.map(inner, nodes.inner, 0), d, axis=0)  # group (D, E): domain D works on block E
    inside = lift(inner, inner_map, np.tile(np.arange(d) * inner.chunks, d))
    rails = nodes.map(outer, nodes.outer, _levels(inner))
    between = lift(outer, rails, np.arange(m) * parts, inner.chunks, parts)
    steps = inside + between if inner_first else between + inside
    return nodes.schedule(op, d * inner.chunks, steps, _name(inner, outer))


def broadcast(inner: Schedule, outer: Schedule) -> Schedule:
    """Broadcast between the domains (among the ranks at the inner root's place), then inside each.

    >>> from course_lib.comm import tree
    >>> broadcast(tree.binomial_broadcast(8), tree.binomial_broadcast(4)).repeats
    5
    """
    return _leaders("broadcast", inner, outer)


def reduce(inner: Schedule, outer: Schedule) -> Schedule:
    """Reduce inside each domain to its root, then between the roots.

    >>> from course_lib.comm import tree
    >>> reduce(tree.binomial_reduce(8), tree.binomial_reduce(4)).repeats
    5
    """
    return _leaders("reduce", inner, outer)


def _leaders(op: str, inner: Schedule, outer: Schedule) -> Schedule:
    _expect(inner, (op,))
    _expect(outer, (op,))
    d, nodes = outer.n_ranks, _Nodes(outer.n_ranks, inner.n_ranks)
    chunks = inner.chunks * outer.chunks
    inside = lift(inner, nodes.map(inner, nodes.inner, 0), np.zeros(d, int), outer.chunks)
    leaders = nodes.outer[inner.root : inner.root + 1]
    between = lift(outer, nodes.map(outer, leaders, _levels(inner)), np.zeros(1, int), inner.chunks)
    steps = between + inside if op == "broadcast" else inside + between
    root = outer.root * inner.n_ranks + inner.root
    return nodes.schedule(op, chunks, steps, _name(inner, outer), root)


def sharded_broadcast(scatter: Schedule, outer: Schedule, after: Schedule) -> Schedule:
    """Broadcast in shards: scatter in the root's domain, every shard along its own rail, all-gather in every domain.

    All cards of a domain work, where the leaders' broadcast has one. The root of `scatter` and of `outer` together are the root.

    >>> from course_lib.comm import direct, ring, tree
    >>> sharded_broadcast(direct.scatter(4), tree.binomial_broadcast(2), ring.all_gather(4)).repeats
    5
    """
    return _sharded("broadcast", scatter, outer, after)


def sharded_reduce(before: Schedule, outer: Schedule, gather: Schedule) -> Schedule:
    """Reduce in shards: reduce-scatter in every domain, every shard along its own rail, gather in the root's domain.

    >>> from course_lib.comm import direct, ring, tree
    >>> sharded_reduce(ring.reduce_scatter(4), tree.binomial_reduce(2), direct.gather(4)).repeats
    5
    """
    return _sharded("reduce", before, outer, gather)


def _sharded(op: str, first: Schedule, outer: Schedule, last: Schedule) -> Schedule:
    m, d = first.n_ranks, outer.n_ranks
    ends = ("scatter", "all_gather") if op == "broadcast" else ("reduce_scatter", "gather")
    _expect(first, ends[:1])
    _expect(outer, (op,))
    _expect(last, ends[1:], m)
    home = first.root if op == "broadcast" else last.root
    inside = int(np.lcm(first.chunks, last.chunks))
    chunks, nodes, zeros = inside * outer.chunks, _Nodes(d, m), np.zeros(d, int)
    one = nodes.inner[outer.root : outer.root + 1]
    places = (one, nodes.inner) if op == "broadcast" else (nodes.inner, one)
    steps: list[tuple[Step, ...]] = []
    for part, ranks in zip((first, last), places, strict=True):
        steps.append(lift(part, nodes.map(part, ranks, 0), zeros[: len(ranks)], chunks // part.chunks))
    base = np.arange(m) * (chunks // m)
    between = lift(outer, nodes.map(outer, nodes.outer, _levels(first)), base, chunks // m // outer.chunks)
    name = f"hierarchical-scatter+{outer.name}"
    return nodes.schedule(op, chunks, steps[0] + between + steps[1], name, outer.root * m + home)


def scatter(n_domains: int, ranks_per_domain: int, *, root: int = 0) -> Schedule:
    """Scatter over all cards: first to the rank of the root's domain that stands where the receiver does, then along its rail.

    >>> scatter(3, 4).repeats, gather(3, 4, root=5).repeats
    (2, 2)
    """
    return _by_rails("scatter", n_domains, ranks_per_domain, root)


def gather(n_domains: int, ranks_per_domain: int, *, root: int = 0) -> Schedule:
    """The scatter backwards: along the rails into the root's domain, then to the root.

    >>> float(gather(3, 4).received_B(12.0)[0])
    11.0
    """
    return _by_rails("gather", n_domains, ranks_per_domain, root)


def _by_rails(op: str, n_domains: int, ranks_per_domain: int, root: int) -> Schedule:
    d, m = whole("n_domains", n_domains, at_least=1), whole("ranks_per_domain", ranks_per_domain, at_least=1)
    n, root = d * m, whole("root", root, at_least=0, at_most=d * m - 1)
    end = np.arange(n)
    via = root // m * m + end % m
    steps = []
    for a, b in ((np.full(n, root), via), (via, end)):
        move = np.flatnonzero(a != b)
        ends = (a[move], b[move]) if op == "scatter" else (b[move], a[move])
        if move.size:
            steps.append(Step(*ends, move, False))
    steps = steps if op == "scatter" else steps[::-1]
    return Schedule(op, n, n, n, tuple(steps), "hierarchical-direct", root)


def all_to_all(n_domains: int, ranks_per_domain: int) -> Schedule:
    """All-to-all by rails: first inside the domain to the rank with the destination's place, then along its rail.

    Every rank then talks to one rank in every other domain instead of all n; the same bytes leave the domain in larger
    messages, and the domain carries most bytes once more.

    >>> all_to_all(3, 4).repeats
    2
    """
    d, m = whole("n_domains", n_domains, at_least=1), whole("ranks_per_domain", ranks_per_domain, at_least=1)
    n = d * m
    if n > 1024:
        raise CourseError(
            _("A two-step all_to_all is built up to 1024 ranks, not {n}; use its closed form.").format(n=n)
        )
    src, dst = (index.ravel() for index in np.divmod(np.arange(n * n), n))
    via = src // m * m + dst % m
    first, second = via != src, via != dst
    chunk = np.arange(n * n)
    steps = []
    for mask, a, b in ((first, src, via), (second, via, dst)):
        if mask.any():
            steps.append(Step(a[mask], b[mask], chunk[mask], False))
    return Schedule("all_to_all", n, n, n * n, tuple(steps), "hierarchical-direct")
