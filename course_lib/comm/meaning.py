"""Meaning: what each collective promises, what "message size" means, and how rates are compared."""

import difflib

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _

OPS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "broadcast",
    "reduce",
    "all_to_all",
    "send_recv",
    "scatter",
    "gather",
)
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
ROOTED = ("broadcast", "reduce", "scatter", "gather")
_SHORT = {"ar": "all_reduce", "rs": "reduce_scatter", "ag": "all_gather", "a2a": "all_to_all", "bcast": "broadcast"}
_SHORT |= {"p2p": "send_recv", "sendreceive": "send_recv", "send": "send_recv", "alltoallv": "all_to_all"}


def _plain(name: str) -> str:
    plain = "".join(c for c in name.lower() if c.isalnum())
    for prefix in ("nccl", "rccl", "mpi"):
        plain = plain.removeprefix(prefix)
    return plain.removesuffix("perf")


_BY_PLAIN = {_plain(op): op for op in OPS} | _SHORT


def canonical_op(name: object) -> str:
    """Return the name in OPS for any usual spelling, else raise a CourseError with the nearest names.

    >>> [canonical_op(s) for s in ("alltoall", "AllReduce", "all-gather", "sendrecv", "reduce_scatter_perf")]
    ['all_to_all', 'all_reduce', 'all_gather', 'send_recv', 'reduce_scatter']
    >>> canonical_op("allredcue")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no collective 'allredcue'. The nearest: all_reduce, reduce.
    """
    plain = _plain(name) if isinstance(name, str) else ""
    if plain in _BY_PLAIN:
        return _BY_PLAIN[plain]
    near = difflib.get_close_matches(plain, _BY_PLAIN, n=3, cutoff=0.6)
    names = list(dict.fromkeys(_BY_PLAIN[n] for n in near))
    if names:
        raise CourseError(
            _("There is no collective {name!r}. The nearest: {near}.").format(name=name, near=", ".join(names))
        )
    raise CourseError(_("There is no collective {name!r}. Valid: {valid}.").format(name=name, valid=", ".join(OPS)))


def _factor(op: str, n):
    if op == "all_reduce":
        return 2.0 * (n - 1) / n
    if op in ("reduce_scatter", "all_gather", "all_to_all", "scatter", "gather"):
        return (n - 1) / n
    return np.ones(np.shape(n)) if np.ndim(n) else 1.0


def _ranks(n_ranks):
    if np.ndim(n_ranks) == 0:
        return whole("n_ranks", n_ranks, at_least=1)
    n = finite("n_ranks", n_ranks, at_least=1)
    if (n != np.floor(n)).any():
        raise CourseError(_("n_ranks has to be whole numbers."))
    return n


def bus_factor(op: str, n_ranks: int):
    """Bus bandwidth over algorithm bandwidth, as nccl-tests defines it; broadcasts over n_ranks.

    all_reduce 2(n−1)/n; reduce_scatter, all_gather, all_to_all, scatter, gather (n−1)/n; broadcast, reduce and
    send_recv 1. Source: nccl-tests, doc/PERFORMANCE.md and src/*.cu.

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 72), bus_factor("broadcast", 3)
    (1.75, 0.9861111111111112, 1.0)
    """
    return _factor(canonical_op(op), _ranks(n_ranks))


def algbw_Bps(message_B: float, time_s: float):
    """Algorithm bandwidth: message size over time, bytes per second; broadcasts.

    >>> algbw_Bps(1e9, 0.01)
    100000000000.0
    """
    return finite("message_B", message_B, at_least=0, unit="B") / finite("time_s", time_s, above=0, unit="s")


def busbw_Bps(op: str, message_B: float, time_s: float, n_ranks: int):
    """Bus bandwidth: what one rank's link would have to carry if a ring ran the collective; broadcasts.

    >>> busbw_Bps("all_reduce", 8e9, 0.04, 8) / 1e9
    350.0
    """
    return algbw_Bps(message_B, time_s) * bus_factor(op, n_ranks)


def busbw_from_algbw(op: str, algbw: float, n_ranks: int):
    """Bus bandwidth from algorithm bandwidth, both in bytes per second; broadcasts.

    >>> busbw_from_algbw("all_to_all", 100e9, 4)
    75000000000.0
    """
    return finite("algbw", algbw, at_least=0, unit="B/s") * bus_factor(op, n_ranks)


def algbw_from_busbw(op: str, busbw: float, n_ranks: int):
    """Algorithm bandwidth from bus bandwidth; one rank has no bus bandwidth, so n_ranks is 2 or more.

    >>> algbw_from_busbw("all_to_all", 75e9, 4)
    100000000000.0
    """
    factor = bus_factor(op, n_ranks)
    if (np.asarray(factor) == 0).any():
        raise CourseError(_("On one rank nothing moves, so a bus bandwidth says nothing about time."))
    return finite("busbw", busbw, at_least=0, unit="B/s") / factor


