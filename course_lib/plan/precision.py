"""Number formats as real rounding: what is left of an array in TF32, BF16, FP16, FP8 or FP4, and what overflowed.

Every value is rounded once, to nearest with ties to even, from float64. (`ml_dtypes` alone rounds a float64 twice, by
way of float32, which moves values that lie just beside a tie; `_round_to_odd` prevents that.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format.

    `bits` are stored, `mantissa_bits` exclude the leading one; `largest` is the largest finite magnitude,
    `smallest_normal` and `smallest` (subnormal) the smallest; `special` says what becomes of an overflow.
    """

    name: str
    bits: int
    exponent_bits: int
    mantissa_bits: int
    largest: float
    smallest_normal: float
    smallest: float
    special: str  # "inf": overflow becomes infinite; "nan": becomes NaN; "none": the format has neither and saturates
    source: str

    @property
    def stored_B(self) -> float:
        """Bytes per value in memory and on the wire. TF32 lives in four bytes: it is a way to multiply, not to store."""
        return 4.0 if self.name == "tf32" else self.bits / 8

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding of a normal value, 2^-(mantissa_bits + 1)."""
        return 2.0 ** -(self.mantissa_bits + 1)


def _format(name: str, bits: int, exponent_bits: int, mantissa_bits: int, largest: float, special: str, source: str):
    lowest = 2 - 2 ** (exponent_bits - 1)  # exponent of the smallest normal value: bias 2^(e-1) - 1 in all of these
    return Format(
        name,
        bits,
        exponent_bits,
        mantissa_bits,
        largest,
        2.0**lowest,
        2.0 ** (lowest - mantissa_bits),
        special,
        source,
    )


_IEEE = "IEEE 754-2019"
_OCP = "OCP 8-bit Floating Point Specification (OFP8) 1.0, 2023"
_MX = "OCP Microscaling Formats (MX) Specification 1.0, 2023"
FORMATS = {
    f.name: f
    for f in (
        _format("fp32", 32, 8, 23, (2 - 2.0**-23) * 2.0**127, "inf", _IEEE),
        _format("tf32", 19, 8, 10, (2 - 2.0**-10) * 2.0**127, "inf", "NVIDIA A100 Tensor Core GPU Architecture, 2020"),
        _format("bf16", 16, 8, 7, (2 - 2.0**-7) * 2.0**127, "inf", "Kalamkar et al., arXiv:1905.12322"),
        _format("fp16", 16, 5, 10, 65504.0, "inf", _IEEE),
        _format("fp8-e4m3", 8, 4, 3, 448.0, "nan", _OCP),
        _format("fp8-e5m2", 8, 5, 2, 57344.0, "inf", _OCP),
        _format("fp4-e2m1", 4, 2, 1, 6.0, "none", _MX),
    )
}
DTYPES = {
    "fp32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp8-e4m3": ml_dtypes.float8_e4m3fn,
    "fp8-e5m2": ml_dtypes.float8_e5m2,
    "fp4-e2m1": ml_dtypes.float4_e2m1fn,
}
_SPELLINGS = {"e4m3": "fp8-e4m3", "e5m2": "fp8-e5m2", "fp4": "fp4-e2m1", "e2m1": "fp4-e2m1", "bfloat16": "bf16"}
_SPELLINGS |= {"float32": "fp32", "float16": "fp16", "half": "fp16", "tensorfloat32": "tf32"}


@dataclass(frozen=True, slots=True)
class Rounded:
    """Values after rounding (float64, so that they can be compared) and what was lost on the way, counted.

    `overflowed`: finite values beyond the largest of the format. `underflowed`: nonzero values that became zero.
    `subnormal`: nonzero results below the smallest normal value, which keep fewer bits. `not_finite`: values that were
    NaN or infinite before.
    """

    values: np.ndarray
    format: str
    overflowed: int
    underflowed: int
    subnormal: int
    not_finite: int


def format_of(name: str) -> Format:
    """Return the `Format` called `name`; other usual spellings are accepted. Raises CourseError for an unknown name.

    >>> format_of("E4M3").largest
    448.0
    >>> format_of("fp8")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no number format 'fp8'. The nearest: fp32, fp16, fp8-e5m2, fp8-e4m3.
    """
    asked = str(name).lower().replace("_", "-").strip()
    return FORMATS[one_of("number format", _SPELLINGS.get(asked, name), FORMATS)]


def numbers_in(name: str, values: object) -> np.ndarray:
    """Return `values` as float64; NaN and infinities stay. Raises CourseError for text, None and complex numbers.

    >>> numbers_in("values", [1, float("nan")]).tolist()
    [1.0, nan]
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" and array.dtype not in (np.dtype(d) for d in DTYPES.values()):
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise CourseError(_("{name} has to be an array of numbers.").format(name=name)) from None


