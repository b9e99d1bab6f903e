"""Lesson 12: whole steps over the number of GPUs, with the same batch and with one that grows."""

from functools import lru_cache

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.cluster import scaling
from course_lib.explorers.lesson12.job import BATCH, MODEL, PLAN, SYSTEM
from course_lib.figures import growing
from course_lib.plan.picked import grouped

COUNTS = (512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 24576)
LEAST = 0.8


@lru_cache(maxsize=2)
def scaled(weak: bool = False) -> scaling.Scaled:
    """Return whole steps of GPT-3 on A100 boxes over the number of GPUs: the same batch, or one that grows.

    >>> bool(scaled().efficiency[-1] < 0.5 < 0.9 < scaled(True).efficiency[-1])
    True
    """
    return scaling.planned(MODEL, SYSTEM, COUNTS, global_batch=BATCH if not weak else 512, weak=weak, **PLAN)


def bend() -> int:
    """Return the largest number of GPUs at which the same batch keeps four fifths of the ideal speed.

    >>> 512 < bend() < 24576
    True
    """
    return scaling.bends_at(scaled().n_gpus, scaled().efficiency, LEAST)


def scaling_picture():
    """Return the figure of both efficiencies.

    >>> len(scaling_picture().data)
    3
    """
    return growing.efficiency(COUNTS, scaled().efficiency, scaled(True).efficiency, least=LEAST, bend=bend())


def times_as_fast() -> float:
    """Return how many times as fast the most GPUs are as the fewest, with the same batch.

    >>> 10 < times_as_fast() < COUNTS[-1] / COUNTS[0]
    True
    """
    return float(scaled().time_s[0] / scaled().time_s[-1])


def shares_at(*n_gpus: int) -> list[str]:
    """Return, for numbers of GPUs, the step of the same batch and where its time goes.

    >>> shares_at(512)[0].startswith("512 GPUs: ")
    True
    """
    lines = []
    for n in n_gpus:
        i = COUNTS.index(n)
        parts = grouped({name: value[i] for name, value in scaled().terms.items()})
        total = float(scaled().time_s[i])
        words = ", ".join(
            f"{_(k)} {100 * float(v) / total:.0f} %" for k, v in parts.items() if float(v) > 0.005 * total
        )
        lines.append(_("{n} GPUs: {step}: {parts}").format(n=say_number(n), step=say_time(total), parts=words))
    return lines


def replicas_only(hidden: float) -> scaling.Scaled:
    """Return steps of a model of 7 billion parameters that fits a GPU: replicas alone, the same batch, gradients all-reduced in BF16.

    `hidden` is the share of the computing behind which the all-reduce may run.

    >>> bool(replicas_only(0.5).efficiency[2] > replicas_only(0.0).efficiency[2])
    True
    """
    return scaling.strong("dgx-h100", (8, 64, 512, 4096, 16384), work_s=64.0, message_B=14e9, hidden=hidden)


def replica_lines(hidden: float) -> list[str]:
    """Return their numbers of GPUs with efficiency and step.

    >>> replica_lines(0.5)[0]
    '8 GPUs: 8 s a step, efficiency 100 %'
    """
    found = replicas_only(hidden)
    return [
        _("{n} GPUs: {t} a step, efficiency {e} %").format(
            n=say_number(int(n)), t=say_time(float(t)), e=f"{100 * e:.0f}"
        )
        for n, t, e in zip(found.n_gpus, found.time_s, found.efficiency, strict=True)
    ]
