"""The bands that the predictor's errors on published sweeps have to stay in, and the rules of the judgement."""

import csv

import numpy as np
import pytest

from course_lib.timing import constants, fit
from course_lib.timing.evidence import TARGETS, medians, residuals
from course_lib.timing.sweeps import DATA, judging, part, sweeps


@pytest.fixture(scope="module")
def found():
    return residuals("training")


@pytest.mark.parametrize("inside", [True, False])
def test_systems_that_no_constant_saw_are_within_the_targets(found, inside):
    every, large, n = medians([x for x in found if x.part == "judging" and x.sweep.inside == inside])
    assert n > 300
    assert every <= TARGETS[inside][0]
    assert large <= TARGETS[inside][1]


@pytest.mark.parametrize(("inside", "most"), [(True, (0.10, 0.05)), (False, (0.23, 0.20))])
def test_what_predict_uses_stays_in_its_band(inside, most):
    every, large, _n = medians([x for x in residuals("shipped") if x.sweep.inside == inside and x.part != "aside"])
    assert every <= most[0]
    assert large <= most[1]


def test_a_wrong_bandwidth_would_leave_the_band(found):
    mine = [x for x in found if x.part == "judging" and x.sweep.inside]
    shifted = np.concatenate([x.residual for x in mine]) + np.log(1.3)
    assert np.median(np.abs(shifted)) > TARGETS[True][0]


def test_no_system_trains_and_judges():
    by_part = {name: {s.measured_on for s in sweeps() if part(s) == name} for name in ("training", "judging")}
    assert not by_part["training"] & by_part["judging"]
    assert by_part["judging"] == judging()


def test_every_judged_family_also_trains():
    trained = {(s.family, s.inside) for s in sweeps() if part(s) == "training"}
    assert {(s.family, s.inside) for s in sweeps() if part(s) == "judging"} <= trained


def test_every_sweep_has_points_and_a_source():
    assert all(len(s.message_B) >= 3 and (s.time_s > 0).all() and s.source for s in sweeps())
    with open(DATA / "points.csv", encoding="utf-8", newline="") as file:
        assert {row["sweep"] for row in csv.DictReader(file)} == {s.name for s in sweeps()}


def test_the_fit_can_be_rerun_and_gives_the_committed_constants():
    for kind, family in (("up", "nvlink5-switch"), ("net", "efa2")):
        mine = [s for s in sweeps() if not s.flag and s.family == family and s.inside == (kind == "up")]
        again = fit.fit_family(kind, family, mine, lambda s: constants.load("up", s.system.scale_up.family))
        for name, value in constants.load(kind, family).items():
            assert again[name] == pytest.approx(value, rel=0.02)


def test_training_constants_do_not_depend_on_judged_times():
    mine = [s for s in sweeps() if part(s) == "training" and s.family == "nvlink4-switch" and s.inside]
    again = fit.fit_family("up", "nvlink4-switch", mine, lambda s: {})
    for name, value in constants.load("up", "nvlink4-switch", "training").items():
        assert again[name] == pytest.approx(value, rel=0.02)


def test_the_accuracy_page_holds_the_committed_numbers(found):
    page = (DATA.parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for inside, words in ((True, "inside one host or rack"), (False, "across hosts")):
        every, large, n = medians([x for x in found if x.part == "judging" and x.sweep.inside == inside])
        row = next(line for line in page.splitlines() if line.startswith(f"| {words} | judging"))
        assert [cell.strip() for cell in row.split("|")][4:9:2] == [
            str(n),
            f"{TARGETS[inside][0]:.2f}",
            f"{TARGETS[inside][1]:.2f}",
        ]
        assert f"{every:.2f}" in row
        assert f"{large:.2f}" in row
