"""What holds for every figure: valid for Plotly, opaque, readable, described, untouched by LaTeX, and the same number of traces."""

import html
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib import explorers
from course_lib.figures.show import MIMETYPE, bundle, meta_of, spec, title_of
from course_lib.figures.theme import contrast, themed

from .gallery import EVERY, FUNCTIONS


@pytest.fixture(params=EVERY, ids=lambda f: f.__name__)
def make(request):
    return request.param


@cache
def drawn(make, name):
    with themed(name):
        return make()


@pytest.fixture
def figure(make):
    return drawn(make, "light")


@pytest.mark.parametrize(("module", "name", "function", "_content"), FUNCTIONS)
def test_every_figure_has_an_example(module, name, function, _content):
    assert ">>>" in (function.__doc__ or ""), f"figures/{module}.py: {name}: docs/add_a_figure.md, step 1"


def test_plotly_accepts_it_when_it_validates(figure):
    go.Figure(figure.to_dict())


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_ground_is_opaque_and_every_text_readable_on_it(make, name):
    figure = drawn(make, name)
    ground = figure.layout.paper_bgcolor
    assert re.fullmatch("#[0-9A-F]{6}", ground)
    assert figure.layout.plot_bgcolor == ground
    texts = re.findall(
        r'"font": ?\{[^{}]*?"color": ?"(#[0-9A-Fa-f]{6})"',
        json.dumps(figure.to_plotly_json(), default=lambda a: a.tolist()),
    )
    texts += re.findall(r"color:(#[0-9A-Fa-f]{6})", str(figure.layout.annotations))
    assert len(texts) > 3
    assert all(contrast(colour, ground) >= 4.5 for colour in texts if colour != ground)


def test_it_says_what_is_seen_with_a_number_and_how_to_read_it(figure):
    title, subtitle = title_of(figure)
    assert re.search(r"\d", title), f"the title has no number: {title!r}; docs/add_a_figure.md, step 1"
    assert len(subtitle) > 10, f"no line under the title says how to read it: {subtitle!r}"


def test_it_has_a_description_with_numbers_and_a_table(figure):
    alt, columns, rows = meta_of(figure)
    assert re.search(r"\d", alt), f"the description has no number: {alt!r}; docs/add_a_figure.md, step 1"
    assert len(columns) >= 2, "its table has fewer than two columns: docs/add_a_figure.md, step 1"
    assert rows, "its table has no line: docs/add_a_figure.md, step 1"
    assert all(len(row) == len(columns) for row in rows)


def test_one_of_a_thing_is_no_plural(figure):
    """A count that may be one stands behind its noun: "chunks 1", "flows 1"."""
    words = [meta_of(figure)[0], title_of(figure)[0]]
    words += [str(text) for trace in figure.data if isinstance(trace.text, tuple) for text in trace.text]
    found = re.findall(
        r"(?<![\d.,^·×] )(?<!\d of )(?<![\d.,])\b1 (?!is |was |has |takes |keeps |gets )[a-z]{3,}s\b", " ".join(words)
    )
    assert not found, found


def test_it_holds_no_latex_no_address_and_no_legend(figure):
    text = json.dumps(spec(figure))
    assert "$" not in text
    assert "http" not in text
    assert figure.layout.showlegend is False
    assert figure.layout.uirevision


def test_axes_that_are_drawn_have_a_title_with_a_unit(figure):
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        if axis.visible is not False:
            assert axis.title.text or axis.ticktext  # categories say themselves what they are


def test_a_unit_stands_once_in_the_title_of_an_axis_or_at_its_ticks(figure):
    """Ticks that say ms below a title that says seconds leave a reader to choose."""
    for name, axis in figure.layout.to_plotly_json().items():
        ticks = " ".join(axis.get("ticktext") or ()) if re.match("[xy]axis", name) else ""
        if re.search(r"\d (%|[kKMGTP]?i?B(/s)?|[nµm]?s)(?!\w)", ticks):
            assert not re.search(r"\((seconds|bytes|bytes/s|s|%|.?B|.?B/s)\)$", axis["title"]["text"])


def test_explorers_name_no_unit_in_the_title_of_an_axis_whose_ticks_say_it():
    texts = {path: path.read_text(encoding="utf-8") for path in Path(explorers.__file__).parent.rglob("*.py")}
    assert [str(path) for path, text in texts.items() if re.search(r"\((seconds|bytes|bytes/s)\)[\"']", text)] == []


def test_hatched_bars_are_not_hatched_in_the_colour_of_the_ground_alone(figure):
    """One colour for all bars, and a hatch in the ground's: Plotly then fills nothing between the lines, and no bar is seen."""
    for trace in figure.data:
        hatch = trace.marker.pattern if trace.type == "bar" else None
        if hatch is None or not any(np.atleast_1d(hatch.shape)) or not isinstance(trace.marker.color, str):
            continue
        filled = hatch.fillmode == "overlay" or hatch.bgcolor
        assert filled or hatch.fgcolor != figure.layout.plot_bgcolor, f"{trace.name}: add fillmode='overlay'"


def test_the_same_kind_of_figure_has_the_same_traces(make):
    assert len(drawn(make, "dark").data) == len(drawn(make, "light").data)


def test_a_reader_without_plotly_gets_text_and_numbers(figure):
    made = bundle(figure)
    alt, columns, _rows = meta_of(figure)
    assert html.escape(alt.split()[0]) in made["text/html"]
    assert html.escape(columns[0]) in made["text/html"]
    assert "<script" not in made["text/html"]
    assert len(json.dumps(made[MIMETYPE])) < 100_000


def test_colab_gets_a_picture_of_plotlys_own(monkeypatch):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    made = bundle(drawn(EVERY[0], "light"))
    assert MIMETYPE not in made
    assert "plotly" in made["text/html"].lower()
