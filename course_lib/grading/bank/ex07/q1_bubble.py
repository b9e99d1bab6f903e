"""Question 07.q1: the bubble in both conventions."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex07.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import pipeline
from course_lib.plan.orders import make


def bubble(p: int, m: int, v: int) -> tuple[float, float]:
    """Return the bubble of the ideal time and of the step, read off a timeline.

    >>> bubble(4, 8, 1), bubble(1, 8, 1)
    ((0.375, 0.2727272727272727), (0.0, 0.0))
    """
    line = pipeline.run(make("interleaved" if v > 1 else "1f1b", p, m, v))
    return line.bubble_of_ideal, line.bubble_of_step


def _bubble_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 1), (1, 4, 1), (2, 1, 1), (4, 4, 1), (8, 3, 1), (2, 2, 2), (4, 8, 2), (1, 4, 3)]
    rows += [(int(rng.integers(2, 13)), int(rng.integers(1, 49)), 1) for _unused in range(3)]
    for _unused in range(3):
        p = int(rng.integers(2, 9))
        rows.append((p, p * int(rng.integers(1, 5)), int(rng.integers(2, 5))))
    return [
        Case(dict(zip("pmv", row, strict=True)), "interleaved" if row[2] > 1 else "one chunk")
        for row in sorted(rows, key=lambda row: row[2] > 1)
    ]


def _bubbles(of_ideal: Callable[..., float], of_step: Callable[..., float]) -> Callable[..., tuple[float, float]]:
    return lambda p, m, v: (of_ideal(p, m, v), of_step(p, m, v))


def _ideal(p: int, m: int, v: int) -> float:
    return (p - 1) / (v * m)


def _step(p: int, m: int, v: int) -> float:
    return (p - 1) / (v * m + p - 1)


q1 = Question(
    id="07.q1",
    title=_("The bubble, of the ideal time and of the step"),
    points=3,
    answer="bubble",
    kind="function",
    expects=Number(tolerance=0.005, near_zero=1e-9),
    inputs=_bubble_cases,
    reference=bubble,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one convention for the other",
            _bubbles(_step, _ideal),
            _(
                "You give the two in the opposite order: (p − 1)/m is what is added to the ideal time, "
                "(p − 1)/(m + p − 1) is a part of the step."
            ),
        ),
        Misconception(
            "the ideal time for both",
            _bubbles(_ideal, _ideal),
            _("You divide by the ideal time both times. The step is longer than that: it contains the bubble."),
        ),
        Misconception(
            "the step for both",
            _bubbles(_step, _step),
            _("You divide by the step both times. The ideal time is what the step would be without the bubble."),
        ),
        Misconception(
            "chunks forgotten",
            _bubbles(lambda p, m, v: _ideal(p, m, 1), lambda p, m, v: _step(p, m, 1)),
            _("You leave out v. With chunks the pieces that fill the pipeline are v times as short."),
        ),
        Misconception(
            "the part of the step divided by v",
            _bubbles(_ideal, lambda p, m, v: _step(p, m, 1) / v),
            _(
                "You divide the part of the step by v. The bubble is v times as small, but the step is shorter as well: "
                "the denominator becomes v·m + p − 1."
            ),
        ),
        Misconception(
            "p stages to fill",
            _bubbles(lambda p, m, v: p / (v * m), lambda p, m, v: p / (v * m + p)),
            _("You let p stages wait. The last one starts after p − 1 others."),
        ),
        Misconception(
            "the sum is m + p",
            _bubbles(_ideal, lambda p, m, v: (p - 1) / (v * m + p)),
            _("You divide by m + p. The step is m micro-batches and a bubble of p − 1."),
        ),
        Misconception(
            "fill and drain counted twice",
            _bubbles(lambda p, m, v: 2 * _ideal(p, m, v), lambda p, m, v: 2 * (p - 1) / (v * m + 2 * (p - 1))),
            _(
                "Your bubble is twice as large. Filling costs p − 1 forward passes and draining p − 1 backward passes: "
                "p − 1 micro-batches together."
            ),
        ),
        Misconception(
            "chunks lengthen the bubble",
            _bubbles(lambda p, m, v: v * _ideal(p, m, 1), lambda p, m, v: v * (p - 1) / (m + v * (p - 1))),
            _("You multiply the bubble by v. Chunks shorten what fills the pipeline: divide."),
        ),
        Misconception(
            "every chunk a stage to fill",
            _bubbles(lambda p, m, v: (v * p - 1) / (v * m), lambda p, m, v: (v * p - 1) / (v * m + v * p - 1)),
            _(
                "You let v·p pieces fill the pipeline. It is full when the last GPU has its first piece, after p − 1 others."
            ),
        ),
        Misconception(
            "stages for micro-batches",
            _bubbles(lambda p, m, v: (m - 1) / (v * p), lambda p, m, v: (m - 1) / (v * p + m - 1)),
            _(
                "You have exchanged stages and micro-batches. More stages make a larger bubble, more micro-batches a smaller one."
            ),
        ),
        Misconception(
            "work for bubble",
            _bubbles(lambda p, m, v: 1 - _ideal(p, m, v), lambda p, m, v: 1 - _step(p, m, v)),
            _("You give what is not bubble: one less the part that was asked for."),
        ),
        Misconception(
            "chunks in one of the two",
            _bubbles(_ideal, lambda p, m, v: _step(p, m, 1)),
            _("You leave v out of the second number. The fill is v times as short in both."),
        ),
        Misconception(
            "chunks in the other one only",
            _bubbles(lambda p, m, v: _ideal(p, m, 1), _step),
            _("You leave v out of the first number. The fill is v times as short in both."),
        ),
    ),
)
