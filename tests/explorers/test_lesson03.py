"""Traffic in machines: who gets what, what fills first, and that the lesson's sentences hold the numbers they quote."""

import re
from math import comb

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.hardware import gpu, value
from course_lib.base.measured import copies, matrix
from course_lib.explorers.lesson03 import MACHINES, PATTERNS, counted, picture, spread, traffic, who_gets_what
from course_lib.fabric import cuts
from course_lib.fabric.registry import build
from tests.notebooks.lessons import ROOT, read, source

NAMES = [machine for _title, machine in MACHINES]
KINDS = [name for _title, name in PATTERNS]
TEXT = "\n".join(source(c) for c in read(ROOT / "notebooks" / "03_from_bridges_to_nvswitch.ipynb")["cells"])


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("name", KINDS)
def test_the_slowest_flow_is_width_over_flows_and_no_link_overflows(machine, name):
    for k in (1, 2, 7, 15):
        found = traffic(machine, name, k)
        assert found.width_Bps / found.flows == pytest.approx(found.slowest_Bps, rel=1e-6)
        assert (found.flow_Bps <= found.topology.bandwidth_Bps * (1 + 1e-9)).all()
        assert (found.slower >= 1 - 1e-9).all()
        assert found.rate_Bps.max() < 2e12


def test_a_rack_with_its_chips_as_one_gives_the_same_as_chip_by_chip():
    from course_lib.fabric.patterns import incast
    from course_lib.fabric.routes import routes
    from course_lib.fabric.sharing import loads, max_min_rates

    found, rack = traffic("nvl72-gb200", "incast", 9), build("nvl72-gb200")
    paths = routes(rack, *incast(72, 9))
    rate = max_min_rates(rack, paths)
    assert found.rate_Bps == pytest.approx(rate)
    assert found.flow_Bps == pytest.approx(loads(rack, paths, rate))


def test_mesh_and_crossbar_agree_where_a_gpu_has_seven_flows_and_differ_where_it_has_one():
    for name, ratio in (
        ("all-to-all", 1),
        ("incast", 1),
        ("outcast", 1),
        ("pair", 7),
        ("permutation", 7),
        ("halves", 7),
    ):
        mesh, switch = (traffic(m, name, 3).slowest_Bps for m in ("mi300x", "hgx-h100"))
        assert switch / mesh == pytest.approx(ratio, rel=0.02), name


@pytest.mark.parametrize("machine", ["hgx-a100", "hgx-h100", "hgx-b200", "nvl72-gb200", "dgx2"])
def test_every_permutation_runs_at_full_rate_through_a_switch(machine):
    for k in range(1, 21):
        found = traffic(machine, "permutation", k)
        assert found.rate_Bps == pytest.approx(cuts.cut_Bps(found.topology, [0]))


def test_k_counts_round_and_the_sentence_says_so():
    explorer = who_gets_what()
    explorer.set(machine="gh200-quad", name="incast", k=7)
    assert "k is 3 here" in explorer.view.said.value
    assert counted("shift", 8, 8) == 1
    with pytest.raises(CourseError, match="k is 0"):
        traffic("hgx-h100", "incast", 0)
    with pytest.raises(CourseError, match="nearest"):
        traffic("hgx-h10", "incast", 1)


def test_where_k_plays_no_part_the_sentence_says_so():
    explorer = who_gets_what()
    for _title, name in PATTERNS:
        explorer.set(name=name, k=5)
        assert ("no part" in explorer.view.said.value) == (name in ("halves", "all-to-all"))
        again = traffic("hgx-h100", name, 4)
        assert (again is traffic("hgx-h100", name, 5)) == (name in ("halves", "all-to-all"))


def test_every_choice_draws_a_picture_that_names_a_link():
    explorer = who_gets_what()
    seen = set()
    for machine in NAMES:
        for name in KINDS:
            explorer.set(machine=machine, name=name, k=3)
            assert explorer.message == ""
            assert "→" in explorer.figure.layout.title.text
            seen.add((explorer.figure.layout.title.text, explorer.view.said.value, explorer.view.formula.value))
    assert len(seen) > 60


def test_the_guess_is_a_seventh_of_the_port():
    assert who_gets_what().guess.truth() / 1e9 == pytest.approx(450 / 7)


def test_words_for_one_flow_equal_flows_and_unequal_flows():
    assert spread(traffic("dgx1-v100", "pair", 5)) == "The flow gets 15.8 GB/s."
    assert "7 × slower than alone" in spread(traffic("hgx-h100", "incast", 7))
    assert "between" in spread(traffic("dgx1-v100", "shift", 1))


