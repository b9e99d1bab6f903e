"""When does compressing pay: codec, compress, send and decompress against send; measured codec times, a price for sending."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.plan.codecs import Codec, Dense, LowRank, checked, decode, encode
from course_lib.plan.exchange import way_of
from course_lib.plan.packed import Tensors, low_rank, packet_B
from course_lib.plan.price import price, pricer
from course_lib.timing.system import load

PriceOf = Callable[[str, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Message:
    """One collective of an exchange: `message_B` as nccl-tests counts it, `sent_B` what each rank sends in a ring."""

    op: str
    message_B: float
    sent_B: float


@dataclass(frozen=True, slots=True)
class CodecTime:
    """Seconds to encode one gradient of `size` values and to decode one packet, on this machine (the median of runs)."""

    codec: Codec
    size: int
    encode_s: float
    decode_s: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Dense against compressed exchange; `pays` where compress + send + decompress takes less time than send."""

    dense_s: np.ndarray
    packed_send_s: np.ndarray
    codec_s: float
    pays: np.ndarray

    @property
    def packed_s(self) -> np.ndarray:
        """Compress, send and decompress."""
        return self.packed_send_s + self.codec_s


def messages(
    codec: Codec, size: object, n_ranks: object, *, how: str | None = None, tensors: Tensors | None = None
) -> tuple[Message, ...]:
    """Return the collectives in which n ranks exchange gradients of `size` values, with their bytes.

    An all-reduce sends 2(n−1)/n of a packet from each rank, whatever n; an all-gather n−1 packets, so that keeping 1 %
    of the values saves nothing at a hundred ranks; two phases send 2(n−1) packets of a shard. `how` as in
    `plan.exchange`. Raises CourseError for unknown ways and counts below 1.

    >>> from course_lib.plan.codecs import TopK
    >>> for n in (2, 8, 64):
    ...     (dense,), (sparse,) = messages(Dense(), 10**6, n), messages(TopK(0.01), 10**6, n)
    ...     print(f"{n} ranks: {dense.sent_B / sparse.sent_B:.1f} × less")
    2 ranks: 50.0 × less
    8 ranks: 12.5 × less
    64 ranks: 1.6 × less
    """
    codec, size = checked(codec), whole("size", size, at_least=0)
    n, way = whole("n_ranks", n_ranks, at_least=1), way_of(codec, how)
    if isinstance(codec, LowRank):
        total = packet_B(codec, size, tensors)
        right = sum(4 * r * columns for r, (_rows, columns) in zip(low_rank(codec, tensors), tensors))
        sizes = [("all_reduce", total - right)] + ([("all_reduce", right)] if right else [])
    elif way == "all_reduce":
        sizes = [("all_reduce", packet_B(codec, size))]
    elif way == "all_gather":
        sizes = [("all_gather", n * packet_B(codec, size))]
    else:
        shard = packet_B(codec, -(-max(size, 1) // n))
        sizes = [("all_to_all", n * shard), ("all_gather", n * shard)]
    share = (n - 1) / n
    return tuple(Message(op, float(m), m * share * (2 if op == "all_reduce" else 1)) for op, m in sizes)


def sent_B(codec: Codec, size: object, n_ranks: object, **options: object) -> float:
    """Return the bytes that each rank sends in one exchange (one direction); options as in `messages`.

    >>> from course_lib.plan.codecs import EightBit
    >>> [round(sent_B(EightBit(), 10**6, 64, how=h) / sent_B(Dense(), 10**6, 64), 2) for h in ("all_gather", "two_phase")]
    [8.13, 0.25]
    """
    return sum(m.sent_B for m in messages(codec, size, n_ranks, **options))


def break_even_Bps(dense_sent_B: object, packed_sent_B: object, codec_s: object):
    """Return the bandwidth below which compressing pays: (dense − packed) / codec time; broadcasts.

    The bytes are what each rank sends, `codec_s` is encoding and decoding together; latency is left out, so for small
    messages the true point differs. 0: it never pays, as no bytes are saved. Infinite: the codec takes no time.

    >>> break_even_Bps(2e9, 0.5e9, 0.1)
    15000000000.0
    >>> break_even_Bps(1e9, 2e9, 0.1)
    0.0
    """
    saved = np.maximum(
        finite("dense_sent_B", dense_sent_B, at_least=0) - finite("packed_sent_B", packed_sent_B, at_least=0), 0.0
    )
    seconds = finite("codec_s", codec_s, at_least=0, unit="s")
    with np.errstate(divide="ignore", invalid="ignore"):
        answer = np.where(saved > 0, np.true_divide(saved, seconds), 0.0)
    return answer if answer.ndim else float(answer)


def codec_seconds(time: CodecTime, n_ranks: object, *, how: str | None = None) -> float:
    """Return what one exchange costs a rank in codec time: it decodes one packet, n of them, or n shards and n shards.

    >>> from course_lib.plan.codecs import TopK
    >>> codec_seconds(CodecTime(TopK(), 1000, 3e-3, 1e-3), 8)
    0.011
    """
    n, way = whole("n_ranks", n_ranks, at_least=1), way_of(time.codec, how)
    if way == "two_phase":  # its own gradient and one shard; n shards to add and n shards to join
        return time.encode_s * (1 + 1 / n) + 2 * time.decode_s
    return time.encode_s + time.decode_s * (n if way == "all_gather" else 1)


def measure_codec(codec: Codec, size: object = 1_000_000, *, repeats: object = 5, seed: object = 0) -> CodecTime:
    """Return encode and decode time of a codec on this machine, in NumPy: the median of `repeats` runs.

    The gradient is normal noise; a low-rank codec gets it as the squarest matrix that `size` allows. A GPU kernel is
    much faster: measure it, or take its rate from a paper, and put it in a `CodecTime`.

    >>> measure_codec(Dense(), 1000).encode_s > 0
    True
    """
    codec, size = checked(codec), whole("size", size, at_least=1)
    gradient = np.random.default_rng(whole("seed", seed, at_least=0)).standard_normal(size)
    if isinstance(codec, LowRank):
        rows = max(d for d in range(1, int(size**0.5) + 1) if size % d == 0)
        gradient = gradient.reshape(rows, -1)
    packet = encode(codec, gradient)
    coded, back = [], []
    for _run in range(whole("repeats", repeats, at_least=1)):
        begin = perf_counter()
        packet = encode(codec, gradient)
        middle = perf_counter()
        decode(packet)
        coded.append(middle - begin)
        back.append(perf_counter() - middle)
    return CodecTime(codec, size, float(np.median(coded)), float(np.median(back)))


def exchange_s(
    codec: Codec,
    size: object,
    n_ranks: object,
    *,
    system: object = None,
    time_of: PriceOf | None = None,
    how: str | None = None,
    tensors: Tensors | None = None,
) -> float:
    """Return the seconds on the network for one exchange, without codec time.

    Priced by `predict` for `system`, or by `time_of(op, message_B)` if that is given. Raises CourseError without either.

    >>> exchange_s(Dense(), 1000, 4, time_of=lambda op, message_B: 1 + message_B / 1000)
    5.0
    """
    total = 0.0
    for m in messages(codec, size, n_ranks, how=how, tensors=tensors):
        if time_of is None and system is None:
            raise CourseError(_("Give a system, or time_of(op, message_B): something has to price the network."))
        asked = pricer(m.op, system, n_ranks) if time_of is None else (lambda b, op=m.op: time_of(op, b))
        total += float(price(asked, m.message_B))
    return total


def at_bandwidth(system: object, n_ranks: object, *, n_hosts: object = None) -> Callable[[float], PriceOf]:
    """Return `price_at` for `compare`: a system as `predict` sees it, but with another bandwidth.

    What is changed is the link that the ranks depend on: the network cards if they stand on several hosts, else the
    scale-up fabric (per GPU). Bandwidths are per card or GPU, one direction. Errors are those of `predict`.

    >>> price_at = at_bandwidth("dgx-h100", 64)
    >>> bool(price_at(5e9)("all_reduce", 1e9) > 5 * price_at(50e9)("all_reduce", 1e9))
    True
    """
    place, n = load(system), whole("n_ranks", n_ranks, at_least=1)
    hosts = -(-n // place.gpus_per_host) if n_hosts is None else whole("n_hosts", n_hosts, at_least=1)
    part = "scale_out" if hosts > 1 else "scale_up"
    if getattr(place, part) is None:
        raise CourseError(
            _("{name} has no network, and {n} ranks do not fit on one host.").format(name=place.name, n=n)
        )

    def price_at(bandwidth_Bps: float) -> PriceOf:
        link = replace(getattr(place, part), bandwidth_Bps=float(finite("bandwidth_Bps", bandwidth_Bps, above=0)))
        changed = replace(place, **{part: link})
        return lambda op, message_B: pricer(op, changed, n, n_hosts=n_hosts)(message_B)

    return price_at


def compare(
    time: CodecTime,
    n_ranks: object,
    price_at: Callable[[float], PriceOf],
    bandwidth_Bps: object,
    *,
    dense: Codec | None = None,
    how: str | None = None,
    tensors: Tensors | None = None,
) -> Comparison:
    """Return dense and compressed exchange at each of several bandwidths (K,), and where compressing pays.

    `time` is a measured (or published) codec time and says codec and size; `price_at(bandwidth)` returns
    `time_of(op, message_B)`. `dense` is what would be sent otherwise (None: FP32).

    >>> from course_lib.plan.codecs import OneBit
    >>> at = lambda rate: lambda op, m: 1e-5 + m / rate
    >>> compare(CodecTime(OneBit(), 10**7, 2e-3, 2e-3), 8, at, [1e9, 10e9], how="two_phase").pays.tolist()
    [True, False]
    """
    rates = np.atleast_1d(finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")).ravel()
    plain = Dense() if dense is None else dense
    pairs = [
        (
            exchange_s(plain, time.size, n_ranks, time_of=price_at(float(rate)), tensors=tensors),
            exchange_s(time.codec, time.size, n_ranks, time_of=price_at(float(rate)), how=how, tensors=tensors),
        )
        for rate in rates
    ]
    dense_s, packed_s = np.array(pairs).reshape(-1, 2).T
    codec_s = codec_seconds(time, n_ranks, how=how)
    return Comparison(dense_s, packed_s, codec_s, packed_s + codec_s < dense_s)


def crossing_Bps(comparison: Comparison, bandwidth_Bps: object) -> float:
    """Return the bandwidth at which a `Comparison` over rising bandwidths changes sides, read between its points.

    Linear in the logarithm of the bandwidth. 0 if compressing pays at none of the points, infinite if at all of them.

    >>> from course_lib.plan.codecs import OneBit
    >>> rates, at = np.geomspace(1e8, 1e11, 40), lambda rate: lambda op, m: m / rate
    >>> c = compare(CodecTime(OneBit(), 10**7, 2e-3, 2e-3), 8, at, rates, how="two_phase")
    >>> f"{crossing_Bps(c, rates) / 1e9:.1f} GB/s"
    '6.0 GB/s'
    """
    rates = np.atleast_1d(finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")).ravel()
    if rates.shape != comparison.dense_s.shape or (np.diff(rates) <= 0).any():
        raise CourseError(_("The bandwidths have to be those of the comparison, rising."))
    if not comparison.pays.any():
        return 0.0
    gain = np.log(comparison.dense_s) - np.log(comparison.packed_s)
    last = int(np.flatnonzero(comparison.pays)[-1])
    if last == len(rates) - 1:
        return float("inf")
    part = gain[last] / (gain[last] - gain[last + 1])
    return float(np.exp(np.log(rates[last]) + part * np.log(rates[last + 1] / rates[last])))
