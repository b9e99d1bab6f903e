"""Compressed gradients between ranks: one program per rank, whose collectives `comm.driver.play` carries out and counts.

What adds up on the way (dense, random-k with shared positions, low-rank factors) uses an all-reduce. What does not
(top-k: ranks keep different positions; quantised: scales differ) is gathered from all ranks, so its bytes grow with
their number, or goes in two phases: cut in shards, each owner decodes, adds, and encodes its sum again.
"""

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import numpy as np

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.comm.driver import AllGather, AllReduce, AllToAll
from course_lib.plan.codecs import (
    Codec,
    Dense,
    LowRank,
    Packet,
    RandomK,
    checked,
    decode,
    encode,
    first_factor,
    gradient_values,
    orthonormal,
)
from course_lib.plan.packed import Tensors, from_bytes, low_rank, to_bytes

HOW = ("all_reduce", "all_gather", "two_phase")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a rank remembers from step to step: the part of its gradient not yet sent, and a codec's own state.

    `error` (size,) of its own packets; `shard_error` of the sums it encodes as an owner (two phases); `factors`: the
    right factors of a low-rank codec, which begin the next step.
    """

    error: np.ndarray
    shard_error: np.ndarray | None = None
    factors: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What a rank has after the exchange: the mean gradient of all, its new memory, and the seconds its codec took."""

    mean: np.ndarray
    memory: Memory
    encode_s: float
    decode_s: float


def fresh_memory(size: int) -> Memory:
    """Return the memory of a rank before the first step: nothing is owed.

    >>> fresh_memory(3).error.tolist()
    [0.0, 0.0, 0.0]
    """
    return Memory(np.zeros(size))


def adds_up(codec: Codec) -> bool:
    """Whether the sum of packets is the packet of the sum, so that an all-reduce can add on the way.

    >>> adds_up(RandomK()), adds_up(RandomK(shared=False))
    (True, False)
    """
    return isinstance(codec, Dense | LowRank) or (isinstance(codec, RandomK) and codec.shared)


def way_of(codec: Codec, how: str | None, error_feedback: bool = False) -> str:
    """Return the collective to be used: `how`, or the usual one for None. Raises CourseError where it cannot work.

    >>> way_of(Dense(), None), way_of(RandomK(shared=False), None)
    ('all_reduce', 'all_gather')
    """
    codec = checked(codec)
    if error_feedback and isinstance(codec, RandomK) and codec.rescale:
        raise CourseError(
            _("Rescaled random-k returns more than it got; with error feedback it diverges: use one of the two.")
        )
    if how is None:
        return "all_reduce" if adds_up(codec) else "all_gather"
    how = one_of("way to exchange", how, HOW)
    if how == "all_reduce" and not adds_up(codec):
        raise CourseError(
            _("{codec}: sums of such packets are no packets, so an all-reduce cannot add them; gather them.").format(
                codec=codec
            )
        )
    if how != "all_reduce" and isinstance(codec, LowRank):
        raise CourseError(_("The factors of a low-rank codec are added between two products: they need an all-reduce."))
    return how


def exchange(
    codec: Codec,
    gradient: object,
    memory: Memory,
    *,
    n_ranks: int,
    rank: int,
    step: int = 0,
    error_feedback: bool = True,
    how: str | None = None,
    tensors: Tensors | None = None,
) -> Generator[object, object, Exchanged]:
    """Return the program of one rank: it encodes, yields collectives, decodes, and returns an `Exchanged`.

    With `error_feedback` what a packet leaves out is kept and added to the next gradient (Karimireddy et al.,
    arXiv:1901.09847). `how` is one of `HOW` or None for the usual one; `tensors` are the shapes of the tensors in the
    flat gradient, for low-rank codecs. Raises CourseError for gradients that are not finite and for pairs of codec and
    way that cannot work.

    >>> from course_lib.comm.driver import play
    >>> from course_lib.plan.codecs import TopK
    >>> rows = [[1.0, 8.0, 0.0], [2.0, 0.0, 0.5]]
    >>> programs = [exchange(TopK(0.3), g, fresh_memory(3), n_ranks=2, rank=r) for r, g in enumerate(rows)]
    >>> results, log = play(programs)
    >>> results[0].mean.tolist(), results[1].memory.error.tolist(), log.message_B()
    ([1.0, 4.0, 0.0], [0.0, 0.0, 0.5], 16)
    """
    how = way_of(codec, how, error_feedback)
    begin = perf_counter()
    wanted = gradient_values(gradient)
    if error_feedback:
        wanted = wanted + memory.error
    if isinstance(codec, LowRank):
        return (yield from _low_rank(codec, wanted, memory, n_ranks, error_feedback, tensors, begin))
    if how == "two_phase":
        return (yield from _two_phase(codec, wanted, memory, n_ranks, rank, step, error_feedback, begin))
    packet = encode(codec, wanted, step=step, rank=rank)
    error = wanted - decode(packet) if error_feedback else memory.error
    sent = packet.parts["values"] if how == "all_reduce" else to_bytes(packet)
    encode_s = perf_counter() - begin
    if how == "all_reduce":
        total = yield AllReduce(sent)
        begin = perf_counter()
        mean = decode(Packet(codec, packet.size, step, {"values": np.asarray(total)})) / n_ranks
    else:
        wires = np.asarray((yield AllGather(sent))).reshape(n_ranks, -1)
        begin = perf_counter()
        mean = sum(decode(from_bytes(codec, packet.size, wire, step=step)) for wire in wires) / n_ranks
    return Exchanged(mean, Memory(error), encode_s, perf_counter() - begin)


