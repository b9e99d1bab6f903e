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
from course_lib.plan import picked, stepevidence, tensorscaling, trainingdata, utilisation
from course_lib.plan.picked import GROUPS, Picked, grouped
from course_lib.plan.search import Found, search
from course_lib.plan.served import Layout, most_requests
from course_lib.plan.serving import Step as Served
from course_lib.plan.serving import decode, prefill
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


def memory_lines() -> list[str]:
    """Return what the fullest GPU holds under plans of GPT-3 on 1,024 A100 that differ in one setting.

    >>> lines = memory_lines()
    >>> len(lines), "weights" in lines[0]
    (6, True)
    """
    changes = {
        _("as above"): {},
        _("ZeRO-0"): {"zero": 0},
        _("ZeRO-3"): {"zero": 3, "software": "megatron"},
        _("TP 4"): {"tensor": 4},
        _("PP 16"): {"pipeline": 16},
        _("recompute all"): {"recompute": "full"},
    }
    lines = []
    for name, change in changes.items():
        found = plan_step(**({"recompute": "selective", "check_memory": False} | change))
        parts = ", ".join(f"{_(k)} {v / 1e9:.1f}" for k, v in found.memory.items() if v > 5e8)
        lines.append(
            _("{name}: {total} GB ({parts}), {t} a step").format(
                name=name, total=f"{found.memory_B / 1e9:.0f}", parts=parts, t=say_time(found.step_s)
            )
        )
    return lines


@lru_cache(maxsize=1)
def box_and_rack() -> tuple[Picked, Picked]:
    """Return Llama 3 405B on 1,024 GPUs at every tensor degree, on H100 in boxes and on GB200 in racks, layers recomputed.

    >>> box, rack = box_and_rack()
    >>> bool(box.step_s[4] / box.step_s[3] > 1.1)
    True
    """
    common = {"pipeline": 8, "global_batch": SEQUENCES, "recompute": "full"}
    return tuple(picked.over_tensor("llama3-405b", s, 1024, **common) for s in ("dgx-h100", "gb200-nvl72"))


def box_and_rack_lines() -> list[str]:
    """Return their exposed communication, from TP 8 to TP 16.

    >>> len(box_and_rack_lines())
    2
    """
    lines = []
    for name, f in zip((_("H100, boxes of 8"), _("GB200, racks of 72")), box_and_rack(), strict=True):
        i, j = f.at(8), f.at(16)
        talk = f.groups["exposed communication"]
        lines.append(
            _("{name}: TP 8 {a} a step, {b} of it exposed communication; TP 16 {c} and {d}").format(
                name=name,
                a=say_time(float(f.step_s[i])),
                b=say_time(float(talk[i])),
                c=say_time(float(f.step_s[j])),
                d=say_time(float(talk[j])),
            )
        )
    return lines


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
        _("{remark}: {a} TFLOP/s published, {b} by the model ({off} %)").format(
            a=say_number(r.published),
            b=say_number(r.predicted, 3),
            off=f"{100 * r.error:+.1f}",
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
    who = _("1 reader") if requests == 1 else _("{r} readers").format(r=say_number(requests))
    text = _("1 GPU, {who}: {step} a token, all-reduces {share} % of it")
    if tensor > 1:
        text = _("{n} GPUs, {who}: {step} a token, all-reduces {share} % of it")
    return text.format(
        n=tensor,
        who=who,
        step=say_time(float(found.step_s)),
        share=f"{100 * float(found.communicate_s / found.step_s):.0f}",
    )


def prompt_line(tensor: int, tokens: int, system: str = "dgx-h100") -> str:
    """Return how long a prompt takes to read, and the part of the all-reduces.

    >>> prompt_line(8, 8192).startswith("8 GPUs")
    True
    """
    found = prefill(READERS, system, Layout(tensor=tensor), tokens)
    return _("{n} GPUs: {t} for {k} tokens, all-reduces {share} % of it").format(
        n=tensor,
        t=say_time(float(found.step_s)),
        k=say_number(tokens),
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
    """Return how clusters are joined above the box, from the table of hardware.

    >>> len(other_ways())
    5
    """
    v = hardware.value

    def n(item: str, field: str) -> str:
        return say_number(v(item, field))

    return [
        _("DGX SuperPOD H100, one unit: {n} GPUs in boxes of 8, {k} cards of {rate} a box").format(
            n=n("superpod-h100", "gpus"), k=n("dgx-h100", "nics_per_host"), rate=say_rate(v("ib-ndr", "line_Bps"))
        ),
        _("Research SuperCluster: NVLink in boxes of 8, {rate} InfiniBand ports between them").format(
            rate=say_rate(v("ib-hdr", "line_Bps"))
        ),
        _("NVLink switch system: {n} H100 over several racks, tapered {t} : 1 above the boxes").format(
            n=n("nvlink-switch-system", "gpus"), t=n("nvlink-switch-system", "taper")
        ),
        _(
            "DGX SuperPOD GB200, one unit: {n} GPUs in racks of {k}, NVLink inside a rack, InfiniBand or Ethernet between"
        ).format(n=n("superpod-gb200", "gpus"), k=n("gb200-nvl72", "gpus")),
        _(
            "TPU v4: {n} chips in a torus of {d} dimensions, {k} links of {rate} a chip; v5e: {m} in {e} dimensions"
        ).format(
            n=n("ici-v4", "pod_chips"),
            d=n("ici-v4", "torus_dimensions"),
            k=n("ici-v4", "links"),
            rate=say_rate(v("ici-v4", "link_Bps")),
            m=n("ici-v5e", "pod_chips"),
            e=n("ici-v5e", "torus_dimensions"),
        ),
    ]


def wiring() -> str:
    """Return how the GPUs of a DGX H100 are wired.

    >>> wiring()
    '18 NVLinks of each H100 lead to 4 switch chips, none to another GPU'
    """
    return _("{n} NVLinks of each H100 lead to {k} switch chips, none to another GPU").format(
        n=say_number(hardware.value("nvlink4", "links")), k=say_number(hardware.value("dgx-h100", "switches"))
    )


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
