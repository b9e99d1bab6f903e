"""A training step with compressed gradients: compute, compress, send over a network of any bandwidth, decompress.

The job: the 1.5-billion-parameter GPT-2 on n hosts of one H100 each, so that what a GPU sends leaves by its own card.
Nothing overlaps. Codec times are passes over the GPU's own memory, a bound, times a factor for what a real kernel takes.
"""

import functools
from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import finite, whole
from course_lib.plan.breakeven import (
    CodecTime,
    Comparison,
    at_bandwidth,
    codec_seconds,
    crossing_Bps,
    exchange_s,
    measure_codec,
    sent_B,
)
from course_lib.plan.codecs import Codec, Dense, EightBit, LowRank, OneBit, TopK, checked
from course_lib.plan.packed import Tensors
from course_lib.plan.transformer import Shape, flops, model, params

MODEL, SYSTEM, GPU = "gpt2-1.5b", "dgx-h100", "h100"
TOKENS, UTILISATION = 16_384, 0.4
# One gigabit per second to NVLink 4: twelve points are enough to read a crossing between them.
BANDWIDTHS_Bps = np.geomspace(1.25e8, 450e9, 12)


@dataclass(frozen=True, slots=True)
class Steps:
    """What a step costs at each of several bandwidths: seconds (K,), and bytes that each rank sends.

    `dense` sends FP32. `crossing_Bps`: below it the codec pays; 0 if nowhere in the range, infinite if everywhere.
    """

    n_ranks: int
    bandwidth_Bps: np.ndarray
    compute_s: float
    codec_s: float
    dense_s: np.ndarray
    packed_s: np.ndarray
    dense_sent_B: float
    packed_sent_B: float
    crossing_Bps: float


def passes(codec: Codec) -> tuple[float, float]:
    """Return how often a codec reads or writes the whole FP32 gradient: to encode with error feedback, and to decode one packet.

    A count of what cannot be avoided (an assumption, not a measurement): the memory is read, added and written again,
    scales take a read of their own, a selection by radix takes four. A real kernel needs as long or longer.

    >>> passes(Dense("bf16")), passes(TopK(0.01))[0] > passes(OneBit())[0]
    ((1.5, 1.5), True)
    """
    codec, feedback = checked(codec), 3.0
    if isinstance(codec, Dense):
        return (0.0, 0.0) if codec.format == "fp32" else (1.5, 1.5)
    if isinstance(codec, EightBit):
        return feedback + 1.25, 1.25
    if isinstance(codec, OneBit):
        return feedback + 1 + 1 / 32, 1 + 1 / 32
    if isinstance(codec, LowRank):
        return feedback + 2, 1.0
    select = 4.0 if isinstance(codec, TopK) else 0.0
    return feedback + select + 2 * codec.keep, 4 * codec.keep


def codec_time(codec: Codec, size: object, slower: object = 1.0) -> CodecTime:
    """Return encode and decode time of `size` values on an H100, `slower` times as long as its memory needs for the passes.

    >>> t = codec_time(EightBit(), 10**9)
    >>> f"{t.encode_s * 1e3:.1f} ms"
    '5.1 ms'
    """
    size = whole("size", size, at_least=1)
    one_s = 4.0 * size / hardware.gpu(GPU).hbm_Bps * float(finite("slower", slower, at_least=1))
    return CodecTime(codec, size, *(one_s * p for p in passes(codec)))


def slowdown_here(codec: Codec, size: object = 1_000_000) -> float:
    """Return how many times as long as an H100's memory would need a codec takes in NumPy on this machine, measured.

    >>> slowdown_here(TopK(), 10_000) > 1
    True
    """
    found, bound = measure_codec(codec, size, repeats=3), codec_time(codec, size)
    return (found.encode_s + found.decode_s) / (bound.encode_s + bound.decode_s)


def matrices(shape: Shape) -> Tensors:
    """Return (rows, columns) of the weight matrices of a GPT-2-like shape, the rest as one row: for low-rank codecs.

    >>> sum(rows * columns for rows, columns in matrices(model(MODEL))) == params(model(MODEL)).total
    True
    """
    h, kv = shape.hidden, shape.n_kv_heads * shape.head_size
    layer = ((h, h + 2 * kv), (h, h), (h, shape.ffn), (shape.ffn, h))
    found = ((shape.vocab, h), *(layer * shape.n_layers))
    rest = params(shape).total - sum(rows * columns for rows, columns in found)
    return (*found, (1, rest)) if rest else found


def way(codec: Codec) -> str | None:
    """Return how the packets travel in this job: quantised ones in two phases, others as usual.

    >>> way(EightBit()), way(TopK())
    ('two_phase', None)
    """
    return "two_phase" if isinstance(codec, EightBit | OneBit) else None


@functools.lru_cache(maxsize=256)
def _sent_s(codec: Codec, n: int) -> np.ndarray:
    """Seconds on the network over `BANDWIDTHS_Bps`: what a slower or faster codec does not change."""
    price_at, size = at_bandwidth(SYSTEM, n, n_hosts=n), params(model(MODEL)).total
    options = {"how": way(codec), "tensors": matrices(model(MODEL)) if isinstance(codec, LowRank) else None}
    found = np.array([exchange_s(codec, size, n, time_of=price_at(float(r)), **options) for r in BANDWIDTHS_Bps])
    found.flags.writeable = False
    return found


@functools.lru_cache(maxsize=64)
def steps(codec: Codec, n_ranks: int, slower: float = 1.0) -> Steps:
    """Return a step's times over `BANDWIDTHS_Bps` with a codec, and with FP32 gradients; priced by `predict`.

    >>> slow, fast = steps(TopK(0.01), 8).packed_s[[0, -1]]
    >>> bool(slow > 3 * fast), steps(TopK(0.01), 256).packed_sent_B > steps(TopK(0.01), 256).dense_sent_B
    (True, True)
    """
    n, shape = whole("n_ranks", n_ranks, at_least=2), model(MODEL)
    size, tensors = params(shape).total, matrices(shape) if isinstance(codec, LowRank) else None
    time = codec_time(codec, size, slower)
    options = {"how": way(codec), "tensors": tensors}
    dense_s, sent_s, codec_s = _sent_s(Dense(), n), _sent_s(codec, n), codec_seconds(time, n, how=way(codec))
    found = Comparison(dense_s, sent_s, codec_s, sent_s + codec_s < dense_s)
    compute_s = float(flops(shape, TOKENS // shape.seq).model) / (UTILISATION * hardware.gpu(GPU).bf16_flops)
    return Steps(
        n,
        BANDWIDTHS_Bps,
        compute_s,
        codec_s,
        compute_s + found.dense_s,
        compute_s + found.packed_s,
        sent_B(Dense(), size, n),
        sent_B(codec, size, n, **options),
        crossing_Bps(found, BANDWIDTHS_Bps),
    )
