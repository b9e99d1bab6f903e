"""Question 08.q5: steps and hours on a new network."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex08.withheld import WITHHELD
from course_lib.grading.question import Misconception, Question


def _job(rng: np.random.Generator) -> dict:
    compute_ms = 10 * int(rng.integers(15, 60))
    exposed = 5 * round(compute_ms * float(rng.uniform(0.3, 0.8)) / 5)
    return {
        "steps": 1000 * int(rng.integers(20, 200)),
        "compute_ms": compute_ms,
        "exposed_ms": exposed,
        "new_exposed_ms": 5 * max(1, round(exposed * float(rng.uniform(0.05, 0.3)) / 5)),
    }


def new_network(steps: int, compute_ms: int, exposed_ms: int, new_exposed_ms: int) -> dict[str, float]:
    """Return the steps to the same loss on the new network, the hours on both, and how many times as fast it gets there."""
    old, new = (steps * (compute_ms + e) / 3.6e6 for e in (exposed_ms, new_exposed_ms))
    return {"new steps": steps, "old hours": old, "new hours": new, "times as fast": old / new}


q5 = Question(
    id="08.q5",
    title=_("A faster network and convergence"),
    points=2,
    answer="bought",
    expects=Entries(
        {
            "new steps": Number(whole=True),
            "old hours": Number("hours"),
            "new hours": Number("hours"),
            "times as fast": Number("×"),
        }
    ),
    parameters=_job,
    reference=new_network,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "faster synchronisation needs fewer steps",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "new steps": round(steps * (compute_ms + new_exposed_ms) / (compute_ms + exposed_ms))
            },
            _(
                "You let the number of steps fall. The network carries the same gradients; only the time of a step changes."
            ),
        ),
        Misconception(
            "only communication counts",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {"times as fast": exposed_ms / new_exposed_ms},
            _("You compare the exposed times. The computing of a step stays, so the step gains much less."),
        ),
        Misconception(
            "computing forgotten",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "old hours": steps * exposed_ms / 3.6e6,
                "new hours": steps * new_exposed_ms / 3.6e6,
            },
            _("Your hours hold the exposed communication only. Each step also computes."),
        ),
        Misconception(
            "no communication is left",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "new hours": steps * compute_ms / 3.6e6,
                "times as fast": (compute_ms + exposed_ms) / compute_ms,
            },
            _("You take the new network for infinitely fast. A part still sticks out: it is among your numbers."),
        ),
        Misconception(
            "seconds for hours",
            lambda **numbers: {name: 3600 * new_network(**numbers)[name] for name in ("old hours", "new hours")},
            _("Those are seconds. An hour has 3,600 of them."),
        ),
        Misconception(
            "minutes for hours",
            lambda **numbers: {name: 60 * new_network(**numbers)[name] for name in ("old hours", "new hours")},
            _("Those are minutes. An hour has 60 of them."),
        ),
        Misconception(
            "hours saved",
            lambda **numbers: {"new hours": new_network(**numbers)["old hours"] - new_network(**numbers)["new hours"]},
            _("Those are the hours that are saved. How long the job takes now was asked for."),
        ),
        Misconception(
            "the share saved",
            lambda **numbers: {"times as fast": 1 - 1 / new_network(**numbers)["times as fast"]},
            _("That is the share of the time that is saved. How many times as fast is the old time over the new one."),
        ),
        Misconception(
            "upside down",
            lambda **numbers: {"times as fast": 1 / new_network(**numbers)["times as fast"]},
            _("You divide the new time by the old one. How many times as fast is the other way round."),
        ),
    ),
)
