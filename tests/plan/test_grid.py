import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.grid import GROUPS, ORDER, Layout, data_of, order_of, spans
from course_lib.plan.reach import reach, used_per_domain, view
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

sizes = st.sampled_from([1, 2, 3, 4, 8])
orders = st.permutations(ORDER.split("-")).map("-".join)


@given(sizes, sizes, sizes, sizes, orders)
@settings(max_examples=40, deadline=None)
def test_every_kind_of_group_holds_every_rank_once(t, p, d, c, order):
    layout = Layout(t, p, d, context=c, order=order)
    for group in GROUPS:
        found = layout.groups(group)
        assert sorted(found.ravel().tolist()) == list(range(layout.n_ranks))
        size = math.prod(s for s, _stride in layout.strides(group))
        assert found.shape == (layout.n_ranks // size, size)


@given(sizes, sizes, sizes, st.sampled_from([1, 2, 4, 8, 16]), orders)
@settings(max_examples=40, deadline=None)
def test_experts_fold_over_the_ranks_of_a_stage(t, p, d, e, order):
    if t * d % e:
        with pytest.raises(CourseError, match="do not divide"):
            Layout(t, p, d, e, order=order)
        return
    layout = Layout(t, p, d, e, order=order)
    stage = layout.coordinates("pipeline")
    if (
        order_of(order)[-1] == "pp" or order_of(order)[0] == "pp"
    ):  # the pipeline outside or inside of both ways to count
        for ranks in layout.groups("expert"):
            assert len(set(stage[ranks])) == 1
    assert layout.expert_data * e == t * d
    assert sorted(layout.groups("expert").ravel().tolist()) == list(range(layout.n_ranks))


def test_groups_differ_in_their_own_axes_only():
    layout = Layout(2, 4, 3, context=2, order="pp-tp-dp-cp")
    named = {axis: layout.coordinates(axis) for axis in ("tensor", "pipeline", "data", "context")}
    for group, axes in (("tensor", {"tensor"}), ("gradient", {"data", "context"}), ("pipeline", {"pipeline"})):
        for ranks in layout.groups(group):
            for axis, where in named.items():
                assert (len(set(where[ranks])) > 1) == (axis in axes)


@given(sizes, st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([4, 8]), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_reach_is_that_of_the_widest_group(size, stride, per_host, domains):
    n = size * stride * domains
    found = reach(((size, stride),), per_host, per_host, n)
    starts = [s for s in range(n) if s // stride % size == 0 and s + (size - 1) * stride < n]
    widest = max(len({(s + i * stride) // per_host for i in range(size)}) for s in starts)
    assert found.n_hosts == widest == found.n_domains


def test_tensor_groups_stay_inside_a_host_and_replicas_cross_by_their_own_card():
    found = {s.axis: s for s in spans(Layout(tensor=8, pipeline=4, data=2), "dgx-h100")}
    assert (found["tensor"].crosses, found["tensor"].bandwidth_Bps) == ("host", 450e9)
    assert (found["data"].crosses, found["data"].ranks_per_host, found["data"].bandwidth_Bps) == ("network", 1, 50e9)
    turned = {s.axis: s for s in spans(Layout(tensor=8, pipeline=4, data=2, order="dp-pp-tp"), "dgx-h100")}
    assert turned["tensor"].n_hosts == 8
    assert turned["data"].crosses == "host"


def test_a_rack_keeps_64_experts_inside_and_is_filled_with_64():
    found = {s.axis: s for s in spans(Layout(data=256, expert=64), "gb200-nvl72")}
    assert (found["expert"].crosses, found["expert"].n_domains, found["expert"].n_hosts) == ("domain", 1, 16)
    assert used_per_domain(load("gb200-nvl72"), 256) == 64
    assert used_per_domain(load("gb200-nvl72"), 72 * 5) == 72


def test_cards_that_gpus_share_are_shared_when_all_groups_talk():
    place = load("aws-p4d")  # 4 cards for 8 GPUs
    at = reach(((8, 8),), 8, 8, 64)
    shared, n, hosts = view(place, at)
    alone = predict("all_reduce", 1e9, place, 8, n_hosts=8).time_s
    together = predict("all_reduce", 1e9, shared, n, n_hosts=hosts).time_s
    assert together / alone == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("name", ["dgx-h100", "gb200-nvl72", "polaris", "aws-p4d", "dgx2", "l40s-box", "alps"])
def test_every_group_of_every_order_can_be_priced(name):
    place = load(name)
    for order, (t, p, d) in itertools.product(
        ("tp-cp-ep-dp-pp", "pp-dp-tp", "dp-tp-pp"), ((2, 2, 4), (8, 2, 2), (1, 1, 144))
    ):
        layout = Layout(t, p, d, order=order)
        per_domain = used_per_domain(place, layout.n_ranks)
        for group in GROUPS:
            at = reach(layout.strides(group), place.gpus_per_host, per_domain, layout.n_ranks)
            if at.n_ranks > 1:
                system, n, hosts = view(place, at)
                assert predict("all_gather", 1e6, system, n, n_hosts=hosts).time_s > 0
                assert n == at.n_ranks


def test_whatever_does_not_divide_names_the_nearest():
    with pytest.raises(CourseError, match="960 or 1024 GPUs"):
        data_of(1000, 8, 8)
    with pytest.raises(CourseError, match="no network"):
        spans(Layout(data=16), _alone())
    with pytest.raises(CourseError, match="at most 2240"):
        spans(Layout(data=4096), "polaris")
    for bad in ("tp-tp", "tp-qq", "", 3):
        with pytest.raises(CourseError):
            Layout(order=bad)
    for bad in (0, -1, 2.5, True, None, np.nan):
        with pytest.raises(CourseError):
            Layout(tensor=bad)


def _alone():
    from dataclasses import replace

    return replace(load("dgx-h100"), scale_out=None)
