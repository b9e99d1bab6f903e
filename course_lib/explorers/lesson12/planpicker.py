"""Lesson 12's explorer: how a model is cut over a cluster."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.explorers.lesson12.job import SEQUENCES
from course_lib.figures import planning
from course_lib.plan import picked
from course_lib.plan.picked import Picked
from course_lib.plan.transformer import model

ORDERS = {"tensor": "tp-cp-ep-dp-pp", "replicas": "dp-tp-cp-ep-pp", "stages": "pp-tp-cp-ep-dp"}
GPUS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: the choice, and the same GPUs at all tensor degrees."""

    name: str
    gpus: int
    tensor: int
    pipeline: int
    expert: int
    order: str
    system: str
    found: Picked

    @property
    def at(self) -> int:
        """The place of the chosen degree."""
        return self.found.at(self.tensor)

    @property
    def data(self) -> int:
        """Replicas."""
        return self.gpus // (self.tensor * self.pipeline)


@lru_cache(maxsize=256)
def read_plan(
    name: str, system: str, gpus: int, tensor: int, pipeline: int, expert: int, recompute: str, order: str
) -> Reading:
    """Return a plan's step at all tensor degrees; a model without experts takes no notice of `expert`.

    Raises CourseError with the nearest plan that divides where the chosen one does not.

    >>> r = read_plan("mixtral-8x22b", "dgx-h100", 1024, 4, 8, 8, "selective", "tensor")
    >>> r.data, bool(r.found.fits[r.at])
    (32, True)
    """
    experts = expert if model(name).n_experts else 1
    common = {"pipeline": pipeline, "expert": experts, "micro_batch": 1, "global_batch": SEQUENCES}
    found = picked.over_tensor(name, system, gpus, recompute=recompute, order=ORDERS[order], **common)
    if not found.legal[found.at(tensor)]:
        picked.why_not(name, gpus, tensor, **common)
    return Reading(name, gpus, tensor, pipeline, experts, order, system, found)


def _title(r: Reading) -> str:
    i, f = r.at, r.found
    words = f"TP {r.tensor} × PP {r.pipeline} × DP {r.data}" + (f" × EP {r.expert}" if r.expert > 1 else "")
    if not f.fits[i]:
        return _("{plan} does not fit: {need} on a GPU of {has}").format(
            plan=words, need=say_bytes(float(f.memory_B[i])), has=say_bytes(f.capacity_B)
        )
    return _("{plan}: {step} a step, {rate} tokens/s, {mfu} % of peak").format(
        plan=words,
        step=say_time(float(f.step_s[i])),
        rate=say_number(float(f"{f.tokens_per_s[i]:.3g}")),
        mfu=f"{100 * f.mfu[i]:.0f}",
    )


def _draw(r: Reading):
    f = r.found
    return planning.by_degree(
        f.tensor.tolist(), f.groups, f.memory_B, f.capacity_B, chosen=r.tensor, title=_title(r), gpu=f.gpu.upper()
    )


def _equation(r: Reading) -> tuple[str, str]:
    g = {name: float(value[r.at]) for name, value in r.found.groups.items()}
    parts = " + ".join(say_time(g[name]) for name in ("computing", "recomputing", "exposed communication", "bubble"))
    return (
        _("step = computing + recomputing + exposed communication + bubble + optimizer"),
        _("{step} = {parts} + {last}").format(
            step=say_time(float(r.found.step_s[r.at])), parts=parts, last=say_time(g["optimizer"])
        ),
    )


def _sentence(r: Reading) -> str:
    spans = picked.crossing(r.system, r.gpus, r.tensor, r.pipeline, r.expert, ORDERS[r.order])
    out = [_(s.axis) for s in spans if s.crosses == "network" and s.axis in ("tensor", "expert", "data", "pipeline")]
    inside = [_(s.axis) for s in spans if s.crosses != "network" and s.axis in ("tensor", "expert", "data", "pipeline")]
    first = _("Over network cards: {out}; over NVLink only: {inside}.").format(
        out=", ".join(out) or _("nothing"), inside=", ".join(inside) or _("nothing")
    )
    f = r.found
    if f.fits.any():
        best = int(np.nanargmin(np.where(f.fits, f.step_s, np.inf)))
        second = _("Quickest degree that fits: {t}, {time}.").format(
            t=int(f.tensor[best]), time=say_time(float(f.step_s[best]))
        )
    else:
        second = _("No tensor degree fits; cut into more stages, recompute more, or take more GPUs.")
    third = "" if model(r.name).n_experts else " " + _("This model has no experts to spread.")
    return f"{first} {second}{third}"


START = ("mixtral-8x22b", "dgx-h100", 1024, 4, 8, 8, "selective", "tensor")


def plan_picker() -> Explorer:
    """Return the explorer: model, system, GPUs and degrees, to memory, bubble, exposed time and tokens per second.

    >>> plan_picker().figure.layout.title.text[:31]
    'TP 4 × PP 8 × DP 32 × EP 8: 10.'
    """
    return Explorer(
        read_plan,
        _draw,
        question=_("How should a model be cut over a cluster?"),
        guess=Guess(
            "12.plan",
            _("Eight GPUs share out the experts (EP 8). With EP 1, how much does the fullest GPU need?"),
            unit="GB",
            truth=_without_spreading_B,
        ),
        equation=_equation,
        sentence=_sentence,
        name=Choice(
            _("model"),
            (
                (_("Mixtral 8x22B, 8 experts"), "mixtral-8x22b"),
                (_("Qwen3 235B, 128 experts"), "qwen3-235b"),
                (_("Llama 3 70B"), "llama3-70b"),
                (_("Llama 3 405B"), "llama3-405b"),
            ),
            START[0],
        ),
        system=Choice(
            _("system"),
            (
                (_("A100, boxes of 8"), "dgx-a100"),
                (_("H100, boxes of 8"), "dgx-h100"),
                (_("GB200, racks of 72"), "gb200-nvl72"),
            ),
            START[1],
        ),
        gpus=CountSlider(_("GPUs"), GPUS[0], GPUS[-1], START[2], counts=GPUS, help=_("2,048 sequences a step")),
        tensor=CountSlider(_("tensor (TP)"), 1, 32, START[3], counts=picked.DEGREES, help=_("GPUs that share a layer")),
        pipeline=CountSlider(_("pipeline (PP)"), 1, 16, START[4], counts=(1, 2, 4, 8, 16), help=_("stages of layers")),
        expert=CountSlider(
            _("expert (EP)"),
            1,
            64,
            START[5],
            counts=(1, 2, 4, 8, 16, 32, 64),
            help=_("GPUs that share out the experts"),
        ),
        recompute=Choice(
            _("recompute"),
            ((_("scores of attention"), "selective"), (_("nothing"), "none"), (_("whole layers"), "full")),
            START[6],
        ),
        order=Choice(
            _("neighbours in a box are"),
            (
                (_("tensor ranks first"), "tensor"),
                (_("replicas first"), "replicas"),
                (_("stages first"), "stages"),
            ),
            START[7],
        ),
    )


def _without_spreading_B() -> float:
    """Bytes of the start's plan when every GPU holds all experts."""
    name, system, gpus, tensor, pipeline, _expert, recompute, order = START
    r = read_plan(name, system, gpus, tensor, pipeline, 1, recompute, order)
    return float(r.found.memory_B[r.at])
