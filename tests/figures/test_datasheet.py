"""Pictures of data sheets: titles are computed, rows keep their order, and what does not fit is refused in words."""

import pytest

from course_lib.base.errors import CourseError
from course_lib.figures.datasheet import as_printed, forms, in_one_form, prefixes, sheet_to_copy
from course_lib.figures.theme import themed

NAMES, TEXTS, ROLES = ["NVLink", "slot", "card"], ["600 GB/s", "64 GB/s", "200 Gb/s"], ["nvlink", "pcie", "network"]


def test_titles_follow_the_numbers():
    assert as_printed(NAMES, TEXTS, [600, 64, 200], ROLES).layout.title.text == "As printed, NVLink is 3 × the card"
    assert (
        in_one_form(NAMES, TEXTS, [300e9, 32e9, 25e9], ROLES).layout.title.text
        == "In one form, NVLink is 12 × the card"
    )
    copy = sheet_to_copy(["both", "one"], [64e9, 32e9], 26e9, name="PCIe 4")
    assert copy.layout.title.text.replace("<br>", " ") == "Of the 64 GB/s of PCIe 4 one copy gets 26 GB/s: 41 %"


def test_binary_prefixes_are_2_4_9_7_4_and_10_percent_more():
    assert list(prefixes().data[0]["x"]) == pytest.approx([2.4, 4.8576, 7.3741824, 9.9511627776])


def test_a_typed_tag_is_shown_and_not_obeyed():
    assert "<b>" not in forms("<b>1 GB/s", 1e9, 1.0, "16 lanes").layout.title.text.replace("<br>", "")


@pytest.mark.parametrize("rate_Bps", [1.0, 1e9, 1e18])
def test_bars_stay_within_the_axis_for_the_slowest_and_the_fastest(rate_Bps):
    fig = forms("x", rate_Bps, rate_Bps * 8 / 16 / 1e9, "16 lanes", 0)
    low, high = (10**end for end in fig.layout.xaxis.range)
    ends = [x + b for x, b in zip(fig.data[0]["x"], fig.data[0]["base"], strict=True)]
    assert low < min(ends) <= max(ends) < high
    assert len(fig.data) == 1


def test_light_and_dark_differ_in_ground_and_hold_the_same_numbers():
    pictures = []
    for name in ("light", "dark"):
        with themed(name):
            pictures.append(prefixes())
    assert pictures[0].layout.paper_bgcolor != pictures[1].layout.paper_bgcolor
    assert pictures[0].layout.meta == pictures[1].layout.meta


@pytest.mark.parametrize("call", [
    lambda: as_printed(NAMES, TEXTS, [600, 64], ROLES), lambda: in_one_form(NAMES, TEXTS, [300e9, 0, 1e9], ROLES),
    lambda: forms("x", 0, 1, "lanes"), lambda: forms("x", float("nan"), 1, "lanes"), lambda: forms("x", 1e9, 1, "lanes", 7),
    lambda: sheet_to_copy(["a"], [1e9], -1, name="x"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(CourseError):
        call()
