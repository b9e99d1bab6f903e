"""Flows of 32 GPUs through leaves and spines: what each gets, by wiring, pattern and choice of uplink."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.cluster.tenants import slowdowns
from course_lib.fabric.patterns import permutation, shift
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import simple_host
from course_lib.fabric.sharing import loads, max_min_rates
from course_lib.fabric.topology import Topology

HOSTS, PER_HOST = 8, 4
CARD_Bps, NVLINK_Bps = (hardware.link(name).line_Bps for name in ("ib-ndr", "nvlink4"))
RATIOS = (1, 2, 4)
SEEDS = range(1, 13)
PATTERNS = (
    (_("a random permutation"), "permutation"),
    (_("another one"), "another"),
    (_("to its twin, next host"), "twin"),
)
WAYS = (
    (_("by hash of the flow (ECMP)"), "hashed"),
    (_("by a table of destinations"), "fixed"),
    (_("spread over all (adaptive)"), "adaptive"),
)


@lru_cache(maxsize=8)
def fabric(ratio: int = 1, attach: str = "leaf") -> Topology:
    """Return eight hosts of four GPUs with a card each, below eight leaves: with `leaf` a host's cards share one, with `rail` twins do.

    >>> net = fabric(2).plan.net
    >>> net.n_leaves, net.uplinks, net.n_spines
    (8, 2, 2)
    """
    host = simple_host("switch", PER_HOST, NVLINK_Bps, hardware.value("nvlink4", "step_s"))
    name = _("8 hosts, {r}:1").format(r=ratio)
    return cluster(
        host,
        HOSTS,
        nics_per_host=PER_HOST,
        radix=8,
        oversubscription=ratio,
        attach=attach,
        bandwidth_Bps=CARD_Bps,
        name=name,
    )


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows through the fabric: fair rates of those that leave their host (p,), what links carry (l,), flows on the fullest uplink."""

    topology: Topology
    choice: str
    ratio: int
    seed: int
    rate_Bps: np.ndarray
    flow_Bps: np.ndarray
    fullest: float
    first: int  # the uplink, or the link down to a leaf, that carries most flows
    climbing: float  # share of the flows that leave their host and climb to a spine
    uplinks: int

    @property
    def slowest_Bps(self) -> float:
        return float(self.rate_Bps.min())

    @property
    def mean_Bps(self) -> float:
        return float(self.rate_Bps.mean())


def pairs(pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """Return who sends to whom among the 32 GPUs.

    >>> [int(end[5]) for end in pairs("twin")]
    [5, 9]
    """
    n = HOSTS * PER_HOST
    pattern = one_of(_("pattern"), pattern, [name for _title, name in PATTERNS])
    return shift(n, PER_HOST) if pattern == "twin" else permutation(n, 1 if pattern == "permutation" else 2)


@lru_cache(maxsize=512)
def send(
    pattern: str = "permutation", choice: str = "hashed", seed: int = 1, ratio: int = 1, attach: str = "leaf"
) -> Flows:
    """Return what every flow gets; those that stay in their host use NVLink and are left out of the rates.

    >>> by_hash, spread = send("twin", "hashed", 1), send("twin", "adaptive", 1)
    >>> by_hash.slowest_Bps < spread.slowest_Bps, round(spread.slowest_Bps / 1e9)
    (True, 50)
    """
    topology = fabric(ratio, attach)
    src, dst = pairs(pattern)
    paths = routes(topology, src, dst, choice, seed)
    rate = max_min_rates(topology, paths)
    away = src // PER_HOST != dst // PER_HOST
    plan = topology.plan
    first, last = plan.link["leaf_up"], plan.link["leaf_up"] + plan.net.n_leaves * plan.net.uplinks
    meet = loads(topology, paths, 1.0)[first : first + 2 * (last - first)]
    flow = loads(topology, paths, rate)
    climbing = float(meet[: last - first].sum() / away.sum())
    where = first + int(meet.argmax())
    return Flows(topology, choice, ratio, seed, rate[away], flow, float(meet.max()), where, climbing, plan.net.uplinks)


def over_seeds(pattern: str = "twin", ratio: int = 1) -> np.ndarray:
    """Return the slowest flow (12,) for each hash, bytes/s.

    >>> bool((over_seeds() < 50e9).all())
    True
    """
    return np.array([send(pattern, "hashed", s, ratio).slowest_Bps for s in SEEDS])


TWO_TENANTS = {"A": [(0, 4), (1, 5), (4, 0), (5, 1)], "B": [(2, 6), (3, 7), (6, 2), (7, 3)]}


def neighbours(ratio: int, choice: str, seed: int = 1) -> str:
    """Return how many times slower each of two tenants is because of the other.

    >>> neighbours(1, "adaptive")
    'A 1 ×, B 1 ×'
    """
    found = slowdowns(fabric(ratio), TWO_TENANTS, choice=choice, seed=seed)
    return ", ".join(_("{who} {r} ×").format(who=who, r=say_number(each["all"], 2)) for who, each in found.items())
