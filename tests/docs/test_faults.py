"""Every fault of the table has a page that says what the table says, a picture where it has one, and tests that are there."""

import ast
import re

import pytest

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
