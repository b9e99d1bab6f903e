"""Question 09.q1: rounding to a few bits of mantissa."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.bank.ex09.exact import EXACT
from course_lib.grading.question import Case, Misconception, Question


def _cut(x: float, mantissa_bits: int, way: Any) -> float:
    if x == 0:
        return 0.0
    step = 2.0 ** (np.frexp(x)[1] - 1 - mantissa_bits)  # frexp gives m·2^e with m in [1/2, 1)
    return float(way(x / step) * step)


def round_bits(x: float, mantissa_bits: int) -> float:
    """Return `x` with this many mantissa bits after the leading one, to nearest, ties to even; the exponent has no bounds."""
    return _cut(x, mantissa_bits, np.rint)


def _up(x: float) -> float:
    return float(np.copysign(np.floor(abs(x) + 0.5), x))


def _round_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(0.0, 7), (1.0, 7), (-257.0, 7), (1 / 3, 3), (1e-9, 10), (-0.1, 2)]
    rows += [
        (float(np.ldexp(rng.uniform(-1, 1), int(rng.integers(-30, 30)))), int(rng.integers(1, 12))) for _i in range(12)
    ]
    ties = [(257.0, 7), (259.0, 7), (-2.5, 1), (1.125, 2), (1.375, 2)]
    return [Case({"x": x, "mantissa_bits": b}, "to nearest") for x, b in rows] + [
        Case({"x": x, "mantissa_bits": b}, "ties to even") for x, b in ties
    ]  # fmt: skip


q1 = Question(
    id="09.q1",
    title=_("Round to a few bits"),
    points=2,
    answer="round_bits",
    kind="function",
    expects=EXACT,
    inputs=_round_cases,
    reference=round_bits,
    withholds=("course_lib.plan.precision",),
    misconceptions=(
        Misconception(
            "cut off",
            lambda x, mantissa_bits: _cut(x, mantissa_bits, np.trunc),
            _("You cut the rest off. Rounding goes to the nearest value, up as often as down."),
        ),
        Misconception(
            "leading one counted",
            lambda x, mantissa_bits: round_bits(x, mantissa_bits - 1),
            _("You count the leading one among the mantissa bits. It is not stored: there is one bit more than that."),
        ),
        Misconception(
            "ties away from zero",
            lambda x, mantissa_bits: _cut(x, mantissa_bits, _up),
            _("Your ties go away from zero. A value half-way between two goes to the one whose last bit is even."),
        ),
        Misconception(
            "steps of the same size everywhere",
            lambda x, mantissa_bits: float(np.rint(x * 2**mantissa_bits) / 2**mantissa_bits),
            _(
                "You round to steps of the same size everywhere, as a fixed point does. The step follows the exponent of x."
            ),
        ),
        Misconception(
            "one bit too many",
            lambda x, mantissa_bits: round_bits(x, mantissa_bits + 1),
            _(
                "Your steps are half as wide as they should be. With m from one half to one, the leading bit stands for 2ᵉ⁻¹."
            ),
        ),
        Misconception(
            "always down",
            lambda x, mantissa_bits: _cut(x, mantissa_bits, np.floor),
            _("You round down, to the next value below. Rounding goes to the nearest."),
        ),
        Misconception(
            "sign lost",
            lambda x, mantissa_bits: abs(round_bits(x, mantissa_bits)),
            _("You lose the sign of x."),
        ),
        Misconception(
            "decimal places",
            lambda x, mantissa_bits: round(x, mantissa_bits),
            _("You round to decimal places. Bits halve: the steps are powers of two."),
        ),
    ),
)
