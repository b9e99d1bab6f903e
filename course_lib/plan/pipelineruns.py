"""Pipelines that somebody measured: a step over the number of micro-batches, 1F1B against interleaved, hand-off rates.

The sweep is a straight line in the number of micro-batches, and what it has at zero is the bubble and everything that
happens once a step. The model foretells the bubble's part of that from the slope and the layers of each stage.
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.base.errors import finite, one_of
from course_lib.base.language import _
from course_lib.base.units import GBITPS
from course_lib.comm.meaning import bus_factor
from course_lib.plan.footprint import layer_params
from course_lib.plan.pipeline import bubble_formula
from course_lib.plan.transformer import Shape, model

KINDS = ("step", "schedule", "handoff")
# The sweep's machine: 8 GPUs and four ports of 100 Gb/s a host (BigScience 2022, arXiv:2211.05100, on its hardware).
HOST_Bps, GPUS_PER_HOST, REPLICAS, TENSOR = 4 * 100 * GBITPS, 8, 8, 4


@dataclass(frozen=True, slots=True)
class Row:
    """One published number: a step in seconds, a rate of training in tokens/s per GPU, or a hand-off in GB/s (see `unit`).

    `n_micro` is 0 where the source does not print it; `layers` are those of each stage, () where it does not matter.
    """

    kind: str
    name: str
    stages: int
    n_micro: int
    value: float
    unit: str
    layers: tuple[int, ...]
    source: str
    address: str
    note: str


@functools.cache
def _table() -> tuple[Row, ...]:
    return tuple(
        Row(
            r["kind"],
            r["name"],
            int(r["stages"]),
            int(r["n_micro"] or 0),
            float(r["value"]),
            r["unit"],
            tuple(map(int, r["layers"].split())),
            r["source"],
            r["address"],
            r["note"],
        )
        for r in tables.rows(Path(__file__).parent / "data" / "pipelines.csv")
    )


def rows(kind: str) -> tuple[Row, ...]:
    """Return the published numbers of a kind: "step", "schedule" or "handoff".

    >>> [(row.n_micro, row.value) for row in rows("step")]
    [(32, 35.77), (64, 59.65), (96, 83.11), (128, 107.12)]
    """
    kind = one_of(_("kind of measurement"), kind, KINDS)
    return tuple(row for row in _table() if row.kind == kind)


def fill(layers: object) -> float:
    """Return how many micro-batches' time of the slowest stage a pipeline needs to fill and drain: p − 1 when all are equal.

    `layers` is the work of each stage in any unit. A step is (m − 1) times the slowest stage plus one passage through
    all; that is GPipe's. 1F1B is quicker by what the stages behind the slowest take, as long as they are quicker: little.

    >>> fill([7] * 12), round(fill([7] * 11 + [1]), 3)
    (11.0, 10.143)
    """
    work = np.asarray(finite(_("layers"), layers, above=0), float)
    return float(work.sum() / work.max()) - 1


@dataclass(frozen=True, slots=True)
class Sweep:
    """Steps over micro-batches, arrays (n,), and the line through them: `pace_s` for each micro-batch, `fixed_s` once a step.

    `fill` is the bubble that the model foretells, in micro-batches; `gradients_s` the least that summing the gradients
    over the replicas takes on that network, nothing hidden.
    """

    n_micro: np.ndarray
    measured_s: np.ndarray
    pace_s: float
    fixed_s: float
    fill: float
    gradients_s: float

    @property
    def line_s(self) -> np.ndarray:
        """The straight line at the measured numbers of micro-batches."""
        return self.fixed_s + self.pace_s * self.n_micro

    @property
    def bubble_s(self) -> float:
        """The bubble's part of what is fixed."""
        return self.pace_s * self.fill

    @property
    def unexplained_s(self) -> float:
        """What is fixed and neither bubble nor the sum of gradients."""
        return self.fixed_s - self.bubble_s - self.gradients_s

    @property
    def foretold_s(self) -> np.ndarray:
        """Steps as the model has them when its only constant is fitted to the longest run."""
        return self.measured_s[-1] * (self.n_micro + self.fill) / (self.n_micro[-1] + self.fill)

    @property
    def without_bubble_s(self) -> np.ndarray:
        """The same for a model that knows no bubble: in proportion to the micro-batches."""
        return self.measured_s[-1] * self.n_micro / self.n_micro[-1]


def sweep_shape() -> Shape:
    """Return the model of the sweep: 78 layers of hidden size 13,824, the vocabulary of the final model.

    >>> sweep_shape().n_layers, sweep_shape().hidden
    (78, 13824)
    """
    return replace(
        model("bloom-176b"), name="", n_layers=78, hidden=13824, n_heads=96, n_kv_heads=96, head_size=144, ffn=4 * 13824
    )


def sweep() -> Sweep:
    """Return the measured steps, their line, and what the model says about the part at zero.

    >>> found = sweep()
    >>> round(found.pace_s, 2), round(found.fixed_s, 1), round(found.bubble_s, 1)
    (0.74, 12.0, 7.5)
    """
    runs = rows("step")
    m, t = np.array([r.n_micro for r in runs], float), np.array([r.value for r in runs])
    pace, fixed = np.polyfit(m, t, 1)
    layers = runs[0].layers
    grads_B = 2 * max(layers) * sum(layer_params(sweep_shape(), TENSOR))
    sent_s = bus_factor("all_reduce", REPLICAS) * grads_B / (HOST_Bps / GPUS_PER_HOST)
    return Sweep(m, t, float(pace), float(fixed), fill(layers), float(sent_s))


def interleaving_gain(p: object, m: object, v: object) -> np.ndarray | float:
    """Return how many times as fast interleaving with v chunks makes a step of p stages and m micro-batches; broadcasts.

    Bubbles by the formula, hand-offs free. At most 1 + (p − 1)/m, whatever v.

    >>> round(interleaving_gain(8, 8, 2), 3), round(interleaving_gain(8, 32, 1e9), 3)
    (1.304, 1.219)
    """
    plain, cut = bubble_formula("1f1b", p, m), bubble_formula("interleaved", p, m, v)
    return (1 + plain.of_ideal) / (1 + cut.of_ideal)


def measured_gain() -> float:
    """Return the published rate of interleaved 1F1B over that of 1F1B.

    >>> measured_gain()
    1.28
    """
    rate = {row.name: row.value for row in rows("schedule")}
    return rate["interleaved"] / rate["1f1b"]
