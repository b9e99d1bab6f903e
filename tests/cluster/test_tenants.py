"""Partition keys and NVLink partitions: who reaches whom; shared links: who slows whom."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import tenants as t
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import nvswitch_box


def plainly(a, b):
    """The rule in words: one number in common, and not both limited."""
    return any(x & 0x7FFF == y & 0x7FFF and (x | y) & 0x8000 for x in a for y in b)


def test_reach_over_the_network_is_the_rule_in_words():
    rng = np.random.default_rng(0)
    for _round in range(30):
        tables = [
            [t.partition_key(int(rng.integers(1, 5)), bool(rng.integers(2))) for _k in range(rng.integers(0, 4))]
            for _p in range(7)
        ]
        found = t.network_reach(tables)
        for i, a in enumerate(tables):
            for j, b in enumerate(tables):
                assert found[i, j] == (i == j or plainly(a, b))


def test_two_limited_members_do_not_talk():
    assert t.network_reach([[0x0005], [0x0005]]).tolist() == [[True, False], [False, True]]
    assert t.network_reach([[0x8005], [0x0005]]).all()


def test_a_partition_key_does_not_isolate_nvlink():
    keys, tenant = [[0x8001]] * 4 + [[0x8002]] * 4, [0] * 4 + [1] * 4
    open_rack = t.reach(keys, [0] * 8)
    assert not open_rack.network[0, 4]
    assert open_rack.nvlink[0, 4]
    assert len(t.leaks(tenant, open_rack)) == 16
    closed = t.reach(keys, [0] * 8, tenant)
    assert t.leaks(tenant, closed) == []


def test_an_nvlink_partition_does_not_isolate_the_network():
    found = t.reach([[0xFFFF]] * 2, [0, 0], [0, 1])
    assert t.leaks([0, 1], found) == [(0, 1, "network")]


def test_nvlink_ends_at_the_domain_and_in_no_partition():
    assert not t.nvlink_reach([0, 1], [0, 0])[0, 1]
    assert t.nvlink_reach([0, 0], [-1, -1]).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: t.network_reach([[0x8000]]), "0x8000"),
        (lambda: t.network_reach([[70_000]]), "65535"),
        (lambda: t.partition_key(0), "at least 1"),
        (lambda: t.nvlink_reach([0.5, 1]), "whole numbers"),
        (lambda: t.reach([[1]], [0, 0]), "1 ports"),
        (lambda: t.leaks([0], t.reach([[1]] * 2, [0, 0])), "2 GPUs"),
        (lambda: t.slowdowns(None, {}), "one job"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()


def test_keys_do_not_keep_neighbours_off_a_link():
    pod = cluster(nvswitch_box("h100", 8, [18], 25e9), 8, oversubscription=4.0, radix=16, attach="leaf")
    near, far = [(0, 1)], [(2, 18), (3, 19), (4, 20), (5, 21)]
    found = t.slowdowns(pod, {"near": near, "far": far, "mine": [(1, 17)]})
    assert found["near"]["far"] == 1  # stays in its box
    assert found["mine"]["far"] == pytest.approx(2.5)  # five cards on two uplinks
    assert found["mine"]["all"] >= found["mine"]["far"]
