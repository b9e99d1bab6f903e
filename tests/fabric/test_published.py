"""Numbers that vendors publish or people measured, against what the graph gives."""

import numpy as np
import pytest

from course_lib.base.hardware import value
from course_lib.fabric.clos import clos
from course_lib.fabric.cuts import aggregate_Bps, bisection_Bps, direct_links, pair_matrix_Bps
from course_lib.fabric.registry import build

TABLE = [
    ("dgx2", "dgx-2"),
    ("hgx-a100", "dgx-a100"),
    ("hgx-h100", "dgx-h100"),
    ("hgx-h200", "dgx-h200"),
    ("hgx-b200", "dgx-b200"),
    ("hgx-b300", "dgx-b300"),
    ("nvl72-gb200", "gb200-nvl72"),
    ("nvl72-gb300", "gb300-nvl72"),
    ("nvl72-rubin", "vera-rubin-nvl72"),
]


@pytest.mark.parametrize(("name", "system"), TABLE)
def test_bisection_and_aggregate_are_those_of_the_table(name, system):
    t = build(name)
    assert bisection_Bps(t) == pytest.approx(value(system, "bisection_Bps"))
    assert aggregate_Bps(t) == pytest.approx(value(system, "aggregate_Bps"))
    assert np.count_nonzero(t.kind == 1) == value(system, "switches")


def test_nvl72_is_130_in_all_but_64_point_8_across():
    t = build("nvl72")
    assert 2 * aggregate_Bps(t) == pytest.approx(129.6e12)
    assert 2 * bisection_Bps(t) == pytest.approx(64.8e12)


def test_switches_have_no_more_ports_than_the_chip():
    for name, chip in (
        ("dgx2", "nvswitch1"),
        ("hgx-a100", "nvswitch2"),
        ("hgx-h100", "nvswitch3"),
        ("hgx-b200", "nvswitch4"),
        ("nvl72", "nvswitch4"),
    ):
        t = build(name)
        ports = np.bincount(t.src, t.parallel, t.n_vertices)[t.kind == 1]
        assert ports.max() <= value(chip, "ports")
    assert ports.tolist() == [72] * 18


def test_the_cube_mesh_of_a_dgx_1v_is_the_one_that_was_measured():
    t = build("dgx1-v100")
    links = direct_links(t)
    assert links[0].tolist() == [0, 1, 1, 2, 2, 0, 0, 0]
    assert (links == links.T).all()
    assert (links.sum(1) == 6).all()
    matrix = pair_matrix_Bps(t)
    # Copies measured both ways at once from GPU 0: 48.5 and 96.9 GB/s over one and two links, 14.3 over PCIe.
    for to, both_ways in ((1, 48.5e9), (2, 48.5e9), (3, 96.9e9), (4, 96.9e9)):
        assert 0.9 * 2 * matrix[0, to] < both_ways <= 2 * matrix[0, to]
    for to in (5, 6, 7):
        assert matrix[0, to] < 16e9
        assert 2 * matrix[0, to] > 14.3e9
    assert matrix.mask.diagonal().all()
    assert matrix.mask.sum() == 8
    assert bisection_Bps(t) == 150e9  # 2 + 2 + 1 + 1 links join the two boards of four


def test_the_p100_cube_has_four_single_links():
    links = direct_links(build("dgx1-p100"))
    assert (links.sum(1) == 4).all()
    assert links.max() == 1
    assert bisection_Bps(build("dgx1-p100")) == 4 * 20e9


@pytest.mark.parametrize(
    ("name", "line_Bps", "measured_Bps"),
    [
        ("a100-quad", 100e9, 94.0e9),
        ("v100-quad", 50e9, 47.9e9),
        ("gh200-quad", 150e9, 133.3e9),
        ("gb200-tray", 900e9, 746e9),
        ("hgx-h100", 450e9, 376e9),
        ("hgx-a100", 300e9, 274e9),
        ("mi300x", 64e9, 44e9),
    ],
)
def test_a_pair_has_its_links_and_a_copy_gets_most_of_them(name, line_Bps, measured_Bps):
    matrix = pair_matrix_Bps(build(name))
    assert matrix.compressed() == pytest.approx(line_Bps)
    assert 0.65 * line_Bps < measured_Bps < line_Bps


def test_a_pair_of_a_mesh_gets_a_seventh_and_a_pair_of_a_switched_box_all():
    mesh, box = build("mi300x"), build("hgx-h100")
    assert aggregate_Bps(mesh) / 8 / pair_matrix_Bps(mesh)[0, 1] == pytest.approx(7)
    assert aggregate_Bps(box) / 8 / pair_matrix_Bps(box)[0, 1] == pytest.approx(1)
    assert bisection_Bps(mesh) == 16 * 64e9


@pytest.mark.parametrize("size", ["superpod-b200-64", "superpod-b200-128", "superpod-b200-512", "superpod-b200-2048"])
def test_superpods_have_as_many_switches_as_published(size):
    net = clos(int(value(size, "hosts")), 8, radix=int(value("quantum-2", "ports")))
    assert (net.n_leaves, net.n_spines) == (value(size, "leaf_switches"), value(size, "spine_switches"))
    if net.levels == 3:
        assert net.n_cores == value(size, "core_switches")


def test_a_scalable_unit_of_h100_has_eight_leaves():
    net = clos(4 * 32)
    assert net.hosts_per_block == value("superpod-h100", "hosts")
    assert (net.n_leaves, net.n_spines, net.n_cores) == (32, 16, 0)
    assert clos(32).n_leaves == value("superpod-h100", "leaf_switches")


def test_latency_from_gpu_to_gpu_under_one_leaf_is_the_measured_one():
    from course_lib.fabric.routes import routes

    t = build("superpod-h100")
    near, far = routes(t, [0, 0], [8, 8 * 40]).latency_s
    assert near == pytest.approx(value("ib-edr", "latency_s"))
    assert far > near


def test_bridged_pairs_meet_over_pcie_only():
    # Four A100 PCIe in pairs were measured at 25 GB/s together, a pair alone at 193: one hop of PCIe in the ring.
    t = build("a100-pcie-bridged")
    slot = value("pcie4", "line_Bps")
    assert bisection_Bps(t) == pytest.approx(slot)
    assert aggregate_Bps(t) == pytest.approx(4 * 300e9)
    matrix = pair_matrix_Bps(t)
    assert matrix[0].tolist() == pytest.approx([None, 300e9, slot, slot])
    assert aggregate_Bps(build("superpod-h100")) == pytest.approx(1024 * 450e9)
