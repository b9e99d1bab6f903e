"""Pictures of pipelines: every piece of work is drawn where it happens, bubbles are counted, one micro-batch stands out."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures.show import meta_of, title_of
from course_lib.figures.theme import contrast, themed
from course_lib.figures.timeline import held_by_stage, pipeline, steps_over_micro
from course_lib.plan.orders import make
from course_lib.plan.pipeline import in_flight, run

CASES = [("gpipe", 4, 8, 1), ("1f1b", 2, 1, 1), ("interleaved", 4, 8, 2), ("zero-bubble", 8, 8, 1)]


def drawn():
    line = run(make("zero-bubble", 4, 8))
    return (
        pipeline(line, name="ZB"),
        held_by_stage(["GPipe", "1F1B"], [[8, 8], [2, 1]]),
        steps_over_micro([32, 128], [35.8, 107.1], 0.74, 12.0, 7.5),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_every_piece_of_work_is_a_bar_in_its_place(case):
    line = run(make(*case))
    figure = pipeline(line)
    assert len(figure.data) == 3
    assert sum(len(t.x) for t in figure.data) == line.start_s.size
    for kind, trace in zip("FBW", figure.data, strict=True):
        mine = line.kind == kind
        np.testing.assert_allclose(np.asarray(trace.base) + np.asarray(trace.x), line.end_s[mine])
        assert np.asarray(trace.y).tolist() == line.stage[mine].tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_idle_and_held_are_written_beside_each_stage(case):
    line = run(make(*case))
    labels = [a.text for a in pipeline(line).layout.annotations]
    assert len(labels) == line.p
    for s, text in enumerate(labels):
        idle, held = re.fullmatch(r"idle ([\d.]+) %<br>holds ([\d.]+)", text).groups()
        assert float(idle) == pytest.approx(100 * line.idle_s[s] / line.step_s, rel=0.05)
        assert float(held) == pytest.approx(in_flight(line)[s], rel=0.005)


def test_only_the_chosen_micro_batch_is_amber():
    line = run(make("1f1b", 4, 8))
    for trace in pipeline(line, micro=2).data[:2]:
        shades = np.array(trace.marker.color)
        chosen = np.array(trace.text) == "2"
        assert len(set(shades[chosen])) == len(set(shades[~chosen])) == 1
        assert set(shades[chosen]) != set(shades[~chosen])
    assert len(set(pipeline(line, micro=None).data[0].marker.color)) == 1


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_in_the_bars_can_be_read(name):
    with themed(name):
        for trace in pipeline(run(make("interleaved", 4, 8, 4))).data[:2]:
            for bar, text in zip(trace.marker.color, trace.textfont.color, strict=True):
                assert contrast(bar, text) >= 4.5, (bar, text)


@pytest.mark.parametrize("figure", drawn(), ids=("pipeline", "held", "steps"))
def test_figures_keep_the_promises_of_all_figures(figure):
    go.Figure(figure.to_dict())
    title, subtitle = title_of(figure)
    assert re.search(r"\d", title)
    assert len(subtitle) > 10
    alt, columns, table = meta_of(figure)
    assert re.search(r"\d", alt)
    assert table
    assert all(len(row) == len(columns) for row in table)
    assert figure.layout.showlegend is False


def test_what_cannot_be_drawn_is_refused_in_words():
    with pytest.raises(CourseError, match="too fine"):
        pipeline(run(make("gpipe", 16, 256)))
    with pytest.raises(CourseError, match="2 names and 1 rows"):
        held_by_stage(["a", "b"], [[1, 2]])
    with pytest.raises(CourseError, match="entries"):
        steps_over_micro([1, 2], [1.0], 1.0, 1.0, 1.0)
