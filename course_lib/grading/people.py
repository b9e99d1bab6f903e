"""What people gave in Formgrader, points and comments: read at every run, laid over what the machine found."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_lib.base.language import _

# nbgrader's own score: a person's in the place of the machine's, and extra credit on top.
ROWS = """
SELECT submitted_assignment.student_id, assignment.name, base_cell.name, {what}
FROM {table} AS given
JOIN base_cell ON base_cell.id = given.cell_id
JOIN submitted_notebook ON submitted_notebook.id = given.notebook_id
JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
JOIN assignment ON assignment.id = submitted_assignment.assignment_id
WHERE {where}
"""


@dataclass
class Given:
    """Of one hand-in, by cell: points in the place of the machine's, points on top, and comments.

    `older`: cells that were marked anew since a person gave their points.
    """

    points: dict[str, float] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    older: set[str] = field(default_factory=set)


NOTHING = Given()


def students(path: Path) -> list[str]:
    """Return the ids of the class, as far as the gradebook at `path` knows it."""
    return [str(row[0]) for row in _rows(path, "SELECT id FROM student")]


def given(path: Path) -> dict[tuple[str, str], Given]:
    """Return what people gave in the gradebook at `path`, by learner and nbgrader's name of the exercise."""
    found: dict[tuple[str, str], Given] = {}
    scores = "given.manual_score, given.extra_credit, given.needs_manual_grade"
    some = "given.manual_score IS NOT NULL OR COALESCE(given.extra_credit, 0) != 0"
    for who, exercise, cell, points, extra, waits in _rows(path, ROWS.format(what=scores, table="grade", where=some)):
        mine = found.setdefault((str(who), exercise), Given())
        if points is not None:
            mine.points[cell] = float(points)
            mine.older |= {cell} if waits else set()
        if extra:
            mine.extra[cell] = float(extra)
    said = "COALESCE(given.manual_comment, '') != ''"
    for who, exercise, cell, text in _rows(path, ROWS.format(what="given.manual_comment", table="comment", where=said)):
        found.setdefault((str(who), exercise), Given()).comments[cell] = str(text)
    return found


def _rows(path: Path, query: str) -> Iterable[tuple[Any, ...]]:
    """Return a query's rows, none where there is no gradebook; nbgrader, which takes long to load, is not needed."""
    try:
        place = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True)) as base:
            return base.execute(query).fetchall()
    except sqlite3.Error:
        return []


def over(result: Mapping[str, Any], mine: Given, *, anew: bool = False) -> dict[str, Any]:
    """Return a marked result with what people gave: points, comments, and what still waits for a person.

    Items that people mark get "points": None while they wait. A question that a person has decided needs no look, unless it
    was marked `anew` since, and the machine's points are others: the person may have seen another answer.
    """
    rows, decided = [], []
    for row in result["questions"]:
        cell = row["question"].replace(".", "-")
        points = mine.points.get(cell, row["points"]) + mine.extra.get(cell, 0.0)
        by_person = cell in mine.points or cell in mine.extra
        decided += [row["question"]] if cell in mine.points else []
        rows.append({**row, "points": points, "by_person": by_person, "look": row["look"] and cell not in mine.points})
    manual = []
    for item in result["manual"]:
        points = mine.points.get(item["cell"], None if item["written"] else 0.0)
        if points is not None:
            points += mine.extra.get(item["cell"], 0.0)
        manual.append({**item, "points": points})
    flags = [flag for flag in result["flags"] if not flag.startswith(tuple(f"{name}:" for name in decided))]
    found = {row["question"].replace(".", "-"): row["points"] for row in result["questions"]}
    found |= {item["cell"]: None if item["written"] else 0.0 for item in result["manual"]}
    for cell, points in mine.points.items():
        if (anew or cell in mine.older) and found.get(cell, points) != points:
            text = _("{name}: a person's mark ({points:g}) is older than this marking. Look at it in Formgrader.")
            flags.append(text.format(name=name_of(cell), points=points))
    total = sum(row["points"] for row in rows) + sum(item["points"] or 0.0 for item in manual)
    comments = {name_of(cell): " ".join(text.split()) for cell, text in mine.comments.items()}
    return {**result, "questions": rows, "manual": manual, "flags": flags, "points": total, "comments": comments}


def name_of(cell: str) -> str:
    """Return the name of the item that a cell belongs to, as learners read it.

    >>> name_of("14-q3"), name_of("04-q1-answer")
    ('14.q3', '04.q1')
    """
    return cell.removesuffix("-answer").replace("-", ".")
