"""Registry: the algorithms by name; `build` is how everybody else gets a schedule."""

from collections.abc import Callable, Sequence
from inspect import signature

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.comm import direct, halving, hierarchical, innetwork, ring, tree
from course_lib.comm.meaning import ROOTED, canonical_op
from course_lib.comm.schedule import Schedule

_BUILD: dict[str, dict[str, Callable[..., Schedule]]] = {
    "all_reduce": {
        "ring": ring.all_reduce,
        "tree": tree.all_reduce,
        "binomial": tree.binomial_all_reduce,
        "halving-doubling": halving.all_reduce,
        "direct": direct.all_reduce,
        "in-network": innetwork.nvls_all_reduce,
        "sharp": innetwork.sharp_all_reduce,
    },
    "reduce_scatter": {
        "ring": ring.reduce_scatter,
        "halving-doubling": halving.reduce_scatter,
        "direct": direct.reduce_scatter,
        "in-network": innetwork.nvls_reduce_scatter,
    },
    "all_gather": {
        "ring": ring.all_gather,
        "halving-doubling": halving.all_gather,
        "direct": direct.all_gather,
        "in-network": innetwork.nvls_all_gather,
    },
    "broadcast": {
        "ring": ring.broadcast,
        "tree": tree.broadcast,
        "binomial": tree.binomial_broadcast,
        "direct": direct.broadcast,
        "in-network": innetwork.nvls_broadcast,
        "sharp": innetwork.sharp_broadcast,
    },
    "reduce": {
        "ring": ring.reduce,
        "tree": tree.reduce,
        "binomial": tree.binomial_reduce,
        "direct": direct.reduce,
        "in-network": innetwork.nvls_reduce,
        "sharp": innetwork.sharp_reduce,
    },
    "all_to_all": {"direct": direct.all_to_all},
    "send_recv": {"direct": direct.send_recv},
    "scatter": {"direct": direct.scatter},
    "gather": {"direct": direct.gather},
}
_SWITCHED = {innetwork.sharp_all_reduce, innetwork.sharp_broadcast, innetwork.sharp_reduce}
_PIPELINED = {
    builder for table in _BUILD.values() for builder in table.values() if "pipeline" in signature(builder).parameters
}
# An all-reduce on two levels has two collectives of one name inside domains: in shards or whole, before and after.
_SHARDED, _WHOLE = ("reduce_scatter", "all_gather"), ("reduce", "broadcast")
_BY_RAILS = ("all_to_all", "scatter", "gather")  # two levels of these are one schedule, whatever is used inside
SCATTER = "scatter"  # inside a domain: the message in shards, one for each rail
# Not here: recursive doubling of an all-reduce, which exchanges the whole vector log₂ n times.
_SAME = {"nvls": "in-network", "double-tree": "tree", "double-binary-tree": "tree"}
_SAME |= {
    "halving": "halving-doubling",
    "hd": "halving-doubling",
    "rabenseifner": "halving-doubling",
    "chain": "ring",
    "innetwork": "in-network",
}


def algorithms(op: str, *, hierarchical: bool = True) -> list[str]:
    """Names of the algorithms for a collective; "hierarchical-X" has a ring inside, "hierarchical-X+Y" has X inside, Y between.

    >>> algorithms("reduce_scatter")[:6]
    ['ring', 'halving-doubling', 'direct', 'in-network', 'hierarchical-ring', 'hierarchical-halving-doubling']
    >>> algorithms("all_to_all")
    ['direct', 'hierarchical-direct']
    """
    op = canonical_op(op)
    flat = list(_BUILD[op])
    if not hierarchical or op == "send_recv":
        return flat
    inside, between = _levels(op)
    names = [f"hierarchical-{outer}" for outer in between]
    if op in ("broadcast", "reduce"):
        names += [f"hierarchical-{SCATTER}+{outer}" for outer in between]
    names += [
        f"hierarchical-{inner}+{outer}"
        for inner in inside
        for outer in between
        if inner != _default_inner(op) and inner != outer
    ]
    return flat + names


def _levels(op: str) -> tuple[list[str], list[str]]:
    """Names of what can be used inside domains, and of what between them."""
    flat = list(_BUILD[op])
    if op in _BY_RAILS:
        return ["direct"], ["direct"]
    if op == "all_reduce":
        return [name for name in flat if _has(name, _SHARDED) or _has(name, _WHOLE)], flat
    return flat, flat


def _has(name: str, ops: Sequence[str]) -> bool:
    return all(name in _BUILD[op] for op in ops)


def _default_inner(op: str) -> str:
    return "direct" if op in _BY_RAILS else "ring"


def has_pipeline(op: str, algorithm: str) -> bool:
    """Whether `pipeline` (the number of pieces) means anything for an algorithm, its parts included.

    >>> has_pipeline("all_reduce", "ring"), has_pipeline("all_reduce", "hierarchical-tree")
    (False, True)
    """
    op = canonical_op(op)
    name = algorithm_name(op, algorithm)
    inner, _plus, outer = name.removeprefix("hierarchical-").rpartition("+")
    if name.startswith("hierarchical-") and op == "all_reduce" and _has(inner or _default_inner(op), _SHARDED):
        inner = ""  # shards inside a domain go in one piece
    return any(_BUILD[op].get(part) in _PIPELINED for part in (inner, outer))


