"""The table that `nbgrader export` writes: nbgrader's columns, then one for each question, in UTF-8 everywhere."""

import csv
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading.gradedcells import question_name

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class ByQuestion(ExportPlugin):
    """Writes one row per student and exercise; who handed in nothing has zero points and no marks."""

    def export(self, gradebook: Gradebook) -> None:
        """Write the file named by `--to`, grading/grades.csv if none is."""
        path = self.to or "grading/grades.csv"
        wanted, students = set(map(str, self.assignment)), set(map(str, self.student))
        rows, questions = [], {}
        for assignment in gradebook.assignments:
            if wanted and assignment.name not in wanted:
                continue
            for notebook in assignment.notebooks:
                questions |= dict.fromkeys(question_name(cell.name) for cell in notebook.grade_cells)
            for student in gradebook.students:
                if not students or str(student.id) in students:
                    rows.append(_row(gradebook, assignment, student))
        try:
            # nbgrader's own table is written in the machine's encoding and unquoted.
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, [*COLUMNS, *sorted(questions)], restval="")
                writer.writeheader()
                writer.writerows(rows)
        except OSError as error:
            raise CourseError(_("{path} cannot be written: {why}.").format(path=path, why=error.strerror)) from None
        self.log.info("%s: %d rows", path, len(rows))


def _row(gradebook: Gradebook, assignment: Any, student: Any) -> dict[str, Any]:
    row = {"assignment": assignment.name, "duedate": assignment.duedate, "student_id": student.id}
    row |= {name: getattr(student, name) for name in ("last_name", "first_name", "email")}
    row |= {"raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0, "max_score": assignment.max_score}
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return row
    penalty = submission.late_submission_penalty
    row |= {"timestamp": submission.timestamp, "raw_score": submission.score, "late_submission_penalty": penalty}
    row["score"] = round(max(0.0, submission.score - penalty), 6)
    for notebook in submission.notebooks:
        row |= {question_name(grade.name): grade.score for grade in notebook.grades}
    return row
