"""Records of a measurement: points with their rounds, what they ran on, and plain data to keep them in."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.meaning import canonical_op
from course_lib.comm.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Point:
    """One algorithm at one message size: the time of every round, and how many elements were wrong on the worst rank.

    A round is several runs in a row, its time their median. `time_s` is the lower quartile of the rounds: what the computer's
    other work disturbs little, without being the luckiest round. Median and quartiles show how much it did disturb.
    """

    algorithm: str
    message_B: float
    rounds_s: tuple[float, ...]
    wrong: int | None

    @property
    def time_s(self) -> float:
        """The lower quartile of the rounds: the time that is fitted and compared."""
        return self.quartiles_s[0]

    @property
    def median_s(self) -> float:
        """The median of the rounds."""
        return float(np.median(self.rounds_s))

    @property
    def quartiles_s(self) -> tuple[float, float]:
        """The lower and the upper quartile of the rounds."""
        low, high = np.quantile(self.rounds_s, [0.25, 0.75])
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured, on what, and whether all that was asked for was reached.

    `machine` says in words what it ran on (processor, cores, Python, libraries). `missing` are (algorithm, message_B) that
    the time did not reach. `schedules` are what really ran, by algorithm.
    """

    op: str
    n_ranks: int
    backend: str
    points: tuple[Point, ...]
    missing: tuple[tuple[str, float], ...]
    rounds: int
    machine: dict[str, str | int]
    schedules: dict[str, Schedule] = field(repr=False)

    @property
    def algorithms(self) -> list[str]:
        """Names in the order asked for."""
        return list(dict.fromkeys(p.algorithm for p in self.points))

    @property
    def wrong(self) -> list[Point]:
        """Points whose result was not what the collective promises."""
        return [p for p in self.points if p.wrong]

    @property
    def disturbed(self) -> float:
        """Upper over lower quartile of the rounds, the median over the points: 1 on a quiet computer."""
        return float(np.median([p.quartiles_s[1] / p.quartiles_s[0] for p in self.points]))

    @property
    def cores(self) -> int:
        """Processor cores that the ranks share; GPUs have one worker each."""
        return self.n_ranks if self.backend == "torch-nccl" else int(self.machine.get("cores", 1))

    def columns(self, algorithm: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (message_B, time_s) of one algorithm's right points, small to large."""
        name = one_of(_("measured algorithm"), algorithm, self.algorithms)
        mine = sorted((p.message_B, p.time_s) for p in self.points if p.algorithm == name and not p.wrong)
        sizes, times = zip(*mine, strict=True) if mine else ((), ())
        return np.array(sizes), np.array(times)


def as_data(measured: Measurement) -> dict:
    """Return a measurement as plain data for JSON, schedules and all; `from_data` reads it back."""
    return {
        "op": measured.op,
        "n_ranks": measured.n_ranks,
        "backend": measured.backend,
        "rounds": measured.rounds,
        "machine": measured.machine,
        "points": [
            {
                "algorithm": p.algorithm,
                "message_B": p.message_B,
                "rounds_s": list(p.rounds_s),
                "wrong": p.wrong,
            }
            for p in measured.points
        ],
        "missing": [list(pair) for pair in measured.missing],
        "schedules": {name: schedule.to_arrays() for name, schedule in measured.schedules.items()},
    }


def from_data(data: dict) -> Measurement:
    """Read a measurement back from `as_data`; anything unexpected is a CourseError.

    >>> from_data({"op": "all_reduce"})
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: This is no measurement of `interconnect measure`: it has no 'points'.
    """
    keys = ("points", "op", "n_ranks", "backend", "missing", "rounds", "machine", "schedules")
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            raise CourseError(_("This is no measurement of `interconnect measure`: it has no {key!r}.").format(key=key))
    try:
        points = tuple(
            Point(
                str(p["algorithm"]),
                float(p["message_B"]),
                tuple(map(float, p["rounds_s"])),
                p["wrong"],
            )
            for p in data["points"]
        )
        missing = tuple((str(name), float(size)) for name, size in data["missing"])
        schedules = {str(name): Schedule.from_arrays(s) for name, s in data["schedules"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, CourseError):
            raise
        raise CourseError(_("This measurement is damaged: {error}.").format(error=error)) from None
    for point in points:
        finite("rounds_s", point.rounds_s or (None,), above=0, unit="s")
    return Measurement(
        canonical_op(data["op"]), whole("n_ranks", data["n_ranks"], at_least=2), str(data["backend"]), points, missing,
        whole("rounds", data["rounds"], at_least=0), dict(data["machine"]), schedules,
    )  # fmt: skip


def without(measured: Measurement, *names: str) -> Measurement:
    """Return the measurement without some algorithms: what a model may look at before it is asked about them."""
    gone = {one_of(_("measured algorithm"), name, measured.algorithms) for name in names}
    return replace(measured, points=tuple(p for p in measured.points if p.algorithm not in gone))
