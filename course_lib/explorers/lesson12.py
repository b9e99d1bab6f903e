"""Lesson 12: scaling, one step term by term, rank orders, the search, serving, and the explorer that picks a plan."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.cluster import scaling
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.figures import growing, planning
from course_lib.figures.rows import residuals
from course_lib.figures.tensorscaling import scaling as tensor_picture
from course_lib.plan import picked, stepevidence, tensorscaling, utilisation
from course_lib.plan.picked import GROUPS, Picked, grouped
from course_lib.plan.search import Found, search
from course_lib.plan.served import Layout, most_requests
from course_lib.plan.serving import Step as Served
from course_lib.plan.serving import decode
from course_lib.plan.steptime import Step, step
from course_lib.plan.transformer import model

MODEL, SYSTEM, BATCH = "gpt3-175b", "dgx-a100", 1536
PLAN = {"tensor": 8, "pipeline": 8}
COUNTS = (512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 24576)
LEAST = 0.8
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
ORDERS = {"tensor": "tp-cp-ep-dp-pp", "replicas": "dp-tp-cp-ep-pp", "stages": "pp-tp-cp-ep-dp"}

# Scaling --------------------------------------------------------------------------------------------------------------


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


# One step -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def plan_step(**change: object) -> Step:
    """Return a step of GPT-3 on 1,024 A100 with the lesson's plan, some settings changed.

    >>> plan_step(interleave=3).step_s < plan_step().step_s
    True
    """
    return step(MODEL, SYSTEM, gpus=1024, global_batch=BATCH, **(PLAN | change))


def terms_picture(**change: object):
    """Return the terms of that step as bars.

    >>> terms_picture().layout.title.text.startswith("Matrix products take")
    True
    """
    return planning.terms(plan_step(**change).terms, groups=GROUP_OF)


def crossings(found: Step) -> list[str]:
    """Return what every kind of group of a step crosses, one line each.

    >>> crossings(plan_step())[0]
    'tensor: 8 ranks, switch inside a host, 300 GB/s for each GPU'
    """
    return [
        _("{axis}: {n} ranks, {link}, {rate} for each GPU").format(
            axis=_(s.axis), n=s.n_ranks, link=s.link, rate=say_rate(s.bandwidth_Bps)
        )
        for s in found.spans
    ]


def exposed_s(found: Step) -> float:
    """Return the seconds of communication that nothing hides.

    >>> 0 < exposed_s(plan_step()) < plan_step().step_s
    True
    """
    return float(grouped(found.terms)["exposed communication"])


# Measured -------------------------------------------------------------------------------------------------------------


def table_picture():
    """Return Korthikanti's table beside the model, nothing of it fitted.

    >>> len(table_picture().data)
    2
    """
    rows = stepevidence.korthikanti()
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
        _("{name}: {a} TFLOP/s published, {b} by the model ({off} %); {remark}").format(
            name=r.name,
            a=say_number(r.published),
            b=say_number(r.predicted, 3),
            off=f"{100 * r.error:+.0f}",
            remark=r.remark,
        )
        for r in stepevidence.llama3()
    ]


@lru_cache(maxsize=1)
def judged() -> stepevidence.Compared:
    """Return the published runs of the pairs that no constant saw, beside the model.

    >>> judged().median < 0.15
    True
    """
    return stepevidence.compare("judging")


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
    ['llama3-70b on dgx-h100, 64 to 2,048 GPUs: 54 to 54 % of the peak, 6 settings']
    """
    lines = []
    for name, system in pairs:
        found = utilisation.published(name, system)
        lines.append(
            _("{name} on {system}, {a} to {b} GPUs: {low} to {high} % of the peak, {n} settings").format(
                name=name,
                system=system,
                a=say_number(int(found.n_gpus[0])),
                b=say_number(int(found.n_gpus[-1])),
                low=f"{100 * found.mfu.min():.0f}",
                high=f"{100 * found.mfu.max():.0f}",
                n=found.mfu.size,
            )
        )
    return lines


def tensor_scaling_picture():
    """Return measured tensor-parallel scaling, 2 to 32 GPUs, beside the model.

    >>> len(tensor_scaling_picture().data)
    4
    """
    both = [tensorscaling.compare(style) for style in ("tensor", "sequence")]
    return tensor_picture(
        both[0].tensor.tolist(),
        [c.measured_per_s for c in both],
        [c.model_per_s for c in both],
        [_("all-reduce"), _("sequence slicing")],
        per_host=tensorscaling.GPUS_PER_HOST,
    )


# The search -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def plans(name: str = "megatron-1t", system: str = SYSTEM, gpus: int = 4096, global_batch: int = 2048) -> Found:
    """Return every legal plan of a model on a system, priced.

    >>> plans("llama3-8b", "dgx-h100", 8, 64).n_fit > 50
    True
    """
    return search(name, system, gpus, global_batch=global_batch)


