"""Pictures of algorithms: the winner is drawn where it wins, residuals lie where they are, and every figure keeps the house rules."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures.algorithms import contest_figure, runs_in_words, steps_and_bytes
from course_lib.figures.bysystem import residuals_by_system
from course_lib.figures.inswitch import busbw_over_gpus
from course_lib.figures.show import meta_of, spec, title_of
from course_lib.figures.theme import themed
from course_lib.timing.contest import contest
from course_lib.timing.evidence import residuals

SIZES = 2.0 ** np.arange(3, 35)


def race():
    return contest_figure(contest("dgx-h100", 64, SIZES), 2.0**20, role="network")


def plane():
    return steps_and_bytes(["ring", "tree", "NVLS"], [14, 6, 2], [1.75, 6, 1.125], 8, best=["NVLS"])


def gpus():
    return busbw_over_gpus(np.array([2, 8]), {"NVLS": np.array([3e11, 7e11])}, 4.5e11, [8], [4.7e11], [3.6e11])


def by_system():
    return residuals_by_system([x for x in residuals() if x.part == "judging"])


@pytest.mark.parametrize("make", [race, plane, gpus, by_system])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_keep_the_house_rules(make, theme):
    with themed(theme):
        fig = make()
    go.Figure(fig.to_dict())  # Plotly's own validation
    title, subtitle = title_of(fig)
    alt, columns, rows = meta_of(fig)
    assert re.search(r"\d", title)
    assert len(subtitle) > 10
    assert re.search(r"\d", alt)
    assert rows
    assert all(len(row) == len(columns) for row in rows)
    text = json.dumps(spec(fig))
    assert "$" not in text
    assert len(text) < 100_000


def test_the_thick_line_is_the_least_time_of_those_that_take_part():
    found = contest("dgx-h100", 8, SIZES, library_only=True)
    fig = contest_figure(found)
    thick = next(t for t in fig.data if t.line.width == 4)
    part = [found.names.index(name) for name in found.taking_part]
    assert thick.y == pytest.approx(found.time_s[part].min(axis=0))


def test_bands_are_the_runs():
    found = contest("dgx-h100", 64, SIZES)
    fig = contest_figure(found)
    assert [(s.x0, s.x1) for s in fig.layout.shapes] == [(a, b) for a, b, _name in found.runs]
    assert all(name in runs_in_words(found) for _a, _b, name in found.runs)


def test_rows_of_residuals_hold_the_percentiles_of_their_system():
    found = [x for x in residuals() if x.part == "judging"]
    _alt, columns, rows = meta_of(residuals_by_system(found))
    name, where, n, *_rest = rows[0]
    mine = np.concatenate(
        [x.residual for x in found if x.sweep.measured_on == name and x.sweep.inside == (where == "inside")]
    )
    assert n == mine.size
    assert rows[0][columns.index("median")] == pytest.approx(np.exp(np.median(mine)), abs=1e-3)


def test_a_system_inside_its_hosts_and_across_them_is_two_rows_and_one_system():
    found = [x for x in residuals() if x.part == "judging"]
    alt, _columns, rows = meta_of(residuals_by_system(found))
    systems = {x.sweep.measured_on for x in found}
    assert len(rows) > len(systems)
    assert f"on {len(systems)} systems" in alt


def test_pictures_without_content_are_refused():
    with pytest.raises(CourseError):
        residuals_by_system([])
    with pytest.raises(CourseError):
        steps_and_bytes(["ring"], [14], [1.75], 8)
    with pytest.raises(CourseError):
        contest_figure(contest("dgx-h100", 8, [1e6]))
    with pytest.raises(CourseError):
        busbw_over_gpus([2, 8], {"NVLS": np.array([1.0])}, 1.0, [8], [1.0], [1.0])
