"""What measured collectives say: one model of processes that share cores, for all algorithms."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.comm.schedule import Schedule

THRESHOLDS_B = tuple(float(1 << k) for k in range(9, 19))  # where an MPI library may change its way: 512 B to 256 KiB


@dataclass(frozen=True, slots=True)
class Cores:
    """Constants of processes that pass messages on shared cores.

    A repeat of a schedule costs `repeat_s`, and its work: every message `message_s`, every message above `threshold_B`
    another `large_s` (the library's other way for large messages), and every byte received 1/`bandwidth_Bps` (copied and,
    in part, added). Work of different ranks goes on at once as far as there are `cores`.
    """

    repeat_s: float
    message_s: float
    large_s: float
    bandwidth_Bps: float
    threshold_B: float
    cores: int


def work(schedule: Schedule, cores: int) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return (repeats, message works by message size, byte work) of a schedule on shared cores.

    In each repeat the busiest rank's work counts, or all work over the cores, whichever is more. Messages are counted where
    they are received, by their size in chunks.

    Args:
        schedule: what moves.
        cores: processor cores that the ranks share.

    Returns:
        repeats: how many follow one another.
        messages: (k, 2) rows of (chunks in a message, works of such messages one after another).
        chunks: chunks received one after another, shape ().

    >>> from course_lib.comm import ring
    >>> work(ring.all_reduce(4), 2)  # 4 messages a repeat on 2 cores: 2 works
    (6.0, array([[ 1., 12.]]), array(12.))
    >>> work(ring.all_reduce(4), 4)[2]
    array(6.)
    """
    cores = whole("cores", cores, at_least=1)
    repeats, chunks, messages = 0.0, 0.0, {}
    n = schedule.n_nodes
    for step in schedule.steps:
        begins = np.unique(np.r_[0, step.first, step.first + step.count])
        for a, z in itertools.pairwise(begins):
            which = step.active(int(a))
            if not which.size:
                continue
            length, dst, width = float(z - a), step.dst[which], step.width[which]
            repeats += length
            by_rank = np.bincount(dst, weights=width, minlength=n)
            chunks += length * max(by_rank.max(), width.sum() / cores)
            for size in np.unique(width):
                mine = np.bincount(dst[width == size], minlength=n)
                count = max(float(mine.max()), mine.sum() / cores)
                messages[int(size)] = messages.get(int(size), 0.0) + length * count
    return repeats, np.array(sorted(messages.items()), float).reshape(-1, 2), np.array(chunks)


def _rows(done: tuple, unit_B: NDArray, threshold_B: float) -> NDArray:
    """Return the columns (repeats, messages, large messages, bytes), shape (sizes, 4), of a schedule's `work`."""
    repeats, messages, chunks = done
    large = (messages[:, 0] * unit_B[:, None] > threshold_B) @ messages[:, 1]
    rows = np.empty((unit_B.size, 4))
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = repeats, messages[:, 1].sum(), large, float(chunks) * unit_B
    return rows


def predict_s(schedule: Schedule, model: Cores, message_B: ArrayLike):
    """Return seconds for a message, or an array of messages, by the model of shared cores.

    >>> from course_lib.comm import ring
    >>> model = Cores(0.0, 5e-6, 0.0, 4e9, 8192.0, 2)
    >>> round(predict_s(ring.all_reduce(4), model, 1 << 20) * 1e6, 1)  # 12 messages of 5 µs, 3 MiB one after another
    846.4
    """
    given = finite("message_B", message_B, at_least=0, unit="B")
    rows = _rows(work(schedule, model.cores), np.ravel(schedule.chunk_B(given)), model.threshold_B)
    constants = np.array([model.repeat_s, model.message_s, model.large_s, 1 / model.bandwidth_Bps])
    seconds = rows @ constants
    return float(seconds[0]) if np.ndim(given) == 0 else seconds.reshape(np.shape(given))


