"""The explorer of lesson 13, and the sentences of the lesson that lean on its numbers."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import checkpoints, fleetfit, goodput, tenants
from course_lib.cluster.published import DAY_s, fleet, known
from course_lib.cluster.reliability import part_rates
from course_lib.explorers import lesson13 as lesson
from course_lib.explorers.lesson13 import sizes
from course_lib.figures import failing, paying, watching
from course_lib.figures.counted import predictions
from course_lib.figures.show import meta_of
from course_lib.figures.theme import themed

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def explorer():
    return lesson.cluster()


def test_every_combination_draws_without_a_message(explorer):
    for n, rate, save in itertools.product(lesson.GPUS[::3] + lesson.GPUS[-1:], lesson.RATES[::2], lesson.STALLS[::3]):
        explorer.set(n_gpus=n, rate=rate, save_s=save)
        assert (explorer.message, explorer.stale) == ("", False)
        assert len(explorer.figure.data) == 7
        _alt, columns, table = meta_of(explorer.figure)
        assert len(table) == len(lesson.GPUS)
        assert all(len(row) == len(columns) for row in table)


def test_each_control_changes_title_and_equation(explorer):
    for change in ({"n_gpus": 65536}, {"rate": 13.9}, {"save_s": 120.0}):
        explorer.reset()
        before = explorer.figure.layout.title.text, explorer.view.formula.value
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before[0]
        assert explorer.view.formula.value != before[1]


def test_the_areas_end_at_one_and_the_mark_lies_on_the_curve(explorer):
    explorer.set(n_gpus=4096, rate=6.5, save_s=33.0)
    assert explorer.figure.data[3].y == pytest.approx(1)
    curve, point = explorer.figure.data[4], explorer.figure.data[6]
    assert point.y[0] == pytest.approx(np.interp(point.x[0], curve.x, curve.y))


def test_the_answers_to_the_explorers_questions_hold():
    def first(save_s):
        s = lesson.read_cluster(16384, 3.79, save_s).shares
        return lesson.GPUS[int(np.flatnonzero(s.restarting > s.saving + s.redone)[0])]

    assert first(10.0) == 8192
    assert first(0.5) == 512
    base, better, quicker = (
        lesson.read_cluster(131072, r, s).usd[-1] for r, s in ((3.79, 10.0), (2.34, 10.0), (3.79, 3.0))
    )
    assert better < quicker < base


def test_the_numbers_of_the_prose_are_those_of_the_models():
    run, rows = fleet("llama3-405b"), fleetfit.held_out()
    assert run.gpus_per_host / run.rate_per_host_s / (365 * DAY_s) == pytest.approx(6, abs=0.3)
    assert round(100 * rows[-1].error) == 26
    assert 3.5 < max(r.predicted.expected / r.counted for r in rows) < 4  # "a factor of nearly four"
    assert sum(not r.inside for r in rows) == 4  # open dots
    jobs_ratio = fleet("rsc-1-jobs").rate_per_host_s / fleet("rsc-1").rate_per_host_s
    assert 3.5 < jobs_ratio < 4  # "nearly four times as often"
    card = next(r for r in part_rates() if r.name == "nic")
    assert card.events == 7
    assert card.high_per_s / card.rate_per_s == pytest.approx(2, abs=0.2)
    assert lesson.write_s() == pytest.approx(33, abs=0.3)
    assert known("restart-lablup").value == 11 * 60
    assert DAY_s / run.between_s == pytest.approx(8, abs=0.3)  # hosts away with a day's repair
    assert known("spare_share").value == 1 / 20  # "a spare for twenty hosts"
    assert 16 / (16_384 / run.gpus_per_host * known("spare_share").value) == pytest.approx(
        1 / 6, abs=0.02
    )  # "a sixth of that"
    assert goodput.waiting(run.between_s, DAY_s, 8) > 0.1 > 0.005 > goodput.waiting(run.between_s, DAY_s, 16)
    lines = lesson.bill().lines
    assert (lines["switches"] + lines["optics"]) / lines["electricity"] == pytest.approx(2, abs=0.15)
    assert lesson.usd_per_million(1.0) / lesson.purchase_only() == pytest.approx(2, abs=0.15)
    first, second = (job.shares.useful for job in lesson.jobs()[:2])
    assert first < known("useful-llama3").value < second


def test_rates_to_choose_from_are_those_of_the_fleets():
    published = {round(fleet(n).rate_per_host_s * 1000 * DAY_s, 2) for n in ("rsc-1", "rsc-2", "llama3-405b")}
    assert {*published, round(fleet("opt-175b").rate_per_host_s * 1000 * DAY_s, 1)} < set(sizes.RATES)


def test_a_design_claims_the_cost_that_the_lesson_computed():
    cells = json.loads((NOTEBOOKS / "13_when_parts_fail.ipynb").read_text(encoding="utf-8"))["cells"]
    (claim,) = re.findall(r'cost_per_million_tokens = "([\d.]+) USD', "".join("".join(c["source"]) for c in cells))
    assert claim == f"{lesson.usd_per_million(lesson.jobs()[1].shares.useful):.2f}"


def test_the_words_under_the_interval_give_the_best_of_the_title():
    fig = lesson.interval_picture(lesson.write_s(), fleet("llama3-405b").between_s)
    best, share = re.search(r"every ([\d.]+ min) keeps ([\d.]+ %)", fig.layout.title.text.replace("<br>", " ")).groups()
    assert f"at most {share} at {best}" in meta_of(fig)[0]


def test_the_sentence_names_all_three_losses_at_every_size_of_the_questions():
    for n, save in ((512, 0.5), (4096, 10.0), (8192, 10.0), (131_072, 10.0)):
        said = sizes._sentence(sizes.read_cluster(n, 3.79, save))
        assert all(word in said for word in ("saving", "doing again", "restarting")), said


def test_the_top_of_the_interval_is_flat():
    save, between = lesson.write_s(), fleet("llama3-405b").between_s
    best = checkpoints.best_s(save, between)
    here, half, double = (goodput.useful(between, best * f, save, 660.0).useful for f in (1, 0.5, 2))
    assert here - min(half, double) < 0.025


def test_the_second_design_wins_every_variation_of_the_mix():
    for more in ({}, {"neighbours": 0.5}, {"lateness_s": 20e-6}):
        assert lesson.ranking(**more).wins_mix == "H100, eight cards"


def test_a_partition_key_leaves_all_strangers_in_reach_over_nvlink():
    assert len(tenants.leaks(lesson.OWNERS, lesson.two_tenants())) == 16
    assert tenants.leaks(lesson.OWNERS, lesson.two_tenants(True)) == []


def test_the_slip_in_the_targets_names_the_line():
    line = next(i for i, text in enumerate(lesson.TARGETS.splitlines(), 1) if "10 min" in text)
    assert f"line {line}:" in lesson.refused("10 min", "10 minutes")
    assert "without a complaint" in lesson.refused("10 min", "11 min")


PICTURES = (
    lesson.fleet_picture,
    lesson.shares_picture,
    lesson.bill_picture,
    lesson.alarm_picture,
    lesson.ranking_picture,
    lesson.reach_picture,
    lambda: lesson.interval_picture(33.0, 11_124.0),
)


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_pictures_are_drawn_on_both_grounds(picture, ground):
    with themed(ground):
        alt, columns, table = meta_of(picture())
    assert any(c.isdigit() for c in alt)
    assert all(len(row) == len(columns) for row in table)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: failing.time_shares(["a"], [0.5], [0.1], [0.1], [0.1]), "add up to 1"),
        (lambda: predictions(["a"], [1, 2], [1], [1], 5), "expected has 2"),
        (lambda: failing.over_interval([1, 2], [0.5, 0.6], []), "at least one"),
        (lambda: failing.over_cluster([8], {p: [0.25] for p in failing.PARTS}, [1], [1], 9), "not among"),
        (lambda: paying.bill({}, 8), "empty"),
        (lambda: paying.two_rankings({"a": 1, "b": 2}, {"a": 1}), "same two designs"),
        (lambda: watching.alarms([1], [0.5], [1.0], chosen=3), "not among"),
        (lambda: watching.reach(["a"], [[1, 2]], [0]), "square"),
    ],
)
def test_figures_refuse_what_does_not_fit(call, word):
    with pytest.raises(CourseError, match=word):
        call()
