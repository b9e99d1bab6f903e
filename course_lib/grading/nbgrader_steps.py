"""Steps added to nbgrader's own: stubs that let Run All reach the end, graded cells put right, answers that were stopped."""

import re
from typing import Any

from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    DeduplicateIds,
    Execute,
    IgnorePattern,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading.gradedcells import SCHEMA, question_name, repair, spoken_language

STOPPED = ("CellTimeoutError", "MemoryError")


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


class StoppedAnswers(NbGraderPreprocessor):
    """Gives zero where the cell that sets an answer had to be stopped or ran out of memory, whatever it had defined before."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Look at one notebook that has been run."""
        from course_lib.grading import bank
        from course_lib.grading.steps import bound

        cells = [cell for cell in nb.cells if cell.cell_type == "code"]
        graded = {
            question_name(c.metadata.nbgrader.grade_id): c for c in cells if c.metadata.get("nbgrader", {}).get("grade")
        }
        known = {q.id: q for exercise in bank.exercises() for q in bank.questions(exercise) if q.id in graded}
        for name, question in known.items():
            own = [c for c in cells if c is not graded[name] and question.answer in bound(c.source)]
            errors = [o.ename for o in own[-1].outputs if o.output_type == "error"] if own else []
            if stopped := [one for one in errors if one in STOPPED]:
                text = _("The cell that sets {name} was stopped ({error}): it earns nothing.")
                said = text.format(name=question.answer, error=stopped[0])
                graded[name].outputs = [
                    new_output("stream", text=said + "\n"),
                    new_output("execute_result", {"text/plain": "0.0"}),
                ]
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
AUTOGRADE_THEN = [
    Execute,
    StoppedAnswers,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
