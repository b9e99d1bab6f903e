"""mlsysim beside our model: an all-reduce, a sweep of it, a training step and a search of plans, in time, memory and error.

Both answer the same question in processes of their own. mlsysim's numbers come from `theirs.py` under the Python of another
environment. Errors are judged on published measurements that no constant of ours saw. Where a formula of mlsysim has a free
number (its efficiency) or could have been given fitted ones, they are chosen on the rows that trained ours, to its advantage.
"""

import functools
import json
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np
from common import alone, best_ms

from course_lib.plan.efficiency import constants
from course_lib.plan.search import search
from course_lib.plan.stepfit import Batch
from course_lib.plan.steptime import step
from course_lib.plan.trainingdata import runs
from course_lib.plan.transformer import model, params
from course_lib.timing.evidence import LARGE_B, residuals
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

SHOWN = "8x H100 80GB HBM3 (NVIDIA DGXC reference)"  # the sweep that is shown size by size; it judges
SHOWN_SIZES_B = tuple(2.0**k for k in (10, 15, 20, 25, 30, 33))
SWEEP = {"system": "dgx-h100", "n": 8, "sizes": 10_000}
EFFICIENCIES = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
PLANS = {"model": "gpt3-175b", "system": "dgx-h100", "gpus": 512, "batch": 1536, "seq": 2048}
ONE = {"system": "dgx-a100", "gpus": 64, "tensor": 8, "pipeline": 8, "batch": 64}  # of gpt3-175b
PLANS_EFFICIENCY = 0.5  # mlsysim's default
IMPORT = "import time; w, c = time.perf_counter(), time.process_time(); import course_lib.timing.tuning, course_lib.plan.search; "
IMPORT += "print(time.perf_counter() - w, time.process_time() - c)"


