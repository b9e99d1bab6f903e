"""Fit the constants of expert exchanges; `python -m course_lib.plan.expertfit` writes them, and a test fits again.

A time is launch + bytes over (a share of) the wires. Both numbers come from weighted least squares on relative errors, over the
runs marked "fitted" in `plan.expertruns`. What published rates say (no launch in them) is solved for directly.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.plan import expertruns, experts
from course_lib.plan.expertconstants import PATH, PHASES
from course_lib.timing.system import load

COLUMNS = ("way", "phase", "launch_us", "net_launch_us", "up_eff", "net_eff", "per_sm_GBps", "fitted_on")


def line(x: Sequence[float], time_s: Sequence[float]) -> tuple[float, float]:
    """Return (a, b) of a + b·x that is closest to the times in relative terms.

    >>> [round(v, 9) for v in line([0, 1, 2], [1.0, 3.0, 5.0])]
    [1.0, 2.0]
    """
    x, t = np.asarray(x, float), np.asarray(time_s, float)
    a, b = np.linalg.lstsq(np.stack([1 / t, x / t], axis=1), np.ones(len(t)), rcond=None)[0]
    return float(a), float(b)


def _wire_s(run: expertruns.Run, phase: str) -> tuple[float, float]:
    """Seconds of latency and of bytes on the wires alone, every copy sent straight."""
    fixed_s, per_B, _most = experts.wires(load(run.system), run.n_ranks, run.n_hosts)
    return fixed_s, per_B * run.tokens * run.n_active * experts.token_B(run.hidden, phase)


def _fit(phase: str) -> list[dict]:
    fitted = [r for r in expertruns.runs() if r.part == "fitted"]
    seen = lambda chosen: [getattr(r, f"{phase}_s") for r in chosen]  # noqa: E731
    shares = []
    for across in (False, True):
        mine = [r for r in fitted if r.way == "low-latency" and (r.n_hosts > 1) is across]
        fixed, sent = zip(*(_wire_s(r, phase) for r in mine), strict=True)
        launch_s, per = line(sent, np.array(seen(mine)) - np.array(fixed))
        shares.append((launch_s * 1e6, 1 / per))
    (launch, up), (net_launch, net) = shares
    low = dict(zip(COLUMNS, ("low-latency", phase, launch, net_launch, up, net, 0.0, "b200-ll deepep-v1"), strict=True))

    old = [r for r in fitted if r.way == "throughput"]
    moved = [r.tokens * _inside(r.shape, r.n_ranks, phase) / r.sms for r in old]
    old_launch_s, per = line(moved, seen(old))
    rates = {
        (r["system"], int(r["n_ranks"]), int(r["sms"])): float(r[f"{phase}_GBps"])
        for r in tables.rows(expertruns.DATA / "expert_rates.csv")
    }
    away = 7 / 8  # of eight ranks' copies, what leaves the GPU
    cap = rates["dgx-b200", 8, 64] * away / 900
    per_sm = rates["dgx-b200", 8, 24] * away / 24
    crossing = rates["dgx-h100", 16, 12] / 2 / 50  # of two hosts' copies half cross; a card carries 50 GB/s
    common = (old_launch_s * 1e6, old_launch_s * 1e6, cap, crossing)
    return [
        low,
        dict(zip(COLUMNS, ("throughput", phase, *common, per_sm, "b200-normal (launch) deepep-v2"), strict=True)),
        dict(zip(COLUMNS, ("throughput-v1", phase, *common, 1 / per / 1e9, "b200-normal deepep-v2"), strict=True)),
    ]


def _inside(shape, n: int, phase: str) -> float:
    """Bytes that leave a GPU for each token, one copy for each other GPU with work for it."""
    return (
        float(experts.visits(shape.n_experts, shape.n_active, n)) * (1 - 1 / n) * experts.token_B(shape.hidden, phase)
    )


def fit() -> list[dict]:
    """Return a row of constants for each way and phase.

    >>> [row["way"] for row in fit()][:3]
    ['low-latency', 'throughput', 'throughput-v1']
    """
    return [row for phase in PHASES for row in _fit(phase)]


def write(path: Path = PATH) -> None:
    """Write the table of the package, or another file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "constants.csv")
    """
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in fit())


if __name__ == "__main__":
    write()
    sys.exit(0)
