"""Places: hosts on a network keep what they are, cards are those of the system, switches add only for whom they reach."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm import registry
from course_lib.fabric.routes import routes
from course_lib.timing import place
from course_lib.timing.beyond import SHARDED, on_rails, sharded
from course_lib.timing.onedepth import line
from course_lib.timing.stepped import stepped
from course_lib.timing.system import ScaleOut, ScaleUp, System, load, names
from course_lib.timing.tuning import predict

MULTI = [name for name in names() if load(name).gpus_per_domain > 1]


def own(kind, nics=8, latency_s=5e-6, gpus=8):
    up = ScaleUp(kind, 100e9, 1e-6, False, "nvlink4-switch")
    return System("own", "own", gpus, 1, 64, up, ScaleOut(nics, 50e9, latency_s, 1.0, False, "ib"), "", "")


@pytest.mark.parametrize("nics", [1, 2, 4, 8])
@pytest.mark.parametrize("latency_s", [0.5e-6, 5e-6])
@pytest.mark.parametrize("kind", ["switch", "mesh", "ring", "pcie"])
def test_a_network_changes_nothing_inside_a_host(kind, latency_s, nics):
    one, two = (place.topology_of(own(kind, nics, latency_s), hosts) for hosts in (1, 2))
    schedule = registry.build("all_to_all", 8, "direct")
    alone, joined = (stepped(schedule, machine) for machine in (one, two))
    assert (joined.fixed_s, joined.per_byte_s) == pytest.approx((alone.fixed_s, alone.per_byte_s), rel=1e-9)


def test_a_pcie_card_has_one_uplink_for_its_peers_and_the_network():
    machine = place.topology_of(own("pcie"), 2)
    to_peer, away = (routes(machine, 0, [to]).first[0] for to in (1, 8))
    assert to_peer == away


@pytest.mark.parametrize("name", MULTI)
def test_no_ideal_collective_sends_more_than_the_cards_of_its_system_carry(name):
    system = load(name)
    hosts = 2 * system.hosts_per_domain
    n = hosts * system.gpus_per_host
    cards_Bps = system.scale_out.nics_per_host * system.hosts_per_domain * system.scale_out.bandwidth_Bps
    leaves = {"all_gather": 0.5, "reduce_scatter": 0.5, "broadcast": 1.0}  # of a message, from each of two domains
    leaves |= {"all_reduce": 1.0, "all_to_all": n / 4}
    for op, part in leaves.items():
        p = predict(op, 2.0**40, name, n, ideal=True)
        assert p.algbw_Bps * part <= cards_Bps * (1 + 1e-9), op
        assert predict(op, 0, name, n, ideal=True).time_s >= system.scale_out.latency_s * (1 - 1e-9), op


@pytest.mark.parametrize("name", MULTI)
@pytest.mark.parametrize("domains", [2, 3, 8, 37])
def test_the_closed_form_on_rails_is_the_stepped_time(name, domains):
    system = load(name)
    hosts = domains * system.hosts_per_domain
    n = hosts * system.gpus_per_host
    if n > 600 or not on_rails(system, n, hosts):
        pytest.skip("too large to step here, or no rails")
    for algorithm in SHARDED:
        a, b = line("all_reduce", algorithm, system, n, hosts, None), sharded(algorithm, system, n, hosts)
        for field in ("repeats", "fixed_s", "per_byte_s"):
            assert getattr(a, field) == pytest.approx(getattr(b, field), rel=1e-9), (algorithm, field)


def test_a_sum_in_the_network_climbs_from_the_leaves_where_boxes_have_switches_of_their_own():
    machine = place.topology_of(load("dgx-h100"), 64)
    schedule = registry.build("all_reduce", 512, "sharp", radix=[32, 16])
    t = stepped(schedule, machine)
    assert (place.switches(schedule, machine)[512:] >= machine.plan.first_leaf).all()
    assert t.time_s(2**30) >= 2**30 / 50e9


@pytest.mark.parametrize(("name", "n", "hosts"), [("gb200-nvl72", 72, 18), ("dgx-h100", 8, 1), ("dgx-h100", 64, 8)])
@pytest.mark.parametrize(
    "algorithm", ["sharp", "hierarchical-in-network+sharp", "hierarchical-sharp", "hierarchical-sharp+tree"]
)
def test_switches_that_stand_in_one_place_cost_nothing_between_them(name, n, hosts, algorithm):
    machine = place.topology_of(load(name), hosts)
    schedule = registry.build(
        "all_reduce", n, algorithm, ranks_per_domain=min(n, 4 if hosts == 1 else 8), radix=[4, 4, 8, 8]
    )
    t = stepped(schedule, machine)
    assert 0 < t.fixed_s < 1e-3
    assert t.time_s(2**30) > 2**30 / load(name).scale_up.bandwidth_Bps


def test_a_switch_in_a_box_adds_for_its_own_gpus_only():
    machine = place.topology_of(load("dgx-h100"), 2)
    with pytest.raises(CourseError, match=r"one switch that reaches them all.*hierarchical-in-network"):
        stepped(registry.build("all_reduce", 16, "in-network"), machine)
    assert np.isfinite(stepped(registry.build("all_reduce", 8, "in-network"), machine).time_s(1.0))


def test_fewer_bytes_than_ranks_are_said():
    assert "Fewer bytes" in predict("all_reduce", [4, 2**20], "gb200-nvl72", 72).valid.reason
    assert "Fewer bytes" not in predict("all_reduce", 72, "gb200-nvl72", 72).valid.reason
