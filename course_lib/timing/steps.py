"""One step of a collective, as assumed in the hardware table and as published sweeps ask for it.

The table's `step_s` is the latency of one step in a kernel that runs already. The fit moves it by one factor a family,
`step`, so that step × step_s is the time of a step with the short protocol (LL), measured by the small messages of all sweeps.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.timing import constants
from course_lib.timing.laws import best_time_s
from course_lib.timing.sweeps import sweeps
from course_lib.timing.system import load, names
from course_lib.timing.tuning import candidates

SMALL_B = 2**16  # above it bytes count, too


@dataclass(frozen=True, slots=True)
class Step:
    """A family's step: as assumed, as fitted with LL and with Simple, and the median |ln(predicted / measured)| of small messages."""

    family: str
    assumed_s: float
    short_s: float
    bulk_s: float
    n_sweeps: int
    residual: float


def fitted_step(family: str) -> Step:
    """Return the step of a family of links inside a host, with the residual of its sweeps below 64 KiB.

    Raises:
        CourseError: a family that no sweep measured.

    >>> step = fitted_step("nvlink4-switch")
    >>> f"{step.assumed_s * 1e6:.1f} {step.short_s * 1e6:.2f} µs, off by {step.residual:.2f}"
    '1.0 0.81 µs, off by 0.06'
    """
    family = one_of(_("family of links"), family, constants.families("up"))
    (assumed_s,) = {s.latency_s for s in (load(name).scale_up for name in names()) if s.family == family}
    fitted = constants.load("up", family)
    short_s = fitted["step"] * assumed_s
    mine = [s for s in sweeps() if s.inside and s.family == family and not s.flag]
    off = []
    for s in mine:
        m = s.message_B[s.message_B < SMALL_B]
        predicted_s = best_time_s(candidates(s.op, s.system, s.n_ranks, s.n_hosts), m)
        off.extend(np.abs(np.log(predicted_s / s.time_s[: len(m)])))
    return Step(family, assumed_s, short_s, short_s * fitted["bulk_latency"], len(mine), float(np.median(off)))


def section() -> list[str]:
    """Return the lines of docs/accuracy.md on the steps of all families.

    >>> section()[0]
    '## One step inside a host'
    """
    rows = [["family", "table, µs", "LL, µs", "Simple, µs", "sweeps", "error"], ["---"] * 6]
    for step in map(fitted_step, constants.families("up")):
        times = [f"{1e6 * s:.2f}" for s in (step.assumed_s, step.short_s, step.bulk_s)]
        rows.append([step.family, *times, str(step.n_sweeps), f"{step.residual:.2f}"])
    return [
        "## One step inside a host",
        "",
        "`step_s` of the hardware table is what ideal machines take for a step; the fit moves it by one factor a family. LL and Simple "
        "are NCCL's protocols for short and for large messages. The error is that of all messages below 64 KiB, fitted on all sweeps. "
        "What starts a copy (`latency_s`, the α of lesson 02) is no part of a step; the launch of a collective is a constant of its own.",
        "",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]
