"""Jobs of nccl-tests as they were read: ranks, rows, and what was damaged or left out."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from course_lib.machine.ncclfacts import Fact
from course_lib.machine.ncclrow import Row
from course_lib.machine.text import Damage


@dataclass(frozen=True, slots=True)
class Device:
    """One rank's GPU: hosts are numbered in the order they appear, `gpu` is a known model or None."""

    rank: int
    host: int
    device: int
    bus: str
    gpu: str | None


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one collective. `op` None: unknown, `ops` lists what fits; `n_ranks` None: unknown, `ranks_range` what fits."""

    op: str | None
    ops: tuple[str, ...]
    rows: tuple[Row, ...]
    devices: tuple[Device, ...]
    n_ranks: int | None
    ranks_range: tuple[int, int] | None
    n_hosts: int | None
    average_Bps: float | None
    out_of_bounds: int | None
    size_range: tuple[int, int] | None
    validated: bool | None
    finished: bool
    headers: int
    tag: str
    line: int
    unit_trouble: str = ""
    contradicts: tuple[str, ...] = ()

    @property
    def wrong(self) -> int:
        """Wrong elements in all rows, out of place and in place."""
        return sum(half.wrong or 0 for row in self.rows for half in (row.out, row.inplace))

    def sweep(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (sizes, times) out of place, sizes above 0 in rising order, repeats by their median."""
        times: dict[int, list[float]] = {}
        for row in self.rows:
            if row.size_B > 0 and row.out.time_s:
                times.setdefault(row.size_B, []).append(row.out.time_s)
        sizes = sorted(times)
        return np.array(sizes, float), np.array([float(np.median(times[size])) for size in sizes])


@dataclass(frozen=True, slots=True)
class NcclLog:
    """All jobs of a log, the facts of its debug lines, and what was damaged or left out."""

    jobs: tuple[Job, ...]
    facts: tuple[Fact, ...]
    damaged: tuple[Damage, ...]
    n_damaged: int
    n_rows: int
    unknown: tuple[str, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of all jobs."""
        return tuple(row for job in self.jobs for row in job.rows)


def repeated_sizes(job: Job) -> str:
    """Say how the sizes of a job repeat: "" (they do not), "cycles" (whole sweeps again), "mixed" (as when several jobs print at once).

    >>> from course_lib.machine.nccltests import read
    >>> repeated_sizes(read("1048576 262144 float sum -1 50.00 20.97 36.70 0 50.10 20.93 36.63 0\\n").jobs[0])
    ''
    """
    sizes = [(row.type, row.redop, row.root, row.size_B) for row in job.rows if row.size_B >= 1 << 16]
    most = Counter(sizes).most_common(1)
    if not most or most[0][1] == 1:
        return ""
    distinct = list(dict.fromkeys(sizes))
    cycle = all(size == distinct[k % len(distinct)] for k, size in enumerate(sizes))
    return "cycles" if cycle else "mixed"
