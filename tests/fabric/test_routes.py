from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.fabric.pciehost import pcie_host
from course_lib.fabric.registry import build, names
from course_lib.fabric.routes import CHOICES, routes
from course_lib.fabric.runs import mix
from course_lib.fabric.sharing import loads
from course_lib.fabric.topology import assemble, link_name, vertices_of
from tests.fabric.checks import all_gpu_pairs, assert_conserved

BUILT = {name: build(name) for name in names()}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", names())
def test_what_leaves_arrives(name, choice):
    t = BUILT[name]
    if t.n_gpus <= 16:
        src, dst = all_gpu_pairs(t)
    else:
        src, dst = np.random.default_rng(1).integers(t.n_gpus, size=(2, 60))
    assert_conserved(t, src, dst, routes(t, src, dst, choice, seed=5))


@given(st.sampled_from(names()), st.data())
@settings(max_examples=60, deadline=None)
def test_bytes_on_links_are_bytes_times_hops(name, data):
    t = BUILT[name]
    gpu = st.integers(0, t.n_gpus - 1)
    pairs = data.draw(st.lists(st.tuples(gpu, gpu), min_size=1, max_size=12))
    sizes = np.array(data.draw(st.lists(st.floats(0, 1e15), min_size=len(pairs), max_size=len(pairs))))
    src, dst = np.array(pairs).T
    paths = routes(t, src, dst, data.draw(st.sampled_from(CHOICES)), data.draw(st.integers(0, 2**63)))
    load = loads(t, paths, sizes)
    flow, link, share = paths.spread()
    expected = np.zeros(t.n_links)
    np.add.at(expected, link, share * sizes[flow])
    np.testing.assert_allclose(load, expected, rtol=1e-9, atol=1e-6)
    moved = src != dst
    out_of_gpus = load[np.isin(t.src, np.unique(src))].sum()
    assert out_of_gpus >= sizes[moved].sum() * (1 - 1e-9)


def test_eighteen_links_over_four_switches_carry_5_4_4_5():
    t = BUILT["hgx-h100"]
    paths = routes(t, 2, 6)
    np.testing.assert_allclose(paths.share * 18, [5, 4, 4, 5, 5, 4, 4, 5])
    assert [link_name(t, k) for k in paths.first[[0, 4]]] == ["gpu 2 → nvswitch 0", "nvswitch 0 → gpu 6"]


def test_gpus_do_not_pass_on_but_chips_of_a_torus_do():
    cube = BUILT["dgx1-v100"]
    paths = routes(cube, 0, 5)  # no NVLink joins them; over GPU 1 or 4 it would be two hops
    on_path = {int(v) for v in cube.src[paths.first]} - {0}
    assert all(cube.kind[v] != 0 for v in on_path)
    torus = BUILT["tpu-v5e-16"]
    assert routes(torus, 0, 5).count.sum() == 2


def test_acs_sends_peers_of_one_switch_up_to_the_root_complex():
    for acs, hops in ((False, 2), (True, 4)):
        t = pcie_host("x", 8, acs=acs)
        paths = routes(t, 0, 1)
        assert paths.count.sum() == hops
        assert ("cpu" in " ".join(link_name(t, k) for k in paths.first)) == acs
        # Two peers under one switch that exchange with two others share its uplink only with ACS.
        load = loads(t, routes(t, [0, 1], [1, 0]), 1.0)
        assert load.max() == (2.0 if acs else 1.0)


def test_an_nvlink_is_preferred_to_pcie():
    t = BUILT["a100-pcie-bridged"]
    assert routes(t, 0, 1).count.sum() == 1
    assert routes(t, 0, 2).count.sum() > 1


def test_one_pair_one_hash_one_way():
    t = BUILT["superpod-h100"]
    src, dst = np.zeros(1, int), np.array([t.n_gpus - 8])
    ways = {tuple(routes(t, src, dst, "hashed", seed).first) for seed in range(40)}
    assert len(ways) > 20
    again = routes(t, src, dst, "hashed", 3)
    assert (again.first == routes(t, src, dst, "hashed", 3).first).all()
    assert (again.share == 1).all()
    # A pair keeps its way whoever else sends.
    many = routes(t, np.r_[5, src], np.r_[900, dst], "hashed", 3).take([1])
    assert (many.first == again.first).all()


