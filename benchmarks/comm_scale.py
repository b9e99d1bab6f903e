"""How fast schedules are built, proved and run, and what 131,072 ranks cost: `python benchmarks/comm_scale.py`."""

import argparse
import subprocess
import sys
import time

import numpy as np

from course_lib.comm.execute import prove, run
from course_lib.comm.faults import try_mutants
from course_lib.comm.registry import algorithms, build

LARGE = ("ring", "tree", "halving-doubling", "in-network", "sharp", "hierarchical-ring", "hierarchical-tree",
         "hierarchical-in-network+sharp")  # fmt: skip
ONE = """
import resource, time
from course_lib.comm.registry import build
empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
schedule = build("all_reduce", {n}, "{name}", ranks_per_domain=8)
took = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(took, peak / 1024, (peak - empty) / 1024, sum(len(s) for s in schedule.steps), schedule.repeats)
"""


def best(call, *args, times=5, **options):
    """Return the shortest of a few timings (processor time, so a busy machine does not count), in milliseconds."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        call(*args, **options)
        taken.append(time.process_time() - start)
    return min(taken) * 1e3


def at_72_ranks() -> None:
    print(
        "72 ranks, all_reduce            build ms  prove ms    run ms  (target 50 ms each; run: 7,200 numbers a rank)"
    )
    for name in algorithms("all_reduce"):
        if name.count("+") and name != "hierarchical-in-network+sharp":
            continue
        schedule, data = build("all_reduce", 72, name, ranks_per_domain=18), np.ones((72, 7200))
        times = (
            best(build, "all_reduce", 72, name, ranks_per_domain=18),
            best(prove, schedule),
            best(run, schedule, data),
        )
        print(f"{name:30s}" + "".join(f"{ms:10.2f}" for ms in times))
    schedule = build("all_reduce", 72, "ring")
    start = time.perf_counter()
    tried = try_mutants(schedule).tried
    print(f"{tried} mutants of the ring tried in {time.perf_counter() - start:.2f} s")


def at_scale(n: int) -> None:
    print(f"\n{n:,} ranks, all_reduce, a process each   build s   peak MB   more than empty MB   transfers   repeats")
    for name in LARGE:
        done = subprocess.run(
            [sys.executable, "-c", ONE.format(n=n, name=name)], capture_output=True, text=True, check=True
        )
        took, peak, more, transfers, repeats = (float(v) for v in done.stdout.split())
        print(f"{name:38s}{took:10.3f}{peak:10.0f}{more:21.0f}{transfers:12,.0f}{repeats:10,.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=131072)
    at_72_ranks()
    at_scale(parser.parse_args().ranks)
