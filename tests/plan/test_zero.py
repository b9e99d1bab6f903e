from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan.zero import SCHEMES, sharded_events, sharded_step, volume

positive_times = st.lists(st.floats(1e-4, 1e-2), min_size=1, max_size=8)


def line(message_B):
    return 1e-5 + message_B / 1e10


@pytest.mark.parametrize(("k", "units"), [(1, (2, 2, 2, 3)), (4, (8, 5, 5, 12)), (16, (32, 17, 17, 48))])
def test_undeferred_volumes_are_2k_for_ddp_k_plus_1_for_zero2_and_3k_for_zero3(k, units):
    assert tuple(volume(s, 1000, 8, micro_batches=k, deferred=False).units for s in SCHEMES) == units


@pytest.mark.parametrize("k", [1, 4])
def test_deferred_volumes(k):
    assert [volume(s, 1000, 8, micro_batches=k).units for s in SCHEMES] == [2, 2, 2, 2 * k + 1]


def test_bytes_are_units_of_the_shared_part():
    assert volume("fsdp", 1000, 8, bytes_each=2).sent_B == 3 * 7 / 8 * 2000
    assert volume("ZeRO-3", 1000, 1).sent_B == 0


@pytest.mark.parametrize(
    "wrong",
    [("zero4", 1, 1, {}), ("ddp", 1.5, 1, {}), ("ddp", 1, 0, {}), ("ddp", 1, 1, {"micro_batches": 0}), (3, 1, 1, {})],
)
def test_wrong_volumes_get_a_sentence(wrong):
    with pytest.raises(CourseError):
        volume(*wrong[:3], **wrong[3])


@settings(max_examples=100, deadline=None)
@given(positive_times, st.floats(1e6, 1e9), st.integers(0, 4))
def test_prefetching_further_never_costs_time_and_holds_more(times, size, prefetch):
    a = sharded_step(times, times, [size] * len(times), line, line, prefetch=prefetch)
    b = sharded_step(times, times, [size] * len(times), line, line, prefetch=prefetch + 1)
    assert b.step_s <= a.step_s * (1 + 1e-12)
    assert 0 <= b.exposed_s <= a.exposed_s + 1e-12
    assert b.held_B >= a.held_B
    assert a.held_B <= (prefetch + 1) * size


@settings(max_examples=50, deadline=None)
@given(positive_times, st.integers(0, 3), st.floats(1, 50))
def test_the_step_obeys_its_order_on_one_network(times, prefetch, faster):
    sizes = np.linspace(1e6, 1e8, len(times))
    t = sharded_step(times, times, sizes, line, line, prefetch=prefetch)
    assert (t.start_s >= t.gathered_s).all()
    assert (t.start_s[1:] >= t.end_s[:-1] - 1e-15).all()
    bars = sorted((e.start_s, e.end_s) for e in sharded_events(t) if e.lane != "compute")
    assert all(after[0] >= before[1] - 1e-12 for before, after in pairwise(bars))
    assert len(bars) == 3 * len(times)  # ZeRO-3 sends three units
    quick = sharded_step(times, times, sizes, lambda m: line(m) / faster, line, prefetch=prefetch)
    assert quick.step_s <= t.step_s * (1 + 1e-12)


def test_without_prefetch_every_gather_waits_for_the_layer_before():
    t = sharded_step([1, 1], [2, 2], [10, 10], lambda m: m / 10, lambda m: m / 20, prefetch=0)
    assert t.start_s.tolist() == [1, 3, 5, 8.5]  # the last gather waits for the reduce-scatter before it
    assert t.step_s == 11.0
    assert t.exposed_s == 5.0


def test_unequal_lists_get_a_sentence():
    with pytest.raises(CourseError, match="2, 1 and 1 entries"):
        sharded_step([1, 1], [1], [1], line, line)
