"""Efficiencies and the two laws, and the bend that a fabric's collectives make."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import scaling


def test_ideal_scaling_is_one_hundred_percent():
    n = np.array([1, 2, 8])
    assert scaling.strong_efficiency(16 / n, n).tolist() == [1, 1, 1]
    assert scaling.weak_efficiency([3.0, 3.0]).tolist() == [1, 1]


@pytest.mark.parametrize("serial", [0.0, 0.003, 0.2, 1.0])
def test_the_serial_share_is_found_again(serial):
    n = np.array([4, 16, 64, 256])
    assert scaling.serial_share(7 / scaling.amdahl(serial, n), n) == pytest.approx(serial, abs=1e-9)


def test_amdahl_ends_and_gustafson_does_not():
    assert scaling.amdahl(0.1, 1e12) == pytest.approx(10)
    assert scaling.gustafson(0.1, 1e6) == pytest.approx(9e5, rel=1e-6)
    assert scaling.amdahl(0.0, 64) == 64 == scaling.gustafson(0.0, 64)


def test_strong_scaling_bends_where_weak_does_not():
    counts = [8, 64, 512, 4096, 16_384]
    strong = scaling.strong("dgx-h100", counts, work_s=64.0, message_B=14e9)
    weak = scaling.weak("dgx-h100", counts, work_each_s=1.0, message_B=14e9)
    assert strong.efficiency[0] == 1
    assert strong.efficiency[-1] < 0.3 < 0.9 < weak.efficiency[-1]
    assert (np.diff(strong.efficiency) <= 1e-12).all()
    assert np.allclose(sum(strong.terms.values()), strong.time_s)
    assert scaling.bends_at(strong.n_gpus, strong.efficiency) < 4096
    assert scaling.bends_at([8, 16], [0.5, 0.9]) is None


def test_terms_of_whole_steps_add_up():
    s = scaling.planned("gpt3-175b", "dgx-a100", [512, 1024], global_batch=1536, tensor=8, pipeline=8)
    assert np.allclose(sum(s.terms.values()), s.time_s)
    grown = scaling.planned("gpt3-175b", "dgx-a100", [512, 1024], global_batch=768, tensor=8, pipeline=8, weak=True)
    assert grown.efficiency[1] > s.efficiency[1] - 0.02


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: scaling.strong_efficiency([1, 2], [1]), "one of each"),
        (lambda: scaling.amdahl(1.5, 8), "at most 1"),
        (lambda: scaling.serial_share([1.0], [8]), "two different"),
        (lambda: scaling.strong("dgx-h100", [], work_s=1, message_B=1), "at least one"),
        (lambda: scaling.strong("dgx-h10", [8], work_s=1, message_B=1), "nearest"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()
