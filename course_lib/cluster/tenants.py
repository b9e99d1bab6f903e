"""Tenants on one fabric: whom InfiniBand partition keys and NVLink partitions let talk, and who slows whom all the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.fabric.routes import routes
from course_lib.fabric.sharing import max_min_rates
from course_lib.fabric.topology import Topology

FULL = 0x8000
DEFAULT = 0x7FFF
NOBODY, NETWORK, NVLINK = 0, 1, 2
WAYS = ("nobody", "network", "NVLink")


@dataclass(frozen=True, slots=True)
class Reach:
    """Who reaches whom: `network` and `nvlink` (gpus, gpus) of booleans, True on the diagonal."""

    network: NDArray[np.bool_]
    nvlink: NDArray[np.bool_]

    @property
    def way(self) -> NDArray[np.int8]:
        """The quickest way (gpus, gpus): 0 nobody, 1 network, 2 NVLink (`WAYS`)."""
        return np.where(self.nvlink, NVLINK, np.where(self.network, NETWORK, NOBODY)).astype(np.int8)


def partition_key(number: int, full: bool = True) -> int:
    """Return the 16 bits of a partition key: 15 bits of number, the top bit for full membership.

    >>> hex(partition_key(0x12)), hex(partition_key(0x12, full=False)), hex(partition_key(0x7FFF))
    ('0x8012', '0x12', '0xffff')
    """
    bits = whole("number", number, at_least=1, at_most=DEFAULT)
    return bits | FULL if full else bits


def _keys(table: Sequence[int], who: int) -> set[int]:
    found = set()
    for key in table:
        value = whole(_("key of port {n}").format(n=who), key, at_least=1, at_most=0xFFFF)
        if value == FULL:
            raise CourseError(
                _("Port {n} holds the key 0x8000: its number is 0, which no partition has.").format(n=who)
            )
        found.add(value)
    return found


def network_reach(tables: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return (ports, ports) who may send to whom over InfiniBand, from the partition keys of each port.

    Two ports may talk if they hold keys of the same number (15 bits) and at least one of the two is a full member. Two
    limited members of one partition may not. It is symmetric: membership is compared, not direction.

    Args:
        tables: for each port the 16-bit keys it holds, 0x8000 set for full membership.

    Raises:
        CourseError: keys that are no 16-bit numbers, or whose number is 0.

    Source: InfiniBand architecture specification, chapter 10.9; the subnet manager's `partitions.conf` writes these tables.

    >>> storage, a, b = [0x8005], [0x0005, 0x8001], [0x0005, 0x8002]
    >>> network_reach([storage, a, b]).astype(int).tolist()
    [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
    """
    keys = [_keys(table, who) for who, table in enumerate(tables)]
    numbers = sorted({k & DEFAULT for table in keys for k in table})
    full = np.array([[(n | FULL) in table for n in numbers] for table in keys], bool).reshape(len(keys), -1)
    member = np.array([[n in table or (n | FULL) in table for n in numbers] for table in keys], bool)
    member = member.reshape(len(keys), -1)
    meets = (full.astype(int) @ member.T.astype(int)) > 0
    return meets | meets.T | np.eye(len(keys), dtype=bool)


