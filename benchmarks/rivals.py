"""mlsysim beside our model: what a sweep and a search of plans cost, and both models' errors.

Both answer the same question in processes of their own. mlsysim's numbers come from `theirs.py` under the Python of another
environment; errors of all-reduces and of training steps are in `rivals_collectives.py` and `rivals_steps.py`.
"""

import functools
import subprocess
import sys
from time import process_time

import numpy as np
import rivals_collectives
import rivals_steps
from common import alone, best_ms
from rivals_process import Theirs, shape_of

from course_lib.plan.search import search
from course_lib.plan.transformer import model
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

SWEEP = {"system": "dgx-h100", "n": 8, "sizes": 10_000}
PLANS = {"model": "gpt3-175b", "system": "dgx-h100", "gpus": 512, "batch": 1536, "seq": 2048}
PLANS_EFFICIENCY = 0.5  # mlsysim's default
IMPORT = "import time; w, c = time.perf_counter(), time.process_time(); import course_lib.timing.tuning, course_lib.plan.search; "
IMPORT += "print(time.perf_counter() - w, time.process_time() - c)"


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


def plans(theirs: Theirs) -> dict:
    """Return both searches of plans of one model on one cluster: how many plans, seconds, memory, and what is found."""
    p = PLANS
    question = {
        **shape_of(model(p["model"])),
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
        errors = {"steps": rivals_steps.steps(theirs), "collectives": rivals_collectives.collectives(theirs)}
        return {"efficiencies": len(rivals_steps.EFFICIENCIES), "sweep": swept, "search": found, **errors}
    finally:
        theirs.end()
