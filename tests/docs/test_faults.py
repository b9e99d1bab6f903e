"""Every fault of the table has a page that says what the table says, a picture where it has one, and tests that are there."""

import ast
import re
import tomllib

import pytest

from course_lib.base.errors import CourseError
from course_lib.explorers import lesson00
from tests.browser import faults

EVERY = faults.faults()
ISSUE_NAMES = "reopened_without_a_kernel the_dark_theme no_network a_narrow_page a_fast_drag an_error_in_a_callback another_folder"


def test_the_pages_are_what_the_table_gives():
    made = faults.pages()
    assert {path.name for path in faults.FOLDER.glob("*.md")} == set(made)
    for name, text in made.items():
        assert (faults.FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: python -m tests.browser.faults"


@pytest.mark.parametrize("fault", EVERY, ids=lambda f: f["file"])
def test_every_named_test_is_there(fault):
    assert fault["tests"]
    for name in fault["tests"]:
        path, _colons, function = name.partition("::")
        tree = ast.parse((faults.ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


@pytest.mark.parametrize("fault", EVERY, ids=lambda f: f["file"])
def test_a_picture_is_there_and_small_and_files_that_are_named_exist(fault):
    path = faults.FOLDER / "images" / f"{fault['file']}.png"
    assert path.is_file() == ("picture" in fault)
    assert not path.is_file() or path.stat().st_size < faults.LIMIT_B
    for name in re.findall(
        r"(?:notebooks|exercises|tests)/[\w/]+\.(?:py|ipynb)", " ".join([fault["here"], *fault["see"]])
    ):
        assert (faults.ROOT / name).is_file(), name
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source) for source in fault["told"])


def test_the_situations_that_readers_meet_first_are_among_them():
    assert set(ISSUE_NAMES.split()) <= {fault["file"] for fault in EVERY}
    assert {path.stem for path in (faults.FOLDER / "images").iterdir()} <= {fault["file"] for fault in EVERY}


def test_the_page_of_newer_versions_says_which_ranges_end_and_which_do_not():
    here = next(f["here"] for f in EVERY if f["file"] == "a_newer_plotly").lower()
    said = re.search(r"the ranges of (.*?) end before .*?; those of (.*?) have no end", here)
    project = tomllib.loads((faults.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ranges = {re.match(r"[\w-]+", one)[0]: "<" in one for one in project["dependencies"]}
    for words, ends in zip(said.groups(), (True, False), strict=True):
        assert set(re.split(r", | and ", words)) == {name for name, there in ranges.items() if there == ends}


def test_the_error_of_the_page_is_one_that_the_named_explorer_raises_and_the_last_step_heals():
    see = next(f["see"] for f in EVERY if f["file"] == "an_error_in_a_callback")
    typed = [re.search(r"Type `(.+?)`", step)[1] for step in see[1:]]
    explorer = lesson00.decoder()
    assert explorer.controls["line"].label in see[1]
    held = {"unsaid": "both", "message_B": 1e9}
    with pytest.raises(CourseError, match=typed[0]):
        explorer.picture(held | {"line": typed[0]}, ("light",))
    assert explorer.picture(held | {"line": typed[1]}, ("light",)).figures
