"""Two links side by side, generations, and the two ends of a staged copy against measurements."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.links import staging
from course_lib.links.linerate import spec
from course_lib.links.sidebyside import PCIE_TO_NVLINK, generations, short_title, side, times_faster

SIZES = np.logspace(0, 12, 49)


@pytest.mark.parametrize("name", PCIE_TO_NVLINK)
@pytest.mark.parametrize("both", [False, True])
def test_rate_rises_with_size_and_stays_below_the_line(name, both):
    found = side(name, SIZES, both_ways=both)
    assert (np.diff(found.rate_Bps) > 0).all()
    assert (found.rate_Bps < found.limit_Bps).all()
    half = side(name, found.half_B, both_ways=both)
    assert float(half.rate_Bps) == pytest.approx(found.ways * found.bandwidth_Bps / 2)


def test_no_message_costs_the_latency():
    assert float(side("pcie5", 0).time_s) == spec("pcie5").latency_s
    assert float(side("pcie5", 0).rate_Bps) == 0


def test_times_faster_turns_over_with_its_arguments_and_refuses_other_sizes():
    a, b = side("pcie4", SIZES), side("nvlink3", SIZES)
    np.testing.assert_allclose(times_faster(a, b) * times_faster(b, a), 1)
    with pytest.raises(CourseError, match="sizes"):
        times_faster(a, side("nvlink3", SIZES[1:]))


def test_titles_are_short_and_different():
    titles = [short_title(name) for name in PCIE_TO_NVLINK]
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 12


def test_links_times_link_is_the_generation():
    for found in generations():
        assert found.links * found.link_Bps == pytest.approx(found.nvlink_Bps)
        assert found.ratio > 4


def test_staged_copy_lies_between_half_and_all_of_a_crossing():
    ends = staging.staged_ends(np.logspace(3, 11, 33))
    assert (ends.stored_Bps <= ends.pipelined_Bps * (1 + 1e-12)).all()
    assert (ends.pipelined_Bps < ends.direct_Bps).all()
    assert ends.stored_Bps[-1] / ends.direct_Bps[-1] == pytest.approx(0.5, abs=0.01)
    assert ends.pipelined_Bps[-1] / ends.direct_Bps[-1] > 0.95


def test_measured_copies_without_peer_access_stay_below_the_fast_end():
    for found in staging.without_peer_access():
        ends = staging.staged_ends(found.message_B, found.link)
        assert found.rate_Bps < float(ends.pipelined_Bps)
        assert 0.75 < found.rate_Bps / float(ends.stored_Bps) < 1.35
        assert found.lowest_Bps <= found.rate_Bps <= found.highest_Bps


@pytest.mark.parametrize("bad", [0, -1, float("nan")])
def test_staging_refuses_sizes_in_words(bad):
    with pytest.raises(CourseError, match="message_B"):
        staging.staged_ends(bad)
