"""Steps with a codec: parts add up, bytes are those of the exchange, a slower codec costs in proportion."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.breakeven import sent_B
from course_lib.plan.codecs import Dense, EightBit, LowRank, OneBit, RandomK, TopK
from course_lib.plan.codecsteps import MODEL, codec_time, matrices, passes, steps, way
from course_lib.plan.transformer import model, params

CODECS = (Dense("bf16"), EightBit(), OneBit(), TopK(0.01), RandomK(0.01), LowRank(2))


@pytest.mark.parametrize("codec", CODECS, ids=lambda c: type(c).__name__)
def test_a_slower_codec_adds_its_time_and_moves_nothing_else(codec):
    fast, slow = steps(codec, 8, 1.0), steps(codec, 8, 10.0)
    assert slow.codec_s == pytest.approx(10 * fast.codec_s)
    assert slow.packed_s - fast.packed_s == pytest.approx(9 * fast.codec_s)
    assert slow.dense_s.tolist() == fast.dense_s.tolist()
    assert (slow.dense_sent_B, slow.packed_sent_B) == (fast.dense_sent_B, fast.packed_sent_B)


@pytest.mark.parametrize("codec", CODECS, ids=lambda c: type(c).__name__)
def test_on_a_slow_network_the_ratio_of_steps_is_that_of_the_bytes(codec):
    found = steps(codec, 8)
    dense, packed = found.dense_s[0] - found.compute_s, found.packed_s[0] - found.compute_s - found.codec_s
    # an all-to-all does not reach the rate of a ring, so two phases are a little slower than their bytes
    assert dense / packed == pytest.approx(found.dense_sent_B / found.packed_sent_B, rel=0.12 if way(codec) else 0.05)


def test_the_bytes_are_those_of_the_exchange():
    size = params(model(MODEL)).total
    assert steps(TopK(0.01), 64).packed_sent_B == sent_B(TopK(0.01), size, 64)
    assert steps(EightBit(), 64).packed_sent_B == sent_B(EightBit(), size, 64, how="two_phase")
    assert way(LowRank()) is None


def test_fp32_takes_no_codec_time_and_passes_are_at_least_one_read():
    assert passes(Dense()) == (0.0, 0.0)
    assert all(passes(codec)[0] >= 1 for codec in CODECS)
    assert passes(TopK(0.01))[0] > passes(RandomK(0.01))[0]


def test_the_matrices_hold_every_parameter():
    assert sum(np.prod(t) for t in matrices(model(MODEL))) == params(model(MODEL)).total


def test_wrong_numbers_are_refused_in_words():
    with pytest.raises(CourseError, match="slower"):
        codec_time(TopK(), 1000, 0.5)
    with pytest.raises(CourseError, match="n_ranks"):
        steps(TopK(), 1)
