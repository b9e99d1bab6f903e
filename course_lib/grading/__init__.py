"""Questions, their misconceptions, verdicts, and the ways to mark them."""

from course_lib.grading.notebook import check, parameters

__all__ = ["check", "parameters"]
