"""Training steps and the search, timed, and the same plans with mlsysim, llm-analysis and Calculon: `python benchmarks/step_time.py`.

mlsysim and llm-analysis come from PyPI and belong in an environment of their own: `python -m venv X && X/bin/pip install mlsysim
llm-analysis`, then `python benchmarks/step_time.py --others X/bin/python`. Each is given the efficiency that suits it best on
our training rows (dense models, 16 bits, A100 and H100), then both are judged on pairs held out.
Calculon is no package: clone it and give `--calculon FOLDER`; its own files for the table of Korthikanti et al. are run beside ours.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from course_lib.plan.efficiency import constants
from course_lib.plan.search import search
from course_lib.plan.stepcompared import compare
from course_lib.plan.stepfit import Batch
from course_lib.plan.steptime import step
from course_lib.plan.trainingdata import runs
from course_lib.plan.transformer import params

SEARCHES = (("megatron-1t", "dgx-a100", 4096, 4096), ("kimi-k2", "gb200-nvl72", 4096, 8192))
OTHERS = r"""
import contextlib, io, json, logging, os, sys, tempfile, time
logging.disable(logging.CRITICAL)
plans = json.load(sys.stdin)
out = {}
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from llm_analysis.analysis import train
    from mlsysim.core.units import ureg
    from mlsysim.engine.solvers.distributed import DistributedModel
    from mlsysim.models.types import TransformerWorkload
    from mlsysim.systems import Systems
    from mlsysim.systems.types import Fleet
    nodes = {"dgx-a100": (Systems.Nodes.DGX_A100, Systems.Fabrics.InfiniBand_HDR),
             "dgx-h100": (Systems.Nodes.DGX_H100, Systems.Fabrics.InfiniBand_NDR)}
    solver = DistributedModel()

    def mlsysim(p, efficiency):
        work = TransformerWorkload(name="m", architecture="Transformer", parameters=p["parameters"] * ureg.count, layers=p["layers"],
                                   hidden_dim=p["hidden"], heads=p["heads"], kv_heads=p["kv_heads"], vocab_size=p["vocab"])
        node, fabric = nodes[p["system"]]
        fleet = Fleet(name="f", node=node, count=max(1, -(-p["gpus"] // 8)), fabric=fabric)
        made = solver.solve(work, fleet, batch_size=p["batch"], efficiency=efficiency, tp_size=p["tensor"], pp_size=p["pipeline"],
                            v_stages=p["interleave"], microbatch_count=p["n_micro"], zero_stage=p["zero"], seq_len=p["seq"],
                            activation_recomputation=p["recompute"] == "full", overlap_comm=True)
        return made.step_latency_total.to("s").magnitude

    folder = tempfile.mkdtemp()

    def llm_analysis(p, efficiency):
        path = os.path.join(folder, p["name"].replace("/", "-").replace(" ", "-") + ".json")
        with open(path, "w") as f:
            json.dump({"name": "m", "num_layers": p["layers"], "n_head": p["heads"], "hidden_dim": p["hidden"], "vocab_size": p["vocab"],
                       "ffn_embed_dim": p["ffn"], "max_seq_len": p["seq"], "num_key_value_heads": p["kv_heads"]}, f)
        gpu = {"dgx-a100": "a100-sxm-80gb", "dgx-h100": "h100-sxm-80gb"}[p["system"]]
        made = train(model_name=path, gpu_name=gpu, log_level="CRITICAL",
                     batch_size_per_gpu=p["micro_batch"], global_batch_size=p["batch"], seq_len=p["seq"],
                     activation_recomputation={"none": 0, "selective": 1, "auto": 0, "full": 2}[p["recompute"]], ds_zero=p["zero"],
                     tp_size=p["tensor"], pp_size=p["pipeline"], dp_size=p["data"], total_num_gpus=p["gpus"],
                     flash_attn=p["fused"], flops_efficiency=efficiency)
        return made["latency_per_iter"]

    for name, call in (("mlsysim", mlsysim), ("llm-analysis", llm_analysis)):
        found, calls, spent = {}, 0, 0.0
        for efficiency in (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8):
            row = []
            for p in plans:
                begin = time.perf_counter()
                try:
                    row.append(float(call(p, efficiency)))
                except Exception as error:
                    row.append(None)
                    found.setdefault("failed", repr(error)[:120])
                spent, calls = spent + time.perf_counter() - begin, calls + 1
            found[str(efficiency)] = row
        found["seconds"] = spent / calls
        out[name] = found
json.dump(out, sys.stdout)
"""


def described(run) -> dict:
    at, shape = run.layout, run.shape
    return {
        "name": run.model,
        "parameters": params(shape).total,
        "layers": shape.n_layers,
        "hidden": shape.hidden,
        "heads": shape.n_heads,
        "kv_heads": shape.n_kv_heads,
        "ffn": shape.ffn,
        "vocab": shape.vocab,
        "system": "dgx-a100" if run.system.gpu == "A100" else "dgx-h100",
        "gpus": at.n_ranks,
        "tensor": at.tensor,
        "pipeline": at.pipeline,
        "data": at.data,
        "micro_batch": run.micro_batch,
        "batch": run.global_batch,
        "n_micro": run.global_batch // (at.data * run.micro_batch),
        "interleave": run.interleave,
        "zero": run.zero,
        "seq": run.seq,
        "recompute": run.recompute,
        "fused": run.recompute != "selective",
    }


def comparable(run) -> bool:
    return (
        not run.shape.n_experts
        and run.system.gpu in ("A100", "H100")
        and run.precision in ("bf16", "fp16")
        and run.layout.context == 1
        and run.layout.n_ranks % 8 == 0
    )


def beside_others(python: str) -> None:
    chosen = {part: [r for r in runs(part) if comparable(r)] for part in ("training", "judging", "shown")}
    every = [r for part in chosen.values() for r in part]
    asked = json.dumps([described(r) for r in every])
    answer = subprocess.run([python, "-c", OTHERS], input=asked, capture_output=True, text=True, check=True).stdout
    others = json.loads(answer)
    measured = {part: np.array([r.step_s for r in rows]) for part, rows in chosen.items()}
    cuts = np.cumsum([0] + [len(rows) for rows in chosen.values()])
    begin = perf_counter()
    ours = {part: Batch(rows).step_s(constants("training")) for part, rows in chosen.items()}
    each = (perf_counter() - begin) / len(every)
    print(f"{'median error':26}" + "".join(f"{part:>12}" for part in chosen) + f"{'ms a plan':>14}")
    medians = [float(np.median(np.abs(ours[p] / measured[p] - 1))) for p in chosen]
    print(f"{'ours, many at once':26}" + "".join(f"{e:12.1%}" for e in medians) + f"{each * 1e3:14.3f}")
    for name, found in others.items():
        best = None
        for efficiency, row in found.items():
            if efficiency in ("failed", "seconds"):
                continue
            times = np.array([np.nan if x is None else x for x in row])
            split = {p: times[cuts[i] : cuts[i + 1]] for i, p in enumerate(chosen)}
            errors = [float(np.nanmedian(np.abs(split[p] / measured[p] - 1))) for p in chosen]
            if best is None or errors[0] < best[1][0]:
                best = efficiency, errors, int(np.isnan(times).sum())
        words = f"{name}, efficiency {best[0]}"
        print(f"{words:26}" + "".join(f"{e:12.1%}" for e in best[1]) + f"{found['seconds'] * 1e3:14.3f}")
        if best[2]:
            print(f"    {best[2]} plans failed: {found.get('failed')}")


def beside_calculon(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    import logging

    import calculon
    from calculon.llm import Llm, System

    syst = System(calculon.io.read_json_file(folder / "systems" / "a100_80g.json"))
    found = compare("shown")
    print(
        f"\n{'Korthikanti et al., table 5':34}{'published':>10}{'ours':>9}{'Calculon':>10}{'ours, ms':>10}{'Calculon, ms':>14}"
    )
    errors = []
    names = {
        "megatron-22b": "megatron-22B",
        "gpt3-175b": "gpt3-175B",
        "turing-530b": "turing-530B",
        "megatron-1t": "megatron-1T",
    }
    for run, seconds in zip(found.runs, found.predicted_s, strict=True):
        if "korthikanti" not in run.sources:
            continue
        mode = "full" if run.recompute == "full" else "seqsel"
        app = Llm.Application(calculon.io.read_json_file(folder / "models" / f"{names[run.model]}.json"))
        plan = folder / "validation" / "seqsel" / "tab5" / f"{names[run.model]}_{mode}.json"
        begin = perf_counter()
        model = Llm(app, logging.getLogger("calculon"))
        model.compile(syst, Llm.Execution.from_json(calculon.io.read_json_file(plan)))
        model.run(syst)
        other = model.get_stats_json(False)["total_time"]
        took = perf_counter() - begin
        at = run.layout
        begin = perf_counter()
        step(
            run.shape,
            run.system,
            tensor=at.tensor,
            pipeline=at.pipeline,
            data=at.data,
            micro_batch=run.micro_batch,
            global_batch=run.global_batch,
            interleave=run.interleave,
            precision=run.precision,
            recompute=run.recompute,
            sequence=run.sequence,
            zero=run.zero,
            check_memory=False,
        )
        own = perf_counter() - begin
        errors.append((seconds / run.step_s - 1, other / run.step_s - 1))
        print(
            f"{run.model + ', ' + mode:34}{run.step_s:10.2f}{seconds:9.2f}{other:10.2f}{own * 1e3:10.2f}{took * 1e3:14.2f}"
        )
    ours, theirs = np.median(np.abs(errors), axis=0)
    print(f"{'median error':34}{'':10}{ours:9.1%}{theirs:10.1%}   (Calculon was calibrated on this table)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--others", help="the Python of an environment with mlsysim and llm-analysis")
    options.add_argument("--calculon", type=Path, help="a clone of Calculon's repository")
    chosen = options.parse_args()
    step("gpt3-175b", "dgx-a100", gpus=64, tensor=8, pipeline=8, global_batch=64)
    begin = perf_counter()
    for batch in range(64, 64 + 8 * 20, 8):
        step("gpt3-175b", "dgx-a100", gpus=64, tensor=8, pipeline=8, global_batch=batch)
    print(f"one step, alone: {(perf_counter() - begin) / 20 * 1e3:.2f} ms")
    for name, system, gpus, batch in SEARCHES:
        begin, busy = perf_counter(), process_time()
        found = search(name, system, gpus, global_batch=batch)
        took, busy = perf_counter() - begin, process_time() - busy
        peak_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(
            f"search: {name} on {gpus} GPUs of {system}: {found.n_plans:,} plans in {took:.2f} s, "
            f"{busy:.2f} s of a processor ({found.n_plans / busy:,.0f} a second), peak {peak_MB:.0f} MB (promised: 2 s, 2 GB)"
        )
    if chosen.others:
        print()
        beside_others(chosen.others)
    if chosen.calculon:
        beside_calculon(chosen.calculon)


if __name__ == "__main__":
    main()