def test_chips_are_drawn_one_by_one_on_request():
    assert "NVSwitch 0" in picture("hgx-h100", "pair", 7, chips=True).layout.title.text
    assert "4 NVSwitches" in picture("hgx-h100", "pair", 7).layout.title.text


# The lesson's text -----------------------------------------------------------------------------------------------------


def test_numbers_in_the_lessons_sentences_are_the_librarys():
    port = value("nvlink4", "line_Bps") / 1e9
    wire, copy = value("nvlink4", "links") * value("nvlink4", "smi_link_Bps") / 1e9, value("nvlink4", "copy_Bps") / 1e9
    assert (round(wire), round(port), round(copy)) == (478, 450, 396)
    assert wire * 16 / 17 == pytest.approx(port)
    # what the wire carries is printed by the driver, the data sheet takes the code off
    assert re.search(r"Driver, data sheet and benchmark .*: 478, 450 and 396 GB/s", TEXT)
    assert round(gpu("h100").hbm_Bps / 1e9) == 3350
    assert "3,350 against 450 GB/s" in TEXT
    assert round(gpu("h100").hbm_Bps / 1e9 / port, 1) == 7.4
    assert "7.4 times faster" in TEXT
    assert round(traffic("hgx-h100", "incast", 7).slowest_Bps / 1e9) == 64
    assert "have 64 each" in TEXT
    assert cuts.bisection_Bps(build("nvl72-gb200")) / 1e12 == pytest.approx(32.4)
    assert "32.4 TB/s" in TEXT


def test_measured_numbers_in_the_text_are_both_directions_where_it_says_so():
    row = 2 * matrix("dgx1-v100-row0").values[0, 1:] / 1e9
    assert row[:2].round(1).tolist() == [48.5, 48.5]
    assert row[2] == pytest.approx(96.9, abs=0.06)
    assert 14.2 <= row[4:].min() <= row[4:].max() <= 14.55
    assert "48.5 for a pair with one link, 96.9 for a pair with two" in TEXT
    both = next(c for c in copies() if c.direction == "both" and "both ways" in c.case)
    assert (2 * both.measured_Bps / 1e9, round(both.measured_Bps / 1e9)) == (pytest.approx(783.7), 392)
    off = matrix("h100-8").values[~np.eye(8, dtype=bool)]
    line_Bps = value("nvlink4", "line_Bps")
    assert [round(100 * copy / line_Bps) for copy in (np.median(off), value("nvlink4", "copy_Bps"))] == [84, 88]
    assert "A share of 84 to 88 %" in TEXT
    assert "of which a copy gets 84 to 88 %" in TEXT
    latency = matrix("dgx1-v100-latency").values[0, 1:]
    assert latency[:4].max() < 2.1e-6
    assert 8.5 < latency[4:].mean() / latency[:4].max() < 9.6


def test_the_order_of_the_ring_in_the_lesson_stays_on_nvlink():
    order = [int(n) for n in re.search(r"order = \[([\d, ]+)\]", TEXT)[1].split(",")]
    links = cuts.direct_links(build("dgx1-v100"))[order, np.roll(order, -1)]
    assert sorted(order) == list(range(8))
    assert links.min() == 1
    natural = cuts.direct_links(build("dgx1-v100"))[np.arange(8), np.roll(np.arange(8), -1)]
    assert natural.tolist().count(0) == 2


def test_the_ways_to_halve_a_machine_are_half_as_many_as_its_halves():
    halves = comb(8, 4)
    assert f"There are {halves // 2} ways to halve it" in TEXT
    exercise = "\n".join(
        map(source, read(ROOT / "solutions/03_from_bridges_to_nvswitch/03_from_bridges_to_nvswitch.ipynb")["cells"])
    )
    assert f"There are {halves} for eight GPUs" in exercise


def test_growth_between_boxes_is_as_the_lesson_says():
    a, b = gpu("a100"), gpu("b200")
    ratios = (
        b.bf16_flops / a.bf16_flops,
        b.hbm_Bps / a.hbm_Bps,
        value("nvlink5", "line_Bps") / value("nvlink3", "line_Bps"),
    )
    assert [round(r) for r in ratios] == [7, 4, 3]
    assert 2 < b.hbm_B / a.hbm_B < 2.5


def test_title_and_formula_name_the_same_line():
    explorer = who_gets_what()
    for machine, name in (
        ("dgx1-v100", "all-to-all"),
        ("dgx2", "halves"),
        ("tpu-v5e-16", "incast"),
        ("pcie-8", "shift"),
    ):
        explorer.set(machine=machine, name=name, k=3)
        assert explorer.figure.layout.title.text.replace("<br>", " ").startswith(traffic(machine, name, 3).first)