def _round_to_odd(values: np.ndarray) -> np.ndarray:
    """Round float64 to float32 towards zero and mark what was cut off in the last bit: a second rounding is then exact."""
    with np.errstate(over="ignore", under="ignore"):
        near = values.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.uint32).copy()
    bits -= (np.abs(back) > np.abs(values)).astype(np.uint32)
    bits |= (back != values) & ~np.isnan(values)
    return bits.view(np.float32)


def _cast(values: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if name in ("fp32", "fp16"):  # NumPy casts these from float64 in one rounding
            return values.astype(DTYPES[name]).astype(np.float64)
        narrow = _round_to_odd(values)
        if name != "tf32":
            return narrow.astype(DTYPES[name]).astype(np.float64)
        bits = narrow.view(np.uint32)
        # add half a unit of the last kept bit, less one when that bit is even: nearest, ties to even
        kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
        return np.where(np.isfinite(values), kept.view(np.float32), values).astype(np.float64)


def round_to(values: object, format: str, *, saturate: bool = False) -> Rounded:
    """Round `values` (any shape) to `format`, to nearest with ties to even, and count what was lost.

    An overflow is shown as the format shows it: infinite, or NaN in FP8 E4M3, which has no infinity. `saturate=True`
    gives the largest finite value instead, as GPU conversions to FP8 do; the overflow is counted all the same. FP4 has
    neither NaN nor infinity: it always saturates, and refuses values that are NaN. Raises CourseError for an unknown
    format and for what is no number. Cost: about 30 ns a value. Source: `format_of(format).source`.

    >>> r = round_to([1/3, 70000.0, 1e-9], "fp16")
    >>> r.values.tolist(), r.overflowed, r.underflowed
    ([0.333251953125, inf, 0.0], 1, 1)
    >>> round_to([0.3, 7.0, 500.0], "fp8-e4m3", saturate=True).values.tolist()
    [0.3125, 7.0, 448.0]
    """
    form = format_of(format)
    given = numbers_in("values", values)
    known = np.isfinite(given)
    if form.special == "none" and np.isnan(given).any():
        raise CourseError(
            _("{count} of the values are NaN, and {format} has no code for NaN; find out where they come from.").format(
                count=int(np.isnan(given).sum()), format=form.name
            )
        )
    rounded = _cast(np.atleast_1d(given), form.name).reshape(given.shape)
    size = np.abs(rounded)
    if form.special == "none":  # the nearest value to 6.9 is 6; 7 lies half-way to the 8 that the format lacks
        over = known & (np.abs(given) >= 7.0)
    else:
        over = known & ~np.isfinite(rounded)
    if saturate:
        out = over | np.isinf(given)
        rounded = np.where(out, np.copysign(form.largest, given), rounded)
    return Rounded(
        rounded,
        form.name,
        int(over.sum()),
        int((known & (given != 0) & (rounded == 0)).sum()),
        int((known & (size > 0) & (size < form.smallest_normal)).sum()),
        int((~known).sum()),
    )


def caster(format: str, *, saturate: bool = False) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that rounds a float64 array as `round_to` does, without counting: for inner loops.

    >>> caster("bf16")(np.array([256.0 + 1.0])).tolist()  # eight bits cannot hold 257
    [256.0]
    """
    form = format_of(format)

    def cast(array: np.ndarray) -> np.ndarray:
        rounded = _cast(np.atleast_1d(array), form.name).reshape(np.shape(array))
        if saturate:
            out = np.abs(array) > form.largest
            rounded = np.where(out, np.copysign(form.largest, array), rounded)
        return rounded

    return cast
