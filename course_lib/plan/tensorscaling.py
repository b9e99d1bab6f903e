"""Tensor-parallel scaling that somebody measured, 2 to 32 GPUs, with the model beside it: one constant fitted.

A 3.6-billion-parameter model (`nanotron-3b`) on hosts of 8 H100: up to 8 ranks in one host, 16 and 32 across two and four.
The source does not name the network; `compare` takes one 400 Gb/s card a GPU unless told otherwise.
"""

import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.plan.footprint import Plan, footprint
from course_lib.plan.pools import Pool, pool
from course_lib.plan.traffic import STYLES, prices, tensor_time
from course_lib.plan.transformer import model

MODEL = "nanotron-3b"
GPUS_PER_HOST = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One measured run: style of slicing, ranks, the largest batch that fitted (sequences), tokens a second on each GPU."""

    style: str
    tensor: int
    batch: int
    tokens_per_s_per_gpu: float
    source: str
    address: str
    note: str

    @property
    def n_hosts(self) -> int:
        """Hosts of 8 GPUs that the ranks fill."""
        return -(-self.tensor // GPUS_PER_HOST)

    @property
    def job_tokens_per_s(self) -> float:
        """Tokens a second of all GPUs together."""
        return self.tokens_per_s_per_gpu * self.tensor

    @property
    def step_s(self) -> float:
        """Seconds for one forward and backward pass over the batch."""
        return self.batch * model(MODEL).seq / self.job_tokens_per_s


@functools.cache
def _table() -> tuple[Row, ...]:
    return tuple(
        Row(
            r["style"],
            int(r["tensor"]),
            int(r["batch"]),
            float(r["tokens_per_s_per_gpu"]),
            r["source"],
            r["address"],
            r["note"],
        )
        for r in tables.rows(Path(__file__).parent / "data" / "tensor_scaling.csv")
    )


def rows(style: str = "tensor") -> tuple[Row, ...]:
    """Return the measured runs of a style ("tensor" or "sequence"), fewest ranks first.

    >>> [(row.tensor, row.n_hosts, round(row.tokens_per_s_per_gpu)) for row in rows()][-2:]
    [(16, 2, 6246), (32, 4, 2146)]
    """
    style = one_of(_("style of slicing"), style, STYLES)
    return tuple(row for row in _table() if row.style == style)


@dataclass(frozen=True, slots=True)
class Compared:
    """Measured runs and the model, arrays (n,): tokens a second on each GPU, seconds of computing and of communication.

    `flops_per_s` is what one GPU achieves, fitted to the run with the fewest ranks; all other runs are predictions.
    """

    style: str
    system: str
    flops_per_s: float
    tensor: np.ndarray
    batch: np.ndarray
    measured_per_s: np.ndarray
    model_per_s: np.ndarray
    compute_s: np.ndarray
    communicate_s: np.ndarray
    measured_s: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative error of the model's rate, 0 for the run that was fitted."""
        return self.model_per_s / self.measured_per_s - 1

    @property
    def unexplained_s(self) -> np.ndarray:
        """Seconds of the measured step that the model has no term for."""
        return self.measured_s - self.compute_s - self.communicate_s


def compare(style: str = "tensor", system: str = "dgx-h100") -> Compared:
    """Return the measured runs of a style beside `plan.traffic.tensor_time` on a system of 8-GPU hosts.

    >>> found = compare()
    >>> [round(float(e), 2) for e in found.error[:3]]
    [0.0, 0.01, 0.02]
    """
    runs = rows(style)
    first = runs[0]
    unit = tensor_time(
        MODEL, first.batch, first.tensor, flops_per_s=1.0, time_of=prices(system, first.tensor, style), style=style
    )
    rate = unit.compute_s / (first.step_s - unit.communicate_s)
    steps = [
        tensor_time(MODEL, r.batch, r.tensor, flops_per_s=rate, time_of=prices(system, r.tensor, style), style=style)
        for r in runs
    ]
    tensor, batch = np.array([r.tensor for r in runs]), np.array([r.batch for r in runs])
    total = np.array([s.total_s for s in steps])
    return Compared(
        style=style,
        system=system,
        flops_per_s=rate,
        tensor=tensor,
        batch=batch,
        measured_per_s=np.array([r.tokens_per_s_per_gpu for r in runs]),
        model_per_s=batch * model(MODEL).seq / total / tensor,
        compute_s=np.array([s.compute_s for s in steps]),
        communicate_s=np.array([s.communicate_s for s in steps]),
        measured_s=np.array([r.step_s for r in runs]),
    )


def largest_batch(style: str, tensor: int, where: "str | Pool" = "h100", reserve_B: float = 2e9) -> int:
    """Return how many sequences the memory model lets one rank train on at a time, 0 where not even the states fit.

    Mixed-precision Adam with gradients in FP32 (18 bytes a parameter), a fused attention kernel, `reserve_B` kept free.
    An upper bound: temporary buffers of kernels and of the loss, and gaps of the allocator are not counted.

    >>> largest_batch("tensor", 8), largest_batch("sequence", 8)
    (16, 38)
    """
    style = one_of(_("style of slicing"), style, STYLES)
    plan = {"tensor": tensor, "sequence": style == "sequence", "recompute": "selective", "recipe": "megatron-adam"}
    one, two = (float(footprint(MODEL, Plan(batch=b, **plan)).total_B.max()) for b in (1, 2))
    free = pool(where).each_B - reserve_B - (2 * one - two)
    return max(0, math.floor(free / (two - one)))
