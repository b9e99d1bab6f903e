"""What a learner has done so far: one line per check in a file that survives restarts and is never needed for marks."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.places import notes_folder
from course_lib.grading.verdict import Verdict

FILE = "progress.jsonl"


def switched_off() -> bool:
    """Return whether INTERCONNECT_PROGRESS=off forbids keeping anything."""
    return os.environ.get("INTERCONNECT_PROGRESS", "").lower() in ("off", "0", "no", "false")


def record(verdict: Verdict, learner: str = "") -> str:
    """Append one line; return "" or, where the folder cannot be written, a sentence that says so. Never raises OSError."""
    if switched_off():
        return ""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "question": verdict.question,
        "state": verdict.state,
        "points": verdict.points,
        "of": verdict.of,
        "misconceptions": list(verdict.misconceptions),
        "learner": learner,
    }
    try:
        # One write of one line in append mode: two notebooks at once do not mix their lines.
        with open(notes_folder() / FILE, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError) as error:
        return _("(This was not recorded: {why}.)").format(why=getattr(error, "strerror", None) or error)
    return ""


def read(path: Path | None = None) -> tuple[list[dict[str, Any]], int]:
    """Return the recorded lines, oldest first, and the number of lines that could not be read and were skipped.

    A folder that is not there and cannot be made holds no lines; a file that is there and cannot be read is a CourseError.
    """
    try:
        path = path or notes_folder() / FILE
    except (OSError, RuntimeError):
        return [], 0
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise CourseError(_("{path} cannot be read: {why}.").format(path=path, why=error.strerror)) from None
    entries, skipped = [], 0
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            whole = isinstance(entry["question"], str) and isinstance(entry["state"], str)
            whole = whole and isinstance(entry["points"], (int, float)) and isinstance(entry["time"], str)
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
        if whole:
            entries.append(entry)
        else:
            skipped += 1
    return entries, skipped
