"""A whole class: everything that was handed in gets a row, a reason, and where possible marks; can be resumed."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.grading import bank, late
from course_lib.grading.batch import Batch, Options, Outcome
from course_lib.grading.intake import collect
from course_lib.grading.jobs import Settings
from course_lib.grading.ledger import Ledger
from course_lib.grading.people import students
from course_lib.grading.sandbox import available

__all__ = ["Options", "Outcome", "grade"]


def grade(
    submitted: Path, options: Options, tell: Callable[[int, int, str], None] = lambda done, n, who: None
) -> Outcome:
    """Mark every hand-in below `submitted`; write gradebook, autograded/, feedback/ and tables below `options.to`.

    `tell(done, of, who)` is called after each. Raises CourseError where nothing can be done at all.
    """
    if options.walled and not options.scheduler and (why := available()):
        raise CourseError(why)
    late.penalty(0.0, None, None, options.rule)
    for name in options.only:
        bank.questions(name)
    hand_ins = collect(submitted)
    options.to.mkdir(parents=True, exist_ok=True)
    secret = _secret(options.to / "secret.txt")
    with Ledger(options.to / "ledger.jsonl") as ledger:
        gradebook = options.to / "gradebook.db"
        known = tuple(sorted({h.student for h in hand_ins if not h.problem} | set(students(gradebook))))
        settings = Settings(secret, options.limits, options.walled, known, options.only)
        batch = Batch(options, settings, ledger, tell)
        try:
            return batch.through(hand_ins)
        finally:
            if batch.opened is not None:
                batch.opened.close()


def _secret(path: Path) -> str:
    """Return the instructor's secret, made at the first run. It decides the inputs that no learner knows."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        pass
    text = secrets.token_hex(16)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return text
