"""A transformer as numbers: its shape, how many parameters it has, how many floating-point operations a pass needs.

Validity: decoder-only models with one attention and one MLP per layer. Only matrix products are counted as
operations (2 for each multiply-add); norms, softmax and activation functions are a percent or less of those.
"""

import functools
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _

RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a decoder-only transformer; counts without unit, `seq` in tokens.

    `head_size` times `n_heads` need not be `hidden`. `gated` MLPs (SwiGLU) have three matrices, others two. With
    `n_experts` > 0 every layer from `n_dense_layers` on has experts of width `expert_ffn`, of which a token visits
    `n_active` and `n_shared` more. `kv_rank` > 0 is multi-head latent attention with its sizes behind it.
    """

    name: str
    n_layers: int
    hidden: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    ffn: int
    vocab: int
    seq: int
    positions: int = 0
    gated: bool = False
    norm: str = "layer"
    bias: bool = True
    tied: bool = True
    n_experts: int = 0
    n_active: int = 0
    n_shared: int = 0
    expert_ffn: int = 0
    n_dense_layers: int = 0
    kv_rank: int = 0
    q_rank: int = 0
    rope_size: int = 0
    nope_size: int = 0
    value_size: int = 0
    published_params_B: float = float("nan")
    source: str = ""
    address: str = ""
    note: str = ""

    def __post_init__(self):
        """Refuse sizes that describe no transformer."""
        for field in ("n_layers", "hidden", "n_heads", "n_kv_heads", "head_size", "ffn", "vocab", "seq"):
            finite(field, getattr(self, field), at_least=1)
        one_of(_("norm"), self.norm, ("layer", "rms"))
        if self.n_heads % self.n_kv_heads:
            raise CourseError(
                _("{heads} query heads do not divide by {kv} key-value heads.").format(
                    heads=self.n_heads, kv=self.n_kv_heads
                )
            )
        if self.n_experts and not 1 <= self.n_active <= self.n_experts:
            raise CourseError(
                _("A token visits {active} of {experts} experts; from 1 to {experts} are possible.").format(
                    active=self.n_active, experts=self.n_experts
                )
            )

    @property
    def n_expert_layers(self) -> int:
        """Layers whose MLP is a set of experts."""
        return self.n_layers - self.n_dense_layers if self.n_experts else 0


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of one layer of each kind and of the ends of the model.

    `attention` and `mlp` are the matrices (and their biases) of one layer, `experts` those of one layer of experts
    without the router, `norms` what one layer keeps whole on every rank. `total` is the model, `active` what a token uses.
    """

    attention: int
    mlp: int
    experts: int
    shared_experts: int
    router: int
    norms: int
    embedding: int
    head: int
    total: int
    active: int


def params(shape: Shape) -> Params:
    """Count the parameters of `shape`. The embedding counts as active; a tied output head costs nothing extra.

    Source: the definition of the layers; published totals are in `models.csv` and held by a test.

    >>> params(model("llama3-8b")).total
    8030261248
    >>> round(params(model("deepseek-v3")).active / 1e9, 1)
    37.6
    """
    h, a, b = shape.hidden, shape.n_heads, int(shape.bias)
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        attention = (
            (h * shape.q_rank + shape.q_rank * (1 + a * query) if shape.q_rank else h * a * query)
            + h * (shape.kv_rank + shape.rope_size)
            + shape.kv_rank * (1 + a * (shape.nope_size + shape.value_size))
            + a * shape.value_size * h
        )
    else:
        q, kv = a * shape.head_size, shape.n_kv_heads * shape.head_size
        attention = h * (q + 2 * kv) + q * h + b * (q + 2 * kv + h)
    mats = 3 if shape.gated else 2

    def mlp(width: int) -> int:
        return mats * h * width + b * ((mats - 1) * width + h)

    norm = 2 * h if shape.norm == "layer" else h
    one_expert = mlp(shape.expert_ffn) if shape.n_experts else 0
    router = h * shape.n_experts
    embedding = (shape.vocab + shape.positions) * h
    head = 0 if shape.tied else shape.vocab * h
    dense = shape.n_layers - shape.n_expert_layers
    always = shape.n_layers * (attention + 2 * norm) + dense * mlp(shape.ffn) + embedding + head + norm
    always += shape.n_expert_layers * (router + shape.n_shared * one_expert)
    return Params(
        attention=attention,
        mlp=mlp(shape.ffn),
        experts=shape.n_experts * one_expert,
        shared_experts=shape.n_shared * one_expert,
        router=router,
        norms=2 * norm,
        embedding=embedding,
        head=head,
        total=always + shape.n_expert_layers * shape.n_experts * one_expert,
        active=always + shape.n_expert_layers * shape.n_active * one_expert,
    )


