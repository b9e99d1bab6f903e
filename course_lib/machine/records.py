"""Records of a diagnosis: findings, causes, a judged sweep, and the report."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from course_lib.fabric.topology import Topology
from course_lib.links.calibrate import Fit

HEALTHY, FINDING, CANNOT_TELL = "healthy", "finding", "cannot tell"
EXIT = {HEALTHY: 0, FINDING: 1, CANNOT_TELL: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be: a stable word and a sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """What the measurements are consistent with: a stable word, a sentence, what it rests on, and the test that would confirm it."""

    code: str
    text: str
    because: str
    test: str


@dataclass(frozen=True, slots=True)
class Suspected:
    """An algorithm suspected from the shape (ring, tree, in-network, direct, staged through the host, sockets, unknown)."""

    name: str
    because: str


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One collective, measured, beside what is expected; arrays are (s,), sizes rising. None is unknown.

    `ratio` is measured over expected bus bandwidth. `arithmetic` are the sums behind the expectation, as sentences.
    `bounds` maps limits of the network to bus bandwidths.
    """

    op: str | None
    n_ranks: int | None
    n_hosts: int | None
    message_B: NDArray[np.float64]
    time_s: NDArray[np.float64]
    algbw_Bps: NDArray[np.float64]
    busbw_Bps: NDArray[np.float64] | None
    expected_time_s: NDArray[np.float64] | None
    expected_busbw_Bps: NDArray[np.float64] | None
    ratio: NDArray[np.float64] | None
    fit: Fit | None
    regime: tuple[str, ...]
    plateau_Bps: float | None
    peak_Bps: float | None
    rising: bool
    dips: tuple[int, ...]
    algorithm: Suspected
    system: str | None
    candidates: tuple[str, ...]
    bounds: dict[str, float]
    wire_Bps: float | None
    arithmetic: tuple[str, ...]
    status: str
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What `diagnose` returns. `status` is healthy, finding or cannot tell; `exit_status` 0, 1 or 2."""

    status: str
    headline: str
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    notes: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    fabric: Topology | None
    shape: str | None
    saw: tuple[str, ...]
    paste: tuple[str, ...]
    damaged: tuple[str, ...]
    unknown: tuple[str, ...]
    readings: tuple = field(default=())

    @property
    def exit_status(self) -> int:
        """0 healthy, 1 finding, 2 cannot tell."""
        return EXIT[self.status]
