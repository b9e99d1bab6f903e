"""Plans of classes, timed from the notebooks: `python -m course_lib.grading.workshop [--check | --notebooks FOLDER]`."""

import argparse
import math
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.grading import bank, livenotebooks
from course_lib.grading.lessonminutes import LIVE, RULE, Lesson, Section, lessons

OPEN = (
    "Written by `python -m course_lib.grading.workshop` from `formats.toml`, the notebooks and the bank of questions."
)


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
        parts = _whole(lesson, [by_name[heading] for heading in wanted])
        asked = [text for part in parts for text in part.predictions]
        what = f"From lesson {lesson.title}: " + "; ".join(f"*{heading}*" for heading in wanted)
        return Step(what, _up(sum(part.minutes for part in parts)), "; ".join(asked))
    if kind == "try":
        question = bank.question(rest.strip())
        share = question.points / lesson.points
        names = ", ".join(wrong.name for wrong in question.misconceptions[:3])
        return Step(f"Try {question.id}: {question.title}", _up(lesson.exercise_minutes * share), f"expect: {names}")
    raise CourseError(f"{text!r} is no step; live, part, try, talk and break are.")


def _whole(lesson: Lesson, parts: list[Section]) -> list[Section]:
    """Return the parts if their cells run one after the other in a fresh kernel; else say which section is missing."""
    made: set[str] = set()
    for part in parts:
        for name in sorted(part.needs - made):
            maker = next((one for one in lesson.sections if name in one.makes), None)
            why = f"which {maker.heading!r} makes. Take it in, before" if maker else "which no section makes"
            raise CourseError(f"Part of lesson {lesson.number}: {part.heading!r} needs {name}, {why}.")
        made |= part.makes
    return parts


def _up(value: float) -> int:
    return math.ceil(value - 1e-9)


def formats_page(known: Mapping[str, Lesson], plan: Mapping[str, Any]) -> str:
    """Return formats.md: every format as a table that adds up, and the pool of parts it was made from."""
    out = ["# Formats", "", OPEN, ""]
    out += [
        f"A lesson's live path is its cells tagged `{LIVE}`; names in italics are headings of it. Show only these cells:",
        "`python -m course_lib.grading.workshop --notebooks build/workshop` writes, for each format, notebooks that hold nothing",
        f"else, and each step runs alone in a fresh kernel. Minutes are counted: {RULE}. A question tried in the room has",
        "its share, by points, of the minutes that the exercise states. All are rounded up. Nobody has taught these plans yet:",
        "after the first class, write what really took longer into `formats.toml`. What to show, ask and expect: `lessons.md`.",
        "",
        "| lesson | minutes alone | live | exercise |",
        "|---|---:|---:|---:|",
    ]
    out += [
        f"| {one.title} | {one.minutes:.0f} | {_up(one.live_minutes)} | {one.exercise_minutes:.0f} |"
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
        out += ["", f"Together {_up(one.live_minutes)} minutes live; {one.minutes:.0f} alone.", "", "**Ask**", ""]
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


def read_plan(root: Path) -> dict[str, Any]:
    """Return formats.toml: what people decide about teaching."""
    return tomllib.loads((root / "instructor" / "formats.toml").read_text(encoding="utf-8"))


def pages(root: Path) -> dict[str, str]:
    """Return the texts of instructor/formats.md and instructor/lessons.md."""
    plan = read_plan(root)
    known = lessons(root)
    return {"formats.md": formats_page(known, plan), "lessons.md": lessons_page(known, plan)}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the two pages, or with --check say which is out of date and return 1."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.grading.workshop", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if something would change")
    parser.add_argument(
        "--notebooks",
        type=Path,
        metavar="FOLDER",
        help="write there, for each format, notebooks of its live cells alone",
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    stale = 0
    try:
        if args.notebooks is not None:
            written = livenotebooks.write(read_plan(args.root), args.root, args.notebooks)
            print(f"{len(written)} notebooks in {args.notebooks}")
            return 0
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
