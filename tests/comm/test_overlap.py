"""Any schedule in a pipeline keeps its promise, and no link ever carries more than it did in all."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.execute import prove, run
from course_lib.comm.meaning import OPS
from course_lib.comm.overlap import overlap
from course_lib.comm.registry import algorithms, build
from course_lib.comm.schedule import Schedule, Step

EVERY = [(op, name) for op in OPS for name in algorithms(op)]


@pytest.mark.parametrize(("op", "algorithm"), EVERY)
def test_every_schedule_is_proved_in_pieces(op, algorithm):
    for n, m in ((4, 2), (6, 3), (6, 2)):
        schedule = build(op, n, algorithm, ranks_per_domain=m, radix=2, pipeline=2)
        for pieces in (1, 3):
            made = overlap(schedule, pieces)
            proof = prove(made)
            assert proof.ok, (n, m, pieces, proof.sentence)
            assert made.repeats == schedule.repeats + pieces - 1
            assert made.sent_B(1.0) == pytest.approx(schedule.sent_B(1.0), rel=1e-12)


def test_a_run_in_pieces_gives_the_same_numbers():
    schedule = build("all_reduce", 8, "hierarchical-ring", ranks_per_domain=4)
    data = np.random.default_rng(0).integers(0, 99, (8, 37)).astype(float)
    assert (run(overlap(schedule, 5), data) == data.sum(axis=0)).all()


def test_one_rank_and_bad_counts():
    one = build("all_reduce", 1, "ring")
    assert overlap(one, 4) is one
    with pytest.raises(CourseError, match="pieces"):
        overlap(build("all_reduce", 4, "ring"), 0)


def test_a_transfer_over_the_border_of_two_shards_is_cut_there():
    first = Step([0, 1, 2, 2], [1, 0, 0, 1], [0, 2, 4, 4], False, width=2)
    rest = Step([1, 1, 0], [2, 2, 2], [1, 3, 0], False, width=[2, 1, 1])
    schedule = Schedule("all_gather", 3, 3, 6, (first, rest), "by hand")
    assert prove(schedule).ok
    assert prove(overlap(schedule, 3)).ok