def algorithm_name(op: str, algorithm: str) -> str:
    """Return the canonical name of an algorithm, or raise a CourseError with the nearest ones.

    >>> algorithm_name("all_reduce", "NVLS"), algorithm_name("all_reduce", "hierarchical_ring")
    ('in-network', 'hierarchical-ring')
    >>> algorithm_name("all_reduce", "rign")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no algorithm of all_reduce 'rign'. The nearest: ring.
    """
    op = canonical_op(op)
    if not isinstance(algorithm, str):
        return _one_of(op, algorithm)
    asked = algorithm.strip().lower().replace("_", "-").replace(" ", "-")
    head, tail = (
        ("hierarchical-", asked.removeprefix("hierarchical-")) if asked.startswith("hierarchical-") else ("", asked)
    )
    parts = [part if part in _BUILD[op] else _SAME.get(part, part) for part in tail.split("+")]
    if len(parts) == 2 and (parts[0] == parts[1] or parts[0] == _default_inner(op)):
        parts = parts[1:] if parts[0] == _default_inner(op) else parts
    asked = head + "+".join(parts)
    if head and len(parts) == 2 and all(part in names for part, names in zip(parts, _levels(op))):
        return asked
    return _one_of(op, asked)


def _one_of(op: str, asked: object) -> str:
    """Return a name of the list, or raise a CourseError with the nearest; where none is near, with the flat ones and their pattern."""
    flat, known = algorithms(op, hierarchical=False), algorithms(op)
    levels = ["hierarchical-X"] * (len(known) > len(flat)) + ["hierarchical-X+Y"] * any("+" in name for name in known)
    return one_of(_("algorithm of {op}").format(op=op), asked, known, flat + levels)


def build(
    op: str,
    n_ranks: int,
    algorithm: str,
    *,
    ranks_per_domain: int | Sequence[int] | None = None,
    pipeline: int | None = None,
    root: int = 0,
    radix: int | Sequence[int] = 32,
) -> Schedule:
    """Build the schedule of a collective with a named algorithm.

    ranks_per_domain: for hierarchical algorithms, ranks in one domain (box, rack); domains are consecutive ranks.
    pipeline: pieces, for algorithms that have a pipeline (4 unless given, but 1 for in-network reduce-scatter and
    all-gather; ignored by algorithms without one). root: for broadcast,
    reduce, scatter and gather. radix: what hangs under one switch, for "sharp".

    Errors: CourseError for unknown names (with the nearest), domains that are not full, or too many ranks for n² transfers.

    >>> build("AllReduce", 32, "hierarchical-tree", ranks_per_domain=8).name
    'hierarchical-ring+tree'
    >>> build("all_reduce", 1, "tree").n_transfers
    0
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=1)
    name = algorithm_name(op, algorithm)
    pieces = None if pipeline is None else whole("pipeline", pipeline, at_least=1)
    root = whole("root", root, at_least=0, at_most=n - 1)
    if not name.startswith("hierarchical-"):
        return _flat(op, n, name, pieces, root, radix)
    if ranks_per_domain is None:
        raise CourseError(_("{name} needs ranks_per_domain: how many ranks are in one box or rack.").format(name=name))
    d, m = hierarchical.domains_of(n, ranks_per_domain)
    inner, _plus, outer = name.removeprefix("hierarchical-").rpartition("+")
    inner = inner or _default_inner(op)
    if op == "all_to_all":
        return hierarchical.all_to_all(d, m)
    if op in ("scatter", "gather"):
        return getattr(hierarchical, op)(d, m, root=root)
    if inner == SCATTER:
        between = _flat(op, d, outer, pieces, root // m, radix)
        if op == "broadcast":
            return hierarchical.sharded_broadcast(direct.scatter(m, root=root % m), between, direct.all_gather(m))
        return hierarchical.sharded_reduce(direct.reduce_scatter(m), between, direct.gather(m, root=root % m))
    if op == "all_reduce":
        sharded = _has(inner, _SHARDED)
        ends = _SHARDED if sharded else _WHOLE
        one = 1 if sharded else pieces  # the parts follow one another, so a pipeline inside a shard gains nothing
        before, after = (_flat(end, m, inner, one, 0, radix) for end in ends)
        return hierarchical.all_reduce(before, _flat(op, d, outer, pieces, 0, radix), after)
    if op in ("broadcast", "reduce"):
        parts = (_flat(op, m, inner, pieces, root % m, radix), _flat(op, d, outer, pieces, root // m, radix))
        return getattr(hierarchical, op)(*parts)
    return getattr(hierarchical, op)(_flat(op, m, inner, 1, 0, radix), _flat(op, d, outer, 1, 0, radix))


def _flat(op: str, n: int, name: str, pieces: int | None, root: int, radix: int | Sequence[int]) -> Schedule:
    builder = _BUILD[op][name]
    options = {"root": root} if op in ROOTED else {}
    if builder in _PIPELINED and pieces is not None:
        options["pipeline"] = pieces
    if builder in _SWITCHED:
        options["radix"] = radix
    return builder(n, **options)
