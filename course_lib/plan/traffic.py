"""What tensor slicing and pipelines send for a real model, and how long that takes on a real link.

Times come from functions of message size: `prices` and `handoff_price` ask `timing.tuning.predict` for a system, and any
other function will do. Validity: communication that waits for nothing and hides behind nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.footprint import Plan, layer_params
from course_lib.plan.memory import slices_of
from course_lib.plan.orders import chunks_for, make
from course_lib.plan.pipeline import Timeline, run
from course_lib.plan.price import TimeOf, price, pricer
from course_lib.plan.shares import share
from course_lib.plan.transformer import Shape, flops, model

STYLES = ("tensor", "sequence")


@dataclass(frozen=True, slots=True)
class Collectives:
    """What one layer communicates for one micro-batch, forward and backward each: names and how often; all of `message_B`."""

    forward: dict[str, int]
    backward: dict[str, int]
    message_B: np.ndarray | float


def layer_collectives(
    shape: "Shape | str",
    batch: object,
    seq: object = None,
    *,
    tensor: int = 2,
    style: str = "tensor",
    part: str = "block",
    element_B: float = 2,
) -> Collectives:
    """Return the collectives of one sliced layer: one sum each way for each of attention and MLP; sizes broadcast.

    The message is the whole activation, s·b·h·`element_B`, as nccl-tests counts it. "sequence" sends the same bytes as
    pairs of reduce-scatter and all-gather. The counts are those that `plan.slicing.run` logs; a test holds that.

    >>> c = layer_collectives("llama3-70b", 1, tensor=8)
    >>> c.forward, c.backward, c.message_B / 1e6
    ({'all_reduce': 2}, {'all_reduce': 2}, 134.217728)
    """
    shape = model(shape)
    style = one_of(_("style of slicing"), style, STYLES)
    n = {"block": 2, "attention": 1, "mlp": 1}[one_of(_("part"), part, ("block", "attention", "mlp"))]
    t = whole("tensor", tensor, at_least=1)
    layer_params(shape, t)  # refuses, with the nearest choices, what does not divide
    tokens = finite("batch", batch, at_least=0) * finite("seq", shape.seq if seq is None else seq, at_least=1)
    message_B = tokens * shape.hidden * finite("element_B", element_B, above=0)
    if t == 1:
        return Collectives({}, {}, message_B)
    names = ("all_reduce",) if style == "tensor" else ("all_gather", "reduce_scatter")
    each = dict.fromkeys(names, n)
    return Collectives(each, dict(each), message_B)


def prices(system: object, tensor: int, style: str = "tensor", *, n_hosts: int | None = None) -> dict[str, TimeOf]:
    """Return what prices the collectives of a style on `tensor` ranks of a system, as `tensor_time` takes it.

    `n_hosts` spreads the ranks over that many hosts; None means as few as hold them. Errors are those of `predict`.

    >>> sorted(prices("dgx-h100", 8, "sequence"))
    ['all_gather', 'reduce_scatter']
    """
    style = one_of(_("style of slicing"), style, STYLES)
    names = ("all_reduce",) if style == "tensor" else ("all_gather", "reduce_scatter")
    return {name: pricer(name, system, tensor, n_hosts=n_hosts) for name in names}


def handoff_price(system: object, *, across_hosts: bool = True) -> TimeOf:
    """Return what prices a message from one stage to the next: over the network, or inside a host.

    >>> callable(handoff_price("dgx-h100"))
    True
    """
    return pricer("send_recv", system, 2, n_hosts=2 if across_hosts else 1)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of computing and of communication that is not hidden."""

    compute_s: float
    communicate_s: float

    @property
    def total_s(self) -> float:
        """Both, one after the other."""
        return self.compute_s + self.communicate_s


