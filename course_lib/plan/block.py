"""A transformer block in NumPy, forward and backward written out by hand: the pieces that slicing cuts, and the whole.

x is (batch, seq, hidden), every product is x @ W + b. The block is x + attention(norm(x)), then the same with the MLP.
Validity: no dropout, no position encoding; attention is causal.
"""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _

Array = np.ndarray
Weights = dict[str, Array]
ACTIVATIONS = ("gelu", "swiglu")
NORMS = ("layer", "rms")
EPSILON = 1e-5

_erf = np.frompyfunc(math.erf, 1, 1)


@dataclass(frozen=True, slots=True)
class Block:
    """What the weights do not say: heads, key-value heads, the activation function and the norm."""

    n_heads: int
    n_kv_heads: int
    activation: str = "gelu"
    norm: str = "layer"

    def __post_init__(self):
        """Refuse heads that cannot be grouped and unknown names."""
        whole("n_heads", self.n_heads, at_least=1)
        whole("n_kv_heads", self.n_kv_heads, at_least=1, at_most=self.n_heads)
        if self.n_heads % self.n_kv_heads:
            valid = [d for d in range(1, self.n_heads + 1) if self.n_heads % d == 0]
            raise CourseError(
                _("{kv} key-value heads do not divide {heads} query heads. What divides them: {valid}.").format(
                    kv=self.n_kv_heads, heads=self.n_heads, valid=", ".join(map(str, valid))
                )
            )
        one_of(_("activation function"), self.activation, ACTIVATIONS)
        one_of(_("norm"), self.norm, NORMS)


def random_weights(block: Block, hidden: int, ffn: int, *, head_size: int | None = None, seed: int = 0) -> Weights:
    """Return random float64 weights: ln1, ln2 gains and biases, wq wk wv wo, w1 (w3 for swiglu) w2, and their biases.

    Shapes: wq (hidden, heads·head_size), wk and wv (hidden, kv_heads·head_size), wo (heads·head_size, hidden),
    w1 and w3 (hidden, ffn), w2 (ffn, hidden). `head_size` None means hidden / heads.

    >>> random_weights(Block(4, 2), 8, 32)["wk"].shape
    (8, 4)
    """
    h, f = whole("hidden", hidden, at_least=1), whole("ffn", ffn, at_least=1)
    d = whole("head_size", head_size, at_least=1) if head_size is not None else h // block.n_heads
    if head_size is None and h % block.n_heads:
        raise CourseError(_("{h} numbers do not divide by {a} heads; give head_size.").format(h=h, a=block.n_heads))
    rng = np.random.default_rng(seed)
    q, kv = block.n_heads * d, block.n_kv_heads * d
    sizes = {"q": (h, q), "k": (h, kv), "v": (h, kv), "o": (q, h), "1": (h, f), "2": (f, h)}
    if block.activation == "swiglu":
        sizes["3"] = (h, f)
    weights = {}
    for key, (rows, columns) in sizes.items():
        weights["w" + key] = rng.normal(0, rows**-0.5, (rows, columns))
        weights["b" + key] = rng.normal(0, 0.1, columns)
    for norm in ("ln1", "ln2"):
        weights[norm + "_gain"] = 1 + rng.normal(0, 0.1, h)
        weights[norm + "_bias"] = rng.normal(0, 0.1, h) if block.norm == "layer" else np.zeros(h)
    return weights


def norm_forward(x: Array, gain: Array, bias: Array, kind: str) -> tuple[Array, tuple]:
    """Return the normalised x (last axis), and what the backward pass needs.

    >>> y, _saved = norm_forward(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), "layer")
    >>> y.round(3).tolist()
    [[-1.0, 1.0]]
    """
    centred = x - x.mean(-1, keepdims=True) if kind == "layer" else x
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON)
    unit = centred * scale
    return unit * gain + bias, (unit, scale, gain, kind)


def norm_backward(dy: Array, saved: tuple) -> tuple[Array, Array, Array]:
    """Return the gradients for x, gain and bias.

    >>> y, saved = norm_forward(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), "layer")
    >>> norm_backward(np.array([[1.0, 1.0]]), saved)[2].tolist()
    [1.0, 1.0]
    """
    unit, scale, gain, kind = saved
    dunit = dy * gain
    dx = dunit - unit * (dunit * unit).mean(-1, keepdims=True)
    if kind == "layer":
        dx -= dunit.mean(-1, keepdims=True)
    return dx * scale, _rows(dy * unit), _rows(dy)


def _rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1]).sum(0)


