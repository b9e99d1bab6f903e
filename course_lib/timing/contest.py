"""Contest: every all-reduce algorithm on one machine, size by size; which is quickest, and where two change places."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.timing.closedform import Form
from course_lib.timing.ideal import algorithms
from course_lib.timing.system import System, load
from course_lib.timing.tuning import candidates, placed, predict

#: The rows of a contest, and the algorithms that may stand for each: the quickest one does, as a whole.
ROWS = {
    "ring": ("ring",),
    "tree": ("tree",),
    "halving-doubling": ("halving-doubling",),
    "direct": ("direct",),
    "hierarchical": ("hierarchical-ring",),
    "in the switch": ("in-network", "hierarchical-in-network+ring", "hierarchical-in-network+tree", "in-network tree")
    + ("sharp", "hierarchical-sharp", "hierarchical-in-network+sharp"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All-reduces of `message_B` (s,) on `n_ranks`: `time_s` and `busbw_Bps` (a, s) for the rows `names` (a,) that run here.

    `winner` (s,) is the place of the quickest among `taking_part`; `protocol` (a, s) is the one each would use.
    """

    system: System
    n_ranks: int
    n_hosts: int
    message_B: NDArray[np.float64]
    names: tuple[str, ...]
    time_s: NDArray[np.float64]
    busbw_Bps: NDArray[np.float64]
    protocol: NDArray[np.str_]
    taking_part: tuple[str, ...]
    winner: NDArray[np.int64]

    @property
    def runs(self) -> list[tuple[float, float, str]]:
        """Runs of sizes with one winner as (first size, last size, name), in order; neighbours meet half-way on a log axis."""
        edges = np.flatnonzero(np.diff(self.winner)) + 1
        first, last = np.concatenate([[0], edges]), np.concatenate([edges, [self.winner.size]]) - 1
        meet = np.sqrt(self.message_B[edges - 1] * self.message_B[edges]) if edges.size else np.zeros(0)
        low, high = np.concatenate([self.message_B[:1], meet]), np.concatenate([meet, self.message_B[-1:]])
        return (
            [(float(a), float(b), self.names[int(self.winner[i])]) for a, b, i in zip(low, high, first, strict=True)]
            if last.size
            else []
        )


def contest(
    system: "str | System",
    n_ranks: int,
    message_B: ArrayLike,
    *,
    library_only: bool = False,
    ideal: bool = False,
    column: str = "shipped",
) -> Contest:
    """Price an all-reduce with every algorithm that runs on a system.

    Args:
        system: a name, an alias, a TOML file or a System.
        n_ranks: ranks, two or more, on as few hosts as hold them.
        message_B: sizes above zero, (s,).
        library_only: only what a GPU library weighs on these ranks takes part; the others are priced, but cannot win.
        ideal: the wires alone, no fitted constants.
        column: which fitted constants, as in `predict`.

    Raises:
        CourseError: names and ranks as in `predict`, or sizes that are not a row of numbers above zero.

    Validity: that of `predict`; algorithms that a library lacks are counted on their schedule with the family's constants.

    >>> one = contest("dgx-h100", 8, [2**10, 2**30])
    >>> one.names, [one.names[i] for i in one.winner]
    (('ring', 'tree', 'halving-doubling', 'direct', 'in the switch'), ['direct', 'in the switch'])
    >>> contest("dgx-h100", 8, [2**10], library_only=True).taking_part
    ('ring', 'in the switch')
    """
    sizes = np.atleast_1d(np.asarray(finite("message_B", np.asarray(message_B, dtype=float), above=0, unit="B")))
    place = load(system)
    n, hosts = placed(place, n_ranks, None)
    if n < 2 or sizes.ndim != 1:
        raise CourseError(_("A contest needs two ranks or more and a row of sizes."))
    names, times, rates, protocols = [], [], [], []
    for name, found in _runners(place, n, hosts).items():
        tried = [predict("all_reduce", sizes, place, n, algorithm=a, ideal=ideal, column=column) for a in found]
        best = min(tried, key=lambda p: float(np.log(p.time_s).sum()))
        names.append(name)
        times.append(best.time_s)
        rates.append(best.busbw_Bps)
        protocols.append(best.protocol)
    weighed = {law.algorithm for law in candidates("all_reduce", place, n, hosts, column)}
    part = tuple(name for name in names if not library_only or weighed & set(ROWS[name]))
    allowed = np.array([name in part for name in names])
    raced = np.where(allowed[:, None], np.array(times), np.inf)
    columns = (np.array(times), np.array(rates), np.array(protocols))
    return Contest(place, n, hosts, sizes, tuple(names), *columns, part, np.argmin(raced, axis=0))


def _runners(system: System, n: int, hosts: int) -> dict[str, list[str]]:
    """Return, for each row that runs on these ranks, the algorithms that may stand for it."""
    here = algorithms("all_reduce", system, n, hosts)
    inside = "in-network" in here
    found = {}
    for name, may in ROWS.items():
        if name == "in the switch" and not inside and any("in-network" in a or "sharp" in a for a in here):
            # the library's own law where it has one ("in-network"), which stands for all of them
            found[name] = ["in-network"] if system.scale_up.in_network_reduction and n % hosts == 0 else []
            found[name] = found[name] or [a for a in here if a in may]
        else:
            found[name] = [a for a in here if a in may]
    return {name: may for name, may in found.items() if may}


def crossover_B(few_steps: Form, few_bytes: Form, latency_s, bandwidth_Bps):
    """Return the size up to which fewer steps win, in bytes; above it fewer bytes do. Broadcasts over latency and bandwidth.

    Infinite where the one with fewer steps moves no more bytes either; 0 where it has no fewer steps.

    >>> from course_lib.timing.closedform import form
    >>> tree, ring = form("all_reduce", "binomial", 8), form("all_reduce", "ring", 8)
    >>> round(crossover_B(tree, ring, 1e-6, 450e9) / 1e3)  # KB
    847
    """
    alpha = finite("latency_s", latency_s, at_least=0, unit="s")
    beta = finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="B/s")
    saved, more = few_bytes.steps - few_steps.steps, few_steps.factor - few_bytes.factor
    if saved <= 0:
        return alpha * beta * 0.0
    if more <= 0:
        return alpha * beta * 0.0 + np.inf
    return saved * alpha * beta / more
