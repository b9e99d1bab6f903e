"""Question 10.q6: a tray lost, and what goes on."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Listing, Number
from course_lib.grading.bank.ex10.rack import GPUS_PER_HOST, HOSTS, RACK, WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def after_loss(jobs: Sequence[dict[str, int]], lost_host: int) -> list[int]:
    """Return how many GPUs each job uses after a host of four is lost: whole units of the GPUs that it has left.

    >>> after_loss([{"first": 0, "gpus": 72, "unit": 64}], 3)
    [64]
    """
    return [(job["gpus"] - _hit(job, lost_host)) // job["unit"] * job["unit"] for job in jobs]


def _hit(job: dict[str, int], host: int, per_host: int = GPUS_PER_HOST) -> int:
    """GPUs of a job that sit in a host."""
    low, high = max(job["first"], host * per_host), min(job["first"] + job["gpus"], (host + 1) * per_host)
    return max(0, high - low)


def _each(rule: Callable[[dict[str, int], int], int]) -> Callable[..., list[int]]:
    return lambda jobs, lost_host: [rule(job, lost_host) for job in jobs]


def _in_place(job: dict[str, int], host: int) -> int:
    units = range(job["first"], job["first"] + job["gpus"] - job["unit"] + 1, job["unit"])
    return sum(job["unit"] for start in units if not _hit({**job, "first": start, "gpus": job["unit"]}, host))


def _job(first: int, gpus: int, unit: int) -> dict[str, int]:
    return {"first": first, "gpus": gpus, "unit": unit}


def _loss_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ([_job(0, 72, 72)], 5),
        ([_job(0, 72, 64)], 5),
        ([_job(0, 32, 32), _job(32, 32, 8), _job(64, 8, 2)], 9),
        ([_job(0, 36, 6), _job(36, 36, 12)], 1),
        ([_job(0, 30, 8), _job(30, 42, 6)], 7),
        ([_job(0, 16, 16)], 17),
        ([_job(0, 20, 8), _job(20, 52, 4)], 12),
    ]
    for _i in range(6):
        cut = int(rng.integers(8, 64))
        units = [int(u) for u in rng.choice([1, 2, 4, 6, 8], 2)]
        jobs = [_job(0, cut, min(units[0], cut)), _job(cut, RACK - cut, min(units[1], RACK - cut))]
        rows.append((jobs, int(rng.integers(0, HOSTS))))
    return [Case({"jobs": jobs, "lost_host": host}) for jobs, host in rows]


q6 = Question(
    id="10.q6",
    title=_("A tray is lost: which jobs shrink"),
    points=2,
    answer="after_loss",
    kind="function",
    expects=Listing(Number(_("GPUs"), whole=True)),
    inputs=_loss_cases,
    reference=after_loss,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the whole rack stops",
            _each(lambda job, host: 0),
            _("You stop every job of the rack. One host of eighteen is gone; the others go on."),
        ),
        Misconception(
            "a job that was hit is over",
            _each(lambda job, host: 0 if _hit(job, host) else job["gpus"] // job["unit"] * job["unit"]),
            _("You end every job that lost GPUs. It restarts on those that it still has, in whole units."),
        ),
        Misconception(
            "units forgotten",
            _each(lambda job, host: job["gpus"] - _hit(job, host)),
            _("You count GPUs. A job restarts in whole units; what is left over stands idle."),
        ),
        Misconception(
            "every job loses four",
            _each(lambda job, host: max(0, job["gpus"] - GPUS_PER_HOST) // job["unit"] * job["unit"]),
            _("You take four GPUs from every job. Only jobs with GPUs in the lost tray lose any, and only those."),
        ),
        Misconception(
            "eight to a tray",
            _each(lambda job, host: (job["gpus"] - _hit(job, host // 2, 8)) // job["unit"] * job["unit"]),
            _("You lose eight GPUs. A tray has four."),
        ),
        Misconception(
            "units stay where they were",
            _each(_in_place),
            _(
                "You drop every unit that the tray touched. Any two GPUs of the domain reach each other alike, so what is "
                "left can form new units."
            ),
        ),
        Misconception(
            "nothing lost",
            _each(lambda job, host: job["gpus"] // job["unit"] * job["unit"]),
            _("You let every job keep its units. Four GPUs are gone, and a job that had some of them has fewer."),
        ),
        Misconception(
            "whole jobs where nothing is lost",
            _each(
                lambda job, host: (
                    (job["gpus"] - _hit(job, host)) // job["unit"] * job["unit"] if _hit(job, host) else job["gpus"]
                )
            ),
            _("You count all GPUs of a job that lost nothing. It runs in whole units, before and after."),
        ),
        Misconception(
            "units counted",
            _each(lambda job, host: (job["gpus"] - _hit(job, host)) // job["unit"]),
            _("You count units. The question is how many GPUs they are."),
        ),
        Misconception(
            "rounded up",
            _each(lambda job, host: -(-(job["gpus"] - _hit(job, host)) // job["unit"]) * job["unit"]),
            _("You round units up. A unit without all of its GPUs cannot run."),
        ),
        Misconception(
            "hosts counted from one",
            _each(lambda job, host: (job["gpus"] - _hit(job, host - 1)) // job["unit"] * job["unit"]),
            _("You count hosts from 1. Host 0 has the GPUs 0 to 3."),
        ),
        Misconception(
            "hosts dealt out",
            _each(
                lambda job, host: (
                    sum(gpu % HOSTS != host for gpu in range(job["first"], job["first"] + job["gpus"]))
                    // job["unit"]
                    * job["unit"]
                )
            ),
            _("You take every eighteenth GPU for the lost host. A host has four neighbours."),
        ),
        Misconception(
            "one GPU lost",
            _each(lambda job, host: (job["gpus"] - (_hit(job, host) > 0)) // job["unit"] * job["unit"]),
            _("You take one GPU from a job that was hit. The lost host has four."),
        ),
        Misconception(
            "one unit",
            _each(lambda job, host: job["unit"] if job["gpus"] - _hit(job, host) >= job["unit"] else 0),
            _("You leave each job one unit. It restarts in as many whole units as its GPUs give."),
        ),
    ),
)
