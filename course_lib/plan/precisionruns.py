"""BF16 against FP8 as somebody measured it, beside what twice the operations and half the bytes would give.

Only the products of the linear layers run in FP8 in these runs; attention, the head, norms and the optimizer do not. The
model has no fitted constant: it takes from the measured BF16 time what those products save at the data sheet's rates.
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from course_lib.base import hardware, tables
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.plan.transformer import Shape, flops, model

# Sizes of MPT, from llm-foundry; with learned positions they give the published parameter counts to the unit.
_MPT = {"mpt-1b": (24, 2048, 16), "mpt-3b": (32, 2560, 20)}


@dataclass(frozen=True, slots=True)
class Row:
    """One published run: `precision` is "bf16", "fp8" (one scale a tensor) or "fp8-rows" (one scale a row).

    `batch_per_gpu` counts sequences of `seq` tokens in a step; `recompute` is "none" or "full".
    """

    job: str
    model: str
    n_gpus: int
    seq: int
    batch_per_gpu: int
    recompute: str
    precision: str
    tokens_per_s_per_gpu: float
    source: str
    address: str
    note: str

    @property
    def token_s(self) -> float:
        """Seconds that one GPU spends on each of its tokens."""
        return 1 / self.tokens_per_s_per_gpu


@functools.cache
def rows() -> tuple[Row, ...]:
    """Return all published runs, those of one job together, BF16 first.

    >>> [(row.precision, row.tokens_per_s_per_gpu) for row in rows()[:2]]
    [('bf16', 52275.0), ('fp8', 70315.0)]
    """
    return tuple(
        Row(
            r["job"],
            r["model"],
            int(r["n_gpus"]),
            int(r["seq"]),
            int(r["batch_per_gpu"]),
            r["recompute"],
            r["precision"],
            float(r["tokens_per_s_per_gpu"]),
            r["source"],
            r["address"],
            r["note"],
        )
        for r in tables.rows(Path(__file__).parent / "data" / "precisions.csv")
    )


def shape_of(name: str, seq: int = 0) -> Shape:
    """Return the shape of a model that ran: one of the library's, or an MPT with `seq` learned positions.

    >>> from course_lib.plan.transformer import params
    >>> params(shape_of("mpt-3b", 512)).total
    2647905280
    """
    if name not in _MPT:
        return model(name)
    layers, hidden, heads = _MPT[name]
    return replace(
        model("gpt2-1.5b"),
        name="",
        n_layers=layers,
        hidden=hidden,
        n_heads=heads,
        n_kv_heads=heads,
        head_size=hidden // heads,
        ffn=4 * hidden,
        vocab=50368,
        seq=seq or 2048,
        positions=seq or 2048,
        published_params_B=0.0,
    )


def linear_flops(shape: Shape, recompute: str = "none") -> float:
    """Return the operations of the layers' products with weights, for one token, forward and backward.

    Attention scores and the head are left out. With full recomputation there are four passes instead of three.

    >>> f"{linear_flops(shape_of('mpt-3b')):.3g}"
    '1.51e+10'
    """
    recompute = one_of(_("kind of recomputing"), recompute, ("none", "full"))
    whole, causal = flops(shape, 1, 1024), flops(shape, 1, 1024, causal=True)
    layers = 2 * causal.model - whole.model  # halving attention and doubling the rest leaves no attention
    head = 6 * 1024 * shape.hidden * shape.vocab
    return float((layers - head) / 1024) * (4 / 3 if recompute == "full" else 1.0)


def saved_token_s(shape: Shape, recompute: str = "none", gpu: str = "h100") -> float:
    """Return the seconds that FP8 saves on each token if the linear layers run at the data sheet's rates in both formats.

    >>> round(saved_token_s(shape_of("mpt-3b")) * 1e6, 1)
    7.6
    """
    sheet = hardware.gpu(gpu)
    return linear_flops(shape, recompute) * (1 / sheet.bf16_flops - 1 / sheet.fp8_flops)


@dataclass(frozen=True, slots=True)
class Gains:
    """FP8 over BF16, arrays (n,): measured, and as the model has it; `bf16_s` and `fp8_s` are seconds a token and GPU."""

    names: tuple[str, ...]
    bf16_s: np.ndarray
    fp8_s: np.ndarray
    saved_s: np.ndarray

    @property
    def measured(self) -> np.ndarray:
        """How many times as fast the FP8 run was."""
        return self.bf16_s / self.fp8_s

    @property
    def foretold(self) -> np.ndarray:
        """The same if FP8 saves what the linear layers' operations take less at the data sheet's rates, and nothing else."""
        return self.bf16_s / (self.bf16_s - self.saved_s)


def gains() -> Gains:
    """Return every FP8 run over the BF16 run of the same job, beside the model.

    >>> found = gains()
    >>> bool(found.measured.max() < 1.4), found.names[-1]
    (True, '70B on 256 GPUs, a scale a row')
    """
    base = {row.job: row for row in rows() if row.precision == "bf16"}
    narrow = [row for row in rows() if row.precision != "bf16"]
    return Gains(
        tuple(r.job if r.precision == "fp8" else _("{job}, a scale a row").format(job=r.job) for r in narrow),
        np.array([base[r.job].token_s for r in narrow]),
        np.array([r.token_s for r in narrow]),
        np.array([saved_token_s(shape_of(r.model, r.seq), r.recompute) for r in narrow]),
    )
