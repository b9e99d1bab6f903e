"""Question A.q3: ranks that never joined."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.exa.logs import CAUSES, VERDICTS
from course_lib.grading.question import Misconception, Question
from course_lib.machine.writelog import nccl_tests


def _never_joined(rng: np.random.Generator) -> dict:
    n = int(2 ** rng.integers(1, 4))
    sizes = 2.0 ** np.arange(20, 26)
    times = (8e-6 + sizes * 2 / rng.uniform(1.0e12, 1.6e12)) * np.exp(rng.normal(0, 0.2, sizes.size))
    return {"log": nccl_tests("all_reduce", sizes, times, n, "NVIDIA H100 80GB HBM3", alone=True), "started": n}


def _alone(log: str, started: int) -> dict:
    return {
        "ranks_in_a_job": 1,
        "jobs": started,
        "busbw_GBps": None,
        "verdict": "cannot tell",
        "cause": "ranks never joined",
    }


q3 = Question(
    id="A.q3",
    title=_("A run that is too fast"),
    points=3,
    answer="too_fast",
    expects=Entries(
        {
            "ranks_in_a_job": Number(whole=True),
            "jobs": Number(whole=True),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_never_joined,
    reference=lambda log, started: {k: v for k, v in _alone(log, started).items() if k != "busbw_GBps"},
    misconceptions=(
        Misconception(
            "one job of all ranks",
            lambda log, started: {
                "ranks_in_a_job": started,
                "jobs": 1,
                "verdict": "cannot tell",
                "cause": "ranks never joined",
            },
            _(
                "You count one job with all processes in it. Look at the list of devices: which rank does each line name?"
            ),
        ),
        Misconception(
            "healthy because fast",
            lambda log, started: {"ranks_in_a_job": 1, "jobs": started, "verdict": "healthy", "cause": "none"},
            _(
                "You call it healthy because the times are short. They are times of a copy inside one GPU; nothing crossed a link."
            ),
        ),
        Misconception(
            "a slow network",
            lambda log, started: {"cause": "the network"},
            _(
                "You read the bus bandwidth of 0.00 as a slow network. It is zero because (n − 1)/n is zero for one rank."
            ),
        ),
        Misconception(
            "a finding about the launcher",
            lambda log, started: {"verdict": "finding"},
            _("That the ranks never joined is the cause. Of the machine's speed the log says nothing, good or bad."),
        ),
        Misconception(
            "a short sweep",
            lambda log, started: {
                "ranks_in_a_job": 1,
                "jobs": started,
                "verdict": "cannot tell",
                "cause": "the sweep is too short",
            },
            _("Larger messages would not help here. Each size stands there several times: who printed it?"),
        ),
    ),
)
