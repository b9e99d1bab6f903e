import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.fabric.cuts import aggregate_Bps, bisection_Bps, cut_Bps, direct_links, pair_matrix_Bps
from course_lib.fabric.patterns import shift
from course_lib.fabric.registry import build
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleup import nvswitch_box, simple_host
from course_lib.fabric.sharing import max_min_rates
from course_lib.fabric.topology import assemble
from course_lib.fabric.torus import torus, torus_bisection_links
from tests.fabric.checks import all_gpu_pairs, assert_conserved


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize(
    "dims", [(2,), (3,), (4,), (6,), (4, 2), (3, 3), (4, 4), (3, 4), (5, 3), (2, 2, 2), (3, 2, 2), (2, 5), (1, 4)]
)
def test_the_torus_formula_is_what_enumeration_finds(dims, wrap):
    t = torus("t", dims, 1.0, wrap=wrap)
    assert bisection_Bps(replace(t, plan=None)) == torus_bisection_links(dims, wrap) == bisection_Bps(t)


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("dims", [(5,), (2,), (1,), (4, 3), (2, 2, 2), (3, 3, 4), (2, 3, 2, 3)])
@pytest.mark.parametrize("choice", ["fixed", "hashed", "adaptive"])
def test_torus_routes_are_shortest_and_conserved(dims, wrap, choice):
    t = torus("t", dims, 1.0, wrap=wrap)
    src, dst = all_gpu_pairs(t)
    paths = routes(t, src, dst, choice, 1)
    assert_conserved(t, src, dst, paths)
    np.testing.assert_allclose(paths.latency_s, routes(replace(t, plan=None), src, dst).latency_s)


def test_a_ring_shift_goes_at_full_rate_and_half_way_round_at_the_bisection():
    t = torus("ring", (8,), 10e9)
    assert max_min_rates(t, routes(t, *shift(8, 1))) == pytest.approx(10e9)
    # Half way round, half of each flow either way: 8 flows · 4 hops on 16 links, so two flows' worth on each.
    assert max_min_rates(t, routes(t, *shift(8, 4))) == pytest.approx(5e9)


def test_halves_are_tried_with_switches_on_the_better_side():
    for name in ("dgx2", "hgx-h100", "pcie-8", "dgx1-v100"):
        t = build(name)
        n = t.n_gpus
        sample = itertools.islice(itertools.combinations(range(n), n // 2), 0, None, 97)
        assert (
            bisection_Bps(t) <= min(cut_Bps(t, list(side)) for side in sample) * (1 + 1e-12)
            if name != "a100-pcie-bridged"
            else True
        )


def test_dgx2_halves_across_the_trunks_and_within_boards_are_alike():
    t = build("dgx2")
    assert cut_Bps(t, range(8)) == cut_Bps(t, range(0, 16, 2)) == 1200e9
    assert cut_Bps(t, range(4)) == 600e9


def test_the_pcie_tree_is_cut_at_the_socket():
    t = build("pcie-8")
    slot = t.bandwidth_Bps[0]
    assert cut_Bps(t, [0, 1, 2, 3]) == pytest.approx(slot)  # one socket link, as wide as a slot
    assert bisection_Bps(t) == pytest.approx(slot)
    assert cut_Bps(t, [0, 1]) == pytest.approx(slot)


def test_no_link_is_none_and_not_zero():
    apart = assemble("apart", [("gpu", 0), ("gpu", 0)], [])
    assert bisection_Bps(apart) is None
    assert cut_Bps(apart, [0]) is None
    assert pair_matrix_Bps(apart).mask.all()
    pcie = simple_host("pcie", 2, 30e9, 3e-6)
    assert bisection_Bps(pcie, ["nvlink"]) is None
    assert bisection_Bps(pcie) == 30e9
    assert direct_links(pcie, ["nvlink"]).sum() == 0
    assert not pair_matrix_Bps(pcie).mask[0, 1]
    one = nvswitch_box("one", 1, [18], 25e9)
    assert bisection_Bps(one) is None
    assert cut_Bps(one, [0]) is None
    assert aggregate_Bps(one) == 450e9
    cube = build("dgx1-v100")
    assert cut_Bps(cube, [0], ["c2c"]) is None


def test_odd_counts_have_halves_that_differ_by_one():
    assert bisection_Bps(nvswitch_box("five", 5, [1], 10.0)) == 20.0
    assert bisection_Bps(simple_host("mesh", 3, 10.0, 0)) == 10.0


def test_bad_cuts_are_refused_in_words():
    t = build("hgx-h100")
    with pytest.raises(CourseError, match="not GPUs"):
        cut_Bps(t, [8])
    with pytest.raises(CourseError, match="kind of link"):
        bisection_Bps(t, ["nvlinks"])
    with pytest.raises(CourseError, match="too large"):
        pair_matrix_Bps(build("tpu-v4-pod"))
    with pytest.raises(CourseError, match="too many to try"):
        bisection_Bps(replace(build("tpu-v4-64"), plan=None))


def test_the_matrix_of_a_switched_box_is_flat_and_symmetric():
    matrix = pair_matrix_Bps(build("nvl72"))
    assert matrix.shape == (72, 72)
    assert np.ptp(matrix.compressed()) < 1
    assert (matrix == matrix.T).all()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_largest_flow_is_the_smallest_of_all_cuts(data):
    n, k = 4, data.draw(st.integers(1, 5))
    vertex, width = st.integers(0, n + k - 1), st.integers(1, 9)
    drawn = data.draw(st.lists(st.tuples(vertex, vertex, width), min_size=4, max_size=30))
    cables = [(a, b, "nvlink", float(w), 0, 1, True) for a, b, w in drawn if a != b]
    t = assemble("random", [("gpu", 0)] * n + [("nvswitch", 0)] * k, cables)
    least = np.inf
    for switches in itertools.product((False, True), repeat=k):
        inside = np.array([True, True, False, False, *switches])
        least = min(least, t.bandwidth_Bps[inside[t.src] & ~inside[t.dst]].sum())
    assert (cut_Bps(t, [0, 1]) or 0) == pytest.approx(least)


def test_a_first_path_in_the_way_of_two_others_is_taken_back():
    a, b, c, d, e = range(2, 7)
    ways = [(0, a), (0, b), (a, c), (b, c), (c, 1), (a, d), (d, e), (e, 1)]
    cables = [(p, q, "nvlink", 1.0, 0, 1, True) for p, q in ways]
    t = assemble("two ways", [("gpu", 0), ("gpu", 0), *[("nvswitch", 0)] * 5], cables)
    assert cut_Bps(t, [0]) == 2.0
