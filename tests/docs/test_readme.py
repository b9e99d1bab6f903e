"""README's table of lessons says what the lessons say: title, question, minutes; lesson 00 shows the same table."""

import re

import pytest

from ..notebooks.lessons import LESSONS, ROOT, SOLUTIONS, read, source

ROW = re.compile(
    r"^\| (\d\d|A) \| (?:\[(.*?)\]\((?:notebooks/)?(.*?)\)|(.*?)) \| (.*?) \|(?: (\d+) \+ (\d+) \| (.*?) \|)?$", re.M
)
LINES = {m[1]: m for m in ROW.finditer((ROOT / "README.md").read_text(encoding="utf-8"))}


def test_every_lesson_has_a_line():
    assert list(LINES) == [p.stem.split("_")[0] for p in LESSONS]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_line_is_true(path):
    number = path.stem.split("_")[0]
    line, cells = LINES[number], read(path)["cells"]
    assert line[3] == path.name
    assert source(cells[0]).splitlines()[0].removeprefix("# ").split(maxsplit=1) == [number, line[2]]
    assert int(line[6]) == read(path)["metadata"]["interconnect"]["minutes"]
    exercise = next(p for p in SOLUTIONS if p.stem.startswith(number + "_"))
    assert f"about {line[7]} minutes" in source(read(exercise)["cells"][0])
    assert line[8], "what one can do afterwards"


def test_the_first_lesson_lists_the_same_lessons_and_questions():
    text = "\n".join(source(c) for c in read(LESSONS[0])["cells"])
    shown = {m[1]: (m[2] or m[4], m[5]) for m in ROW.finditer(text)}
    assert shown == {number: (m[2], m[5]) for number, m in LINES.items()}
