"""The search of plans at full size; and, with `--calculon FOLDER` (a clone: it is no package), Calculon on its own table beside ours."""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from common import alone

from course_lib.plan.search import search
from course_lib.plan.stepcompared import compare
from course_lib.plan.steptime import step

SEARCHES = (("megatron-1t", "dgx-a100", 4096, 4096), ("kimi-k2", "gb200-nvl72", 4096, 8192))


def measure() -> list[dict]:
    """Return rows of searches: plans, processor seconds, peak memory of a process of its own."""
    rows = []
    for name, system, gpus, batch in SEARCHES:
        told = alone(lambda: search(name, system, gpus, global_batch=batch).n_plans)  # noqa: B023
        row = {"model": name, "system": system, "gpus": gpus, "batch": batch, "n_plans": told["result"]}
        rows.append(row | {"cpu_s": told["cpu_s"], "wall_s": told["wall_s"], "peak_MB": told["peak_MB"]})
    return rows


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
    """Print Calculon's table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calculon", type=Path, required=True, help="a clone of Calculon's repository")
    beside_calculon(options.parse_args().calculon)


if __name__ == "__main__":
    main()
