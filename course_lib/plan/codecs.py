"""Gradient codecs: an array in, the bytes that really cross the wire out, and back. Indices and scales are counted.

Each codec is a small record; `encode` gives a `Packet` of NumPy arrays whose bytes are the wire's bytes, and `decode`
needs nothing but the packet. What a codec drops is lost here; `plan.exchange` keeps it for the next step.
"""

from dataclasses import dataclass, field

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.precision import DTYPES, numbers_in


@dataclass(frozen=True, slots=True)
class Dense:
    """Every value, in `format` ("fp32", "bf16" or "fp16"). Sums of packets are packets: an all-reduce works."""

    format: str = "fp32"


@dataclass(frozen=True, slots=True)
class TopK:
    """The `keep` largest magnitudes (a fraction), each with a 4-byte position. Ranks differ in what they keep."""

    keep: float = 0.01


@dataclass(frozen=True, slots=True)
class RandomK:
    """A `keep` fraction drawn from `seed` and the step; with `shared` positions are the same on all ranks and not sent.

    `rescale` divides by `keep`, which makes the mean right and the noise large; error feedback then diverges.
    """

    keep: float = 0.01
    seed: int = 0
    shared: bool = True
    rescale: bool = False


@dataclass(frozen=True, slots=True)
class EightBit:
    """One signed byte a value and an FP32 scale for every `block` neighbours: the largest magnitude becomes 127."""

    block: int = 256


@dataclass(frozen=True, slots=True)
class OneBit:
    """The sign of each value, eight to the byte, and the mean magnitude of every `block` values (None: of all)."""

    block: int | None = None


@dataclass(frozen=True, slots=True)
class LowRank:
    """Two thin factors of each matrix (PowerSGD: Vogels et al., arXiv:1905.13727): `rank` columns each."""

    rank: int = 2
    seed: int = 0


Codec = Dense | TopK | RandomK | EightBit | OneBit | LowRank
CODECS = {"dense": Dense, "top-k": TopK, "random-k": RandomK, "8-bit": EightBit, "1-bit": OneBit, "low-rank": LowRank}


@dataclass(frozen=True, slots=True)
class Packet:
    """What crosses the wire for one gradient of `size` values: named arrays, in the types in which they are sent."""

    codec: Codec
    size: int
    step: int = 0
    parts: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def wire_B(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts.values())

    @property
    def overflowed(self) -> int:
        """Numbers in the packet that are infinite: finite values for which the type on the wire is too narrow."""
        floats = [part for part in self.parts.values() if part.dtype.kind not in "iu"]
        return sum(int((~np.isfinite(part.astype(np.float64))).sum()) for part in floats)


def codec(name: str, **options: object) -> Codec:
    """Return the codec called `name` ("dense", "top-k", "random-k", "8-bit", "1-bit", "low-rank"), options checked.

    Raises CourseError for unknown names and options, fractions outside (0, 1], and counts below 1.

    >>> codec("top-k", keep=0.1)
    TopK(keep=0.1)
    >>> codec("top-k", keep=1.5)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: keep is 1.5; it is a fraction of the values, more than 0 and at most 1.
    """
    kind = CODECS[one_of("codec", name, CODECS)]
    for option in options:
        one_of(f"option of {name}", option, kind.__dataclass_fields__)
    return checked(kind(**options))