class Theirs:
    """mlsysim in its own environment, imported once; `.ask(kind, question)` returns its answer."""

    def __init__(self, python: str):
        command = [python, str(Path(__file__).with_name("theirs.py"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, encoding="utf-8", **pipes)

    def ask(self, kind: str, question) -> dict:
        """Put a question."""
        self._process.stdin.write(json.dumps({"kind": kind, "ask": question}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("mlsysim's process ended; its error stands above.")
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait(10)


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
    """Return errors on judged all-reduce sweeps by system, one published sweep size by size, and a sweep of 10,000 sizes."""
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


COLUMNS = ("ours", "ours_ideal", "mlsysim", "mlsysim_fitted")


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


def sweep(theirs: Theirs) -> dict:
    """Return the times and memory of one all-reduce, and of 10,000 sizes, on one host."""
    place, sizes = load(SWEEP["system"]), np.logspace(1, 10, SWEEP["sizes"])
    up = place.scale_up
    question = {
        "n": SWEEP["n"],
        "domains": 1,
        "latency_s": up.latency_s,
        "bandwidth_Bps": up.bandwidth_Bps,
        "net_latency_s": up.latency_s,
    }
    question |= {"net_bandwidth_Bps": up.bandwidth_Bps, "sizes": sizes.tolist(), "formulas": ["ring"]}
    answered = theirs.ask("collectives", [question])
    ring = answered["answer"][0]

    def ours():
        first = process_time()
        predict("all_reduce", 1e6, place, SWEEP["n"])
        first = process_time() - first
        one = best_ms(lambda: predict("all_reduce", 1e6, place, SWEEP["n"]))
        return {
            "first_ms": first * 1e3,
            "one_ms": one,
            "sweep_ms": best_ms(lambda: predict("all_reduce", sizes, place, SWEEP["n"])),
        }

    mine = alone(ours)
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    wall_s, cpu_s = map(float, done.stdout.split())
    return {
        **SWEEP,
        "ours": mine["result"] | {"peak_MB": mine["peak_MB"], "import_wall_s": wall_s, "import_cpu_s": cpu_s},
        "mlsysim": {
            "one_ms": ring["cpu_s"] / SWEEP["sizes"] * 1e3,
            "sweep_ms": ring["cpu_s"] * 1e3,
            "peak_MB": answered["peak_MB"],
            "import_wall_s": answered["import"]["wall_s"],
            "import_cpu_s": answered["import"]["cpu_s"],
        },
    }


def described(run) -> dict:
    """Return a published setting as mlsysim wants it."""
    at, shape = run.layout, run.shape
    return {
        **_shape(shape),
        "system": "dgx-a100" if run.system.gpu == "A100" else "dgx-h100",
        "gpus": at.n_ranks,
        "tensor": at.tensor,
        "pipeline": at.pipeline,
        "batch": run.global_batch,
        "n_micro": run.global_batch // (at.data * run.micro_batch),
        "interleave": run.interleave,
        "zero": run.zero,
        "seq": run.seq,
        "recompute": run.recompute,
    }


def _shape(shape) -> dict:
    found = {"parameters": float(params(shape).total), "layers": shape.n_layers, "hidden": shape.hidden}
    return found | {"heads": shape.n_heads, "kv_heads": shape.n_kv_heads, "vocab": shape.vocab}


def comparable(run) -> bool:
    """Return whether both can price a setting: dense, 16 bits, A100 or H100 in whole hosts of eight, no context parallelism."""
    dense = not run.shape.n_experts and run.precision in ("bf16", "fp16")
    return dense and run.system.gpu in ("A100", "H100") and run.layout.context == 1 and run.layout.n_ranks % 8 == 0


def steps(theirs: Theirs) -> dict:
    """Return median errors of training steps by part, and the time of one plan."""
    parts = ("training", "judging", "shown", "blind")
    chosen = {name: [r for r in runs(name) if comparable(r)] for name in parts}
    every = [r for rows in chosen.values() for r in rows]
    alone_one = (
        _shape(model("gpt3-175b")) | ONE | {"n_micro": 64, "interleave": 1, "zero": 0, "seq": 2048, "recompute": "none"}
    )
    question = {"plans": [described(r) for r in every], "efficiencies": EFFICIENCIES, "one": alone_one}
    told = theirs.ask("steps", question)
    cuts = np.cumsum([0, *(len(rows) for rows in chosen.values())])
    measured = np.array([r.step_s for r in every])

    def split(times):
        off = np.abs(np.array([np.nan if t is None else t for t in times]) / measured - 1)
        return {name: off[cuts[i] : cuts[i + 1]] for i, name in enumerate(parts)}

    by_efficiency = {float(e): split(row) for e, row in told["answer"]["step_s"].items()}
    best = min(by_efficiency, key=lambda e: np.nanmedian(by_efficiency[e]["training"]))
    begin = process_time()
    ours = split(np.concatenate([Batch(rows).step_s(constants("training")) for rows in chosen.values()]))
    many_ms = (process_time() - begin) / len(every) * 1e3
    gpt = {k: ONE[k] for k in ("gpus", "tensor", "pipeline")} | {"global_batch": ONE["batch"]}
    one = alone(lambda: best_ms(lambda: step("gpt3-175b", ONE["system"], **gpt), 20))
    rows = []
    for name in parts:
        mine, other = ours[name], by_efficiency[best][name]
        priced = np.isfinite(other)
        rows.append(
            {
                "part": name,
                "settings": len(mine),
                "ours": float(np.median(mine[priced])),
                "mlsysim": float(np.nanmedian(other)),
                "ours_nearer": int(np.sum(mine[priced] < other[priced])),
                "refused": int(np.sum(~priced)),
            }
        )
    return {
        "rows": rows,
        "efficiency": best,
        "of": f"gpt3-175b on {ONE['gpus']} GPUs of {ONE['system']}",
        "ours": {"one_ms": one["result"], "many_ms": many_ms, "peak_MB": one["peak_MB"]},
        "mlsysim": {"one_ms": told["answer"]["one_s"] * 1e3, "peak_MB": told["peak_MB"]},
    }


def plans(theirs: Theirs) -> dict:
    """Return both searches of plans of one model on one cluster: how many plans, seconds, memory, and what is found."""
    p = PLANS
    question = {
        **_shape(model(p["model"])),
        **{k: p[k] for k in ("system", "gpus", "batch", "seq")},
        "efficiency": PLANS_EFFICIENCY,
    }
    answered = theirs.ask("search", question)
    rows = []
    for made in answered["answer"]["searches"]:
        plan = made["plan"] and [made["plan"][k] for k in ("tp", "pp", "dp")]
        words = "full" if made["recompute"] else "none"
        rows.append(
            {"who": "mlsysim", "recompute": words, "n_plans": made["n_plans"], "cpu_s": made["cpu_s"], "plan": plan}
        )
        rows[-1] |= {"step_s": made["step_s"], "peak_MB": answered["peak_MB"]}
    narrow = {"max_tensor": 8, "zeros": (0,)}
    for words, options in (
        ("none", narrow | {"recomputes": ("none",)}),
        ("full", narrow | {"recomputes": ("full",)}),
        ("any", {}),
    ):
        call = functools.partial(
            search, p["model"], p["system"], p["gpus"], global_batch=p["batch"], seq=p["seq"], **options
        )
        told = alone(lambda: _found(call))  # noqa: B023
        rows.append(
            {"who": "ours", "recompute": words, "cpu_s": told["cpu_s"], "peak_MB": told["peak_MB"], **told["result"]}
        )
    return {**PLANS, "efficiency": PLANS_EFFICIENCY, "rows": rows}


def _found(call) -> dict:
    found = call()
    best = found.best
    return {
        "n_plans": found.n_plans,
        "plan": [best[k] for k in ("tensor", "pipeline", "data")],
        "step_s": best["step_s"],
    }


def measure(python: str) -> dict:
    """Return all comparisons; what starts small comes first, because a peak of memory stays."""
    theirs = Theirs(python)
    try:
        swept, found = sweep(theirs), plans(theirs)
        return {"sweep": swept, "search": found, "steps": steps(theirs), "collectives": collectives(theirs)}
    finally:
        theirs.end()