@dataclass(frozen=True, slots=True)
class Flops:
    """Floating-point operations of one step: forward, backward, and what recomputing adds to the backward pass."""

    forward: np.ndarray | float
    backward: np.ndarray | float
    recompute: np.ndarray | float

    @property
    def model(self) -> np.ndarray | float:
        """What the mathematics needs: forward and backward. Model utilisation (MFU) counts these."""
        return self.forward + self.backward

    @property
    def hardware(self) -> np.ndarray | float:
        """What the processor does, recomputing included. Hardware utilisation (HFU) counts these."""
        return self.forward + self.backward + self.recompute


def flops(shape: Shape, batch: object, seq: object = None, *, recompute: str = "none", causal: bool = False) -> Flops:
    """Count the operations of one forward and one backward pass over `batch` sequences of `seq` tokens; broadcasts.

    A product costs 2 operations per weight and token forward, twice that backward (one product for the inputs, one for
    the weights). Attention scores cost 4·seq·heads·head_size per token and layer; `causal` halves them, which kernels
    for causal attention do and papers mostly do not count. "selective" recomputes the attention core, "full" the layers.
    Source: Narayanan et al. 2021, section 5.1 (96 B s l h² (1 + s/6h + V/16lh) with full recomputation).

    >>> shape = model("gpt3-175b")
    >>> f = flops(shape, 1, recompute="full")
    >>> s, l, h, v = shape.seq, shape.n_layers, shape.hidden, shape.vocab
    >>> bool(np.isclose(f.hardware, 96 * s * l * h**2 * (1 + s / (6 * h) + v / (16 * l * h)), rtol=1e-12))
    True
    """
    recompute = one_of(_("kind of recomputing"), recompute, RECOMPUTE)
    batch = finite("batch", batch, at_least=0)
    seq = finite("seq", shape.seq if seq is None else seq, at_least=1, unit=_("tokens"))
    tokens = batch * seq
    h, a = shape.hidden, shape.n_heads
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        weights = h * shape.q_rank + shape.q_rank * a * query if shape.q_rank else h * a * query
        weights += h * (shape.kv_rank + shape.rope_size) + shape.kv_rank * a * (shape.nope_size + shape.value_size)
        weights += a * shape.value_size * h
        widths = query + shape.value_size
    else:
        weights = 2 * h * shape.head_size * (a + shape.n_kv_heads)
        widths = 2 * shape.head_size
    mats = 3 if shape.gated else 2
    dense = (shape.n_layers - shape.n_expert_layers) * mats * h * shape.ffn
    sparse = shape.n_expert_layers * (
        mats * h * shape.expert_ffn * (shape.n_active + shape.n_shared) + h * shape.n_experts
    )
    core = 2 * tokens * seq * a * widths * shape.n_layers * (0.5 if causal else 1.0)
    layers = 2 * tokens * (shape.n_layers * weights + dense + sparse) + core
    forward = layers + 2 * tokens * h * shape.vocab
    extra = {"none": 0.0 * tokens, "selective": core, "full": layers}[recompute]
    return Flops(forward=forward, backward=2 * forward, recompute=extra)


@functools.cache
def _table() -> dict[str, Shape]:
    kinds = {field.name: field.type for field in fields(Shape)}
    read = {int: int, float: float, str: str, bool: lambda text: text == "yes"}
    table = {}
    for row in tables.rows(Path(__file__).parent / "data" / "models.csv"):
        table[row["name"]] = Shape(**{key: read[kinds[key]](text) for key, text in row.items()})
    return table


def models() -> list[str]:
    """Names of the published models whose shapes are known here.

    >>> "llama3-405b" in models()
    True
    """
    return list(_table())


def model(name: "str | Shape") -> Shape:
    """Return the shape of a published model by its name; a Shape passes through. Unknown names raise CourseError.

    >>> model("llama3-70b").n_kv_heads
    8
    >>> model("llama3-71b")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no model 'llama3-71b'. The nearest: llama3-70b, llama-7b, llama3-8b, llama2-7b.
    """
    if isinstance(name, Shape):
        return name
    return _table()[one_of(_("model"), name, _table())]
