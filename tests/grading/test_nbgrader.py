"""Plain nbgrader, by its own commands: generate, hand in, autograde, feedback, export; and hand-ins that are damaged."""

import copy
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grading.handins import MISTAKEN, RIGHT, cell, copied, filled, without, write

pytestmark = pytest.mark.nbgrader
ROOT = Path(__file__).parents[2]
FULL = {"00-q1": 2.0, "00-q2": 5.0, "00-q3": 2.0, "00-q4": 1.0}


def nbgrader(course, *arguments, may_fail=False):
    env = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert may_fail or done.returncode == 0, done.stderr[-3000:]
    return done


def new_course(folder):
    (folder / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    shutil.copytree(ROOT / "solutions" / "00_start_here", folder / "solutions" / "00_start_here")
    nbgrader(folder, "generate_assignment", "00_start_here", "--force")
    return folder


def hand_in(course, student, notebook, name="00_start_here.ipynb"):
    write(course / "grading" / "submitted" / student / "00_start_here" / name, notebook)


def marks(course, student):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'grading' / 'gradebook.db'}") as gradebook:
        one = gradebook.find_submission("00_start_here", student)
        notebook = one.notebooks[0]
        return {g.name: g.score for g in notebook.grades if not g.needs_manual_grade}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a graded class: each student a way to hand in."""
    course = new_course(tmp_path_factory.mktemp("a course with ü"))
    good = filled(RIGHT)
    hand_in(course, "alice", filled(RIGHT, "alice"))
    hand_in(course, "bob", filled(MISTAKEN, "bob"))
    hand_in(
        course, "stub", json.loads((course / "exercises/00_start_here/00_start_here.ipynb").read_text(encoding="utf-8"))
    )
    hand_in(course, "twice", copied(copied(good, "00-q2"), "00-q1-answer", "x = 1"))
    hand_in(course, "deleted", without(good, "00-q2", "00-q3-answer", "00-q3"))
    bare = copy.deepcopy(good)
    for one in bare["cells"]:
        one["metadata"].pop("nbgrader", None)
    hand_in(course, "bare", bare)
    forged = copy.deepcopy(filled(MISTAKEN))
    cell(forged, "00-q1")["source"] = "2.0"
    cell(forged, "00-q2")["metadata"]["nbgrader"] |= {"grade": False, "points": 100, "locked": False}
    hand_in(course, "forged", forged)
    old = copy.deepcopy(good)
    for version, one in enumerate(c for c in old["cells"] if "nbgrader" in c["metadata"]):
        one["metadata"]["nbgrader"]["schema_version"] = [0, 1, 2, 3, 99, 3, 2, 1][version]
    del cell(old, "00-q4")["metadata"]["nbgrader"]["schema_version"]
    hand_in(course, "old", old)
    kernel = copy.deepcopy(good)
    kernel["metadata"]["kernelspec"] = {"name": "conda-env-myenv-py", "display_name": "My Env", "language": "python"}
    for one in kernel["cells"]:
        one.pop("id")
    kernel["nbformat_minor"] = 2
    hand_in(course, "kernel", kernel)
    hand_in(course, "keyboard", filled(RIGHT | {"00-q2": RIGHT["00-q2"] + '\nx = input("GB/s? ")'}))
    hand_in(course, "memory", filled(RIGHT | {"00-q2": RIGHT["00-q2"] + "\nx = bytearray(10**16)"}))
    lies = "class Yes(float):\n    __eq__ = lambda a, b: True\n    __sub__ = __rsub__ = lambda a, b: 0.0\n"
    hand_in(course, "liar", filled(RIGHT | {"00-q4": lies + "ben_GBps = Yes(1)"}))
    hand_in(course, "Zoë-李", filled(RIGHT, "Zoë-李"))
    # What plain nbgrader cannot prove, running answers and checks in one kernel: only a runner outside of it can tell.
    hand_in(course, "ends", filled(RIGHT | {"00-q2": RIGHT["00-q2"] + "\nraise SystemExit(0)"}))
    hand_in(course, "patched", filled(MISTAKEN | {"00-q1": "check = lambda name: 1.0"}))
    # What cannot be graded at all; nobody else may notice.
    hand_in(course, "a-broken", "{")
    r = filled(RIGHT)
    r["metadata"] = {"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}, "language_info": {"name": "R"}}
    hand_in(course, "b-r", r)
    hand_in(course, "c-dies", filled(RIGHT | {"00-q2": "import os; os._exit(0)"}))
    done = nbgrader(course, "autograde", "00_start_here", may_fail=True)
    return course, done


@pytest.mark.parametrize(
    ("student", "wanted"),
    [
        ("alice", FULL),
        ("bob", FULL | {"00-q1": 0.0, "00-q2": 4.0, "00-q4": 0.0}),
        ("stub", dict.fromkeys(FULL, 0.0)),
        ("twice", FULL),
        ("deleted", FULL | {"00-q3": 0.0}),
        ("bare", FULL),
        ("forged", FULL | {"00-q1": 0.0, "00-q2": 4.0, "00-q4": 0.0}),
        ("old", FULL),
        ("kernel", FULL),
        ("keyboard", FULL | {"00-q2": 0.0}),
        ("liar", FULL | {"00-q4": 0.0}),
        ("memory", FULL | {"00-q2": 0.0}),
        ("Zoë-李", FULL),
        ("ends", FULL),
        ("patched", dict.fromkeys(FULL, 1.0)),
    ],
)
def test_every_hand_in_gets_its_marks_question_by_question(course, student, wanted):
    assert marks(course[0], student) == wanted


@pytest.mark.parametrize(("name", "earns"), [("CellTimeoutError", "0.0"), ("ValueError", "5.0")])
def test_an_answer_whose_cell_was_stopped_earns_nothing_whatever_it_had_defined(name, earns):
    import nbformat

    from course_lib.grading.nbgrader_steps import StoppedAnswers

    made = nbformat.reads(json.dumps(filled(RIGHT)), as_version=4)
    cell(made, "00-q2-answer").outputs = [nbformat.v4.new_output("error", ename=name, evalue="", traceback=[])]
    cell(made, "00-q2").outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "5.0"})]
    StoppedAnswers().preprocess(made, {})
    assert cell(made, "00-q2").outputs[-1].data["text/plain"] == earns


def test_nothing_is_recorded_as_progress_while_grading(course):
    assert not list(course[0].rglob("progress.jsonl"))
    assert not (Path(os.environ["INTERCONNECT_HOME"]) / "progress.jsonl").exists()


def test_feedback_names_the_misconception_and_holds_no_solution(course):
    nbgrader(course[0], "generate_feedback", "00_start_here", "--student=bob")
    page = (course[0] / "grading/feedback/bob/00_start_here/00_start_here.html").read_text(encoding="utf-8")
    assert "eight bits make a byte" in page
    assert "off by exactly 1000" in page
    assert "the 7.4 % in the figure" in page
    for secret in (
        "BEGIN SOLUTION",
        "wire_Gbps",
        "h100_GBps",
        "Traceback (most",
        "course_lib/grading",
        "misconceptions",
    ):
        assert secret not in page


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def test_the_marks_export_to_a_table_question_by_question(course, tmp_path):
    nbgrader(course[0], "export", f"--to={tmp_path / 'grades.csv'}")
    rows = table(tmp_path / "grades.csv")
    scores = {student: (float(row["score"]), float(row["max_score"])) for student, row in rows.items()}
    assert scores["alice"] == (10.0, 10.0)
    assert scores["bob"] == (6.0, 10.0)
    assert scores["stub"] == (0.0, 10.0)
    questions = ("00.q1", "00.q2", "00.q3", "00.q4")
    assert [float(rows["alice"][q]) for q in questions] == [2.0, 5.0, 2.0, 1.0]
    assert [float(rows["bob"][q]) for q in questions] == [0.0, 4.0, 2.0, 0.0]
    assert [float(rows["deleted"][q]) for q in questions] == [2.0, 5.0, 0.0, 1.0]


def test_the_table_keeps_every_name_whatever_the_machine_s_encoding(course, tmp_path, monkeypatch):
    for name, value in {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    nbgrader(course[0], "export", f"--to={tmp_path / 'grades.csv'}")
    assert "Zoë-李" in table(tmp_path / "grades.csv")


def test_files_that_cannot_be_graded_stop_nobody_else(course):
    done = course[1]
    assert done.returncode != 0
    assert "written in r; Python is expected" in done.stderr
    failed = re.findall(r"There was an error processing assignment '00_start_here' for student '(.*?)'", done.stderr)
    assert sorted(failed) == ["a-broken", "b-r", "c-dies"]
    for student in failed:
        assert sum(marks(course[0], student).values()) == 0


def test_what_was_repaired_is_said(course):
    said = course[1].stderr
    for sentence in (
        "twice: There are several cells of 00.q2. Delete the copies",
        "deleted: The graded cell of 00.q3 was missing and has been put back.",
        "deleted: The answer cell of 00.q3 was deleted or has lost its mark",
        "old: The cell of 00.q3 was made by a newer version of nbgrader (99)",
    ):
        assert sentence in said


def test_the_runner_gives_every_honest_hand_in_the_same_marks_in_the_same_gradebook(course, tmp_path):
    from course_lib.grading import sandbox
    from course_lib.grading.runner import Options, grade

    if sandbox.available():
        pytest.skip(sandbox.available())
    shutil.copy(course[0] / "grading" / "gradebook.db", tmp_path)
    outcome = grade(course[0] / "grading" / "submitted", Options(to=tmp_path))
    states = {row["student"]: row["state"] for row in outcome.rows}
    assert {name for name, state in states.items() if state != "marked"} == {"a-broken", "b-r"}
    for student in (
        "alice",
        "bob",
        "stub",
        "twice",
        "deleted",
        "bare",
        "forged",
        "old",
        "kernel",
        "keyboard",
        "memory",
        "liar",
        "Zoë-李",
    ):
        mine = next(row["questions"] for row in outcome.rows if row["student"] == student)
        assert {name.replace(".", "-"): mark for name, mark in mine.items()} == marks(course[0], student), student
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        scores = {one.student.id: one.score for one in gradebook.assignment_submissions("00_start_here")}
    assert scores["alice"] == 10.0
    assert (scores["patched"], scores["c-dies"]) == (6.0, 5.0)  # what plain nbgrader cannot prove, or gives up
