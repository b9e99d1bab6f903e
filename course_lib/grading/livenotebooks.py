"""Notebooks of a class: for each step of a plan that shows a lesson, one with exactly the cells that the step names."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from course_lib.grading.lessonminutes import under_headings

# A link to another file of the course leads nowhere from here.
LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\((?!#|[a-z]+:)[^)]*\)")


def cells_of(notebook: Mapping[str, Any], headings: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the live cells of a lesson, only those under `headings` if some are given.

    >>> live = {"tags": ["workshop"]}
    >>> cells = [{"cell_type": "markdown", "source": text, "metadata": live} for text in ("# A", "a", "## B", "b")]
    >>> [cell["source"] for cell in cells_of({"cells": cells}, ["B"])]
    ['## B', 'b']
    """
    found = []
    for heading, part in under_headings(notebook["cells"]):
        for cell in part if headings is None or heading in headings else ():
            text = LINK.sub(r"\1", cell["source"]) if cell["cell_type"] == "markdown" else cell["source"]
            found.append({**cell, "source": text})
    return found


def of_format(form: Mapping[str, Any], root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and notebook for each step of a format that shows a lesson, in the order of the plan; a week is a live path."""
    weeks = [f"live {number}" for number in form.get("weeks", [])]
    for steps in [*(day["steps"] for day in form.get("day", [])), weeks]:
        for text in steps:
            kind, _space, rest = text.partition(" ")
            number, _colon, names = rest.partition(":")
            path = next((root / "notebooks").glob(f"{number.strip()}_*.ipynb"), None)
            if kind in ("live", "part") and path is not None:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                headings = [name.strip() for name in names.split(";")] if kind == "part" else None
                yield path.name, {**notebook, "cells": cells_of(notebook, headings)}


def write(plan: Mapping[str, Any], root: Path, folder: Path) -> list[Path]:
    """Write the notebooks of all formats into a folder for each, and return their paths."""
    written = []
    for form in plan["format"]:
        for name, notebook in of_format(form, root):
            path = folder / form["name"].replace(" ", "_") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path)
    return written
