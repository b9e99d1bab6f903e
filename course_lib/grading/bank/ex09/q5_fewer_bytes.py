"""Question 09.q5: bytes of a top-k all-gather, with positions and ranks."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.breakeven import messages
from course_lib.plan.codecs import Dense, TopK


def times_less(size: int, k: int, n_ranks: int) -> float:
    """Return how many times less each rank sends with gathered top-k packets than with a dense all-reduce in FP32."""
    (dense,), (packed,) = messages(Dense(), size, n_ranks), messages(TopK(k / size), size, n_ranks)
    return dense.sent_B / packed.sent_B


def _less_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(100, 1, 2), (1000, 1000, 2), (1_000_000, 10_000, 64), (1_000_000, 10_000, 256)]
    rows += [
        (100 * size, size * int(rng.integers(1, 20)), int(rng.integers(3, 300)))
        for size in map(int, rng.integers(10, 10_000, 6))
    ]
    return [Case(dict(zip(("size", "k", "n_ranks"), row))) for row in rows]


q5 = Question(
    id="09.q5",
    title=_("How many times less traffic?"),
    points=1,
    answer="times_less",
    kind="function",
    expects=Number("×"),
    inputs=_less_cases,
    reference=times_less,
    withholds=(
        "course_lib.plan.breakeven",
        "course_lib.plan.packed",
        "course_lib.plan.codecs",
        "course_lib.plan.codecsteps",
    ),
    misconceptions=(
        Misconception(
            "a hundred times less",
            lambda size, k, n_ranks: size / k,
            _(
                "You come to size / k, 100 times less for 1 % kept. Each value needs its position, and a rank passes on "
                "n − 1 whole packets."
            ),
        ),
        Misconception(
            "positions forgotten",
            lambda size, k, n_ranks: 2 * size / k / n_ranks,
            _("You count the values and not their positions. A position takes four bytes as well."),
        ),
        Misconception(
            "as if packets could be added",
            lambda size, k, n_ranks: size / k / 2,
            _(
                "You let the ring add packets. Ranks keep different positions, so each packet has to reach every rank: n − 1 of them."
            ),
        ),
        Misconception(
            "turned round",
            lambda size, k, n_ranks: n_ranks * k / size,
            _("You divide the other way round. Bytes dense over bytes with top-k was asked for."),
        ),
        Misconception(
            "dense counted once",
            lambda size, k, n_ranks: size / k / 2 / n_ranks,
            _(
                "You have half of it. Dense, a rank sends 2(n − 1)/n of the gradient, in four bytes a value; a packet "
                "has eight bytes a value."
            ),
        ),
        Misconception(
            "one packet",
            lambda size, k, n_ranks: times_less(size, k, n_ranks) * (n_ranks - 1),
            _("You count one packet. In an all-gather a rank passes on n − 1 of them."),
        ),
        Misconception(
            "its own packet, too",
            lambda size, k, n_ranks: times_less(size, k, n_ranks) * (n_ranks - 1) / n_ranks,
            _("You count n packets. In an all-gather a rank passes on n − 1: the last one need go no further."),
        ),
        Misconception(
            "dense without (n − 1)/n",
            lambda size, k, n_ranks: size / k / (n_ranks - 1),
            _("Your dense all-reduce sends two whole gradients. A rank sends 2(n − 1)/n of one."),
        ),
    ),
)
