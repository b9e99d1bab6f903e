import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.narrowsum import ORDERS, error_against_ranks, make_values, narrow_all_reduce
from course_lib.plan.precision import FORMATS, round_to


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_ranks", [1, 2, 5, 8])
def test_in_fp32_every_order_gives_the_sum(order, n_ranks):
    data = make_values("gradients", n_ranks, 33)
    got = narrow_all_reduce(data, "fp32", order=order)
    np.testing.assert_allclose(got.values, data.sum(axis=0), rtol=1e-5, atol=1e-6)
    assert got.overflowed == 0


def test_a_ring_of_ones_stops_where_the_format_runs_out_of_bits_and_a_tree_does_not():
    ones = np.ones((400, 2))
    assert narrow_all_reduce(ones, "bf16").values.tolist() == [256, 256]
    assert narrow_all_reduce(ones[:40], "fp8-e4m3").values.tolist() == [16, 16]
    assert narrow_all_reduce(ones, "bf16", accumulate="fp32").values.tolist() == [400, 400]
    assert narrow_all_reduce(np.ones((64, 2)), "fp8-e4m3", order="tree").values.tolist() == [64, 64]


def test_ring_error_grows_like_the_root_of_n_and_accumulating_in_fp32_does_not():
    n = [4, 16, 64, 256]
    narrow = error_against_ranks(n, "bf16", elements=1024)
    slope = np.polyfit(np.log(n), np.log(narrow), 1)[0]
    assert 0.35 < slope < 0.65
    wide = error_against_ranks(n, "bf16", accumulate="fp32", elements=1024)
    assert wide.max() < 1.05 * FORMATS["bf16"].unit_roundoff / np.sqrt(3) * 1.3
    assert wide.max() / wide.min() < 1.2


def test_a_tree_is_better_than_a_ring_at_many_ranks():
    ring, tree = (error_against_ranks([128], "bf16", order=o, values="positive")[0] for o in ("ring", "tree"))
    assert ring > 2.5 * tree


def test_the_ring_rounds_in_its_own_order():
    data = round_to(make_values("gradients", 5, 5), "bf16").values
    expected = np.empty(5)
    for shard in range(5):  # shard s begins on rank s + 1 and goes round; see comm.ring
        total = data[(shard + 1) % 5, shard]
        for step in range(2, 6):
            total = float(round_to(total + data[(shard + step) % 5, shard], "bf16").values)
        expected[shard] = total
    np.testing.assert_array_equal(narrow_all_reduce(data, "bf16").values, expected)


def test_overflow_is_shown_and_counted():
    sums = narrow_all_reduce(np.full((4, 3), 200.0), "fp8-e4m3")
    assert np.isnan(sums.values).all()
    assert sums.relative_error == np.inf
    assert sums.overflowed == 3
    half = narrow_all_reduce(np.full((4, 3), 30000.0), "fp16")
    assert np.isinf(half.values).all()
    wide = narrow_all_reduce(np.full((4, 3), 30000.0), "fp16", accumulate="fp32")
    assert np.isinf(wide.values).all()
    assert wide.overflowed == 3
    four = narrow_all_reduce(np.full((4, 3), 4.0), "fp4")
    assert four.values.tolist() == [6.0] * 3
    assert four.overflowed > 0


def test_bytes_on_the_wire_follow_what_travels():
    ones = np.ones((4, 4))
    assert narrow_all_reduce(ones, "bf16").wire_B_each == 2
    assert narrow_all_reduce(ones, "bf16", accumulate="fp32").wire_B_each == 4
    assert narrow_all_reduce(ones, "bf16", accumulate="fp32", order="direct").wire_B_each == 2


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ([[1.0, np.nan]], {}),
        ([1.0, 2.0], {}),
        (np.ones((2, 0)), {}),
        ([[1e6], [1]], {"format": "fp16"}),
        ([[1.0]], {"order": "star"}),
        ([[1.0]], {"format": "fp16", "accumulate": "fp8-e4m3"}),
        ([[1.0]], {"format": "fp12"}),
        ("ones", {}),
    ],
)
def test_wrong_input_gets_a_sentence(data, options):
    with pytest.raises(CourseError):
        narrow_all_reduce(data, **({"format": "bf16"} | options))


def test_wrong_rank_counts_get_a_sentence():
    for n in ([0], [2.5], ["two"]):
        with pytest.raises(CourseError):
            error_against_ranks(n, "bf16")
