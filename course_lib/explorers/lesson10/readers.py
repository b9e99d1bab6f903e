"""Lesson 10: a decoding step of DeepSeek-V3 over its readers, experts kept elsewhere, and published curves."""

from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_time
from course_lib.explorers.lesson10.machines import BOXES, GPU, MODEL, RACK
from course_lib.plan import servedruns
from course_lib.plan.pools import gb
from course_lib.plan.served import Layout, fits, held, host_Bps, placed_on
from course_lib.plan.serving import Step, decode, prefill

CONTEXT = 4096


@lru_cache(maxsize=8)
def curve(system: str, most_degree: int = 256) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, over the requests on a GPU, tokens per second for a reader and from a GPU, at the quickest degree that fits.

    One degree for each number of requests: the one with the shortest step. Third: those degrees.

    >>> reader, gpu, degree = curve("gb200-nvl72")
    >>> bool((np.diff(reader) < 0).all() and (np.diff(gpu) > 0).all())
    True
    """
    each = 2.0 ** np.arange(-3, 10)  # below 1: not every GPU has a request
    degrees = [e for e in (8, 16, 32, 64, 128, 256) if e <= most_degree]
    steps = np.array(
        [decode(MODEL, system, Layout(expert=e), e * each, CONTEXT, gpu=GPU).step_s for e in degrees], float
    )
    best = steps.min(axis=0)
    return 1 / best, each / best, np.array(degrees)[steps.argmin(axis=0)]


def step_of(system: str, degree: int, each: int) -> Step:
    """Return a decoding step of DeepSeek-V3 on a system, `each` requests on every GPU.

    >>> step_of("gb200-nvl72", 64, 128).n_gpus
    64
    """
    return decode(MODEL, system, Layout(expert=degree), degree * each, CONTEXT, gpu=GPU)


def shares(step: Step) -> str:
    """Return the terms of a step in words, longest first.

    >>> shares(step_of("gb200-nvl72", 64, 128)).count(",") >= 4
    True
    """
    terms = sorted(step.terms.items(), key=lambda item: -float(item[1]))
    return ", ".join(f"{_(name)} {say_time(float(value))}" for name, value in terms)


def offload() -> list[str]:
    """Return three lines: a layout on four GPUs that does not fit, what a remote expert costs, and a prompt with a quarter away.

    >>> lines = offload()
    >>> len(lines), "too many" in lines[0]
    (3, True)
    """
    layout, away = Layout(expert=4), Layout(expert=4, host_share=0.25)
    verdict = fits(MODEL, layout, GPU, 4, 2000)
    kept = held(MODEL, layout, GPU)
    expert_B = kept.experts_B / kept.slots
    _place, rack = placed_on(RACK, layout, None)
    _place, box = placed_on(BOXES, layout, None)
    first = verdict.sentence.split(" What")[0]
    second = _("an expert of every layer, {size}: {a} over C2C, {b} over PCIe 5").format(
        size=gb(expert_B), a=say_time(expert_B / host_Bps(rack)), b=say_time(expert_B / host_Bps(box))
    )
    steps = [prefill(MODEL, s, away, 2000, 32, gpu=g) for s, g in ((RACK, rack), (BOXES, box))]
    third = _(
        "32 prompts of 2,000 tokens, a quarter of the experts away: {a} of {b} wait for C2C, {c} of {d} for PCIe"
    ).format(
        a=say_time(float(steps[0].terms["host memory"])),
        b=say_time(float(steps[0].step_s)),
        c=say_time(float(steps[1].terms["host memory"])),
        d=say_time(float(steps[1].step_s)),
    )
    return [first, second, third]


def equal_speed() -> tuple:
    """Return the published curves as the figure takes them: rack and boxes.

    >>> len(equal_speed()[0])
    2
    """
    seen = servedruns.equal_speed()
    return [seen.reader_per_s] * 2, [seen.rack_per_s, seen.boxes_per_s]


def served_runs() -> list[str]:
    """Return by how much the model's tokens per second differ from those of published servers, a line for each run.

    >>> served_runs()[1]
    'gb200-nvl72, 48 GPUs, decoding: +60 %'
    """
    phases = {"decode": _("decoding"), "prefill": _("prefill")}
    return [
        _("{system}, {n} GPUs, {phase}: {off} %").format(
            system=run.system,
            n=run.n_gpus,
            phase=phases[run.phase],
            off=f"{100 * (run.model_per_s / run.measured_per_s - 1):+.0f}",
        )
        for run in servedruns.served()
    ]
