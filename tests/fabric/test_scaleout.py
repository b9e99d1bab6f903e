import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.fabric.clos import clos
from course_lib.fabric.cuts import bisection_Bps, cut_Bps, path_Bps
from course_lib.fabric.patterns import shift
from course_lib.fabric.registry import build
from course_lib.fabric.routes import CHOICES, routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import nvswitch_box, simple_host
from course_lib.fabric.sharing import loads, max_min_rates
from course_lib.fabric.topology import LINK_KINDS, vertices_of
from tests.fabric.checks import all_gpu_pairs, assert_conserved

HOST = nvswitch_box("box", 4, (3, 2), 25e9)

shapes = st.fixed_dictionaries(
    {
        "n_hosts": st.integers(1, 13),
        "nics_per_host": st.sampled_from([1, 2, 3, 4, 8]),
        "radix": st.sampled_from([6, 8, 12, 16, None]),
        "oversubscription": st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 7.0]),
        "attach": st.sampled_from(["rail", "leaf"]),
        "cross_rail": st.sampled_from(["spine", "host"]),
    }
)


@given(shapes, st.sampled_from(CHOICES), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_every_cluster_carries_all_pairs(shape, choice, seed):
    try:
        t = cluster(HOST, **shape)
    except CourseError:  # too large for this radix; the sentences are tested below
        return
    src, dst = all_gpu_pairs(t)
    paths = routes(t, src, dst, choice, seed)
    assert_conserved(t, src, dst, paths)
    assert np.isfinite(path_Bps(t, paths)[src != dst]).all()
    net = t.plan.net
    # No switch has more cables than ports, and the switches are all there.
    cables = np.bincount(t.src, t.parallel, t.n_vertices)
    switches = np.concatenate([vertices_of(t, k) for k in ("leaf", "spine", "core")])
    assert len(switches) == net.n_switches
    assert net.n_cables == np.count_nonzero(t.link_kind == LINK_KINDS.index("ib")) / 2
    assert (cables[switches] <= net.radix).all()


@given(shapes)
@settings(max_examples=25, deadline=None)
def test_a_plan_is_as_short_as_a_search(shape):
    shape |= {"cross_rail": "spine", "radix": None}
    t = cluster(HOST, **shape)
    if shape["nics_per_host"] > 4 or shape["n_hosts"] == 1:
        return  # striped cards are not one shortest path
    src, dst = all_gpu_pairs(t)
    np.testing.assert_allclose(routes(t, src, dst).latency_s, routes(replace(t, plan=None), src, dst).latency_s)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("attach", ["rail", "leaf"])
@pytest.mark.parametrize("n_hosts", [2, 4, 5, 6])
def test_bisection_is_the_least_cut_of_all_halves_by_hosts(n_hosts, attach, ratio):
    t = cluster(
        nvswitch_box("two", 2, [18], 25e9), n_hosts, nics_per_host=2, radix=8, attach=attach, oversubscription=ratio
    )
    least = min(
        cut_Bps(t, [2 * h + g for h in side for g in (0, 1)])
        for side in itertools.combinations(range(n_hosts), n_hosts // 2)
    )
    assert bisection_Bps(t) == pytest.approx(least)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0])
@pytest.mark.parametrize("attach", ["rail", "leaf"])
def test_oversubscription_divides_what_leaves_a_leaf_exactly(ratio, attach):
    block = clos(4096, 8, oversubscription=ratio, attach=attach, radix=64, levels=3).hosts_per_block
    t = cluster(build("hgx-h100", merged=True), 6 * block, oversubscription=ratio, attach=attach)
    net = t.plan.net
    assert net.hosts_per_block == block
    ports = block * (1 if attach == "rail" else 8)
    assert net.uplinks * ratio >= ports - 1e-9 > (net.uplinks - 1) * ratio
    rate = max_min_rates(t, routes(t, *shift(t.n_gpus, 8 * block)))
    assert rate == pytest.approx(min(50e9, 50e9 / ratio))
    assert bisection_Bps(t) == pytest.approx(t.n_gpus / 2 * min(50e9, 50e9 / ratio))


def test_the_table_of_fixed_routes_is_non_blocking_for_shifts():
    t = cluster(build("hgx-h100", merged=True), 64, radix=16)  # three levels
    assert t.plan.net.levels == 3
    for by in (1, 2, 5, 8, 16, 31, 32, 63):
        src, dst = shift(64 * 8, 8 * by)
        load = loads(t, routes(t, src, dst, "fixed"), 1.0)
        assert load.max() == pytest.approx(1.0)
        assert loads(t, routes(t, src, dst, "adaptive"), 1.0).max() == pytest.approx(1.0)


def test_same_rail_is_one_switch_away_and_other_rails_over_the_spine_or_the_host():
    spine = cluster(build("hgx-h100", merged=True), 4)
    host = cluster(build("hgx-h100", merged=True), 4, cross_rail="host")
    lone = cluster(build("hgx-h100", merged=True), 4, levels=1)
    for t in (spine, host, lone):
        paths = routes(t, 3, 8 + 3)
        assert paths.count.sum() == 4  # card, leaf, card, GPU
    names = [{t.kind[v] for v in t.src[routes(t, 3, 8 + 4).first]} for t in (spine, host, lone)]
    has_spine = [6 in kinds for kinds in names]
    has_nvswitch = [1 in kinds for kinds in names]
    assert has_spine == [True, False, False]
    assert has_nvswitch == [False, True, True]
    assert vertices_of(lone, "spine").size == 0


