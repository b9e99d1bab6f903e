"""The table of sources leads every value, derived ones too, back to a publication or to an assumption that says so."""

import re

import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.explorers.origins import where_from
from tests.notebooks import lessons


def test_a_derived_value_brings_the_values_it_is_made_of_each_once():
    rows = where_from("nvlink4.line_Bps", "nvlink4.links").rows
    assert [name.split(", ")[-1] for name, *_rest in rows] == ["line_Bps", "links", "link_Bps"]
    assert rows[0][1:3] == ("computed: links * link_Bps", "this library")
    assert rows[2][1] == "25 GB/s, one direction"


def test_every_value_of_the_table_has_a_source_an_assumption_or_a_formula():
    for item, field in hardware.table().values:
        for name, said, source, _address in where_from(f"{item}.{field}").rows:
            assert name
            assert said
            assert source


def test_the_table_escapes_and_links():
    html = where_from("nvlink4.advertised_Bps")._repr_html_()
    assert html.count("<tr>") == 2
    assert 'href="https://' in html
    assert "900 GB/s, both directions" in html


@pytest.mark.parametrize("name", ["nvlink4", "nvlink4.speed", "nvlin.line_Bps", ""])
def test_an_unknown_value_is_refused_in_words(name):
    with pytest.raises(CourseError):
        where_from(name)


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda p: p.stem)
def test_every_number_that_a_lesson_follows_back_is_in_the_table(path):
    """Quick, where a run of all lessons is not: a value that is taken out of the table must not be named any more."""
    for cell in lessons.read(path)["cells"]:
        if cell["cell_type"] == "code" and "where_from" in lessons.source(cell):
            for name in re.findall(r'"([\w-]+\.\w+)"', lessons.source(cell)):
                assert where_from(name).rows, name
