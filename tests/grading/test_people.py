"""What people give in Formgrader reaches every table and the learner's page; lateness does, too."""

import csv
import json
import os
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from course_lib.grading import late, learnerpage, people, report, sandbox
from course_lib.grading.batch import Batch
from course_lib.grading.intake import collect
from course_lib.grading.jobs import Settings
from course_lib.grading.ledger import Ledger
from course_lib.grading.marks import mark
from course_lib.grading.runner import Options, grade

from .handins import RIGHT, ROOT, filled, write

LAST = "14_design_review"


def result(**more):
    asked = {"question": "00.q4", "state": "not yet", "points": 0.0, "of": 1.0, "look": True}
    made = {"student": "kim", "exercise": "00", "shown": "kim/x.ipynb", "state": "marked", "reason": "", "sandbox": ""}
    made |= {"questions": [asked], "manual": [{"cell": "00-q9", "of": 4.0, "written": True}], "of": 5.0}
    return made | {"flags": ["00.q4: right for the numbers of ada"], "notes": [], "points": 0.0} | more


PAGE = "<!DOCTYPE html><title>x</title><body><header><h1>x</h1></header><section>mine</section></body>"


def test_points_of_a_person_stand_in_the_place_of_the_machines():
    mine = people.Given({"00-q4": 1.0, "00-q9": 3.5}, {"00-q9": 0.25}, {"00-q4-answer": "Ask\nada."})
    made = people.over(result(), mine)
    assert made["points"] == 4.75
    assert made["flags"] == []  # the question is decided
    row = report.row(made, 0.0, "")
    assert (row["points"], row["questions"]) == (4.75, {"00.q4": 1.0, "00.q9": 3.75})
    assert row["notes"] == "00.q4: Ask ada."
    page = learnerpage.up_to_date(PAGE, made, 0.0, None)
    assert "<title>Exercise 00: 4.75 of 5 points</title>" in page
    assert "00.q9, marked by a person: 3.75 of 4 points." in page
    assert "<p>00.q4: Ask ada.</p>" in page


@pytest.mark.parametrize(
    ("older", "anew", "points", "looks"),
    [
        (set(), False, 3.0, []),
        ({"00-q4"}, False, 3.0, ["00.q4"]),
        (set(), True, 3.0, ["00.q4", "00.q9"]),
        (set(), True, 0.0, ["00.q9"]),  # the machine gives the same
        ({"00-q9"}, False, 0.0, ["00.q9"]),
    ],
)
def test_a_persons_points_for_what_was_handed_in_before_are_named(older, anew, points, looks):
    mine = people.Given({"00-q4": points, "00-q9": 3.5}, older=older)
    made = people.over(result(flags=[]), mine, anew=anew)
    assert made["points"] == points + 3.5
    assert [flag.partition(":")[0] for flag in made["flags"]] == looks
    assert all("older than this marking" in flag for flag in made["flags"])


def test_what_waits_is_said_and_counted_nowhere():
    made = people.over(result(), people.NOTHING)
    row = report.row(made, 0.0, "")
    assert row["questions"]["00.q9"] is None
    assert row["waits"] == ["00.q9"]
    assert "wait for a person: 1." in " ".join(report.summary([row], 0))
    assert "Exercise 00: 0 of 1 points" in learnerpage.up_to_date(PAGE, made, 0.0, None)


def test_a_blank_answer_earns_nothing_and_does_not_wait():
    made = people.over(result(manual=[{"cell": "00-q9", "of": 4.0, "written": False}]), people.NOTHING)
    assert report.row(made, 0.0, "")["waits"] == []
    assert "Exercise 00: 0 of 5 points" in learnerpage.up_to_date(PAGE, made, 0.0, None)


