"""Question 09.q2: gradients through FP16, with a scaled loss."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number, Truth
from course_lib.grading.question import Case, Misconception, Question


def _half(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


def _answer(values: np.ndarray, skip: bool) -> dict[str, Any]:
    return {"gradient": np.zeros_like(values) if skip else values, "skip": bool(skip)}


def through_fp16(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    """Return the gradient that arrives from a backward pass in FP16 under a loss scale, and whether the step is skipped."""
    narrow = _half(np.asarray(gradient) * scale)
    skip = not np.isfinite(narrow).all()
    return _answer(np.where(np.isfinite(narrow), narrow, 0.0) / scale, skip)


def _late(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    narrow = _half(gradient)
    return _answer(np.where(np.isfinite(narrow), narrow, 0.0), not np.isfinite(narrow).all())


def _not_divided(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    found = through_fp16(gradient, scale)
    return _answer(found["gradient"] * scale, found["skip"])


def _divided_in_half(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    found = through_fp16(gradient, scale)
    return _answer(_half(found["gradient"]), found["skip"])


def _divided_by_half(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    """As NumPy divides an FP16 array by a Python number: the scale is made FP16, too, and may become infinite."""
    found = through_fp16(gradient, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        divided = _half(np.asarray(gradient) * scale).astype(np.float16) / np.float16(scale)
    return found if found["skip"] else _answer(divided.astype(np.float64), False)


def _clipped(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    return _answer(np.clip(_half(np.clip(np.asarray(gradient) * scale, -65504, 65504)), -65504, 65504) / scale, False)


def _scaled_in_half(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    """Rounded first, and then multiplied in FP16, where a large scale is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = np.asarray(gradient, np.float16) * np.float16(scale)
    skip = not np.isfinite(narrow).all()
    return _answer(np.where(np.isfinite(narrow), narrow, 0.0).astype(np.float64) / scale, skip)


def _finite_part(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    narrow = _half(np.asarray(gradient) * scale)
    kept = np.where(np.isfinite(narrow), narrow, 0.0) / scale
    return {"gradient": kept, "skip": not np.isfinite(narrow).all()}


def _underflow_skipped(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    right = through_fp16(gradient, scale)
    return right | {"skip": bool(right["skip"] or (_half(np.asarray(gradient) * scale) == 0).any())}


def _scale_cases(rng: np.random.Generator) -> list[Case]:
    def drawn(low: float, high: float) -> np.ndarray:
        size = int(rng.integers(3, 9))
        return np.array([float(f"{v:.4g}") for v in 10 ** rng.uniform(low, high, size) * rng.choice([-1, 1], size)])

    small = [(np.array([1e-8, -3e-6, 0.0]), 1.0), (np.array([2e-9, 5e-7, -4e-8]), 65536.0)]
    small += [(drawn(-9, -5), float(2.0 ** rng.integers(8, 17))) for _i in range(5)]
    large = [(np.array([1.0, 2.0]), 65536.0), (np.array([70000.0, 1e-3]), 1.0)]
    large += [(np.append(drawn(-6, -3), 3.0), float(2.0 ** rng.integers(16, 21))) for _i in range(3)]
    return [Case({"gradient": g, "scale": s}, "small gradients") for g, s in small] + [
        Case({"gradient": g, "scale": s}, "overflow") for g, s in large
    ]  # fmt: skip


q2 = Question(
    id="09.q2",
    title=_("Loss scaling"),
    points=2,
    answer="through_fp16",
    kind="function",
    expects=Entries({"gradient": Number(tolerance=1e-9, near_zero=1e-30), "skip": Truth()}, each=False),
    inputs=_scale_cases,
    reference=through_fp16,
    withholds=("course_lib.plan.precision", "course_lib.plan.lossscale"),
    misconceptions=(
        Misconception(
            "scaled after rounding",
            _late,
            _(
                "You round first and scale later. What has become zero stays zero: the scale has to act before FP16 does."
            ),
        ),
        Misconception(
            "not divided again",
            _not_divided,
            _("Your gradient is still multiplied by the scale. The update needs the true one: divide again."),
        ),
        Misconception(
            "divided in FP16",
            _divided_in_half,
            _("You divide in FP16, and the small values vanish after all. Divide in a wider type."),
        ),
        Misconception(
            "divided in FP16, the scale too",
            _divided_by_half,
            _("You divide in FP16, where a large scale is infinite and small values vanish. Divide in a wider type."),
        ),
        Misconception(
            "overflow clipped",
            _clipped,
            _(
                "You clip what overflows to the largest value. That is a wrong gradient; the step has to be skipped instead."
            ),
        ),
        Misconception(
            "rounded, then scaled in FP16",
            _scaled_in_half,
            _("You round first and multiply in FP16. Multiply the gradient by the scale, and round that."),
        ),
        Misconception(
            "the finite part kept",
            _finite_part,
            _("You keep what did not overflow. A skipped step gets zeros only."),
        ),
        Misconception(
            "underflow skipped",
            _underflow_skipped,
            _(
                "You skip steps in which a value became zero. Only overflow skips; zeros are what a larger scale is for."
            ),
        ),
        Misconception(
            "skip the wrong way round",
            lambda gradient, scale: through_fp16(gradient, scale) | {"skip": not through_fp16(gradient, scale)["skip"]},
            _('Your "skip" is the wrong way round: True if anything overflowed.'),
        ),
        Misconception(
            "multiplied again",
            lambda gradient, scale: _answer(
                through_fp16(gradient, scale)["gradient"] * scale * scale, through_fp16(gradient, scale)["skip"]
            ),
            _("You multiply by the scale a second time. After the pass, divide by it."),
        ),
        Misconception(
            "not rounded",
            lambda gradient, scale: _answer(np.asarray(gradient, float), through_fp16(gradient, scale)["skip"]),
            _("You return the exact gradient. What comes out of the pass is the scaled gradient in FP16."),
        ),
    ),
)
