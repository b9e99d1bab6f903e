"""The memory of every rank of a plan: a model spread over tensor × pipeline × data × expert ranks.

Conventions: ranks are the product of the four. Experts are shared out over `expert`, and `data` counts their replicas;
everything else has data × expert replicas. Every matrix, experts too, is cut by `tensor`; norms, routers and
latent attention's down-projections are whole on each rank. Sources as in `plan.memory`.
"""

from dataclasses import dataclass, replace

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.memory import (
    activation_ends_B,
    activation_layer_B,
    kv_heads_each,
    kv_token_B,
    recipe,
    slices_of,
    states,
)
from course_lib.plan.orders import SCHEDULES, chunks_for, whole_rounds
from course_lib.plan.pipeline import in_flight_formula
from course_lib.plan.shares import divisors, share
from course_lib.plan.transformer import RECOMPUTE, Shape, model

MOST_REPLICAS = 4096  # more are not offered as a way to save memory


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is trained: ranks of each kind, what is sharded, recomputed and scheduled.

    `batch` sequences make a micro-batch, `n_micro` of them a step; `chunks` per stage go with "interleaved".
    `seq` None is the model's own. `recipe` names the bytes per parameter.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    batch: int = 1
    n_micro: int = 1
    schedule: str = "1f1b"
    chunks: int = 1
    sequence: bool = False
    recompute: str = "none"
    zero_stage: int = 0
    recipe: str = "mixed-adam"
    seq: int | None = None
    dropout: bool = False

    @property
    def n_ranks(self) -> int:
        """GPUs of the plan."""
        return self.tensor * self.pipeline * self.data * self.expert


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes on one rank of each pipeline stage, arrays of shape (stages,); `working_B` is what recomputing and gathering add."""

    n_params: np.ndarray
    weights_B: np.ndarray
    grads_B: np.ndarray
    optimizer_B: np.ndarray
    activations_B: np.ndarray
    ends_B: np.ndarray
    working_B: np.ndarray

    @property
    def states_B(self) -> np.ndarray:
        """Weights, gradients and optimizer state."""
        return self.weights_B + self.grads_B + self.optimizer_B

    @property
    def total_B(self) -> np.ndarray:
        """Everything, at the fullest moment."""
        return self.states_B + self.activations_B + self.ends_B + self.working_B

    @property
    def worst_stage(self) -> int:
        """The stage that needs the most."""
        return int(np.argmax(self.total_B))


def layer_params(
    shape: Shape, tensor: int = 1, expert: int = 1, *, seq: int | None = None
) -> tuple[float, float, float]:
    """Return the parameters that one rank holds of a layer: what every layer has, a dense MLP, its share of experts.

    `seq` is given where tokens are shared out too: the choices in a sentence then divide them as well.
    Raises CourseError with the nearest choices where heads, the MLP's width or experts do not divide.

    >>> layer_params(model("mixtral-8x7b"), expert=8)[2] / 1e6
    176.160768
    >>> layer_params(model("mixtral-8x7b"), expert=3)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 8 experts do not divide by 3 expert-parallel ranks. The nearest that do: 2 or 4.
    """
    t, by = whole("tensor", tensor, at_least=1), _("tensor-parallel ranks")
    ep = whole("expert", expert, at_least=1)
    fits = slices_of(shape, seq)
    heads = share(shape.n_heads, t, what=_("attention heads"), by=by, also=fits)
    h, b = shape.hidden, int(shape.bias)
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        attention = h * shape.q_rank + shape.q_rank * (1 + heads * query) if shape.q_rank else h * heads * query
        attention += h * (shape.kv_rank + shape.rope_size)
        attention += shape.kv_rank * (1 + heads * (shape.nope_size + shape.value_size)) + heads * shape.value_size * h
    else:
        q, kv = heads * shape.head_size, kv_heads_each(shape.n_kv_heads, t, also=fits) * shape.head_size
        attention = h * (q + 2 * kv) + q * h + b * (q + 2 * kv + h)
    mats = 3 if shape.gated else 2

    def mlp(width: int, what: str) -> int:
        mine = share(width, t, what=what, by=by, also=fits)
        return mats * h * mine + b * ((mats - 1) * mine + h)

    always = attention + (4 if shape.norm == "layer" else 2) * h
    dense = mlp(shape.ffn, _("columns of the MLP"))
    if not shape.n_experts:
        if ep > 1:
            raise CourseError(
                _("{name} has no experts to share out over {ep} expert-parallel ranks; use 1.").format(
                    name=shape.name or _("This model"), ep=ep
                )
            )
        return float(always), float(dense), 0.0
    mine = share(shape.n_experts, ep, what=_("experts"), by=_("expert-parallel ranks"))
    return float(always), float(dense), float(mine * mlp(shape.expert_ffn, _("columns of an expert")))


def footprint(shape: "Shape | str", plan: Plan) -> Footprint:
    """Return what one rank of every stage holds in training.

    Activations are those of the micro-batches that the schedule keeps in flight. `working_B` is, for "full" and
    "selective" recomputing, what one layer holds again while it goes backward, and for ZeRO-3 the gathered weights
    of one layer. Raises CourseError with the nearest choices for whatever does not divide.

    >>> f = footprint("gpt3-175b", Plan(tensor=8, pipeline=8, n_micro=64, recipe="megatron-adam", sequence=True,
    ...                                 recompute="selective", dropout=True))
    >>> round(float(f.states_B[1]) / 2**30, 1), round(float(f.activations_B[0]) / 2**30, 1)
    (45.6, 9.6)
    """
    shape = model(shape)
    one_of(_("schedule"), plan.schedule, SCHEDULES)
    one_of(_("kind of recomputing"), plan.recompute, RECOMPUTE)
    p, v = whole("pipeline", plan.pipeline, at_least=1), whole("chunks", plan.chunks, at_least=1)
    d, e, m = (whole(n, getattr(plan, n), at_least=1) for n in ("data", "expert", "n_micro"))
    t = whole("tensor", plan.tensor, at_least=1)
    seq = shape.seq if plan.seq is None else whole("seq", plan.seq, at_least=1)
    tokens = seq if plan.sequence else None
    always, dense, experts = layer_params(shape, t, e, seq=tokens)
    if plan.sequence:
        ranks = _("tensor-parallel ranks")
        share(seq, t, what=_("tokens of the sequence"), by=ranks, also=slices_of(shape, seq))
    each = chunks_for(shape.n_layers, p, v)
    if v > 1 and plan.schedule != "interleaved":
        raise CourseError(_('{v} chunks per stage need the schedule "interleaved".').format(v=v))
    if plan.schedule == "interleaved":
        whole_rounds(p, m)
    stage_of = np.arange(shape.n_layers) // each % p
    is_expert = np.arange(shape.n_layers) >= shape.n_dense_layers if shape.n_experts else np.zeros(shape.n_layers, bool)
    n_expert = np.bincount(stage_of[is_expert], minlength=p).astype(float)
    n_dense = np.bincount(stage_of[~is_expert], minlength=p).astype(float)

    extra = float(shape.hidden * shape.n_experts)
    if shape.n_experts and shape.n_shared:
        extra += shape.n_shared * (3 if shape.gated else 2) * shape.hidden * shape.expert_ffn / t
    embedding = -(-shape.vocab // t) * shape.hidden
    first, last = np.arange(p) == 0, np.arange(p) == p - 1
    head = embedding if not shape.tied or p > 1 else 0
    final_norm = (2 if shape.norm == "layer" else 1) * shape.hidden
    shared_n = (n_dense + n_expert) * always + n_dense * dense + n_expert * extra
    shared_n = shared_n + first * (embedding + shape.positions * shape.hidden) + last * (head + final_norm)
    expert_n = n_expert * experts
    one = states(shared_n, d * e, plan.zero_stage, plan.recipe)
    two = states(expert_n, d, plan.zero_stage, plan.recipe)

    def kept(kind: bool, recompute: str) -> float:
        options = {"tensor": t, "sequence": plan.sequence, "recompute": recompute, "dropout": plan.dropout}
        return float(activation_layer_B(shape, plan.batch, seq, expert_layer=kind, **options))

    held = in_flight_formula(plan.schedule, p, m, v, np.arange(p))
    layers = n_dense * kept(False, plan.recompute) + (n_expert * kept(True, plan.recompute) if n_expert.any() else 0)
    ends = activation_ends_B(shape, plan.batch, seq, tensor=t, dropout=plan.dropout)
    again = max(kept(kind, "none") - kept(kind, plan.recompute) for kind in {bool(k) for k in is_expert})
    gathered = np.zeros(p)
    if plan.zero_stage == 3:
        layer = np.maximum((n_dense > 0) * (always + dense), (n_expert > 0) * (always + extra + experts))
        gathered = layer * recipe(plan.recipe).weight_B
    return Footprint(
        n_params=shared_n + expert_n,
        weights_B=one.weights_B + two.weights_B,
        grads_B=one.grads_B + two.grads_B,
        optimizer_B=one.optimizer_B + two.optimizer_B,
        activations_B=layers * held,
        ends_B=first * ends[0] * held + last * ends[1],
        working_B=again + gathered,
    )


@dataclass(frozen=True, slots=True)
class Serving:
    """Bytes on one rank that serves requests: weights, and the key-value cache of all tokens it keeps."""

    weights_B: float
    cache_B: np.ndarray | float

    @property
    def total_B(self) -> np.ndarray | float:
        """Both together."""
        return self.weights_B + self.cache_B


def serving(
    shape: "Shape | str",
    n_requests: object,
    context: object,
    *,
    tensor: int = 1,
    pipeline: int = 1,
    expert: int = 1,
    weight_B: float = 2,
    cache_element_B: float = 2,
) -> Serving:
    """Return what the fullest rank holds to serve `n_requests` at a time, each of `context` tokens; both broadcast.

    `weight_B` and `cache_element_B` are bytes per weight and per cached number (2 BF16, 1 FP8).

    >>> s = serving("llama3-8b", 1, 128_000)
    >>> round(s.weights_B / 1e9, 2), round(float(s.cache_B) / 2**30, 2)
    (16.06, 15.62)
    """
    shape = model(shape)
    weight_B = finite("weight_B", weight_B, above=0)
    tokens = finite("n_requests", n_requests, at_least=0) * finite("context", context, at_least=0)
    n = footprint(shape, Plan(tensor=tensor, pipeline=pipeline, expert=expert)).n_params.max()
    cache = kv_token_B(shape, tensor, cache_element_B) / whole("pipeline", pipeline, at_least=1)
    return Serving(float(n) * weight_B, cache * tokens)


def variants(plan: Plan, shape: "Shape | str | None" = None) -> list[tuple[str, Plan]]:
    """Return changes of a plan that save memory, cheapest first, with a name for each.

    With the model's `shape` the numbers of ranks are the next that divide it, experts are spread too, and replicas
    that share the optimizer state, the gradients and the weights come last; without it they are multiples.

    >>> [name for name, _plan in variants(Plan(tensor=8))][:2]
    ['sequence slicing', 'selective recomputing']
    """
    found = []
    if plan.tensor > 1 and not plan.sequence:
        found.append((_("sequence slicing"), replace(plan, sequence=True)))
    if plan.recompute == "none":
        found.append((_("selective recomputing"), replace(plan, recompute="selective")))
    for stage in range(plan.zero_stage + 1, 4):
        if plan.data * plan.expert > 1:
            found.append((_("ZeRO-{stage}").format(stage=stage), replace(plan, zero_stage=stage)))
    if plan.recompute != "full":
        found.append((_("full recomputing"), replace(plan, recompute="full")))
    if plan.batch > 1:
        found.append((_("micro-batches of 1"), replace(plan, batch=1, n_micro=plan.n_micro * plan.batch)))
    tensors, stages, experts = ([n * k for k in (2, 4, 8)] for n in (plan.tensor, plan.pipeline, plan.expert))
    if shape is not None:
        shape = model(shape)
        fits = slices_of(shape, (plan.seq or shape.seq) if plan.sequence else None)
        tensors = [t for t in divisors(shape.n_heads) if t > plan.tensor and fits(t)]
        stages = [p for p in divisors(shape.n_layers) if p > plan.pipeline and not shape.n_layers // p % plan.chunks]
        experts = [e for e in divisors(shape.n_experts) if e > plan.expert] if shape.n_experts else []
    found += [(_("{n} tensor-parallel ranks").format(n=t), replace(plan, tensor=t)) for t in tensors[:3]]
    for p in stages[:3]:
        n_micro = max(plan.n_micro, p)
        if plan.schedule == "interleaved":
            n_micro = -(-n_micro // p) * p
        found.append((_("{n} pipeline stages").format(n=p), replace(plan, pipeline=p, n_micro=n_micro)))
    if shape is not None:
        found += [(_("{n} expert-parallel ranks").format(n=e), replace(plan, expert=e)) for e in experts[:3]]
        found += [
            (_("{n} replicas with ZeRO-3").format(n=n), replace(plan, data=n, zero_stage=3))
            for n in (plan.data * k for k in (2, 8, 64))
            if n <= MOST_REPLICAS
        ]
    return found
