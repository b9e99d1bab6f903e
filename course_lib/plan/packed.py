"""Packets as bytes: which arrays a codec sends, in which types, for a gradient of a given size."""

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.plan.codecs import Codec, Dense, EightBit, LowRank, OneBit, Packet, RandomK, TopK, checked, kept
from course_lib.plan.precision import DTYPES

Tensors = tuple[tuple[int, int], ...]


def parts(codec: Codec, size: int) -> tuple[tuple[str, np.dtype, int], ...]:
    """Return (name, type, count) of the arrays in a packet for `size` values, in the order in which they are sent.

    >>> parts(TopK(0.01), 1000)
    (('positions', dtype('uint32'), 10), ('values', dtype('float32'), 10))
    """
    single, count = np.dtype(np.float32), whole("size", size, at_least=0)
    if isinstance(checked(codec), Dense):
        return (("values", np.dtype(DTYPES[codec.format]), count),)
    if isinstance(codec, TopK | RandomK):
        some = kept(codec.keep, count)
        at = (("positions", np.dtype(np.uint32), some),)
        return (() if isinstance(codec, RandomK) and codec.shared else at) + (("values", single, some),)
    if isinstance(codec, EightBit):
        return ("codes", np.dtype(np.int8), count), ("scales", single, -(-max(count, 1) // codec.block))
    if isinstance(codec, OneBit):
        blocks = 1 if codec.block is None else -(-max(count, 1) // codec.block)
        return ("signs", np.dtype(np.uint8), -(-count // 8)), ("scales", single, blocks)
    raise CourseError(_("A low-rank codec sends factors of matrices: ask `packet_B` with the shapes of the tensors."))


def low_rank(codec: LowRank, tensors: Tensors) -> tuple[int, ...]:
    """Return the rank used for each tensor; 0 where the factors would be no smaller than the tensor: it goes dense.

    >>> low_rank(LowRank(2), ((30, 20), (1, 20)))
    (2, 0)
    """
    ranks = [min(codec.rank, rows, columns) for rows, columns in tensors]
    return tuple(r if r * (rows + columns) < rows * columns else 0 for r, (rows, columns) in zip(ranks, tensors))


def packet_B(codec: Codec, size: object, tensors: Tensors | None = None) -> int:
    """Return the bytes that stand for one gradient of `size` values: codes, scales and positions.

    `tensors`, (rows, columns) of each tensor, are needed for a low-rank codec only. Raises CourseError without them.

    >>> [packet_B(c, 10**6) for c in (Dense(), TopK(0.01), RandomK(0.01), EightBit(), OneBit())]
    [4000000, 80000, 40000, 1015628, 125004]
    >>> packet_B(LowRank(4), 10**6, ((1000, 1000),))
    32000
    """
    if isinstance(codec, LowRank):
        if not tensors:
            raise CourseError(_("A low-rank codec needs tensors=((rows, columns), …), the shapes of the gradient."))
        pairs = zip(low_rank(codec, tensors), tensors)
        return sum(4 * (r * (rows + columns) if r else rows * columns) for r, (rows, columns) in pairs)
    return sum(kind.itemsize * count for _name, kind, count in parts(codec, size))


def to_bytes(packet: Packet) -> np.ndarray:
    """Return a packet as one array of bytes, as it crosses the wire.

    >>> from course_lib.plan.codecs import encode
    >>> to_bytes(encode(EightBit(), [1.0, -2.0, 0.0])).size  # three codes and one scale
    7
    """
    arrays = [packet.parts[name] for name, _kind, _count in parts(packet.codec, packet.size)]
    return np.concatenate([np.ascontiguousarray(a).view(np.uint8).ravel() for a in arrays])


def from_bytes(codec: Codec, size: int, wire: np.ndarray, *, step: int = 0) -> Packet:
    """Return the packet that these bytes stand for; the other way round from `to_bytes`.

    >>> from course_lib.plan.codecs import decode, encode
    >>> sent = to_bytes(encode(TopK(0.5), [3.0, -4.0, 0.5, 0.0]))
    >>> sent.size, decode(from_bytes(TopK(0.5), 4, sent)).tolist()
    (16, [3.0, -4.0, 0.0, 0.0])
    """
    expected = parts(codec, size)
    if wire.dtype != np.uint8 or wire.size != sum(kind.itemsize * count for _name, kind, count in expected):
        raise CourseError(
            _("{got} bytes arrived; a packet of {size} values has {expected}.").format(
                got=wire.nbytes, size=size, expected=packet_B(codec, size)
            )
        )
    arrays, begin = {}, 0
    for name, kind, count in expected:
        arrays[name] = wire[begin : begin + kind.itemsize * count].copy().view(kind)
        begin += kind.itemsize * count
    return Packet(codec, size, step, arrays)