def checked(codec: Codec) -> Codec:
    """Return the codec if its numbers make sense, else raise a CourseError.

    >>> checked(TopK(0.5))
    TopK(keep=0.5)
    """
    if not isinstance(codec, Codec):
        raise CourseError(_("{value} is no codec; codec('top-k', keep=0.01) makes one.").format(value=repr(codec)[:60]))
    if isinstance(codec, Dense):
        one_of("format of dense gradients", codec.format, ("fp32", "bf16", "fp16"))
    if isinstance(codec, TopK | RandomK):
        keep = finite("keep", codec.keep)
        if np.ndim(keep) or not 0 < keep <= 1:
            raise CourseError(
                _("keep is {keep}; it is a fraction of the values, more than 0 and at most 1.").format(keep=codec.keep)
            )
    if isinstance(codec, RandomK | LowRank):
        whole("seed", codec.seed, at_least=0)
    if isinstance(codec, EightBit) or (isinstance(codec, OneBit) and codec.block is not None):
        whole("block", codec.block, at_least=1)
    if isinstance(codec, LowRank):
        whole("rank", codec.rank, at_least=1)
    return codec


def gradient_values(gradient: object) -> np.ndarray:
    """Return a gradient as a flat float64 array, or raise a CourseError for what a codec would hide.

    NaN and infinities are refused (their number and the first place are named), and so are magnitudes beyond FP32.

    >>> gradient_values([1.0, float("nan"), float("inf")])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: Not finite in the gradient: 2 of 3 values (the first, nan, at position 1). \
A codec would spread or hide them: skip this step, or lower the loss scale, and find the cause.
    """
    values = numbers_in("gradient", gradient).ravel()
    infinite = ~np.isfinite(values)
    bad = infinite if infinite.any() else np.abs(values) > np.finfo(np.float32).max
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        text = (
            _(
                "Not finite in the gradient: {count} of {all} values (the first, {value}, at position {first}). A "
                "codec would spread or hide them: skip this step, or lower the loss scale, and find the cause."
            )
            if infinite.any()
            else _(
                "Too large for FP32 in the gradient: {count} of {all} values (the first, {value}, at position {first})."
            )
        )
        raise CourseError(text.format(count=int(bad.sum()), all=values.size, value=f"{values[first]:g}", first=first))
    return values


def kept(keep: float, size: int) -> int:
    """Return how many of `size` values a fraction keeps: rounded up, at least one of a nonempty array.

    >>> kept(0.01, 2762), kept(0.01, 5), kept(0.01, 0)
    (28, 1, 0)
    """
    return min(size, max(int(np.ceil(keep * size - 1e-9)), min(size, 1)))


def random_positions(codec: RandomK, size: int, step: int, rank: int = 0) -> np.ndarray:
    """Return the positions that random-k keeps in this step, ascending; the same for all ranks if they are shared.

    >>> random_positions(RandomK(0.3), 10, step=0).size
    3
    """
    rng = np.random.default_rng([codec.seed, step, 0 if codec.shared else rank + 1])
    return np.sort(rng.choice(size, kept(codec.keep, size), replace=False)).astype(np.uint32)


def _blocks(values: np.ndarray, block: int | None) -> np.ndarray:
    size = max(values.size, 1) if block is None else min(block, max(values.size, 1))
    short = -values.size % size if values.size else size  # an empty gradient still has a block, and its scale
    return (np.concatenate([values, np.zeros(short)]) if short else values).reshape(-1, size)


def encode(codec: Codec, gradient: object, *, step: int = 0, rank: int = 0) -> Packet:
    """Return the packet of one rank's gradient (any shape). `step` and `rank` matter only to random-k.

    A low-rank codec needs a matrix and one product with all ranks' matrix: see `plan.exchange`; here it is encoded as
    if there were one rank. Raises CourseError as `gradient_values`.

    >>> g = np.linspace(-1, 1, 1000)
    >>> [encode(c, g).wire_B for c in (Dense(), TopK(0.01), RandomK(0.01), EightBit(250), OneBit())]
    [4000, 80, 40, 1016, 129]
    """
    codec = checked(codec)
    values = gradient_values(gradient)
    with np.errstate(over="ignore", under="ignore"):  # what overflows is infinite in the packet, and counted there
        parts = _parts(codec, values, np.shape(gradient), step, rank)
    return Packet(codec, values.size, step, parts)


