"""Question 11.q3: flows on the fullest uplink."""

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.collisions import fullest_chances, fullest_mean
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def fullest(flows: int, paths: int) -> float:
    """Return how many flows the fullest path carries on average when each flow picks one by hash."""
    return fullest_mean(flows, paths)


def _fullest_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 8), (2, 2), (3, 1), (4, 4), (8, 8), (4, 16), (32, 32), (64, 16)]
    rows += [(int(rng.integers(2, 65)), int(rng.choice([2, 4, 8, 16, 32]))) for _i in range(5)]
    return [Case({"flows": k, "paths": m}) for k, m in rows]


def _most_frequent(flows: int, paths: int) -> float:
    return float(np.argmax(fullest_chances(flows, paths)))


def _middle(flows: int, paths: int) -> float:
    return float(np.searchsorted(np.cumsum(fullest_chances(flows, paths)), 0.5))


q3 = Question(
    id="11.q3",
    title=_("The worst link under ECMP"),
    points=2,
    answer="fullest",
    kind="function",
    expects=Number(_("flows"), tolerance=0.02),
    inputs=_fullest_cases,
    reference=fullest,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "an even spread",
            lambda flows, paths: float(-(-flows // paths)),
            _("You spread the flows evenly. A hash does not look where the others went, so some meet."),
        ),
        Misconception(
            "the mean path",
            lambda flows, paths: flows / paths,
            _("You give the mean over paths. The slowest flow sits on the fullest one."),
        ),
        Misconception(
            "the mean of paths in use",
            lambda flows, paths: flows / (paths * (1 - (1 - 1 / paths) ** flows)),
            _("You give the mean over the paths that are in use. The question asks for the fullest of them."),
        ),
        Misconception(
            "all on one",
            lambda flows, paths: float(flows),
            _("You put all flows on one path. That can happen, but the question asks for the mean over hashes."),
        ),
        Misconception(
            "the most frequent",
            _most_frequent,
            _(
                "You give what the fullest path carries most often, or half of the time. The mean over hashes is asked for."
            ),
            recognise=lambda answer, flows, paths: answer in (_most_frequent(flows, paths), _middle(flows, paths)),
        ),
    ),
)
