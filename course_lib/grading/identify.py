"""Which exercise a notebook is: by its metadata, its checks, or the numbers in its name."""

import re
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import bank
from course_lib.grading.release import checked


def exercise_of(notebook: dict[str, Any], path: Path) -> str:
    """Return the number of the exercise, from the notebook's metadata, else its checks, else the numbers in its name.

    A lesson has such a number in its name, too: it is known by its predictions, and refused.
    """
    meta = notebook.get("metadata")
    named = meta.get("interconnect", {}) if isinstance(meta, dict) else {}
    guesses = [str(named.get("exercise", ""))] if isinstance(named, dict) else []
    guesses += [name.split(".")[0] for cell in notebook["cells"] if (name := checked(source_of(cell)))]
    if not any(guesses) and any(re.search(r"(?m)^predict\(", source_of(cell)) for cell in notebook["cells"]):
        raise CourseError(_("{path} is a lesson; the exercises are in the folder exercises/.").format(path=path))
    guesses += re.findall(r"(?<!\d)\d\d(?!\d)", path.stem)
    for guess in guesses:
        if guess in bank.exercises():
            return guess
    have = ", ".join(bank.exercises())
    raise CourseError(_("{path} is no exercise of this course. There are: {have}.").format(path=path, have=have))


def source_of(cell: dict[str, Any]) -> str:
    """Return the source of a cell as one text."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
