"""Question 04.q6: how many ranks a table was measured with."""

from collections.abc import Callable
from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, US
from course_lib.comm import meaning
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Misconception, Question
from course_lib.timing.sweeps import Sweep, sweeps


def _row(sweep: Sweep, i: int) -> list[float]:
    size_B, time_us = float(sweep.message_B[i]), float(sweep.time_s[i]) / US
    algbw = size_B / (time_us * US) / GB
    return [
        int(size_B),
        round(time_us, 2),
        round(algbw, 2),
        round(algbw * meaning.bus_factor(sweep.op, sweep.n_ranks), 2),
    ]


def _ranks_of(op: str, rows: list[list[float]]) -> int:
    """The number of ranks that the row with the largest rates tells."""
    _size, _time, algbw, busbw = max(rows, key=lambda row: row[3])
    ratio = busbw / algbw
    return round(2 / (2 - ratio) if op == "all_reduce" else 1 / (1 - ratio))


@cache
def _tables() -> dict[str, tuple[Sweep, ...]]:
    """Published sweeps whose printed rates tell the number of ranks without doubt, for either kind of collective."""
    kinds = {"A": ("all_reduce",), "B": ("all_gather", "reduce_scatter")}
    found: dict[str, list[Sweep]] = {key: [] for key in kinds}
    for sweep in sorted(sweeps(), key=lambda one: one.name):
        for key, ops in kinds.items():
            rows = [_row(sweep, i) for i in range(-4, 0)] if len(sweep.message_B) >= 8 else []
            if (
                "outlier" in sweep.note
                or sweep.op not in ops
                or sweep.n_ranks < 4
                or not rows
                or rows[-1][2] < 5
                or sweep.flag
            ):
                continue
            best = max(rows, key=lambda row: row[3])
            slack = 0.005 / best[2] + 0.005 / best[3]  # what rounding does to the ratio
            if slack * sweep.n_ranks**2 < 0.2 and _ranks_of(sweep.op, rows) == sweep.n_ranks:
                found[key].append(sweep)
    return {key: tuple(some) for key, some in found.items()}


def _table(rng: np.random.Generator) -> dict:
    made = {}
    for key, some in _tables().items():
        counts = sorted({sweep.n_ranks for sweep in some})
        n = counts[int(rng.integers(len(counts)))]
        mine = [sweep for sweep in some if sweep.n_ranks == n]
        sweep = mine[int(rng.integers(len(mine)))]
        made[key] = {"op": sweep.op, "rows": [_row(sweep, i) for i in range(-4, 0)]}
    return made


def _by_table(of: Callable[[str, float], float]) -> Callable[..., dict[str, int]]:
    """A wrong model of the ratio, for each table whose answer it changes."""

    def wrong(A: dict, B: dict) -> dict[str, int]:
        answers = {}
        for key, table in (("A", A), ("B", B)):
            _size, _time, algbw, busbw = max(table["rows"], key=lambda row: row[3])
            answers[key] = round(of(table["op"], busbw / algbw))
        return answers

    return wrong


def _one_lap(rows: list[list[float]]) -> int:
    _size, _time, algbw, busbw = max(rows, key=lambda row: row[3])
    return round(1 / (1 - busbw / algbw))


q6 = Question(
    id="04.q6",
    title=_("How many ranks was it measured on"),
    points=2,
    answer="n_ranks",
    expects=Entries(Number("ranks", whole=True)),
    parameters=_table,
    reference=lambda A, B: {"A": _ranks_of(A["op"], A["rows"]), "B": _ranks_of(B["op"], B["rows"])},
    misconceptions=(
        Misconception(
            "the other collective's factor",
            _by_table(lambda op, ratio: 1 / (2 - ratio) if op == "all_reduce" else 2 / (2 - ratio)),
            _(
                "You solve with the factor of another collective. For all_reduce it is 2(n − 1)/n, for the other table (n − 1)/n."
            ),
        ),
        Misconception(
            "one rank lost",
            _by_table(lambda op, ratio: (2 / (2 - ratio) if op == "all_reduce" else 1 / (1 - ratio)) - 1),
            _(
                "You are one too low. That is n − 1, the others, and the rank itself counts, too; or int() cut 6.99 down to 6, "
                "where round() gives 7."
            ),
        ),
        Misconception(
            "hosts for ranks",
            lambda A, B: {key: 8 * _ranks_of(table["op"], table["rows"]) for key, table in (("A", A), ("B", B))},
            _(
                "That is eight times too many. The n of the factor counts ranks, and a rank is one GPU, not a host of eight."
            ),
        ),
        Misconception(
            "an all-reduce is one lap",
            lambda A, B: {"A": _one_lap(A["rows"])},
            _("For table A you solve with (n − 1)/n. Its all-reduce goes round twice: 2(n − 1)/n."),
        ),
    ),
)
