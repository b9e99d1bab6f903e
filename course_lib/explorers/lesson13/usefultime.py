"""Lesson 13: where the time of a job goes, over the checkpoint interval and job by job."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.cluster import checkpoints, goodput
from course_lib.cluster.published import fleet, known
from course_lib.explorers.lesson13.job import MODEL, restart_s
from course_lib.figures import failing


def interval_picture(save_s: float, between: float):
    """Return the useful share over the checkpoint interval, with the rules of Young and Daly and the exact best marked.

    >>> interval_picture(33.0, 3.09 * 3600).layout.title.text.startswith("Exact")
    True
    """
    rules = {_("Young"): checkpoints.young_s, _("Exact"): checkpoints.best_s}
    marks = [(name, rule(save_s, between)) for name, rule in rules.items()]
    best = marks[-1][1]
    x = np.geomspace(best / 20, best * 20, 160)
    share = goodput.useful(between, x, save_s, restart_s()).useful
    shown = [(n, t, goodput.useful(between, t, save_s, restart_s()).useful) for n, t in marks]
    return failing.over_interval(x, share, shown)


@dataclass(frozen=True, slots=True)
class Job:
    """A job by name: time between failures, standstill for a checkpoint, what it waits until the copy counts, restart."""

    name: str
    between_s: float
    save_s: float
    late_s: float
    restart_s: float

    @property
    def shares(self) -> goodput.Shares:
        """Where its time goes, at the best interval."""
        if self.late_s:
            tau = checkpoints.background_s(self.save_s, self.late_s, self.between_s)
            return goodput.useful(self.between_s, tau, self.save_s, self.restart_s, late_s=self.late_s)
        return goodput.best(self.between_s, self.save_s, self.restart_s)


def write_s() -> float:
    """Return the seconds to write the largest checkpoint of the Llama 3 run at its storage's sustained rate.

    >>> round(write_s(), 1)
    32.8
    """
    return checkpoints.write_s(fleet(MODEL).gpus * known("checkpoint-most").value, known("storage").value)


def jobs() -> tuple[Job, ...]:
    """Return the four jobs of the lesson: saving while standing still, in the background, and the same on 100,000 GPUs.

    >>> [round(j.shares.useful, 2) for j in jobs()]
    [0.87, 0.93, 0.66, 0.86]
    """
    here, large = fleet(MODEL).between_s, fleet(MODEL).between_s * fleet(MODEL).gpus / 100_000
    return (
        Job(_("16,384 GPUs, standing still"), here, write_s(), 0.0, restart_s()),
        Job(_("16,384 GPUs, background"), here, 1.0, write_s(), restart_s()),
        Job(_("100,000 GPUs, background"), large, 1.0, write_s(), restart_s()),
        Job(_("100,000 GPUs, restart 3 min"), large, 1.0, write_s(), 180.0),
    )


def shares_picture():
    """Return where the time of the four jobs goes.

    >>> len(shares_picture().data)
    4
    """
    names, shares = [j.name for j in jobs()], [j.shares for j in jobs()]
    return failing.time_shares(
        names, *([getattr(s, part) for s in shares] for part in failing.PARTS), title=_shares_title(shares)
    )


def _shares_title(shares) -> str:
    return _("From 16,384 to 100,000 GPUs the time that stays falls from {a} to {b} %").format(
        a=say_number(100 * shares[1].useful, 2), b=say_number(100 * shares[2].useful, 2)
    )
