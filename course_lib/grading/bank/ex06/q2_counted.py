"""Question 06.q2: all-reduces, counted from a run."""

from collections.abc import Callable
from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import slicing
from course_lib.plan.block import Block, random_weights


@cache
def ran(part: str, n_ranks: int, style: str = "tensor") -> tuple[slicing.Sliced, int]:
    """Return a run of part of a small layer on `n_ranks` ranks, and the bytes of its activations.

    >>> ran("block", 2)[0].forward.counts()
    {'all_reduce': 2}
    """
    block = Block(16, 16)
    x = np.random.default_rng(0).normal(size=(1, 16, 32))
    return slicing.run(block, random_weights(block, 32, 64), x, x, n_ranks, part=part, style=style), x.nbytes


def all_reduces(part: str, n_layers: int, n_ranks: int, training: bool) -> int:
    """Return how many all-reduces a rank takes part in during a pass of all layers, counted from what ran.

    >>> all_reduces("mlp", 1, 4, True), all_reduces("block", 1, 4, True), all_reduces("block", 80, 8, False)
    (2, 4, 160)
    """
    done, _nbytes = ran(part, n_ranks)
    logs = (done.forward, done.backward) if training else (done.forward,)
    return n_layers * sum(log.counts(rank=0).get("all_reduce", 0) for log in logs)


def _count_cases(rng: np.random.Generator) -> list[Case]:
    rows = [("mlp", 1, 1), ("mlp", 1, 2), ("attention", 1, 4), ("block", 1, 2), ("block", 32, 8), ("block", 80, 1)]
    rows += [(part, int(rng.integers(2, 129)), int(2 ** rng.integers(1, 5))) for part in ("mlp", "attention", "block")]
    return [
        Case(
            {"part": part, "n_layers": layers, "n_ranks": n, "training": training},
            "training" if training else "forward only",
        )
        for training in (False, True)
        for part, layers, n in rows
    ]


def _often(per_layer: Callable[[str, bool], int], alone: int = 0) -> Callable[..., int]:
    return lambda part, n_layers, n_ranks, training: (
        n_layers * per_layer(part, training) if n_ranks > 1 else alone * n_layers * per_layer(part, training)
    )


def _pieces(part: str) -> int:
    return 2 if part == "block" else 1


q2 = Question(
    id="06.q2",
    title=_("All-reduces of a pass, counted"),
    points=2,
    answer="all_reduces",
    kind="function",
    expects=Number(whole=True),
    inputs=_count_cases,
    reference=all_reduces,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "two per layer in training",
            _often(lambda part, training: _pieces(part)),
            _("That is the forward pass. Backward costs as many again: the gradient of a copied input is a sum."),
        ),
        Misconception(
            "the MLP alone is two and two",
            _often(lambda part, training: 2 * (1 + training)),
            _("You give attention alone, or the MLP alone, what both together cost. Each has one sum each way."),
        ),
        Misconception(
            "one rank communicates",
            _often(lambda part, training: _pieces(part) * (1 + training), alone=1),
            _("You count sums for one rank, too. It holds all of the layer and has nobody to add to."),
        ),
        Misconception(
            "backward costs twice",
            _often(lambda part, training: _pieces(part) * (1 + 2 * training)),
            _(
                "You let backward cost twice as many sums as forward, as it does for computing. The gradients of the weights need no sum."
            ),
        ),
        Misconception(
            "once for every rank",
            lambda part, n_layers, n_ranks, training: n_ranks * all_reduces(part, n_layers, n_ranks, training),
            _("You multiply by the number of ranks. An all-reduce is one collective in which all of them take part."),
        ),
        Misconception(
            "one for a layer",
            _often(lambda part, training: 1 + training),
            _("You count one sum each way for a layer with both parts. Attention has one, and the MLP has one."),
        ),
        Misconception(
            "one layer",
            lambda part, n_layers, n_ranks, training: all_reduces(part, 1, n_ranks, training),
            _("You count one layer. Every layer has sums of its own."),
        ),
        Misconception(
            "backward in every pass",
            _often(lambda part, training: 2 * _pieces(part)),
            _("You count the backward pass where only forward is asked for."),
        ),
        Misconception(
            "a sum for every matrix",
            _often(lambda part, training: 2 * _pieces(part) * (1 + training)),
            _("You add up after every matrix that is cut. Columns leave finished numbers; only rows leave a sum."),
        ),
        Misconception(
            "steps of the ring",
            lambda part, n_layers, n_ranks, training: (
                2 * (n_ranks - 1) * all_reduces(part, n_layers, n_ranks, training)
            ),
            _("You count the steps of a ring. An all-reduce is one collective, however it is done."),
        ),
    ),
)
