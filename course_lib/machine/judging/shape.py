"""Shape of a measured sweep: plateau, rising end, dips, fitted α and β, regimes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.links import alphabeta, calibrate

RISE = 1.03  # of the bandwidth over the last two doublings: above it the plateau is not reached
DIP = 0.5  # of the best before it
LARGE_B = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a sweep shows. Sizes rise; `regime` has a word a size (latency, mixed, bandwidth; "" without a fit).

    `plateau_Bps` is the median bus bandwidth of sizes down to a quarter of the largest, None where all sizes are below
    1 MiB; `peak_Bps` the largest; `rising` says that it still grew; `dips` are indices of sizes with under half of the
    bandwidth of a smaller size.
    """

    message_B: NDArray[np.float64]
    time_s: NDArray[np.float64]
    busbw_Bps: NDArray[np.float64]
    fit: calibrate.Fit | None
    regime: tuple[str, ...]
    plateau_Bps: float | None
    peak_Bps: float
    rising: bool
    dips: tuple[int, ...]
    said: tuple[str, ...]


def shape_of(message_B: ArrayLike, time_s: ArrayLike, factor: float) -> Shape:
    """Return the shape of a sweep.

    Args:
        message_B: (s,) bytes above 0.
        time_s: (s,) seconds above 0.
        factor: bus over algorithm bandwidth.

    Raises:
        CourseError: arrays of different lengths, empty, or not positive.

    >>> made = shape_of([2**20, 2**26, 2**28, 2**30], [20e-6, 0.7e-3, 2.7e-3, 10.7e-3], 1.75)
    >>> round(made.plateau_Bps / 1e9), made.rising, made.dips
    (175, False, ())
    """
    sizes = np.atleast_1d(finite("message_B", message_B, above=0, unit="B"))
    times = np.atleast_1d(finite("time_s", time_s, above=0, unit="s"))
    if sizes.shape != times.shape or sizes.ndim != 1 or not len(sizes):
        raise CourseError(_("message_B and time_s have to be lists of the same length."))
    order = np.argsort(sizes, kind="stable")
    sizes, times = sizes[order], times[order]
    bus, said = sizes / times * factor, []
    try:
        fit = calibrate.fit(sizes, times) if len(set(sizes.tolist())) >= 3 else None
    except CourseError:
        fit = None
        said.append(_("The times do not grow with the size, so no α and β fit."))
    regime = tuple(alphabeta.regime(sizes, fit.latency_s, fit.bandwidth_Bps)) if fit else ("",) * len(sizes)
    large = sizes >= max(LARGE_B, sizes[-1] / 4)
    plateau = float(np.median(bus[large])) if sizes[-1] >= LARGE_B else None
    before = bus[(sizes <= sizes[-1] / 4) & (sizes >= 1)]
    rising = bool(sizes[-1] >= LARGE_B and len(before) and bus[-1] > RISE * before[-1] and bus[-1] >= 0.97 * bus.max())
    best = np.maximum.accumulate(bus)
    dips = tuple(k for k in range(1, len(bus)) if sizes[k] >= LARGE_B and bus[k] < DIP * best[k - 1])
    return Shape(
        sizes, times, bus, fit, tuple(str(r) for r in regime), plateau, float(bus.max()), rising, dips, tuple(said)
    )
