"""Measured beside predicted: every algorithm from the others' constants, and a race of two of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.units import say_bytes, say_rate, say_share, say_time
from course_lib.links.calibrate import Fit, fit
from course_lib.machine.measuring.record import Measurement
from course_lib.machine.measuring.sharedcores import Cores, fit_cores, off, order, predict_s


@dataclass(frozen=True, slots=True)
class Compared:
    """One algorithm: its own straight line, the model fitted to all algorithms, and the model fitted to the others only.

    Arrays have one entry per size. `others_s` is None where there is no other algorithm to fit. `off` are medians of
    |model ÷ measured − 1|.
    """

    algorithm: str
    message_B: NDArray[np.float64]
    time_s: NDArray[np.float64]
    line: Fit
    model_s: NDArray[np.float64]
    others_s: NDArray[np.float64] | None
    line_off: float
    model_off: float
    others_off: float | None


@dataclass(frozen=True, slots=True)
class Race:
    """Two algorithms over the sizes: who is faster, measured and predicted (−1 the first, 1 the second, 0 within 5 %).

    The prediction's constants were fitted without the second one. A crossing is None where the order does not change.
    `agreed` of `decided` sizes with a measured winner have the same predicted winner.
    """

    first: str
    second: str
    fitted_to: tuple[str, ...]
    measured: dict[float, int]
    predicted: dict[float, int]
    measured_crossing_B: float | None
    predicted_crossing_B: float | None
    agreed: int
    decided: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All algorithms of a measurement beside the model, and the race of two of them (None where only one was measured)."""

    model: Cores
    algorithms: tuple[Compared, ...]
    race: Race | None


def compare(measured: Measurement, race: tuple[str, str] | None = None) -> Comparison:
    """Lay a measurement beside the model of shared cores.

    Args:
        measured: from `measure`.
        race: two algorithms to compare; ring and tree, else the first two, unless given.

    Raises:
        CourseError: an algorithm that was not measured, too few sizes, or times that do not grow with the size.
    """
    usable = [name for name in measured.algorithms if measured.columns(name)[0].size >= 2]
    if not usable:
        raise CourseError(_("No algorithm has two right sizes; there is nothing to fit."))
    columns = {name: (measured.schedules[name], *measured.columns(name)) for name in usable}
    model = fit_cores(list(columns.values()), measured.cores)
    rows = []
    for name, (schedule, sizes, times) in columns.items():
        line = fit(sizes, times)
        model_s, others_s = predict_s(schedule, model, sizes), None
        if len(usable) > 1:
            others_s = predict_s(schedule, _without(columns, name, measured.cores), sizes)
        others_off = None if others_s is None else off(times, others_s)
        line_s = times / (1 + line.residual)
        rows.append(
            Compared(name, sizes, times, line, model_s, others_s, off(times, line_s), off(times, model_s), others_off)
        )
    return Comparison(model, tuple(rows), _race(columns, measured.cores, race))


def _without(columns: dict, name: str, cores: int) -> Cores:
    return fit_cores([row for other, row in columns.items() if other != name], cores)


def _race(columns: dict, cores: int, names: tuple[str, str] | None) -> Race | None:
    if len(columns) < 2:
        return None
    usual = ("ring", "tree") if {"ring", "tree"} <= set(columns) else tuple(columns)[:2]
    first, second = (one_of(_("measured algorithm"), name, columns) for name in (names or usual))
    model = _without(columns, second, cores)
    measured = [dict(zip(*columns[name][1:], strict=True)) for name in (first, second)]
    sizes = np.array(sorted(set(measured[0]) & set(measured[1])))
    if not sizes.size:
        return None
    predicted = [dict(zip(sizes, predict_s(columns[name][0], model, sizes), strict=True)) for name in (first, second)]
    fine = np.geomspace(sizes[0], sizes[-1], 400)
    wins = [order(*measured), order(*predicted)]
    decided = [size for size in sizes if wins[0][size]]
    ratio = predict_s(columns[first][0], model, fine) / predict_s(columns[second][0], model, fine)
    seen = np.array([measured[0][size] / measured[1][size] for size in sizes])
    return Race(
        first,
        second,
        tuple(name for name in columns if name != second),
        *wins,
        _crossing(sizes, seen),
        _crossing(fine, ratio),
        sum(wins[0][size] == wins[1][size] for size in decided),
        len(decided),
    )


def _crossing(sizes: NDArray, ratio: NDArray) -> float | None:
    """The size that splits the sizes best into one winner below and the other above; None where one wins (nearly) all."""
    height = np.log(ratio)
    before = np.concatenate([[0.0], np.cumsum(height)])
    gain = np.abs(2 * before - before[-1])  # |sum below − sum above| of every cut
    cut = int(np.argmax(gain))
    if cut in (0, sizes.size) or np.sign(height[:cut].sum()) == np.sign(height[cut:].sum()):
        return None
    return float(np.sqrt(sizes[cut - 1] * sizes[cut]))


def in_words(measured: Measurement, found: Comparison) -> list[str]:
    """Return sentences about a comparison: what was fitted to what, how far off it is, who is faster where."""
    lines = []
    for row in found.algorithms:
        text = _("{name}: α {a}, β {b}; this line is off by {line} (median)")
        text = text.format(
            name=row.algorithm,
            a=say_time(row.line.latency_s),
            b=say_rate(row.line.bandwidth_Bps),
            line=say_share(row.line_off),
        )
        if row.others_off is not None:
            text += _(", a prediction from the other algorithms by {others}").format(others=say_share(row.others_off))
        lines.append(text + ".")
    m = found.model
    lines.append(
        _(
            "One model for all of them, {cores} cores shared by {n} ranks: {repeat} a round, {message} a message "
            "({large} more above {limit}), {rate} received."
        ).format(
            cores=m.cores,
            n=measured.n_ranks,
            repeat=say_time(m.repeat_s),
            message=say_time(m.message_s),
            large=say_time(m.large_s),
            limit=say_bytes(m.threshold_B),
            rate=say_rate(m.bandwidth_Bps),
        )
    )
    if found.race is not None:
        lines.append(race_in_words(found.race))
    return lines


def race_in_words(race: Race) -> str:
    """Return one sentence: who is faster where, measured and predicted without the second one's times."""
    said = lambda size: _("at no size") if size is None else _("near {size}").format(size=say_bytes(size))  # noqa: E731
    return _(
        "{first} and {second} change places {measured}; predicted from {others}: {predicted}. "
        "Of {decided} sizes with a clear winner the model names {agreed}."
    ).format(
        first=race.first,
        second=race.second,
        measured=said(race.measured_crossing_B),
        predicted=said(race.predicted_crossing_B),
        others=", ".join(race.fitted_to),
        decided=race.decided,
        agreed=race.agreed,
    )
