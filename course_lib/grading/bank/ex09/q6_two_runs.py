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
            _("Both runs had error feedback; it is on unless you say feedback=False."),
        ),
        Misconception(
            "one packet",
            lambda k: {"sent_B": 8.0 * k},
            _("That is one packet. In an all-gather over four ranks each rank passes on three."),
        ),
        Misconception(
            "positions forgotten",
            lambda k: {"sent_B": 4.0 * k * (RANKS - 1)},
            _("You count four bytes a value. Its position takes four more."),
        ),
    ),
)
