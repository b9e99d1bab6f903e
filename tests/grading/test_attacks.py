"""More than a hundred hand-ins that attack, marked as a class: no cheat earns a mark, every honest question keeps its own."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from course_lib.grading import sandbox
from course_lib.grading.jobs import Job, Settings
from course_lib.grading.pool import LocalPool
from course_lib.grading.sandbox import Limits
from tests.grading.attacks import BOMBS, FORGES, KILLS, SPIES
from tests.grading.handins import RIGHT, ROOT, filled

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(bool(sandbox.available()), reason="bubblewrap does not work here"),
]
SECRET = "a word that is in no kernel"
FULL = {"00": [2.0, 5.0, 2.0, 1.0], "06": [2.0, 2.0, 3.0, 2.0, 2.0, 1.0]}


def solved(exercise, question, source):
    """Return an honest hand-in with one answer replaced."""
    if exercise == "00":
        return filled(RIGHT | {f"00-{question}": source}, "alice")
    path = next((ROOT / "solutions").glob(f"{exercise}_*/*.ipynb"))
    made = json.loads(path.read_text(encoding="utf-8"))
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{exercise}-{question}-answer":
            cell["source"] = source
    return made


def table():
    """Return {name: (exercise, place of the question that is hit, its marks or None where they do not matter, notebook)}."""
    rows = {}
    for name, source in KILLS.items():
        rows[f"kills: {name}"] = ("00", 1, 0.0, solved("00", "q2", RIGHT["00-q2"] + "\n" + source))
    for exercise, question, name, source in FORGES:
        rows[f"forges {exercise}.{question}: {name}"] = (
            exercise, int(question[1:]) - 1, 0.0, solved(exercise, question, source),
        )  # fmt: skip
    for name, source in SPIES.items():
        rows[f"spies: {name}"] = ("00", 0, 2.0, solved("00", "q1", RIGHT["00-q1"] + "\n" + source))
    for name, source in BOMBS.items():
        rows[f"bombs: {name}"] = ("00", 0, None, solved("00", "q1", RIGHT["00-q1"] + "\n" + source))
    return rows


ROWS = table()


def left_behind():
    """Return the processes of users that hand-ins had."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid >= sandbox.FIRST_USER:
                found.append(path.name)
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Mark all rows at once, beside a listener and a folder that nobody may touch."""
    folder = tmp_path_factory.mktemp("others")
    (folder / "gradebook.db").write_text("marks", encoding="utf-8")
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    limits = Limits(cell_s=2.0, total_s=60.0, memory_B=600 * 2**20, files_B=16 * 2**20, processes=24)
    workers = LocalPool(Settings(SECRET, limits, known=("alice", "bob")), min(2 * (os.cpu_count() or 1), 6))
    slow_first = sorted(ROWS.items(), key=lambda row: row[1][0] == "00")
    jobs = [
        Job(name, "alice", f"alice/{exercise}/{exercise}.ipynb", json.dumps(made).encode("utf-8"))
        for name, (exercise, _place, _points, made) in slow_first
    ]
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        try:
            found = {job.key: result for job, result in workers.marked(jobs)}
        finally:
            workers.close()
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert time.monotonic() - begun < 400
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    assert not left_behind()
    return found


def test_there_are_many_and_the_batch_ended_with_a_result_for_each(results):
    assert len(ROWS) > 100
    assert set(results) == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_the_question_that_is_hit_earns_nothing_and_the_others_everything(results, name):
    exercise, place, points, _made = ROWS[name]
    result = results[name]
    assert result["state"] == "marked", result["reason"]
    earned = [row["points"] for row in result["questions"]]
    wanted = list(FULL[exercise])
    wanted[place] = earned[place] if points is None else points
    assert earned == wanted, [row["sentences"] for row in result["questions"]]
    if points == 0.0:
        assert any(result["questions"][place]["sentences"])
    assert "<script" not in result["feedback"]
    assert SECRET not in json.dumps(result)