def nvlink_reach(domain: ArrayLike, partition: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return (gpus, gpus) who may load and store over NVLink: same domain (rack or box) and same NVLink partition.

    Args:
        domain: (gpus,) number of the NVLink domain.
        partition: (gpus,) number of the NVLink partition within its domain; None: one for all. -1 is a GPU in none.

    Partition keys do not enter: NVLink packets never pass an InfiniBand switch. Source: NVIDIA, GB200 NVL Partition User Guide.

    >>> nvlink_reach([0, 0, 0, 1], [0, 0, 1, 0]).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    where = np.asarray(domain)
    part = np.zeros_like(where) if partition is None else np.asarray(partition)
    if where.ndim != 1 or part.shape != where.shape or where.dtype.kind not in "iu" or part.dtype.kind not in "iu":
        raise CourseError(_("domain and partition have to be whole numbers, one for each GPU."))
    same = (where[:, None] == where) & (part[:, None] == part) & (part >= 0)[:, None]
    return same | np.eye(len(where), dtype=bool)


def reach(tables: Sequence[Sequence[int]], domain: ArrayLike, partition: ArrayLike | None = None) -> Reach:
    """Return who reaches whom over both fabrics; each GPU has its own port with its own keys.

    >>> keys = [[0x8001], [0x8002]]  # two tenants, two partition keys, one rack without NVLink partitions
    >>> both = reach(keys, [0, 0])
    >>> bool(both.network[0, 1]), bool(both.nvlink[0, 1]), WAYS[both.way[0, 1]]
    (False, True, 'NVLink')
    """
    network, nvlink = network_reach(tables), nvlink_reach(domain, partition)
    if network.shape != nvlink.shape:
        raise CourseError(
            _("There are keys for {a} ports and domains for {b} GPUs; one of each is expected.").format(
                a=len(network), b=len(nvlink)
            )
        )
    return Reach(network, nvlink)


def leaks(tenant: ArrayLike, found: Reach) -> list[tuple[int, int, str]]:
    """Return the pairs of GPUs of different tenants that reach each other, with the way: (a, b, "network" or "NVLink"), a < b.

    >>> leaks([0, 1], reach([[0x8001], [0x8002]], [0, 0]))
    [(0, 1, 'NVLink')]
    """
    owner = np.asarray(tenant)
    if owner.shape != (len(found.network),):
        raise CourseError(_("tenant has to hold one number for each of {n} GPUs.").format(n=len(found.network)))
    strangers = np.triu(owner[:, None] != owner, 1)
    pairs = []
    for table, way in ((found.network, WAYS[NETWORK]), (found.nvlink, WAYS[NVLINK])):
        pairs += [(int(a), int(b), way) for a, b in np.argwhere(strangers & table)]
    return sorted(pairs)


def slowdowns(
    topology: Topology, jobs: Mapping[str, Sequence[tuple[int, int]]], *, choice: str = "adaptive", seed: int = 0
) -> dict[str, dict[str, float]]:
    """Return who slows whom: for each job, how many times slower its slowest flow is because of each other job (1: not at all).

    Args:
        topology: a fabric.
        jobs: flows of each job as (from, to) pairs of GPUs.
        choice: of the ways, as in `fabric.routes.routes`: `adaptive` spreads, `hashed` picks one by hash, `fixed` by number.
        seed: of the hash.

    Rates are max–min fair (`fabric.sharing.max_min_rates`): without other jobs, with one, and with all ("all"). Keys and
    partitions keep tenants from each other's data; they do not give anybody a share of a link.

    >>> from course_lib.fabric.scaleout import cluster
    >>> from course_lib.fabric.scaleup import nvswitch_box
    >>> pod = cluster(nvswitch_box("h100", 8, [18], 25e9), 8, oversubscription=4.0, radix=16, attach="leaf")
    >>> mine = {"a": [(0, 16)], "b": [(1, 17), (2, 18), (3, 19)]}
    >>> found = slowdowns(pod, mine)
    >>> found["a"]["b"] > 1.5, found["a"]["all"] == found["a"]["b"]
    (True, True)
    """
    if not jobs:
        raise CourseError(_("Give at least one job."))
    flows = {}
    for name, pairs in jobs.items():
        table = np.asarray(pairs)
        if table.ndim != 2 or table.shape[1:] != (2,) or not len(table):
            raise CourseError(_("Job {name}: a list of (from, to) pairs is expected.").format(name=name))
        flows[name] = table

    def slowest(names: list[str], mine: str) -> float:
        every = np.concatenate([flows[n] for n in names])
        rate = max_min_rates(topology, routes(topology, every[:, 0], every[:, 1], choice=choice, seed=seed))
        first = sum(len(flows[n]) for n in names[: names.index(mine)])
        return float(rate[first : first + len(flows[mine])].min())

    found: dict[str, dict[str, float]] = {}
    for mine in flows:
        alone = slowest([mine], mine)
        others = [n for n in flows if n != mine]
        found[mine] = {other: alone / slowest([mine, other], mine) for other in others}
        found[mine]["all"] = alone / slowest(list(flows), mine)
    return found
