"""Plans of classes, timed from the notebooks: `python -m course_lib.grading.workshop [--check]`."""

import argparse
import ast
import json
import math
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.grading import bank

LIVE = "workshop"
OPEN = (
    "Written by `python -m course_lib.grading.workshop` from `formats.toml`, the notebooks and the bank of questions."
)
RULE = "words / 180, 20 seconds a code cell, 3 minutes an explorer"


@dataclass(frozen=True)
class Section:
    """A heading of the live path, its minutes, the predictions asked in it, and how many explorers it has."""

    heading: str
    minutes: float
    predictions: tuple[str, ...]
    n_explorers: int


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


def live_sections(cells: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Return the live path of a notebook cut at its headings."""
    groups: list[tuple[str, list]] = []
    for cell in cells:
        if LIVE not in _tags(cell):
            continue
        heading = re.match(r"#+ +(.+)", _source(cell)) if cell["cell_type"] == "markdown" else None
        if heading or not groups:
            groups.append((heading[1].strip() if heading else "", []))
        groups[-1][1].append(cell)
    return tuple(
        Section(
            heading,
            minutes(part),
            tuple(text for c in part if "predict" in _tags(c) for text in _predictions(c)),
            sum("explorer" in _tags(c) for c in part),
        )
        for heading, part in groups
    )


def lessons(root: Path) -> dict[str, Lesson]:
    """Return the lessons that are there, by number."""
    found = {}
    for path in sorted((root / "notebooks").glob("*_*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        number, cells = path.stem.split("_")[0], notebook["cells"]
        first = _source(cells[0])
        bold = re.findall(r"\*\*(.+?)\*\*", first, flags=re.S)
        question = " ".join(bold[0].split()) if bold else ""
        exercise = next(iter((root / "exercises").glob(f"{number}_*/*.ipynb")), None)
        found[number] = Lesson(
            number,
            first.splitlines()[0].lstrip("# "),
            question,
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
    total, by_hand = 0.0, []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("grade"):
            total += float(meta["points"])
            if meta.get("solution"):
                by_hand.append((str(meta["grade_id"]).replace("-", "."), float(meta["points"])))
    return total, tuple(by_hand)


# steps of a plan ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One row of a plan: what happens, for how long (whole minutes, rounded up), and what there is to ask."""

    what: str
    minutes: int
    ask: str = ""


def step(text: str, known: Mapping[str, Lesson], notes: Mapping[str, Any]) -> Step | None:
    """Return what "live 01", "part 02: Heading; …", "try 01.q2", "talk 5: …" or "break 15" means; None for a lesson to come."""
    kind, _space, rest = text.partition(" ")
    if kind in ("talk", "break"):
        number, _colon, words = rest.partition(":")
        return Step(words.strip() or "Break", int(number))
    number = re.split(r"[.:]", rest)[0].strip()
    lesson = known.get(number)
    if lesson is None:
        return None
    if kind == "live":
        asked = [text for section in lesson.sections for text in section.predictions]
        asked = asked or notes.get(number, {}).get("ask", [])[:1]
        return Step(f"Lesson {lesson.title}: all cells tagged `{LIVE}`", _up(lesson.live_minutes), "; ".join(asked))
    if kind == "part":
        wanted = [heading.strip() for heading in rest.partition(":")[2].split(";")]
        by_name = {section.heading: section for section in lesson.sections}
        if gone := [heading for heading in wanted if heading not in by_name]:
            raise CourseError(f"Lesson {number} has no section {gone[0]!r} on its live path; it has {list(by_name)}.")
        parts = [by_name[heading] for heading in wanted]
        asked = [text for part in parts for text in part.predictions]
        what = f"From lesson {lesson.title}: " + "; ".join(f"*{heading}*" for heading in wanted)
        return Step(what, _up(sum(part.minutes for part in parts)), "; ".join(asked))
    if kind == "try":
        question = bank.question(rest.strip())
        share = question.points / lesson.points
        names = ", ".join(wrong.name for wrong in question.misconceptions[:3])
        return Step(f"Try {question.id}: {question.title}", _up(lesson.exercise_minutes * share), f"expect: {names}")
    raise CourseError(f"{text!r} is no step; live, part, try, talk and break are.")


def _up(value: float) -> int:
    return math.ceil(value - 1e-9)


# pages ----------------------------------------------------------------------------------------------------------------


def formats_page(known: Mapping[str, Lesson], plan: Mapping[str, Any]) -> str:
    """Return formats.md: every format as a table that adds up, and the pool of parts it was made from."""
    out = ["# Formats", "", OPEN, ""]
    out += [
        f"A lesson's live path are its cells tagged `{LIVE}`. Its minutes are counted: {RULE}. A question tried in the room has",
        "its share, by points, of the minutes that the exercise states. Rows are rounded up. Nobody has taught these plans yet:",
        "after the first class, write what really took longer into `formats.toml`. What to show, ask and expect: `lessons.md`.",
        "",
        "| lesson | minutes alone | live | exercise |",
        "|---|---:|---:|---:|",
    ]
    out += [
        f"| {one.title} | {one.minutes:.0f} | {one.live_minutes:.0f} | {one.exercise_minutes:.0f} |"
        for one in known.values()
    ]
    for form in plan["format"]:
        out += ["", f"## {form['name'].capitalize()}", "", form["about"], ""]
        if "weeks" in form:
            out += _semester(form, known, plan["lesson"])
        for place, day in enumerate(form.get("day", []), start=1):
            if len(form["day"]) > 1:
                out += ([""] if place > 1 else []) + [f"### Day {place}", ""]
            out += _day(day, known, plan["lesson"], form["name"])
    return "\n".join(out) + "\n"


def _day(day: Mapping[str, Any], known: Mapping[str, Lesson], notes: Mapping[str, Any], name: str) -> list[str]:
    out, clock, missing = ["| at | min | what to show | ask, or expect |", "|---:|---:|---|---|"], 0, []
    for text in day["steps"]:
        row = step(text, known, notes)
        if row is None:
            missing.append(text)
            continue
        out.append(f"| {clock // 60}:{clock % 60:02d} | {row.minutes} | {row.what} | {row.ask} |")
        clock += row.minutes
    spare = day["minutes"] - clock
    if spare < 0:
        raise CourseError(f"{name}: the steps take {clock} minutes and there are {day['minutes']}. Take something out.")
    out.append(f"| {clock // 60}:{clock % 60:02d} | {spare} | spare, of {day['minutes']} minutes | questions |")
    if missing:
        out += ["", "Not written yet, and not in this plan: " + ", ".join(missing) + "."]
    return out


def _semester(form: Mapping[str, Any], known: Mapping[str, Lesson], notes: Mapping[str, Any]) -> list[str]:
    out = ["| week | lesson | in class, live | discussion and one question | at home: read | at home: exercise |"]
    out += ["|---:|---|---:|---:|---:|---:|"]
    for week, number in enumerate(form["weeks"], start=1):
        one = known.get(number)
        if one is None:
            out.append(f"| {week} | {number}: not written yet | | | | |")
            continue
        live = _up(one.live_minutes)
        out.append(
            f"| {week} | {one.title} | {live} | {form['in_class'] - live} | {one.minutes:.0f} | {one.exercise_minutes:.0f} |"
        )
    there = [known[number] for number in form["weeks"] if number in known]
    total = sum(one.minutes + one.exercise_minutes for one in there)
    out += ["", f"At home that is {total / max(len(there), 1):.0f} minutes a week on average."]
    return out


def lessons_page(known: Mapping[str, Lesson], plan: Mapping[str, Any]) -> str:
    """Return lessons.md: for each lesson what to show, to ask, to expect, and where people get stuck."""
    out = ["# Lesson by lesson", "", OPEN, ""]
    out += [
        "What to show are the sections of the live path. *Expected wrong answers* are those that the checks recognise, with the",
        "sentence that a learner reads: the wrong model is named, never the answer. *Where people get stuck* is what the authors",
        "expect; no class has been observed yet.",
    ]
    for number, one in known.items():
        notes = plan["lesson"].get(number, {})
        out += ["", f"## {one.title}", "", one.question, ""]
        out += ["| min | show | with |", "|---:|---|---|"]
        for section in one.sections:
            extras = ["a prediction"] * len(section.predictions) + ["the explorer"] * section.n_explorers
            out.append(f"| {section.minutes:.1f} | {section.heading} | {', '.join(extras)} |")
        asked = [text for section in one.sections for text in section.predictions]
        out += ["", f"Together {one.live_minutes:.0f} minutes live; {one.minutes:.0f} alone.", "", "**Ask**", ""]
        out += [f"- before it is shown: {text}?".replace("??", "?") for text in asked]
        out += [f"- {text}" for text in notes.get("ask", [])]
        out += ["", "**Where people get stuck**", "", notes.get("stuck", "Nothing is written down yet.")]
        if number in bank.exercises():
            out += ["", f"**Expected wrong answers** (exercise of {one.exercise_minutes:.0f} minutes)", ""]
            for question in bank.questions(number):
                out.append(f"- {question.id} {question.title} ({question.points:g} of {one.points:g} points)")
                public = question.parameters_for("")
                for wrong in question.misconceptions:
                    out.append(f"    - *{wrong.name}*: {' '.join(str(wrong.says(public)).split())}")
            for name, points in one.by_hand:
                out.append(
                    f"- {name}, written, {points:g} of {one.points:g} points: marked by a person, `rubric_{number}.md`"
                )
    return "\n".join(out) + "\n"


def pages(root: Path) -> dict[str, str]:
    """Return the texts of instructor/formats.md and instructor/lessons.md."""
    plan = tomllib.loads((root / "instructor" / "formats.toml").read_text(encoding="utf-8"))
    known = lessons(root)
    return {"formats.md": formats_page(known, plan), "lessons.md": lessons_page(known, plan)}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the two pages, or with --check say which is out of date and return 1."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.grading.workshop", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if something would change")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    stale = 0
    try:
        for name, text in pages(args.root).items():
            path = args.root / "instructor" / name
            if path.is_file() and path.read_text(encoding="utf-8") == text:
                continue
            stale += 1
            print(("out of date: " if args.check else "written: ") + f"instructor/{name}")
            if not args.check:
                path.write_text(text, encoding="utf-8", newline="\n")
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
