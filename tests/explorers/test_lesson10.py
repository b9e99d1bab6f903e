"""Lesson 10's explorer: every control, the ends of every slider, and the sentences of the lesson that lean on what is computed."""

import itertools
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.explorers import lesson10
from course_lib.explorers.lesson10 import DEGREES, JOBS, TOKENS, read_layer
from course_lib.figures.show import meta_of
from course_lib.plan import expertlayer, experts, rackruns, serving
from course_lib.plan.served import Layout, fits, host_Bps
from course_lib.timing.tuning import predict


@pytest.fixture(scope="module")
def explorer():
    return lesson10.boxes_or_rack()


def test_every_choice_draws_at_the_ends_of_every_slider(explorer):
    for degree, tokens, job in itertools.product((2, 8, 72, 256), (TOKENS[0], TOKENS[-1]), JOBS):
        explorer.set(degree=degree, tokens=tokens, job=job)
        assert (explorer.message, explorer.stale) == ("", False)
        assert len(explorer.figure.data) == 5
        alt, columns, table = meta_of(explorer.figure)
        assert alt
        assert len(table) == len(DEGREES)
        assert all(len(row) == len(columns) for row in table)
    go.Figure(explorer.figure.to_dict())  # Plotly's own validation


def test_each_control_changes_what_is_shown(explorer):
    start = {"degree": 64, "tokens": 128, "job": "decode"}
    for change in ({"degree": 16}, {"tokens": 8}, {"job": "train"}, {"job": "library"}):
        explorer.set(**start)
        before = explorer.figure.layout.title.text
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before


def test_inside_a_box_both_are_the_same_and_beyond_a_rack_both_wait_for_cards():
    for job in JOBS:
        found = read_layer(8, 128, job)
        assert found.gain == pytest.approx(1)
        assert (found.boxes.time_s >= found.rack.time_s * 0.999).all()
        beyond = np.array(DEGREES) > 72
        assert (found.rack.domains[beyond] > 1).all()


def test_an_unknown_job_is_refused():
    with pytest.raises(CourseError, match="decode"):
        read_layer(64, 128, "decoding")


# What the lesson says in words


def test_answers_to_the_two_questions():
    assert read_layer(64, 128, "decode").best == (8, 64)
    assert read_layer(64, 8, "decode").best == (256, 72)
    plain, library = read_layer(64, 128, "decode"), read_layer(64, 128, "library")
    i = plain.here
    assert 1.1 < library.rack.time_s[i] / plain.rack.time_s[i] < 1.35
    assert 2.5 < library.boxes.time_s[i] / plain.boxes.time_s[i] < 3.6


def test_statements_about_racks():
    one, twenty = rackruns.measured()
    assert one.busbw_Bps[3] / 1e9 == pytest.approx(839, abs=1)
    assert twenty.busbw_Bps[3] / 1e9 == pytest.approx(346, abs=1)
    assert one.message_B[3] == twenty.message_B[3] == 4 * 2**30
    assert 1.6 < np.exp(-twenty.residual[0]) < 2
    assert np.abs(np.exp(twenty.residual[3:]) - 1).max() < 0.11
    assert np.abs(np.exp(one.residual[3:]) - 1).max() < 0.11
    assert pytest.approx(1e6 / 3, rel=0.15) == 2**29 / 1440


def test_the_system_of_256_is_its_sources_and_the_lesson_names_it():
    found = {field: hardware.value("nvlink-switch-system", field) for field in ("gpus", "taper")}
    assert found == {"gpus": 256, "taper": 2}  # "256 GPUs", "a taper of 2:1"
    text = (Path(__file__).parents[2] / "notebooks" / "10_seventy_two.ipynb").read_text(encoding="utf-8")
    assert all(f"nvlink-switch-system.{field}" in text for field in found)


def test_statements_about_the_two_sides_of_the_line():
    where = [("dgx-b200", 8), ("gb200-nvl72", 72), ("dgx-b200", 72)]
    small = [predict("all_to_all", 8 * n, s, n).time_s for s, n in where]
    large = [predict("all_to_all", 2**30, s, n).busbw_Bps for s, n in where]
    assert small[1] < 1.6 * small[0]
    assert 4 < small[2] / small[1] < 12
    assert large[1] == pytest.approx(large[0], rel=0.05)
    assert 12 < large[1] / large[2] < 18
    assert hardware.link("nvlink5").line_Bps / hardware.link("ib-ndr").line_Bps == 18


def test_statements_about_a_dense_model():
    steps = {
        (s, t): float(serving.decode("llama3-405b", s, Layout(tensor=t), 1, 4096, gpu="gb200").step_s)
        for s in ("dgx-b200", "gb200-nvl72")
        for t in (8, 16, 32, 64)
    }
    boxes, rack = ([steps[s, t] for t in (8, 16, 32, 64)] for s in ("dgx-b200", "gb200-nvl72"))
    assert (np.diff(boxes) > 0).all()
    assert (np.diff(rack) < 0).all()
    assert 1.5 < rack[0] / rack[3] < 2


