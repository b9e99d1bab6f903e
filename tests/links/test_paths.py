"""Staged copies against a simulated pipeline; a PCIe tree against flows counted by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.links.paths import (
    best_chunk_B,
    direct_s,
    flow_rates,
    loads,
    lost_pairs,
    pair_paths,
    route,
    staged_s,
    tree,
)


def simulated(message_B, latency_in_s, bandwidth_in_Bps, latency_out_s, bandwidth_out_Bps, chunk_B):
    """Two buffers, chunk by chunk: the second stage starts when its chunk is in, the first when a buffer is free."""
    sizes = []
    left = message_B
    while left > 0 or not sizes:
        sizes.append(min(chunk_B, left))
        left -= sizes[-1]
    entered, left_at = [], []
    for i, size in enumerate(sizes):
        start = max(entered[-1] if entered else 0.0, left_at[i - 2] if i >= 2 else 0.0)
        entered.append(start + latency_in_s + size / bandwidth_in_Bps)
        left_at.append(max(entered[-1], left_at[-1] if left_at else 0.0) + latency_out_s + size / bandwidth_out_Bps)
    return left_at[-1]


STAGE = st.tuples(st.floats(min_value=0, max_value=1e-3), st.floats(min_value=1e9, max_value=1e11))


@settings(max_examples=150, deadline=None)
@given(st.integers(min_value=0, max_value=2**24), STAGE, STAGE, st.integers(min_value=2**14, max_value=2**25))
def test_the_formula_is_the_simulated_pipeline(message_B, stage_in, stage_out, chunk_B):
    expected = simulated(float(message_B), *stage_in, *stage_out, float(chunk_B))
    assert staged_s(message_B, *stage_in, *stage_out, chunk_B=chunk_B) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=2**16, max_value=2**30), STAGE, STAGE)
def test_the_best_chunk_beats_every_other_equal_chunk(message_B, stage_in, stage_out):
    best = staged_s(message_B, *stage_in, *stage_out)
    most = max(message_B // 4096, 1)
    counts = np.unique(np.clip(np.round(np.logspace(0, np.log10(most), 300)), 1, most))
    assert best <= staged_s(message_B, *stage_in, *stage_out, chunk_B=message_B / counts).min() * (1 + 1e-9)
    assert 4096 <= best_chunk_B(message_B, *stage_in, *stage_out) <= message_B


def test_staging_lies_between_its_slower_stage_and_store_and_forward():
    stage_in, stage_out = (10e-6, 50e9), (12e-6, 40e9)
    sizes = np.logspace(4, 10, 40)
    staged = staged_s(sizes, *stage_in, *stage_out)
    assert (staged >= direct_s(sizes, *stage_out)).all()
    both = direct_s(sizes, *stage_in) + direct_s(sizes, *stage_out)
    assert (staged <= both * (1 + 1e-12)).all()
    assert staged[-1] / direct_s(sizes[-1], *stage_out) < 1.02
    assert staged[0] == pytest.approx(both[0])


def test_published_copies_without_peer_access_lie_between_the_two():
    # HGX H100 with peer access off copies 37 GB/s over two Gen5 links of about 57.
    link = (10e-6, 57e9)
    forward = 1e9 / staged_s(1e9, *link, *link, chunk_B=1e9) / 1e9
    pipelined = 1e9 / staged_s(1e9, *link, *link) / 1e9
    assert forward < 37 < pipelined


def test_sizes_of_every_kind():
    link = (1e-6, 50e9)
    assert staged_s(0, *link, *link) == pytest.approx(2e-6)
    assert staged_s(1, *link, *link) == pytest.approx(2e-6, rel=1e-3)
    assert staged_s(np.int32(2**31 - 1), *link, *link) == pytest.approx(staged_s(float(2**31 - 1), *link, *link))
    assert staged_s(2**60, *link, *link) == pytest.approx(2**60 / 50e9, rel=1e-3)
    assert staged_s(0.5, *link, *link) > 0
    assert staged_s([1e6, 1e9], *link, *link).shape == (2,)
    assert staged_s(1e9, [1e-6, 2e-6], 50e9, 1e-6, [[10e9], [50e9], [90e9]]).shape == (3, 2)
    assert staged_s(1e9, 0, 50e9, 0, 50e9) == pytest.approx(0.02, rel=1e-5)


@pytest.mark.parametrize("position", range(6))
@pytest.mark.parametrize("wrong", [-1, float("nan"), "1", True])
def test_impossible_stages_are_refused(position, wrong):
    arguments = [1e6, 1e-6, 50e9, 1e-6, 50e9, 1e5]
    arguments[position] = wrong
    with pytest.raises(CourseError):
        staged_s(*arguments)


def test_a_chunk_of_nothing_is_refused():
    with pytest.raises(CourseError, match="chunk_B"):
        staged_s(1e6, 1e-6, 50e9, 1e-6, 50e9, chunk_B=0)


def test_stages_of_other_shapes_are_named():
    for chunk_B in (None, 1e5):
        with pytest.raises(CourseError, match=r"message_B has the shape \(3,\) and latency_out_s \(2,\)"):
            staged_s([1e6, 2e6, 3e6], 1e-6, 50e9, [1e-6, 2e-6], 50e9, chunk_B=chunk_B)


# The tree: two sockets, two switches under the first, one GPU beside them.

BOX = tree(
    {
        "cpu0": {"sw0": ["gpu0", "gpu1", "nic0"], "sw1": ["gpu2", "gpu3"]},
        "cpu1": [{"sw2": {"sw3": ["gpu4"], "sw4": ["gpu5"]}}, "gpu6"],
    },
    60e9,
    socket_Bps=40e9,
)


def rates(flows, **options):
    return (flow_rates(BOX, flows, **options).rate_Bps / 1e9).tolist()


def test_the_layout_is_read():
    assert BOX.of_kind("root") == ["cpu0", "cpu1"]
    assert BOX.of_kind("switch") == ["sw0", "sw1", "sw2", "sw3", "sw4"]
    assert BOX.of_kind("nic") == ["nic0"]
    assert len(BOX.of_kind("gpu")) == 7


def test_pairs_have_the_letters_of_nvidia_smi():
    pairs = pair_paths(BOX)
    assert pairs["gpu0", "gpu1"] == "PIX"
    assert pairs["gpu4", "gpu5"] == "PXB"
    assert pairs["gpu0", "gpu2"] == "PHB"
    assert pairs["gpu4", "gpu6"] == "PHB"
    assert pairs["gpu0", "gpu4"] == "SYS"
    assert len(pairs) == 21


def test_acs_sends_what_turns_in_a_switch_to_the_root_complex():
    assert route(BOX, "gpu0", "gpu1", acs=True) == [("gpu0", "sw0"), ("sw0", "cpu0"), ("cpu0", "sw0"), ("sw0", "gpu1")]
    assert lost_pairs(BOX) == [("gpu0", "gpu1"), ("gpu2", "gpu3"), ("gpu4", "gpu5")]
    assert lost_pairs(BOX, acs=["sw1"]) == [("gpu2", "gpu3")]
    # The pair turns in sw2: access control below it, where it only passes, changes nothing.
    assert lost_pairs(BOX, acs=["sw3", "sw4"]) == []
    assert lost_pairs(BOX, acs="sw2") == [("gpu4", "gpu5")]
    assert lost_pairs(BOX, acs=False) == []
    assert pair_paths(BOX, acs=True)["gpu0", "gpu1"] == "PHB"
    assert route(BOX, "gpu0", "cpu0", acs=True) == route(BOX, "gpu0", "cpu0")


def test_a_shared_uplink_is_counted_once_with_the_sum_of_its_flows():
    assert rates([("gpu0", "cpu0")]) == [60]
    assert rates([("gpu0", "cpu0"), ("gpu1", "cpu0")]) == [30, 30]
    assert rates([("gpu0", "cpu0"), ("gpu1", "cpu0"), ("nic0", "cpu0")]) == pytest.approx([20, 20, 20])
    assert rates([("gpu0", "cpu0"), ("gpu2", "cpu0")]) == [60, 60]


def test_the_two_directions_of_a_link_are_separate():
    assert rates([("gpu0", "cpu0"), ("cpu0", "gpu0")]) == [60, 60]
    assert rates([("gpu0", "gpu1"), ("gpu1", "gpu0")]) == [60, 60]


def test_sockets_are_joined_by_their_own_link():
    shares = flow_rates(BOX, [("gpu0", "gpu4"), ("gpu2", "gpu5")])
    assert (shares.rate_Bps / 1e9).tolist() == [20, 20]
    assert shares.bottleneck == (("cpu0", "cpu1"), ("cpu0", "cpu1"))


def test_max_min_gives_what_others_cannot_use():
    # gpu0 and gpu1 share sw0's uplink; gpu1 goes on over the socket link, which three flows share: 40 / 3 each.
    flows = [("gpu0", "cpu0"), ("gpu1", "gpu4"), ("gpu2", "gpu5"), ("gpu3", "gpu6")]
    assert rates(flows) == pytest.approx([60 - 40 / 3, 40 / 3, 40 / 3, 40 / 3])


def test_acs_makes_peer_copies_and_host_copies_share():
    assert rates([("gpu0", "gpu1"), ("nic0", "cpu0")]) == [60, 60]
    assert rates([("gpu0", "gpu1"), ("nic0", "cpu0")], acs=True) == [30, 30]


def test_loads_are_sums_and_never_above_capacity():
    flows = [(a, b) for a in BOX.of_kind("gpu") for b in BOX.of_kind("gpu") if a != b]
    for acs in (False, True):
        shares = flow_rates(BOX, flows, acs=acs)
        assert (shares.load_Bps <= shares.capacity_Bps * (1 + 1e-9)).all()
        assert (shares.rate_Bps > 0).all()
        # Every flow is held back by a full link on its own path.
        for flow, link in zip(shares.flows, shares.bottleneck):
            i = shares.links.index(link)
            assert shares.load_Bps[i] == pytest.approx(shares.capacity_Bps[i])
            assert link in route(BOX, *flow, acs=acs)


def test_loads_by_part_are_those_of_the_links():
    up_Bps, down_Bps = loads(BOX, flow_rates(BOX, [("gpu0", "cpu0"), ("cpu0", "gpu2")]))
    at = BOX.names.index
    assert up_Bps[at("sw0")] == up_Bps[at("gpu0")] == 60e9
    assert down_Bps[at("sw1")] == down_Bps[at("gpu2")] == 60e9
    assert up_Bps.sum() == down_Bps.sum() == 120e9


def test_no_flows_are_no_rates():
    assert flow_rates(BOX, []).rate_Bps.shape == (0,)


def test_uplinks_can_be_narrower():
    box = tree({"cpu0": {"sw0": ["gpu0", "gpu1"]}}, 60e9, uplinks_Bps={"sw0": 30e9})
    assert (flow_rates(box, [("gpu0", "cpu0"), ("gpu1", "gpu0")]).rate_Bps / 1e9).tolist() == [30, 60]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flow_rates(BOX, [("gpu0", "gpu9")]), "gpu0|nearest"),
        (lambda: flow_rates(BOX, [("gpu0", "gpu0")]), "itself"),
        (lambda: flow_rates(BOX, [("gpu0", "sw0")]), "is a switch"),
        (lambda: flow_rates(BOX, ["gpu0"]), "pair"),
        (lambda: flow_rates(BOX, [("gpu0",)]), "pair"),
        (lambda: route(BOX, "gpu0", "gpu1", acs=["sw9"]), "sw"),
        (lambda: route(BOX, "gpu0", "gpu1", acs=["gpu0"]), "switch"),
        (lambda: route("host", "gpu0", "gpu1"), "'host'; a Tree is expected"),
        (lambda: pair_paths(None), "a Tree is expected"),
        (lambda: lost_pairs({"cpu0": ["gpu0"]}), "a Tree is expected"),
        (lambda: flow_rates(None, []), "a Tree is expected"),
        (lambda: tree({}, 60e9), "layout"),
        (lambda: tree("cpu0", 60e9), "layout"),
        (lambda: tree({"cpu0": 5}, 60e9), "hangs"),
        (lambda: tree({"cpu0": "gpu0"}, 60e9), "hangs"),
        (lambda: tree({"cpu0": ["gpu0", "gpu0"]}, 60e9), "name"),
        (lambda: tree({"cpu0": [1]}, 60e9), "name"),
        (lambda: tree({"cpu0": ["gpu0"], "cpu1": ["gpu1"]}, 60e9), "socket_Bps"),
        (lambda: tree({"cpu0": ["gpu0"]}, 0), "bandwidth_Bps"),
        (lambda: tree({"cpu0": ["gpu0"]}, 60e9, uplinks_Bps={"gpu1": 1e9}), "gpu0"),
        (lambda: tree({"cpu0": ["gpu0"]}, 60e9, uplinks_Bps={"gpu0": -1}), "gpu0"),
    ],
)
def test_what_is_no_tree_or_no_flow_is_refused_in_words(call, words):
    with pytest.raises(CourseError, match=words):
        call()
