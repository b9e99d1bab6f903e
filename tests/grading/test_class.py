"""A class with faults mixed in: the grader killed and started again, a Dask worker killed, each hand-in marked once."""

import copy
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest

from course_lib.grading import sandbox
from tests.grading.handins import MISTAKEN, RIGHT, ROOT, copied, filled, release, without, write

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(bool(sandbox.available()), reason="bubblewrap does not work here"),
]
NAME = "00_start_here"
FAULTS = {
    "Zoë-李": ("marked", 10.0),
    "mistaken": ("marked", 6.0),
    "stub": ("marked", 0.0),
    "renamed": ("marked", 10.0),
    "zipped": ("marked", 10.0),
    "utf16": ("marked", 10.0),
    "copies": ("marked", 10.0),
    "deleted": ("marked", 8.0),
    "kernel": ("marked", 10.0),
    "large": ("marked", 10.0),
    "borrowed": ("marked", 9.0),
    "loops": ("marked", 5.0),
    "exits": ("marked", 5.0),
    "memory": ("marked", 5.0),
    "forks": ("marked", 5.0),
    "broken": ("refused", None),
    "empty": ("refused", None),
    "nothing": ("refused", None),
    "linked": ("refused", None),
    "deep": ("refused", None),
    "other": ("refused", None),
}


def make_class(folder, n):
    """Write a class of n under `folder`: every fault once, the others honest; return {learner: (state, score)}."""
    wanted = {}
    for place in range(n):
        fault = list(FAULTS)[place] if place < len(FAULTS) else ""
        who = fault or f"s{place:03d}"
        wanted[who] = FAULTS.get(fault, ("marked", 10.0))
        hand_in(folder, who, fault)
    return wanted


