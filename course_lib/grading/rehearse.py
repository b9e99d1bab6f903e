"""Runs a copy of an exercise in a clean kernel, as a grader would, and reads the verdicts and what is odd about the file."""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.base.columns import lined_up
from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.grading import bank
from course_lib.grading.identify import exercise_of, source_of
from course_lib.grading.onecell import execute, limit_memory
from course_lib.grading.question import Question
from course_lib.grading.release import checked
from course_lib.grading.repair import left_to_people
from course_lib.grading.steps import bound
from course_lib.grading.verdict import NOT_YET, Verdict, blank

MOST_DEATHS = 8


@dataclass
class Rehearsal:
    """An exercise's verdicts, one per question, and what was odd about the file."""

    path: Path
    exercise: str
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.notes and bool(self.verdicts) and all(v.points == v.of for v in self.verdicts)


def load(path: Path) -> dict[str, Any]:
    """Return a notebook's JSON; raises CourseError that says what the file is instead."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise CourseError(_("There is no file {path}.").format(path=path)) from None
    except IsADirectoryError:
        raise CourseError(_("{path} is a folder; a notebook is expected.").format(path=path)) from None
    except (ValueError, RecursionError):
        raise CourseError(_("{path} is not a notebook: it cannot be read as JSON.").format(path=path)) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise CourseError(_("{path} is not a notebook of version 4: it has no list of cells.").format(path=path))
    return notebook


def prepare(notebook: dict[str, Any], exercise: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the code cells to run, each with the question it checks, and sentences about copied, missing or newer cells."""
    cells, notes, seen = [], [], {}
    asked = {question.id for question in bank.questions(exercise)}
    for cell in notebook["cells"]:
        meta = cell.get("metadata", {}).get("nbgrader", {}) if isinstance(cell.get("metadata"), dict) else {}
        grade_id = str(meta.get("grade_id", "")) if isinstance(meta, dict) else ""
        version = meta.get("schema_version", 3) if isinstance(meta, dict) else 3
        if isinstance(version, (int, float)) and version > 3:
            text = _("A graded cell was made by a newer version of nbgrader (format {v}; this reads up to 3).")
            notes.append(text.format(v=version))
        if cell.get("cell_type") != "code":
            if grade_id.replace("-", ".") in asked:  # a page that a person marks is text, and not in the bank
                text = _("The graded cell of {name} is no longer a code cell; a fresh one was used.")
                notes.append(text.format(name=grade_id.replace("-", ".")))
            continue
        name = checked(source_of(cell))
        key = grade_id or (name or "").replace(".", "-")
        if key and key in seen:
            what = _("answer cells") if key.endswith("-answer") else _("graded cells")
            text = _("{name} has several {what}: it was copied or split. Delete the copies and keep one.")
            notes.append(text.format(name=key.removesuffix("-answer").replace("-", "."), what=what))
        seen[key] = True
        # The graded cell says check("…") and nothing else; whatever a copy says now, this is what will be marked.
        if re.fullmatch(r"\w+-q\d+", grade_id):
            wanted = grade_id.replace("-", ".")
            if source_of(cell).strip() != f'check("{wanted}")':
                notes.append(_("The graded cell of {name} was changed; the original was used.").format(name=wanted))
            cells.append({"source": f'check("{wanted}")', "question": wanted})
        else:
            cells.append(
                {"source": source_of(cell), "question": name, "owner": _owner(exercise, grade_id, source_of(cell))}
            )
    for question in bank.questions(exercise):
        if not any(cell["question"] == question.id for cell in cells):
            notes.append(_("The graded cell of {name} was missing; it was put back.").format(name=question.id))
            cells.append({"source": f'check("{question.id}")', "question": question.id})
    language = (
        notebook.get("metadata", {}).get("language_info", {}) if isinstance(notebook.get("metadata"), dict) else {}
    )
    named = language.get("name", "python") if isinstance(language, dict) else "python"
    if isinstance(named, str) and not named.lower().startswith(("python", "ipython")):
        raise CourseError(_("This notebook is written in {language}; Python is expected.").format(language=named))
    return cells, list(dict.fromkeys(notes))


def _owner(exercise: str, grade_id: str, source: str) -> list[str]:
    """Return the questions whose answers a cell sets."""
    names = bound(source)
    asked = bank.questions(exercise)
    return [q.id for q in asked if q.answer in names or grade_id == q.id.replace(".", "-") + "-answer"]


def rehearse(path: Path, seconds: float = 60.0) -> Rehearsal:
    """Run a copy of the notebook at `path` from top to bottom and return its verdicts; the file itself is not touched.

    A cell has `seconds` of a processor, and ten times as many on the clock; the kernel has no keyboard and, on Linux, at most
    `MEMORY_B`. What the notebook says about kernels is ignored. A question without a verdict has zero points and says why,
    and so has one whose answer's cell had to be stopped or ended Python; a fresh kernel goes on without that cell.
    """
    notebook = load(path)
    result = Rehearsal(path, exercise_of(notebook, path))
    cells, result.notes = prepare(notebook, result.exercise)
    run = _Run(cells, path.absolute().parent, seconds)
    while len(run.dead) < MOST_DEATHS and run.through():
        pass
    result.notes += dict.fromkeys(run.notes)
    found = run.found | {name: blank(bank.question(name), NOT_YET, why) for name, why in run.spoiled.items()}
    for question in bank.questions(result.exercise):
        why = run.unheard.get(question.id) or _("The check was not run.")
        result.verdicts.append(found.get(question.id) or blank(question, NOT_YET, why))
    return result


