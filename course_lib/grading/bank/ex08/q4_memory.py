"""Question 08.q4: memory of ZeRO 0 to 3."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex08.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import memory


def state_GB(stage: int, parameters: int, n_ranks: int) -> float:
    """Return GB of weights, gradients and optimizer on one GPU, mixed-precision Adam.

    >>> [round(state_GB(stage, 7_500_000_000, 64), 1) for stage in range(4)]
    [120.0, 31.4, 16.6, 1.9]
    """
    return float(memory.states(parameters, n_ranks, stage).total_B) / 1e9


def _memory_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(10**9, 1), (10**9, 2), (7_500_000_000, 64)]
    rows += [(int(rng.integers(1, 2000)) * 10**8, int(rng.integers(2, 2049))) for _unused in range(4)]
    return [
        Case({"stage": stage, "parameters": p, "n_ranks": n}, _("stage {s}").format(s=stage))
        for stage in range(4)
        for p, n in rows
    ]


def _state(rule: Callable[[int, int], float]) -> Callable[..., float]:
    """Bytes for each parameter by a rule of stage and ranks."""
    return lambda stage, parameters, n_ranks: rule(stage, n_ranks) * parameters / 1e9


q4 = Question(
    id="08.q4",
    title=_("Memory of ZeRO 0 to 3"),
    points=2,
    answer="state_GB",
    kind="function",
    expects=Number("GB"),
    inputs=_memory_cases,
    reference=state_GB,
    withholds=(*WITHHELD, "course_lib.plan.memory", "course_lib.plan.footprint"),
    misconceptions=(
        Misconception(
            "every stage shares out everything",
            _state(lambda stage, n: 16 / n if stage else 16),
            _(
                "You divide all 16 bytes from stage 1 on. Stage 1 shares out the optimizer only, stage 2 gradients as well."
            ),
        ),
        Misconception(
            "one stage ahead",
            _state(lambda stage, n: (4 + 12 / n, 2 + 14 / n, 16 / n, 16 / n)[stage]),
            _("You are one stage ahead: stage 0 shares out nothing."),
        ),
        Misconception(
            "weights first",
            _state(lambda stage, n: (16, 14 + 2 / n, 12 + 4 / n, 16 / n)[stage]),
            _("You do not share out the optimizer first. It is the largest part, so stage 1 begins with it."),
        ),
        Misconception(
            "no master copy",
            _state(lambda stage, n: (12, 4 + 8 / n, 2 + 10 / n, 12 / n)[stage]),
            _("You keep two moments only. In mixed precision the optimizer also has a copy of the weights in 32 bits."),
        ),
        Misconception(
            "optimizer forgotten",
            _state(lambda stage, n: (4, 4, 2 + 2 / n, 4 / n)[stage]),
            _("You count weights and gradients only. The optimizer keeps 12 of the 16 bytes."),
        ),
        Misconception(
            "gradients in 32 bits",
            _state(lambda stage, n: (18, 6 + 12 / n, 2 + 16 / n, 18 / n)[stage]),
            _("You keep gradients in 32 bits. Some libraries do; here weight and gradient have 16."),
        ),
        Misconception(
            "everything in 16 bits",
            _state(lambda stage, n: (10, 4 + 6 / n, 2 + 8 / n, 10 / n)[stage]),
            _("Your optimizer has 16 bits a number. Its copy of the weight and both moments have 32 each."),
        ),
        Misconception(
            "each stage alone",
            _state(lambda stage, n: (16, 4 + 12 / n, 14 + 2 / n, 14 + 2 / n)[stage]),
            _(
                "You share out only what a stage adds. Stages build on one another: stage 2 shares out the optimizer, too."
            ),
        ),
        Misconception(
            "shared out and gone",
            _state(lambda stage, n: (16, 4, 2, 0)[stage]),
            _("You let what is shared out vanish. Each GPU keeps one n-th of it."),
        ),
        Misconception(
            "all GPUs together",
            lambda stage, parameters, n_ranks: n_ranks * state_GB(stage, parameters, n_ranks),
            _("You add up all GPUs. The question is what one of them keeps."),
        ),
    ),
)
