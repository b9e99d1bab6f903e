"""`interconnect check` says before handing in what a grader will say, in plain words and by its exit status."""

import copy
import json
import re
import time
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.cli.main import main
from course_lib.grading import bank, onecell, rehearse
from course_lib.grading.identify import exercise_of
from course_lib.grading.verdict import NOT_ATTEMPTED, blank
from tests.grading.handins import MISTAKEN, RIGHT, cell, copied, filled, release, without, write
from tests.notebooks.lessons import SOLUTIONS, read

kernel = pytest.mark.kernel


def test_an_exercise_is_known_by_its_metadata_whatever_its_name(tmp_path):
    for name in ("Kim start.ipynb", "00_start_here (1).ipynb", "12_wrong.ipynb"):
        assert exercise_of(release(), tmp_path / name) == "00"
    bare = release()
    bare["metadata"] = {}
    assert exercise_of(bare, tmp_path / "work.ipynb") == "00"
    bare["cells"] = []
    assert exercise_of(bare, tmp_path / "00_start_here (2).ipynb") == "00"
    with pytest.raises(CourseError, match="no exercise of this course"):
        exercise_of(bare, tmp_path / "work.ipynb")


def test_a_lesson_is_refused_and_the_exercises_are_pointed_to(capsys):
    lessons = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))
    for path in lessons:
        assert main(["check", str(path)]) == 2
        assert "is a lesson; the exercises are in the folder exercises/" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cells": null}', '{"cells": [1]}', '{"worksheets": []}', "[" * 10000]
)
def test_a_file_that_is_no_notebook_is_refused_in_words(tmp_path, text, capsys):
    path = write(tmp_path / "00_start_here.ipynb", text)
    assert main(["check", str(path)]) == 2
    assert "is not a notebook" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.ipynb")]) == 2


def notes(notebook):
    return "\n".join(rehearse.prepare(notebook, "00")[1])


def test_copied_missing_and_changed_cells_are_named_by_their_question():
    good = filled(RIGHT)
    assert notes(good) == ""
    assert "00.q2 has several graded cells" in notes(copied(good, "00-q2"))
    assert "00.q3 has several answer cells" in notes(copied(good, "00-q3-answer"))
    assert "00.q1 was missing" in notes(without(good, "00-q1"))
    changed = copy.deepcopy(good)
    cell(changed, "00-q1")["source"] = "2.0"
    assert "00.q1 was changed" in notes(changed)
    text = copy.deepcopy(good)
    cell(text, "00-q1")["cell_type"] = "markdown"
    assert "00.q1 is no longer a code cell" in notes(text)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_a_solution_is_nowhere_odd_a_page_for_a_person_among_its_cells(path):
    assert rehearse.prepare(read(path), path.stem.split("_")[0])[1] == []


@pytest.mark.parametrize("version", [0, 1, 2, 3, None])
def test_older_metadata_is_read(version):
    notebook = filled(RIGHT)
    for one in notebook["cells"]:
        if "nbgrader" in one["metadata"]:
            if version is None:
                del one["metadata"]["nbgrader"]["schema_version"]
            else:
                one["metadata"]["nbgrader"]["schema_version"] = version
    assert notes(notebook) == ""


def test_newer_metadata_is_said_to_be_newer():
    notebook = filled(RIGHT)
    cell(notebook, "00-q1")["metadata"]["nbgrader"]["schema_version"] = 99
    assert "newer version of nbgrader" in notes(notebook)


def test_another_language_is_refused():
    notebook = filled(RIGHT)
    notebook["metadata"]["language_info"] = {"name": "R"}
    with pytest.raises(CourseError, match="written in R"):
        rehearse.prepare(notebook, "00")


@kernel
def test_the_exit_status_tells_the_truth(tmp_path, capsys):
    right = write(tmp_path / "folder with ü" / "Kim 00 (1).ipynb", filled(RIGHT, "Zoë-李"))
    wrong = write(tmp_path / "wrong.ipynb", filled(MISTAKEN))
    assert main(["check", str(right)]) == 0
    assert "10 of 10 points" in capsys.readouterr().out
    assert main(["check", "--json", str(right), str(wrong), str(tmp_path / "none.ipynb")]) == 2
    reports = json.loads(capsys.readouterr().out)
    assert [r["passed"] for r in reports] == [True, False, False]
    got = {q["question"]: (q["points"], q["misconceptions"]) for q in reports[1]["questions"]}
    assert got == {
        "00.q1": (0.0, ["bits for bytes"]),
        "00.q2": (4.0, ["factor 1000"]),
        "00.q3": (2.0, []),
        "00.q4": (0.0, ["GiB for GB"]),
    }
    assert main(["check", str(write(tmp_path / "short.ipynb", without(filled(RIGHT), "00-q2")))]) == 1
    out = capsys.readouterr().out
    assert "00.q2 was missing; it was put back" in out
    assert "10 of 10 points" in out


