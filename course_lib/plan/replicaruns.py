"""Data-parallel scaling that somebody measured, 8 to 256 GPUs, beside the model: one rate of computing fitted a series.

Each GPU keeps its batch while GPUs are added (weak scaling). Sources: torchtitan (Llama 3.1 8B, FSDP on H100), MosaicML
(MPT-7b, FSDP on A100), Hugging Face's playbook (plain replicas on H100; model and batch are not printed, so no model).
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.units import GiB
from course_lib.plan.memory import states
from course_lib.plan.price import pricer
from course_lib.plan.replicas import layers
from course_lib.plan.transformer import Shape, model, params
from course_lib.plan.zero import ShardedStep, sharded_step

SERIES = ("titan", "titan-compiled", "titan-fp8", "mpt", "playbook")
# llm-foundry's mpt/7b: its README prints 6,658,859,008 parameters for sequences of 2,048, and so does this shape.
MPT_7B = Shape("mpt-7b", 32, 4096, 32, 32, 128, 16384, 50368, 2048, positions=2048, source="MosaicML, llm-foundry")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured run; sizes are 0 and names "" where the source does not print them.

    `micro_batch` in sequences of `seq` tokens, `micro_batches` of them a step; `reduce_B` bytes of a gradient on the wire.
    """

    series: str
    gpus: int
    model: str
    system: str
    scheme: str
    seq: int
    micro_batch: int
    micro_batches: int
    recompute: str
    reduce_B: int
    tokens_per_s_per_gpu: float
    memory_B: float
    source: str
    address: str
    note: str

    @property
    def step_s(self) -> float:
        """Seconds of one micro-batch, forward and backward; NaN where the batch is not known."""
        tokens = self.micro_batch * self.seq
        return tokens / self.tokens_per_s_per_gpu if tokens else float("nan")


@functools.cache
def _table() -> tuple[Row, ...]:
    def number(text: str) -> int:
        return int(text or 0)

    return tuple(
        Row(
            r["series"],
            number(r["gpus"]),
            r["model"],
            r["system"],
            r["scheme"],
            number(r["seq"]),
            number(r["micro_batch"]),
            number(r["micro_batches"]),
            r["recompute"],
            number(r["reduce_B"]),
            float(r["tokens_per_s_per_gpu"]),
            float(r["memory_GiB"] or 0) * GiB,
            r["source"],
            r["address"],
            r["note"],
        )
        for r in tables.rows(Path(__file__).parent / "data" / "replicas.csv")
    )


def rows(series: str = "titan") -> tuple[Row, ...]:
    """Return the measured runs of a series, fewest GPUs first.

    >>> [(row.gpus, row.tokens_per_s_per_gpu) for row in rows("titan")]
    [(8, 5762.0), (128, 5605.0)]
    """
    series = one_of(_("series"), series, SERIES)
    return tuple(row for row in _table() if row.series == series)


def shape_of(name: str) -> Shape:
    """Return the shape of a measured model by the name in its row.

    >>> params(shape_of("mpt-7b")).total
    6658859008
    """
    return MPT_7B if name == MPT_7B.name else model(name)


def step(row: Row, flops_per_s: float) -> ShardedStep:
    """Return the model's ZeRO-3 step of one micro-batch of a run, on GPUs that compute at `flops_per_s`.

    Parameters are gathered in 16 bits, one unit ahead; gradients are reduced in `reduce_B` bytes each.

    >>> round(step(rows("titan")[0], 300e12).step_s, 2)
    3.41
    """
    if not row.model:
        raise CourseError(_("The source of {name} prints neither model nor batch.").format(name=row.series))
    work = layers(
        shape_of(row.model),
        row.micro_batch * row.seq,
        flops_per_s,
        seq=row.seq,
        recompute=row.recompute,
    )
    gather, scatter = (pricer(op, row.system, row.gpus) for op in ("all_gather", "reduce_scatter"))
    return sharded_step(
        work.forward_s, work.backward_s, work.gradient_B, gather, lambda m: scatter(m * row.reduce_B / 2), prefetch=1
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """Measured runs of a series and the model, arrays (n,): GPUs, tokens a second on each GPU, seconds of one micro-batch.

    `flops_per_s` is what a GPU achieves, fitted to the run with the fewest GPUs; all other runs are predictions.
    `network_s` is how long the network is busy, `exposed_s` how much of that is not hidden.
    """

    series: str
    flops_per_s: float
    gpus: np.ndarray
    measured_per_s: np.ndarray
    model_per_s: np.ndarray
    measured_s: np.ndarray
    model_s: np.ndarray
    network_s: np.ndarray
    exposed_s: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative error of the model's rate; 0 for the run that was fitted."""
        return self.model_per_s / self.measured_per_s - 1


def _busy(done: ShardedStep) -> float:
    return float((done.gathered_s - done.gather_start_s).sum() + (done.scatter_end_s - done.scatter_start_s).sum())


@functools.cache
def compare(series: str = "titan") -> Compared:
    """Return the measured runs of a series beside `step`, the rate of computing fitted to the first run.

    >>> found = compare("titan")
    >>> [round(float(e), 3) for e in found.error], bool(found.network_s[1] > 5 * found.exposed_s[1])
    ([0.0, 0.026], True)
    """
    runs = rows(series)
    rate = 300e12
    for _unused in range(40):  # the exposed part hardly depends on the rate, so this converges at once
        done = step(runs[0], rate)
        rate *= done.step_s / runs[0].step_s
    steps = [step(run, rate) for run in runs]
    tokens = np.array([run.micro_batch * run.seq for run in runs])
    model_s = np.array([s.step_s for s in steps])
    return Compared(
        series=series,
        flops_per_s=rate,
        gpus=np.array([run.gpus for run in runs]),
        measured_per_s=np.array([run.tokens_per_s_per_gpu for run in runs]),
        model_per_s=tokens / model_s,
        measured_s=np.array([run.step_s for run in runs]),
        model_s=model_s,
        network_s=np.array([_busy(s) for s in steps]),
        exposed_s=np.array([s.exposed_s for s in steps]),
    )


def freed_B(series: str = "titan") -> tuple[float, float]:
    """Return how many bytes each GPU got free between the fewest and the most GPUs of a series: measured, and by the model.

    The model is ZeRO-3 with weights, gradients and optimizer in FP32 (16 bytes a parameter), as torchtitan keeps them.

    >>> [round(b / 1e9, 1) for b in freed_B("titan")]
    [16.5, 15.1]
    """
    first, last = rows(series)[0], rows(series)[-1]
    if not first.memory_B:
        raise CourseError(_("The source of {name} prints no memory.").format(name=series))
    total = params(shape_of(first.model)).total
    few, many = (float(states(total, n, 3, "fp32-adam").total_B) for n in (first.gpus, last.gpus))
    return first.memory_B - last.memory_B, few - many
