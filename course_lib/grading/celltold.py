"""How a cell is spoken of to its learner: by its first line, and by what stopped it."""

from typing import Any

from course_lib.base.language import _
from course_lib.grading.sandbox import Limits


def first_line(source: str) -> str:
    """Return the first line of a cell that is not blank, at most 60 letters of it.

    >>> first_line("\\n  x = 1\\ny = 2")
    'x = 1'
    """
    return next((line.strip() for line in source.splitlines() if line.strip()), "")[:60]


def out_of_memory(shown: dict[str, Any]) -> bool:
    """Return whether a cell that ran asked for more memory than it may have."""
    error = shown["error"] or {}
    return error.get("ename") == "MemoryError" or str(error.get("evalue", ""))[:10] == "[Errno 12]"  # mmap says it so


def told_error(error: dict[str, Any], limits: Limits) -> str:
    """Return an exception of a cell as it is told to the learner.

    >>> told_error({"ename": "KeyError", "evalue": "'x'"}, Limits())
    "KeyError: 'x'"
    """
    name, value = str(error.get("ename"))[:60], str(error.get("evalue"))[:200]
    if name == "StdinNotImplementedError":
        return _("it asks for keyboard input, which is not allowed in graded cells.")
    if name == "MemoryError" or value[:10] == "[Errno 12]":
        text = _("it asked for more memory than there is ({most:g} GiB at most).")
        return text.format(most=limits.memory_B / 2**30)
    return f"{name}: {value}" if value else name
