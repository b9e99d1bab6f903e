"""Tables of a batch: a row and a reason per input, marks per learner, and what learning management systems take."""

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib.base.language import _
from course_lib.grading import bank, people, repair

STATES = ("marked", "refused", "failed", "passed over", "skipped")
COLUMNS = (
    "student", "exercise", "file", "state", "points", "of", "late_penalty", "score", "submitted", "sandbox", "reason",
    "notes", "needs_a_look", "for_the_instructor",
)  # fmt: skip


def row(result: Mapping[str, Any], penalty: float, submitted: str) -> dict[str, Any]:
    """Return one input's row."""
    marked = result["state"] == "marked"
    points, penalty = round(result["points"], 6), round(penalty, 6)
    score = max(round(points - penalty, 6), 0.0)
    numbers = {"points": points, "of": result["of"], "late_penalty": penalty, "score": score}
    private = [f"{q['question']}: {q['private']}" for q in result["questions"] if q.get("private")]
    shown = {"student": result["student"], "exercise": result["exercise"], "file": result["shown"]}
    more = {"state": result["state"], "submitted": submitted, "sandbox": result["sandbox"]}
    waits = [people.name_of(item["cell"]) for item in result["manual"] if marked and item["points"] is None]
    notes = [*result["notes"], *(f"{name}: {text}" for name, text in result.get("comments", {}).items())]
    if waits:
        notes.append(_("Written answers are marked by people and are not in this sum."))
    texts = {"reason": result["reason"], "notes": " ".join(notes), "needs_a_look": " ".join(result["flags"])}
    verdicts = {q["question"]: q["points"] for q in result["questions"]}
    if marked:
        verdicts |= {people.name_of(item["cell"]): item["points"] for item in result["manual"]}
    return {
        **shown, **more, **(numbers if marked else dict.fromkeys(numbers, "")), **texts,
        "for_the_instructor": " ".join(private), "questions": verdicts, "waits": waits,
    }  # fmt: skip


def safe(value: Any) -> Any:
    """Return a table's cell that no spreadsheet takes for a formula.

    >>> safe("=1+1"), safe("kim"), safe(-2.0)
    ("'=1+1", 'kim', -2.0)
    """
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV file in UTF-8, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        writer.writeheader()
        for one in rows:
            writer.writerow({key: safe(value) for key, value in one.items()})
    os.replace(fresh, path)


def write(folder: Path, rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> list[Path]:
    """Write report.csv, report.json, marks.csv and the two tables for learning management systems into `folder`."""
    rows = sorted(rows, key=lambda r: (r["student"], r["exercise"], r["file"]))
    write_table(folder / "report.csv", COLUMNS, rows)
    fresh = folder / "report.json.new"
    fresh.write_text(json.dumps({**about, "rows": rows}, indent=1, ensure_ascii=False), encoding="utf-8")
    os.replace(fresh, folder / "report.json")
    marked = [r for r in rows if r["state"] == "marked"]
    exercises = sorted({r["exercise"] for r in marked})
    _marks(folder / "marks.csv", marked, exercises)
    _moodle(folder / "moodle.csv", marked, exercises)
    _canvas(folder / "canvas.csv", marked, exercises)
    return [folder / name for name in ("report.csv", "report.json", "marks.csv", "moodle.csv", "canvas.csv")]


def _title(exercise: str) -> str:
    return repair.release_path(exercise).parent.name


def _by_student(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for one in rows:
        found.setdefault(one["student"], {})[one["exercise"]] = one
    return found


def _marks(path: Path, rows: Sequence[Mapping[str, Any]], exercises: Sequence[str]) -> None:
    questions = dict.fromkeys(q.id for exercise in exercises for q in bank.questions(exercise))
    questions |= dict.fromkeys(sorted({name for one in rows for name in one["questions"]} - set(questions)))
    columns = ["student", "exercise", "points", "of", "late_penalty", "score", *questions]
    write_table(path, columns, [{**one, **one["questions"]} for one in rows])


def _moodle(path: Path, rows: Sequence[Mapping[str, Any]], exercises: Sequence[str]) -> None:
    """Moodle's grade import: a column that names the user, one per activity, feedback beside it."""
    titles = {exercise: _title(exercise) for exercise in exercises}
    columns = ["username"] + [name for t in titles.values() for name in (t, f"{t} (feedback)")]
    table = []
    for student, mine in _by_student(rows).items():
        line: dict[str, Any] = {"username": student}
        for exercise, one in mine.items():
            line |= {titles[exercise]: one["score"], f"{titles[exercise]} (feedback)": one["notes"]}
        table.append(line)
    write_table(path, columns, table)


def _canvas(path: Path, rows: Sequence[Mapping[str, Any]], exercises: Sequence[str]) -> None:
    """Canvas's gradebook import: five columns that name the student, and a line with the points possible."""
    titles = {exercise: _title(exercise) for exercise in exercises}
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles.values()]
    most: dict[str, Any] = {"Student": "    Points Possible"}
    most |= {titles[one["exercise"]]: one["of"] for one in rows}
    table = [most]
    for student, mine in _by_student(rows).items():
        line = {"Student": student, "SIS Login ID": student}
        table.append(line | {titles[exercise]: one["score"] for exercise, one in mine.items()})
    write_table(path, columns, table)


def summary(rows: Sequence[Mapping[str, Any]], repeated: int) -> list[str]:
    """Return what the command prints at the end."""
    counts = {state: sum(r["state"] == state for r in rows) for state in STATES}
    text = _(
        "Inputs {n}: {marked} marked ({old} of them in an earlier run), {refused} refused, {failed} failed, {rest} not used."
    )
    said = [
        text.format(
            n=len(rows), marked=counts["marked"], old=repeated, refused=counts["refused"], failed=counts["failed"],
            rest=counts["passed over"] + counts["skipped"],
        )
    ]  # fmt: skip
    for one in rows:
        if one["state"] in ("refused", "failed"):
            said.append(f"  {one['file']}: {one['reason']}")
    looks = [one for one in rows if one["needs_a_look"]]
    if looks:
        said.append(_("Hand-ins that need a look: {n}").format(n=len(looks)))
        said += [f"  {one['student']}: {one['needs_a_look']}" for one in looks]
    if waiting := sum(bool(one["waits"]) for one in rows):
        said.append(
            _("Written answers that wait for a person: {n}. Mark them in Formgrader, then run this again.").format(
                n=waiting
            )
        )
    return said
