"""Collectives timed: 131,072 ranks, 72 ranks, 10,000 sizes, and the same sweep with mlsysim: `python benchmarks/collectives.py`.

mlsysim comes from PyPI and belongs in an environment of its own: `python -m venv X && X/bin/pip install mlsysim`, then
`python benchmarks/collectives.py --mlsysim X/bin/python`.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from course_lib.comm.execute import run
from course_lib.comm.registry import build
from course_lib.timing import place
from course_lib.timing.evidence import residuals
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

LARGE = (
    "ring",
    "tree",
    "binomial",
    "halving-doubling",
    "sharp",
    "hierarchical-ring",
    "hierarchical-tree",
    "hierarchical-sharp",
)
LARGE += ("hierarchical-halving-doubling", "hierarchical-in-network+ring", "hierarchical-in-network+tree")
ONE = """
import resource, time
from course_lib.comm.registry import build
from course_lib.timing import place
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load
system = load("dgx-h100")
times = [time.process_time()]
machine = place.topology_of(system, {n} // 8)
times.append(time.process_time())
radix = [machine.plan.net.hosts_per_block, 64, 64]
schedule = build("all_reduce", {n}, "{name}", ranks_per_domain=8, pipeline={pieces}, radix=radix)
times.append(time.process_time())
t = stepped(schedule, machine)
times.append(time.process_time())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(*(b - a for a, b in zip(times, times[1:])), peak, t.time_s(2.0**30), t.slowest_link, sep="|")
"""
MLSYSIM = """
import json, sys, time
from mlsysim.physics import communication as c
import pint
u = pint.get_application_registry()
told = []
for ask in json.load(sys.stdin):
    answers = []
    start = time.perf_counter()
    for m in ask["sizes"]:
        B, alpha, beta = m * u.byte, ask["alpha"] * u.second, ask["beta"] * u.byte / u.second
        if ask["algorithm"] == "ring":
            t = c.calc_ring_allreduce_time(B, ask["n"], beta, alpha)
        else:
            t = c.calc_hierarchical_allreduce_time(
                B, ask["hosts"], ask["n"] // ask["hosts"], beta, ask["net_beta"] * u.byte / u.second, alpha,
                ask["net_alpha"] * u.second)
        answers.append(t.to("second").magnitude)
    told.append({"time": time.perf_counter() - start, "answers": answers})
json.dump(told, sys.stdout)
"""


def at_scale(n: int) -> None:
    print(
        f"{n:,} ranks of 8 to a host, all_reduce on rails (target: built and timed in 1 s, 500 MB); processor seconds"
    )
    print("algorithm                      machine    build     time   peak MB   1 GiB      fullest link")
    for name in LARGE:
        out = subprocess.run(
            [sys.executable, "-c", ONE.format(n=n, name=name, pieces=64)], capture_output=True, text=True, check=True
        ).stdout.split("|")
        numbers = [float(x) for x in out[:5]]
        print(
            f"{name:29s}"
            + "".join(f"{x:9.2f}" for x in numbers[:3])
            + f"{numbers[3]:10.0f}{numbers[4] * 1e3:9.1f} ms   {out[5].strip()}"
        )


def at_72_ranks() -> None:
    print("\n72 ranks: build, run (7,200 numbers a rank) and time, processor ms (target 50 each)")
    machine, data = place.topology_of(load("gb200-nvl72"), 18), np.ones((72, 7200))
    for name in ("ring", "tree", "halving-doubling", "direct", "in-network"):
        schedule = build("all_reduce", 72, name)
        calls = (lambda: build("all_reduce", 72, name), lambda: run(schedule, data), lambda: stepped(schedule, machine))  # noqa: B023
        print(f"{name:20s}" + "".join(f"{best_ms(call):9.2f}" for call in calls))


def best_ms(call, times: int = 5) -> float:
    """Return the shortest of a few timings in processor milliseconds."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken) * 1e3


def many_sizes() -> None:
    sizes = np.logspace(0, 10, 10_000)
    print("\n10,000 sizes at once, processor ms (target 20)")
    for op, name, n in (
        ("all_reduce", "dgx-h100", 8),
        ("all_reduce", "dgx-h100", 1024),
        ("all_to_all", "gb200-nvl72", 72),
    ):
        predict(op, 1.0, name, n)
        ms = best_ms(lambda: predict(op, sizes, name, n))  # noqa: B023
        print(f"{op:12s}{name:14s}{n:6d}{ms:9.2f}")


def beside_mlsysim(python: str) -> None:
    """The same all-reduce sweep: published times, our prediction, our ideal time, mlsysim's formulas."""
    print("\nall_reduce, judged sweeps (no constant saw them); median |ln(predicted / measured)| and ms for the sweep")
    print(
        f"{'system':54s}{'ranks':>6s}{'ours':>8s}{'ideal':>8s}{'mlsysim':>9s}{'ours ms':>9s}{'mlsysim ms':>11s}"
        "   largest size: measured, ours, ideal, mlsysim"
    )
    chosen, asks = [], []
    for x in residuals("training"):
        s = x.sweep
        if x.part != "judging" or s.op != "all_reduce" or s.system.hosts_per_domain > 1 or len(s.message_B) < 10:
            continue
        up, out = s.system.scale_up, s.system.scale_out
        flat = s.n_hosts == 1
        k = s.n_ranks // s.n_hosts
        cards = out.nics_per_host * out.bandwidth_Bps / s.system.gpus_per_host
        chosen.append(x)
        ask = {
            "algorithm": "ring" if flat else "hierarchical", "n": s.n_ranks, "hosts": s.n_hosts, "alpha": up.latency_s,
            "beta": up.bandwidth_Bps, "net_alpha": out.latency_s, "net_beta": max(cards, out.bandwidth_Bps / k),
            "sizes": s.message_B.tolist(),
        }  # fmt: skip
        asks.append(ask)
    told = subprocess.run([python, "-c", MLSYSIM], input=json.dumps(asks), capture_output=True, text=True, check=True)
    pairs = []
    for x, theirs in zip(chosen, json.loads(told.stdout), strict=True):
        s = x.sweep
        ms = best_ms(lambda: predict(s.op, s.message_B, s.system, s.n_ranks, n_hosts=s.n_hosts))  # noqa: B023
        ideal = predict(s.op, s.message_B, s.system, s.n_ranks, n_hosts=s.n_hosts, ideal=True).time_s
        errors = [
            np.abs(x.residual),
            np.abs(np.log(ideal / s.time_s)),
            np.abs(np.log(np.array(theirs["answers"]) / s.time_s)),
        ]
        pairs.append(errors)
        at = int(np.argmax(s.message_B))
        largest = (s.time_s[at], x.predicted_s[at], ideal[at], theirs["answers"][at])
        said = ", ".join(f"{t * 1e3:.4g}" for t in largest)
        cells = "".join(f"{np.median(e):8.2f}" for e in errors)
        print(f"{s.measured_on[:53]:54s}{s.n_ranks:6d}{cells} {ms:9.2f}{theirs['time'] * 1e3:11.2f}   {said} ms")
    print(f"{'all points':60s}" + "".join(f"{np.median(np.concatenate(e)):8.2f}" for e in zip(*pairs)))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ranks", type=int, default=131_072)
    options.add_argument("--mlsysim", help="the Python of an environment with mlsysim")
    chosen = options.parse_args()
    at_scale(chosen.ranks)
    at_72_ranks()
    many_sizes()
    if chosen.mlsysim:
        beside_mlsysim(chosen.mlsysim)
