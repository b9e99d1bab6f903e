"""One latency of a step: the hardware table's, which machines and systems take, beside what sweeps ask for."""

import re

import numpy as np
import pytest

from course_lib.base import hardware, measured
from course_lib.fabric import registry
from course_lib.fabric.rates import hop_s
from course_lib.fabric.routes import routes
from course_lib.timing import constants
from course_lib.timing.steps import fitted_step
from course_lib.timing.system import load
from tests.notebooks.lessons import LESSONS, read, source

BOXES = ("dgx1-p100", "dgx1-v100", "dgx2", "dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300")
BOXES += ("gb200-nvl72", "gb300-nvl72", "vr-nvl72", "a100-quad", "h100-quad", "mi300x")


@pytest.mark.parametrize("name", BOXES)
def test_a_drawn_machine_and_its_system_take_one_latency_for_a_step(name):
    near = routes(registry.build(name), 0, 1).latency_s[0]
    assert near == pytest.approx(load(name).scale_up.latency_s, rel=1e-12)


@pytest.mark.parametrize("generation", range(1, 7))
def test_a_hop_of_every_generation_of_nvlink_is_of_its_step(generation):
    step_s = hardware.value(f"nvlink{generation}", "step_s")
    assert hop_s("nvlink", generation) == 2 * hop_s("nvlink-switched", generation) == step_s


@pytest.mark.parametrize("family", constants.families("up"))
def test_an_assumed_step_is_good_to_a_factor_of_two(family):
    step = fitted_step(family)
    assert 0.5 < step.short_s / step.assumed_s < 2


def test_a_copy_within_a_gpu_takes_nearly_as_long_as_over_nvlink():
    row = measured.matrix("dgx1-v100-latency").values[0]
    assert row[0] == pytest.approx(row[1:5].mean(), rel=0.1)  # the four peers that have a link


def test_half_of_a_load_is_about_a_step():
    half_s = hardware.value("nvlink5", "load_s") / 2
    assert half_s == pytest.approx(hardware.value("nvlink5", "step_s"), rel=0.2)


def _cell(lesson: str, cell_id: str) -> str:
    (path,) = (p for p in LESSONS if p.name.startswith(lesson))
    return next(source(c) for c in read(path)["cells"] if c["id"] == cell_id)


def test_what_lessons_say_of_a_step_is_the_tables_and_the_sweeps():
    said = _cell("04", "04-t31")
    numbers = r"takes ([\d.]+) µs for a step, .*? ask for ([\d.]+) to ([\d.]+) µs; the ([\d.]+) µs of lesson 02"
    step, low, high, copy = map(float, re.search(numbers, said).groups())
    assert (step, copy) == (1e6 * hardware.value("nvlink4", "step_s"), 1e6 * hardware.value("nvlink4", "latency_s"))
    switched = [f for f in constants.families("up") if re.fullmatch(r"nvlink[345]-\w+", f)]
    asked = 1e6 * np.array([fitted_step(f).short_s for f in switched])
    assert (round(asked.min(), 1), round(asked.max(), 1)) == (low, high)
    up, out = load("dgx-h100").scale_up, load("dgx-h100").scale_out
    for cell_id in ("05-c7", "05-c14"):
        assert f"{up.latency_s:.0e}".replace("e-06", "e-6") in _cell("05", cell_id), cell_id
    assert f"{up.bandwidth_Bps / 1e9:g}e9" in _cell("05", "05-c14")
    assert f"{out.latency_s:.0e}".replace("e-06", "e-6") in _cell("05", "05-c14")
