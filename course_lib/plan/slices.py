"""Cut a block's weights into the slices of tensor-parallel ranks, and put the gradients of slices together again."""

import functools
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.plan.block import Block, Weights
from course_lib.plan.memory import kv_heads_each, tensor_fits
from course_lib.plan.shares import share

COLUMNS = ("wq", "bq", "wk", "bk", "wv", "bv", "w1", "b1", "w3", "b3")  # cut along the last axis
ROWS = ("wo", "w2")  # cut along the first axis
WHOLE = ("bo", "b2", "ln1_gain", "ln1_bias", "ln2_gain", "ln2_bias")  # every rank keeps all of it


@dataclass(frozen=True, slots=True)
class Slice:
    """What one rank holds: its weights, how many heads they are, and the ranks that keep copies of its keys and values."""

    rank: int
    n_ranks: int
    weights: Weights
    n_heads: int
    n_kv_heads: int
    kv_group: tuple[int, ...]


def _fits(block: Block, weights: Weights, seq: int | None, t: int) -> bool:
    widths = (weights["w1"].shape[1],) if seq is None else (weights["w1"].shape[1], seq)
    return tensor_fits(t, block.n_heads, block.n_kv_heads, *widths)


def cut(block: Block, weights: Weights, n_ranks: int, seq: int | None = None) -> list[Slice]:
    """Return the slices of `n_ranks` ranks: heads and the MLP's inner width by columns, then by rows.

    With more ranks than key-value heads, n_ranks / n_kv_heads ranks keep a copy of the same head. `seq` is given where
    tokens are shared out too. Raises CourseError with the nearest rank counts that divide everything where heads, the
    inner width or tokens do not.

    >>> from course_lib.plan.block import random_weights
    >>> block = Block(4, 2)
    >>> [s.weights["wk"].shape for s in cut(block, random_weights(block, 8, 32), 4)]
    [(8, 2), (8, 2), (8, 2), (8, 2)]
    >>> cut(block, random_weights(block, 8, 32), 3)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 4 attention heads do not divide by 3 tensor-parallel ranks. The nearest that do: 2 or 4.
    """
    t = whole("n_ranks", n_ranks, at_least=1)
    ranks = _("tensor-parallel ranks")
    fits = functools.partial(_fits, block, weights, seq)
    heads = share(block.n_heads, t, what=_("attention heads"), by=ranks, also=fits)
    kv_heads = kv_heads_each(block.n_kv_heads, t, also=fits)
    share(weights["w1"].shape[1], t, what=_("columns of the MLP"), by=ranks, also=fits)
    if seq is not None:
        share(seq, t, what=_("tokens of the sequence"), by=ranks, also=fits)
    copies = max(1, t // block.n_kv_heads)
    head_size = weights["wk"].shape[1] // block.n_kv_heads
    slices = []
    for r in range(t):
        mine = {key: weights[key] for key in WHOLE}
        first = r // copies * kv_heads if copies > 1 else r * kv_heads
        for key in COLUMNS:
            if key in ("wk", "bk", "wv", "bv"):
                mine[key] = weights[key][..., first * head_size : (first + kv_heads) * head_size]
            elif key in weights:
                n = weights[key].shape[-1] // t
                mine[key] = weights[key][..., r * n : (r + 1) * n]
        for key in ROWS:
            n = weights[key].shape[0] // t
            mine[key] = weights[key][r * n : (r + 1) * n]
        group = tuple(range(r // copies * copies, r // copies * copies + copies))
        slices.append(Slice(r, t, mine, heads, kv_heads, group))
    return slices


def join(slices: list[Slice], grads: list[Weights]) -> Weights:
    """Return the gradients of the whole block from those of all ranks; copies have to be equal, slices are put side by side.

    Raises CourseError where ranks that keep the same weights ended with different gradients: a sum was forgotten.

    >>> from course_lib.plan.block import random_weights
    >>> block = Block(4, 2)
    >>> weights = random_weights(block, 8, 32)
    >>> slices = cut(block, weights, 4)
    >>> joined = join(slices, [s.weights for s in slices])
    >>> all((joined[key] == weights[key]).all() for key in weights)
    True
    """
    joined = {}
    for key in grads[0]:
        parts = [g[key] for g in grads]
        if key in WHOLE:
            _same(key, parts)
            joined[key] = parts[0]
        elif key in ROWS:
            joined[key] = np.concatenate(parts, axis=0)
        else:
            if key in ("wk", "bk", "wv", "bv"):
                groups = sorted({s.kv_group for s in slices})
                for group in groups:
                    _same(key, [parts[r] for r in group])
                parts = [parts[group[0]] for group in groups]
            joined[key] = np.concatenate(parts, axis=-1)
    return joined


def _same(key: str, parts: list[np.ndarray]) -> None:
    for part in parts[1:]:
        if not np.allclose(part, parts[0], rtol=1e-9, atol=1e-12):
            raise CourseError(
                _("Ranks that keep the same {key} have different gradients for it: they have to be summed.").format(
                    key=key
                )
            )
