"""Question 09.q6: the loss of a run with error feedback and of one without."""

from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex09.q4_top_k import top_k
from course_lib.grading.question import Misconception, Question
from course_lib.plan.breakeven import messages
from course_lib.plan.codecs import TopK
from course_lib.plan.smallmodel import Shape, batches, first_weights, loss_and_gradient, make_task, mean_loss

KEPT = (14, 28, 42, 55, 69, 83, 110, 138)
RANKS, STEPS, RATE = 4, 60, 0.3


@cache
def last_loss(k: int, feedback: bool) -> float:
    """Return the small model's loss after a run on four ranks that exchange their top k, as the notebook does it.

    >>> last_loss(28, True) < last_loss(28, False)
    True
    """
    shape, task = Shape(), make_task(0)
    weights, memory = first_weights(shape), np.zeros((RANKS, shape.size))
    for chosen in batches(task, RANKS, STEPS, 16, 0):
        _loss, gradients = loss_and_gradient(weights, task.inputs[chosen], task.labels[chosen], shape)
        mean = np.zeros(shape.size)
        for rank in range(RANKS):
            sent = top_k(gradients[rank], memory[rank], k)
            mean[sent["positions"]] += sent["values"] / RANKS
            if feedback:
                memory[rank] = sent["memory"]
        weights = weights - RATE * mean
    return mean_loss(weights, task, shape)[0]


def _runs(k: int) -> dict[str, float]:
    sent_B = messages(TopK(k / Shape().size), Shape().size, RANKS)[0].sent_B
    return {"with_feedback": last_loss(k, True), "without": last_loss(k, False), "sent_B": sent_B}


q6 = Question(
    id="09.q6",
    title=_("What error feedback is worth"),
    points=1,
    answer="runs",
    expects=Entries(
        {"with_feedback": Number(tolerance=0.02), "without": Number(tolerance=0.02), "sent_B": Number("B")}
    ),
    parameters=lambda rng: {"k": KEPT[int(rng.integers(len(KEPT)))]},
    reference=_runs,
    misconceptions=(
        Misconception(
            "feedback in both",
            lambda k: {"without": last_loss(k, True)},
            _('Your "without" is the loss with error feedback, which is on unless you say feedback=False.'),
        ),
        Misconception(
            "one packet",
            lambda k: {"sent_B": 8.0 * k},
            _("That is one packet. In an all-gather over four ranks each rank passes on three."),
        ),
        Misconception(
            "positions forgotten",
            lambda k: {"sent_B": 4.0 * k * (RANKS - 1)},
            _(
                "That is 12 · k bytes: half of it. A value and its position take eight, and a rank passes on three packets."
            ),
        ),
        Misconception(
            "no feedback in both",
            lambda k: {"with_feedback": last_loss(k, False)},
            _('Your "with_feedback" is the loss without error feedback. Does your top_k use the memory that it gets?'),
        ),
        Misconception(
            "its own packet, too",
            lambda k: {"sent_B": 8.0 * k * RANKS},
            _("You count four packets. In an all-gather over four ranks each rank passes on three."),
        ),
        Misconception(
            "all ranks together",
            lambda k: {"sent_B": 8.0 * k * (RANKS - 1) * RANKS},
            _("You add up all four ranks. The question is what each of them sends."),
        ),
        Misconception(
            "the whole run",
            lambda k: {"sent_B": 8.0 * k * (RANKS - 1) * STEPS},
            _("You count all steps of the run. One step was asked for."),
        ),
    ),
)
