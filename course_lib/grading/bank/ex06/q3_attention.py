"""Question 06.q3: attention by heads."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex06.programs import CLOSE, accept_sums, attention_program, play_attention, playing
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def _attention_cases(rng: np.random.Generator) -> list[Case]:
    names = ("n_ranks", "n_heads", "n_kv_heads", "head_size", "tokens", "seed")
    shared = [(1, 2, 1, 2, 2, 0), (2, 2, 2, 2, 3, 1), (2, 8, 4, 3, 4, 2), (4, 8, 4, 2, 3, 3)]
    copied = [(2, 2, 1, 2, 2, 4), (4, 4, 2, 2, 3, 5), (8, 8, 2, 3, 2, 6)]
    drawn = [int(rng.integers(2, 5)) for _unused in range(3)]
    shared += [(n, 2 * n * k, n * k, 2, 4, int(rng.integers(2**30))) for n, k in ((drawn[0], 1), (drawn[1], 2))]
    copied += [(2 * n, 4 * n, n, 3, 3, int(rng.integers(2**30))) for n in drawn[2:]]
    return [Case(dict(zip(names, row, strict=True)), "key-value heads shared out") for row in shared] + [
        Case(dict(zip(names, row, strict=True)), "key-value heads copied") for row in copied
    ]


_ATTENTION_MISTAKES = (
    (
        "bias on every rank",
        attention_program(bias="each"),
        _("You add bo before the sum, so the result has it once for every rank. Add it after the all-reduce."),
    ),
    (
        "heads not summed",
        attention_program(add=False),
        _("Each of your ranks returns the part of its own heads. The rows of wo leave parts that have to be added."),
    ),
    (
        "everybody takes the first keys",
        attention_program(keys="first"),
        _("All your ranks take the same key-value heads, the first ones. A query head belongs to a certain one."),
    ),
    (
        "columns dealt out like cards",
        attention_program(comb=True),
        _("You deal columns out one by one, which tears heads apart. A head is a run of neighbouring columns."),
    ),
    (
        "bo left out",
        attention_program(bias="never"),
        _("Your result lacks bo. It is added once, after the sum."),
    ),
    (
        "key-value heads in turn",
        attention_program(keys="in turn"),
        _("You hand copied key-value heads out in turn, 0, 1, 0, 1. Neighbouring ranks use the same one: 0, 0, 1, 1."),
    ),
    (
        "whole matrices",
        attention_program(whole=True),
        _("You compute with the whole matrices. Outside of this rank's slice they hold garbage."),
    ),
)

q3 = Question(
    id="06.q3",
    title=_("Attention by heads"),
    points=3,
    answer="attention",
    kind="function",
    expects=Entries({"y": CLOSE, "all_reduces": Number(whole=True), "others": Number(whole=True)}, each=False),
    inputs=_attention_cases,
    reference=playing(play_attention, attention_program()),
    accept=accept_sums(playing(play_attention, attention_program()), ("y",), 1),
    driver=play_attention,
    written=attention_program(),
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, playing(play_attention, program), sentence, written=program)
        for name, program, sentence in _ATTENTION_MISTAKES
    ),
)