def message_B(op: str, send_B: float, n_ranks: int):
    """Message size as nccl-tests counts it (the largest buffer on one rank), from the bytes one rank puts in.

    all_gather and gather: n times what a rank puts in. reduce_scatter, scatter: the whole input. all_to_all: all the
    parts of one rank. The others: the buffer itself. `send_B` is the input of the root for scatter and broadcast.
    Source: nccl-tests src/*.cu, where the printed size is max(sendBytes, expectedBytes).

    >>> message_B("all_gather", 100, 8), message_B("reduce_scatter", 800, 8), message_B("all_reduce", 100, 8)
    (800.0, 800.0, 100.0)
    """
    op, n = canonical_op(op), _ranks(n_ranks)
    return finite("send_B", send_B, at_least=0, unit="B") * (n if op in ("all_gather", "gather") else 1)


def buffers_B(op: str, message_B: float, n_ranks: int):
    """Bytes of all distinct data in the collective: the message, but n messages for all_to_all and send_recv.

    A schedule's chunks share out these bytes, so dividing the message by the chunks would be wrong by n there.

    >>> buffers_B("all_to_all", 100, 8), buffers_B("all_gather", 100, 8)
    (800.0, 100.0)
    """
    op, n = canonical_op(op), _ranks(n_ranks)
    return finite("message_B", message_B, at_least=0, unit="B") * (n if op in ("all_to_all", "send_recv") else 1)


def least_sent_B(op: str, message_B: float, n_ranks: int):
    """Bytes that the busiest rank has to send (or receive) if no switch adds or copies: the bus factor times the size.

    Each of n ranks has to give away what n−1 others need of it: (n−1)/n of the buffer in reduce_scatter, all_gather
    and all_to_all, twice that in all_reduce, once the buffer from or to a root. Switches that add need less: S in
    all_reduce. The bound is the usual one (Patarasu and Yuan, 2009).

    >>> least_sent_B("all_gather", 800.0, 8), least_sent_B("all_reduce", 800.0, 8)
    (700.0, 1400.0)
    """
    moves = np.where(np.asarray(_ranks(n_ranks)) > 1, 1.0, 0.0)
    least = moves * bus_factor(op, n_ranks) * finite("message_B", message_B, at_least=0, unit="B")
    return float(least) if np.ndim(least) == 0 else least


def owner(op: str, n_ranks: int, chunks: int, root: int = 0) -> NDArray[np.int64]:
    """The rank that each chunk comes from, shape (chunks,); −1 where every rank brings its own version to be added.

    >>> owner("all_gather", 2, 4), owner("all_to_all", 2, 4), owner("reduce", 2, 2)
    (array([0, 0, 1, 1]), array([0, 0, 1, 1]), array([-1, -1]))
    """
    op, index = canonical_op(op), np.arange(chunks)
    if op in REDUCING:
        return np.full(chunks, -1)
    if op in ("broadcast", "scatter"):
        return np.full(chunks, root)
    return index // (chunks // n_ranks)


def wanted(op: str, n_ranks: int, chunks: int, root: int = 0) -> NDArray[np.bool_]:
    """Whether a rank has to hold a chunk at the end, shape (n_ranks, chunks).

    >>> wanted("reduce_scatter", 2, 2).astype(int)
    array([[1, 0],
           [0, 1]])
    """
    op, index, rank = canonical_op(op), np.arange(chunks)[None, :], np.arange(n_ranks)[:, None]
    if op in ("all_reduce", "all_gather", "broadcast"):
        return np.ones((n_ranks, chunks), dtype=bool)
    if op in ("reduce", "gather"):
        return np.repeat(rank == root, chunks, axis=1)
    if op == "all_to_all":
        return index // (chunks // n_ranks**2) % n_ranks == rank
    shard = index // (chunks // n_ranks)
    return (shard + 1) % n_ranks == rank if op == "send_recv" else shard == rank


def initial_state(op: str, n_ranks: int, chunks: int, root: int = 0) -> NDArray[np.int32]:
    """Contributions at the start, shape (n_ranks, chunks, parts).

    parts is n_ranks for collectives that add (part i: how often rank i's version is in the sum), else 1 (whether the
    chunk is here). All zero: the rank has nothing in that slot.

    >>> initial_state("all_reduce", 2, 1)[:, 0]
    array([[1, 0],
           [0, 1]], dtype=int32)
    """
    op, whose = canonical_op(op), owner(op, n_ranks, chunks, root)
    if op in REDUCING:
        return np.repeat(np.eye(n_ranks, dtype=np.int32)[:, None, :], chunks, axis=1)
    return (whose[None, :] == np.arange(n_ranks)[:, None]).astype(np.int32)[:, :, None]
