"""Stamping writes what a machine can know, says what an author has to put right, and changes nothing the second time."""

import copy
import json
import re
import zipfile
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.cli.main import main
from course_lib.grading import bank, release

ROOT = Path(__file__).parents[2]
PATH = ROOT / "solutions" / "00_start_here" / "00_start_here.ipynb"
SOURCE = json.loads(PATH.read_text(encoding="utf-8"))


def stamped(notebook):
    return release.stamp(notebook, "00_start_here")


def test_stamping_twice_changes_nothing():
    once = stamped(SOURCE)
    assert stamped(once) == once
    assert release.text_of(once) == PATH.read_text(encoding="utf-8")


def test_everything_a_machine_knows_comes_back_when_it_was_lost():
    bare = copy.deepcopy(SOURCE)
    bare["metadata"] = {"kernelspec": {"name": "my-env"}, "widgets": {"state": {}}}
    for cell in bare["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [{"output_type": "stream"}], 7
    assert stamped(bare) == SOURCE | {"cells": stamped(SOURCE)["cells"]}


def test_new_random_ids_become_ids_made_from_the_text_and_then_stay():
    one, two = copy.deepcopy(SOURCE), copy.deepcopy(SOURCE)
    for number, cell in enumerate(one["cells"]):
        cell["id"] = f"{number:08x}"
    for number, cell in enumerate(two["cells"]):
        cell["id"] = f"{number + 99:08x}"
    assert stamped(one) == stamped(two)
    edited = stamped(one)
    edited["cells"][0]["source"] += " edited"
    assert stamped(edited)["cells"][0]["id"] == stamped(one)["cells"][0]["id"]
    ids = [c["id"] for c in stamped(one)["cells"]]
    assert len(set(ids)) == len(ids)


def test_an_answer_without_a_check_and_a_check_with_two_answers_are_refused():
    cells = SOURCE["cells"]
    last = next(i for i, c in enumerate(cells) if release.checked("".join(c["source"])) == "00.q4")
    with pytest.raises(CourseError, match="no check follows"):
        stamped(SOURCE | {"cells": cells[:last]})
    twice = cells[: last - 1] + [copy.deepcopy(cells[last - 1])] + cells[last - 1 :]
    with pytest.raises(CourseError, match="2 answer cells"):
        stamped(SOURCE | {"cells": twice})


def test_a_check_of_a_question_that_is_not_listed_names_the_place_and_the_step():
    cells = [*SOURCE["cells"], {"cell_type": "code", "metadata": {}, "source": 'check("00.q9")'}]
    with pytest.raises(CourseError, match=r"00.q9.*bank/ex00/__init__.py.*add_a_question.md, step 2"):
        stamped(SOURCE | {"cells": cells})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cells: cells.pop(), None),
        (
            lambda cells: [c for c in cells if "00.q4" in "".join(c["source"])][-1].update(source="1"),
            "00.q4 is in the bank",
        ),
        (lambda cells: cells[0].update(source="### BEGIN HIDDEN TESTS"), "hidden tests"),
        (lambda cells: cells[0].update(source="### BEGIN SOLUTION"), "does not end"),
        (lambda cells: cells.append({"cell_type": "code", "source": 'check("00.q1")'}), "two checks of 00.q1"),
        (lambda cells: cells.append({"cell_type": "code", "source": 'check("00.q9")'}), "not in bank/ex00"),
        (lambda cells: cells.append({"cell_type": "code", "source": 'x = 1\ncheck("00.q8")'}), "holds more than"),
    ],
)
def test_what_an_author_has_to_put_right_is_said(change, words):
    notebook = copy.deepcopy(SOURCE)
    change(notebook["cells"])
    said = " ".join(release.problems(PATH, notebook))
    assert (words in said) if words else said == ""


def test_the_class_archive_holds_no_solution_and_repeats(tmp_path, capsys):
    one, two = tmp_path / "one.zip", tmp_path / "two ü.zip"
    assert main(["bundle", "--output", str(one)]) == 0
    assert main(["bundle", "--output", str(two)]) == 0
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        names = [name.split("/", 1)[1] for name in archive.namelist()]
        assert not [n for n in names if n.startswith(("solutions/", "instructor/", "tests/", "grading/"))]
        assert "exercises/00_start_here/00_start_here.ipynb" in names
        assert "course_lib/grading/bank/ex00/q1_payload.py" in names
        assert "nbgrader_config.py" in names
        assert not any(
            b"BEGIN SOLUTION" in archive.read(f"interconnect-course/{n}") for n in names if n.endswith(".ipynb")
        )
    assert main(["bundle", "--output", str(tmp_path / "no" / "x.zip")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_an_exercise_says_where_the_name_goes_and_which_questions_it_chooses(path):
    """Three said nothing of `LEARNER`, two of them with numbers of the learner's own."""
    head = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    said = head.partition("put the name you hand in under between the quotes.")
    assert said[1]
    asked = [one for one in bank.all_questions() if one.id.split(".")[0] == path.stem.split("_")[0]]
    own = {one.id.split(".q")[1] for one in asked if one.parameters is not None}
    every = {one.id.split(".q")[1] for one in asked} if "It chooses" in said[2] else set()
    assert (set(re.findall(r"\d+", said[2])) or every) == own
