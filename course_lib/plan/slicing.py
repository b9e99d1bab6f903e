"""A transformer block on several ranks: each holds a slice, one generator per rank, and the collectives are counted.

"tensor" slicing keeps the activations between the products whole on every rank and sums partial results with an
all-reduce. "sequence" slicing keeps each rank's share of the tokens there: the same sum as a reduce-scatter, and an
all-gather before the next product. Sources: Shoeybi et al. 2019, section 3; Korthikanti et al. 2022, section 4.2.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.driver import AllGather, AllReduce, Log, ReduceScatter, play
from course_lib.plan.block import (
    Array,
    Block,
    Weights,
    attention_backward,
    attention_forward,
    mlp_backward,
    mlp_forward,
    norm_backward,
    norm_forward,
    serial,
)
from course_lib.plan.slices import WHOLE, Slice, cut, join

PARTS = ("block", "attention", "mlp")
STYLES = ("tensor", "sequence")
SEQ_AXIS = 1


def enter(x: Array, style: str, n_ranks: int) -> Generator:
    """Give a sliced product its whole input: nothing to do for "tensor", an all-gather of tokens for "sequence".

    Use it as `whole = yield from enter(x, style, n_ranks)`. Its gradient is `leave`, and the other way round.

    >>> next(enter(np.zeros((1, 2, 4)), "sequence", 2)).axis
    1
    """
    if style == "sequence" and n_ranks > 1:
        x = yield AllGather(x, axis=SEQ_AXIS)
    return x


def leave(part: Array, style: str, n_ranks: int) -> Generator:
    """Sum the parts of a sliced product: an all-reduce for "tensor", a reduce-scatter of tokens for "sequence".

    >>> type(next(leave(np.zeros((1, 2, 4)), "tensor", 2))).__name__
    'AllReduce'
    """
    if n_ranks > 1:
        part = yield ReduceScatter(part, axis=SEQ_AXIS) if style == "sequence" else AllReduce(part)
    return part


def forward(block: Block, mine: Slice, x: Array, part: str = "block", style: str = "tensor") -> Generator:
    """One rank's forward pass over its slice; returns (y, saved).

    x is (batch, seq, hidden), with "sequence" this rank's seq / n_ranks tokens. `part` "attention" or "mlp" leaves the
    other half of the block out. Drive it with `comm.driver.play`.

    >>> from course_lib.plan.block import random_weights
    >>> block = Block(4, 2)
    >>> mine = cut(block, random_weights(block, 8, 32), 2)[0]
    >>> next(forward(block, mine, np.zeros((1, 3, 8)))).x.shape
    (1, 3, 8)
    """
    w, n, saved = mine.weights, mine.n_ranks, {}
    if part != "mlp":
        a, saved["n1"] = norm_forward(x, w["ln1_gain"], w["ln1_bias"], block.norm)
        a = yield from enter(a, style, n)
        y, saved["att"] = attention_forward(a, w, mine.n_heads, mine.n_kv_heads)
        y = yield from leave(y, style, n)
        x = x + y + w["bo"]  # the bias once, after the sum
    if part != "attention":
        c, saved["n2"] = norm_forward(x, w["ln2_gain"], w["ln2_bias"], block.norm)
        c = yield from enter(c, style, n)
        y, saved["mlp"] = mlp_forward(c, w, block.activation)
        y = yield from leave(y, style, n)
        x = x + y + w["b2"]
    return x, saved


def backward(block: Block, mine: Slice, dy: Array, saved: dict, style: str = "tensor") -> Generator:
    """One rank's backward pass; returns (dx, gradients of its slice). What was saved says which parts ran.

    What `enter` did forward is `leave` here: the gradient of a copy is a sum. The gradients of weights that several
    ranks keep are not summed yet: see `sum_shared`.

    >>> next(backward(Block(4, 2), *_example()), "no communication on one rank")
    'no communication on one rank'
    """
    w, n, grads = mine.weights, mine.n_ranks, {}
    if "mlp" in saved:
        grads["b2"] = dy.reshape(-1, dy.shape[-1]).sum(0)
        d = yield from enter(dy, style, n)
        d, more = mlp_backward(d, saved["mlp"], w)
        grads |= more
        d = yield from leave(d, style, n)
        d, grads["ln2_gain"], grads["ln2_bias"] = norm_backward(d, saved["n2"])
        dy = dy + d
    if "att" in saved:
        grads["bo"] = dy.reshape(-1, dy.shape[-1]).sum(0)
        d = yield from enter(dy, style, n)
        d, more = attention_backward(d, saved["att"], w)
        grads |= more
        d = yield from leave(d, style, n)
        d, grads["ln1_gain"], grads["ln1_bias"] = norm_backward(d, saved["n1"])
        dy = dy + d
    return dy, grads


def _example() -> tuple:
    from course_lib.plan.block import random_weights

    block = Block(4, 2)
    mine = cut(block, random_weights(block, 8, 32), 1)[0]
    x = np.zeros((1, 3, 8))
    try:
        next(forward(block, mine, x))
    except StopIteration as end:
        return mine, x, end.value[1]
    raise AssertionError


def sum_shared(mine: Slice, grads: Weights, style: str = "tensor") -> Generator:
    """Sum the gradients of weights that several ranks keep, once a step however many micro-batches it had.

    With "sequence" each rank saw only its tokens, so norms and output biases need an all-reduce of 6 hidden sizes.
    With more ranks than key-value heads, the copies of a head need one within their group. Otherwise nothing is sent.

    >>> block, mine = Block(4, 2), _example()[0]
    >>> next(sum_shared(mine, {}), "nothing to sum")
    'nothing to sum'
    """
    grads = dict(grads)
    if style == "sequence" and mine.n_ranks > 1:
        keys = [key for key in WHOLE if key in grads]
        total = yield AllReduce(np.concatenate([grads[key] for key in keys]))
        grads |= dict(zip(keys, np.split(total, len(keys)), strict=True))
    if len(mine.kv_group) > 1 and "wk" in grads:
        keys = ("wk", "wv", "bk", "bv")
        total = yield AllReduce(np.concatenate([grads[key].ravel() for key in keys]), group=mine.kv_group)
        ends = np.cumsum([grads[key].size for key in keys])[:-1]
        for key, flat in zip(keys, np.split(total, ends), strict=True):
            grads[key] = flat.reshape(grads[key].shape)
    return grads


@dataclass(frozen=True, slots=True)
class Sliced:
    """Result of a sliced run, put together, and the logs of what was communicated in each phase."""

    y: Array
    dx: Array
    grads: Weights
    forward: Log
    backward: Log
    shared: Log


def run(
    block: Block,
    weights: Weights,
    x: object,
    dy: object,
    n_ranks: int,
    *,
    part: str = "block",
    style: str = "tensor",
    algorithm: str | None = None,
) -> Sliced:
    """Run the block on `n_ranks` ranks, forward and backward, and put the slices together.

    x and dy (batch, seq, hidden). `part` is "block", "attention" or "mlp", `style` "tensor" or "sequence". Raises
    CourseError, with the nearest choices, where heads, the MLP's width or (for "sequence") tokens do not divide.

    >>> from course_lib.plan.block import random_weights
    >>> block = Block(4, 2)
    >>> x = np.random.default_rng(1).normal(size=(2, 4, 8))
    >>> done = run(block, random_weights(block, 8, 32), x, x, 2)
    >>> done.forward.counts(), done.backward.counts()
    ({'all_reduce': 2}, {'all_reduce': 2})
    """
    part, style = one_of(_("part"), part, PARTS), one_of(_("style of slicing"), style, STYLES)
    n_ranks = whole("n_ranks", n_ranks, at_least=1)
    x, dy = np.asarray(finite("x", x), float), np.asarray(finite("dy", dy), float)
    if x.ndim != 3 or x.shape != dy.shape or x.shape[2] != weights["wq"].shape[0]:
        raise CourseError(
            _("x is {x} and dy {dy}; both have to be (batch, seq, {h}).").format(
                x=x.shape, dy=dy.shape, h=weights["wq"].shape[0]
            )
        )
    slices = cut(block, weights, n_ranks, x.shape[SEQ_AXIS] if style == "sequence" else None)
    if style == "sequence":
        xs, dys = (np.split(a, n_ranks, axis=SEQ_AXIS) for a in (x, dy))
    else:
        xs, dys = [x] * n_ranks, [dy] * n_ranks

    out, log_forward = play([forward(block, s, xs[s.rank], part, style) for s in slices], algorithm=algorithm)
    back, log_backward = play(
        [backward(block, s, dys[s.rank], out[s.rank][1], style) for s in slices], algorithm=algorithm
    )
    grads, log_shared = play([sum_shared(s, back[s.rank][1], style) for s in slices], algorithm=algorithm)

    def together(arrays: list[Array]) -> Array:
        return np.concatenate(arrays, axis=SEQ_AXIS) if style == "sequence" else arrays[0]

    return Sliced(
        together([y for y, _saved in out]),
        together([dx for dx, _grads in back]),
        join(slices, grads),
        log_forward,
        log_backward,
        log_shared,
    )


def difference(block: Block, weights: Weights, x: Array, dy: Array, sliced: Sliced) -> float:
    """Return the largest difference between a sliced run of the whole block and the serial one, over all results.

    Relative to the largest number of an array where that is above 1; float64 rounding leaves about 1e-14. (The keys'
    bias has gradient 0, for softmax does not see a shift, so a purely relative error would mean nothing there.)

    >>> from course_lib.plan.block import random_weights
    >>> block = Block(4, 2)
    >>> weights, x = random_weights(block, 8, 32), np.ones((1, 4, 8))
    >>> difference(block, weights, x, x, run(block, weights, x, x, 2)) < 1e-12
    True
    """
    y, dx, grads = serial(block, weights, x, dy)
    pairs = [(y, sliced.y), (dx, sliced.dx), *((grads[key], sliced.grads[key]) for key in grads)]
    return max(float(np.abs(a - b).max() / max(np.abs(a).max(), 1.0)) for a, b in pairs)