def _matrix(x: Array, dy: Array) -> Array:
    """The gradient of W in x @ W."""
    return x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def attention_forward(x: Array, w: Weights, n_heads: int, n_kv_heads: int) -> tuple[Array, tuple]:
    """Return heads' outputs times wo, without wo's bias: with a rank's slice of the heads it is that rank's part.

    x (batch, seq, hidden); `n_heads` and `n_kv_heads` are the heads that these weights hold.

    >>> block = Block(4, 2)
    >>> y, _saved = attention_forward(np.ones((1, 3, 8)), random_weights(block, 8, 32), 4, 2)
    >>> y.shape
    (1, 3, 8)
    """
    b, s, _h = x.shape
    d, group = w["wq"].shape[1] // n_heads, n_heads // n_kv_heads
    q = (x @ w["wq"] + w["bq"]).reshape(b, s, n_kv_heads, group, d)
    k = (x @ w["wk"] + w["bk"]).reshape(b, s, n_kv_heads, d)
    v = (x @ w["wv"] + w["bv"]).reshape(b, s, n_kv_heads, d)
    scores = np.einsum("bqkgd,bskd->bkgqs", q, k) / math.sqrt(d)
    scores = np.where(np.tril(np.ones((s, s), bool)), scores, -np.inf)
    weight = np.exp(scores - scores.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    heads = np.einsum("bkgqs,bskd->bqkgd", weight, v).reshape(b, s, -1)
    return heads @ w["wo"], (x, q, k, v, weight, heads)


def attention_backward(dy: Array, saved: tuple, w: Weights) -> tuple[Array, Weights]:
    """Return the gradient for x (a rank's part of it, with a slice of the heads) and those of the weights.

    >>> block = Block(2, 1)
    >>> w = random_weights(block, 4, 8)
    >>> y, saved = attention_forward(np.ones((1, 3, 4)), w, 2, 1)
    >>> sorted(attention_backward(y, saved, w)[1])
    ['bk', 'bq', 'bv', 'wk', 'wo', 'wq', 'wv']
    """
    x, q, k, v, weight, heads = saved
    b, s, n_kv, group, d = q.shape
    dheads = (dy @ w["wo"].T).reshape(b, s, n_kv, group, d)
    dweight = np.einsum("bqkgd,bskd->bkgqs", dheads, v)
    dv = np.einsum("bkgqs,bqkgd->bskd", weight, dheads).reshape(b, s, -1)
    dscores = weight * (dweight - (dweight * weight).sum(-1, keepdims=True)) / math.sqrt(d)
    dq = np.einsum("bkgqs,bskd->bqkgd", dscores, k).reshape(b, s, -1)
    dk = np.einsum("bkgqs,bqkgd->bskd", dscores, q).reshape(b, s, -1)
    dx = dq @ w["wq"].T + dk @ w["wk"].T + dv @ w["wv"].T
    grads = {"wo": _matrix(heads, dy)}
    for key, grad in (("q", dq), ("k", dk), ("v", dv)):
        grads["w" + key], grads["b" + key] = _matrix(x, grad), _rows(grad)
    return dx, grads


def mlp_forward(x: Array, w: Weights, activation: str) -> tuple[Array, tuple]:
    """Return act(x @ w1 + b1) @ w2 without w2's bias: with a slice of the inner width it is that rank's part.

    "gelu" is x·Φ(x) with the exact error function; "swiglu" is silu(x @ w1 + b1) · (x @ w3 + b3).

    >>> y, _saved = mlp_forward(np.ones((1, 3, 8)), random_weights(Block(4, 2), 8, 32), "gelu")
    >>> y.shape
    (1, 3, 8)
    """
    u = x @ w["w1"] + w["b1"]
    if activation == "gelu":
        cut = 0.5 * (1 + _erf(u / math.sqrt(2)).astype(float))
        gate, slope = None, cut + u * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        inner = u * cut
    else:
        cut = 1 / (1 + np.exp(-u))
        gate, slope = x @ w["w3"] + w["b3"], cut * (1 + u * (1 - cut))
        inner = u * cut * gate
    return inner @ w["w2"], (x, u * cut, slope, gate, inner)


def mlp_backward(dy: Array, saved: tuple, w: Weights) -> tuple[Array, Weights]:
    """Return the gradient for x (a rank's part of it, with a slice of the inner width) and those of the weights.

    >>> w = random_weights(Block(2, 1), 4, 8)
    >>> y, saved = mlp_forward(np.ones((1, 3, 4)), w, "gelu")
    >>> sorted(mlp_backward(y, saved, w)[1])
    ['b1', 'w1', 'w2']
    """
    x, active, slope, gate, inner = saved
    dinner = dy @ w["w2"].T
    du = dinner * slope * (1 if gate is None else gate)
    grads = {"w2": _matrix(inner, dy), "w1": _matrix(x, du), "b1": _rows(du)}
    dx = du @ w["w1"].T
    if gate is not None:
        dgate = dinner * active
        grads |= {"w3": _matrix(x, dgate), "b3": _rows(dgate)}
        dx += dgate @ w["w3"].T
    return dx, grads


def serial(block: Block, w: Weights, x: Array, dy: Array) -> tuple[Array, Array, Weights]:
    """Return (y, dx, gradients) of the whole block on one rank: what every slicing has to equal.

    x and dy (batch, seq, hidden): the input and the gradient that comes back from the output.

    >>> block = Block(4, 2, "swiglu", "rms")
    >>> x = np.random.default_rng(0).normal(size=(2, 5, 8))
    >>> y, dx, grads = serial(block, random_weights(block, 8, 16), x, np.ones_like(x))
    >>> y.shape == dx.shape, len(grads)
    (True, 18)
    """
    x = np.asarray(finite("x", x), float)
    dy = np.asarray(finite("dy", dy), float)
    if x.ndim != 3 or dy.shape != x.shape:
        raise CourseError(
            _("x is {x} and dy {dy}; both have to be (batch, seq, hidden).").format(x=x.shape, dy=dy.shape)
        )
    a, n1 = norm_forward(x, w["ln1_gain"], w["ln1_bias"], block.norm)
    part, att = attention_forward(a, w, block.n_heads, block.n_kv_heads)
    x1 = x + part + w["bo"]
    c, n2 = norm_forward(x1, w["ln2_gain"], w["ln2_bias"], block.norm)
    part, mlp = mlp_forward(c, w, block.activation)
    y = x1 + part + w["b2"]

    dc, grads = mlp_backward(dy, mlp, w)
    grads["b2"] = _rows(dy)
    dn, grads["ln2_gain"], grads["ln2_bias"] = norm_backward(dc, n2)
    dx1 = dy + dn
    da, more = attention_backward(dx1, att, w)
    grads |= more
    grads["bo"] = _rows(dx1)
    dn, grads["ln1_gain"], grads["ln1_bias"] = norm_backward(da, n1)
    return y, dx1 + dn, grads
