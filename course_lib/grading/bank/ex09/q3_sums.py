"""Question 09.q3: sums round a ring in BF16 and in FP32."""

from typing import Any

import ml_dtypes
import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Case, Misconception, Question


def _bf16(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def _chain(rows: np.ndarray, cast: Any) -> np.ndarray:
    total = rows[0]
    for row in rows[1:]:
        total = cast(total + row)
    return total


def ring_sums(rows: np.ndarray) -> dict[str, Any]:
    """Return the sum of all rows kept in BF16 and kept in FP32, added in order, and the bytes that a rank sends for each."""
    inputs = _bf16(rows)
    n, size = inputs.shape
    one_B = 2 * (n - 1) / n * size
    return {
        "bf16": _chain(inputs, _bf16).astype(np.float64),
        "fp32": _bf16(_chain(inputs, np.float32)).astype(np.float64),
        "bf16_B": 2 * one_B,
        "fp32_B": 4 * one_B,
    }


def _with(**changed: Any) -> Any:
    return lambda rows: ring_sums(rows) | {name: make(rows) for name, make in changed.items()}


def _pairs(rows: np.ndarray) -> np.ndarray:
    level = list(_bf16(rows))
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [_bf16(a + b) for a, b in zip(level[::2], level[1::2])] + odd
    return level[0].astype(np.float64)


def _unrounded(rows: np.ndarray) -> dict[str, Any]:
    inputs = np.asarray(rows, np.float32)
    sums = {"bf16": _chain(inputs, _bf16), "fp32": _bf16(_chain(inputs, np.float32))}
    return ring_sums(rows) | {name: values.astype(np.float64) for name, values in sums.items()}


def _sum_cases(rng: np.random.Generator) -> list[Case]:
    rows = [np.ones((2, 3)), np.ones((600, 2)), np.ones((1, 4))]
    rows += [
        np.round(rng.uniform(0.5, 1.5, (n, int(rng.integers(2, 5)))), 4) for n in (3, 8, int(rng.integers(400, 700)))
    ]
    return [Case({"rows": row}) for row in rows]


q3 = Question(
    id="09.q3",
    title=_("An all-reduce in BF16, and with FP32 sums"),
    points=2,
    answer="ring_sums",
    kind="function",
    # a sum in FP32 may be added in another order: its rounding to BF16 may then fall on the neighbour
    expects=Entries(
        {"bf16": Number(tolerance=1e-6), "fp32": Number(tolerance=0.008), "bf16_B": Number("B"), "fp32_B": Number("B")},
        each=False,
    ),
    inputs=_sum_cases,
    reference=ring_sums,
    withholds=("course_lib.plan.precision", "course_lib.plan.narrowsum"),
    misconceptions=(
        Misconception(
            "rounded at the end only",
            _with(bf16=lambda rows: ring_sums(rows)["fp32"]),
            _(
                "Your BF16 sum is rounded once, at the end. In a ring every partial sum is sent in BF16: round after each addition."
            ),
        ),
        Misconception(
            "inputs not rounded",
            _unrounded,
            _("You add the rows as they came. Each rank first rounds its row to BF16, and that is what travels."),
        ),
        Misconception(
            "FP32 sums travel as BF16",
            _with(fp32_B=lambda rows: ring_sums(rows)["bf16_B"]),
            _("You let FP32 sums travel in two bytes. In a ring the partial sums are what travels, so they take four."),
        ),
        Misconception(
            "finished sums gathered in BF16",
            _with(fp32_B=lambda rows: 1.5 * ring_sums(rows)["bf16_B"]),
            _(
                "You gather the finished sums in two bytes. Here each rank rounds for itself, when all are there: both halves "
                "of the ring carry four."
            ),
        ),
        Misconception(
            "added in pairs",
            _with(bf16=_pairs),
            _(
                "You add in pairs, as a tree does. A ring adds one rank after the other, the first to the second and so on."
            ),
        ),
        Misconception(
            "each value sent once",
            _with(bf16_B=lambda rows: ring_sums(rows)["bf16_B"] / 2, fp32_B=lambda rows: ring_sums(rows)["fp32_B"] / 2),
            _(
                "Your bytes are half of it. An all-reduce is a reduce-scatter and an all-gather: 2(n − 1)/n of the message."
            ),
        ),
        Misconception(
            "FP32 sums rounded on the way",
            _with(fp32=lambda rows: ring_sums(rows)["bf16"]),
            _("Your FP32 sum is rounded after each addition. Keep partial sums in FP32, and round the last one only."),
        ),
        Misconception(
            "the message for what is sent",
            _with(bf16_B=lambda rows: 2.0 * rows.shape[1], fp32_B=lambda rows: 4.0 * rows.shape[1]),
            _(
                "Those are the bytes of a row. In a ring all-reduce a rank sends 2(n − 1)/n of them, and alone it sends nothing."
            ),
        ),
        Misconception(
            "bytes exchanged",
            _with(bf16_B=lambda rows: ring_sums(rows)["fp32_B"], fp32_B=lambda rows: ring_sums(rows)["bf16_B"]),
            _("You have exchanged the bytes: BF16 takes two a value, FP32 four."),
        ),
        Misconception(
            "values for bytes",
            _with(bf16_B=lambda rows: ring_sums(rows)["bf16_B"] / 2, fp32_B=lambda rows: ring_sums(rows)["fp32_B"] / 4),
            _("You count values. In BF16 each has two bytes, in FP32 four."),
        ),
        Misconception(
            "all ranks together",
            _with(
                bf16_B=lambda rows: ring_sums(rows)["bf16_B"] * len(rows),
                fp32_B=lambda rows: ring_sums(rows)["fp32_B"] * len(rows),
            ),
            _("You add up the bytes of all ranks. The question is what one of them sends."),
        ),
    ),
)
