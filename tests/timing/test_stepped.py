"""The stepped timer: equal to closed forms, between its bounds, and it names the link that is full."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm import registry
from course_lib.comm.meaning import OPS
from course_lib.comm.schedule import Schedule, Step
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import simple_host
from course_lib.fabric.topology import VERTEX_KINDS
from course_lib.timing import closedform, place
from course_lib.timing.lines import lines
from course_lib.timing.onedepth import line
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load

ALPHA, BETA = 1e-6, 450e9
CASES = [(op, a) for op, names in closedform.ALGORITHMS.items() for a in names if a != "hierarchical-ring"]


def test_every_collective_has_a_closed_form():
    assert set(closedform.ALGORITHMS) == set(OPS)


@pytest.mark.parametrize(("op", "algorithm"), CASES)
def test_stepped_equals_the_closed_form_on_a_switch(op, algorithm):
    checked = 0
    for n in [*range(2, 17), 72]:
        if algorithm == "halving-doubling" and n & (n - 1):
            continue
        box = simple_host("switch", n, BETA, ALPHA)
        for pieces in (1, 3, 8):
            schedule = registry.build(op, n, algorithm, pipeline=pieces, radix=n)
            for message_B in (0.0, 7.0, 1e6, 2.0**60):
                formula = closedform.time_s(op, algorithm, message_B, n, ALPHA, BETA, pieces=pieces)
                assert stepped(schedule, box).time_s(message_B) == pytest.approx(formula, rel=1e-9, abs=0)
                checked += 1
    assert checked >= 48


@pytest.mark.parametrize("kind", ["switch", "mesh"])
def test_the_line_of_a_direct_all_reduce_uses_all_links_of_a_mesh(kind):
    box = simple_host(kind, 8, 448e9, ALPHA)
    schedule = registry.build("all_reduce", 8, "direct")
    assert stepped(schedule, box).time_s(8e8) == pytest.approx(2 * ALPHA + 2 * 7 / 8 * 8e8 / 448e9, rel=1e-9, abs=0)


def test_a_ring_on_a_mesh_uses_one_link_of_each_gpu():
    box = simple_host("mesh", 4, 300e9, ALPHA)
    assert stepped(registry.build("all_reduce", 4, "ring"), box).per_byte_s == pytest.approx(
        1.5 / 100e9, rel=1e-9, abs=0
    )


def test_hierarchical_ring_equals_its_closed_form_on_a_rail_cluster():
    system = load("dgx-h100")
    for hosts in (2, 3, 8):
        schedule = registry.build("all_reduce", 8 * hosts, "hierarchical-ring", ranks_per_domain=8)
        t = stepped(schedule, place.topology_of(system, hosts))
        formula = closedform.hierarchical_ring_s(1e9, hosts, 8, (1e-6, 450e9), (5e-6, 50e9))
        assert t.time_s(1e9) == pytest.approx(formula, rel=1e-9, abs=0)


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving-doubling", "direct", "binomial", "hierarchical-tree"])
def test_time_lies_between_the_fullest_link_and_the_sum_of_all_transfers(algorithm):
    system, n = load("dgx-a100"), 16
    machine = place.topology_of(system, 2)
    schedule = registry.build("all_reduce", n, algorithm, ranks_per_domain=8)
    t = stepped(schedule, machine)
    load_B, alone = np.zeros(machine.n_links), 0.0
    for step in schedule.steps:
        paths = routes(machine, step.src, step.dst)
        pair, link, share = paths.spread()
        amount = (step.width * step.count)[pair] * share / schedule.chunks
        load_B += np.bincount(link, weights=amount, minlength=machine.n_links)
        alone += float((amount / machine.bandwidth_Bps[link]).sum())
    assert (load_B / machine.bandwidth_Bps).max() * (1 - 1e-12) <= t.per_byte_s <= alone * (1 + 1e-12)


def brute_force(schedule, machine, where):
    """Price every repeat on its own."""
    fixed = per_byte = 0.0
    unit = closedform.bus_factor and float(schedule.chunk_B(1.0))
    for step in schedule.steps:
        for k in range(step.repeats):
            now = step.active(k)
            if not now.size:
                continue
            paths = routes(machine, where[step.src[now]], where[step.dst[now]])
            pair, link, share = paths.spread()
            load_B = np.bincount(link, weights=step.width[now][pair] * share * unit, minlength=machine.n_links)
            fixed += paths.latency_s.max()
            per_byte += (load_B / machine.bandwidth_Bps).max()
    return fixed, per_byte


@pytest.mark.parametrize(
    ("algorithm", "pieces"),
    [("tree", 1), ("tree", 3), ("tree", 40), ("hierarchical-in-network+tree", 5), ("ring", None)],
)
def test_spans_equal_pricing_every_repeat_on_its_own(algorithm, pieces):
    machine = place.topology_of(load("dgx-h100"), 3)
    schedule = registry.build("all_reduce", 24, algorithm, pipeline=pieces, ranks_per_domain=8)
    where = place.switches(schedule, machine)
    t = stepped(schedule, machine, where)
    assert (t.fixed_s, t.per_byte_s) == pytest.approx(brute_force(schedule, machine, where), rel=1e-9, abs=0)


@pytest.mark.parametrize("algorithm", ["hierarchical-ring", "tree"])
def test_the_fullest_link_is_found_among_thousands(algorithm):
    machine = place.topology_of(load("dgx-h100"), 40)
    assert machine.n_links > 2048
    fewer = np.flatnonzero(machine.src >= machine.n_gpus)[-3]  # one slow link far down the list
    machine.bandwidth_Bps[fewer] /= 1000
    try:
        schedule = registry.build("all_reduce", 320, algorithm, pipeline=2, ranks_per_domain=8)
        where = place.switches(schedule, machine)
        t = stepped(schedule, machine, where)
        assert (t.fixed_s, t.per_byte_s) == pytest.approx(brute_force(schedule, machine, where), rel=1e-9, abs=0)
    finally:
        machine.bandwidth_Bps[fewer] *= 1000


def test_switch_nodes_sit_on_the_level_they_are_made_for():
    pod = cluster(simple_host("switch", 2, 450e9, ALPHA), 32, nics_per_host=2, radix=8)
    assert pod.plan.net.levels == 3
    per_leaf = pod.plan.net.hosts_per_block
    schedule = registry.build(
        "all_reduce", 64, "hierarchical-in-network+sharp", ranks_per_domain=2, radix=[per_leaf, 2, 16]
    )
    where = place.switches(schedule, pod)
    kinds = np.array(VERTEX_KINDS)[pod.kind[where[64:]]]
    for level, kind in enumerate(("nvswitch", "leaf", "spine", "core")):
        assert set(kinds[schedule.switch_level == level]) == {kind}
    home = np.arange(64)[schedule.switch_rank] // 2
    assert (pod.host[where[64:]][schedule.switch_level == 0] == home[schedule.switch_level == 0]).all()
    assert stepped(schedule, pod, where).time_s(1e6) > 0


def test_transfers_that_end_at_different_repeats_leave_their_links():
    box = simple_host("switch", 4, 100e9, ALPHA)
    step = Step([0, 1, 2], [1, 2, 3], [0, 1, 2], False, first=[0, 2, 5], count=[4, 1, 2], shift=0, window=8)
    schedule = Schedule("broadcast", 4, 4, 8, (step,), "odd")
    t = stepped(schedule, box)
    assert (t.fixed_s, t.per_byte_s) == pytest.approx(brute_force(schedule, box, np.arange(4)), rel=1e-9, abs=0)
    assert int(t.repeats.sum()) == step.repeats


def test_deeper_pipelines_follow_from_two_depths_exactly():
    system = load("dgx-h100")
    for op, algorithm, n, hosts in (
        ("all_reduce", "tree", 8, 1),
        ("all_reduce", "hierarchical-tree", 24, 3),
        ("all_reduce", "in-network", 8, 1),
        ("all_reduce", "hierarchical-tree+ring", 24, 3),
        ("all_reduce", "hierarchical-in-network+tree", 24, 3),
        ("broadcast", "ring", 6, 1),
        ("broadcast", "ring", 2, 1),
        ("reduce", "tree", 24, 3),
        ("broadcast", "hierarchical-tree+ring", 24, 3),
        ("all_gather", "in-network", 8, 1),
    ):
        for found in lines(op, algorithm, system, n, hosts)[::9]:
            if found.pieces > 3000:
                continue
            exact = line(op, algorithm, system, n, hosts, found.pieces)
            assert found.fixed_s == pytest.approx(exact.fixed_s, rel=1e-9, abs=0)
            assert found.per_byte_s == pytest.approx(exact.per_byte_s, rel=1e-9, abs=0)


def test_the_bottleneck_of_each_step_is_named():
    schedule = registry.build("all_reduce", 16, "hierarchical-ring", ranks_per_domain=8)
    t = stepped(schedule, place.topology_of(load("dgx-h100"), 2))
    names = [t.bottleneck(i) for i in range(len(schedule.steps))]
    assert "nvswitch" in names[0]
    assert "leaf" in names[1]
    assert t.slowest_link in names


def test_two_ranks_on_one_gpu_and_wrong_lengths_are_refused():
    box, schedule = simple_host("switch", 4, BETA, ALPHA), registry.build("all_reduce", 4, "ring")
    with pytest.raises(CourseError, match="two ranks on one vertex"):
        stepped(schedule, box, [0, 1, 1, 2])
    with pytest.raises(CourseError, match="4 nodes"):
        stepped(schedule, box, [0, 1, 2])
    with pytest.raises(CourseError, match="needs one of its own"):
        stepped(registry.build("all_reduce", 5, "ring"), box)


def test_one_rank_takes_no_time():
    t = stepped(registry.build("all_reduce", 1, "ring"), simple_host("switch", 1, BETA, ALPHA))
    assert (t.fixed_s, t.per_byte_s, t.slowest_link) == (0.0, 0.0, "")


@pytest.mark.parametrize("op", ["all_reduce", "all_to_all", "all_gather", "scatter", "send_recv"])
@pytest.mark.parametrize(
    ("system", "n", "hosts"), [("dgx-h100", 8, 1), ("dgx-h100", 32, 4), ("gh200-quad", 4, 1), ("gh200-quad", 16, 4)]
)
def test_the_closed_form_ofdirect_line_is_the_stepped_time(op, system, n, hosts):
    from course_lib.timing.beyond import direct_line

    a, b = direct_line(op, load(system), n, hosts), line(op, "direct", load(system), n, hosts, None)
    assert sum(a.fixed_s) == pytest.approx(sum(b.fixed_s), rel=1e-9, abs=0)
    assert sum(a.per_byte_s) == pytest.approx(sum(b.per_byte_s), rel=1e-9, abs=0)
