"""All-reduces by mlsysim and by ours against published sweeps that no constant of ours saw.

mlsysim's formulas could have been given fitted factors: these are chosen on the sweeps that trained ours, to its advantage.
"""

import numpy as np
from rivals_process import Theirs

from course_lib.timing.evidence import LARGE_B, residuals
from course_lib.timing.tuning import predict

SHOWN = "8x H100 80GB HBM3 (NVIDIA DGXC reference)"  # the sweep that is shown size by size; it judges
SHOWN_SIZES_B = tuple(2.0**k for k in (10, 15, 20, 25, 30, 33))
COLUMNS = ("ours", "ours_ideal", "mlsysim", "mlsysim_fitted")


def _question(s, sizes, formulas) -> dict:
    """Return a sweep's machine as mlsysim's formulas want it, from the same data sheet that ours reads."""
    up, out = s.system.scale_up, s.system.scale_out
    domains = 1 if s.inside else max(1, s.n_hosts // s.system.hosts_per_domain)
    cards_Bps = out.nics_per_host * out.bandwidth_Bps / s.system.gpus_per_host if out else up.bandwidth_Bps
    each = s.n_ranks / s.n_hosts
    return {
        "n": s.n_ranks,
        "domains": domains,
        "latency_s": up.latency_s,
        "bandwidth_Bps": up.bandwidth_Bps,
        "net_latency_s": out.latency_s if out else up.latency_s,
        "net_bandwidth_Bps": max(cards_Bps, out.bandwidth_Bps / each) if out else up.bandwidth_Bps,
        "sizes": [float(m) for m in sizes],
        "formulas": formulas,
    }


def _best(found: dict, wait: float = 1.0, slow: float = 1.0) -> np.ndarray:
    """Return the quickest of the formulas over sizes: latency part times `wait`, rest times `slow`. The first size is 0."""
    times = [np.array(row) for row in found["time_s"].values()]
    return np.min([wait * t[0] + slow * (t[1:] - t[0]) for t in times], axis=0)


def _fitted(rows: list) -> tuple[float, float]:
    """Return the two factors with the least mean |ln(predicted / measured)| over sweeps, every system weighing the same."""
    systems = {s.measured_on for s, _found in rows}
    weights = [1 / sum(s.measured_on == t.measured_on for t, _f in rows) for s, _found in rows]

    def loss(factors):
        errors = [np.mean(np.abs(np.log(_best(found, *factors) / s.time_s))) for s, found in rows]
        return float(np.dot(weights, errors)) / len(systems)

    grid = [(wait, slow) for wait in np.geomspace(0.5, 100, 30) for slow in np.geomspace(0.8, 12, 30)]
    return min(grid, key=loss)


def collectives(theirs: Theirs) -> dict:
    """Return errors on judged all-reduce sweeps by kind and by system, and one published sweep size by size."""
    found = [x for x in residuals("training") if x.sweep.op == "all_reduce" and x.part != "aside"]
    asks = []
    for x in found:
        formulas = ["ring", "double tree"] if x.sweep.inside else ["hierarchical"]
        asks.append(_question(x.sweep, [0.0, *x.sweep.message_B], formulas))
    told = theirs.ask("collectives", asks)["answer"]
    pairs = list(zip(found, told, strict=True))
    factors = {}
    for key in {(x.sweep.inside, x.sweep.family) for x, _t in pairs if x.part == "judging"}:
        trained = [(x.sweep, t) for x, t in pairs if x.part == "training" and (x.sweep.inside, x.sweep.family) == key]
        factors[key] = _fitted(trained)
    points, shown = [], []
    for x, answered in pairs:
        s = x.sweep
        if x.part != "judging":
            continue
        wait, slow = factors[s.inside, s.family]
        ideal = predict(s.op, s.message_B, s.system, s.n_ranks, n_hosts=s.n_hosts, ideal=True).time_s
        columns = {
            "ours": x.predicted_s,
            "ours_ideal": ideal,
            "mlsysim": _best(answered),
            "mlsysim_fitted": _best(answered, wait, slow),
        }
        for i, size in enumerate(s.message_B):
            row = {name: float(np.log(times[i] / s.time_s[i])) for name, times in columns.items()}
            points.append({"system": s.measured_on, "inside": s.inside, "large": bool(size >= LARGE_B), **row})
            if s.measured_on == SHOWN and size in SHOWN_SIZES_B:
                shown.append(
                    {"size_B": int(size), "measured_s": float(s.time_s[i])}
                    | {k: float(v[i]) for k, v in columns.items()}
                )
    return {
        "judged": _judged(points),
        "by_system": _by_system(points),
        "shown_on": SHOWN,
        "shown": shown,
    }


def _medians(points: list[dict]) -> dict:
    return {name: float(np.median([abs(p[name]) for p in points])) for name in COLUMNS} | {"points": len(points)}


def _judged(points: list[dict]) -> list[dict]:
    rows = []
    for inside in (True, False):
        for large in (False, True):
            mine = [p for p in points if p["inside"] == inside and (p["large"] or not large)]
            nearer = sum(abs(p["ours"]) < min(abs(p["mlsysim"]), abs(p["mlsysim_fitted"])) for p in mine)
            rows.append({"inside": inside, "large": large, "ours_nearest": nearer, **_medians(mine)})
    return rows


def _by_system(points: list[dict]) -> list[dict]:
    groups = {}
    for p in points:
        groups.setdefault((not p["inside"], p["system"]), []).append(p)
    return [{"system": name, "inside": not across, **_medians(mine)} for (across, name), mine in sorted(groups.items())]
