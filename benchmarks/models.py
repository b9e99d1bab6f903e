"""What one call of a model costs beside what was promised: sweeps of links and collectives, 72 ranks, compressed training, buckets."""

import numpy as np
from common import best_ms

from course_lib.comm.execute import prove, run
from course_lib.comm.registry import build
from course_lib.links.alphabeta import time_s
from course_lib.links.calibrate import fit, mystery_link
from course_lib.links.linerate import names, parameters
from course_lib.plan.codecs import TopK
from course_lib.plan.compression import with_and_without_feedback
from course_lib.plan.narrowsum import error_against_ranks
from course_lib.plan.sharding import bucket_search, overlap
from course_lib.plan.zero import sharded_step
from course_lib.timing import place
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

AT_72 = ("ring", "tree", "halving-doubling", "direct", "in-network")


def line(message_B):
    """Return the time of a message over a link of 30 µs and 50 GB/s."""
    return 3e-5 + message_B / 5e10


def calls() -> list[tuple[str, str, object, float]]:
    """Return (what, of how much, call, promised ms)."""
    latency_s, bandwidth_Bps = parameters(names())
    sizes = np.logspace(0, 10, 1_000_000 // len(latency_s))
    link = mystery_link(0)
    found = [
        (
            "time of a message",
            "1,000,000 pairs of link and size",
            lambda: time_s(sizes, latency_s[:, None], bandwidth_Bps[:, None]),
            100,
        ),
        ("fit of a line to a measured link", "one", lambda: fit(link.message_B, link.time_s), 20),
    ]
    many = np.logspace(0, 10, 10_000)
    for op, name, n in (
        ("all_reduce", "dgx-h100", 8),
        ("all_reduce", "dgx-h100", 1024),
        ("all_to_all", "gb200-nvl72", 72),
    ):
        found.append(
            (
                f"predict {op}, {name}, {n:,} ranks",
                "10,000 sizes",
                lambda op=op, name=name, n=n: predict(op, many, name, n),
                20,
            )
        )
    machine, data = place.topology_of(load("gb200-nvl72"), 18), np.ones((72, 7200))
    schedules = [build("all_reduce", 72, name) for name in AT_72]
    slowest = f"72 ranks, the slowest of {len(AT_72)} algorithms"
    found += [
        ("build a schedule", slowest, [lambda name=name: build("all_reduce", 72, name) for name in AT_72], 50),
        ("prove a schedule", slowest, [lambda s=s: prove(s) for s in schedules], 50),
        ("run a schedule on 7,200 numbers a rank", slowest, [lambda s=s: run(s, data) for s in schedules], 50),
        ("time a schedule", slowest, [lambda s=s: stepped(s, machine) for s in schedules], 50),
    ]
    rng = np.random.default_rng(0)
    backward_s, gradient_B = rng.uniform(1e-4, 1e-3, 100), rng.uniform(1e6, 1e8, 100)
    found += [
        ("overlap of gradients and computing", "100 layers", lambda: overlap(backward_s, gradient_B, 25e6, line), 20),
        ("search of a bucket size", "100 layers, 64 sizes", lambda: bucket_search(backward_s, gradient_B, line), 20),
        ("step of ZeRO-3", "100 layers", lambda: sharded_step(backward_s, backward_s, gradient_B, line, line), 20),
        ("sum in a narrow format", "ring of 64, 256 values", lambda: error_against_ranks([64], "bf16"), 20),
        (
            "training with and without error feedback",
            "4 ranks, 120 steps, twice",
            lambda: with_and_without_feedback(TopK(0.01)),
            10_000,
        ),
    ]
    return found


def measure() -> list[dict]:
    """Return rows: what, of how much, processor ms (the best of a few) and what was promised."""
    rows = []
    for what, much, call, promised in calls():
        one_of = call if isinstance(call, list) else [call]
        ms = max(best_ms(each, 2 if promised > 1000 else 5) for each in one_of)
        rows.append({"what": what, "of": much, "cpu_ms": ms, "promised_ms": promised})
    return rows
