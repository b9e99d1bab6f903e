"""Numbers of every size and kind are checked in words."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError, whole


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_whole_number_too_large_for_a_float_is_compared_and_shown_in_short(value):
    with pytest.raises(CourseError, match="has to be at") as caught:
        whole("hosts", value, at_least=1, at_most=8)
    assert len(str(caught.value)) < 160
    assert whole("hosts", value) == value


@pytest.mark.parametrize("value", [8, 8.0, np.int32(8), np.uint8(8), np.float32(8), np.array(8)])
def test_a_whole_number_of_any_kind_is_an_int(value):
    assert type(whole("hosts", value, at_least=1)) is int


@pytest.mark.parametrize("value", [True, "8", None, 2.5, np.nan, np.inf, [8], np.array([8]), 8 + 0j])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(CourseError, match="hosts"):
        whole("hosts", value)
