"""The explorer of lesson 06: every control, every value, and the sentences of the lesson that lean on it."""

import itertools

import numpy as np
import pytest

from course_lib.explorers import lesson06
from course_lib.explorers.lesson06 import BOXES, DEGREES, read_degree, remote_or_sliced, tensor_degree, two_over_links
from course_lib.figures.show import meta_of
from course_lib.plan.degrees import JOBS, degrees
from course_lib.plan.tensorscaling import compare, rows


@pytest.fixture(scope="module")
def explorer():
    return tensor_degree()


def test_every_combination_draws_without_a_message(explorer):
    for box, job, tensor in itertools.product(BOXES, JOBS, DEGREES):
        explorer.set(box=box, job=job, tensor=tensor)
        assert (explorer.message, explorer.stale) == ("", False)
        alt, columns, table = meta_of(explorer.figure)
        assert alt
        assert len(table) == len(DEGREES)
        assert all(len(row) == len(columns) for row in table)


def test_each_control_changes_title_and_equation(explorer):
    start = {"box": "h100", "job": "prompt", "tensor": 8}
    for change in ({"box": "nvl72"}, {"job": "write-1"}, {"tensor": 2}):
        explorer.set(**start)
        before = explorer.figure.layout.title.text, explorer.view.formula.value
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before[0]
        assert explorer.view.formula.value != before[1]


def test_the_frame_is_on_the_chosen_degree(explorer):
    explorer.set(box="h100", job="prompt", tensor=32)
    frame = explorer.figure.layout.shapes[1]
    assert (frame.x0 + frame.x1) / 2 == DEGREES.index(32)


def test_one_gpu_says_that_nothing_is_sent(explorer):
    explorer.set(box="h100", job="prompt", tensor=1)
    assert "0 bytes" in explorer.figure.layout.title.text.replace("<br>", " ")
    assert "too many" in explorer.view.said.value


def test_the_colour_of_communication_is_that_of_the_link():
    assert lesson06._role("h100", 1) == "nvlink"
    assert lesson06._role("h100-pcie", 1) == "pcie"
    assert {lesson06._role(box, 2) for box in BOXES} == {"network"}


# What the lesson says in words


def test_training_fits_at_64_on_h100_boxes_and_at_16_in_the_rack():
    h100, rack = read_degree(64, "h100", "train").found, read_degree(16, "nvl72", "train").found
    assert h100.fits.tolist() == [False] * 6 + [True]
    assert rack.fits.tolist() == [False] * 4 + [True] * 3
    assert read_degree(64, "h100", "train").share > 0.5
    assert 0.25 < read_degree(16, "nvl72", "train").share < 0.42


def test_one_token_is_fastest_at_8_in_boxes_of_eight_and_at_32_in_the_rack():
    for box, degree in (("h100", 8), ("h100-pcie", 8), ("b200", 8), ("nvl72", 32)):
        assert DEGREES[int(np.argmin(read_degree(8, box, "write-1").found.time_s))] == degree
    assert read_degree(8, "h100", "write-1").found.message_B == 16384


def test_two_gpus_are_too_small_to_train_even_if_activations_halved():
    """The lesson lays no more on the activations than they weigh."""
    found = degrees("llama3-8b", "dgx-h100", "train", tensor=[1, 2, 4])
    assert found.fits.tolist() == [False, False, True]
    assert found.parts_B["activations"][1] > found.parts_B["activations"][0] / 2
    assert found.memory_B[0] / 2 > found.capacity_B


def test_in_the_rack_a_prompt_goes_on_getting_faster():
    assert (np.diff(read_degree(8, "nvl72", "prompt").found.time_s) < 0).all()


def test_two_gpus_are_slower_over_pcie_and_a_card_for_a_short_prompt_only():
    short, long = two_over_links("llama3-8b", 256), two_over_links("llama3-8b", 8192)
    assert short.gains[0] > 1.3
    assert max(short.gains[1:]) < 1
    assert min(long.gains) > 1
    assert long.gains[1] < 1.2


def test_wide_models_are_easier_to_slice():
    gains = [two_over_links(name, 1024).gains for name in ("open-sci-1.7b", "llama3-8b", "llama3-70b", "llama3-405b")]
    assert (np.diff(np.array(gains), axis=0) > 0).all()
    assert gains[0][1] < 1 < gains[-1][1]


def test_reading_through_the_link_is_ruinous():
    pooled, sliced = remote_or_sliced()
    assert "274 ms" in pooled
    assert "160 sums of 16 KiB" in sliced


def test_measured_statements_of_the_lesson():
    job = {run.tensor: run.job_tokens_per_s for run in rows()}
    assert 1.1 < job[16] / job[8] < 1.2
    assert job[32] / job[8] < 0.8
    assert [r.batch for r in rows()] == [3, 8, 12, 16, 20]
    assert [r.batch for r in rows("sequence")] == [4, 10, 20, 40, 100]
    assert compare("sequence").error[4] < 0.6 * compare("tensor").error[4]


def test_the_takeaway_favours_the_domain():
    box, rack = (degrees("llama3-70b", name, "prompt", tensor=[1, 32]) for name in ("dgx-b200", "gb200-nvl72"))
    assert rack.time_s[0] / rack.time_s[1] > 1.5 * box.time_s[0] / box.time_s[1]
