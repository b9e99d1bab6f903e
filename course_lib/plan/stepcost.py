"""What a training step of many plans takes, term by term: computing, communication that shows, bubble, optimizer.

A step of a replica is m micro-batches through p stages. The slowest stage sets the pace; the rest of the time is the
bubble of filling and draining. Terms are seconds of one GPU and add up to the step; the arrays are (n,), one entry a plan.

Validity: one schedule (1F1B, interleaved where there are chunks); experts get the average number of tokens; a network that
nobody else uses. Which part of each communication hides behind computing is fitted (`plan.efficiency`), not simulated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.plan.efficiency import Chip, Constants
from course_lib.plan.layertime import Work, head_work, layer_work
from course_lib.plan.plans import Plans
from course_lib.plan.stepcomm import Asker
from course_lib.plan.stepmemory import Held, held, stages
from course_lib.plan.transformer import Shape
from course_lib.timing.system import System

ACTIVATION_B = 2.0  # bytes for each number that groups exchange, gradients and gathered weights too
OPTIMIZER_B = (
    34.0  # bytes that Adam reads and writes for each parameter: gradient, master copy, two moments, weight, norm
)
#: The terms of a step, in the order in which they are shown.
TERMS = (
    "matrix products",
    "attention",
    "bytes moved",
    "launches and gaps",
    "output head",
    "recomputing",
    "tensor-parallel communication",
    "context-parallel communication",
    "expert-parallel communication",
    "weight gathering",
    "pipeline hand-offs",
    "uneven stages",
    "pipeline bubble",
    "gradient synchronization",
    "optimizer",
    "outside the layers",
    "slowest GPU",
)


@dataclass(frozen=True, slots=True)
class Priced:
    """Plans with their prices: `terms` by name (n,) seconds, their sum, and what the fullest GPU holds."""

    plans: Plans
    terms: Mapping[str, NDArray]
    step_s: NDArray
    held: Held


def shown(talk_s, beside_s, k: Constants, part: float = 1.0):
    """Return what of a communication shows when `beside_s` of computing runs next to it; broadcasts.

    Either what is left over, or the time by which the traffic slows the computing, whichever is longer.

    >>> k = {"hidden_by": 0.5, "disturbs": 0.1}
    >>> float(shown(3.0, 4.0, k)), float(shown(1.0, 4.0, k))
    (1.0, 0.1)
    """
    return part * np.maximum(talk_s - k["hidden_by"] * beside_s, k["disturbs"] * talk_s)


def _distinct(plans: Plans, tokens, seq) -> tuple[NDArray, NDArray]:
    """Places of plans whose layers differ, and which of them every plan is like: what stages and replicas do is apart."""
    columns = [
        plans.tensor,
        plans.expert,
        plans.expert_tensor,
        plans.sequence,
        tokens,
        np.broadcast_to(seq, tokens.shape),
    ]
    if len(plans) < 64:
        return np.arange(len(plans)), np.arange(len(plans))
    code = np.zeros(len(plans), np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        code = code * len(values) + place
    _codes, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse


def _spread(work: Work, inverse: NDArray) -> Work:
    names = ("products_s", "attention_s", "moved_s", "gaps_s")
    return Work(*(np.broadcast_to(getattr(work, n), (inverse.max() + 1,))[inverse] for n in names))


def price(
    shape: Shape,
    place: System,
    gpu: Chip,
    plans: Plans,
    k: Constants,
    *,
    seq: "int | NDArray",
    precision: str = "bf16",
    fused: bool = True,
    early: bool = False,
    plain: bool = False,
    kept: Held | None = None,
    ask: Asker | None = None,
) -> Priced:
    """Return the terms of the step of every plan. Plans have to be legal (`plan.plans`), the system large enough.

    `early` is for the first kernels of fused attention, `plain` for PyTorch without those of Megatron. `kept` and `ask`
    may be given by whoever prices the same plans again.

    >>> from course_lib.plan.efficiency import chip, constants
    >>> from course_lib.plan.plans import one
    >>> from course_lib.plan.transformer import model
    >>> from course_lib.timing.system import load
    >>> p = one(tensor=8, pipeline=8, data=1, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=64, interleave=3,
    ...         recompute="selective", zero=1, sequence=True)
    >>> found = price(model("gpt3-175b"), load("dgx-a100"), chip("a100"), p, constants(), seq=2048, fused=False)
    >>> bool(11 < found.step_s[0] < 17), bool(np.isclose(sum(found.terms.values())[0], found.step_s[0]))
    (True, True)
    """
    ask = Asker(plans, place) if ask is None else ask
    t, p, c, v, m = (
        getattr(plans, n).astype(float) for n in ("tensor", "pipeline", "context", "interleave", "n_micro")
    )
    tokens = plans.micro_batch * (seq / c)
    seq = np.asarray(seq, float)
    some, like = _distinct(plans, tokens, seq)
    few = plans.take(some)
    common = {"tokens": tokens[some], "seq": np.broadcast_to(seq, tokens.shape)[some], "tensor": t[some]}
    common |= {"sequence": few.sequence, "precision": precision, "fused": fused, "early": early, "plain": plain}
    kinds = {False: tuple(_spread(w, like) for w in layer_work(shape, gpu, k, **common))}
    talks = {False: _layer_talk(shape, ask, plans, tokens, k, kinds[False], seq, False)}
    if shape.n_experts:
        spread = {"expert": few.expert, "expert_tensor": few.expert_tensor, "with_experts": True}
        kinds[True] = tuple(_spread(w, like) for w in layer_work(shape, gpu, k, **common, **spread))
        talks[True] = _layer_talk(shape, ask, plans, tokens, k, kinds[True], seq, True)
    head = sum(head_work(shape, gpu, k, tokens=tokens[some], tensor=t[some], plain=plain))[like]
    full, partly = plans.recompute == 2, (plans.recompute == 1) & (not fused)

    def layer(kind: bool) -> dict[str, NDArray]:
        """Seconds of one layer and micro-batch, forward and backward, by term."""
        forward, backward = kinds[kind]
        talk = talks[kind]
        busy_s = forward.total_s + backward.total_s + talk["tensor"] + talk["context"] + talk["expert"]
        host_s = 3e-6 * k["host_experts_us" if kind else "host_us"]  # forward once, backward twice
        return {
            "matrix products": forward.products_s + backward.products_s,
            "attention": forward.attention_s + backward.attention_s,
            "bytes moved": forward.moved_s + backward.moved_s,
            "launches and gaps": forward.gaps_s + backward.gaps_s + np.maximum(host_s - busy_s, 0.0),
            "recomputing": np.where(
                full, forward.total_s + talk["forward"], np.where(partly, forward.attention_s, 0.0)
            ),
            "tensor-parallel communication": talk["tensor"],
            "context-parallel communication": talk["context"],
            "expert-parallel communication": talk["expert"],
        }

    layers = {kind: layer(kind) for kind in kinds}
    counts = {False: shape.n_layers - shape.n_expert_layers, True: shape.n_expert_layers}
    at = stages(shape, plans)
    of_stage = {False: at.dense, True: at.expert}
    kept = held(shape, plans, seq=seq, fused=fused) if kept is None else kept
    one_layer = {kind: sum(layers[kind].values()) for kind in kinds}
    stage_s = sum(of_stage[kind] * one_layer[kind] for kind in kinds) + (at.place == p - 1) * head
    all_s = sum(counts[kind] * one_layer[kind] for kind in kinds) + head
    forward_s = sum(of_stage[kind].max(axis=0) * (kinds[kind][0].total_s) for kind in kinds)
    backward_s = sum(of_stage[kind].max(axis=0) * (kinds[kind][1].total_s) for kind in kinds)
    slowest_s = stage_s.max(axis=0)
    terms = {name: sum(counts[kind] * layers[kind][name] for kind in kinds) * m / p for name in layers[False]}
    terms["output head"] = m * head / p
    terms["uneven stages"] = m * (slowest_s - all_s / p)
    terms["pipeline bubble"] = (all_s - slowest_s) / v
    pass_B = tokens * shape.hidden * ACTIVATION_B / np.where(plans.sequence, t, 1.0)
    send_s = np.where(p > 1, ask.time_s("send_recv", "pipeline", pass_B), 0.0)
    terms["pipeline hand-offs"] = k["handoff_shown"] * 2 * m * v * send_s + 2 * (p - 1) * send_s
    terms["weight gathering"], terms["gradient synchronization"] = _replicas(
        ask, plans, kept, forward_s, backward_s, m, k
    )
    copies = plans.data * plans.context
    shared = kept.shared_n / np.where(plans.zero >= 1, copies, 1)
    own = kept.expert_n / np.where(plans.zero >= 1, plans.expert_data, 1)
    terms["optimizer"] = (shared + own) * OPTIMIZER_B / (gpu.hbm_Bps * k["hbm"])
    terms["outside the layers"] = k["step_ms"] * 1e-3 + 0.0 * t
    hosts = np.maximum(plans.n_ranks / place.gpus_per_host, 1.0)
    terms["slowest GPU"] = k["spread"] * np.log2(hosts) * sum(terms.values())
    terms = {name: np.broadcast_to(terms[name], (len(plans),)) for name in TERMS}
    return Priced(plans, terms, sum(terms.values()), kept)


def _layer_talk(
    shape: Shape, ask: Asker, plans: Plans, tokens, k: Constants, work, seq: int, with_experts: bool
) -> dict:
    """Seconds that one layer shows of its tensor, context and expert groups' communication for one micro-batch.

    "forward" is what recomputing a layer repeats.
    """
    t = plans.tensor
    whole_B = tokens * shape.hidden * ACTIVATION_B
    pair_s = np.zeros(len(plans))
    for sliced, names in ((True, ("all_gather", "reduce_scatter")), (False, ("all_reduce",))):
        mine = (plans.sequence == sliced) & (t > 1)
        if mine.any():
            pair_s = np.where(mine, sum(ask.time_s(name, "tensor", whole_B) for name in names), pair_s)
    n_pairs = 1 + int(shape.n_shared > 0) if with_experts else 2  # whole experts leave tensor slicing to attention
    tensor_s = k["tensor_shown"] * n_pairs * pair_s
    expert_s = np.zeros(len(plans))
    if with_experts:
        sent_B = tokens / t * shape.n_active * shape.hidden * ACTIVATION_B
        expert_s = 2 * k["expert_shown"] * ask.time_s("all_to_all", "expert", sent_B * _once(shape, ask, k))
        gathered_B = sent_B * plans.expert_tensor
        inner = sum(ask.time_s(name, "expert_tensor", gathered_B) for name in ("all_gather", "reduce_scatter"))
        expert_s = expert_s + k["tensor_shown"] * inner
    context_s = np.zeros(len(plans))
    if (plans.context > 1).any():
        kv = (shape.kv_rank + shape.rope_size) if shape.kv_rank else 2 * shape.n_kv_heads * shape.head_size
        kept = kv if shape.kv_rank else kv / np.minimum(t, shape.n_kv_heads)
        all_B = plans.micro_batch * np.asarray(seq, float) * kept * ACTIVATION_B
        gather_s, scatter_s = (ask.time_s(name, "context", all_B) for name in ("all_gather", "reduce_scatter"))
        context_s = shown(gather_s, work[0].attention_s, k) + shown(gather_s + scatter_s, work[1].attention_s, k)
    return {
        "forward": tensor_s + expert_s,
        "tensor": 2 * tensor_s,
        "expert": 2 * expert_s,
        "context": np.where(plans.context > 1, context_s, 0.0),
    }


def _once(shape: Shape, ask: Asker, k: Constants) -> NDArray:
    """The part of the bytes that still cross when a token goes only once to a domain in which several experts want it."""
    domains = np.array([at.n_domains for at in ask.reaches("expert")], float)[ask.kind]
    # of `active` copies, (D − 1)/D leave; sent once, as many as there are other domains with at least one of them
    copies = shape.n_active * (domains - 1) / domains
    once = (domains - 1) * (1 - (1 - 1 / domains) ** shape.n_active)
    return np.where(domains > 1, 1 - k["sent_once"] * (1 - once / np.maximum(copies, 1e-9)), 1.0)


def _replicas(ask: Asker, plans: Plans, kept: Held, forward_s, backward_s, m, k: Constants) -> tuple[NDArray, NDArray]:
    """Seconds shown of gathering weights and of summing gradients, over all replicas and over those of experts.

    ZeRO 0 and 1 do it once a step, beside the last backward and the first forward pass; 2 sums and 3 also gathers, twice,
    in every micro-batch.
    """
    zero = plans.zero
    gather = np.zeros(len(plans))
    scatter, reduce = gather, gather
    for axis, n in (("gradient", kept.shared_n), ("expert_data", kept.expert_n)):
        size_B = n * ACTIVATION_B
        if not size_B.any():
            continue
        if (zero == 0).any():
            reduce = reduce + ask.time_s("all_reduce", axis, size_B)
        if (zero > 0).any():
            gather = gather + ask.time_s("all_gather", axis, size_B)
            scatter = scatter + ask.time_s("reduce_scatter", axis, size_B)
    whole = np.where(zero == 0, 0.0, shown(gather, forward_s, k))
    each = shown(gather, forward_s, k) + shown(gather, backward_s / 2, k)
    weights = np.where(zero == 3, m * each, whole)
    once = shown(np.where(zero == 0, reduce, scatter), backward_s, k)
    many = shown(scatter, np.where(zero == 3, backward_s / 2, backward_s), k)
    return weights, np.where(zero >= 2, m * many, once)


def mixed(selective: Priced, full: Priced, capacity_B: float, layers: NDArray) -> tuple[Priced, NDArray]:
    """Return plans that recompute as few whole layers of a stage as memory asks for, and the share (n,) of layers that are.

    `selective` and `full` are the prices of the same plans with those kinds of recomputing; `layers` of a stage (n,).
    Where even full recomputing does not fit the share is 1.

    >>> from course_lib.plan.efficiency import chip, constants
    >>> from course_lib.plan.plans import one
    >>> from course_lib.plan.transformer import model
    >>> from course_lib.timing.system import load
    >>> plan = dict(tensor=4, pipeline=16, data=4, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=384,
    ...             interleave=4, zero=1, sequence=True)
    >>> a, b = (price(model("llama3-405b"), load("gb200-nvl72"), chip("gb200"), one(recompute=word, **plan), constants(), seq=8192)
    ...         for word in ("selective", "full"))
    >>> some, share = mixed(a, b, 186e9, np.array([8]))
    >>> bool(a.step_s < some.step_s < b.step_s), bool(some.held.total_B[0] <= 186e9), share.tolist()
    (True, True, [0.25])
    """
    one, two = selective.held, full.held
    over_B = one.total_B - capacity_B
    extra_B = two.working_B - one.working_B
    gain_B = np.maximum(one.activations_B - two.activations_B, 1e-9)
    share = np.clip(np.ceil((over_B + extra_B) / gain_B * layers - 1e-9) / layers, 1 / layers, 1.0)
    share = np.where(over_B > 0, share, 0.0)
    names = ("weights_B", "grads_B", "optimizer_B", "activations_B", "shared_n", "expert_n")
    parts = {n: (1 - share) * getattr(one, n) + share * getattr(two, n) for n in names}
    kept = Held(working_B=np.where(share > 0, two.working_B, one.working_B), **parts)
    terms = {n: (1 - share) * selective.terms[n] + share * full.terms[n] for n in TERMS}
    return Priced(selective.plans, terms, sum(terms.values()), kept), share