def tensor_time(
    shape: "Shape | str",
    batch: int,
    tensor: int,
    *,
    flops_per_s: float,
    time_of: Mapping[str, TimeOf] | None = None,
    seq: int | None = None,
    style: str = "tensor",
    training: bool = True,
    element_B: float = 2,
) -> StepTime:
    """Return the time of one pass of all layers (forward, with `training` backward too) on `tensor` ranks.

    `flops_per_s` is what one GPU achieves; slices are taken to compute as efficiently as the whole, so the gain shown
    is the most there is. `time_of` has a pricing function for every collective of the style, on `tensor` ranks.

    >>> slow = {"all_reduce": lambda m: 2 * (1 / 2) * m / 50e9}
    >>> one = tensor_time("llama3-8b", 1, 1, flops_per_s=4e14)
    >>> two = tensor_time("llama3-8b", 1, 2, flops_per_s=4e14, time_of=slow)
    >>> round(one.total_s, 3), round(two.total_s, 3)
    (1.186, 0.765)
    """
    shape = model(shape)
    work = flops(shape, batch, seq)
    compute_s = float((work.model if training else work.forward) / tensor / finite("flops_per_s", flops_per_s, above=0))
    found = layer_collectives(shape, batch, seq, tensor=tensor, style=style, element_B=element_B)
    total = 0.0
    for phase in (found.forward, found.backward) if training else (found.forward,):
        for name, count in phase.items():
            if time_of is None or name not in time_of:
                raise CourseError(
                    _("time_of has no price for {name}; prices(system, {n}, style) has one.").format(
                        name=name, n=tensor
                    )
                )
            total += count * float(price(time_of[name], found.message_B))
    return StepTime(compute_s, total * shape.n_layers)


@dataclass(frozen=True, slots=True)
class Handoffs:
    """Hand-offs between pipeline stages: bytes that one rank sends each time, and how often in a step.

    `crossings` counts boundaries that one micro-batch passes, both ways together; `sends` is what a stage in the middle
    sends in one step (forward and backward), `sent_B` the bytes of that.
    """

    message_B: float
    crossings: int
    sends: int

    @property
    def sent_B(self) -> float:
        """Bytes that one rank of a middle stage sends in one step."""
        return self.message_B * self.sends


def handoffs(shape: "Shape | str", plan: Plan, *, element_B: float = 2) -> Handoffs:
    """Return the hand-offs of a plan: s·b·h elements a micro-batch and boundary, cut by `tensor` with sequence slicing.

    v chunks pass v times as often: p·v − 1 boundaries each way. Without sequence slicing every tensor-parallel rank
    sends the whole activation to its neighbour. Source: Narayanan et al. 2021, sections 2.2 and 4.1.

    >>> handoffs("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64))
    Handoffs(message_B=50331648.0, crossings=14, sends=128)
    >>> handoffs("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64, chunks=3, schedule="interleaved", sequence=True))
    Handoffs(message_B=6291456.0, crossings=46, sends=384)
    """
    shape = model(shape)
    p, v, m = (whole(n, getattr(plan, n), at_least=1) for n in ("pipeline", "chunks", "n_micro"))
    chunks_for(shape.n_layers, p, v)
    seq = shape.seq if plan.seq is None else whole("seq", plan.seq, at_least=1)
    tokens = whole("batch", plan.batch, at_least=1) * seq
    if plan.sequence:
        tokens = (
            tokens
            // seq
            * share(
                seq,
                plan.tensor,
                what=_("tokens of the sequence"),
                by=_("tensor-parallel ranks"),
                also=slices_of(shape, seq),
            )
        )
    message_B = float(tokens * shape.hidden * finite("element_B", element_B, above=0))
    if p == 1:
        return Handoffs(message_B, 0, 0)
    return Handoffs(message_B, 2 * (p * v - 1), 2 * v * m)


def timeline(
    shape: "Shape | str", plan: Plan, *, flops_per_s: float, handoff: TimeOf | None = None, layer_s: float = 0.0
) -> Timeline:
    """Return the timeline of one training step of a plan, with the model's own work and hand-offs on a real link.

    `flops_per_s` is what one GPU achieves, `handoff` prices a message from stage to stage (None: free), `layer_s` adds
    communication that a layer does in one pass (tensor slicing's). Stages are taken as equal: the ends' work is spread.

    >>> t = timeline("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64), flops_per_s=1.5e14, handoff=lambda m: m / 25e9)
    >>> round(t.step_s, 1), round(t.bubble_of_ideal, 3)
    (16.6, 0.126)
    """
    shape = model(shape)
    work = flops(shape, plan.batch, plan.seq, recompute=plan.recompute)
    rate = plan.pipeline * plan.tensor * finite("flops_per_s", flops_per_s, above=0)
    extra = finite("layer_s", layer_s, at_least=0, unit="s") * chunks_for(shape.n_layers, plan.pipeline)
    sent = handoffs(shape, plan)
    handoff_s = 0.0 if handoff is None or not sent.sends else float(price(handoff, sent.message_B))
    return run(
        make(plan.schedule, plan.pipeline, plan.n_micro, plan.chunks),
        forward_s=float(work.forward) / rate + extra,
        backward_s=float(work.backward + work.recompute) / rate + extra,
        handoff_s=handoff_s,
    )
