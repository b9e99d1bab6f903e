"""What one GPU has to hold: weights, gradients, optimizer state, activations and the key-value cache.

Validity: tensors only. A running process also holds the CUDA context, communication buffers, kernels' workspaces and
the allocator's gaps, about 1 to 3 GB together on current GPUs; compare with what `torch.cuda.memory_allocated` prints.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.shares import Fits, share
from course_lib.plan.transformer import RECOMPUTE, Shape, model


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes kept for each parameter: the weights that compute, their gradients, and what the optimizer keeps."""

    weight_B: float
    grad_B: float
    optimizer_B: float

    @property
    def total_B(self) -> float:
        """Bytes for each parameter on one GPU that shards nothing."""
        return self.weight_B + self.grad_B + self.optimizer_B


# Adam keeps two moments; mixed precision adds a master copy of the weights in FP32 (Rajbhandari et al. 2020, section 3.1).
# Megatron-LM accumulates gradients in FP32 (its issue 654: 2 + 4 + 4 + 8 = 18 bytes).
RECIPES = {
    "mixed-adam": Recipe(2, 2, 12),
    "megatron-adam": Recipe(2, 4, 12),
    "fp32-adam": Recipe(4, 4, 8),
    "bf16-adam": Recipe(2, 2, 4),
    "fp8-inference": Recipe(1, 0, 0),
    "inference": Recipe(2, 0, 0),
}


def recipe(name: "str | Recipe") -> Recipe:
    """Return bytes per parameter by the name of the recipe; a Recipe passes through.

    >>> recipe("mixed-adam").total_B, recipe("megatron-adam").total_B
    (16, 18)
    """
    return name if isinstance(name, Recipe) else RECIPES[one_of(_("recipe"), name, RECIPES)]


@dataclass(frozen=True, slots=True)
class States:
    """Bytes of model state on one rank; floats or arrays."""

    weights_B: np.ndarray | float
    grads_B: np.ndarray | float
    optimizer_B: np.ndarray | float

    @property
    def total_B(self) -> np.ndarray | float:
        """All model state of the rank."""
        return self.weights_B + self.grads_B + self.optimizer_B


def states(n_params: object, n_data: object = 1, zero_stage: int = 0, using: "str | Recipe" = "mixed-adam") -> States:
    """Return what one of `n_data` replicas keeps of `n_params` parameters; both broadcast.

    `zero_stage` 1 shards the optimizer state over the replicas, 2 the gradients too, 3 the weights too (what ZeRO-3
    gathers for the layer at work comes on top). Megatron-LM's distributed optimizer is stage 1 with "megatron-adam".
    Source: Rajbhandari et al. 2020, figure 1: 7.5 billion parameters on 64 GPUs need 120, 31.4, 16.6 and 1.9 GB.

    >>> [round(float(states(7.5e9, 64, stage).total_B) / 1e9, 1) for stage in (0, 1, 2, 3)]
    [120.0, 31.4, 16.6, 1.9]
    """
    n_params = finite("n_params", n_params, at_least=0)
    n_data = finite("n_data", n_data, at_least=1)
    stage = whole("zero_stage", zero_stage, at_least=0, at_most=3)
    kept = recipe(using)
    one = np.ones_like(n_data)[()]
    return States(
        weights_B=n_params * kept.weight_B / (n_data if stage >= 3 else one),
        grads_B=n_params * kept.grad_B / (n_data if stage >= 2 else one),
        optimizer_B=n_params * kept.optimizer_B / (n_data if stage >= 1 else one),
    )


def activation_layer_B(
    shape: "Shape | str",
    batch: object,
    seq: object = None,
    *,
    tensor: object = 1,
    sequence: bool = False,
    recompute: str = "none",
    dropout: bool = True,
    expert_layer: bool | None = None,
) -> np.ndarray | float:
    """Return the bytes that one layer keeps of `batch` sequences until its backward pass; all sizes broadcast.

    16-bit activations. For a GPT block it is s·b·h·(10 + 24/t + 5·a·s/(h·t)), with `sequence` slicing
    s·b·h·(34 + 5·a·s/h)/t; "selective" recomputing (or a fused attention kernel) drops the 5·a·s/h, "full" keeps
    only the layer's input, 2·s·b·h. Source: Korthikanti et al. 2022, table 2. Other blocks are counted by the same
    rule: grouped heads store fewer keys and values, gated MLPs three inner arrays, no `dropout` no masks, a layer of
    experts what each visited expert stores. `expert_layer` None means the model's last layer.

    >>> s, b, h, a = 2048, 1, 12288, 96
    >>> float(activation_layer_B("gpt3-175b", b, tensor=8, sequence=True)) == s * b * h * (34 + 5 * a * s / h) / 8
    True
    """
    shape = model(shape)
    recompute = one_of(_("kind of recomputing"), recompute, RECOMPUTE)
    batch = finite("batch", batch, at_least=0)
    seq = finite("seq", shape.seq if seq is None else seq, at_least=1, unit=_("tokens"))
    t = finite("tensor", tensor, at_least=1)
    tokens, h, drop = batch * seq, shape.hidden, int(dropout)
    if recompute == "full":
        return 2 * tokens * h / (t if sequence else np.ones_like(t)[()])
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        heads = 2 * shape.n_heads * (2 * query + shape.value_size + shape.value_size)
        whole_B = 2 * (shape.kv_rank + shape.rope_size + shape.q_rank)
    else:
        heads = 2 * shape.head_size * (2 * shape.n_heads + 2 * shape.n_kv_heads)
        whole_B = 0
    scores = (2 + 3 * drop) * shape.n_heads * seq if recompute == "none" else 0.0
    inner = 3 if shape.gated else 2
    if shape.n_expert_layers if expert_layer is None else expert_layer:
        visits = shape.n_active + shape.n_shared
        mlp, inputs = 2 * inner * shape.expert_ffn * visits, 2 * h * (1 + shape.n_active)
    else:
        mlp, inputs = 2 * inner * shape.ffn, 2 * h
    sliced = heads + scores + mlp
    unsliced = 4 * h + 2 * h + inputs + 2 * drop * h + whole_B  # two norms' inputs, attention's, the MLP's, two masks
    return tokens * (sliced / t + unsliced / (t if sequence else np.ones_like(t)[()]))