def _parts(codec: Codec, values: np.ndarray, shape: tuple[int, ...], step: int, rank: int) -> dict[str, np.ndarray]:
    if isinstance(codec, Dense):
        return {"values": values.astype(DTYPES[codec.format])}
    if isinstance(codec, TopK):
        count = kept(codec.keep, values.size)
        at = np.argpartition(np.abs(values), values.size - count)[values.size - count :] if count else np.zeros(0, int)
        at = np.sort(at).astype(np.uint32)
        return {"positions": at, "values": values[at].astype(np.float32)}
    if isinstance(codec, RandomK):
        at = random_positions(codec, values.size, step, rank)
        chosen = values[at] / codec.keep if codec.rescale else values[at]
        return ({} if codec.shared else {"positions": at}) | {"values": chosen.astype(np.float32)}
    if isinstance(codec, EightBit):
        blocks = _blocks(values, codec.block)
        scales = (np.abs(blocks).max(axis=1) / 127).astype(np.float32)
        safe = np.where(scales > 0, scales, 1).astype(np.float64)
        codes = np.clip(np.rint(blocks / safe[:, None]), -127, 127).astype(np.int8)
        return {"codes": codes.ravel()[: values.size], "scales": scales}
    if isinstance(codec, OneBit):
        blocks = _blocks(values, codec.block)
        full = np.full(len(blocks), blocks.shape[1])
        full[-1] -= blocks.size - values.size
        scales = (np.abs(blocks).sum(axis=1) / np.maximum(full, 1)).astype(np.float32)
        return {"signs": np.packbits(values >= 0), "scales": scales}
    if len(shape) != 2:
        raise CourseError(
            _("A low-rank codec needs a matrix, two axes; axes of this gradient: {count}.").format(count=len(shape))
        )
    matrix = values.reshape(shape)
    left = orthonormal(matrix @ first_factor(codec, shape))
    return {"left": left.astype(np.float32), "right": (matrix.T @ left).astype(np.float32)}


def decode(packet: Packet) -> np.ndarray:
    """Return the flat float64 gradient that a packet stands for.

    >>> decode(encode(TopK(0.5), [3.0, -4.0, 0.5, 0.0])).tolist()
    [3.0, -4.0, 0.0, 0.0]
    """
    codec, parts = packet.codec, packet.parts
    if isinstance(codec, Dense):
        return parts["values"].astype(np.float64)
    if isinstance(codec, TopK | RandomK):
        out = np.zeros(packet.size)
        at = parts["positions"] if "positions" in parts else random_positions(codec, packet.size, packet.step)
        out[at] = parts["values"]
        return out
    if isinstance(codec, EightBit):
        return (
            _blocks(parts["codes"].astype(np.float64), codec.block) * parts["scales"][:, None].astype(float)
        ).ravel()[: packet.size]
    if isinstance(codec, OneBit):
        signs = np.unpackbits(parts["signs"], count=packet.size) * 2.0 - 1.0
        return (_blocks(signs, codec.block) * parts["scales"][:, None].astype(float)).ravel()[: packet.size]
    return (parts["left"].astype(float) @ parts["right"].astype(float).T).ravel()


def first_factor(codec: LowRank, shape: tuple[int, int]) -> np.ndarray:
    """Return the right factor (columns, rank) with which all ranks begin: the same everywhere, from the seed.

    >>> first_factor(LowRank(2), (30, 20)).shape
    (20, 2)
    """
    return np.random.default_rng([codec.seed, *shape]).standard_normal((shape[1], min(codec.rank, *shape)))


def orthonormal(factor: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that span those of `factor` (rows, rank); zeros give some orthonormal columns.

    >>> q = orthonormal(np.array([[3.0, 1.0], [4.0, 1.0]]))
    >>> np.allclose(q.T @ q, np.eye(2))
    True
    """
    largest = np.abs(factor).max(initial=0.0)
    return np.linalg.qr(factor / largest if largest > 0 else factor)[0]
