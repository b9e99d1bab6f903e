"""How quickly a GPU computes: matrix products by shape and precision, attention, and what only moves bytes.

A product of (m × k) and (k × n) takes 2·m·n·k operations. Small outputs leave processors idle and short inner dimensions
spend their time on starting up, so it reaches `best` · peak / ((1 + area/(m·n)) · (1 + depth/k)), and never less time than
its bytes need from HBM. `best` is fitted for each family of GPUs and each precision, the rest once for all of them.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.base import hardware, tables
from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _
from course_lib.timing.constants import Constant

PATH = Path(__file__).parent / "data" / "step_constants.csv"
COLUMNS = ("shipped", "training")
#: The operand's bytes of each precision of matrix products. Attention and the output head stay at 16 bits.
PRECISIONS = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "fp4": 0.5}
Constants = Mapping[str, float]
TILE = 128  # rows or columns that a block of processors computes at a time


def _bests() -> tuple[Constant, ...]:
    text = "of the peak, what a large {p} product reaches on {f}"
    starts = {
        "v100": {"bf16": 0.75},
        "a100": {"bf16": 0.8},
        "h100": {"bf16": 0.72, "fp8": 0.62},
        "b200": {"bf16": 0.72, "fp8": 0.62, "fp4": 0.45},
        "mi300x": {"bf16": 0.55, "fp8": 0.45},
    }
    return tuple(
        Constant(f"best_{f}_{p}", start, 0.3, text.format(f=f, p=p))
        for f, each in starts.items()
        for p, start in each.items()
    )


def _attentions() -> tuple[Constant, ...]:
    text = "of the 16-bit peak, what fused attention reaches on {f}"
    starts = {"v100": 0.4, "a100": 0.55, "h100": 0.5, "b200": 0.5, "mi300x": 0.35}
    return tuple(Constant(f"attention_{f}", start, 0.3, text.format(f=f)) for f, start in starts.items())


DESCRIBED = (
    *_bests(),
    *_attentions(),
    Constant("area", 1.0e6, 0.7, "outputs of a product (m·n) at which half of an A100 would idle; grows with the peak"),
    Constant("depth", 250.0, 0.7, "inner dimension k at which a product spends half its time on starting"),
    Constant("hbm", 0.75, 0.2, "of the bandwidth of HBM, what kernels reach that only move bytes"),
    Constant("moved", 1.0, 0.5, "bytes that norms, activation functions and residuals move, against the count here"),
    Constant("attention_early", 0.6, 0.3, "of what fused attention reaches, what its first kernels (2022, 2023) did"),
    Constant("layer_us", 40.0, 0.7, "µs that a layer loses between kernels in one forward pass; twice that backward"),
    Constant("host_us", 500.0, 0.7, "µs in which a host launches one dense layer forward; a layer cannot be quicker"),
    Constant("host_experts_us", 1500.0, 0.7, "the same for a layer of experts"),
    Constant("experts", 0.9, 0.3, "of `best`, what the many small products of experts reach"),
    Constant("ragged", 0.8, 0.3, "of `best`, what products reach whose weights do not divide into tiles of 128"),
    Constant("plain_best", 0.9, 0.2, "of `best`, what PyTorch reaches without the kernels and overlaps of Megatron"),
    Constant("plain_moved", 1.3, 0.3, "bytes that it moves more, its kernels being fused less"),
    Constant("sent_once", 0.7, 0.5, "how far a token that several experts of a domain want crosses to it only once"),
    Constant("routing", 1.5, 0.7, "bytes that sorting tokens to experts moves, against the count here"),
    Constant("tensor_shown", 0.8, 0.4, "of tensor-parallel communication, the part that nothing hides"),
    Constant("expert_shown", 0.8, 0.4, "of expert-parallel communication, the part that nothing hides"),
    Constant("handoff_shown", 0.5, 0.7, "of the hand-offs between stages, the part that nothing hides"),
    Constant("hidden_by", 0.7, 0.4, "of the computing beside it, how much data-parallel communication can hide behind"),
    Constant("disturbs", 0.15, 0.7, "of hidden communication, the time by which computing beside it slows down"),
    Constant("step_ms", 15.0, 0.7, "ms that a step spends outside all of this: norms of gradients, data, waiting"),
    Constant("spread", 0.004, 0.7, "slower by this for each doubling of hosts: the slowest GPU sets the pace"),
)


@functools.cache
def constants(column: str = "shipped") -> dict[str, float]:
    """Return the fitted constants: `shipped` from all rows, `training` from the rows that judge nothing.

    >>> 0.3 < constants()["best_h100_bf16"] < 1
    True
    """
    column = one_of(_("column of constants"), column, COLUMNS)
    found = {c.name: c.start for c in DESCRIBED}
    if PATH.exists():
        found |= {row["name"]: float(row[column]) for row in tables.rows(PATH)}
    return found


@functools.cache
def families() -> tuple[str, ...]:
    """Return the families of GPUs that have fitted constants: what the column `family` of a GPU in items.csv may say.

    >>> families()
    ('v100', 'a100', 'h100', 'b200', 'mi300x')
    """
    return tuple(c.name.removeprefix("attention_") for c in _attentions())


@dataclass(frozen=True, slots=True)
class Chip:
    """A GPU as the step sees it: peaks by precision (operations a second, dense), memory, and whose constants it has."""

    name: str
    family: str
    peak: dict[str, float]
    hbm_Bps: float
    hbm_B: float


def item_of(name: str) -> str:
    """Return the item of the hardware table that a GPU's name means; CourseError with the nearest where the table lacks it.

    >>> item_of("A100 PCIe"), item_of("H100")
    ('a100', 'h100')
    """
    plain = str(name).lower().replace("_", "-")
    known = hardware.items("gpu")
    short = plain.replace("-", " ").split(" ")[0] if plain not in known else plain
    return hardware.find(short if short in known else plain, "gpu")


@functools.lru_cache(maxsize=64)
def chip(name: str) -> Chip:
    """Return a GPU by its name ("A100 PCIe" counts as A100); CourseError with the nearest where the table lacks it.

    >>> chip("A100").peak["bf16"] / 1e12, chip("A100 PCIe").family
    (312.0, 'a100')
    """
    item = item_of(name)
    found = hardware.gpu(item)
    if found.bf16_flops is None or found.hbm_Bps is None or found.hbm_B is None:
        raise CourseError(_("{name} has no published peak or memory here.").format(name=name))
    peak = {"bf16": found.bf16_flops, "fp16": found.bf16_flops}
    if found.fp8_flops:
        peak["fp8"] = found.fp8_flops
    if found.fp4_flops:
        peak["fp4"] = found.fp4_flops
    if not found.family:
        text = _(
            "{name} is of no family of GPUs that was fitted; give the GPU that is nearest (--gpu). Valid: {valid}."
        )
        raise CourseError(text.format(name=item, valid=", ".join(chips())))
    family = one_of(_("family of GPUs (items.csv, {name})").format(name=item), found.family, families())
    return Chip(item, family, peak, found.hbm_Bps, found.hbm_B)


@functools.cache
def chips() -> tuple[str, ...]:
    """Return the GPUs whose peak and memory are carried.

    >>> "h100" in chips() and "tpu-v5p" not in chips()
    True
    """
    return tuple(name for name in hardware.items("gpu") if hardware.gpu(name).family)


def precision_of(gpu: Chip, precision: str) -> str:
    """Return a precision's name after checking that the GPU computes in it.

    >>> precision_of(chip("a100"), "fp8")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: a100 does not compute in fp8. It does in: bf16, fp16.
    """
    precision = one_of(_("precision"), precision, PRECISIONS)
    if precision not in gpu.peak:
        raise CourseError(
            _("{gpu} does not compute in {precision}. It does in: {valid}.").format(
                gpu=gpu.name, precision=precision, valid=", ".join(gpu.peak)
            )
        )
    return precision


def _best(gpu: Chip, precision: str, k: Constants) -> float:
    name = f"best_{gpu.family}_{'bf16' if precision == 'fp16' else precision}"
    return k[name] if name in k else k[f"best_{gpu.family}_bf16"]


def product_s(m, n, k, gpu: Chip, precision: str = "bf16", *, share: float = 1.0, using: Constants | None = None):
    """Return the seconds of one matrix product (m × k)·(k × n); sizes broadcast. `share` scales what is reached.

    The longer of computing and of reading both operands and writing the result. Sizes need not be whole (averages);
    n and k that do not divide into tiles cost extra.

    >>> large, small = (2 * n**3 / product_s(n, n, n, chip("h100")) / 989e12 for n in (16384.0, 512.0))
    >>> bool(0.5 < large < 0.9 and small < 0.6 * large)
    True
    """
    using = constants() if using is None else using
    whole_tiles = (np.remainder(n, TILE) == 0) & (np.remainder(k, TILE) == 0)
    area = using["area"] * gpu.peak["bf16"] / 312e12
    rate = gpu.peak[precision] * _best(gpu, precision, using) * share
    outputs = m * n
    compute_s = 2.0 / rate * (outputs + area) * (k + using["depth"]) / np.where(whole_tiles, 1.0, using["ragged"])
    size_B = PRECISIONS[precision]
    bytes_s = (size_B * (m + n) * k + 2.0 * outputs) / (gpu.hbm_Bps * using["hbm"])
    return np.maximum(compute_s, bytes_s)


def moved_s(size_B, gpu: Chip, using: Constants | None = None):
    """Return the seconds of a kernel that only moves `size_B` bytes between HBM and the processors; broadcasts.

    >>> bool(1e9 / 3.35e12 < moved_s(1e9, chip("h100")) < 2e9 / 3.35e12)
    True
    """
    using = constants() if using is None else using
    return finite("size_B", size_B, at_least=0) / (gpu.hbm_Bps * using["hbm"])
