"""Question 03.q4: the slowest flow through a non-blocking switch."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question


def slowest_GBps(src: list, dst: list, port_GBps: float) -> float:
    """Return the slowest flow through a crossbar: a port over the most flows that leave or enter one GPU."""
    busiest = max(np.bincount(src).max(), np.bincount(dst).max())
    return port_GBps / float(busiest)


def _both_ports_GBps(src: list, dst: list, port_GBps: float) -> list[float]:
    """Return what several ways of counting the sender's flows and the receiver's together give to the slowest flow."""
    out, into = np.bincount(src, minlength=99), np.bincount(dst, minlength=99)
    counts = [(out[a], into[b]) for a, b in zip(src, dst, strict=True)]
    most = [max(a * b for a, b in counts), max(a + b for a, b in counts), max(a + b - 1 for a, b in counts)]
    return [port_GBps / float(n) for n in (*most, out.max() * into.max(), out.max() + into.max())]


def _switch_cases(rng: np.random.Generator) -> list[Case]:
    fixed = [
        ([0], [1], 450.0),
        ([0, 1], [1, 0], 450.0),
        ([0, 1, 2], [3, 3, 3], 450.0),
        ([3, 3, 3], [0, 1, 2], 450.0),
        (list(range(8)), [(i + 3) % 8 for i in range(8)], 450.0),
        (list(range(7)), [7] * 7, 450.0),
        ([i for i in range(4) for j in range(4) if i != j], [j for i in range(4) for j in range(4) if i != j], 900.0),
        ([0, 0, 0, 4, 5], [1, 2, 3, 1, 6], 300.0),
    ]
    drawn = []
    for _unused in range(8):
        n, flows = int(rng.integers(4, 17)), int(rng.integers(4, 25))
        src = rng.integers(0, n, flows)
        dst = (src + rng.integers(1, n, flows)) % n
        drawn.append((src.tolist(), dst.tolist(), float(rng.choice([150.0, 300.0, 450.0, 900.0]))))
    return [Case({"src": a, "dst": b, "port_GBps": rate}) for a, b, rate in fixed + drawn]


q4 = Question(
    id="03.q4",
    title=_("The slowest flow through a non-blocking switch"),
    points=2,
    answer="slowest_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.005),
    inputs=_switch_cases,
    reference=slowest_GBps,
    withholds=("course_lib.fabric.sharing",),
    misconceptions=(
        Misconception(
            "non-blocking means full rate for all",
            lambda src, dst, port_GBps: float(port_GBps),
            _("You give every flow the full port. That holds for permutations; here several flows meet in one port."),
        ),
        Misconception(
            "receivers only",
            lambda src, dst, port_GBps: port_GBps / float(np.bincount(dst).max()),
            _("You look at the receivers only. Flows that leave the same GPU share its port as well."),
        ),
        Misconception(
            "senders only",
            lambda src, dst, port_GBps: port_GBps / float(np.bincount(src).max()),
            _("You look at the senders only. Flows that enter the same GPU share its port as well."),
        ),
        Misconception(
            "one road for all",
            lambda src, dst, port_GBps: port_GBps / len(src),
            _("You let all flows share one port, as on a bus. A crossbar has a port for every GPU."),
        ),
        Misconception(
            "in and out share a port",
            lambda src, dst, port_GBps: (
                port_GBps / float((np.bincount(src, minlength=99) + np.bincount(dst, minlength=99)).max())
            ),
            _(
                "You let what leaves a GPU and what enters it share one rate. The two directions of a port are separate."
            ),
        ),
        Misconception(
            "two ports one after the other",
            lambda src, dst, port_GBps: _both_ports_GBps(src, dst, port_GBps)[0],
            _(
                "You put the flows of the sender and those of the receiver together. A flow passes both ports at the same time: "
                "the smaller of its two shares counts."
            ),
            recognise=lambda given, **case: any(
                Number("GB/s").same(given, wrong) for wrong in _both_ports_GBps(**case)
            ),
        ),
        Misconception(
            "GPUs for flows",
            lambda src, dst, port_GBps: port_GBps / len(set(dst)),
            _("You count GPUs. What shares a port are flows: those that leave one GPU, or enter one."),
            recognise=lambda given, src, dst, port_GBps: any(
                Number("GB/s").same(given, port_GBps / len(set(ends))) for ends in (src, dst)
            ),
        ),
        Misconception(
            "the fastest flow",
            lambda src, dst, port_GBps: (
                port_GBps / min(max(src.count(a), dst.count(b)) for a, b in zip(src, dst, strict=True))
            ),
            _("That is the fastest flow. The slowest is asked for."),
        ),
    ),
)
