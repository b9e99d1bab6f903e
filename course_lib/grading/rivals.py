"""Several files of one learner for one exercise: which one is marked, and which exercise a path means."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from course_lib.grading import bank, repair
from course_lib.grading.intake import HandIn
from course_lib.grading.jobs import Job


def meant(shown: str) -> str:
    """Return the exercise that a path names, or ""."""
    for part in reversed(shown.split("/")[1:] or [shown]):
        for number in re.findall(r"(?<!\d)\d\d(?!\d)", part):
            if number in bank.exercises():
                return number
    return ""


def winners(found: Sequence[tuple[HandIn, Job]]) -> list[str | None]:
    """Return for each file None if it is to be marked, else the name of the file that is marked in its place."""
    of: dict[str, list[int]] = {}
    for place, (one, _job) in enumerate(found):
        of.setdefault(one.student, []).append(place)
    answer: list[str | None] = [None] * len(found)
    for places in of.values():
        if len(places) < 2:
            continue
        same: dict[str, list[int]] = {}
        for place in places:
            same.setdefault(_exercise(found[place][1]), []).append(place)
        for exercise, rivals in same.items():
            if not exercise or len(rivals) < 2:
                continue
            best = max(rivals, key=lambda place: rank(found[place][0], exercise))
            for place in rivals:
                if place != best:
                    answer[place] = found[best][0].shown
    return answer


def _exercise(job: Job) -> str:
    try:
        return repair.read(job.content, PurePath(job.shown)).exercise
    except Exception:  # whatever is wrong with it is said where it is marked; here it must stop nobody
        return ""


def rank(one: HandIn, exercise: str) -> tuple:
    """The expected name first, then the newest, then by name."""
    path = repair.release_path(exercise)
    return (one.name == path.name, path.parent.name in one.folders, one.modified_s, one.shown)
