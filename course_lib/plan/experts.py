"""Experts on many GPUs: how many copies of a token travel, how many bytes that is, and how long dispatch and combine take.

Validity: tokens are routed evenly and independently (a real router is not even; `imbalance` says by how much the fullest
GPU exceeds the mean). Every rank has as many tokens as every other. Links are those of the system as a whole.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.expertconstants import PHASES, WAYS, constants
from course_lib.plan.transformer import Shape, model
from course_lib.timing.laws import shape as placement
from course_lib.timing.system import System, load
from course_lib.timing.tuning import placed, predict

SCALE_BLOCK, SCALE_B = 128, 4  # FP8 values travel with one FP32 scale for each 128 of them
HEADER_B = 16  # where a copy came from, for the way back
SMS = 24  # processors of the GPU that a throughput kernel takes


def visits(n_experts: int, n_active: int, n_groups: object) -> np.ndarray | float:
    """Return in how many of `n_groups` equal groups of experts a token has work, on average; `n_groups` is a number or an array.

    A token visits `n_active` different experts, all choices equally likely: groups · (1 − C(E − E/groups, k) / C(E, k)).
    Groups need not divide the experts (copies of experts fill up); 1 group is visited by every token.

    >>> float(visits(256, 8, 1)), round(float(visits(256, 8, 8)), 2), round(float(visits(256, 8, 256)), 2)
    (1.0, 5.29, 8.0)
    """
    e = whole("n_experts", n_experts, at_least=1)
    k = whole("n_active", n_active, at_least=1, at_most=e)
    groups = np.asarray(finite("n_groups", n_groups, at_least=1))
    each = e / groups
    i = np.arange(k).reshape((k,) + (1,) * groups.ndim)
    missed = np.clip((e - each - i) / (e - i), 0.0, 1.0).prod(axis=0)
    return (groups * (1.0 - missed))[()]


def token_B(hidden: int, phase: str, element_B: float | None = None) -> float:
    """Return the bytes of one copy of a token: "dispatch" carries FP8 with its scales (or `element_B` a value), "combine" BF16.

    >>> token_B(7168, "dispatch"), token_B(7168, "combine"), token_B(7168, "dispatch", 2)
    (7408.0, 14336.0, 14352.0)
    """
    hidden = whole("hidden", hidden, at_least=1)
    if one_of(_("phase"), phase, PHASES) == "combine":
        return hidden * finite("element_B", 2 if element_B is None else element_B, above=0)
    if element_B is None:
        return hidden * 1.0 + math.ceil(hidden / SCALE_BLOCK) * SCALE_B + HEADER_B
    return hidden * finite("element_B", element_B, above=0) + HEADER_B


@dataclass(frozen=True, slots=True)
class Exchange:
    """Seconds of one exchange, an entry for each number of tokens; `parts` add up to `time_s` and name launch, latency, bytes.

    `message_B` is the buffer of one rank as nccl-tests counts it; `bottleneck` is "scale-up" or "network".
    """

    phase: str
    way: str
    n_ranks: int
    message_B: np.ndarray | float
    time_s: np.ndarray | float
    parts: dict[str, np.ndarray | float]
    bottleneck: str


@functools.lru_cache(maxsize=512)
def wires(system: System, n: int, n_hosts: int) -> tuple[float, float, str]:
    """Return (seconds, seconds per byte, the fabric that sets them) of an all-to-all on the wires alone, from `predict`.

    >>> wires(load("dgx-h100"), 8, 1)[2]
    'scale-up'
    """
    p = predict("all_to_all", [0.0, 1e9], system, n, n_hosts=n_hosts, ideal=True)
    return float(p.time_s[0]), float(p.time_s[1] - p.time_s[0]) / 1e9, str(p.bottleneck[1])


def exchange(
    tokens: object,
    system: "str | System",
    n_ranks: int,
    phase: str,
    *,
    shape: "Shape | str" = "deepseek-v3",
    way: str = "low-latency",
    element_B: float | None = None,
    imbalance: float = 1.0,
    sms: int = SMS,
    n_hosts: int | None = None,
) -> Exchange:
    """Return what one exchange of a layer of experts takes: "dispatch" brings tokens to experts, "combine" brings results back.

    Args:
        tokens: tokens of each rank, a number or an array.
        system: name, path or System; `n_ranks` of its GPUs share the experts.
        phase: "dispatch" or "combine".
        shape: the model: hidden size, experts, how many of them a token visits.
        way: "library" (the collective library's all-to-all), "low-latency" (every copy is sent straight to its GPU by a
            kernel made for it), "throughput" (a copy crosses the network once for each other domain and is passed on
            inside) or "throughput-v1" (an older kernel of that kind).
        element_B: bytes of a value; None: FP8 out with scales, BF16 back.
        imbalance: tokens of the fullest rank over the mean.
        sms: processors that a throughput kernel takes.

    Wires are priced by `timing.tuning.predict`; what kernels lose on them is fitted (`plan.expertruns` shows the
    residuals). Raises CourseError for models without experts and ranks that do not fit.

    >>> round(exchange(128, "dgx-b200", 8, "dispatch").time_s * 1e6)
    34
    >>> inside, across = (exchange(128, s, 64, "combine").time_s for s in ("gb200-nvl72", "dgx-b200"))
    >>> bool(across > 5 * inside)
    True
    """
    shape, place = model(shape), load(system)
    if not shape.n_experts:
        raise CourseError(_("{name} has no experts; nothing is dispatched.").format(name=shape.name or _("This model")))
    phase, way = one_of(_("phase"), phase, PHASES), one_of(_("way to exchange"), way, WAYS)
    tokens = finite("tokens", tokens, at_least=0)
    imbalance = finite("imbalance", imbalance, at_least=1)
    n, hosts = placed(place, n_ranks, n_hosts)
    each_B = token_B(shape.hidden, phase, element_B) * imbalance
    message_B = tokens * shape.n_active * each_B
    if n == 1:
        zero = message_B * 0.0
        return Exchange(phase, way, 1, message_B, zero, {}, "none")
    if way == "library":
        p = predict("all_to_all", message_B, place, n, n_hosts=hosts)
        most = p.bottleneck if np.ndim(message_B) == 0 else str(p.bottleneck.flat[-1]) if p.bottleneck.size else "none"
        return Exchange(phase, way, n, message_B, p.time_s, dict(p.terms), most)
    c = constants(way, phase)
    if way == "low-latency":
        fixed_s, per_B, most = wires(place, n, hosts)
        share = c.net_eff if most == "network" else c.up_eff
        launch_s = c.net_launch_s if most == "network" else c.launch_s
        sent = per_B * message_B / share
    else:
        fixed_s, launch_s, sent, most = _two_levels(shape, place, n, hosts, tokens * each_B, c, sms)
    one = np.ones_like(message_B)[()]
    parts = {"launch": launch_s * one, "latency": fixed_s * one, "bytes": sent}
    return Exchange(phase, way, n, message_B, sum(parts.values()), parts, most)


def _two_levels(shape: Shape, place: System, n: int, hosts: int, one_copy_B, c, sms: int):
    """Seconds of latency, launch and bytes where a copy crosses the network once per domain; both levels work at the same time."""
    sms = whole("sms", sms, at_least=1, at_most=256)
    seat = placement(place, n, hosts)
    copies = float(visits(shape.n_experts, shape.n_active, n))
    per_GPU_B = one_copy_B * copies * (1 - 1 / seat.k)
    up_s = per_GPU_B / np.minimum(c.up_eff * place.scale_up.bandwidth_Bps, sms * c.per_sm_Bps)
    if seat.domains == 1:
        fixed_s, _per_B, _most = wires(place, n, hosts)
        return fixed_s, c.launch_s, up_s, "scale-up"
    fixed_s, per_B, _most = wires(place, n, hosts)
    net_s = one_copy_B * float(visits(shape.n_experts, shape.n_active, seat.domains)) * per_B / c.net_eff
    slower = "network" if np.max(net_s - up_s, initial=-np.inf) >= 0 else "scale-up"
    return fixed_s, c.launch_s, np.maximum(net_s, up_s), slower


def sent_copies(
    shape: "Shape | str", system: "str | System", n_ranks: int, way: str = "low-latency"
) -> tuple[float, float]:
    """Return how many copies of each token cross the network, and how many a scale-up link, on average.

    >>> [tuple(round(c, 1) for c in sent_copies("deepseek-v3", "dgx-b200", 64, w)) for w in ("low-latency", "throughput")]
    [(7.0, 0.9), (4.6, 6.7)]
    """
    shape, place = model(shape), load(system)
    n, hosts = placed(place, n_ranks, None)
    seat = placement(place, n, hosts)
    if one_of(_("way to exchange"), way, WAYS) in ("library", "low-latency"):
        each = shape.n_active / n
        return each * (n - seat.k), each * (seat.k - 1)
    net = float(visits(shape.n_experts, shape.n_active, seat.domains)) * (1 - 1 / seat.domains)
    return net, float(visits(shape.n_experts, shape.n_active, n)) * (1 - 1 / seat.k)
