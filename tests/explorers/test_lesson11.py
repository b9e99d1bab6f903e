"""Lesson 11's explorer: every control, and the sentences of the lesson that lean on what is computed."""

import itertools
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.explorers import lesson11
from course_lib.explorers.lesson11 import PATTERNS, RATIOS, WAYS, over_seeds, send
from course_lib.fabric import collisions
from course_lib.figures.show import meta_of
from course_lib.links import recovery
from course_lib.timing import acrossboxes
from course_lib.timing.tuning import predict


@pytest.fixture(scope="module")
def explorer():
    return lesson11.hash_or_spread()


def test_every_choice_draws(explorer):
    for (_a, pattern), (_b, choice), ratio, seed in itertools.product(PATTERNS, WAYS, RATIOS, (1, 12)):
        explorer.set(pattern=pattern, choice=choice, ratio=ratio, seed=seed)
        assert (explorer.message, explorer.stale) == ("", False)
        alt, columns, table = meta_of(explorer.figure)
        assert alt
        assert all(len(row) == len(columns) for row in table)
    go.Figure(explorer.figure.to_dict())  # Plotly's own validation


def test_each_control_changes_what_is_shown(explorer):
    start = {"pattern": "twin", "choice": "hashed", "seed": 1, "ratio": 1}
    for change in ({"pattern": "another"}, {"choice": "adaptive"}, {"seed": 2}, {"ratio": 4}):
        explorer.set(**start)
        before = explorer.figure.layout.title.text
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before


def test_no_flow_beats_the_bound_that_the_equation_names():
    for (_a, pattern), (_b, choice), ratio, seed in itertools.product(PATTERNS, WAYS, RATIOS, range(1, 6)):
        found = send(pattern, choice, seed, ratio)
        assert found.slowest_Bps <= 50e9 / max(1.0, found.fullest) * (1 + 1e-9)
        assert (found.rate_Bps <= 50e9 * (1 + 1e-9)).all()


def test_unknown_patterns_and_ways_are_refused():
    with pytest.raises(CourseError, match="twin"):
        send("twins")
    with pytest.raises(CourseError, match="hashed"):
        send("twin", "hash")


# What the lesson says in words


def test_answers_to_the_two_questions():
    twins = over_seeds("twin") / 50e9
    assert twins.min() == pytest.approx(0.25)
    assert twins.max() == pytest.approx(0.5)
    assert send("twin", "fixed").slowest_Bps == pytest.approx(50e9)
    assert send("permutation", "fixed").slowest_Bps <= np.median(over_seeds("permutation"))
    spread = [send("twin", "adaptive", 1, r).slowest_Bps for r in RATIOS]
    assert np.allclose(spread, [50e9, 25e9, 12.5e9])
    for _title, pattern in PATTERNS:
        assert send(pattern, "hashed", 1, 4).slowest_Bps == pytest.approx(send(pattern, "adaptive", 1, 4).slowest_Bps)
    assert over_seeds("twin").mean() < send("twin", "adaptive", 1, 2).slowest_Bps  # hashed 1:1 below spread 2:1


def test_rails_keep_twins_off_the_spines():
    assert send("twin", "hashed", 1, 1, "rail").climbing == pytest.approx(0.25)
    assert send("twin", "hashed", 1, 1, "leaf").climbing == pytest.approx(1)
    assert send("permutation", "hashed", 1, 1, "rail").climbing > 0.9


def test_what_the_bill_is_said_to_be():
    counts = [[int(n.replace(",", "")) for n in re.findall(r"[\d,]+\d|\d", line)] for line in lesson11.bills(8192)]
    full, third = counts[0], counts[2]
    assert (full[-1] - 8192) / full[-1] == pytest.approx(2 / 3)
    assert third[2] / full[2] == pytest.approx(0.5, abs=0.04)
    assert 1 / 3 < (third[-1] - 8192) / (full[-1] - 8192) < 0.4
    assert all(line.endswith("as published") for line in lesson11.reference_designs())
    assert len(lesson11.reference_designs()) == 5


def test_the_measured_boxes_are_what_the_text_says():
    one, four, again = (acrossboxes.runs()[name] for name in ("one-box", "four-boxes", "four-boxes-again"))
    at = four.at(2**32)
    assert one.time_s[at] == pytest.approx(10.15e-3, rel=0.002)
    assert four.time_s[at] / one.time_s[at] == pytest.approx(2.17, abs=0.01)
    assert (np.abs(again.time_s[-3:] / four.time_s[-3:] - 1) < 0.02).all()
    assert (round(0.65 / 0.015), round(0.65 / 0.005)) == (43, 130)
    share = acrossboxes.card_rate_Bps(four.busbw_Bps, 4)[9::5] / 50e9
    assert share[0] == pytest.approx(1 / 8, abs=0.01)
    assert share[-1] == pytest.approx(3 / 4, abs=0.02)
    assert acrossboxes.serial_with_sums_s(4, 2**32) < four.time_s[at]
    inside = acrossboxes.serial_with_sums_s(4, 2**32) - acrossboxes.least_times_s(4, 2**32)["levels at the same time"]
    rings = 2 * 7 / 8 * 2**32 / hardware.value("nvlink5", "line_Bps")
    assert inside / rings == pytest.approx((1 + 1 / 8) / (2 * 7 / 8))  # "1 + 1/8 in place of 2·7/8"
    both = acrossboxes.least_times_s(4, 2**32)["levels at the same time"] + one.time_s[at]
    assert both > four.time_s[at]


def test_losses_and_collisions_are_what_the_text_says():
    behind = recovery.packets_behind(20e-6, 50e9, 4096)
    assert recovery.goodput_share(1e-6, behind) > 0.999
    assert recovery.goodput_share(1e-3, behind) == pytest.approx(0.8, abs=0.01)
    assert recovery.goodput_share(1e-2, behind) < 0.33
    assert recovery.goodput_share(1e-3 / 4, 4 * behind) == pytest.approx(
        recovery.goodput_share(1e-3, behind), rel=0.002
    )
    assert collisions.fullest_chances(32, 32)[3:].sum() > 0.95
    assert collisions.fullest_mean(512, 32) / 16 < 2
    assert lesson11.neighbours(1, "adaptive") == "A 1 ×, B 1 ×"
    assert lesson11.neighbours(1, "hashed", 2) == "A 3 ×, B 1.5 ×"


def test_the_predictor_hides_nvlink_behind_the_cards():
    found = predict("all_reduce", 2**32, "dgx-b200", 32)
    assert found.terms["network transfer"] > 0.85 * found.time_s


def test_rates_in_prose():
    assert hardware.value("nvlink5", "line_Bps") / hardware.value("ib-ndr", "line_Bps") == pytest.approx(18)
    assert hardware.value("ib-hdr", "line_Bps") == 25e9
    assert hardware.value("nvlink3", "line_Bps") == 300e9
