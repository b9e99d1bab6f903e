"""The questions, one folder per exercise (ex00 …), each with a tuple QUESTIONS; found by their id."""

import difflib
import importlib
import pkgutil
from functools import cache

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading.question import Question


def exercises() -> list[str]:
    """Return the numbers of the exercises that have questions, "00" first.

    >>> exercises()[0]
    '00'
    """
    return sorted(m.name[2:].upper() for m in pkgutil.iter_modules(__path__) if m.name.startswith("ex"))


@cache
def questions(exercise: str) -> tuple[Question, ...]:
    """Return the questions of one exercise, in order; raises CourseError for an exercise that does not exist."""
    if exercise not in exercises():
        have = ", ".join(exercises())
        raise CourseError(_("There is no exercise {given}. There are: {have}.").format(given=repr(exercise), have=have))
    return tuple(importlib.import_module(f"{__name__}.ex{exercise.lower()}").QUESTIONS)


def question(name: str) -> Question:
    """Return the question "02.q3"; raises CourseError with the nearest names.

    >>> question("00.q1").answer
    'payload_GBps'
    """
    number = str(name).split(".")[0]
    if number in exercises():
        for item in questions(number):
            if item.id == name:
                return item
    known = [item.id for exercise in exercises() for item in questions(exercise)]
    near = difflib.get_close_matches(str(name), known, n=3) or known[:3]
    raise CourseError(
        _("There is no question {name}. The nearest: {near}.").format(name=repr(name), near=", ".join(near))
    )


def all_questions() -> list[Question]:
    """Return every question of the course, in order."""
    return [item for exercise in exercises() for item in questions(exercise)]
