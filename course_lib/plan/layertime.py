"""What one layer computes for one micro-batch on one rank, forward and backward: products, attention, bytes moved.

Every matrix product of the layer is priced by its own shape (`plan.efficiency`). Backward has two products for each:
one for the inputs' gradients, one for the weights'.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.plan.efficiency import TILE, Chip, Constants, product_s
from course_lib.plan.transformer import Shape

# Bytes for each score that attention without a fused kernel moves: written, read and written by the softmax, masked,
# dropped, read by the next product; backward reads and writes more.
SCORE_B = (11.0, 16.0)


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of one pass over one layer, arrays: products, attention, bytes moved by everything else, gaps."""

    products_s: np.ndarray
    attention_s: np.ndarray
    moved_s: np.ndarray
    gaps_s: np.ndarray

    @property
    def total_s(self) -> np.ndarray:
        """One after the other."""
        return self.products_s + self.attention_s + self.moved_s + self.gaps_s


def _products(shapes, gpu: Chip, precision: str, k: Constants, share: float = 1.0) -> tuple:
    """Forward and backward seconds of products given as (how many, m, n, k)."""
    forward = backward = 0.0
    options = {"gpu": gpu, "precision": precision, "share": share, "using": k}
    for count, m, n, depth in shapes:
        forward = forward + count * product_s(m, n, depth, **options)
        backward = backward + count * (product_s(m, depth, n, **options) + product_s(depth, n, m, **options))
    return forward, backward


def layer_work(
    shape: Shape,
    gpu: Chip,
    k: Constants,
    *,
    tokens,
    seq: float,
    tensor,
    expert=1,
    expert_tensor=1,
    sequence=True,
    precision: str = "bf16",
    fused: bool = True,
    early: bool = False,
    plain: bool = False,
    with_experts: bool = False,
) -> tuple[Work, Work]:
    """Return (forward, backward) of one layer for `tokens` tokens of a context rank, in sequences of `seq`; arrays broadcast.

    `tensor` ranks share heads and columns; `sequence` slices norms too. `with_experts` makes the MLP a set of experts over
    `expert` ranks, each expert cut by `expert_tensor`: every rank then has the average number of tokens. `fused` attention
    computes half of the scores (causal) and keeps none; otherwise all are computed, and pass through HBM. `early` fused
    kernels reach less. `plain` is PyTorch without the kernels and overlaps of Megatron.

    >>> from course_lib.plan.efficiency import chip, constants
    >>> from course_lib.plan.transformer import model
    >>> forward, backward = layer_work(model("gpt3-175b"), chip("a100"), constants(), tokens=2048.0, seq=2048, tensor=8)
    >>> bool(2.5e-3 < forward.products_s < 6e-3 and 1.8 < backward.total_s / forward.total_s < 2.4)
    True
    """
    h, a = shape.hidden, shape.n_heads
    reached = k["plain_best"] if plain else 1.0
    if shape.kv_rank:
        query = shape.nope_size + shape.rope_size
        parts = [(1, tokens, shape.kv_rank + shape.rope_size, h)]
        parts += [(1, tokens, shape.q_rank, h), (1, tokens, a * query / tensor, shape.q_rank)] if shape.q_rank else []
        parts += [] if shape.q_rank else [(1, tokens, a * query / tensor, h)]
        parts += [(1, tokens, a * (shape.nope_size + shape.value_size) / tensor, shape.kv_rank)]
        parts += [(1, tokens, h, a * shape.value_size / tensor)]
        widths, kept = query + shape.value_size, 3 * a * query / tensor
    else:
        kv = np.maximum(shape.n_kv_heads / tensor, 1.0)
        columns = (a / tensor + 2 * kv) * shape.head_size
        parts = [(1, tokens, columns, h), (1, tokens, h, a * shape.head_size / tensor)]
        widths, kept = 2 * shape.head_size, columns + a * shape.head_size / tensor
    mats = 3 if shape.gated else 2
    forward = backward = moe = 0.0
    if with_experts:
        parts += [(1, tokens, shape.n_experts, h)]
        if shape.n_shared:
            width = shape.n_shared * shape.expert_ffn
            parts += [(1, tokens, (mats - 1) * width / tensor, h), (1, tokens, h, width / tensor)]
        here = shape.n_experts / expert
        each = expert * expert_tensor * tokens / tensor * shape.n_active / shape.n_experts
        width = shape.expert_ffn / expert_tensor
        small = [(here, each, (mats - 1) * width, h), (here, each, h, width)]
        forward, backward = _products(small, gpu, precision, k, k["experts"] * reached)
        routed = tokens / tensor * shape.n_active
        moe = k["routing"] * 2.0 * routed * expert_tensor * 4 * h  # permuted before and after, each read and written
        inner = routed * expert_tensor * width * mats + tokens * shape.n_shared * shape.expert_ffn / tensor * mats
    else:
        parts += [(1, tokens, (mats - 1) * shape.ffn / tensor, h), (1, tokens, h, shape.ffn / tensor)]
        inner = tokens * shape.ffn / tensor * mats
    more = _products(parts, gpu, precision, k, reached)
    forward, backward = forward + more[0], backward + more[1]
    # Norms read and write, residuals add, heads turn; the activation function reads its inputs and writes its output.
    rows = tokens / np.where(sequence, tensor, 1.0)
    moved_B = k["moved"] * (k["plain_moved"] if plain else 1.0) * 2.0 * (rows * h * 8 + tokens * kept + inner) + moe
    hbm_Bps = gpu.hbm_Bps * k["hbm"]
    scores = tokens * seq * a / tensor
    flops = 2.0 * scores * widths
    peak = gpu.peak["bf16"]
    if fused:
        rate = peak * k[f"attention_{gpu.family}"] * (k["attention_early"] if early else 1.0)
        attention = flops / 2 / rate, 2.5 * flops / 2 / rate
    else:
        rate = peak * k[f"best_{gpu.family}_bf16"] * 0.6
        attention = tuple(
            n * flops / rate + size_B * scores / hbm_Bps for n, size_B in zip((1, 2), SCORE_B, strict=True)
        )
    gaps = k["layer_us"] * 1e-6 + 0.0 * tokens
    return (
        Work(forward, attention[0], moved_B / hbm_Bps, gaps),
        Work(backward, attention[1], 2.0 * moved_B / hbm_Bps, 2.0 * gaps),
    )


def head_work(
    shape: Shape, gpu: Chip, k: Constants, *, tokens, tensor, plain: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds (forward, backward) of the output head and its loss, at 16 bits; arrays broadcast.

    >>> from course_lib.plan.efficiency import chip, constants
    >>> from course_lib.plan.transformer import model
    >>> forward, backward = head_work(model("llama3-8b"), chip("h100"), constants(), tokens=8192.0, tensor=1)
    >>> bool(0.01 < forward < 0.03)
    True
    """
    reached = k["plain_best"] if plain else 1.0
    columns = np.ceil(shape.vocab / tensor / TILE) * TILE
    forward, backward = _products([(1, tokens, columns, shape.hidden)], gpu, "bf16", k, reached)
    logits_s = tokens * shape.vocab / tensor * 4.0 / (gpu.hbm_Bps * k["hbm"])
    return forward + 2 * logits_s, backward + 2 * logits_s
