"""One training step of one plan on a system: seconds, tokens a second, utilisation, memory, and every term by name."""

from dataclasses import dataclass, replace

import numpy as np

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.plan import stepcost
from course_lib.plan.efficiency import PRECISIONS, Chip, Constants, chip, chips, constants, item_of, precision_of
from course_lib.plan.grid import ORDER, Layout, Span, data_of, spans
from course_lib.plan.offers import does_not_fit
from course_lib.plan.plans import check, check_experts, one
from course_lib.plan.reach import check_room
from course_lib.plan.stepmemory import stages
from course_lib.plan.transformer import RECOMPUTE, Shape, flops, model
from course_lib.timing.system import System, load

__all__ = ["ATTENTION", "PRECISIONS", "Step", "step"]
ATTENTION = ("fused", "early", "unfused")
SOFTWARE = ("megatron", "pytorch")
AUTO = "auto"
MOST = 10**9  # sequences of a batch, tokens of a sequence: more is a slip of the pen


@dataclass(frozen=True, slots=True)
class Step:
    """One training step. `terms` (seconds) add up to `step_s`, `memory` (bytes on the fullest GPU) to `memory_B`.

    `tflops_per_gpu` and `mfu` count the operations that the mathematics needs, all scores of attention included, without
    recomputing; `mfu` is against the dense peak of the precision of the products. `recomputed` is how many layers of how
    many of the fullest stage are computed again.
    """

    step_s: float
    tokens_per_s: float
    tflops_per_gpu: float
    mfu: float
    memory_B: float
    terms: dict[str, float]
    n_gpus: int
    memory: dict[str, float]
    capacity_B: float
    layout: Layout
    spans: tuple[Span, ...]
    gpu: str
    n_micro: int
    recomputed: tuple[int, int]


def gpu_of(place: System, gpu: str | None) -> Chip:
    """Return the GPU of a system, or the one that is asked for; a system of one's own has to be given one.

    >>> gpu_of(load("dgx-h100"), None).name
    'h100'
    """
    if gpu is None and place.gpu == _("own"):
        raise CourseError(
            _("{name} does not say what GPU it has; give one, such as h100 (--gpu h100).").format(name=place.name)
        )
    if gpu is not None:
        return chip(gpu)
    try:
        item = item_of(place.gpu)
    except CourseError:
        raise CourseError(
            _(
                "{name} has {gpu}, whose peak and memory are not carried here; give the GPU that is nearest (--gpu). "
                "Valid: {valid}."
            ).format(name=place.name, gpu=place.gpu, valid=", ".join(chips()))
        ) from None
    return chip(item)


def fused_of(attention: str | None, gpu: Chip, recompute: str) -> bool:
    """Return whether attention keeps no scores: as asked, else on every GPU from Hopper on, and on older ones unless recomputed.

    >>> fused_of(None, chip("h100"), "selective"), fused_of(None, chip("a100"), "selective"), fused_of("fused", chip("a100"), "full")
    (True, False, True)
    """
    if attention is not None:
        return one_of(_("kind of attention"), attention, ATTENTION) != "unfused"
    return gpu.family not in ("v100", "a100") or recompute == "none"


def plain_of(software: str | None, zero: int) -> bool:
    """Return whether a plan is priced as PyTorch without Megatron's kernels.

    >>> plain_of(None, 3), plain_of(None, 1), plain_of("megatron", 3)
    (True, False, False)
    """
    return zero == 3 if software is None else one_of(_("software"), software, SOFTWARE) == "pytorch"