def by_people(path):
    """Return the ids of the cells that a person marks, as nbgrader counts them."""
    metas = [cell["metadata"].get("nbgrader", {}) for cell in read(path)["cells"]]
    return [meta["grade_id"].replace("-", ".") for meta in metas if meta.get("grade") and meta.get("solution")]


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_a_sum_says_what_people_mark_beside_it(path, capsys):
    number = path.stem.split("_")[0]
    verdicts = [blank(question, NOT_ATTEMPTED, "") for question in bank.questions(number)]
    said = rehearse.report(rehearse.Rehearsal(path, number, verdicts))
    assert main(["progress", number]) == 0
    for text in (said, capsys.readouterr().out):
        named = re.findall(r"(\S+) is marked by a person and is not in this sum: \d+ points", text)
        assert named == by_people(path)


def test_the_page_of_the_design_review_is_one_of_them():
    assert by_people(next(path for path in SOLUTIONS if path.stem.startswith("14"))) == ["14.q3"]


def run(tmp_path, answers, seconds=8):
    result = rehearse.rehearse(write(tmp_path / "x.ipynb", filled(answers)), seconds)
    return {v.question: v.points for v in result.verdicts}, result


@kernel
@pytest.mark.hostile
def test_an_answer_s_cell_that_loops_or_ends_python_loses_its_question_and_no_other_as_in_the_runner(tmp_path):
    loops, ends = RIGHT["00-q1"] + "\nwhile True: pass", RIGHT["00-q2"] + "\nimport os; os._exit(0)"
    points, result = run(tmp_path, RIGHT | {"00-q1": loops, "00-q2": ends}, seconds=3)
    assert points == {"00.q1": 0, "00.q2": 0, "00.q3": 2, "00.q4": 1}
    assert not result.passed
    assert "stopped" in result.verdicts[0].sentences[0]
    assert "ended" in result.verdicts[1].sentences[0]
    assert any("fresh one goes on" in note for note in result.notes)


@kernel
def test_a_busy_computer_costs_nothing_a_cell_may_use_a_processor_for_so_long(tmp_path):
    waits = "import time\ntime.sleep(3)\n"  # what a kernel does that gets no processor
    slow = "from course_lib.grading import notebook\n_ask = notebook.ask\n"
    slow += "notebook.ask = lambda *a: (time.sleep(3), _ask(*a))[1]\n"  # and so does a check
    points, result = run(tmp_path, RIGHT | {"00-q1": waits + slow + RIGHT["00-q1"]}, seconds=2)
    assert points == {"00.q1": 2, "00.q2": 5, "00.q3": 2, "00.q4": 1}
    assert result.passed


@kernel
def test_a_check_that_says_nothing_has_a_reason_in_its_sentence(tmp_path):
    _points, result = run(tmp_path, RIGHT | {"00-q1": RIGHT["00-q1"] + "\ncheck = 5"}, seconds=8)
    said = next(v for v in result.verdicts if v.question == "00.q1").sentences
    assert "'int' object is not callable" in said[0]


@kernel
@pytest.mark.hostile
def test_what_prints_or_sleeps_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(onecell, "PATIENCE", 2.0)
    prints = RIGHT["00-q1"] + "\nwhile True: print(1, flush=True)"
    sleeps = RIGHT["00-q2"] + "\nimport time\ntime.sleep(10**6)"
    points, result = run(tmp_path, RIGHT | {"00-q1": prints, "00-q2": sleeps}, seconds=3)
    assert points == {"00.q1": 0, "00.q2": 0, "00.q3": 2, "00.q4": 1}
    assert all("stopped" in v.sentences[0] for v in result.verdicts[:2])


@kernel
@pytest.mark.hostile
def test_a_loop_that_is_followed_by_a_cell_that_answers_costs_nothing(tmp_path):
    made = copied(filled(RIGHT | {"00-q2": "repaired = 1\nwhile True: pass"}), "00-q2-answer", RIGHT["00-q2"])
    result = rehearse.rehearse(write(tmp_path / "x.ipynb", made), 3)
    assert {v.question: v.points for v in result.verdicts}["00.q2"] == 5


@kernel
@pytest.mark.hostile
def test_a_loop_that_eats_memory_ends_and_earns_nothing(tmp_path):
    started = time.monotonic()
    source = "eaten = []\nwhile True:\n    eaten.append(bytearray(10**8))"
    points, result = run(tmp_path, RIGHT | {"00-q2": source})
    assert points["00.q2"] == 0
    assert points["00.q1"] == 2
    assert time.monotonic() - started < 200
    assert "memory" in " ".join(result.notes) or "stopped" in " ".join(result.notes)


@kernel
def test_keyboard_input_gets_the_same_sentence_as_in_the_notebook(tmp_path):
    points, result = run(tmp_path, RIGHT | {"00-q2": 'x = input("GB/s? ")\n' + RIGHT["00-q2"]})
    assert points["00.q2"] == 0
    assert "keyboard" in " ".join(result.notes)
    said = next(v for v in result.verdicts if v.question == "00.q2")
    assert "Line 1" in said.sentences[0]


@kernel
def test_the_kernel_that_the_file_names_is_ignored(tmp_path):
    notebook = filled(RIGHT)
    notebook["metadata"]["kernelspec"] = {"name": "conda-env-myenv-py", "display_name": "My Env", "language": "python"}
    assert rehearse.rehearse(write(tmp_path / "x.ipynb", notebook)).passed
