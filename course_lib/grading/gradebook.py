"""Writes marks into nbgrader's gradebook through its own API, so that Formgrader shows them."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.base.language import _
from course_lib.grading import repair


class Book:
    """nbgrader's database, opened once for a batch; exercises that it does not know are entered from the release."""

    def __init__(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from nbgrader import api

            path.parent.mkdir(parents=True, exist_ok=True)
            # nbgrader starts the command `alembic`, which takes seconds and is only found in an activated environment.
            command, api.get_alembic_version = api.get_alembic_version, _layout_version
            try:
                self._book = api.Gradebook(f"sqlite:///{path.absolute()}")
            finally:
                api.get_alembic_version = command
        self._entered: set[str] = set()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write all that is booked inside of the `with` in one go: each commit by itself waits for the disk."""
        session = self._book.db
        session.commit = session.flush
        try:
            yield
        finally:
            del session.commit
            session.commit()

    def due(self, exercise: str) -> datetime | None:
        """Return the due date that was set with nbgrader, which keeps it in UTC."""
        from datetime import UTC

        from nbgrader.api import MissingEntry

        try:
            given = self._book.find_assignment(repair.release_path(exercise).parent.name).duedate
        except MissingEntry:
            return None
        return given.replace(tzinfo=UTC) if given is not None else None

    def enter(self, exercise: str) -> None:
        """Enter an exercise with the graded cells of its release."""
        from nbgrader.utils import is_grade, is_locked, is_solution, is_task

        if exercise in self._entered:
            return
        path = repair.release_path(exercise)
        assignment, notebook, book = path.parent.name, path.stem, self._book
        book.update_or_create_assignment(assignment)
        book.update_or_create_notebook(notebook, assignment)
        for cell in repair.release(exercise).cells:
            meta = cell.metadata.get("nbgrader")
            if not meta:
                continue
            name, kind = meta["grade_id"], cell.cell_type
            if is_grade(cell):
                book.update_or_create_grade_cell(
                    name, notebook, assignment, max_score=float(meta["points"]), cell_type=kind
                )
            if is_solution(cell):
                book.update_or_create_solution_cell(name, notebook, assignment)
            if is_task(cell):
                book.update_or_create_task_cell(
                    name, notebook, assignment, max_score=float(meta["points"]), cell_type=kind
                )
            book.update_or_create_source_cell(
                name,
                notebook,
                assignment,
                cell_type=kind,
                locked=bool(is_locked(cell)),
                source=cell.source,
                checksum=meta.get("checksum"),
            )
        self._entered.add(exercise)

    def book(self, result: Mapping[str, Any], submitted: datetime | None, penalty: float) -> None:
        """Write one hand-in's scores and comments. A score that a person gave stays, and asks to be looked at again.

        What could not be marked has no score and is shown as waiting for a person: not a zero that looks earned.
        """
        from nbgrader.api import MissingEntry

        exercise = result["exercise"]
        self.enter(exercise)
        path = repair.release_path(exercise)
        assignment, notebook, book = path.parent.name, path.stem, self._book
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SQLAlchemy about nbgrader's own relationships
            try:
                book.find_student(result["student"])
            except MissingEntry:
                book.add_student(result["student"])
            when = {"timestamp": submitted.replace(tzinfo=None)} if submitted is not None else {}
            submission = book.update_or_create_submission(assignment, result["student"], **when)
            page = next(page for page in submission.notebooks if page.name == notebook)
            self._complete(page)
            by_cell = {row["question"].replace(".", "-"): row for row in result["questions"]}
            by_hand = {item["cell"]: item for item in result["manual"]}
            for grade in page.grades:
                self._grade(grade, by_cell.get(grade.name), by_hand.get(grade.name))
            for comment in page.comments:
                row = by_cell.get(comment.name.removesuffix("-answer"))
                item = by_hand.get(comment.name)
                comment.auto_comment = _comment(result, row, item)
            page.late_submission_penalty = penalty or None
            book.db.commit()

    def _complete(self, page: Any) -> None:
        """Give an older submission the rows of cells that the release has got since."""
        from nbgrader.api import Comment, Grade

        graded, said = {grade.name for grade in page.grades}, {comment.name for comment in page.comments}
        for cell in (*page.notebook.grade_cells, *page.notebook.task_cells):
            if cell.name not in graded:
                Grade(cell_id=cell.id, cell=cell, notebook=page)
        for cell in (*page.notebook.solution_cells, *page.notebook.task_cells):
            if cell.name not in said:
                Comment(cell_id=cell.id, cell=cell, notebook=page)

    def _grade(self, grade: Any, row: Mapping[str, Any] | None, item: Mapping[str, Any] | None) -> None:
        if row is not None:
            grade.auto_score = float(row["points"])
        elif item is not None:
            grade.auto_score = None if item["written"] else 0.0
        else:
            grade.auto_score = None
        looks = bool(row and row["look"])
        grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None or looks

    def late(self, exercise: str, student: str, penalty: float, submitted: datetime | None) -> None:
        """Write the penalty alone: times and rules may have changed since the hand-in was marked."""
        path = repair.release_path(exercise)
        page = self._book.find_submission_notebook(path.stem, path.parent.name, student)
        when = submitted.replace(tzinfo=None) if submitted is not None else page.assignment.timestamp
        if (page.late_submission_penalty or 0.0) != penalty or page.assignment.timestamp != when:
            page.late_submission_penalty = penalty or None
            page.assignment.timestamp = when
            self._book.db.commit()

    def close(self) -> None:
        self._book.close()


def _layout_version() -> str:
    """Return the version of the database's layout, as `alembic heads` prints it."""
    import nbgrader
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(nbgrader.__file__).parent / "alembic"))
    return str(ScriptDirectory.from_config(config).get_current_head())


def _comment(result: Mapping[str, Any], row: Mapping[str, Any] | None, item: Mapping[str, Any] | None) -> str | None:
    if result["state"] != "marked":
        return result["reason"]
    if row is not None:
        return "\n".join(row["sentences"]) or None
    return _("No response.") if item is not None and not item["written"] else None
