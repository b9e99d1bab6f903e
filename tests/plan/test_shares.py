import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.shares import divisors, nearest, share


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_a_misfit_names_choices_that_fit(total, ways):
    for choice in nearest(total, ways):
        assert total % choice == 0
    if total % ways:
        with pytest.raises(CourseError) as error:
            share(total, ways, what="heads", by="ranks")
        assert all(str(choice) in str(error.value) for choice in nearest(total, ways))
    else:
        assert share(total, ways, what="heads", by="ranks") * ways == total


def test_divisors_are_all_divisors():
    assert divisors(96) == [d for d in range(1, 97) if 96 % d == 0]


@pytest.mark.parametrize("ways", [0, -1, 2.5, "8", None, True])
def test_odd_numbers_of_ranks_are_refused(ways):
    with pytest.raises(CourseError):
        share(8, ways, what="heads", by="ranks")
