"""Stands in for `course_lib.grading` inside the sandbox: no bank, no verdicts; a learner's numbers are asked from outside."""

from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _

# Set by the kernel: asks the grader for a question's numbers and returns them, or raises CourseError.
ask_outside: Any = None


def check(name: str) -> float:
    """Say that questions are asked from outside while a hand-in is marked; worth nothing."""
    print(_("{name} is asked from outside while this is marked.").format(name=name))
    return 0.0


def parameters(name: str, learner: str | None = None) -> dict[str, Any]:
    """Return the numbers of question `name`, as in the notebook: for LEARNER where `learner` is not given."""
    import sys

    if learner is None:
        frame = sys._getframe(1)
        learner = {**frame.f_globals, **frame.f_locals}.get("LEARNER", "")
    if type(learner) is not str:
        text = _("LEARNER is {given}; text is expected, such as the name you hand in under.")
        raise CourseError(text.format(given=repr(learner)[:60]))
    if ask_outside is None:
        raise CourseError(_("There are no numbers for {name} here.").format(name=name))
    return ask_outside(str(name), learner.strip())