def step(
    shape: "Shape | str",
    system: "System | str",
    *,
    gpus: int | None = None,
    tensor: int = 1,
    pipeline: int = 1,
    data: int | None = None,
    context: int = 1,
    expert: int = 1,
    expert_tensor: int = 1,
    micro_batch: int = 1,
    global_batch: int,
    seq: int | None = None,
    precision: str = "bf16",
    recompute: str = "auto",
    interleave: int = 1,
    zero: int = 1,
    sequence: bool | None = None,
    order: str = ORDER,
    attention: str | None = None,
    software: str | None = None,
    gpu: str | None = None,
    check_memory: bool = True,
    using: Constants | None = None,
) -> Step:
    """Return the step of a plan. Give `gpus`, or `data` replicas; the other follows.

    Args:
        shape: a model's name or Shape.
        system: a built-in name, the path of a TOML file, or a System.
        gpus: GPUs of the job: tensor × pipeline × data × context.
        tensor, pipeline, data, context: ranks of each kind.
        expert: ranks that share out the experts, folded over tensor × context × data; each expert cut by `expert_tensor`.
        micro_batch, global_batch: sequences in a micro-batch, and in a step of all replicas.
        seq: tokens of a sequence; None is the model's own.
        precision: of the matrix products of the layers: fp16, bf16, fp8, fp4.
        recompute: none, selective (scores of attention), full (layers), auto: selective, and as many whole layers of each
            stage as memory asks for.
        interleave: chunks of each stage.
        zero: 0 keeps everything on every replica, 1 shards the optimizer, 2 gradients too, 3 weights too.
        sequence: slice norms by tensor ranks too; None: with more than one tensor rank, where it divides.
        order: ranks, fastest axis first.
        attention: fused kernels, early ones of 2022 and 2023, or unfused; None decides by the GPU (`fused_of`).
        software: megatron or pytorch; None takes pytorch with ZeRO-3 (FSDP), else megatron.
        gpu: processor, if not the system's own.
        check_memory: refuse plans that need more memory than the GPU has.
        using: constants, if not the shipped ones.

    Raises:
        CourseError: unknown names, plans that do not divide, do not fit, or whose groups the system cannot hold, each with
            the nearest that work.

    >>> s = step("gpt3-175b", "dgx-a100", gpus=1024, tensor=8, pipeline=8, global_batch=1536)
    >>> 15 < s.step_s < 30, bool(np.isclose(sum(s.terms.values()), s.step_s)), 0.3 < s.mfu < 0.65
    (True, True, True)
    """
    shape, place = model(shape), load(system)
    processor = gpu_of(place, gpu)
    precision = precision_of(processor, precision)
    recompute = one_of(_("kind of recomputing"), recompute, (*RECOMPUTE, AUTO))
    zero = whole("zero", zero, at_least=0, at_most=3)
    seq = shape.seq if seq is None else whole("seq", seq, at_least=1, at_most=MOST)
    global_batch = whole("global_batch", global_batch, at_least=1, at_most=MOST)
    if data is None:
        if gpus is None:
            raise CourseError(_("Give gpus, the number of GPUs of the job, or data, the number of replicas."))
        data = data_of(gpus, tensor, pipeline, context)
    check_experts(shape, tensor, context, data, expert, expert_tensor)
    layout = Layout(tensor, pipeline, data, expert, context, expert_tensor, order)
    if gpus is not None and whole("gpus", gpus, at_least=1) != layout.n_ranks:
        raise CourseError(
            _(
                "tensor × pipeline × data × context is {n}, not the {gpus} GPUs given. With tensor {t} × pipeline {p} × "
                "context {c} they make {d} replicas (--dp {d}), or give one of --gpus and --dp."
            ).format(
                n=layout.n_ranks,
                gpus=gpus,
                t=layout.tensor,
                p=layout.pipeline,
                c=layout.context,
                d=data_of(gpus, layout.tensor, layout.pipeline, layout.context),
            )
        )
    check_room(layout.n_ranks, place)
    if sequence is None:
        sequence = layout.tensor > 1 and seq // layout.context % layout.tensor == 0
    n_micro = check(
        shape,
        layout,
        micro_batch=micro_batch,
        global_batch=global_batch,
        interleave=interleave,
        seq=seq,
        sequence=sequence,
    )
    plans = one(
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        data=layout.data,
        context=layout.context,
        expert=layout.expert,
        expert_tensor=layout.expert_tensor,
        micro_batch=int(micro_batch),
        n_micro=n_micro,
        interleave=int(interleave),
        recompute="selective" if recompute == AUTO else recompute,
        zero=zero,
        sequence=bool(sequence),
        order=order,
    )
    fused = fused_of(attention, processor, recompute)
    options = {"seq": seq, "precision": precision, "fused": fused}
    options |= {"early": attention == "early", "plain": plain_of(software, zero)}
    k = constants() if using is None else using
    found = stepcost.price(shape, place, processor, plans, k, **options)
    layers = stages(shape, plans).total.max(axis=0)
    share = 1.0 * (recompute == "full")
    if recompute == AUTO and found.held.total_B[0] > processor.hbm_B:
        full = replace(plans, recompute=np.array([RECOMPUTE.index("full")]))
        whole_layers = stepcost.price(shape, place, processor, full, k, **options)
        found, some = stepcost.mixed(found, whole_layers, processor.hbm_B, layers)
        share, plans = float(some[0]), full if some[0] == 1 else plans
    kept = found.held
    memory = {
        "weights": kept.weights_B,
        "gradients": kept.grads_B,
        "optimizer": kept.optimizer_B,
        "activations": kept.activations_B,
        "working space": kept.working_B,
    }
    memory = {name: float(part[0]) for name, part in memory.items()}
    if check_memory and sum(memory.values()) > processor.hbm_B:
        raise CourseError(does_not_fit(memory, processor, shape, place, plans, global_batch, seq, precision, fused))
    recomputed = (round(share * float(layers[0])), int(layers[0]))
    return _result(shape, place, processor, layout, found, memory, precision, seq, int(global_batch), recomputed)


def _result(shape, place, processor, layout, found, memory, precision, seq, global_batch, recomputed) -> Step:
    step_s = float(found.step_s[0])
    rate = float(flops(shape, global_batch, seq).model) / layout.n_ranks / step_s
    return Step(
        step_s=step_s,
        tokens_per_s=global_batch * seq / step_s,
        tflops_per_gpu=rate / 1e12,
        mfu=rate / processor.peak[precision],
        memory_B=sum(memory.values()),
        terms={name: float(value[0]) for name, value in found.terms.items()},
        n_gpus=layout.n_ranks,
        memory=memory,
        capacity_B=processor.hbm_B,
        layout=layout,
        spans=spans(layout, place),
        gpu=processor.name,
        n_micro=int(found.plans.n_micro[0]),
        recomputed=recomputed,
    )
