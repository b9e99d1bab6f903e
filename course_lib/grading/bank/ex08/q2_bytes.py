"""Question 08.q2: bytes of a step."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex08.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import zero


def sent_GB(scheme: str, parameters: int, n_ranks: int, micro_batches: int, put_off: bool) -> float:
    """Return GB (1e9) that a rank sends in a step, 16 bits a parameter.

    >>> sent_GB("ddp", 10**9, 8, 4, True), sent_GB("zero3", 10**9, 8, 4, False)
    (3.5, 21.0)
    """
    return zero.volume(scheme, parameters, n_ranks, micro_batches=micro_batches, deferred=put_off).sent_B / 1e9


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(10**9, 1, 1, True), (10**9, 2, 1, False), (10**9, 8, 4, True), (10**9, 8, 4, False)]
    rows += [
        (int(rng.integers(1, 400)) * 10**9, int(rng.integers(2, 1025)), int(rng.integers(2, 33)), bool(k % 2))
        for k in range(4)
    ]
    names = ("parameters", "n_ranks", "micro_batches", "put_off")
    return [
        Case({"scheme": s} | dict(zip(names, row, strict=True)), s) for s in ("ddp", "zero2", "zero3") for row in rows
    ]


def _units(rule: Callable[[str, int, bool], float], whole: bool = False, alone: bool = False) -> Callable[..., float]:
    """2 bytes a parameter times units by a rule of scheme, micro-batches and whether reducing is put off."""
    return lambda scheme, parameters, n_ranks, micro_batches, put_off: (
        rule(scheme, micro_batches, put_off)
        * 2
        * parameters
        / 1e9
        * (float(alone or n_ranks > 1) if whole else (n_ranks - 1) / n_ranks)
    )


def _right(scheme: str, k: int, put_off: bool) -> float:
    return zero.volume(scheme, 1, 2, micro_batches=k, deferred=put_off).units


q2 = Question(
    id="08.q2",
    title=_("Bytes of a step"),
    points=3,
    answer="sent_GB",
    kind="function",
    expects=Number("GB", near_zero=1e-15),
    inputs=_bytes_cases,
    reference=sent_GB,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "accumulation saves traffic by itself",
            _units(lambda s, k, put_off: _right(s, 1, True)),
            _(
                "You charge one micro-batch whatever their number. Adding gradients up saves traffic only where it is put off."
            ),
        ),
        Misconception(
            "always put off",
            _units(lambda s, k, put_off: _right(s, k, True)),
            _(
                "You reduce once a step even where nothing is put off. Adding gradients up saves traffic only where it is."
            ),
        ),
        Misconception(
            "putting off saves nothing",
            _units(lambda s, k, put_off: _right(s, k, False)),
            _("You reduce after every micro-batch even where it is put off to the last."),
        ),
        Misconception(
            "an all-reduce is one unit",
            _units(lambda s, k, put_off: _right(s, k, put_off) / (2 if s == "ddp" else 1)),
            _("You send the gradients once in an all-reduce. It is a reduce-scatter and an all-gather: two units."),
        ),
        Misconception(
            "weights gathered once",
            _units(lambda s, k, put_off: _right(s, k, put_off) - (k if s == "zero3" else 0)),
            _(
                "You gather the weights of ZeRO-3 once for each micro-batch. They were dropped: backward gathers them again."
            ),
        ),
        Misconception(
            "stage 2 gathers for every micro-batch",
            _units(lambda s, k, put_off: 2 * (1 if put_off else k) if s == "zero2" else _right(s, k, put_off)),
            _("You let ZeRO-2 gather new weights after every micro-batch. They are new only once a step."),
        ),
        Misconception(
            "the message for what is sent",
            _units(_right, whole=True),
            _("You forget (n−1)/n: a rank does not send its own part to itself."),
        ),
        Misconception(
            "the message for what is sent, on one rank too",
            _units(_right, whole=True, alone=True),
            _("You forget (n−1)/n: a rank does not send its own part to itself, and a rank alone sends nothing."),
        ),
        Misconception(
            "once for every rank",
            lambda scheme, parameters, n_ranks, micro_batches, put_off: (
                n_ranks * sent_GB(scheme, parameters, n_ranks, micro_batches, put_off)
            ),
            _("You add up all ranks. The question is what one of them sends."),
        ),
        Misconception(
            "put off the wrong way round",
            lambda scheme, parameters, n_ranks, micro_batches, put_off: sent_GB(
                scheme, parameters, n_ranks, micro_batches, not put_off
            ),
            _("You turn put_off round. Where it is true, gradients are reduced once, after the last micro-batch."),
        ),
        Misconception(
            "weights gathered once a step",
            _units(lambda s, k, put_off: _right(s, k, put_off) - (2 * k - 2 if s == "zero3" else 0)),
            _(
                "You gather the weights of ZeRO-3 for one micro-batch. They are dropped after use, so each gathers them anew."
            ),
        ),
        Misconception(
            "new weights not sent",
            _units(lambda s, k, put_off: _right(s, k, put_off) - (1 if s == "zero2" else 0)),
            _(
                "You leave out the all-gather of ZeRO-2. Each rank has updated its own part only, and all need all weights."
            ),
        ),
        Misconception(
            "sharded gradients by all-reduce",
            _units(lambda s, k, put_off: _right(s, k, put_off) + (0 if s == "ddp" else 1 if put_off else k)),
            _(
                "You reduce the gradients of ZeRO with an all-reduce. A rank needs its own part only: a reduce-scatter, one unit."
            ),
        ),
        Misconception(
            "one n-th",
            lambda scheme, parameters, n_ranks, micro_batches, put_off: (
                sent_GB(scheme, parameters, n_ranks, micro_batches, put_off) / max(n_ranks - 1, 1)
            ),
            _(
                "You send one n-th of the parameters in each unit. That is one step of a ring; a unit has n − 1 of them."
            ),
        ),
    ),
)
