"""Training steps by mlsysim and by ours against published runs, and the time of one plan.

mlsysim's efficiency is a free number: it is chosen on the runs that trained ours, to its advantage.
"""

from time import process_time

import numpy as np
from common import alone, best_ms
from rivals_process import Theirs, shape_of

from course_lib.plan.efficiency import constants
from course_lib.plan.stepfit import Batch
from course_lib.plan.steptime import step
from course_lib.plan.trainingdata import runs
from course_lib.plan.transformer import model

EFFICIENCIES = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
ONE = {"system": "dgx-a100", "gpus": 64, "tensor": 8, "pipeline": 8, "batch": 64}  # of gpt3-175b


def described(run) -> dict:
    """Return a published setting as mlsysim wants it."""
    at, shape = run.layout, run.shape
    return {
        **shape_of(shape),
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
        shape_of(model("gpt3-175b"))
        | ONE
        | {"n_micro": 64, "interleave": 1, "zero": 0, "seq": 2048, "recompute": "none"}
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
