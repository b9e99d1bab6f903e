"""Published utilisation: what share of the dense peak training runs used, from their printed steps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.plan.steptime import gpu_of
from course_lib.plan.trainingdata import Run, runs
from course_lib.plan.transformer import flops


def mfu(run: Run) -> float:
    """Return the operations that the mathematics needs, a second and GPU, over the dense peak of the run's precision.

    Counted as `plan.steptime.step` does: without recomputing, all scores of attention.

    >>> all(0 < mfu(run) < 0.75 for run in runs("judging"))
    True
    """
    work = float(flops(run.shape, run.global_batch, run.seq).model)
    return work / run.layout.n_ranks / run.step_s / gpu_of(run.system, None).peak[run.precision]


@dataclass(frozen=True, slots=True)
class Used:
    """Runs of one model on one system in one precision: GPUs (n,) rising, and the utilisation of each run (n,)."""

    model: str
    system: str
    n_gpus: NDArray[np.int64]
    mfu: NDArray[np.float64]


def published(model: str, system: str, precision: str = "bf16") -> Used:
    """Return the published utilisations of a pair.

    >>> found = published("llama3-70b", "dgx-h100")
    >>> bool(found.n_gpus[0] < 100 < 2000 < found.n_gpus[-1]), bool(np.ptp(found.mfu) < 0.01)
    (True, True)
    """
    mine = [r for r in runs() if r.pair == (model, system) and r.precision == precision]
    if not mine:
        raise CourseError(
            _("No published run of {model} on {system} in {precision} is carried here.").format(
                model=model, system=system, precision=precision
            )
        )
    mine.sort(key=lambda r: r.layout.n_ranks)
    return Used(model, system, np.array([r.layout.n_ranks for r in mine]), np.array([mfu(r) for r in mine]))