def plan_name(row: dict) -> str:
    """Return a plan in short.

    >>> plan_name({"tensor": 8, "pipeline": 4, "data": 2, "expert": 1, "interleave": 3, "micro_batch": 1, "recompute": "none", "zero": 1})
    'TP 8 × PP 4 × DP 2, 3 chunks, micro-batch 1, recompute none, ZeRO-1'
    """
    words = f"TP {row['tensor']} × PP {row['pipeline']} × DP {row['data']}"
    if row["expert"] > 1:
        words += f" × EP {row['expert']}"
    return _("{words}, {v} chunks, micro-batch {b}, recompute {r}, ZeRO-{z}").format(
        words=words, v=row["interleave"], b=row["micro_batch"], r=row["recompute"], z=row["zero"]
    )


def plans_picture(found: Found):
    """Return all plans that fit, and those that nothing beats.

    >>> len(plans_picture(plans("llama3-8b", "dgx-h100", 8, 64)).data)
    3
    """
    n, front = found.n_fit, found.frontier
    names = [plan_name(found.row(int(i))) for i in front]
    return planning.all_plans(
        found.table["step_s"][:n], found.table["memory_B"][:n], front, names, found.capacity_B, n_plans=found.n_plans
    )


# Serving --------------------------------------------------------------------------------------------------------------

READERS, CONTEXT = "llama3-70b", 4096


def token_step(tensor: int, requests: int, system: str = "dgx-h100") -> Served:
    """Return a decoding step of Llama 3 70B, FP8 weights.

    >>> token_step(8, 64).n_gpus
    8
    """
    return decode(READERS, system, Layout(tensor=tensor), requests, CONTEXT)


def token_line(tensor: int, requests: int, system: str = "dgx-h100") -> str:
    """Return a decoding step in words: its time, and the part of the all-reduces.

    >>> token_line(8, 1).startswith("8 GPUs")
    True
    """
    found = token_step(tensor, requests, system)
    return _("{n} GPUs, {r} requests: {step} a token, all-reduces {share} % of it").format(
        n=tensor,
        r=requests,
        step=say_time(float(found.step_s)),
        share=f"{100 * float(found.communicate_s / found.step_s):.0f}",
    )


@lru_cache(maxsize=1)
def reader_curves() -> tuple:
    """Return names, tokens a second for a reader and from a GPU, and requests, for 2 to 16 GPUs that share every layer.

    >>> names, reader, gpu, requests = reader_curves()
    >>> len(names), bool(reader[2][0] > reader[0][0])
    (4, True)
    """
    names, reader, gpu, asked = [], [], [], []
    for t in (2, 4, 8, 16):
        most = most_requests(READERS, Layout(tensor=t), "h100", CONTEXT)
        r = 2.0 ** np.arange(0, np.floor(np.log2(most)) + 1)
        found = decode(READERS, "dgx-h100", Layout(tensor=t), r, CONTEXT)
        names.append(_("{n} GPUs").format(n=t))
        reader.append(1 / found.step_s)
        gpu.append(found.tokens_per_s_per_gpu)
        asked.append(r)
    return names, reader, gpu, asked


def readers_picture():
    """Return them as a figure.

    >>> len(readers_picture().data)
    8
    """
    names, reader, gpu, asked = reader_curves()
    head = _("One reader gets {a} tokens per second from 8 GPUs, and {b} from 16 in two boxes").format(
        a=say_number(float(reader[2][0]), 2), b=say_number(float(reader[3][0]), 2)
    )
    return growing.readers(names, reader, gpu, asked, title=head)


# What other machines do ----------------------------------------------------------------------------------------------


def other_ways() -> list[str]:
    """Return how three other machines join their processors, from the table of hardware.

    >>> len(other_ways())
    3
    """
    v = hardware.value
    return [
        _("TPU v4: {n} chips in a torus of {d} dimensions, {k} links of {rate} each").format(
            n=say_number(v("ici-v4", "pod_chips")),
            d=say_number(v("ici-v4", "torus_dimensions")),
            k=say_number(v("ici-v4", "links")),
            rate=say_rate(v("ici-v4", "link_Bps")),
        ),
        _("NVLink switch system: {n} H100, tapered {t} : 1 above the boxes").format(
            n=say_number(v("nvlink-switch-system", "gpus")), t=say_number(v("nvlink-switch-system", "taper"))
        ),
        _("GB200 NVL72: {n} GPUs of one NVLink domain, {rate} for each GPU").format(
            n=say_number(v("gb200-nvl72", "gpus")), rate=say_rate(v("nvlink5", "line_Bps"))
        ),
    ]


# The explorer ---------------------------------------------------------------------------------------------------------

GPUS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
SEQUENCES = 2048  # of a step


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
    return _("{plan}: {step} a step, {rate} tokens per second, {mfu} % of the peak").format(
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
            _("Mixtral 8x22B on 1,024 H100, 8 stages: how many tensor ranks give the quickest step?"),
            unit=_("GPUs"),
            truth=lambda: float(_quickest(read_plan(*START))),
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


def _quickest(r: Reading) -> int:
    return int(r.found.tensor[np.nanargmin(np.where(r.found.fits, r.found.step_s, np.inf))])