@pytest.mark.parametrize(
    ("points", "share"), [(12.0, "10%"), (7.0, "10%"), (7.1, "3.3%"), (0.3, "33%"), (10.0, "zero")]
)
def test_lateness_stands_on_the_page_and_in_the_table_without_a_tail_of_digits(points, share):
    made = result(points=points, questions=[{**result()["questions"][0], "points": points}], of=12.0, manual=[])
    made = people.over(made, people.NOTHING)
    when, due = datetime(2026, 12, 3, 10, tzinfo=UTC), datetime(2026, 12, 1, 22, tzinfo=UTC)
    taken = late.penalty(points, when, due, share)
    assert len(str(taken)) <= 9, "the gradebook's tables show it as it is"
    row = report.row(made, taken, "")
    assert row["score"] == pytest.approx(points - taken)
    assert all(len(str(row[name])) <= 9 for name in ("late_penalty", "score")), row
    page = learnerpage.up_to_date(PAGE, made, taken, when)
    assert f"Points taken off because it was handed in late: {round(taken, 2):g}." in page
    assert f"Exercise 00: {round(points - taken, 2):g} of 12 points" in page
    assert "kim, handed in 2026-12-03 10:00 UTC" in page


def test_what_people_write_is_text_and_a_page_of_nbgrader_stays():
    mine = people.Given(comments={"00-q4-answer": "<script>1</script> \\1"})
    page = learnerpage.up_to_date(PAGE, people.over(result(student="<b>"), mine), 0.0, None)
    assert "&lt;script&gt;1&lt;/script&gt; \\1" in page
    assert "<b>" not in page
    other = "<html><title>nbgrader</title></html>"
    assert learnerpage.up_to_date(other, people.over(result(), mine), 0.0, None) == other


def test_without_a_gradebook_nobody_has_given_anything(tmp_path):
    assert people.given(tmp_path / "no.db") == {}
    assert people.students(tmp_path / "no.db") == []


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "age_s", "answer", "named"),
    [("00 (1).ipynb", -60, 2, True), ("00 (1).ipynb", 60, 2, False), ("00 (1).ipynb", -60, 1, False)],
    ids=["a newer try", "an older one", "the same again"],
)
def test_a_newer_file_that_is_passed_over_is_named(tmp_path, name, age_s, answer, named):
    first = write(tmp_path / "kim" / "00_start_here.ipynb", filled({"00-q4": "ben_GBps = 1"}, "kim"))
    other = write(tmp_path / "kim" / name, filled({"00-q4": f"ben_GBps = {answer}"}, "kim"))
    os.utime(first, (1e9, 1e9))
    os.utime(other, (1e9 - age_s, 1e9 - age_s))
    options = Options(to=tmp_path / "grading")
    with Ledger(options.to / "ledger.jsonl") as ledger:
        batch = Batch(options, Settings("s", options.limits, True, ("kim",), ()), ledger, lambda *_told: None)
        jobs, left = batch._jobs(collect(tmp_path))
    assert [job.shown for job in jobs] == ["kim/00_start_here.ipynb"]
    (passed,) = [one for one in left if one["state"] == "passed over"]
    said = ["kim/00 (1).ipynb is newer than kim/00_start_here.ipynb, which was marked."]
    assert passed["flags"] == (said if named else [])


def test_what_one_run_left_out_the_next_one_marks(tmp_path):
    """A run with --exercise 14 remembers nothing of a hand-in for 00; what a file is to blame for it does."""
    write(tmp_path / "kim" / "00.ipynb", filled({}, "kim"))
    write(tmp_path / "kim" / "14.ipynb", "no notebook")
    options = Options(to=tmp_path / "grading", only=("14",))
    settings = Settings("s", options.limits, True, ("kim",), options.only)
    with Ledger(options.to / "ledger.jsonl") as ledger:
        batch = Batch(options, settings, ledger, lambda *_told: None)
        batch.opened = SimpleNamespace(together=nullcontext, book=lambda *_result: None)
        jobs, _left = batch._jobs(collect(tmp_path))
        done = [(job, mark(job, settings, None)) for job in jobs]
        batch._keep([*done, (jobs[0], done[0][1] | {"key": "x", "state": "failed"})], [])
        known = {(result["shown"], result["state"]) for result in ledger.marked.values()}
    assert {result["state"] for _job, result in done} == {"skipped", "refused"}
    assert known == {("kim/14.ipynb", "refused")}


