"""Question 07.q3: activations in flight."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex07.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import pipeline
from course_lib.plan.orders import make


def in_flight(schedule: str, p: int, m: int, stage: int) -> int:
    """Return the most micro-batches that a stage holds, counted on a timeline.

    >>> in_flight("1f1b", 4, 8, 0), in_flight("gpipe", 4, 8, 3), in_flight("zero-bubble", 4, 8, 3)
    (4, 8, 4)
    """
    return int(pipeline.in_flight(pipeline.run(make(schedule, p, m)))[stage])


def _flight_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 0), (2, 4, 0), (4, 8, 0), (4, 8, 3), (4, 2, 0), (8, 3, 1)]
    for _unused in range(4):
        p = int(rng.integers(2, 13))
        rows.append((p, int(rng.integers(1, 33)), int(rng.integers(0, p))))
    return [
        Case({"schedule": schedule, "p": p, "m": m, "stage": s}, schedule)
        for schedule in ("gpipe", "1f1b", "zero-bubble")
        for p, m, s in rows
    ]


def _held(
    gpipe: Callable[..., int] | None = None,
    alternating: Callable[..., int] | None = None,
    split: Callable[..., int] | None = None,
) -> Callable[..., int]:
    """The right count, but for the schedules whose model is given."""
    models = {"gpipe": gpipe, "1f1b": alternating, "zero-bubble": split}

    def wrong(schedule: str, p: int, m: int, stage: int) -> int:
        model = models[schedule]
        return in_flight(schedule, p, m, stage) if model is None else model(p, m, stage)

    return wrong


q3 = Question(
    id="07.q3",
    title=_("Activations in flight on each stage"),
    points=2,
    answer="in_flight",
    kind="function",
    expects=Number(_("micro-batches"), whole=True),
    inputs=_flight_cases,
    reference=in_flight,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "all micro-batches with 1F1B",
            _held(alternating=lambda p, m, s: m),
            _("You let 1F1B hold all m micro-batches. That is GPipe; 1F1B frees one before it takes the next."),
        ),
        Misconception(
            "p on every stage",
            _held(alternating=lambda p, m, s: min(p, m)),
            _(
                "You let every stage of 1F1B hold p. Only the first does; the last turns each micro-batch around at once."
            ),
        ),
        Misconception(
            "counted from the wrong end",
            _held(alternating=lambda p, m, s: min(s + 1, m)),
            _(
                "You let later stages hold more. A micro-batch comes back to the first stage last, so that one holds most."
            ),
        ),
        Misconception(
            "more than there are",
            _held(alternating=lambda p, m, s: p - s, split=lambda p, m, s: p),
            _("You let a stage hold more micro-batches than the step has. With m below p there are only m."),
        ),
        Misconception(
            "one too few",
            _held(alternating=lambda p, m, s: min(max(p - 1 - s, 0), m)),
            _("You count the forwards ahead, p − 1 − s, and leave out the micro-batch in work."),
        ),
        Misconception(
            "GPipe holds one per stage",
            _held(gpipe=lambda p, m, s: min(p, m)),
            _("You let GPipe hold p. It does all forwards before the first backward, so everything is kept."),
            recognise=lambda given, schedule, p, m, stage: schedule == "gpipe" and given in (p, min(p, m)),
        ),
        Misconception(
            "GPipe on all stages",
            _held(gpipe=lambda p, m, s: p * m),
            _("You add up all stages of GPipe. One stage holds m."),
        ),
        Misconception(
            "one too many",
            _held(alternating=lambda p, m, s: min(p - s + 1, m)),
            _("You count one too many with 1F1B: p − 1 − s forwards ahead, and the one in work. Stages start at 0."),
        ),
        Misconception(
            "one, as the name says",
            _held(alternating=lambda p, m, s: 1),
            _("You let 1F1B hold one. Before a stage alternates, it does the forwards that later stages wait for."),
        ),
        Misconception(
            "the stage taken off what there is",
            _held(alternating=lambda p, m, s: max(min(p, m) - s, 0)),
            _("You take the stage off the smaller of p and m. Compare m with p − stage instead."),
        ),
        Misconception(
            "split backward holds like GPipe",
            _held(split=lambda p, m, s: m),
            _(
                "You let the split schedule hold all m. It frees one at W before it takes the next, and holds p at most."
            ),
        ),
        Misconception(
            "split backward holds like 1F1B",
            _held(split=lambda p, m, s: min(p - s, m)),
            _(
                "You free the activations at B in the split schedule. The gradients of the weights need them too, and come later."
            ),
        ),
    ),
)
