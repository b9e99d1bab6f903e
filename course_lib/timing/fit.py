"""The fit: `python -m course_lib.timing.fit` finds the constants of every family from the sweeps and writes them.

For each family the sum of |ln(law / measured)| over its sweeps is made small, every system counting the same however many
sizes it has, plus a pull towards the starting values (`constants.py`): a constant that one system measured moves less than
one that five did. Scale-up families come first, network families then, each with the scale-up constants held. Done twice:
on the training part (for the judgement) and on all sweeps (for use).
"""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from course_lib.timing import constants
from course_lib.timing.laws import best_time_s, laws
from course_lib.timing.sweeps import Sweep, part, sweeps

SYSTEM_WEIGHT = 20.0  # what one system weighs against the pull to the start
PULL = 0.7  # all spreads are multiplied by this; chosen by leaving systems out of the training part
SMALL = 0.02  # below this a residual counts as its square


def least_absolute(f: Callable, start: np.ndarray, target, weight, spread, most=np.inf, rounds: int = 60) -> np.ndarray:
    """Return p near `start`, nowhere above `most`, that minimises Σ weight·|target − f(p)| + ½ Σ ((p − start)/spread)².

    Reweighted least squares with damped steps; f maps (k,) to (n,). Stops when nothing improves. What would rise above
    its bound is held there while the others move.

    >>> x = np.arange(5.0)
    >>> p = least_absolute(lambda p: p[0] * x, np.array([1.0]), np.array([0, 2, 4, 6, 80.0]), np.ones(5), np.array([1e3]))
    >>> round(float(p[0]), 2)
    2.0
    """

    def cost(p):
        return np.sum(weight * np.abs(target - f(p))) + 0.5 * np.sum(((p - start) / spread) ** 2)

    most = np.broadcast_to(most, start.shape)
    p, damping, best = np.minimum(start, most), 1e-2, cost(start)
    for _round in range(rounds):
        at = f(p)
        residual = target - at
        slopes = np.empty((len(target), len(p)))
        for j in range(len(p)):
            moved = p.copy()
            moved[j] += 1e-4
            slopes[:, j] = (f(moved) - at) / 1e-4
        w = weight / np.maximum(np.abs(residual), SMALL)
        left = slopes.T @ (w[:, None] * slopes) + np.diag(1 / spread**2)
        right = slopes.T @ (w * residual) - (p - start) / spread**2
        free = np.flatnonzero((p < most) | (right < 0))
        for _try in range(8):
            damped = left + damping * np.diag(np.diag(left))
            step = np.zeros(len(p))
            step[free] = np.clip(np.linalg.solve(damped[np.ix_(free, free)], right[free]), -1, 1)
            moved = np.minimum(p + step, most)
            new = cost(moved)
            if new < best - 1e-9:
                break
            damping *= 5
        else:
            return p
        p, gain, best = moved, best - new, new
        damping = max(damping / 4, 1e-6)
        if gain < 1e-6 * best:
            return p
    return p


def fit_family(kind: str, family: str, chosen: Sequence[Sweep], up_of: Callable[[Sweep], dict]) -> dict[str, float]:
    """Return the constants of one family, fitted to `chosen`; `up_of` gives a sweep's scale-up constants (kind "net").

    >>> one = [s for s in sweeps() if s.family == "efa2"]
    >>> c = fit_family("net", "efa2", one, lambda s: constants.load("up", s.system.scale_up.family))
    >>> 0.8 < c["net_eff"] < 1.1
    True
    """
    described = constants.described(kind, family)
    names = list(described)
    sizes = Counter(sweep.measured_on for sweep in chosen)
    target = np.log(np.concatenate([sweep.time_s for sweep in chosen]))
    weight = np.concatenate(
        [np.full(len(s.time_s), SYSTEM_WEIGHT / sizes[s.measured_on] / max(len(s.time_s), 10)) for s in chosen]
    )

    def predicted(p):
        c = dict(zip(names, np.exp(p), strict=True))
        times = []
        for s in chosen:
            up, net = (c, None) if kind == "up" else (up_of(s), c)
            times.append(best_time_s(laws(s.op, s.system, s.n_ranks, s.n_hosts, up, net), s.message_B))
        return np.log(np.concatenate(times))

    start = np.log([described[name].start for name in names])
    spread = PULL * np.array([described[name].spread for name in names])
    most = np.log([described[name].most for name in names])
    found = np.exp(least_absolute(predicted, start, target, weight, spread, most))
    return dict(zip(names, found.tolist(), strict=True))


def fit(chosen: Sequence[Sweep], only: set[str] | None = None, known: dict | None = None) -> dict:
    """Return {(kind, family): constants} from sweeps; with `only`, refit these families and keep the rest of `known`.

    >>> few = [s for s in sweeps() if s.family == "xgmi-mesh"]
    >>> list(fit(few))
    [('up', 'xgmi-mesh')]
    """
    found = dict(known or {})
    for kind in ("up", "net"):
        mine = [s for s in chosen if s.inside == (kind == "up")]
        for family in sorted({s.family for s in mine}):
            if only is None or family in only:

                def up_of(s):
                    key = ("up", s.system.scale_up.family)
                    return found.get(key) or {c.name: c.start for c in constants.described(*key).values()}

                found[kind, family] = fit_family(kind, family, [s for s in mine if s.family == family], up_of)
    return found


def write(path=constants.PATH, chosen: Sequence[Sweep] | None = None) -> None:
    """Fit both columns and write the table of constants.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/constants.csv", [s for s in sweeps() if s.family == "xgmi-mesh"])
    """
    usable = [s for s in (sweeps() if chosen is None else chosen) if not s.flag]
    training = [s for s in usable if part(s) == "training"]
    shipped, trained = fit(usable), fit(training)
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["kind", "family", "name", *constants.COLUMNS, "start", "spread", "systems", "sweeps", "meaning"])
        for (kind, family), values in shipped.items():
            mine = [s for s in usable if s.inside == (kind == "up") and s.family == family]
            for name, c in constants.described(kind, family).items():
                seen = trained.get((kind, family), {}).get(name, c.start)
                row = [f"{values[name]:.4g}", f"{seen:.4g}", f"{c.start:.4g}", c.spread]
                out.writerow([kind, family, name, *row, len({s.measured_on for s in mine}), len(mine), c.meaning])


if __name__ == "__main__":
    write()
    sys.stdout.write(f"{constants.PATH.name}: written\n")
