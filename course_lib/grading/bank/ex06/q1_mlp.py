"""Question 06.q1: a sliced MLP, there and back."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex06.programs import CLOSE, accept_sums, mlp_program, play_mlp, playing
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def _mlp_cases(rng: np.random.Generator) -> list[Case]:
    names = ("n_ranks", "tokens", "hidden", "inner", "seed")
    rows = [(1, 2, 3, 4, 0), (2, 1, 2, 4, 1), (4, 5, 8, 32, 2)]
    rows += [
        (n, int(rng.integers(1, 6)), int(rng.integers(2, 9)), n * int(rng.integers(2, 5)), int(rng.integers(2**31)))
        for n in (2, 3, 5, 8)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


_MLP_MISTAKES = (
    (
        "bias on every rank",
        mlp_program(bias="each"),
        _("You add b2 before the sum, so the sum has it once for every rank. Add it after the all-reduce."),
    ),
    (
        "gradient of the input not summed",
        mlp_program(sum_dx=False),
        _(
            "Your dx holds one rank's part only. Forward, x was copied to every rank; backward, a copy's gradient is a sum."
        ),
    ),
    (
        "two sums backward",
        mlp_program(sum_dy=True),
        _(
            "You sum dy as well, as if an MLP alone cost two all-reduces backward. "
            "dy is already the same on every rank; the sum multiplies it by the number of ranks."
        ),
    ),
    (
        "parts of y not summed",
        mlp_program(sum_y=False),
        _("Your y is one rank's part: rows of w2 leave parts as large as y, and nobody added them."),
    ),
    (
        "b2 left out",
        mlp_program(bias="never"),
        _("Your y lacks b2. It is added once, after the sum."),
    ),
    (
        "b1 left out",
        mlp_program(inner_bias=False),
        _("You leave out b1. It is added before f, and each rank has its own columns of it."),
    ),
    (
        "the gradient of f left out",
        mlp_program(through_f=True),
        _("Your gradient passes f unchanged. Where `before` is not above zero, f is flat and nothing passes."),
    ),
    (
        "summed before f",
        mlp_program(before_f=True),
        _("You sum before f. Columns of x·W₁ are finished, and each rank needs its own only."),
    ),
    (
        "dx first",
        mlp_program(turned=True),
        _("You return dx first and y second. The order is (y, dx)."),
    ),
)

q1 = Question(
    id="06.q1",
    title=_("A sliced MLP, forward and backward"),
    points=2,
    answer="mlp",
    kind="function",
    expects=Entries(
        {"y": CLOSE, "dx": CLOSE, "all_reduces": Number(whole=True), "others": Number(whole=True)}, each=False
    ),
    inputs=_mlp_cases,
    reference=playing(play_mlp, mlp_program()),
    accept=accept_sums(playing(play_mlp, mlp_program()), ("y", "dx"), 2),
    driver=play_mlp,
    written=mlp_program(),
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, playing(play_mlp, program), sentence, written=program)
        for name, program, sentence in _MLP_MISTAKES
    ),
)