def test_statements_about_copies_and_exchanges():
    assert 5 < experts.visits(256, 8, 8) < 6
    assert 7 < experts.visits(256, 8, 64) < 8
    straight, once = (experts.sent_copies("deepseek-v3", "dgx-b200", 64, w)[0] for w in ("low-latency", "throughput"))
    assert straight == 7
    assert once / straight == pytest.approx(2 / 3, abs=0.02)
    box, far = lesson10.in_one_box(), lesson10.across_boxes()
    assert box.measured_s[0, :5].max() < 1.15 * box.measured_s[0, :5].min()
    assert box.library_s[0] < box.measured_s[0, 0]
    assert box.library_s[-1] == pytest.approx(box.measured_s[0, -1], rel=0.1)
    assert far.measured_s[0, -1] < 1.2 * far.measured_s[0, 3]
    assert 8 < far.library_s[-1] / far.measured_s[0, -1] < 10
    one, two = (experts.exchange(128, s, 64, "dispatch") for s in ("gb200-nvl72", "dgx-b200"))
    assert one.parts["launch"] > 0.5 * one.time_s
    assert one.parts["bytes"] / 2 == pytest.approx(0.2 * one.time_s, rel=0.05)
    assert two.parts["bytes"] > 0.7 * two.time_s
    assert two.parts["bytes"] / 2 == pytest.approx(2 / 5 * two.time_s, rel=0.05)


def test_statements_about_reading_experts():
    times = [expertlayer.layers("deepseek-v3", "gb200-nvl72", [8, 64], t).compute_s for t in (1, 64, 256, 1024)]
    few, plateau, more, many = times
    assert few[0] < 0.3 * plateau[0]
    assert plateau[0] == pytest.approx(8 * plateau[1], rel=0.01)
    assert more[0] == pytest.approx(plateau[0], rel=0.01)
    assert more[1] > 2 * plateau[1]
    assert many[0] == pytest.approx(many[1])


def test_statements_about_routers():
    loads = []
    for taste, place in ((0.0, "beside"), (1.0, "beside"), (1.0, "apart")):
        rng = np.random.default_rng(0)
        chosen = np.argsort(taste * np.log(1 / np.arange(1, 257) ** 0.5) + rng.gumbel(size=(8192, 256)))[:, -8:]
        gpu = chosen // 4 if place == "beside" else chosen % 64
        load = np.bincount(gpu.ravel(), minlength=64)
        loads.append(load.max() / load.mean())
    assert loads[0] == pytest.approx(1.1, abs=0.03)
    assert loads[1] > 5
    assert 2 < loads[1] / loads[2] < 2.5


def test_statements_about_launches():
    """Four GPUs in one tray launch a fifth quicker than the model says, 384 experts slower; a new box is met."""
    new_box, tray, more_experts = lesson10.launches()
    assert new_box.endswith("0.99 ×")
    assert tray.startswith("gb200-nvl72, 4 GPUs")
    assert tray.endswith("0.79 ×")
    assert "384 experts" in more_experts
    assert more_experts.endswith("1.2 ×")


def test_statements_about_published_servers():
    off = {line.rpartition(":")[0]: int(line.rpartition(":")[2].removesuffix("%")) for line in lesson10.served_runs()}
    assert len(off) >= 4
    assert all(abs(part) <= 10 for name, part in off.items() if "h100" in name)
    assert all(55 <= part <= 65 for name, part in off.items() if "gb200" in name)


def test_statements_about_uneven_loads_and_broken_switches():
    rack = [expertlayer.layers("deepseek-v3", "gb200-nvl72", [64], 128, imbalance=i).time_s[0] for i in (1, 4)]
    box = expertlayer.layers("deepseek-v3", "dgx-b200", [8], 128, gpu="gb200").time_s[0]
    assert rack[0] < box < rack[1]
    assert hardware.value("gb200-nvl72", "switch_trays") * 2 == hardware.value("nvlink5", "links") == 18


def test_statements_about_serving():
    inside, across = lesson10.step_of("gb200-nvl72", 64, 128), lesson10.step_of("dgx-b200", 64, 128)
    assert across.communicate_s > 0.6 * across.step_s
    assert inside.communicate_s < 0.4 * inside.step_s
    rack, boxes = (lesson10.curve(s) for s in ("gb200-nvl72", "dgx-b200"))
    assert 1 < rack[1][-1] / boxes[1][-1] < 1.2  # nobody in a hurry
    assert rack[0][0] == pytest.approx(boxes[0][0], rel=0.02)  # a handful of requests
    at = 90.0
    made = [np.interp(at, c[0][::-1], c[1][::-1]) for c in (rack, boxes)]
    assert made[0] / made[1] > 3
    four = fits("deepseek-v3", Layout(expert=8), "gb200", 8 * 256, 8192, n_gpus=72)
    assert not four.fits
    assert fits("deepseek-v3", Layout(expert=64), "gb200", 64 * 256, 8192).fits
    plans = [("dgx-b200", 8), ("dgx-b200", 32), ("gb200-nvl72", 32)]
    read = [
        serving.prefill("deepseek-v3", s, Layout(expert=e), 4096, 4 * e, gpu="gb200").tokens_per_s_per_gpu
        for s, e in plans
    ]
    assert read[0] > read[2] > read[1]


def test_statements_about_memory_behind_c2c():
    assert host_Bps("gb200") / host_Bps("b200") == pytest.approx(6.4, abs=0.5)
    assert 18 < hardware.gpu("gb200").hbm_Bps / host_Bps("gb200") < 24
    lines = lesson10.offload()
    assert "2.735 GB too many" in lines[0]


def test_the_lesson_trains_as_it_says():
    assert read_layer(64, 4096, "train").gain == pytest.approx(3.5, abs=0.1)
