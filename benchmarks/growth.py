"""Growth of our own model from 8 to 131,072 GPUs: machine, schedule and timing of every all-reduce, a process each."""

import itertools
import time

from common import alone

from course_lib.comm.registry import build
from course_lib.timing import place
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

SYSTEM, HOST, SIZE_B = "dgx-h100", 8, 2**30
GPUS = (8, 64, 512, 4096, 32768, 131072)
ALGORITHMS = (
    "ring",
    "tree",
    "halving-doubling",
    "sharp",
    "hierarchical-ring",
    "hierarchical-tree",
    "hierarchical-sharp",
    "hierarchical-halving-doubling",
    "hierarchical-in-network+ring",
    "hierarchical-in-network+tree",
)
TIMES = 3  # the quickest counts
PIECES = 64  # a long message goes through a chain or a tree in so many pieces


def one(n: int, name: str) -> dict:
    """Build the machine, the schedule and the timing once; return processor seconds of each, and what came out."""
    marks = [time.process_time()]
    machine = place.topology_of(load(SYSTEM), n // HOST)
    marks.append(time.process_time())
    radix = [machine.plan.net.hosts_per_block, 64, 64] if n > HOST else None
    schedule = build("all_reduce", n, name, ranks_per_domain=HOST, pipeline=PIECES, radix=radix)
    marks.append(time.process_time())
    timing = stepped(schedule, machine)
    time_s = float(timing.time_s(SIZE_B))
    marks.append(time.process_time())
    machine_s, build_s, timing_s = (b - a for a, b in itertools.pairwise(marks))
    transfers = sum(len(step) for step in schedule.steps)
    return {"machine_s": machine_s, "build_s": build_s, "timing_s": timing_s, "time_s": time_s, "transfers": transfers}


def measure() -> dict:
    """Return rows of (algorithm, GPUs), the quickest of a few, and the same question put to the closed formulas of `predict`."""
    one(2 * HOST, "ring"), predict("all_reduce", SIZE_B, SYSTEM, HOST)  # reads the files once
    rows = []
    for name in ALGORITHMS:
        for n in GPUS:
            if n == HOST and name.startswith(("hierarchical", "sharp")):
                continue  # one host has nothing across
            told = min((alone(lambda: one(n, name)) for _again in range(TIMES)), key=lambda x: x["cpu_s"])  # noqa: B023
            rows.append(
                {"algorithm": name, "gpus": n, "peak_MB": told["peak_MB"], "wall_s": told["wall_s"], **told["result"]}
            )
    predicted = []
    for n in GPUS:
        told = alone(lambda: float(predict("all_reduce", SIZE_B, SYSTEM, n).time_s))  # noqa: B023
        predicted.append({"gpus": n, "cpu_s": told["cpu_s"], "peak_MB": told["peak_MB"], "time_s": told["result"]})
    empty = alone(lambda: 0)["peak_MB"]
    return {"system": SYSTEM, "size_B": SIZE_B, "rows": rows, "predict": predicted, "imports_MB": empty, "of": TIMES}