def activation_ends_B(
    shape: "Shape | str", batch: object, seq: object = None, *, tensor: object = 1, dropout: bool = True
) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Return the bytes that the input embedding and the output end keep for one micro-batch; broadcasts.

    First the embedding's dropout mask (s·b·h/t), then the last norm's and the head's inputs (4·s·b·h/t) and the
    logits in FP32 (4·s·b·v/t). Source: Korthikanti et al. 2022, section 4.3, sequence slicing taken as on.

    >>> first, last = activation_ends_B("gpt3-175b", 1, tensor=8)
    >>> round(float(first) / 1e6, 1), round(float(last) / 1e6, 1)
    (3.1, 65.0)
    """
    shape = model(shape)
    tokens = finite("batch", batch, at_least=0) * finite("seq", shape.seq if seq is None else seq, at_least=1)
    t = finite("tensor", tensor, at_least=1)
    return int(dropout) * tokens * shape.hidden / t, (4 * tokens * shape.hidden + 4 * tokens * shape.vocab) / t


def slices_of(shape: Shape, seq: int | None = None) -> Fits:
    """Return what says whether a number of tensor-parallel ranks can share all of a model, and `seq` tokens if given.

    >>> [t for t in range(1, 65) if slices_of(model("llama2-13b"))(t)]
    [1, 2, 4, 8]
    """
    widths = [shape.ffn] + [shape.expert_ffn] * bool(shape.n_experts) + [seq] * (seq is not None)
    kv = shape.n_heads if shape.kv_rank else shape.n_kv_heads
    return lambda t: tensor_fits(t, shape.n_heads, kv, *widths)


def kv_token_B(shape: "Shape | str", tensor: int = 1, element_B: float = 2) -> float:
    """Return the bytes of key-value cache that one token leaves on one of `tensor` ranks, all layers together.

    Two arrays of `n_kv_heads` heads, shared out over the ranks; with more ranks than heads each rank keeps a copy of
    one head. Latent attention keeps one vector of kv_rank + rope_size instead, whole on every rank.
    `element_B` is bytes for each number: 2 for BF16, 1 for FP8. Raises CourseError where heads do not divide.

    >>> kv_token_B("llama3-405b"), kv_token_B("deepseek-v3")
    (516096.0, 70272.0)
    >>> kv_token_B("llama3-70b", tensor=8), kv_token_B("llama3-70b", tensor=16)
    (40960.0, 40960.0)
    """
    shape = model(shape)
    element_B = finite("element_B", element_B, above=0)
    t = whole("tensor", tensor, at_least=1)
    share(shape.n_heads, t, what=_("attention heads"), by=_("tensor-parallel ranks"), also=slices_of(shape))
    if shape.kv_rank:
        return shape.n_layers * (shape.kv_rank + shape.rope_size) * element_B
    heads = kv_heads_each(shape.n_kv_heads, t, also=slices_of(shape))
    return 2.0 * shape.n_layers * heads * shape.head_size * element_B


def tensor_fits(tensor: int, n_heads: int, n_kv_heads: int, *widths: int) -> bool:
    """Return whether `tensor` ranks can share heads, key-value heads (or copy them), and every one of `widths`.

    >>> [t for t in range(1, 13) if tensor_fits(t, 12, 4, 48)], tensor_fits(12, 12, 4, 32)
    ([1, 2, 4, 12], False)
    """
    copied = n_kv_heads % tensor == 0 or tensor % n_kv_heads == 0
    return copied and not any(width % tensor for width in (n_heads, *widths))


def kv_heads_each(n_kv_heads: int, tensor: int, *, also: Fits | None = None) -> int:
    """Return how many key-value heads each of `tensor` ranks holds: an equal share, or a copy of one.

    `also` as in `plan.shares.share`: only numbers of ranks for which it is true are offered in the sentence.

    >>> kv_heads_each(8, 4), kv_heads_each(8, 16)
    (2, 1)
    >>> kv_heads_each(8, 12)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 8 key-value heads can be neither shared nor copied equally over 12 ranks. What works: 8 or 16 ranks.
    """
    n_kv_heads, t = whole("n_kv_heads", n_kv_heads, at_least=1), whole("tensor", tensor, at_least=1)
    if n_kv_heads % t == 0:
        return n_kv_heads // t
    if t % n_kv_heads == 0:
        return 1
    fits = [
        d
        for d in range(1, 2 * t + n_kv_heads + 1)
        if (n_kv_heads % d == 0 or d % n_kv_heads == 0) and (also is None or also(d))
    ]
    near = [d for d in fits if d < t][-1:] + [d for d in fits if d > t][:1]
    raise CourseError(
        _(
            "{heads} key-value heads can be neither shared nor copied equally over {t} ranks. What works: {near} ranks."
        ).format(heads=n_kv_heads, t=t, near=_(" or ").join(map(str, near)))
    )
