"""`interconnect progress`: every question of the exercises, what the last check said, and the points so far."""

import argparse
import json
import sys

from course_lib.base.columns import lined_up
from course_lib.base.language import _
from course_lib.grading import bank, progress
from course_lib.grading.repair import left_to_people
from course_lib.grading.verdict import NOT_ATTEMPTED

HELP = "list questions, verdicts and points of this learner"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("exercise", nargs="?", help=_("only this exercise: 00, 01 …"))
    parser.add_argument("--json", action="store_true", help=_("print the same as JSON"))


def table(exercise: str | None = None) -> tuple[list[dict], int]:
    """Return one row per question (the last verdict, the best points, how often it was checked) and the count of bad lines."""
    entries, skipped = progress.read()
    numbers = [exercise.zfill(2).upper() if exercise != "A" else "A"] if exercise else bank.exercises()
    rows = []
    for question in [q for number in numbers for q in bank.questions(number)]:
        own = [entry for entry in entries if entry["question"] == question.id]
        last = own[-1] if own else {"state": NOT_ATTEMPTED, "points": 0.0, "time": None}
        best = max((min(float(entry["points"]), question.points) for entry in own), default=0.0)
        rows.append(
            {
                "question": question.id,
                "title": question.title,
                "state": last["state"],
                "points": min(float(last["points"]), question.points),
                "best": best,
                "of": float(question.points),
                "checks": len(own),
                "last": last["time"],
            }
        )
    return rows, skipped


def run(args: argparse.Namespace) -> int:
    """Print the table; the status is 0 whatever the verdicts are."""
    rows, skipped = table(args.exercise)
    if args.json:
        print(json.dumps({"questions": rows, "unreadable_lines": skipped}, indent=1))
        return 0
    words = {"correct": _("correct"), "not yet": _("not yet"), NOT_ATTEMPTED: _("not attempted")}
    number = ""
    cells = []
    for row in rows:
        state = words.get(row["state"], row["state"])
        better = _("  (best {best:g})").format(best=round(row["best"], 2)) if row["best"] > row["points"] else ""
        points = f"{round(row['points'], 2):>4g} / {row['of']:g}"
        cells.append([row["question"], state, points, row["title"] + better])
    for row, line in zip(rows, lined_up(cells, "<<<<", (0, 13), indent="  "), strict=True):
        if row["question"].split(".")[0] != number:
            number = row["question"].split(".")[0]
            own = [r for r in rows if r["question"].split(".")[0] == number]
            text = _("Exercise {number}: {points:g} of {of:g} points")
            points, of = round(sum(r["points"] for r in own), 2), sum(r["of"] for r in own)
            print(("\n" if row is not rows[0] else "") + text.format(number=number, points=points, of=of))
            print(*(f"  {sentence}\n" for sentence in left_to_people(number)), sep="", end="")
        print(line)
    if skipped:
        text = _("Lines of {path} that could not be read and were skipped: {n}.")
        print(text.format(n=skipped, path=progress.FILE), file=sys.stderr)
    return 0
