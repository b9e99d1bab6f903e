"""What the groups of many plans spend on each collective: every answer is `timing.tuning.predict`'s, asked once a kind.

Groups of one kind talk at the same time, so cards that GPUs share are shared (`plan.reach.view`).
"""

import functools

import numpy as np
from numpy.typing import NDArray

from course_lib.plan.grid import Layout
from course_lib.plan.plans import Plans
from course_lib.plan.reach import Reach, reach, used_per_domain, view
from course_lib.timing.system import System
from course_lib.timing.tuning import predict


@functools.lru_cache(maxsize=65536)
def _few(op: str, sizes: tuple[float, ...], system: System, n: int, hosts: int) -> NDArray[np.float64]:
    return np.asarray(predict(op, np.array(sizes), system, n, n_hosts=hosts).time_s)


def ask(op: str, sizes: NDArray, system: System, n: int, hosts: int) -> NDArray[np.float64]:
    """Return `predict`'s seconds for an array of sizes; answers about a few sizes are kept.

    >>> from course_lib.timing.system import load
    >>> ask("all_reduce", np.array([1e6]), load("dgx-h100"), 8, 1).shape
    (1,)
    """
    if len(sizes) <= 8:
        return _few(op, tuple(sizes.tolist()), system, n, hosts)
    return np.asarray(predict(op, sizes, system, n, n_hosts=hosts).time_s)


@functools.lru_cache(maxsize=65536)
def reached(layout: Layout, axis: str, system: System) -> Reach:
    """Return where the widest group of a kind sits on a system; answers are kept.

    >>> from course_lib.timing.system import load
    >>> reached(Layout(tensor=8, data=2), "data", load("dgx-h100")).n_hosts
    2
    """
    per_domain = used_per_domain(system, layout.n_ranks)
    return reach(layout.strides(axis), system.gpus_per_host, per_domain, layout.n_ranks)


class Asker:
    """Prices collectives of the groups of `plans` on a system; plans with the same layout share the asking."""

    def __init__(self, plans: Plans, place: System):
        """Sort plans by layout."""
        self.place = place
        columns = (plans.tensor, plans.pipeline, plans.data, plans.context, plans.expert, plans.expert_tensor)
        code = np.zeros(len(plans), np.int64)
        for column in columns:
            code = code * (int(column.max(initial=1)) + 1) + column
        _codes, first, self.kind = np.unique(code, return_index=True, return_inverse=True)
        self.layouts = [plans.layout(int(i)) for i in first]
        self.known: dict[tuple, NDArray] = {}

    @functools.lru_cache(maxsize=16)  # noqa: B019 (an asker lives as long as one pricing)
    def reaches(self, axis: str) -> tuple[Reach, ...]:
        """Where a group of this kind sits, for every layout."""
        return tuple(reached(layout, axis, self.place) for layout in self.layouts)

    def time_s(self, op: str, axis: str, message_B: NDArray) -> NDArray[np.float64]:
        """Return (n,) seconds of one collective in the group of an axis; a group of one rank takes none."""
        sizes = np.broadcast_to(np.asarray(message_B, float), self.kind.shape)
        key = (op, axis, sizes.tobytes())
        if key not in self.known:
            self.known[key] = self._asked(op, axis, sizes)
        return self.known[key]

    def _asked(self, op: str, axis: str, sizes: NDArray) -> NDArray[np.float64]:
        at = self.reaches(axis)
        numbers: dict[Reach, int] = {}
        of_layout = np.array([numbers.setdefault(r, len(numbers)) for r in at])
        which = of_layout[self.kind]
        found = np.zeros(len(which))
        for where, number in numbers.items():
            if where.n_ranks == 1:
                continue
            mine = np.flatnonzero(which == number)
            if op == "send_recv":  # one neighbour, however long the chain is
                pair = Reach(
                    2,
                    min(2, where.n_hosts),
                    1 + (where.n_hosts == 1),
                    min(2, where.n_domains),
                    1 + (where.n_domains == 1),
                )
            else:
                pair = where
            system, n, hosts = view(self.place, pair)
            several, back = np.unique(sizes[mine], return_inverse=True)
            found[mine] = ask(op, several, system, n, hosts)[back]
        return found
