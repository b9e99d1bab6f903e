"""A factor with a name is named, and no other wrong number gets a hint."""

import pytest

from course_lib.grading.answers import Number

RATE = Number("GB/s")


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (0.4375, "1000 times too small"),
        (437500.0, "1000 times too large"),
        (437.5 * 8, "bits and bytes"),
        (437.5 / 8, "bits and bytes"),
        (875.0, "direction"),
        (437.5 / 1.024, "2.4 %"),
        (437.5 / 2**30 * 1e9, "7.4 %"),
        (437.5 * 2**30 / 1e9, "7.4 %"),
        (437.5 / 1.048576, "4.9 %"),
    ],
)
def test_slips_of_unit_are_named(given_, words):
    assert not RATE.same(given_, 437.5)
    assert words in RATE.hint(given_, 437.5)


@pytest.mark.parametrize("given_", [123.0, -437.5, 0.0, 440.1 + 5])
def test_other_wrong_numbers_get_no_made_up_hint(given_):
    assert RATE.hint(given_, 437.5) == ""
