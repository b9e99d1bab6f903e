"""Tables of data files: whole lines are read, others are refused with their number, and every table of the course is whole."""

from pathlib import Path

import pytest

import course_lib
from course_lib.base import tables
from course_lib.base.errors import CourseError

TABLES = sorted(Path(course_lib.__file__).parent.rglob("*.csv"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_every_table_of_the_course_is_whole(path):
    assert tables.rows(path)


@pytest.mark.parametrize("line", ["1", "1,2,3"])
def test_a_line_of_another_width_is_named(tmp_path, line):
    path = tmp_path / "some.csv"
    path.write_text(f"a,b\n1,2\n{line}\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"some\.csv, line 3: 2 columns"):
        tables.rows(path)


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(CourseError, match=r"gone\.csv is missing"):
        tables.rows(tmp_path / "gone.csv")


def test_nobody_reads_a_table_in_another_way():
    """One reader, so that a broken line is told in the same words everywhere."""
    root = Path(course_lib.__file__).parent
    users = {str(p.relative_to(root)) for p in root.rglob("*.py") if "csv.DictReader" in p.read_text(encoding="utf-8")}
    assert users == {"base/tables.py"}
