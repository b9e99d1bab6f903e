"""What the fullest GPU of each of many plans holds: `plan.memory`'s rules, for arrays of plans.

The fullest stage is the first, the second or the last: the first has the embedding and the most micro-batches in flight,
the last the head. Conventions and sources as in `plan.memory`; where both apply the totals are those of `plan.footprint`.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.plan.memory import activation_ends_B, activation_layer_B, recipe
from course_lib.plan.pipeline import in_flight_formula
from course_lib.plan.plans import Plans, gap_of
from course_lib.plan.transformer import RECOMPUTE, Shape


@dataclass(frozen=True, slots=True)
class Stages:
    """Layers of the first, the second and the last stage of each plan, arrays (3, n): dense ones and ones with experts."""

    dense: NDArray
    expert: NDArray
    place: NDArray

    @property
    def total(self) -> NDArray:
        """All layers of a stage."""
        return self.dense + self.expert


def stages(shape: Shape, plans: Plans) -> Stages:
    """Return how many layers of each kind the three stages hold; a plan with one or two stages repeats them.

    >>> from course_lib.plan.plans import one
    >>> from course_lib.plan.transformer import model
    >>> p = one(tensor=8, pipeline=16, data=1, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=16, interleave=1,
    ...         recompute="none", zero=1, sequence=True)
    >>> stages(model("llama3-405b"), p).total.ravel().tolist()
    [7, 8, 7]
    """
    gap, p = np.maximum(gap_of(shape, plans.pipeline, plans.interleave), 0), plans.pipeline
    each = (shape.n_layers + gap) // p
    first = each - np.where(gap > 0, 1, 0)
    last = np.where(p == 1, shape.n_layers, each - np.maximum(gap - 1, 0))
    middle = np.where(p > 2, each, np.where(p == 1, shape.n_layers, last))
    first = np.where(p == 1, shape.n_layers, first)
    total = np.stack([first, middle, last])
    place = np.stack([0 * p, np.minimum(1, p - 1), p - 1])
    if not shape.n_experts:
        return Stages(total, 0 * total, place)
    before = np.stack([0 * p, np.where(p > 1, first, 0), shape.n_layers - last])
    dense = np.clip(shape.n_dense_layers - before, 0, total)
    dense = np.where(plans.interleave > 1, np.stack([np.minimum(shape.n_dense_layers, first), 0 * p, 0 * p]), dense)
    return Stages(dense, total - dense, place)


def layer_weights(shape: Shape, tensor, expert, expert_tensor) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return parameters that one rank holds of a layer: what all layers have, a dense MLP, router and shared experts, experts.

    Arrays broadcast; shares are not rounded, `plan.plans` has checked that they divide.

    >>> from course_lib.plan.footprint import layer_params
    >>> from course_lib.plan.transformer import model
    >>> [float(x) for x in layer_weights(model("gpt3-175b"), 8, 1, 1)[:2]] == list(layer_params(model("gpt3-175b"), 8))[:2]
    True
    """
    t = np.asarray(tensor, float)
    h, b, a = shape.hidden, int(shape.bias), shape.n_heads / t
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        attention = h * shape.q_rank + shape.q_rank * (1 + a * query) if shape.q_rank else h * a * query
        attention = attention + h * (shape.kv_rank + shape.rope_size)
        attention = (
            attention + shape.kv_rank * (1 + a * (shape.nope_size + shape.value_size)) + a * shape.value_size * h
        )
    else:
        q, kv = a * shape.head_size, np.maximum(shape.n_kv_heads / t, 1.0) * shape.head_size
        attention = h * (q + 2 * kv) + q * h + b * (q + 2 * kv + h)
    mats = 3 if shape.gated else 2
    always = attention + (4 if shape.norm == "layer" else 2) * h
    dense = mats * h * shape.ffn / t + b * ((mats - 1) * shape.ffn / t + h)
    if not shape.n_experts:
        return always, dense, 0.0 * t, 0.0 * t
    extra = h * shape.n_experts + shape.n_shared * mats * h * shape.expert_ffn / t
    mine = shape.n_experts / np.asarray(expert, float)
    width = shape.expert_ffn / np.asarray(expert_tensor, float)
    return always, dense, extra, mine * (mats * h * width + b * ((mats - 1) * width + h))


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes on the fullest rank of each plan, arrays (n,), and the parameters of that rank: shared by all replicas, of experts."""

    weights_B: NDArray
    grads_B: NDArray
    optimizer_B: NDArray
    activations_B: NDArray
    working_B: NDArray
    shared_n: NDArray
    expert_n: NDArray

    @property
    def total_B(self) -> NDArray:
        """Everything."""
        return self.weights_B + self.grads_B + self.optimizer_B + self.activations_B + self.working_B


def held(
    shape: Shape, plans: Plans, *, seq: int, using: str = "megatron-adam", dropout: bool = False, fused: bool = True
) -> Held:
    """Return what the fullest rank of every plan holds. `fused` attention keeps no scores whatever is recomputed.

    `shared_n` and `expert_n` are the largest of any rank: what the busiest ranks update and sum.

    >>> from course_lib.plan.plans import one
    >>> from course_lib.plan.transformer import model
    >>> p = one(tensor=8, pipeline=8, data=1, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=64, interleave=3,
    ...         recompute="selective", zero=0, sequence=True)
    >>> found = held(model("gpt3-175b"), p, seq=2048, dropout=True, fused=False)
    >>> round(float(found.total_B[0]) / 2**30, 1)
    59.9
    """
    at = stages(shape, plans)
    t, p, kept = plans.tensor.astype(float), plans.pipeline, recipe(using)
    always, dense, extra, experts = layer_weights(shape, t, plans.expert, plans.expert_tensor)
    first, last = at.place == 0, at.place == p - 1
    embedding = np.ceil(shape.vocab / t) * shape.hidden
    head = np.where((p > 1) | (not shape.tied), embedding, 0.0)
    final = (2 if shape.norm == "layer" else 1) * shape.hidden
    shared_n = at.total * always + at.dense * dense + at.expert * extra
    shared_n = shared_n + first * (embedding + shape.positions * shape.hidden) + last * (head + final)
    expert_n = at.expert * experts
    copies, spread = plans.data * plans.context, plans.expert_data

    def state(each_B: float, from_stage: int) -> NDArray:
        over = plans.zero >= from_stage
        return each_B * (shared_n / np.where(over, copies, 1) + expert_n / np.where(over, spread, 1))

    weights, grads, optimizer = state(kept.weight_B, 3), state(kept.grad_B, 2), state(kept.optimizer_B, 1)
    batch = plans.micro_batch / plans.context

    sliced = [bool(on) for on in np.unique(plans.sequence)]

    def layer(kind: bool, recompute: str) -> NDArray:
        each = [
            activation_layer_B(
                shape, batch, seq, tensor=t, sequence=on, recompute=recompute, dropout=dropout, expert_layer=kind
            )
            for on in sliced
        ]
        return np.where(plans.sequence, each[1], each[0]) if len(each) == 2 else each[0]

    kinds = [True, False] if shape.n_experts else [False]
    words = ["selective" if fused and word == "none" else word for word in RECOMPUTE]
    present = np.unique(plans.recompute)
    each = dict.fromkeys(kinds, 0.0)
    for kind, code in itertools.product(kinds, present):
        mine = layer(kind, words[code])
        each[kind] = mine if len(present) == 1 else np.where(plans.recompute == code, mine, each[kind])
    whole_layer = {kind: layer(kind, "selective" if fused else "none") for kind in kinds}
    in_flight = np.where(
        plans.interleave > 1,
        in_flight_formula("interleaved", p, plans.n_micro, plans.interleave, at.place),
        in_flight_formula("1f1b", p, plans.n_micro, 1, at.place),
    )
    layers = at.dense * each[False] + (at.expert * each[True] if shape.n_experts else 0.0)
    ends = activation_ends_B(shape, batch, seq, tensor=t, dropout=dropout)
    activations = layers * in_flight + first * ends[0] * in_flight + last * ends[1]
    again = np.max([whole_layer[kind] - each[kind] for kind in kinds], axis=0)
    one_layer = np.maximum((at.dense > 0) * (always + dense), (at.expert > 0) * (always + extra + experts))
    working = again + np.where(plans.zero == 3, one_layer * kept.weight_B, 0.0)
    total = weights + grads + optimizer + activations + working
    worst = np.argmax(total, axis=0), np.arange(len(plans))
    return Held(
        *(part[worst] for part in (weights, grads, optimizer, activations, working)),
        shared_n.max(axis=0),
        expert_n.max(axis=0),
    )
