"""Two steps added to nbgrader's own: stubs that let Run All reach the end, and graded cells put right before grading."""

import json
import re
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    DeduplicateIds,
    IncludeHeaderFooter,
    LockCells,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveCells,
)

from course_lib.base.errors import CourseError
from course_lib.base.language import _

SCHEMA = 3


class QuietStubs(NbGraderPreprocessor):
    """Takes `raise NotImplementedError` out where it is not inside a function: a value's stub is `answer = None` alone."""

    def preprocess_cell(self, cell: NotebookNode, resources: dict, cell_index: int) -> tuple[NotebookNode, dict]:
        """Change one cell of the release."""
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = re.sub(r"(?m)^raise NotImplementedError.*\n?", "", cell.source).rstrip("\n")
        return cell, resources


class RepairGradedCells(NbGraderPreprocessor):
    """Puts a hand-in's graded cells right: the release, as the gradebook knows it, is the truth.

    Copies of a graded cell become ordinary cells, missing locked cells come back, flags and points that were changed are
    restored, older metadata is read. What was done is logged. A notebook in another language is refused.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Repair one notebook."""
        language = spoken_language(nb)
        if language not in ("", "python"):
            raise CourseError(
                _("This notebook is written in {language}; Python is expected.").format(language=language)
            )
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
            points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
            written = {cell.name for cell in notebook.solution_cells}
            release = {
                cell.name: _cell(cell, points.get(cell.name), cell.name in written) for cell in notebook.source_cells
            }
        for sentence in repair(nb, release):
            self.log.warning("%s: %s", names["student"], sentence)
        return nb, resources


def _cell(source: Any, points: float | None, is_solution: bool) -> NotebookNode:
    meta = {
        "grade_id": source.name,
        "grade": points is not None,
        "solution": is_solution,
        "locked": bool(source.locked),
        "task": False,
        "cell_type": source.cell_type,
        "checksum": source.checksum,
        "schema_version": SCHEMA,
    }
    if points is not None:
        meta["points"] = points
    make = new_code_cell if source.cell_type == "code" else new_markdown_cell
    return make(source.source, metadata={"nbgrader": meta})


def spoken_language(nb: NotebookNode) -> str:
    """Return the programming language that a notebook's metadata names, in lower case, or "" if it names none."""
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        named = nb.metadata.get(key)
        if isinstance(named, dict) and isinstance(named.get(field), str) and named[field].strip():
            return re.sub(r"[\d. ]+$", "", named[field].strip().lower()).replace("ipython", "python")
    return "r" if isinstance(nb.metadata.get("kernelspec"), dict) and nb.metadata.kernelspec.get("name") == "ir" else ""


def repair(nb: NotebookNode, release: dict[str, NotebookNode]) -> list[str]:
    """Make the graded cells of `nb` agree with `release` (cells by their id, in order); return a sentence per change."""
    said, places = [], {}
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader")
        if meta is None:
            continue
        name = meta.get("grade_id") if isinstance(meta, dict) else None
        if not isinstance(name, str) or name not in release:
            del cell.metadata["nbgrader"]
            continue
        version = meta.get("schema_version", 0)
        if isinstance(version, (int, float)) and version > SCHEMA:
            text = _(
                "The cell of {name} was made by a newer version of nbgrader ({version}); it is read as version {known}."
            )
            said.append(text.format(name=question_name(name), version=version, known=SCHEMA))
        if name in places:
            text = _(
                "There are several cells of {name}. Delete the copies and keep one; the first one counts as the graded cell."
            )
            said.append(text.format(name=question_name(name)))
            del cell.metadata["nbgrader"]
            continue
        places[name] = cell
        # A copy, so that nothing that a hand-in says about points or flags survives.
        cell.metadata["nbgrader"] = from_dict(json.loads(json.dumps(release[name].metadata["nbgrader"])))
    for name, original in release.items():
        if name in places:
            continue
        meta = original.metadata["nbgrader"]
        if not meta["grade"] and not meta["locked"]:
            text = _(
                "The answer cell of {name} was deleted or has lost its mark; its answer is looked for by its name."
            )
            said.append(text.format(name=question_name(name)))
            continue
        text = _("The graded cell of {name} was missing and has been put back.").format(name=question_name(name))
        said.append(text)
        fresh = from_dict(json.loads(json.dumps(original)))
        fresh["id"] = re.sub(r"[^\w-]", "-", f"restored-{name}")[:64]
        if meta["grade"]:
            nb.cells += [new_markdown_cell(text), fresh]
        else:
            nb.cells.insert(0, fresh)
        places[name] = fresh
    if nb.nbformat_minor < 5:
        for cell in nb.cells:
            cell.pop("id", None)
    return said


def question_name(grade_id: str) -> str:
    """Return the question that a graded cell belongs to.

    >>> question_name("02-q3-answer"), question_name("memo")
    ('02.q3', 'memo')
    """
    match = re.match(r"(\w+)-(q\d+)(?:-|$)", grade_id)
    return f"{match[1]}.{match[2]}" if match else grade_id


GENERATE = [
    IncludeHeaderFooter,
    LockCells,
    ClearSolutions,
    QuietStubs,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]
AUTOGRADE_FIRST = [
    RepairGradedCells,
    ClearOutput,
    DeduplicateIds,
    OverwriteKernelspec,
    OverwriteCells,
    CheckCellMetadata,
]
