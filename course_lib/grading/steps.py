"""A notebook's code cells in order: which question is asked where, whose answer a cell sets, what the release imports."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_lib.grading import repair
from course_lib.grading.question import Question


@dataclass
class Step:
    """A code cell: `question` is asked there; `owner` are the questions whose answers it sets."""

    place: int
    source: str
    question: str = ""
    owner: tuple[str, ...] = ()


def steps(notebook: Any, questions: Sequence[Question]) -> list[Step]:
    """Return the code cells in order, with the questions they ask or answer."""
    names = {q.id: q.answer for q in questions}
    found = []
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        meta = cell.metadata.get("nbgrader") or {}
        grade_id = str(meta.get("grade_id", ""))
        name = grade_id.replace("-", ".")
        if meta.get("grade") and not meta.get("solution") and name in names:
            found.append(Step(place, cell.source, question=name))
            continue
        mine = grade_id.removesuffix("-answer").replace("-", ".")
        owner = [mine] if mine in names and grade_id.endswith("-answer") else []
        owner += [q for q, answer in names.items() if answer in bound(cell.source) and q not in owner]
        found.append(Step(place, cell.source, owner=tuple(owner)))
    return found


def bound(source: str) -> set[str]:
    """Return the names that a cell sets outside of functions."""
    if len(source) > 200_000:
        return set()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found, waiting = set(), list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        waiting += list(ast.iter_child_nodes(node))
    return found


@cache
def warm_imports(exercise: str) -> tuple[str, ...]:
    """Return the imports of the release, so that every kernel finds them done."""
    found = ["import numpy, numpy.random, numpy.linalg", "import course_lib.comm.requests"]
    for cell in repair.release(exercise).cells:
        if cell.cell_type != "code":
            continue
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            continue
        found += [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return tuple(dict.fromkeys(found))
