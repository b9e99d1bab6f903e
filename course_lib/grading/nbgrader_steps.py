"""Two steps added to nbgrader's own: stubs that let Run All reach the end, and graded cells put right before grading."""

import re
from typing import Any

from nbformat import NotebookNode
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
from course_lib.grading.gradedcells import SCHEMA, repair, spoken_language


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