def test_the_hash_is_even():
    picks = mix(7, np.arange(64_000), 3) % np.uint64(64)
    counts = np.bincount(picks.astype(int), minlength=64)
    assert ((counts - 1000) ** 2 / 1000).sum() < 64 + 5 * np.sqrt(2 * 64)


def test_a_plan_finds_what_a_search_finds():
    for name in ("superpod-h100", "tpu-v4-64", "tpu-v5e-16"):
        t = BUILT[name]
        src, dst = np.random.default_rng(0).integers(min(t.n_gpus, 400), size=(2, 40))
        by_plan, by_search = routes(t, src, dst), None
        if t.n_vertices < 2000:
            by_search = routes(replace(t, plan=None), src, dst)
            np.testing.assert_allclose(by_plan.latency_s, by_search.latency_s)


def test_switches_can_be_ends():
    box = BUILT["hgx-h100"]
    up = routes(box, np.arange(8), vertices_of(box, "nvswitch")[0])
    assert (up.count == 1).all()
    assert (up.share == 1).all()
    pod = BUILT["superpod-h100"]
    leaf, spine = vertices_of(pod, "leaf")[9], vertices_of(pod, "spine")[3]
    for a, b, hops in ((leaf, spine, 1), (0, leaf, None), (spine, 1000, None), (0, spine, None)):
        paths = routes(pod, a, b)
        assert_conserved(pod, [a], [b], paths)
        if hops:
            assert paths.share.max() <= 1
    own_leaf = vertices_of(pod, "leaf")[0]
    assert routes(pod, 0, own_leaf).count.sum() == 2  # GPU to card, card to leaf


def test_no_pairs_is_no_work_and_take_keeps_order():
    t = BUILT["hgx-h100"]
    none = routes(t, [], [])
    assert none.n_pairs == 0
    assert loads(t, none, 5.0).sum() == 0
    paths = routes(t, [0, 1, 1, 2], [3, 1, 4, 5])
    some = paths.take([3, 0])
    assert (some.first == np.r_[routes(t, 2, 5).first, routes(t, 0, 3).first]).all()
    mask = paths.take(np.array([False, True, True, False]))
    assert mask.n_pairs == 2
    assert np.diff(mask.start).tolist() == [0, 8]


def test_bad_pairs_are_refused_in_words():
    t = BUILT["hgx-h100"]
    for src, dst, said in (
        (0, 99, "dst holds 99, but hgx-h100 has vertices 0 … 11"),
        (-1, 0, "src holds -1"),
        (0.5, 1, "whole numbers"),
        ("0", 1, "a number is expected"),
        (np.nan, 1, "finite"),
        ([0, 1, 2], [1, 2], "3 vertices and dst 2"),
    ):
        with pytest.raises(CourseError, match=said):
            routes(t, src, dst)
    with pytest.raises(CourseError, match="choice of routes"):
        routes(t, 0, 1, "random")
    with pytest.raises(CourseError, match="seed"):
        routes(t, 0, 1, "hashed", -1)
    apart = assemble("apart", [("gpu", 0), ("gpu", 0)], [])
    with pytest.raises(CourseError, match="No path in apart leads from gpu 0 to gpu 1"):
        routes(apart, 0, 1)
    assert len(routes(apart, 0, 1, missing="empty").first) == 0


def test_a_network_without_a_plan_hashes_spreads_and_has_a_table_too():
    paths_up = [(0, 2, "pcie", 60e9, 0, 1), (1, 3, "pcie", 60e9, 0, 1)]
    fabric = [(nic, leaf, "ib", 50e9, 1e-6, 1) for nic in (2, 3) for leaf in (4, 5, 6)]
    t = assemble("three ways", [("gpu", 0), ("gpu", 1), ("nic", 0), ("nic", 1), *[("leaf", -1)] * 3], paths_up + fabric)
    assert routes(t, 0, 1, "adaptive").share.round(3).tolist() == [1, 0.333, 0.333, 0.333, 0.333, 0.333, 0.333, 1]
    ways = [tuple(routes(t, 0, 1, "hashed", seed).first.tolist()) for seed in range(60)]
    assert len(set(ways)) == 3
    assert all(len(way) == 4 for way in ways)
    assert min(ways.count(way) for way in set(ways)) > 8
    assert len(routes(t, 0, 1, "fixed").first) == 4
