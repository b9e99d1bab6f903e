"""Lesson 05: what all-reduces cost on wires alone, as steps, as bytes, and along one time axis."""

from collections.abc import Sequence

import plotly.graph_objects as go

from course_lib.base.language import _
from course_lib.base.scale import GiB, say_time
from course_lib.comm import registry
from course_lib.figures.algorithms import steps_and_bytes
from course_lib.figures.stepbars import in_time
from course_lib.timing.busbw import carried
from course_lib.timing.closedform import form, time_s
from course_lib.timing.place import switches, topology_of
from course_lib.timing.stepped import stepped
from course_lib.timing.system import load
from course_lib.timing.timeline import timeline
from course_lib.timing.tuning import predict


def in_a_row(algorithms: Sequence[str], message_B: float, system: str = "dgx-h100", n_ranks: int = 8) -> go.Figure:
    """Return all-reduces along one time axis, each step on the wires of a system; names as in `comm.registry`.

    >>> in_a_row(["ring", "binomial"], 0).layout.title.text
    '0 B: binomial takes 6 µs, ring 14 µs, 2.3 × as long'
    """
    place = load(system)
    per_domain = min(n_ranks, place.gpus_per_domain)
    machine = topology_of(place, -(-n_ranks // place.gpus_per_host))
    lines = []
    for name in algorithms:
        inner = {"ranks_per_domain": per_domain} if name.startswith("hierarchical-") else {}
        schedule = registry.build("all_reduce", n_ranks, name, **inner)
        lines.append(timeline(stepped(schedule, machine, switches(schedule, machine, per_domain)), message_B))
    return in_time(list(algorithms), lines)


def plane(n_ranks: int, *, switch: bool = False) -> go.Figure:
    """Return steps and bytes of the algorithms that have a closed form on `n_ranks`, a power of two; `switch` adds those in it.

    >>> plane(64).layout.title.text.replace("<br>", " ")
    'On 64 GPUs: ring takes 126 steps and 1.97 messages, binomial tree 12 steps and 12'
    """
    names = {
        "ring": "ring",
        "binomial": _("binomial tree"),
        "halving-doubling": _("halving–doubling"),
        "direct": _("direct"),
    }
    deep = {"in-network": _("NVLS"), "sharp": _("push-up")} if switch else {}
    forms = [form("all_reduce", name, n_ranks) for name in names] + [form("all_reduce", name, n_ranks) for name in deep]
    bytes_ = [f.factor for f in forms[: len(names)]] + [max(carried("all_reduce", name, n_ranks)) for name in deep]
    best = list(deep.values())
    return steps_and_bytes([*names.values(), *best], [f.steps for f in forms], bytes_, n_ranks, best=best)


def on_wires(system: str, n_ranks: int, algorithms: Sequence[str], message_B: float = GiB) -> dict[str, str]:
    """Return the time of all-reduces on the wires of a system alone, in words; names as in `comm.registry`.

    >>> on_wires("dgx-h100", 8, ["ring", "binomial"])
    {'ring': '4.19 ms', 'binomial': '14.3 ms'}
    """
    times = {a: predict("all_reduce", message_B, system, n_ranks, algorithm=a, ideal=True).time_s for a in algorithms}
    return {name: say_time(time_s) for name, time_s in times.items()}


def parts_of_hierarchy(message_B: float, domains: int, per_domain: int, inner: tuple, outer: tuple) -> dict[str, str]:
    """Return the three parts of a hierarchical ring all-reduce as times; `inner` and `outer` are (latency_s, bandwidth_Bps).

    >>> parts_of_hierarchy(2**30, 4, 8, (1e-6, 450e9), (5e-6, 50e9))["all-gather inside"]
    '2.09 ms'
    """
    return {
        _("reduce-scatter inside"): say_time(time_s("reduce_scatter", "ring", message_B, per_domain, *inner), 3),
        _("all-reduce of a shard between"): say_time(
            time_s("all_reduce", "ring", message_B / per_domain, domains, *outer), 3
        ),
        _("all-gather inside"): say_time(time_s("all_gather", "ring", message_B, per_domain, *inner), 3),
    }
