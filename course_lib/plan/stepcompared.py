"""Published training steps beside the model: by part, for the lesson, and by memory."""

import functools
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base import tables
from course_lib.base.language import _
from course_lib.plan import trainingdata
from course_lib.plan.efficiency import constants
from course_lib.plan.stepfit import Batch
from course_lib.plan.steptime import step
from course_lib.plan.trainingdata import Run, runs

TARGET = 0.15
GIB = 1.073741824


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs beside the model: predicted seconds (n,), relative error (n,), predicted bytes on the fullest GPU (n,)."""

    runs: tuple[Run, ...]
    predicted_s: NDArray[np.float64]
    error: NDArray[np.float64]
    memory_B: NDArray[np.float64]

    @property
    def median(self) -> float:
        """The median of |error|."""
        return float(np.median(np.abs(self.error)))

    def by_pair(self) -> dict[tuple[str, str], NDArray[np.float64]]:
        """Errors of every (model, system) pair."""
        found = defaultdict(list)
        for run, error in zip(self.runs, self.error, strict=True):
            found[run.pair].append(error)
        return {pair: np.array(errors) for pair, errors in sorted(found.items(), key=lambda item: item[0][::-1])}


def compare(part: str | None = None, column: str = "training") -> Compared:
    """Return the runs of a part beside the model with one column of constants; "training" saw no judging pair.

    >>> compare("judging").median < TARGET
    True
    """
    chosen = runs(part)
    times, memory = np.zeros(len(chosen)), np.zeros(len(chosen))
    for mine, priced in Batch(chosen).priced(constants(column)):
        times[mine], memory[mine] = priced.step_s, priced.held.total_B
    measured = np.array([r.step_s for r in chosen])
    return Compared(chosen, times, times / measured - 1, memory)


@functools.cache
def calculon() -> dict[tuple[str, str], float]:
    """Return the seconds that Calculon gives for the plans of Korthikanti et al., by model and recomputing.

    Not from a clone: its path to the time was typed again in short from its source (llm.py at 0384d1e, system and network at
    345f893 and 71f6435, a100_80g at 71f6435), for plans with one replica, no offloading and no overlap. The plan of gpt3-175b,
    selective, was not found and is taken like the other. `benchmarks/step_time.py --calculon` runs a clone.

    >>> calculon()["gpt3-175b", "selective"]
    13.64
    """
    return {
        (row["model"], row["recompute"]): float(row["step_s"])
        for row in tables.rows(trainingdata.FOLDER / "calculon.csv")
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """A published figure beside the model, for the lesson: what it is, the published value, the model's, unit, remark."""

    name: str
    published: float
    predicted: float
    unit: str
    remark: str

    @property
    def error(self) -> float:
        """Relative error."""
        return self.predicted / self.published - 1


def korthikanti() -> tuple[Shown, ...]:
    """Return the table of Korthikanti et al. 2022 (22 billion to 1 trillion parameters) beside the model: seconds of a step.

    Read where Calculon's repository repeats it, so it is shown, and neither fitted nor judged.

    >>> [row.name for row in korthikanti()][:2]
    ['megatron-22b, full', 'megatron-22b, selective']
    """
    found = compare("shown", "training")
    rows = []
    for run, seconds in zip(found.runs, found.predicted_s, strict=True):
        if "korthikanti" in run.sources:
            remark = _("{n} A100, tensor 8 × pipeline {p}").format(n=run.layout.n_ranks, p=run.layout.pipeline)
            rows.append(Shown(f"{run.model}, {run.recompute}", run.step_s, float(seconds), "s", remark))
    return tuple(rows)


def llama3(column: str = "training") -> tuple[Shown, ...]:
    """Return Llama 3 405B on Meta's cluster beside the model: TFLOP/s of one GPU.

    Published: 430 on 8,192 GPUs, 400 on 16,384, 380 with sequences of 131,072 tokens and 16 context ranks; tensor 8,
    pipeline 16, 16 million tokens a step. Read on a page that repeats a talk of the team, which does not give the chunks
    of a stage; eight are taken, as many as divide. Operations as the mathematics needs them, half of the scores.

    >>> [round(row.published) for row in llama3()]
    [430, 400, 380]
    """
    rows = []
    for gpus, seq, context, published in ((8192, 8192, 1, 430.0), (16384, 8192, 1, 400.0), (16384, 131072, 16, 380.0)):
        batch = 2**24 // seq
        found = step(
            "llama3-405b",
            "oci-h100",
            gpus=gpus,
            tensor=8,
            pipeline=16,
            context=context,
            global_batch=batch,
            seq=seq,
            interleave=8,
            using=constants(column),
        )
        causal = causal_tflops(found.step_s, gpus, batch, seq)
        remark = _("{n} H100, sequences of {seq}, {v} chunks assumed").format(n=gpus, seq=seq, v=8)
        rows.append(Shown(_("llama3-405b, {n} GPUs").format(n=gpus), published, causal, "TFLOP/s", remark))
    return tuple(rows)


def causal_tflops(step_s: float, gpus: int, batch: int, seq: int, name: str = "llama3-405b") -> float:
    """Return TFLOP/s of a GPU, counting the half of the attention scores that causal models need.

    >>> round(causal_tflops(6.7, 16384, 2048, 8192))
    386
    """
    from course_lib.plan.transformer import flops, model

    return float(flops(model(name), batch, seq, causal=True).model) / gpus / step_s / 1e12


def memory_rows(column: str = "training") -> list[tuple[Run, float, float]]:
    """Return (run, measured bytes, predicted bytes) of the runs whose source prints what nvidia-smi showed.

    >>> len(memory_rows()) > 20
    True
    """
    found = compare(None, column)
    rows = []
    for run, held_B in zip(found.runs, found.memory_B, strict=True):
        if seen := re.search(r"(\d+)GB on nvidia-smi", run.note):
            rows.append((run, float(seen[1]) * GIB * 1e9, float(held_B)))
    return rows
