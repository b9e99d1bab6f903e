"""Question 07.q2: a 1F1B order."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Plain
from course_lib.grading.bank.ex07.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.orders import make
from course_lib.plan.review import review

Order = list[list[str]]
MOST_WORK = 20_000


def _written(work: Callable[[int, int, int], list[str]]) -> Callable[[int, int], Order]:
    return lambda p, m: [work(p, m, s) for s in range(p)]


def _alternating(first: int, m: int) -> list[str]:
    """`first` forwards, then one forward and one backward in turn, then what is left."""
    first = min(first, m)
    work = [f"F{i}" for i in range(first)]
    for i in range(m - first):
        work += [f"F{first + i}", f"B{i}"]
    return work + [f"B{i}" for i in range(m - first, m)]


def order(p: int, m: int) -> Order:
    """Return the textbook's 1F1B order as text.

    >>> order(2, 2)
    [['F0', 'F1', 'B0', 'B1'], ['F0', 'B0', 'F1', 'B1']]
    """
    return [[str(op) for op in stage] for stage in make("1f1b", p, m)]


def _order_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (4, 8), (4, 2), (8, 3)]
    rows += [(int(rng.integers(2, 9)), int(rng.integers(1, 17))) for _unused in range(4)]
    return [Case({"p": p, "m": m}) for p, m in rows]


def _accept_order(answer: object, p: int, m: int) -> str:
    if sum(len(stage) for stage in answer) > MOST_WORK:
        return _("it has {n} pieces of work; {p} × {m} (stages × micro-batches) need {need}.").format(
            n=sum(len(stage) for stage in answer), p=p, m=m, need=2 * p * m
        )
    found = review(answer, p, m)
    return "" if found.accepted else found.reason


def _is(wrong: Callable[[int, int], Order]) -> Callable[..., bool]:
    def recognise(answer: object, p: int, m: int) -> bool:
        model = wrong(p, m)
        return model != order(p, m) and [[str(op) for op in stage] for stage in answer] == model

    return recognise


_all_forward = _written(lambda p, m, s: [f"F{i}" for i in range(m)] + [f"B{i}" for i in range(m)])
_no_warmup = _written(lambda p, m, s: _alternating(0, m))
_same_warmup = _written(lambda p, m, s: _alternating(p - 1, m))
_upside_down = _written(lambda p, m, s: _alternating(s, m))
_one_more = _written(lambda p, m, s: _alternating(p - s, m))

q2 = Question(
    id="07.q2",
    title=_("A 1F1B order that runs, is as fast and holds no more"),
    points=3,
    answer="order",
    kind="function",
    expects=Plain(
        _("a list with one list of operations for each stage"),
        fits=lambda given: isinstance(given, list) and all(isinstance(stage, (list, tuple)) for stage in given),
    ),
    inputs=_order_cases,
    reference=order,
    accept=_accept_order,
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, wrong, sentence, recognise=_is(wrong))
        for name, wrong, sentence in (
            (
                "all forwards first",
                _all_forward,
                _(
                    "That is GPipe's order: all forwards, then all backwards. It is as fast as 1F1B, "
                    "and holds every micro-batch on every stage."
                ),
            ),
            (
                "no forwards ahead",
                _no_warmup,
                _(
                    "Your stages alternate from the beginning. Stage 0 then waits for B0 to come back before it starts F1, "
                    "and only one stage works at a time."
                ),
            ),
            (
                "the same start everywhere",
                _same_warmup,
                _(
                    "Every stage of yours starts with p − 1 forwards. Only the first needs so many; "
                    "later stages get their first backward earlier."
                ),
            ),
            (
                "upside down",
                _upside_down,
                _(
                    "Your stage s starts with s forwards, so the last one runs furthest ahead. "
                    "It is the first stage that waits longest for its first backward."
                ),
            ),
            (
                "one forward too many",
                _one_more,
                _(
                    "Your stage s starts with p − s forwards and then does a forward before its first backward. "
                    "That holds one micro-batch too many: p − 1 − s ahead are enough."
                ),
            ),
        )
    ),
)
