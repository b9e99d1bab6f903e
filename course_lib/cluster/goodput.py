"""What is left of the time: useful share with checkpoints, failures, restarts and spares, exactly and by simulation."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, together, whole
from course_lib.base.language import _
from course_lib.cluster.checkpoints import best_s
from course_lib.cluster.inrange import finite, single

MOST_LIVES = 5_000_000


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the time goes; the four shares add up to 1. Numbers, or arrays of the common shape of the arguments.

    `useful` trains and is kept, `saving` stands still (or slows) for checkpoints, `redone` trains what a failure takes
    away, `restarting` finds the fault, replaces the host and loads the checkpoint.
    """

    useful: float | NDArray
    saving: float | NDArray
    redone: float | NDArray
    restarting: float | NDArray


def useful(
    between_s: ArrayLike,
    interval_s: ArrayLike,
    save_s: ArrayLike,
    restart_s: ArrayLike,
    *,
    late_s: ArrayLike = 0.0,
    slowed: ArrayLike = 0.0,
) -> Shares:
    """Return where the time of a job goes that stops at every failure and goes on from its last checkpoint.

    Args:
        between_s: mean seconds between failures of the whole job.
        interval_s: seconds of training between two checkpoints.
        save_s: seconds training stands still for one.
        restart_s: seconds from a failure to training again: detection, a new host, loading. It may fail as well.
        late_s: seconds after the standstill until the copy counts (asynchronous saving); at most interval_s is sensible.
        slowed: share of speed lost while a copy flows out.

    Returns:
        `Shares`; the arguments broadcast.

    Raises:
        CourseError: negative times, no interval, shapes that do not go together.

    Exact for failures at any time alike: useful = τ e^(−d/M) / (M e^(R/M) (e^(T/M) − 1)) with period T = τ + δ + slowed·d.
    For d = 0 this is Daly's expected run time (FGCS 22, 2006), turned round.

    >>> s = useful(3.09 * 3600, 817.0, 30.0, 600.0)
    >>> round(s.useful, 3), round(s.useful + s.saving + s.redone + s.restarting, 12)
    (0.88, 1.0)
    """
    m = finite("between_s", between_s, above=0, unit="s")
    tau = finite("interval_s", interval_s, above=0, unit="s")
    stall = finite("save_s", save_s, at_least=0, unit="s")
    restart = finite("restart_s", restart_s, at_least=0, unit="s")
    late = finite("late_s", late_s, at_least=0, unit="s")
    slow = finite("slowed", slowed, at_least=0)
    together(between_s=m, interval_s=tau, save_s=stall, restart_s=restart, late_s=late, slowed=slow)
    m, tau, stall, restart, late, slow = np.broadcast_arrays(m, tau, stall, restart, late, slow)
    period = tau + stall + slow * late
    x = np.minimum(period / m, 700.0)  # e^700: nothing is ever kept
    kept = np.exp(-late / m) * (tau / m) / np.expm1(x)  # of the time between restart and failure
    running = np.exp(-restart / m)
    good = kept * running
    saving = good * (period - tau) / tau
    parts = good, saving, running - good - saving, 1 - running
    return Shares(*(float(p) if p.ndim == 0 else p for p in parts))


def best(between_s: ArrayLike, save_s: ArrayLike, restart_s: ArrayLike) -> Shares:
    """Return `useful` at the best interval for these times; broadcasts.

    >>> round(best(3.09 * 3600, 3.0, 600.0).useful, 3)
    0.926
    """
    return useful(between_s, best_s(save_s, between_s), save_s, restart_s)


def longest_restart_s(between_s: float, save_s: float, target: float) -> float:
    """Return the longest restart in seconds with which the useful share still reaches `target`, at the best interval; 0 if none does.

    >>> round(longest_restart_s(3.09 * 3600, 3.0, 0.9) / 60, 1)
    15.2
    """
    target = single("target", target, above=0)
    between = single("between_s", between_s, above=0, unit="s")
    kept = best(between, single("save_s", save_s, above=0, unit="s"), 0.0).useful
    return 0.0 if kept <= target else between * math.log(kept / target)


def simulate(
    between_s: float,
    interval_s: float,
    save_s: float,
    restart_s: float,
    *,
    late_s: float = 0.0,
    span_s: float = 54 * 86_400.0,
    n_runs: int = 200,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the useful share of each of `n_runs` simulated jobs over `span_s` seconds: failures drawn one by one.

    Nothing of the closed form is used: lives are drawn, whole periods that end `late_s` before a failure are kept, and a
    failure during a restart begins it anew. Raises CourseError for more than 5 million failures.

    >>> shares = simulate(3.09 * 3600, 817.0, 30.0, 600.0)
    >>> bool(abs(shares.mean() - useful(3.09 * 3600, 817.0, 30.0, 600.0).useful) < 0.003)
    True
    """
    m, tau = single("between_s", between_s, above=0, unit="s"), single("interval_s", interval_s, above=0, unit="s")
    stall, restart = (
        finite("save_s", save_s, at_least=0, unit="s"),
        finite("restart_s", restart_s, at_least=0, unit="s"),
    )
    late, span = single("late_s", late_s, at_least=0, unit="s"), single("span_s", span_s, above=0, unit="s")
    runs = whole("n_runs", n_runs, at_least=1)
    lives = int(span / m + 8 * math.sqrt(span / m) + 10)
    if lives * runs > MOST_LIVES:
        text = _("{n} failures are too many to draw; take a shorter span or fewer runs.")
        raise CourseError(text.format(n=lives * runs))
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    gap = rng.exponential(m, (runs, lives))  # from one failure to the next, restarts included
    begun = np.cumsum(gap, 1) - gap
    gap = np.clip(span - begun, 0, gap)  # the last one is cut by the end of the span
    ended = begun + gap >= span
    down = np.where(begun > 0, restart, 0.0)  # every gap but the first begins with a restart
    alive = np.maximum(gap - down, 0.0)
    kept = np.floor(np.maximum(alive - late, 0.0) / (tau + stall)) * tau
    # At the end of the span nothing fails: all that was trained counts.
    whole_periods, rest = np.divmod(alive, tau + stall)
    kept = np.where(ended, whole_periods * tau + np.minimum(rest, tau), kept)
    return kept.sum(1) / span


def waiting(between_s: ArrayLike, repair_s: ArrayLike, spares: int):
    """Return the share of the time that a job stands still because no spare host is left.

    Args:
        between_s: mean seconds between failures while the job runs.
        repair_s: mean seconds until a failed host is back.
        spares: hosts in the pool; the first two broadcast.

    A job that waits does not fail, so the hosts away are a queue that ends at spares + 1: the share is Erlang's loss
    formula for a load of repair_s / between_s and spares + 1 places, exact whatever the distribution of repair times.

    >>> [round(waiting(3.09 * 3600, 86_400.0, s), 2) for s in (0, 4, 8, 16)]
    [0.89, 0.47, 0.16, 0.0]
    """
    m, repair = finite("between_s", between_s, above=0, unit="s"), finite("repair_s", repair_s, at_least=0, unit="s")
    together(between_s=m, repair_s=repair)
    load = np.minimum(np.asarray(repair / m, float), 1e30)
    blocked = np.ones_like(load)
    for places in range(1, whole("spares", spares, at_least=0, at_most=100_000) + 2):
        blocked = load * blocked / (places + load * blocked)
    return float(blocked) if blocked.ndim == 0 else blocked
