import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_lib.base.errors import CourseError
from course_lib.plan.codecs import CODECS, Dense, EightBit, LowRank, OneBit, RandomK, TopK, codec, decode, encode
from course_lib.plan.compression import distortion
from course_lib.plan.packed import from_bytes, packet_B, to_bytes

FLAT = [Dense(), Dense("bf16"), TopK(0.1), TopK(1.0), RandomK(0.1), RandomK(0.1, shared=False), EightBit(16), OneBit(),
        OneBit(8)]  # fmt: skip
gradients = hnp.arrays(np.float64, st.integers(1, 70), elements=st.floats(-(2.0**100), 2.0**100, width=32))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FLAT), gradients, st.integers(0, 5))
def test_the_bytes_on_the_wire_are_the_packet_and_nothing_else(kind, gradient, step):
    packet = encode(kind, gradient, step=step)
    wire = to_bytes(packet)
    assert wire.dtype == np.uint8
    assert wire.size == packet.wire_B == packet_B(kind, gradient.size)
    np.testing.assert_array_equal(decode(from_bytes(kind, gradient.size, wire, step=step)), decode(packet))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FLAT), gradients)
def test_every_codec_leaves_no_more_than_the_gradient_behind(kind, gradient):
    """Error feedback converges because the part not sent is shorter than what was to be sent."""
    decoded = decode(encode(kind, gradient))
    assert np.isfinite(decoded).all()
    assert np.linalg.norm(gradient - decoded) <= np.linalg.norm(gradient) * (1 + 1e-6) + 1e-40


@pytest.mark.parametrize("name", CODECS)
def test_all_zeros_stay_all_zeros(name):
    gradient = np.zeros((6, 8))
    d = distortion(codec(name), gradient)
    assert (d.decoded == 0).all()
    assert (d.relative_error, d.zeroed, d.overflowed) == (0, 0, 0)


def test_one_huge_value_drowns_the_rest_and_the_count_says_so():
    gradient = np.full((10, 10), 1e-3)
    gradient[3, 3] = 1e20
    assert distortion(EightBit(), gradient).zeroed == 99
    assert distortion(EightBit(10), gradient).zeroed == 9
    assert distortion(TopK(0.01), gradient).zeroed == 99
    assert distortion(OneBit(), gradient).relative_error > 0.9
    assert distortion(Dense("fp16"), gradient).overflowed == 1
    assert encode(Dense("fp16"), gradient).overflowed == 1
    assert distortion(Dense("fp16"), gradient).relative_error == np.inf


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "Not finite"), (-np.inf, "Not finite"), (1e39, "Too large for FP32")]
)
def test_nan_infinite_and_too_large_values_are_named_with_their_place(name, value, word):
    gradient = np.ones((4, 4))
    gradient[1, 2] = value
    with pytest.raises(CourseError, match=f"{word} in the gradient: 1 of 16 values") as refused:
        encode(codec(name), gradient)
    assert "position 6" in str(refused.value)
    gradient[0, 0] = 1e39  # what is only too large is not called infinite
    with pytest.raises(CourseError, match=r"Not finite.*: 1 of 16|Too large.*: 2 of 16"):
        encode(codec(name), gradient)


def test_top_k_keeps_the_largest_with_their_places():
    packet = encode(TopK(0.25), [0.1, -9.0, 3.0, -0.2, 0.0, 4.0, 1.0, 2.0])
    assert packet.parts["positions"].tolist() == [1, 5]
    assert packet.parts["values"].tolist() == [-9.0, 4.0]
    assert packet.wire_B == 2 * 8


def test_one_percent_kept_is_fifty_times_less_not_a_hundred():
    size = 10**5
    assert packet_B(Dense(), size) / packet_B(TopK(0.01), size) == 50


def test_random_k_draws_the_same_places_on_all_ranks_and_others_in_each_step():
    gradient = np.arange(1.0, 101.0)
    first, second = (decode(encode(RandomK(0.1), gradient, step=0, rank=r)) for r in (0, 5))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, decode(encode(RandomK(0.1), gradient, step=1)))
    own = [encode(RandomK(0.1, shared=False), gradient, rank=r).parts["positions"].tolist() for r in (0, 1)]
    assert own[0] != own[1]


def test_rescaled_random_k_is_right_on_average():
    gradient = np.random.default_rng(0).standard_normal(50)
    mean = np.mean([decode(encode(RandomK(0.2, rescale=True), gradient, step=s)) for s in range(4000)], axis=0)
    np.testing.assert_allclose(mean, gradient, atol=0.2)


def test_eight_bits_are_within_half_a_step_of_the_block():
    gradient = np.random.default_rng(1).standard_normal(1000)
    step = np.abs(gradient.reshape(-1, 100)).max(axis=1).repeat(100) / 127
    assert (np.abs(decode(encode(EightBit(100), gradient)) - gradient) <= step * 0.5001).all()


def test_one_bit_keeps_signs_and_mean_magnitude():
    gradient = np.array([3.0, -1.0, 2.0, -2.0, 7.0])
    decoded = decode(encode(OneBit(), gradient))
    assert decoded.tolist() == [3, -3, 3, -3, 3]
    assert decode(encode(OneBit(4), gradient)).tolist() == [2, -2, 2, -2, 7]


def test_low_rank_finds_a_matrix_of_that_rank_and_no_other():
    rng = np.random.default_rng(2)
    thin = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
    assert distortion(LowRank(2), thin).relative_error < 1e-6
    assert distortion(LowRank(1), thin).relative_error > 0.1
    assert packet_B(LowRank(2), 600, ((30, 20),)) == 4 * 2 * (30 + 20)
    assert packet_B(LowRank(2), 600, ((1, 600),)) == 4 * 600  # a bias goes dense


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("top-k", {"keep": 0}),
        ("top-k", {"keep": 1.1}),
        ("top-k", {"keep": np.nan}),
        ("top-k", {"keep": "1%"}),
        ("top-k", {"kep": 0.1}),
        ("topp", {}),
        ("8-bit", {"block": 0}),
        ("low-rank", {"rank": 1.5}),
        ("dense", {"format": "fp8"}),
    ],
)
def test_wrong_codecs_get_a_sentence(name, options):
    with pytest.raises(CourseError):
        codec(name, **options)


def test_low_rank_of_a_vector_is_refused():
    with pytest.raises(CourseError, match="matrix"):
        encode(LowRank(), [1.0, 2.0])
    with pytest.raises(CourseError, match="tensors"):
        packet_B(LowRank(), 100)


def test_bytes_that_are_missing_are_noticed():
    wire = to_bytes(encode(TopK(0.5), np.ones(8)))
    with pytest.raises(CourseError, match="31 bytes arrived; a packet of 8 values has 32"):
        from_bytes(TopK(0.5), 8, wire[:-1])


@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_an_empty_gradient_comes_back_empty(kind):
    packet = encode(kind, [])
    assert packet.wire_B == packet_B(kind, 0)
    assert decode(from_bytes(kind, 0, to_bytes(packet))).size == 0
