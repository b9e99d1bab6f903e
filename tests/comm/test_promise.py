"""Promises as labels: they agree with what running a schedule leaves."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.execute import run
from course_lib.comm.promise import LETTERS, promise
from course_lib.comm.registry import build

SHARED = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "scatter", "gather")


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("op", SHARED)
def test_what_is_promised_is_what_a_proved_schedule_leaves(op, n):
    algorithm = "ring" if op in SHARED[:5] else "direct"
    given = promise(op, n)
    value = {f"{LETTERS[r]}{c}": 10.0**r * (c + 1) for r in range(n) for c in range(n)}
    value |= {LETTERS[r]: 10.0**r for r in range(n)}
    value |= {f"Σ{c}": sum(value[f"{LETTERS[r]}{c}"] for r in range(n)) for c in range(n)}
    for r, row in enumerate(given.before.tolist()):
        assert {label[0] for label in row if label} <= {LETTERS[r]}
    start = [[value[label] for label in row if label] for row in given.before.tolist()]
    data = [row or None for row in start]
    ends = run(build(op, n, algorithm), data)
    for row, end in zip(given.after.tolist(), ends, strict=True):
        held = [value[label] for label in row if label]
        assert held == ([] if end is None else np.ravel(end).tolist())


def test_the_root_can_be_another_rank():
    assert promise("reduce", 3, root=2).after.tolist()[2] == ["Σ0", "Σ1", "Σ2"]
    assert promise("broadcast", 2, root=1).before.tolist() == [["", ""], ["B0", "B1"]]


def test_what_has_no_picture_is_refused_in_words():
    for arguments, words in (
        (("allredcue", 4), "all_reduce"),
        (("all_reduce", 27), "27"),
        (("send_recv", 2), "no parts"),
    ):
        with pytest.raises(CourseError, match=words):
            promise(*arguments)