def fit_cores(points: Sequence[tuple[Schedule, ArrayLike, ArrayLike]], cores: int) -> Cores:
    """Fit the model of shared cores to measured times; every point counts by its percentage error, no constant is negative.

    Args:
        points: (schedule, message_B (k,), time_s (k,)) of every algorithm that may be looked at.
        cores: processor cores that the ranks share.

    Raises:
        CourseError: fewer than four points, or times that do not grow with the size.

    Validity: one computer, ranks alike, messages that pass through its memory; not the caches' own steps. The threshold is
    looked for among powers of two; where all points lie on one side of it, large and small messages cost the same.

    >>> from course_lib.comm import ring, direct
    >>> true, sizes = Cores(1e-6, 5e-6, 2e-5, 4e9, 8192.0, 2), 2.0 ** np.arange(3, 25)
    >>> data = [(s, sizes, predict_s(s, true, sizes)) for s in (ring.all_reduce(4), direct.all_reduce(4))]
    >>> fitted = fit_cores(data, 2)
    >>> fitted.threshold_B, round(fitted.bandwidth_Bps / 1e9, 6)
    (8192.0, 4.0)
    """
    times = [np.ravel(finite("time_s", time_s, above=0, unit="s")) for _s, _m, time_s in points]
    if sum(t.size for t in times) < 4:
        raise CourseError(_("Fewer than four measured points; the model of shared cores needs four."))
    target = np.concatenate(times)
    best: tuple[float, NDArray, float] | None = None
    ready = [(work(s, cores), np.ravel(s.chunk_B(m))) for s, m, _t in points]
    for threshold_B in THRESHOLDS_B:
        rows = np.concatenate([_rows(done, unit_B, threshold_B) for done, unit_B in ready])
        solved, left = _least(rows / target[:, None])
        if solved[3] > 0 and (best is None or left < best[0] * (1 - 1e-9)):
            best = (left, solved, threshold_B)
    if best is None:
        raise CourseError(_("The times do not grow with the size; no bandwidth fits these points."))
    _left, solved, threshold_B = best
    repeat_s, message_s, large_s, second_per_B = (float(v) for v in solved)
    return Cores(repeat_s, message_s, large_s, 1 / second_per_B, threshold_B, cores)


def _least(rows: NDArray) -> tuple[NDArray, float]:
    """Weights ≥ 0 that bring rows · weights closest to 1, far points pulling less; and what is left."""
    pull = np.ones(len(rows))
    for _again in range(6):
        solved = _not_negative(rows * pull[:, None], pull)
        miss = np.abs(rows @ solved - 1)
        pull = 1 / np.sqrt(np.maximum(miss, 0.05))
    return solved, float(np.sum(np.minimum(miss, 2.0)))


def _not_negative(rows: NDArray, target: NDArray) -> NDArray:
    """Least squares without negative weights, by trying every set of columns (there are four)."""
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    scaled = rows / scale
    square, side = scaled.T @ scaled, scaled.T @ target
    best, least = np.zeros(rows.shape[1]), 0.0
    for size in range(1, rows.shape[1] + 1):
        for columns in map(list, itertools.combinations(range(rows.shape[1]), size)):
            inner = square[np.ix_(columns, columns)]
            if np.linalg.det(inner) <= 1e-10 * np.prod(np.diag(inner)):  # two columns say the same
                continue
            found = np.linalg.solve(inner, side[columns])
            left = float(found @ inner @ found - 2 * found @ side[columns])  # of the squares, but for a constant
            if (found >= 0).all() and left < least - 1e-12 * abs(least):
                best, least = np.zeros(rows.shape[1]), left
                best[columns] = found / scale[columns]
    return best


def off(measured_s: ArrayLike, model_s: ArrayLike) -> float:
    """Return the median of |model ÷ measured − 1|.

    >>> off([1.0, 2.0, 4.0], [1.1, 2.0, 2.0])
    0.10000000000000009
    """
    return float(np.median(np.abs(np.asarray(model_s) / np.asarray(measured_s) - 1)))


def order(a_s: Mapping[float, float], b_s: Mapping[float, float], margin: float = 0.05) -> dict[float, int]:
    """Return for every common size which of two is faster: −1 the first, 1 the second, 0 within `margin` of each other.

    >>> order({8: 1.0, 64: 3.0}, {8: 2.0, 64: 3.1})
    {8: -1, 64: 0}
    """
    found = {}
    for size in a_s:
        if size in b_s:
            ratio = a_s[size] / b_s[size]
            found[size] = 0 if abs(np.log(ratio)) < np.log1p(margin) else (-1 if ratio < 1 else 1)
    return found
