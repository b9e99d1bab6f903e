"""Question 06.q5: two GPUs, faster or slower."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def speedup(computing_s: float, n_sums: int, message_B: float, latency_s: float, bandwidth_Bps: float) -> float:
    """Return one GPU's time over two GPUs': computing halves, and each sum is a ring of two, two steps of half a message.

    >>> speedup(1e-3, 10, 1e6, 1e-5, 1e10)
    0.5882352941176471
    """
    return computing_s / (computing_s / 2 + n_sums * (2 * latency_s + message_B / bandwidth_Bps))


def _speed_cases(rng: np.random.Generator) -> list[Case]:
    names = ("computing_s", "n_sums", "message_B", "latency_s", "bandwidth_Bps")
    rows = [
        (1.0, 0, 1e6, 1e-5, 1e10),
        (1e-3, 10, 0.0, 1e-5, 1e10),
        (1e-3, 10, 1e6, 1e-5, 1e10),
        (2.0, 160, 1.3e8, 2e-6, 4e11),
    ]
    rows += [
        (
            float(rng.uniform(1e-3, 1)),
            int(rng.integers(16, 400)),
            float(10 ** rng.uniform(3, 8.3)),
            float(rng.uniform(1e-6, 3e-5)),
            float(rng.uniform(1e10, 8e11)),
        )
        for _unused in range(10)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q5 = Question(
    id="06.q5",
    title=_("Two GPUs over one link: how many times as fast"),
    points=2,
    answer="speedup",
    kind="function",
    expects=Number(),
    inputs=_speed_cases,
    reference=speedup,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "tensor parallelism always helps",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: 2.0,
            _("You say twice as fast whatever the link. Computing halves, and the sums come on top."),
        ),
        Misconception(
            "latency forgotten",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B, 0.0, bandwidth_Bps
            ),
            _("Your sums cost bandwidth only. Each has two steps, and each step waits for a latency."),
        ),
        Misconception(
            "the whole message in each step",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, 2 * message_B, latency_s, bandwidth_Bps
            ),
            _("You send the whole message in both steps. A ring of two sends one half in each."),
        ),
        Misconception(
            "one latency a sum",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B, latency_s / 2, bandwidth_Bps
            ),
            _("You count one latency for each sum. A ring of two has 2(n−1) = 2 steps."),
        ),
        Misconception(
            "upside down",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: (
                1 / speedup(computing_s, n_sums, message_B, latency_s, bandwidth_Bps)
            ),
            _("That is the time of two GPUs over the time of one. How many times as fast is the other way round."),
        ),
        Misconception(
            "computing not halved",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: (
                computing_s / (computing_s + n_sums * (2 * latency_s + message_B / bandwidth_Bps))
            ),
            _("Your two GPUs compute as long as one. Each has half of every layer."),
        ),
        Misconception(
            "sums halved as well",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B / 2, latency_s / 2, bandwidth_Bps
            ),
            _("You halve the sums as well. Both GPUs take part in every one of them."),
        ),
        Misconception(
            "one sum",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, min(n_sums, 1), message_B, latency_s, bandwidth_Bps
            ),
            _("You pay one all-reduce. There are n_sums of them."),
        ),
        Misconception(
            "hidden behind computing",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: (
                computing_s / max(computing_s / 2, n_sums * (2 * latency_s + message_B / bandwidth_Bps))
            ),
            _("You take the longer of computing and sums. They hide behind nothing: the next product needs the sum."),
        ),
        Misconception(
            "half of the bytes",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B / 2, latency_s, bandwidth_Bps
            ),
            _(
                "Your bytes take half of their time. Two steps send half of the message each, at the rate of one direction."
            ),
        ),
        Misconception(
            "bytes forgotten",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, 0.0, latency_s, bandwidth_Bps
            ),
            _("Your sums cost latency only. Their bytes take time, too."),
        ),
    ),
)
