"""Bundles of links that fill alike give the same times as the links one by one, on every kind of cluster."""

import numpy as np
import pytest

from course_lib.fabric.bundles import bundles, ways
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import simple_host
from course_lib.timing import place
from course_lib.timing.filling import OnBundles, OnLinks
from course_lib.timing.system import load, names

OWN = [
    (kind, nics, attach, radix, ratio)
    for kind, nics, attach, radix, ratio in (
        ("switch", 8, "rail", 8, 1.0), ("switch", 8, "rail", 16, 3.0), ("switch", 8, "leaf", 32, 1.0),
        ("switch", 16, "rail", 64, 1.0), ("switch", 16, "leaf", 64, 2.0), ("mesh", 4, "rail", 16, 1.0),
        ("ring", 2, "leaf", 8, 1.0), ("ring", 1, "rail", 64, 1.0), ("pcie", 8, "rail", 64, 7.0),
    )
]  # fmt: skip


def own(kind, nics, attach, radix, ratio):
    hosts = 16 if radix == 8 else 40
    host = simple_host(kind, 8, 400e9, 1e-6)
    return cluster(host, hosts, nics_per_host=nics, attach=attach, radix=radix, oversubscription=ratio, latency_s=9e-6)


def compare(machine, src, dst, seed=0):
    """Let transfers come and go in random order on both, and compare after every change."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 5, len(src)).astype(float)
    found = ways(bundles(machine), src, dst, weight)
    assert found is not None
    quick = OnBundles(found)
    slow = OnLinks(machine, routes(machine, src, dst), weight, machine.host[src] != machine.host[dst])
    cuts = np.sort(rng.choice(len(src) + 1, 4, replace=False))
    parts = [slice(int(a), int(b)) for a, b in zip([0, *cuts], [*cuts, len(src)], strict=True)]
    for change in [
        *(("enter", p) for p in parts),
        ("leave", parts[0]),
        ("leave", np.arange(parts[1].start, parts[1].stop)),
    ]:
        for one in (quick, slow):
            getattr(one, change[0])(change[1])
        a, b = quick.span(), slow.span()
        assert a[:2] == pytest.approx(b[:2], rel=1e-9, abs=1e-18)
        assert a[3] == b[3]
        if b[1] > 1e-15:  # equal links may be named either way; both have to be the fullest
            assert machine.bandwidth_Bps[a[2]] > 0
            assert slow.load[a[2]] / machine.bandwidth_Bps[a[2]] == pytest.approx(b[1], rel=1e-9)


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize("traffic", ["random", "inside", "one rail", "permutation"])
def test_bundles_fill_as_their_links_do(case, traffic):
    machine, rng = own(*case), np.random.default_rng(1)
    n = machine.n_gpus
    src, dst = rng.integers(0, n, (2, 300))
    if traffic == "inside":
        dst = src // 8 * 8 + dst % 8
    elif traffic == "one rail":
        dst = dst // 8 * 8 + src % 8
    elif traffic == "permutation":
        src, dst = np.arange(n), rng.permutation(n)
    compare(machine, src, dst)


@pytest.mark.parametrize("name", [x for x in names() if load(x).gpus_per_domain > 1])
def test_bundles_fill_as_the_links_of_every_system_do(name):
    system = load(name)
    machine = place.topology_of(system, 5 * system.hosts_per_domain)
    src, dst = np.random.default_rng(2).integers(0, machine.n_gpus, (2, 200))
    compare(machine, src, dst)


def test_the_switch_of_a_box_is_an_end_inside_its_host():
    machine = own("switch", 8, "rail", 8, 1.0)
    hub = machine.n_gpus + np.arange(machine.n_hosts) * 9  # a switch and eight cards a host
    gpu = np.arange(machine.n_hosts) * 8 + 3
    compare(machine, np.concatenate([gpu, hub, gpu]), np.concatenate([hub, gpu, (gpu + 8) % machine.n_gpus]))


def test_one_slow_uplink_is_found_and_named():
    machine = own("switch", 8, "rail", 8, 1.0)
    slow = machine.plan.link["leaf_up"] + 5
    machine.bandwidth_Bps[slow] /= 50
    src = np.arange(machine.n_gpus)
    dst = (src + 64) % machine.n_gpus
    compare(machine, src, dst)
    quick = OnBundles(ways(bundles(machine), src, dst, np.ones(len(src))))
    quick.enter(slice(0, len(src)))
    assert quick.span()[2] == slow


def test_ways_to_switches_of_the_network_are_left_to_routes():
    machine = own("switch", 8, "rail", 8, 1.0)
    assert ways(bundles(machine), np.array([0]), np.array([machine.plan.first_leaf]), np.ones(1)) is None
    assert bundles(simple_host("switch", 8, 4e11, 1e-6)) is None
    machine.latency_s[-1] *= 2  # links of one kind that differ cannot be told by their kind
    assert bundles(machine) is None
