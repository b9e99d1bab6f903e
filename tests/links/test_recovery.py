"""Loss and recovery: closed forms against packets that are played, and limits that they have to keep."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.links import paths, rdma, recovery


@pytest.mark.parametrize("way", recovery.RECOVERIES)
@pytest.mark.parametrize(("loss", "behind"), [(0.0, 10), (0.01, 0), (0.01, 100), (0.1, 30), (0.5, 4)])
def test_closed_form_is_what_a_run_gives(way, loss, behind):
    played = recovery.simulated_share(loss, behind, way, n_packets=200_000)
    assert played == pytest.approx(recovery.goodput_share(loss, behind, way), rel=0.03)


def test_go_back_n_never_beats_selective_repeat_and_equals_it_with_nothing_behind():
    loss, behind = np.meshgrid(np.linspace(0, 0.9, 19), [0, 1, 10, 1000])
    back, again = (recovery.goodput_share(loss, behind, way) for way in recovery.RECOVERIES)
    assert (back <= again + 1e-15).all()
    assert np.allclose(back[0], again[0])
    assert (np.diff(back, axis=1) < 0).all()


def test_without_loss_the_rate_is_the_payload_rate_of_the_link():
    from course_lib.links.linerate import payload_Bps

    for link in ("eth-400", "ib-ndr"):
        assert recovery.goodput_Bps(link, 0.0, 1e-5) == pytest.approx(payload_Bps(link, max_payload_B=4096))


def test_what_cannot_be_is_refused_in_words():
    with pytest.raises(CourseError, match="below 1"):
        recovery.goodput_share(1.0, 10)
    with pytest.raises(CourseError, match="go-back-N"):
        recovery.goodput_share(0.1, 10, "go-back")
    with pytest.raises(CourseError, match="no network link"):
        recovery.goodput_Bps("pcie5", 0.1, 1e-5)
    with pytest.raises(CourseError, match="too many"):
        recovery.simulated_share(0.999, 1000)


def test_a_relay_of_two_stages_is_a_staged_copy():
    stages = [(8e-6, 50e9), (2e-6, 30e9)]
    for size in (1e6, 64e6):
        ours = rdma.relayed_s(size, stages, 1e6)
        assert ours == pytest.approx(paths.staged_s(size, *stages[0], *stages[1], chunk_B=1e6), rel=1e-9)


def test_straight_is_never_slower_than_through_the_hosts():
    straight, through = rdma.between_hosts_s(np.logspace(0, 10, 40))
    assert (straight < through).all()
    with pytest.raises(CourseError, match="at least one stage"):
        rdma.relayed_s(1e6, [])
