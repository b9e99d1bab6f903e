"""All-reduces that were measured in one rack and over twenty, beside the predictor, and what that says about two racks."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.timing.evidence import residuals
from course_lib.timing.sweeps import sweeps
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

SYSTEM = "gb200-nvl72"
RACKS = {"CoreWeave GB200 NVL72 (1 rack)": 1, "CoreWeave GB200 NVL72 (20 racks)": 20}


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured sweep beside the predictor, arrays (s,): bytes, seconds measured and predicted; `racks` and GPUs."""

    racks: int
    n_ranks: int
    message_B: np.ndarray
    measured_s: np.ndarray
    predicted_s: np.ndarray
    source: str

    @property
    def residual(self) -> np.ndarray:
        """ln(predicted / measured): below 0 the predictor is too quick."""
        return np.log(self.predicted_s / self.measured_s)

    @property
    def busbw_Bps(self) -> np.ndarray:
        """Measured bus bandwidth, bytes/s."""
        return 2 * (self.n_ranks - 1) / self.n_ranks * self.message_B / self.measured_s

    @property
    def predicted_busbw_Bps(self) -> np.ndarray:
        """The same from the predicted time."""
        return 2 * (self.n_ranks - 1) / self.n_ranks * self.message_B / self.predicted_s


def measured() -> tuple[Measured, Measured]:
    """Return the all-reduce of GB200 in one rack (72 GPUs) and over twenty (1,440).

    >>> [(m.racks, m.n_ranks, len(m.message_B)) for m in measured()]
    [(1, 72, 5), (20, 1440, 6)]
    """
    chosen = [s for s in sweeps() if s.measured_on in RACKS]
    return tuple(
        Measured(
            RACKS[r.sweep.measured_on],
            r.sweep.n_ranks,
            r.sweep.message_B,
            r.sweep.time_s,
            r.predicted_s,
            r.sweep.source,
        )
        for r in sorted(residuals("shipped", chosen), key=lambda r: r.sweep.n_ranks)
    )


@dataclass(frozen=True, slots=True)
class Range:
    """A prediction that nobody measured, arrays (s,): seconds, and the range that the misses at one and twenty racks allow."""

    racks: int
    n_ranks: int
    message_B: np.ndarray
    time_s: np.ndarray
    low_s: np.ndarray
    high_s: np.ndarray

    def busbw_Bps(self, time_s: np.ndarray) -> np.ndarray:
        """Bus bandwidth of a time."""
        return 2 * (self.n_ranks - 1) / self.n_ranks * self.message_B / time_s


def between(racks: int = 2, message_B: object = None) -> Range:
    """Return the predicted all-reduce over some racks, and how far off it may be: as far as at one and at twenty racks.

    At each size the measured-over-predicted ratios of both sweeps are read (between sizes on a log scale), and the lower and the
    higher of them, and 1, bound the range. `message_B` has to lie in the sizes that both sweeps measured.

    >>> found = between(2, 2**30)
    >>> bool(found.low_s <= found.time_s <= found.high_s), found.n_ranks
    (True, 144)
    """
    place = load(SYSTEM)
    racks = whole("racks", racks, at_least=1, at_most=20)
    one, twenty = measured()
    low, high = max(m.message_B.min() for m in (one, twenty)), min(m.message_B.max() for m in (one, twenty))
    sizes = one.message_B if message_B is None else np.asarray(finite("message_B", message_B, above=0, unit="bytes"))
    if (sizes < low * 0.999).any() or (sizes > high * 1.001).any():
        raise CourseError(
            _("Both sweeps were measured from {low:.0f} to {high:.0f} bytes; outside nothing bounds a range.").format(
                low=low, high=high
            )
        )
    n = racks * place.gpus_per_domain
    time_s = np.asarray(predict("all_reduce", sizes, place, n).time_s)
    seen = [np.exp(np.interp(np.log(sizes), np.log(m.message_B), -m.residual)) for m in (one, twenty)]
    ratios = np.stack([*seen, np.ones(np.shape(sizes))])
    return Range(racks, n, sizes, time_s, time_s * ratios.min(axis=0), time_s * ratios.max(axis=0))