def test_more_cards_than_gpus_are_striped():
    t = cluster(build("hgx-h100", merged=True), 4, nics_per_host=32, bandwidth_Bps=12.5e9)
    assert path_Bps(t, routes(t, 0, 8))[0] == pytest.approx(50e9)
    few = cluster(build("hgx-h100", merged=True), 4, nics_per_host=4)
    assert max_min_rates(few, routes(few, [0, 1], [8, 9])) == pytest.approx([25e9, 25e9])


def test_a_latency_that_is_given_is_the_latency():
    t = cluster(simple_host("switch", 8, 450e9, 1e-6), 4, latency_s=5e-6, switch_latency_s=0)
    assert routes(t, [0, 0, 0], [1, 8, 9]).latency_s == pytest.approx([1e-6, 5e-6, 5e-6])
    zero = cluster(simple_host("switch", 8, 450e9, 0), 4, latency_s=0, switch_latency_s=0)
    assert routes(zero, 0, 9).latency_s[0] == 0
    with pytest.raises(CourseError, match=r"takes .* already"):
        cluster(build("dgx1-v100"), 2, latency_s=1e-9)


def test_hosts_with_a_pcie_tree_go_over_their_own_cards():
    t = cluster(build("dgx1-v100"), 2)
    assert t.plan.net.nics_per_host == 4
    src, dst = all_gpu_pairs(t)
    assert_conserved(t, src, dst, routes(t, src, dst))
    paths = routes(t, [0, 1], [8, 9])
    assert max_min_rates(t, paths) == pytest.approx([min(50e9, 15.754e9) / 2] * 2, rel=1e-3)


def test_131072_gpus_are_built_and_routed_in_a_small_space():
    t = cluster(build("hgx-h100", merged=True), 16384)
    assert t.n_gpus == 131072
    assert t.plan.net.levels == 3
    held = sum(getattr(t, f).nbytes for f in ("src", "dst", "bandwidth_Bps", "latency_s", "kind", "host", "level"))
    assert held < 60e6
    src, dst = shift(t.n_gpus, 1)
    paths = routes(t, src, dst)
    assert len(paths.first) < 10 * t.n_gpus
    load = loads(t, paths, 1e9)
    assert load.max() == pytest.approx(1e9)
    # Between hosts of the ring only one card sends; the bytes of all pairs reach their ends.
    assert load[t.kind[t.src] == 0].sum() == pytest.approx(131072e9)
    assert bisection_Bps(t) == pytest.approx(131072 / 2 * 50e9)
    half = loads(t, routes(t, *shift(t.n_gpus, t.n_gpus // 2)), 1.0)
    assert half.max() == pytest.approx(1.0)


def test_impossible_networks_are_refused_in_words():
    with pytest.raises(CourseError, match="8-port switches, which reach"):
        clos(10_000, 4, radix=8)
    with pytest.raises(CourseError, match="need 16 leaves; 1 level"):
        clos(128, levels=1)
    with pytest.raises(CourseError, match="do not fit"):
        clos(8, 16, radix=8, attach="leaf")
    for bad in (
        {"n_hosts": 0},
        {"n_hosts": 2.5},
        {"n_hosts": True},
        {"n_hosts": 2, "oversubscription": 0},
        {"n_hosts": 2, "radix": 1},
    ):
        with pytest.raises(CourseError):
            clos(**bad)
    with pytest.raises(CourseError, match="no attach"):
        clos(2, attach="rails")
    with pytest.raises(CourseError, match="5 cards for 4 GPUs"):
        cluster(HOST, 2, nics_per_host=5)
    with pytest.raises(CourseError, match="cannot be the host"):
        cluster(build("tpu-v5e-16"), 2)
    with pytest.raises(CourseError, match="no network 'roce'"):
        cluster(HOST, 2, link_kind="roce")


def test_one_host_is_a_cluster():
    t = cluster(HOST, 1, nics_per_host=4)
    src, dst = all_gpu_pairs(t)
    assert_conserved(t, src, dst, routes(t, src, dst))
    assert bisection_Bps(t) == bisection_Bps(HOST)


def test_racks_of_an_nvlink_domain_keep_their_trays():
    rack = build("nvl72", merged=True)
    assert rack.n_hosts == 18
    assert rack.host[rack.kind == 1].tolist() == [-1]
    t = cluster(rack, 3, nics_per_host=72)
    assert t.n_hosts == 54
    assert len(set(t.names)) == t.n_vertices
    assert (t.host[: t.n_gpus] == np.arange(216) // 4).all()
    src, dst = np.random.default_rng(2).integers(216, size=(2, 200))
    assert_conserved(t, src, dst, routes(t, src, dst, "hashed", 4))
    assert max_min_rates(t, routes(t, *shift(216, 72))) == pytest.approx(50e9)
    assert path_Bps(t, routes(t, 0, 71))[0] == pytest.approx(900e9)


def test_a_card_brings_no_more_than_its_slot():
    t = cluster(build("dgx1-v100"), 2)  # 50 GB/s cards in PCIe 3 slots
    assert bisection_Bps(t) == pytest.approx(cut_Bps(t, range(8))) == pytest.approx(4 * 15.754e9, rel=1e-3)
