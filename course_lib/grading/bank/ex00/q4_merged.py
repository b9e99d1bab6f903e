"""Question 00.q4: a merged figure that is 7.4 % off, for the powers of two in it."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, GiB
from course_lib.grading.answers import Number
from course_lib.grading.question import Misconception, Question


def _ben(rng: np.random.Generator) -> dict[str, float]:
    moved_GiB = int(rng.integers(4, 33))
    rate_GBps = float(rng.uniform(20, 55))
    return {"moved_GiB": moved_GiB, "time_s": round(moved_GiB * GiB / (rate_GBps * GB), 4)}


q4 = Question(
    id="00.q4",
    title=_("A merged figure that is 7.4 % off"),
    points=1,
    answer="ben_GBps",
    expects=Number("GB/s"),
    parameters=_ben,
    reference=lambda moved_GiB, time_s: moved_GiB * GiB / time_s / GB,
    misconceptions=(
        Misconception(
            "GiB for GB",
            lambda moved_GiB, time_s: moved_GiB / time_s,
            lambda moved_GiB, time_s: _(
                "{rate} is in GiB/s. A GiB is 1.0737 GB, so in GB/s the number is larger: these are the 7.4 % in the figure."
            ).format(rate=f"{moved_GiB / time_s:.1f}"),
        ),
        Misconception(
            "the wrong way round",
            lambda moved_GiB, time_s: moved_GiB / (GiB / GB) / time_s,
            _("You divided where you have to multiply: a GiB is the larger unit, so the number of GB is larger."),
        ),
        Misconception(
            "1024 once",
            lambda moved_GiB, time_s: moved_GiB * 1.024 / time_s,
            _("A GiB is 1024 × 1024 × 1024 bytes: the 2.4 % come three times, 7.4 % in all."),
        ),
    ),
)