@dataclass
class _Run:
    """The cells, run in order: verdicts, questions spoilt by a cell that was stopped, checks without a verdict, dead cells."""

    cells: list[dict[str, Any]]
    folder: Path
    seconds: float
    notes: list[str] = field(default_factory=list)
    found: dict[str, Verdict] = field(default_factory=dict)
    spoiled: dict[str, str] = field(default_factory=dict)
    unheard: dict[str, str] = field(default_factory=dict)  # why a check gave no verdict
    dead: set[int] = field(default_factory=set)

    def through(self) -> bool:
        """Run all cells that have ended no kernel yet in a fresh one; return whether one ended it now."""
        from jupyter_client.manager import start_new_kernel

        env = os.environ | {"INTERCONNECT_PROGRESS": "off"}
        # The kernel's messages about itself are of no use to a learner.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            manager, client = start_new_kernel(kernel_name="python3", cwd=str(self.folder), env=env, stderr=nowhere)
        try:
            limit_memory(manager)
            for place, cell in enumerate(self.cells):
                if place in self.dead:
                    continue
                outputs, error, spoils = execute(client, manager, cell["source"], self.seconds)
                self._take(place, outputs, error, spoils)
                if not manager.is_alive():
                    self.dead.add(place)
                    self.notes.append(_("Python stopped there; a fresh one goes on without that cell."))
                    return True
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        return False

    def _take(self, place: int, outputs: list[dict], error: str, spoils: bool) -> None:
        cell = self.cells[place]
        if cell["question"]:
            for data in outputs:
                _keep(data, bank.questions(cell["question"].split(".")[0]), self.found)
        owner = cell.get("owner") or ()
        for name in owner:  # a later cell that ends well gives the answer
            self.spoiled.pop(name, None)
        if not error:
            return
        first = next((line.strip() for line in cell["source"].splitlines() if line.strip()), "")
        text = _("Code cell {n} (`{line}`): {error}")
        self.notes.append(text.format(n=place + 1, line=first[:60], error=error))
        if spoils:
            self.spoiled |= dict.fromkeys(owner, self.notes[-1])
        if cell["question"]:
            self.unheard[cell["question"]] = self.notes[-1]


def _keep(data: Any, questions: tuple[Question, ...], found: dict[str, Verdict]) -> None:
    """Keep a verdict that a check displayed, if it is one of these questions' and its numbers can be."""
    question = next((q for q in questions if isinstance(data, dict) and q.id == data.get("question")), None)
    points = data.get("points") if question else None
    if (
        question
        and type(points) in (int, float)
        and 0 <= points <= question.points
        and isinstance(data.get("state"), str)
    ):
        sentences = tuple(s for s in data.get("sentences", ()) if isinstance(s, str))
        names = tuple(s for s in data.get("misconceptions", ()) if isinstance(s, str))
        found[question.id] = Verdict(
            question.id, data["state"], float(points), float(question.points), sentences, names
        )


def report(result: Rehearsal) -> str:
    """Return what a learner reads: one line a question, what is wrong with it, and the sum."""
    lines = [_("{path}: exercise {n}").format(path=result.path, n=result.exercise)]
    lines += ["  ! " + note for note in result.notes]
    words = {"correct": _("correct"), "not yet": _("not yet"), "not attempted": _("not attempted")}
    cells = []
    for verdict in result.verdicts:
        title, state = bank.question(verdict.question).title, words.get(verdict.state, verdict.state)
        cells.append([verdict.question, state, f"{round(verdict.points, 2):>4g} / {verdict.of:g}", title])
    for verdict, line in zip(result.verdicts, lined_up(cells, "<<<<", (0, 13), indent="  "), strict=True):
        lines.append(line)
        lines += ["         " + sentence for sentence in verdict.sentences[:4]]
    points, of = sum(v.points for v in result.verdicts), sum(v.of for v in result.verdicts)
    lines.append(_("  {points:g} of {of:g} points").format(points=round(points, 2), of=of))
    lines += ["  " + sentence for sentence in left_to_people(result.exercise)]
    return punctuated("\n".join(lines))


def as_data(result: Rehearsal) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "path": str(result.path),
        "exercise": result.exercise,
        "passed": result.passed,
        "notes": result.notes,
        "questions": [
            {"question": v.question, "state": v.state, "points": v.points, "of": v.of, "sentences": list(v.sentences)}
            | {"misconceptions": list(v.misconceptions)}
            for v in result.verdicts
        ],
    }
