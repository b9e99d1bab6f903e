"""One figure of each kind, for the tests that hold for all of them: those made here, and the example of every figure function."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import plotly.graph_objects as go

from course_lib import figures
from course_lib.base.scale import say_rate
from course_lib.comm import ring
from course_lib.comm.promise import promise
from course_lib.comm.trace import trace
from course_lib.fabric.scaleup import simple_host
from course_lib.figures import (
    busbw,
    collectives,
    curves,
    degrees,
    experts,
    graphs,
    racks,
    rows,
    slicing,
    spacetime,
    speeds,
    stepbars,
    tensorscaling,
)
from course_lib.plan.rackruns import between, measured
from course_lib.timing.stepped import stepped
from course_lib.timing.timeline import timeline

SIZES = np.logspace(1, 10, 60)
BY_OTHERS_WORDS = {"diagnosis"}  # titles and words come from what somebody pasted


def curve(name, latency_s, bandwidth_Bps, role):
    rate = SIZES / (latency_s + SIZES / bandwidth_Bps)
    return curves.Curve(name, rate, role, half_B=latency_s * bandwidth_Bps, limit=bandwidth_Bps)


def rate():
    sizes = np.array([1e5, 1e7])
    seen = curves.Measured("a copy", sizes, np.array([7e9, 4e10]), np.array([6e9, 3e10]), np.array([8e9, 4.5e10]))
    both = [curve("NVLink 4", 2e-6, 396e9, "nvlink"), curve("PCIe 5 x16", 6e-6, 55e9, "pcie")]
    staged = curve("PCIe 5 x16, staged in host memory", 2e-5, 25e9, "pcie")
    return curves.rate_over_size(SIZES, [*both, staged], measured=[seen], at_B=1e6)


def time():
    return curves.time_over_size(SIZES, [curves.Curve("card", 5e-6 + SIZES / 5e10, "network", half_B=2.5e5)])


def fit():
    sizes = np.logspace(3, 9, 9)
    line = 8e-6 + sizes / 5e10
    return curves.fit_and_residuals(
        sizes, line * np.linspace(0.9, 1.1, 9), line, low_s=line * 0.8, high_s=line * 1.2, name="8 µs + m/β"
    )


def ladder():
    return rows.ladder(["PCIe 5 x16", "HBM3", "NVLink 4"], [63e9, 3.35e12, 450e9], ["pcie", "memory", "nvlink"])


def losses():
    return rows.losses(["line rate", "encoding", "headers"], [64e9, 63e9, 57e9], measured_Bps=55.4e9)


def residuals():
    return rows.residuals(["host copy", "peer copy"], [55.4e9, 396e9], [57e9, 380e9], say_rate)


def tree():
    kinds = ["root", "switch", "gpu", "gpu", "nic"]
    names = ["CPU", "switch", "GPU 0", "GPU 1", "card"]
    up, down, capacity = [0, 5e10, 5e10, 0, 0], [0, 0, 0, 0, 5e10], [0, 5.5e10, 5.5e10, 5.5e10, 5.5e10]
    return graphs.pcie_tree(names, kinds, [-1, 0, 1, 1, 0], up, down, capacity)


def cells():
    schedule = ring.all_reduce(8)
    timed = timeline(stepped(schedule, simple_host("switch", 8, 450e9, 1e-6)), 1e9)
    return spacetime.spacetime(trace(schedule), 9, timed)


def bars():
    times = [
        timeline(stepped(ring.all_reduce(n), simple_host("switch", 8, 450e9, 1e-6)), message_B)
        for n, message_B in ((8, 1e4), (4, 1e6))
    ]
    return stepbars.in_time(["eight ranks", "four ranks"], times)


def promises():
    return collectives.promises([promise(op, 4) for op in ("all_reduce", "all_gather", "all_to_all")])


def heaviest():
    return collectives.heaviest(["all to rank 0", "ring"], [7e9, 1.75e9], 1.75e9)


def shares():
    n = np.array([2, 8, 72])
    return collectives.bytes_over_ranks(
        n, [("all-reduce", 2 * (n - 1) / n), ("all-gather,<br>reduce-scatter", (n - 1) / n)]
    )


def matrix_cuts():
    return slicing.cuts(4)


def matrix_pair():
    return slicing.pair(3)


def memory_of_a_gpu():
    parts = {"weights": [160e9, 80e9], "gradients": [1e9, 5e8], "optimizer": [2e9, 1e9], "activations": [4e9, 3e9]}
    return slicing.memory_per_gpu([1, 2], parts, 90e9, gpu="H100", what="A model")


def degree():
    times = [2.0, 1.0, 0.5], [0.0, 0.1, 0.4]
    roles = ["nvlink", "nvlink", "network"]
    return degrees.time_and_memory([1, 8, 16], *times, [160e9, 20e9, 10e9], 80e9, chosen=8, roles=roles, title="8 GPUs")


def two_gpus():
    return tensorscaling.bars_over_links(["NVLink", "PCIe"], [1.0, 1.0], [0.1, 1.4], ["nvlink", "pcie"], 2.0)


def tensor_scaling():
    measured = [[10, 8, 4], [10, 9, 5]]
    return tensorscaling.scaling([2, 8, 16], measured, [[10, 9, 7], [10, 8, 6]], ["sums", "tokens"])


def bus():
    rates = [1e8, 2e10, 2e11], [4e8, 6e10, 3e11], [2e8, 3e10, 2.2e11]
    return busbw.measured_beside([1e3, 1e6, 1e9], *rates, 3e11, where="8 GPUs")


def layer_of_experts():
    times = [3e-4, 4e-4, 5e-4, 6e-4], [3e-4, 2e-4, 1e-4, 4e-4], [2e-4, 1e-4, 3e-5, 2e-5]
    return experts.layer_over_degrees([8, 16, 64, 256], *times, chosen=64, title="64 GPUs share the experts")


def exchanges_measured():
    times = [[2e-5, 3e-5], [3e-5, 6e-5]]
    return experts.exchanges([8, 64], times, times, [3e-5, 9e-5], names=["out", "back"], axis="GPUs", title="64 GPUs")


def seats_of_a_rack():
    return racks.seats("gb200-nvl72", 72, lost_hosts=[3], letters=["A"] * 64 + [""] * 8)


def over_racks():
    return racks.all_reduces(measured(), between(2))


def both_sides_of_serving():
    return speeds.speeds([[10, 100], [10, 90]], [[9000, 900], [8000, 400]], ["rack", "boxes"], measured=True)


EVERY = (
    rate,
    time,
    fit,
    ladder,
    losses,
    residuals,
    tree,
    cells,
    bars,
    promises,
    heaviest,
    shares,
    matrix_cuts,
    matrix_pair,
    memory_of_a_gpu,
    degree,
    two_gpus,
    tensor_scaling,
    bus,
    layer_of_experts,
    exchanges_measured,
    seats_of_a_rack,
    over_racks,
    both_sides_of_serving,
)


def functions():
    """Yield module, name, function and the module's names for every function of course_lib.figures that returns a figure."""
    for module in sorted({m.name for m in pkgutil.iter_modules(figures.__path__)} - BY_OTHERS_WORDS):
        content = vars(importlib.import_module(f"course_lib.figures.{module}"))
        for name, function in sorted(content.items()):
            if (
                inspect.isfunction(function)
                and function.__module__ == f"course_lib.figures.{module}"
                and not name.startswith("_")
                and function.__annotations__.get("return") is go.Figure
                and "figure" not in inspect.signature(function).parameters
                and "fig" not in inspect.signature(function).parameters
                and name != "base_figure"
            ):
                yield module, name, function, content


def example(module, name, function, content):
    """Return a function that runs the example of a figure function and returns its figure."""

    def make():
        made = []
        names = dict(content) | {name: lambda *given, **more: made.append(function(*given, **more)) or made[-1]}
        for test in doctest.DocTestFinder(recurse=False).find(function, name, globs={}):
            for example in test.examples:
                exec(example.source, names)
        return made[0]

    make.__name__ = f"{module}.{name}"
    return make


FUNCTIONS = tuple(functions())
EVERY += tuple(example(*one) for one in FUNCTIONS)