def hand_in(folder, who, fault):
    """Write what one learner hands in."""
    path = folder / who / NAME / f"{NAME}.ipynb"
    made = filled(RIGHT, who)
    ends = {"loops": "while True: pass", "exits": "import os; os._exit(0)"}
    ends |= {"forks": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"}
    ends |= {"memory": "x = []\nwhile True: x.append(b'x' * 10**7)"}
    if fault in ends:
        made = filled(RIGHT | {"00-q2": RIGHT["00-q2"] + "\n" + ends[fault]}, who)
    elif fault == "mistaken":
        made = filled(MISTAKEN, who)
    elif fault == "stub":
        made = release()
    elif fault == "renamed":
        path = path.with_name("Kim start (1).ipynb")
    elif fault == "zipped":
        (folder / who).mkdir(parents=True)
        with zipfile.ZipFile(folder / who / "all.zip", "w") as archive:
            archive.writestr(f"../../{NAME}.ipynb", json.dumps(made))
        return
    elif fault == "utf16":
        path.parent.mkdir(parents=True)
        path.write_bytes(json.dumps(made, ensure_ascii=False).encode("utf-16"))
        return
    elif fault == "copies":
        made = copied(copied(made, "00-q2"), "00-q1-answer", "x = 1")
    elif fault == "deleted":
        made = without(made, "00-q2", "00-q3-answer", "00-q3")
    elif fault == "kernel":
        made = copy.deepcopy(made)
        made["metadata"]["kernelspec"] = {"name": "conda-env-x-py", "display_name": "X Y", "language": "python"}
    elif fault == "large":
        made["cells"][1] |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": "y" * 6_000_000}]}
    elif fault == "borrowed":
        made = filled(RIGHT, "mistaken")
    elif fault == "empty":
        made = ""
    elif fault == "nothing":
        (folder / who).mkdir(parents=True)
        return
    elif fault == "linked":
        path.parent.mkdir(parents=True)
        path.symlink_to(ROOT / "solutions" / NAME / f"{NAME}.ipynb")
        return
    elif fault == "other":
        made["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}}
    write(path, {"broken": "{", "deep": "[" * 100_000}.get(fault, made))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Return a course of its own in a folder with odd letters: nobody changes its files while it is graded."""
    folder = tmp_path_factory.mktemp("a course with ü")
    shutil.copytree(ROOT / "course_lib", folder / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "exercises" / NAME, folder / "exercises" / NAME)
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    return folder


def command(house, *words):
    """Return the command line and environment of the grader on a machine that knows no UTF-8."""
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.fspath(house)}
    limits = ["--seconds", "5", "--memory", "600 MiB"]
    return [sys.executable, "-m", "course_lib.cli.main", "grade", *map(str, words), *limits], env


def ledger(folder):
    path = folder / "ledger.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    entries = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:  # the line in which the run was killed
            continue
    return [entry["key"] for entry in entries if entry["is"] == "marked"]


def check_rows(folder, wanted):
    """Compare every input's row with what it has to be, in the table, the gradebook and the files beside."""
    from nbgrader.api import Gradebook

    with open(folder / "report.csv", encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(wanted)
    for who, (state, score) in wanted.items():
        row = rows[who]
        assert row["state"] == state, row
        if state == "marked":
            assert float(row["score"]) == score, row
            assert (folder / "autograded" / who / NAME / f"{NAME}.ipynb").exists()
            assert (folder / "feedback" / who / NAME / f"{NAME}.html").exists()
        else:
            assert len(row["reason"]) > 10, row
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        scores = {one.student.id: one.score for one in book.assignment_submissions(NAME)}
    for who, (state, score) in wanted.items():
        if state == "marked":
            assert scores[who] == score
    for name in ("marks.csv", "moodle.csv", "canvas.csv"):
        text = (folder / name).read_text(encoding="utf-8")
        assert all(who in text for who, (state, _score) in wanted.items() if state == "marked")
    return rows


def test_a_grader_that_is_killed_and_started_again_marks_everybody_once(house, tmp_path):
    wanted = make_class(tmp_path / "submitted work ü", 27)
    out = tmp_path / "marks ü"
    words, env = command(house, tmp_path / "submitted work ü", "--to", out, "--jobs", 2)
    first = subprocess.Popen(words, env=env, cwd=house, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends = time.monotonic() + 200
    while len(ledger(out)) < 5 and first.poll() is None and time.monotonic() < ends:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = ledger(out)
    assert 5 <= len(before) < 20
    done = subprocess.run(words, env=env, cwd=house, capture_output=True, timeout=400)
    assert done.returncode == 1, done.stderr.decode("utf-8", "replace")[-2000:]
    assert b"Traceback" not in done.stderr
    after = ledger(out)
    assert after[: len(before)] == before
    assert len(after) == len(set(after))
    rows = check_rows(out, wanted)
    assert "numbers of mistaken" in rows["borrowed"]["needs_a_look"]
    assert "UTF-16".lower() in rows["utf16"]["notes"].lower()
    again = subprocess.run(words, env=env, cwd=house, capture_output=True, timeout=400)
    assert again.returncode == 1
    assert ledger(out) == after


def test_a_dask_worker_that_is_killed_costs_nobody_their_marks(house, tmp_path):
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    wanted = {f"s{place:03d}": ("marked", 10.0) for place in range(12)}
    for who in wanted:
        hand_in(tmp_path / "submitted", who, "")
    out = tmp_path / "out"
    with LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as cluster:
        words, env = command(house, tmp_path / "submitted", "--to", out, "--scheduler", cluster.scheduler_address)
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        worker += ["--nthreads", "1", "--no-dashboard", "--local-directory", os.fspath(tmp_path)]
        quiet = {"env": env, "cwd": house, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        workers = [subprocess.Popen(worker, **quiet) for _place in range(2)]
        try:
            grader = subprocess.Popen(words, **quiet)
            ends = time.monotonic() + 200
            while len(ledger(out)) < 2 and grader.poll() is None and time.monotonic() < ends:
                time.sleep(0.05)
            workers[0].send_signal(signal.SIGKILL)
            assert grader.wait(timeout=300) == 0
        finally:
            for one in workers:
                one.kill()
                one.wait()
    marked = ledger(out)
    assert len(marked) == len(set(marked)) == 12
    check_rows(out, wanted)
