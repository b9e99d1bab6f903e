"""Scales: a narrow format reaches small values when blocks of an array are divided by their largest magnitude first."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.precision import format_of, numbers_in, round_to


@dataclass(frozen=True, slots=True)
class Scaled:
    """Values rounded with scales: `values` are decoded again (float64); `scales` has one entry per block.

    `wire_B` counts the codes and the scales. `overflowed` and `underflowed` as in `Rounded`.
    """

    values: np.ndarray
    scales: np.ndarray
    format: str
    wire_B: float
    overflowed: int
    underflowed: int


def round_scaled(values: object, format: str, *, block: int | None = None, scale: str = "fp32") -> Scaled:
    """Divide by a scale, round to `format`, multiply again; one scale for all values or for each `block` of them.

    `block` counts neighbouring values in C order (None: all of them). `scale` is "fp32", the largest magnitude lands on
    the largest value of the format (4 B a scale); "e8m0", a power of two (1 B), chosen as the MX formats do, so that
    the largest magnitude keeps the top exponent and may saturate; or "e4m3" (1 B a block and one FP32 for all), as
    in NVFP4, which has blocks of 16. All zeros stay zeros with scale 1. Raises CourseError for NaN and infinities (the
    largest magnitude is then unknown), for an empty array and for names it does not know. Source: OCP MX
    specification 1.0, section 6.3; Micikevicius et al., arXiv:2209.05433.

    >>> g = [1e-6, 2e-6, 3e-6, 4e-6]
    >>> round_to(g, "fp8-e4m3").underflowed, round_scaled(g, "fp8-e4m3").underflowed
    (4, 0)
    >>> round_scaled(range(64), "fp4-e2m1", block=32, scale="e8m0").wire_B  # 64 half bytes and two scales
    34.0
    """
    form = format_of(format)
    scale = one_of("kind of scale", scale, ("fp32", "e8m0", "e4m3"))
    given = finite("values", numbers_in("values", values))
    flat = np.atleast_1d(given).ravel()
    if flat.size == 0:
        raise CourseError(_("values is empty; there is nothing to scale."))
    size = flat.size if block is None else min(whole("block", block, at_least=1), flat.size)
    blocks = np.pad(flat, (0, -flat.size % size)).reshape(-1, size)
    largest = np.abs(blocks).max(axis=1)
    if scale == "e8m0":
        # frexp gives m·2^e with m in [1/2, 1): the exponent of the leading bit is e - 1
        top = np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1 - (np.frexp(form.largest)[1] - 1)
        scales = np.ldexp(1.0, np.clip(top, -127, 127))
        scale_B = 1.0 * len(scales)
    elif scale == "e4m3":
        over_all = max(largest.max() / (form.largest * 448.0), np.finfo(np.float32).tiny)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below where it is infinite
            over_all = float(np.float32(over_all))
            scales = round_to(largest / form.largest / over_all, "fp8-e4m3", saturate=True).values * over_all
        scale_B = 1.0 * len(scales) + 4.0
    else:
        with np.errstate(over="ignore", under="ignore"):
            scales = (largest / form.largest).astype(np.float32).astype(np.float64)
        scale_B = 4.0 * len(scales)
    if not np.isfinite(scales).all():
        raise CourseError(
            _("The largest magnitude is {largest}; its scale does not fit in FP32.").format(
                largest=f"{largest.max():g}"
            )
        )
    scales = np.where((largest > 0) & (scales > 0), scales, 1.0)
    coded = round_to(blocks / scales[:, None], form.name, saturate=True)
    decoded = (coded.values * scales[:, None]).ravel()[: flat.size].reshape(given.shape if np.ndim(given) else ())
    return Scaled(decoded, scales, form.name, flat.size * form.stored_B + scale_B, coded.overflowed, coded.underflowed)
