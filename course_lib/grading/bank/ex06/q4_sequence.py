"""Question 06.q4: bytes of sequence slicing."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex06.q2_counted import ran
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def sent_MB(style: str, tokens: int, hidden: int, n_ranks: int) -> float:
    """Return MB that a rank sends in one layer's forward pass, 16-bit numbers and rings: a run's bytes, scaled.

    >>> sent_MB("tensor", 8192, 8192, 8) == sent_MB("sequence", 8192, 8192, 8)
    True
    """
    done, nbytes = ran("block", n_ranks, style)
    return done.forward.wire_B() / n_ranks / nbytes * tokens * hidden * 2 / 1e6


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 1), (8, 64, 2), (4096, 4096, 1), (8192, 8192, 8)]
    rows += [
        (int(rng.integers(1, 65)) * 64, int(rng.integers(4, 129)) * 128, int(2 ** rng.integers(1, 5)))
        for _unused in range(4)
    ]
    names = ("tokens", "hidden", "n_ranks")
    return [
        Case({"style": style} | dict(zip(names, row, strict=True)), style)
        for style in ("tensor", "sequence")
        for row in rows
    ]


def _sent(factor: Callable[[str, int], float]) -> Callable[..., float]:
    """2 sums a layer; `factor(style, n)` messages of the activations sent for each."""
    return lambda style, tokens, hidden, n_ranks: 2 * factor(style, n_ranks) * tokens * hidden * 2 / 1e6


q4 = Question(
    id="06.q4",
    title=_("Bytes of sequence slicing"),
    points=2,
    answer="sent_MB",
    kind="function",
    expects=Number("MB", near_zero=1e-15),
    inputs=_bytes_cases,
    reference=sent_MB,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "sequence slicing halves the traffic",
            _sent(lambda style, n: (2 if style == "tensor" else 1) * (n - 1) / n),
            _(
                "You count one half of each pair. A reduce-scatter and an all-gather replace one all-reduce; both are sent."
            ),
        ),
        Misconception(
            "sequence slicing doubles the traffic",
            _sent(lambda style, n: (2 if style == "tensor" else 4) * (n - 1) / n),
            _("You price a reduce-scatter and an all-gather like an all-reduce each. Each is half of one."),
        ),
        Misconception(
            "an all-gather of a share",
            _sent(lambda style, n: 2 * (n - 1) / n if style == "tensor" else (n - 1) / n + (n - 1) / n**2),
            _(
                "You price the all-gather by one rank's share. Its message is what every rank has in the end: all tokens."
            ),
        ),
        Misconception(
            "the message for what is sent",
            _sent(lambda style, n: 1.0 if n > 1 else 0.0),
            _("That is the size of the messages. In a ring a rank sends 2(n−1)/n of it for an all-reduce."),
            recognise=lambda given, **asked: any(
                q4.expects.same(given, _sent(lambda style, n, one=one: 1.0 if n > one else 0.0)(**asked))
                for one in (0, 1)
            ),
        ),
        Misconception(
            "one sum a layer",
            lambda style, tokens, hidden, n_ranks: sent_MB(style, tokens, hidden, n_ranks) / 2,
            _(
                "You have half of it. A layer has two sums forward, one after attention and one after the MLP, "
                "an all-reduce sends 2(n−1)/n of its message, and a number has two bytes."
            ),
        ),
        Misconception(
            "forward and backward",
            lambda style, tokens, hidden, n_ranks: sent_MB(style, tokens, hidden, n_ranks) * 2,
            _("You have twice as much. Only forward is asked for, and a number has two bytes."),
        ),
        Misconception(
            "all ranks together",
            lambda style, tokens, hidden, n_ranks: sent_MB(style, tokens, hidden, n_ranks) * n_ranks,
            _("You add up all ranks, or leave out the division by n. A rank sends 2(n−1)/n of a message."),
        ),
        Misconception(
            "one rank's tokens",
            _sent(lambda style, n: 2 * (n - 1) / n if style == "tensor" else 2 * (n - 1) / n**2),
            _(
                "With tokens sliced you take one rank's tokens for the message. A reduce-scatter starts from all tokens, "
                "and an all-gather ends with all."
            ),
        ),
        Misconception(
            "one step of the ring",
            _sent(lambda style, n: 2 / n if n > 1 else 0.0),
            _(
                "You send one n-th of the message in each half. That is one step of a ring; each half has n − 1 of them."
            ),
        ),
    ),
)