def _two_phase(codec, wanted, memory, n_ranks, rank, step, error_feedback, begin):
    """Every rank owns a shard: packets to the owners (all-to-all), sums encoded anew and gathered."""
    size = -(-max(wanted.size, 1) // n_ranks)
    shards = np.pad(wanted, (0, size * n_ranks - wanted.size)).reshape(n_ranks, size)
    packets = [encode(codec, shard, step=step, rank=rank) for shard in shards]
    error = memory.error
    if error_feedback:
        error = wanted - np.concatenate([decode(p) for p in packets])[: wanted.size]
    encode_s = perf_counter() - begin
    arrived = yield AllToAll([to_bytes(p) for p in packets])
    begin = perf_counter()
    total = sum(decode(from_bytes(codec, size, np.asarray(wire), step=step)) for wire in arrived) / n_ranks
    if error_feedback and memory.shard_error is not None:
        total = total + memory.shard_error
    decode_s, begin = perf_counter() - begin, perf_counter()
    packet = encode(codec, total, step=step, rank=rank)
    shard_error = total - decode(packet) if error_feedback else None
    encode_s += perf_counter() - begin
    wires = np.asarray((yield AllGather(to_bytes(packet)))).reshape(n_ranks, -1)
    begin = perf_counter()
    mean = np.concatenate([decode(from_bytes(codec, size, wire, step=step)) for wire in wires])[: wanted.size]
    return Exchanged(mean, Memory(error, shard_error), encode_s, decode_s + perf_counter() - begin)


def _low_rank(codec, wanted, memory, n_ranks, error_feedback, tensors, begin):
    """PowerSGD: left = matrix · right, added and made orthonormal; right = matrixᵀ · left, added. Small tensors dense."""
    if not tensors or sum(rows * columns for rows, columns in tensors) != wanted.size:
        raise CourseError(
            _("A low-rank codec needs the shapes of the tensors; together they have to hold {size} values.").format(
                size=wanted.size
            )
        )
    ends = np.cumsum([0] + [rows * columns for rows, columns in tensors])
    views = [wanted[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), tensors)]
    used = low_rank(codec, tensors)
    thin = [i for i, r in enumerate(used) if r]
    right = memory.factors or tuple(first_factor(codec, tensors[i]) for i in thin)
    lefts = [views[i] @ q for i, q in zip(thin, right)]
    dense = [views[i] for i, r in enumerate(used) if not r]
    encode_s = perf_counter() - begin
    summed = yield AllReduce(_joined(lefts + dense))
    begin = perf_counter()
    back = _cut(_finite_sums(summed), [a.shape for a in lefts + dense])
    lefts, dense = [orthonormal(p) for p in back[: len(thin)]], [d / n_ranks for d in back[len(thin) :]]
    own = [views[i].T @ p for i, p in zip(thin, lefts)]
    encode_s += perf_counter() - begin
    if thin:
        summed = yield AllReduce(_joined(own))
    begin = perf_counter()
    right = tuple(q / n_ranks for q in _cut(_finite_sums(summed), [q.shape for q in own])) if thin else ()
    mean, sent = np.empty(wanted.size), np.empty(wanted.size)
    rest = iter(dense)
    for i, (a, b) in enumerate(pairwise(ends)):
        if used[i]:
            k = thin.index(i)
            mean[a:b], sent[a:b] = (lefts[k] @ right[k].T).ravel(), (lefts[k] @ own[k].T).ravel()
        else:
            mean[a:b], sent[a:b] = next(rest).ravel(), wanted[a:b]
    # a zero matrix says nothing about where to look next: begin again from the seed
    right = tuple(q if q.any() else first_factor(codec, tensors[i]) for i, q in zip(thin, right))
    error = wanted - sent if error_feedback else memory.error
    return Exchanged(mean, Memory(error, None, right), encode_s, perf_counter() - begin)


def _finite_sums(summed: np.ndarray) -> np.ndarray:
    sums = np.asarray(summed, dtype=np.float64)
    if not np.isfinite(sums).all():
        raise CourseError(
            _("Sums of the low-rank factors that overflowed in FP32: {count}.").format(
                count=int((~np.isfinite(sums)).sum())
            )
        )
    return sums


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([a.ravel() for a in arrays]).astype(np.float32)


def _cut(flat: np.ndarray, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    ends = np.cumsum([0] + [int(np.prod(shape)) for shape in shapes])
    return [flat[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes)]
