"""Lesson 12: published steps beside the model, and where they come from."""

from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.figures.rows import residuals
from course_lib.plan import stepcompared, tensorscaling, trainingdata, utilisation


def table_picture():
    """Return Korthikanti's table beside the model, nothing of it fitted.

    >>> len(table_picture().data)
    2
    """
    rows = stepcompared.korthikanti()
    return residuals(
        [_("{name} ({remark})").format(name=r.name, remark=r.remark) for r in rows],
        [r.published for r in rows],
        [r.predicted for r in rows],
        say_time,
        subtitle=_("upright line: the model; crosses: published; left of it, the machine was quicker"),
    )


def llama_lines() -> list[str]:
    """Return Llama 3 405B beside the model.

    >>> len(llama_lines())
    3
    """
    return [
        _("{remark}: {a} TFLOP/s published, {b} by the model ({off} %)").format(
            a=say_number(r.published),
            b=say_number(r.predicted, 3),
            off=f"{100 * r.error:+.1f}",
            remark=r.remark,
        )
        for r in stepcompared.llama3()
    ]


@lru_cache(maxsize=1)
def judged() -> stepcompared.Compared:
    """Return the published runs of the pairs that no constant saw, beside the model.

    >>> judged().median < 0.15
    True
    """
    return stepcompared.compare("judging")


def judged_line() -> str:
    """Return how far the model is from them.

    >>> judged_line().startswith("median error")
    True
    """
    found = judged()
    return _("median error {m} % over {n} settings of {k} pairs; {within} % of them within 15 %").format(
        m=say_number(100 * found.median, 2),
        n=len(found.runs),
        k=len(found.by_pair()),
        within=f"{100 * float(np.mean(np.abs(found.error) <= 0.15)):.0f}",
    )


def utilisations(*pairs: tuple[str, str]) -> list[str]:
    """Return published utilisations (lowest to highest) of pairs of model and system, in BF16.

    >>> utilisations(("llama3-70b", "dgx-h100"))
    ['llama3-70b on dgx-h100, 64 to 2,048 GPUs: 54 % of the peak, 6 settings']
    """
    lines = []
    for name, system in pairs:
        found = utilisation.published(name, system)
        lines.append(
            _("{name} on {system}, {gpus} GPUs: {share} % of the peak, {n} settings").format(
                name=name,
                system=system,
                gpus=_range(*found.n_gpus[[0, -1]]),
                share=_range(100 * found.mfu.min(), 100 * found.mfu.max()),
                n=found.mfu.size,
            )
        )
    return lines


def _range(low: float, high: float) -> str:
    a, b = say_number(round(float(low))), say_number(round(float(high)))
    return a if a == b else _("{a} to {b}").format(a=a, b=b)


def past_the_box() -> list[str]:
    """Return what each GPU of lesson 06's sliced model did in one box of eight, and what it kept in two and four.

    >>> past_the_box()[1]
    '16 GPUs in 2 boxes: 6,246 tokens a second each, 57 % of that'
    """
    box, *more = (run for run in tensorscaling.rows("tensor") if run.tensor >= tensorscaling.GPUS_PER_HOST)
    first = _("{n} GPUs in one box: {rate} tokens a second each").format(
        n=box.tensor, rate=say_number(box.tokens_per_s_per_gpu, 3)
    )
    return [first] + [
        _("{n} GPUs in {k} boxes: {rate} tokens a second each, {p} % of that").format(
            n=run.tensor,
            k=run.n_hosts,
            rate=say_number(run.tokens_per_s_per_gpu, 3),
            p=round(100 * run.tokens_per_s_per_gpu / box.tokens_per_s_per_gpu),
        )
        for run in more
    ]


def measured_weak() -> list[str]:
    """Return published steps of Llama 3 70B on more and more H100, with batches that grew, beside the model.

    >>> measured_weak()[0].startswith("64 GPUs")
    True
    """
    mine = [r for r in trainingdata.runs() if r.pair == ("llama3-70b", "dgx-h100") and r.precision == "bf16"]
    lines = []
    for r in sorted(mine, key=lambda r: r.layout.n_ranks):
        lines.append(
            _("{n} GPUs, {b} sequences: {t} a step").format(
                n=say_number(r.layout.n_ranks), b=say_number(r.global_batch), t=say_time(r.step_s)
            )
        )
    return lines


def where_it_came_from() -> list[str]:
    """Return the sources of the published runs of this lesson, title and address, each address once.

    >>> any("Korthikanti" in line for line in where_it_came_from())
    True
    """
    chosen = {"korthikanti", "mosaic", "dgxc-llama70", "playbook", "bridge-0475abb"}
    found = {address: title for name, (title, address) in trainingdata.sources().items() if name in chosen}
    return [f"{title}: {address}" for address, title in found.items()]
