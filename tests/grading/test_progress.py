"""Progress survives restarts and damage, and is not kept while grading."""

import json
import os
from pathlib import Path

import pytest

from course_lib.cli.main import main
from course_lib.grading import check, progress


def file():
    return Path(os.environ["INTERCONNECT_HOME"]) / "progress.jsonl"


def payload_GBps(transfers_GTps, lanes, payload_bits, coded_bits):
    return transfers_GTps * lanes * payload_bits / coded_bits / 8


def test_a_check_is_recorded_and_listed(capsys):
    check("00.q1")
    check("00.q4")
    assert main(["progress"]) == 0
    out = capsys.readouterr().out
    assert "Exercise 00: 2 of 10 points" in out
    assert "00.q1  correct" in out
    assert "00.q4  not attempted" in out


def test_the_last_verdict_counts_and_the_best_is_shown(capsys, monkeypatch):
    check("00.q1")
    monkeypatch.setitem(globals(), "payload_GBps", lambda *a: 1.0)
    check("00.q1")
    capsys.readouterr()
    assert main(["progress", "0"]) == 0
    out = capsys.readouterr().out
    assert "00.q1  not yet" in out
    assert "best 2" in out


def test_lines_that_cannot_be_read_are_skipped_and_counted(capsys):
    check("00.q1")
    with open(file(), "ab") as broken:
        broken.write(b'{"question": "00.q1"\n\xff\xfe\n[]\n{"question": 3, "state": "x", "points": 1, "time": "t"}\n')
    capsys.readouterr()
    assert main(["progress", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["unreadable_lines"] == 4
    assert data["questions"][0]["state"] == "correct"
    main(["progress"])
    assert "skipped: 4" in capsys.readouterr().err


def test_nothing_is_recorded_while_nbgrader_runs_or_when_switched_off(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("00.q1")
    monkeypatch.delenv("NBGRADER_EXECUTION")
    monkeypatch.setenv("INTERCONNECT_PROGRESS", "off")
    check("00.q1")
    assert not file().exists()


def test_a_place_that_cannot_be_written_costs_no_marks(monkeypatch, tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("INTERCONNECT_HOME", str(blocked / "below"))
    assert check("00.q1") == 2.0
    assert "not recorded" in capsys.readouterr().out
    assert main(["progress", "00"]) == 0
    assert "00.q1  not attempted" in capsys.readouterr().out


def test_progress_that_cannot_be_read_is_said(capsys):
    file().mkdir(parents=True)
    assert main(["progress"]) == 2
    assert "progress.jsonl cannot be read" in capsys.readouterr().err


def test_an_unknown_exercise_is_refused_with_those_that_exist(capsys):
    assert main(["progress", "77"]) == 2
    assert "There is no exercise '77'" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["Zoë-李", "with spaces", ""])
def test_any_name_can_be_recorded(learner):
    space = {"LEARNER": learner, "check": check, "payload_GBps": payload_GBps}
    exec('score = check("00.q1")', space)
    assert progress.read()[0][-1]["learner"] == learner
