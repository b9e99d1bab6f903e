"""What marking one hand-in has found, gathered as it goes and told as plain data: verdicts, notes, pages."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from course_lib.grading import autograded, bank, learnerpage, owner, repair
from course_lib.grading.asking import Asked
from course_lib.grading.verdict import CORRECT


@dataclass
class Run:
    """What happened so far: verdicts by question, outputs by the cell's place, and what to tell."""

    asked: dict[str, Asked] = field(default_factory=dict)
    spoiled: dict[str, str] = field(default_factory=dict)
    outputs: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    hung: set[str] = field(default_factory=set)  # questions where Python did not come back in time


def told(repaired: repair.Repaired, run: Run) -> dict[str, Any]:
    """Return the result's data: verdicts, what people have to mark, notes, and the two pages."""
    rows, flags = [], []
    for question in bank.questions(repaired.exercise):
        asked = run.asked[question.id]
        verdict = asked.verdict
        if verdict.state != CORRECT and question.id in run.errors:
            verdict = replace(verdict, sentences=(*verdict.sentences, run.errors[question.id]))
        flags += asked.flags
        row = asdict(verdict) | {"private": asked.private, "look": bool(asked.flags)}
        rows.append(
            row | {"sentences": [tidy(s) for s in verdict.sentences], "misconceptions": [*verdict.misconceptions]}
        )
    manual = manual_cells(repaired)
    who = _who(repaired, run)
    data: dict[str, Any] = {"state": "marked", "questions": rows, "manual": manual, "flags": flags, "learner": who}
    data |= {"notes": [tidy(n) for n in dict.fromkeys([*repaired.notes, *run.notes])]}
    data |= {"points": sum(r["points"] for r in rows), "of": sum(r["of"] for r in rows)}
    data["of"] += sum(item["of"] for item in manual)
    data["autograded"] = autograded.notebook(repaired, rows, run.outputs)
    data["feedback"] = learnerpage.page(repaired, rows, data["notes"], manual)
    return data


def _who(repaired: repair.Repaired, run: Run) -> str | None:
    """Return what the notebook says LEARNER is; where it was something else when a question was asked, that."""
    read = owner.stated_in([c.source for c in repaired.notebook.cells if c.cell_type == "code"])
    lived = [asked.stated for asked in run.asked.values() if asked.stated is not None]
    return next((name for name in lived if owner.plain(name) != owner.plain(read or "")), read)


def manual_cells(repaired: repair.Repaired) -> list[dict[str, Any]]:
    """Return the written answers that people mark: their points, and whether the release's text was changed at all."""
    given = {
        str((c.metadata.get("nbgrader") or {}).get("grade_id")): c for c in repair.release(repaired.exercise).cells
    }
    found = []
    for cell in repaired.notebook.cells:
        meta = cell.metadata.get("nbgrader") or {}
        if meta.get("task") or (meta.get("grade") and meta.get("solution")):
            written = bool(meta.get("task")) or cell.source.strip() != given[meta["grade_id"]].source.strip()
            found.append({"cell": meta["grade_id"], "of": float(meta.get("points", 0)), "written": written})
    return found


def tidy(text: str) -> str:
    """Return text from a hand-in as one line that can be printed."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(letter if letter.isprintable() else " " for letter in text)[:1500]
