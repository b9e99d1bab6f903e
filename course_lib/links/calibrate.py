"""Fit α and β to measured points: weighted least squares with α ≥ 0 and β > 0, residuals, standard errors."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.links import alphabeta

WEIGHTINGS = ("relative", "equal")


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted straight line time = latency_s + message_B / bandwidth_Bps and how well it holds.

    `residual` is measured ÷ fitted − 1 of every point, in the order given; standard errors are None where the number of
    points or a bound leaves none. `at_bound` is "latency" where the best line would have needed α < 0.
    `r_squared` is the weighted share of the spread that the line explains.
    """

    latency_s: float
    bandwidth_Bps: float
    latency_error_s: float | None
    bandwidth_error_Bps: float | None
    r_squared: float
    residual: np.ndarray
    message_B: np.ndarray
    time_s: np.ndarray
    at_bound: str | None

    @property
    def half_size_B(self) -> float:
        """Message that reaches half of the bandwidth."""
        return self.latency_s * self.bandwidth_Bps

    @property
    def worst(self) -> float:
        """Largest |residual|."""
        return float(np.abs(self.residual).max())


def _points(message_B, time_s) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.atleast_1d(finite("message_B", message_B, at_least=0, unit="bytes"))
    times = np.atleast_1d(finite("time_s", time_s, above=0, unit="s"))
    if sizes.ndim != 1 or sizes.shape != times.shape:
        raise CourseError(
            _("message_B has the shape {a} and time_s {b}; two lists of the same length are expected.").format(
                a=sizes.shape, b=times.shape
            )
        )
    if len(set(sizes.tolist())) < 2:
        raise CourseError(
            _("All {n} points have the same size; a line needs at least two different sizes.").format(n=sizes.size)
        )
    return sizes, times


def _weights(weights, times: np.ndarray) -> np.ndarray:
    if isinstance(weights, str):
        relative = one_of(_("weighting"), weights, WEIGHTINGS) == "relative"
        return (times.min() / times) ** 2 if relative else np.ones_like(times)
    given = np.atleast_1d(finite("weights", weights, at_least=0))
    if given.shape != times.shape:
        raise CourseError(
            _("weights has the shape {a} and time_s {b}; one weight per point is expected.").format(
                a=given.shape, b=times.shape
            )
        )
    return given


def fit(message_B, time_s, weights="relative") -> Fit:
    """Return the line time = α + m/β that fits the points best, with α ≥ 0 and β > 0.

    `message_B` (n,) bytes ≥ 0, `time_s` (n,) seconds > 0. `weights`: "relative" (1/t², every point counts by its
    percentage error: what is wanted over sizes from bytes to gigabytes), "equal" (the largest messages decide, α is lost in
    their noise), or n numbers ≥ 0 that multiply the squared errors. Raises CourseError for fewer than two distinct sizes of
    positive weight, shapes that differ, NaN, and times that fall with size.

    >>> points = fit([1e3, 1e6, 1e9], [2.01e-6, 12e-6, 10.002e-3])
    >>> round(points.latency_s * 1e6, 2), round(points.bandwidth_Bps / 1e9, 1)
    (2.0, 100.0)
    """
    sizes, times = _points(message_B, time_s)
    weight = _weights(weights, times)
    used = weight > 0
    if len(set(sizes[used].tolist())) < 2:
        raise CourseError(_("Fewer than two different sizes have a weight above 0; a line needs two."))
    weight = weight / weight[used].max()
    # Centred, in units of the largest size and time, so that 1 byte and 2**60 bytes fit in one float.
    unit_B, unit_s = sizes[used].max(), times[used].max()
    x, y = sizes / unit_B, times / unit_s
    total = weight.sum()
    mean_x, mean_y = (weight * x).sum() / total, (weight * y).sum() / total
    spread = (weight * (x - mean_x) ** 2).sum()
    slope = (weight * (x - mean_x) * (y - mean_y)).sum() / spread
    start = mean_y - slope * mean_x
    at_bound = None
    if start < 0:
        at_bound, start = "latency", 0.0
        slope = (weight * x * y).sum() / (weight * x * x).sum()
    if not slope > 0:
        raise CourseError(
            _(
                "The times do not grow with the size (slope {slope:.3g} s per byte); no bandwidth fits these points."
            ).format(slope=slope * unit_s / unit_B)
        )
    latency_s, bandwidth_Bps = float(start * unit_s), float(unit_B / (slope * unit_s))
    fitted = alphabeta.time_s(sizes, latency_s, bandwidth_Bps)
    left = (weight * (y - (start + slope * x)) ** 2).sum()
    around = (weight * (y - mean_y) ** 2).sum()
    free = int(used.sum()) - (1 if at_bound else 2)
    latency_error_s = bandwidth_error_Bps = None
    if free > 0:
        noise = left / free
        slope_error = np.sqrt(noise / ((weight * x * x).sum() if at_bound else spread))
        bandwidth_error_Bps = float(bandwidth_Bps * slope_error / slope)
        if not at_bound:
            latency_error_s = float(unit_s * np.sqrt(noise * (1 / total + mean_x**2 / spread)))
    r_squared = float(1 - left / around) if around > 0 else 1.0
    residual = times / fitted - 1
    return Fit(
        latency_s, bandwidth_Bps, latency_error_s, bandwidth_error_Bps, r_squared, residual, sizes, times, at_bound
    )


@dataclass(frozen=True, slots=True)
class Mystery:
    """A hidden link and the noisy points that it shows; `latency_s` and `bandwidth_Bps` are the answer."""

    seed: int
    message_B: np.ndarray
    time_s: np.ndarray
    latency_s: float
    bandwidth_Bps: float
    noise: float


def mystery_link(seed: int) -> Mystery:
    """Return the mystery link of a seed: the same seed gives the same link and the same points on every machine.

    Latency 0.8 to 20 µs, bandwidth 8 to 800 GB/s (both drawn on a logarithmic scale), 24 sizes from 64 B to well above the
    half size, noise of 2 % on every time. `fit` with relative weights finds latency and bandwidth to within 5 %.

    >>> link = mystery_link(7)
    >>> found = fit(link.message_B, link.time_s)
    >>> abs(found.latency_s / link.latency_s - 1) < 0.05, abs(found.bandwidth_Bps / link.bandwidth_Bps - 1) < 0.05
    (True, True)
    """
    seed = whole("seed", seed, at_least=0)
    rng = np.random.default_rng(seed)
    latency_s = float(np.exp(rng.uniform(np.log(0.8e-6), np.log(20e-6))))
    bandwidth_Bps = float(np.exp(rng.uniform(np.log(8e9), np.log(800e9))))
    noise = 0.02
    exponents = np.round(np.linspace(6, np.log2(latency_s * bandwidth_Bps) + 8, 24))
    message_B = 2.0**exponents
    factor = np.clip(rng.normal(1.0, noise, message_B.size), 1 - 3 * noise, 1 + 3 * noise)
    time_s = alphabeta.time_s(message_B, latency_s, bandwidth_Bps) * factor
    return Mystery(seed, message_B, time_s, latency_s, bandwidth_Bps, noise)
