"""Minutes of lessons and exercises, timed from the notebooks, with the sections of the live path."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.grading import cellnames
from course_lib.grading.release import by_people

LIVE = "workshop"
RULE = "words / 180, 20 seconds a code cell, 3 minutes an explorer"


@dataclass(frozen=True)
class Section:
    """A heading of the live path, its minutes, the predictions asked in it, how many explorers it has.

    `makes` and `needs` are the names that its cells make, and those that they take from sections before.
    """

    heading: str
    minutes: float
    predictions: tuple[str, ...]
    n_explorers: int
    makes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Lesson:
    """A lesson as a teacher sees it: minutes alone, live and for its exercise, and the sections of the live path."""

    number: str
    title: str
    question: str
    minutes: float
    sections: tuple[Section, ...]
    exercise_minutes: float
    points: float = 0.0
    by_hand: tuple[tuple[str, float], ...] = ()

    @property
    def live_minutes(self) -> float:
        return sum(section.minutes for section in self.sections)


def minutes(cells: Sequence[Mapping[str, Any]]) -> float:
    """Return the minutes of some cells by the course's one rule: words / 180, 20 s a code cell, 3 min an explorer.

    >>> minutes([{"cell_type": "markdown", "source": "word " * 360, "metadata": {}}])
    2.0
    """
    words = sum(len(re.findall(r"[\w'’.-]+", _source(c))) for c in cells if c["cell_type"] == "markdown")
    code = [c for c in cells if c["cell_type"] == "code"]
    return words / 180 + len(code) / 3 + 3 * sum("explorer" in _tags(c) for c in code)


def _source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def _tags(cell: Mapping[str, Any]) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def _predictions(cell: Mapping[str, Any]) -> list[str]:
    """Return what the calls of predict(name, question, …) in a cell ask."""
    found = []
    for node in ast.walk(ast.parse(_source(cell))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "predict" and len(node.args) > 1:
            text = node.args[1]
            if isinstance(text, ast.Constant):
                found.append(str(text.value).rstrip(" :"))
    return found


def under_headings(cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the live cells under each heading of a live path; a text with a heading within is two cells.

    >>> live = {"tags": ["workshop"]}
    >>> text = {"cell_type": "markdown", "id": "x", "source": "# A\\na\\n\\n## B\\nb", "metadata": live}
    >>> [(heading, cell["id"], cell["source"]) for heading, (cell,) in under_headings([text])]
    [('A', 'x', '# A\\na'), ('B', 'x-2', '## B\\nb')]
    """
    groups: list[tuple[str, list]] = []
    for cell in cells:
        if LIVE not in _tags(cell):
            continue
        parts = re.split(r"(?m)\n+(?=#+ )", _source(cell)) if cell["cell_type"] == "markdown" else [_source(cell)]
        for place, source in enumerate(parts, 1):
            heading = re.match(r"#+ +(.+)", source) if cell["cell_type"] == "markdown" else None
            if heading or not groups:
                groups.append((heading[1].strip() if heading else "", []))
            groups[-1][1].append({**cell, "source": source} | ({"id": f"{cell['id']}-{place}"} if place > 1 else {}))
    return groups


def live_sections(cells: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Return the live path of a notebook cut at its headings."""
    return tuple(
        Section(
            heading,
            minutes(part),
            tuple(text for c in part if "predict" in _tags(c) for text in _predictions(c)),
            sum("explorer" in _tags(c) for c in part),
            *cellnames.of_cells(_source(c) for c in part if c["cell_type"] == "code"),
        )
        for heading, part in under_headings(cells)
    )


def lessons(root: Path) -> dict[str, Lesson]:
    """Return the lessons that are there, by number; the README's table has their questions."""
    found, readme = {}, (root / "README.md").read_text(encoding="utf-8")
    questions = dict(re.findall(r"(?m)^\| (\w+) \| \[.*?\]\(notebooks/.*?\) \| (.*?) \|", readme))
    for path in sorted((root / "notebooks").glob("*_*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        number, cells = path.stem.split("_")[0], notebook["cells"]
        first = _source(cells[0])
        exercise = next(iter((root / "exercises").glob(f"{number}_*/*.ipynb")), None)
        found[number] = Lesson(
            number,
            first.splitlines()[0].lstrip("# "),
            questions.get(number, ""),
            float(notebook["metadata"]["interconnect"]["minutes"]),
            live_sections(cells),
            _exercise_minutes(exercise) if exercise else 0.0,
            *(_points(exercise) if exercise else ()),
        )
    return found


def _exercise_minutes(path: Path) -> float:
    """Return the minutes that an exercise says it takes, in its first cell."""
    first = _source(json.loads(path.read_text(encoding="utf-8"))["cells"][0])
    said = re.search(r"(\d+)(?: to (\d+))? minutes", first)
    if said is None:
        raise CourseError(f"{path.parent.name} does not say in its first cell how many minutes it takes.")
    return float(said[2] or said[1])


def _points(path: Path) -> tuple[float, tuple[tuple[str, float], ...]]:
    """Return the points of an exercise, and its items that a person marks with theirs."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    graded = [meta for cell in cells if (meta := cell["metadata"].get("nbgrader", {})).get("grade")]
    return sum(float(meta["points"]) for meta in graded), tuple(by_people(path).items())
