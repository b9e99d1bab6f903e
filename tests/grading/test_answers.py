"""Types are strict, tolerances are relative on the difference, slips are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading import wire
from course_lib.grading.answers import Choice, Entries, Listing, Number, Plain, Truth

RATE = Number("GB/s")


@pytest.mark.parametrize("given_", [437.49999, 437.5000001, 438, 437, 437.5])
def test_the_last_digit_does_not_matter(given_):
    assert RATE.same(given_, 437.5)


@pytest.mark.parametrize("factor", [0.9901, 1.0099, 0.9, 1.1])
def test_the_tolerance_is_one_per_cent_of_the_right_answer(factor):
    assert RATE.same(437.5 * factor, 437.5) == (abs(factor - 1) < 0.01)


@given(st.floats(1e-12, 1e15), st.sampled_from([-1, 1]))
def test_an_answer_on_the_edge_counts_and_one_beyond_does_not(right, side):
    assert RATE.same(right * (1 + side * 0.01), right)
    assert not RATE.same(right * (1 + side * 0.010001), right) or right < 1e-9


@pytest.mark.parametrize(
    "given_", ["437.5", 437.5j, True, None, float("nan"), float("inf"), [437.5], np.array([437.5]), np.array(True), {}]
)
def test_what_is_no_number_is_refused_with_what_was_expected(given_):
    text = RATE.refuse(given_, 437.5)
    assert "a number in GB/s" in text
    assert "got" in text
    assert not RATE.same(given_, 437.5)


@pytest.mark.parametrize("given_", [np.where(True, 437.5, 0), np.where(True, 438, 0), np.float32(437.5)])
def test_what_numpy_makes_of_two_numbers_is_a_number(given_):
    crossed = wire.decode(wire.encode(given_))
    assert RATE.refuse(crossed, 437.5) == ""
    assert RATE.same(crossed, 437.5)
    assert "437" in RATE.show(crossed) or "438" in RATE.show(crossed)


def test_an_object_that_equals_everything_is_refused_by_its_type():
    class Yes:
        def __eq__(self, other):
            return True

        __hash__ = None

    crossed = wire.decode(wire.encode(Yes()))
    assert "Yes" in RATE.refuse(crossed, 437.5)


def test_arrays_need_the_shape_and_lists_of_numbers_are_arrays():
    right = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert RATE.same([[1, 2], [3, 4.01]], right)
    assert RATE.same(right.astype("f4"), right)
    for bad in ([1, 2, 3, 4], [[1, 2], [3]], right[0], [[1, 2], [3, "4"]], [[1, 2], [3, True]], right > 2, 2.0):
        assert RATE.refuse(bad, right)
    assert "1000" in RATE.hint(right * 1000, right)


def test_whole_numbers_are_exact():
    count = Number("bytes", whole=True)
    assert count.same(8.0, 8)
    assert count.same(2**60, 2**60)
    assert not count.same(2**60 + 1, 2**60)
    assert count.refuse(7.5, 8)


def test_nothing_is_near_enough_to_zero_but_zero():
    assert RATE.same(0, 0)
    assert not RATE.same(1e-6, 0)
    assert Number("s", near_zero=1e-3).same(1e-4, 0)


def test_infinity_is_an_answer_only_where_it_is_the_right_one():
    assert RATE.same(float("inf"), float("inf"))
    assert not RATE.same(float("-inf"), float("inf"))
    assert not RATE.same(1e300, float("inf"))


def test_choices_forgive_capitals_and_nothing_else():
    way = Choice(("one", "both"))
    assert way.same(" Both ", "both")
    assert not way.same("one", "both")
    assert "'one', 'both'" in way.refuse("two", "both")
    assert way.refuse(2, "both")


def test_truth_is_a_bool():
    assert Truth().same(True, True)
    assert Truth().refuse(1, True)


def test_entries_name_the_key():
    form = Entries(Number("s"), each=False)
    right = {"a": 1.0, "b": 2.0}
    assert form.same({"b": 2, "a": 1}, right)
    assert "'b'" in form.refuse({"a": 1.0}, right)
    assert "Did you mean 'a'" in form.refuse({"aa": 1.0, "b": 2.0}, right)
    assert form.refuse([1, 2], right)
    assert "'b'" in form.hint({"a": 1.0, "b": 3.0}, right)


def test_listings_in_order_or_as_sets():
    pair = Listing((Number("s"), Number("B/s")))
    assert pair.same((1e-6, 5e10), [1e-6, 5e10])
    assert not pair.same([5e10, 1e-6], [1e-6, 5e10])
    assert "2 items" in pair.refuse([1e-6], [1e-6, 5e10])
    some = Listing(Number(whole=True), ordered=False)
    assert some.same([3, 1, 2], [1, 2, 3])
    assert not some.same([1, 2, 2], [1, 2, 3])
    assert not some.same([1, 2], [1, 2, 3])
    assert not some.same([1, 2, 3, 4], [1, 2, 3])


def test_plain_data_is_described_in_words():
    pairs = Plain("a list of pairs", fits=lambda v: isinstance(v, list))
    assert "a list of pairs" in pairs.refuse(3, None)
    assert not pairs.refuse([], None)


def test_a_number_that_is_no_whole_one_is_not_shown_as_one():
    said = Number("steps", whole=True).refuse(123021.4, 123021)
    assert "123021.4" in said