def give(grade, points):
    """Give points as Formgrader does."""
    grade.manual_score, grade.needs_manual_grade = points, False


@pytest.mark.nbgrader
def test_a_class_whose_pages_a_person_marks_gets_the_sum(tmp_path):
    """Marked by machine, then by a person in the gradebook, then run again: tables and pages have both, nothing is lost."""
    from nbgrader.api import Gradebook

    memo = json.loads((ROOT / "solutions" / LAST / f"{LAST}.ipynb").read_text(encoding="utf-8"))
    write(tmp_path / "submitted" / "kim" / LAST / f"{LAST}.ipynb", memo)
    write(tmp_path / "submitted" / "lee" / "00.ipynb", filled(RIGHT | {"00-q4": "ben_GBps = 1"}, "lee"))
    (tmp_path / "submitted" / "lee" / "timestamp.txt").write_text("2026-12-02 10:00 UTC", encoding="utf-8")
    options = Options(to=tmp_path / "grading", walled=not sandbox.available())
    part = grade(tmp_path / "submitted", replace(options, only=("14",)))
    assert {row["exercise"]: row["state"] for row in part.rows} == {"14": "marked", "00": "skipped"}
    first = grade(tmp_path / "submitted", options)
    assert {row["exercise"]: row["state"] for row in first.rows} == {"14": "marked", "00": "marked"}
    assert [row["waits"] for row in first.rows if row["student"] == "kim"] == [["14.q3"]]
    with Gradebook(f"sqlite:///{options.to / 'gradebook.db'}") as book:
        give(book.find_grade("14-q3", LAST, LAST, "kim"), 3.5)
        book.find_comment("14-q3", LAST, LAST, "kim").manual_comment = "Which gate is closest?"
        give(book.find_grade("00-q4", "00_start_here", "00_start_here", "lee"), 1.0)
        book.db.commit()
    rule = {"due": late.instant("2026-12-01T23:59Z"), "rule": "10%"}
    again = grade(tmp_path / "submitted", Options(to=options.to, walled=options.walled, **rule))
    assert again.repeated == 2
    assert not any(row["needs_a_look"] for row in again.rows)
    marks = {row["student"]: row for row in table(options.to / "marks.csv")}
    assert (marks["kim"]["score"], marks["kim"]["14.q3"]) == ("11.5", "3.5")
    assert (marks["lee"]["points"], marks["lee"]["score"], marks["lee"]["00.q4"]) == ("10.0", "9.0", "1.0")
    (moodle,) = [row for row in table(options.to / "moodle.csv") if row["username"] == "kim"]
    assert moodle[LAST] == "11.5"
    assert moodle[f"{LAST} (feedback)"].endswith("14.q3: Which gate is closest?")
    assert [row[LAST] for row in table(options.to / "canvas.csv") if row["Student"] == "kim"] == ["11.5"]
    page = (options.to / "feedback" / "kim" / LAST / f"{LAST}.html").read_text(encoding="utf-8")
    assert "Exercise 14: 11.5 of 12 points" in page
    assert "14.q3, marked by a person: 3.5 of 4 points." in page
    assert "Which gate is closest?" in page
    page = (options.to / "feedback" / "lee" / "00_start_here" / "00_start_here.html").read_text(encoding="utf-8")
    assert "Exercise 00: 9 of 10 points" in page
    with Gradebook(f"sqlite:///{options.to / 'gradebook.db'}") as book:  # nbgrader's own sum is the same
        kim, lee = (book.find_submission(name, who) for name, who in ((LAST, "kim"), ("00_start_here", "lee")))
        assert kim.score == 11.5
        assert lee.score - lee.late_submission_penalty == 9.0
    write(tmp_path / "submitted" / "lee" / "00.ipynb", filled(RIGHT | {"00-q4": "ben_GBps = 2"}, "lee"))
    for _run in range(2):  # until the person has looked, which Formgrader writes down
        (lee,) = [row for row in grade(tmp_path / "submitted", options).rows if row["student"] == "lee"]
        assert lee["needs_a_look"].startswith("00.q4: a person's mark (1) is older")
