"""The size of a network and the way through it: leaves, spines, cores counted and routed by arithmetic."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.fabric.runs import mix

ATTACHES = ("rail", "leaf")
USUAL_RADIX = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class Clos:
    """How many switches of each level, and how many cables run between them; all derived from ports and ratio.

    Uplink u of a leaf goes to spine u // cables_per_spine of its pod; uplink c of a spine to core c // cables_per_core
    of the group that serves this spine's place in every pod.
    """

    n_hosts: int
    nics_per_host: int
    attach: str  # "rail": card i of every host on leaf i of its block; "leaf": all cards of a host on one leaf
    hosts_per_block: int  # hosts under one leaf (or under one set of rail leaves)
    levels: int
    n_leaves: int
    uplinks: int  # of one leaf
    oversubscription: float  # cards' bandwidth over uplinks' bandwidth at a full leaf
    leaves_per_pod: int
    spines_per_pod: int
    cables_per_spine: int
    spine_uplinks: int
    cores_per_group: int
    cables_per_core: int
    radix: int

    @property
    def n_pods(self) -> int:
        return -(-self.n_leaves // self.leaves_per_pod)

    @property
    def n_spines(self) -> int:
        return self.n_pods * self.spines_per_pod

    @property
    def n_cores(self) -> int:
        return self.spines_per_pod * self.cores_per_group

    @property
    def n_switches(self) -> int:
        return self.n_leaves + self.n_spines + self.n_cores

    @property
    def n_cables(self) -> int:
        """Cables from cards to leaves, between leaves and spines, and between spines and cores."""
        return self.n_hosts * self.nics_per_host + self.n_leaves * self.uplinks + self.n_spines * self.spine_uplinks


def clos(
    n_hosts: int,
    nics_per_host: int = 8,
    *,
    radix: int | None = None,
    oversubscription: float = 1.0,
    attach: str = "rail",
    levels: int | None = None,
) -> Clos:
    """Return the smallest network of one to three levels that joins the hosts at this ratio.

    Args:
        n_hosts: hosts.
        nics_per_host: network cards of each.
        radix: ports of every switch; None: 64 (400 Gb/s InfiniBand), or 128 or 256 where three levels of 64 cannot reach.
        oversubscription: bandwidth down over bandwidth up at a full leaf: 1 is non-blocking, 7 is a seventh going up.
            Where the ports do not divide evenly the uplink count is rounded up.
        attach: `rail` or `leaf`.
        levels: 1 to 3; None: as few as possible. One level with rails has no way from rail to rail but through hosts.

    Raises:
        CourseError: a size that this radix cannot reach (the sentence says how many hosts it can), or bad counts.

    Validity: above the leaves nothing is oversubscribed. Checked against the published DGX SuperPOD sizes.

    >>> big = clos(512)
    >>> big.n_leaves, big.n_spines, big.n_cores
    (128, 128, 64)
    """
    h, m = whole("n_hosts", n_hosts, at_least=1), whole("nics_per_host", nics_per_host, at_least=1)
    ratio = finite("oversubscription", oversubscription, above=0)
    attach = one_of("attach", attach, ATTACHES)
    wanted = None if levels is None else whole("levels", levels, at_least=1, at_most=3)
    if radix is None:
        for ports in USUAL_RADIX if wanted is None else USUAL_RADIX[:1]:
            try:
                return clos(h, m, radix=ports, oversubscription=ratio, attach=attach, levels=wanted)
            except CourseError as too_small:
                last = too_small
        raise last
    radix = whole("radix", radix, at_least=2)
    block, leaves_per_block = _block(h, m, radix, ratio, attach, wanted)
    n_blocks = -(-h // block)
    n_leaves = n_blocks * leaves_per_block
    down = min(h, block) * (1 if attach == "rail" else m)
    uplinks = max(1, math.ceil(down / ratio - 1e-9))
    lone = n_leaves == 1
    least = 1 if lone else 2 if n_leaves <= radix else 3
    chosen = least if wanted is None else wanted
    if (chosen == 1 and n_blocks > 1) or (chosen == 2 and n_leaves > radix):
        raise CourseError(
            _("{n} hosts need {leaves} leaves; {levels} level(s) of {radix}-port switches cannot join them.").format(
                n=h, leaves=n_leaves, levels=chosen, radix=radix
            )
        )
    sizes = dict.fromkeys(
        ("spines_per_pod", "cables_per_spine", "spine_uplinks", "cores_per_group", "cables_per_core"), 0
    )
    pod = n_leaves
    if chosen == 1:
        uplinks = 0
    elif chosen == 2:
        sizes.update(zip(("spines_per_pod", "cables_per_spine"), _bundle(uplinks, radix // n_leaves), strict=True))
    else:
        # A set of rail leaves stays in one pod where it fits.
        half = radix // 2
        pod = min(n_leaves, half // leaves_per_block * leaves_per_block or half)
        n_pods = -(-n_leaves // pod)
        if n_pods > radix:
            raise CourseError(
                _("{n} hosts are too many for three levels of {radix}-port switches, which reach {most}.").format(
                    n=h, radix=radix, most=radix * pod // leaves_per_block * block
                )
            )
        sizes.update(zip(("spines_per_pod", "cables_per_spine"), _bundle(uplinks, (radix // 2) // pod), strict=True))
        sizes["spine_uplinks"] = pod * sizes["cables_per_spine"]
        cores = _bundle(sizes["spine_uplinks"], radix // n_pods)
        sizes.update(zip(("cores_per_group", "cables_per_core"), cores, strict=True))
    return Clos(h, m, attach, block, chosen, n_leaves, uplinks, ratio, leaves_per_pod=pod, radix=radix, **sizes)


def _block(h: int, m: int, radix: int, ratio: float, attach: str, levels: int | None) -> tuple[int, int]:
    """Return (hosts under one leaf or set of rail leaves, leaves of the set)."""
    if attach == "rail" and levels == 1:
        return min(h, radix), m
    if levels in (None, 1) and h * m <= radix and (attach == "leaf" or m == 1):
        return h, 1  # one switch holds everything
    ports = math.floor(radix * ratio / (1 + ratio) + 1e-9)  # down ports that leave enough for the uplinks
    ports = min(ports, radix - 1)
    if attach == "rail":
        return max(1, min(h, ports)), m
    if ports < m:
        raise CourseError(
            _("A {radix}-port leaf has {ports} ports for cards; the {m} cards of one host do not fit.").format(
                radix=radix, ports=ports, m=m
            )
        )
    return min(h, ports // m), 1


def _bundle(uplinks: int, cables: int) -> tuple[int, int]:
    """Return (switches above, cables to each) when at most `cables` may run to one switch; every switch gets as many."""
    above = next(n for n in range(-(-uplinks // max(1, cables)), uplinks + 1) if uplinks % n == 0)
    return above, uplinks // above


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where ends stand in the network: level 0 card, 1 leaf, 2 spine, 3 core; -1 where a coordinate does not apply."""

    level: NDArray
    leaf: NDArray
    spine: NDArray  # within its pod (for a core: the place its group serves)
    pod: NDArray  # -1 for cores
    core: NDArray  # within its group
    number: NDArray  # the card's port on its leaf


def climb(net: Clos, a: Place, b: Place, pair_a: NDArray, pair_b: NDArray, choice: str, seed: int) -> dict[str, tuple]:
    """Return the runs of links between leaf, spine and core for each pair, as `(which pairs, first, count)` offsets.

    The keys, in the order of travel: `leaf_up`, `spine_up`, `spine_down`, `leaf_down`; offsets are leaf · uplinks + u and
    spine · spine_uplinks + c. Card links are the caller's. A pair that turns at a leaf has none of them.

    Raises:
        CourseError: ends that no way up and down joins (two spines of one pod, say).

    >>> net, one = clos(128), np.array
    >>> here, there = (Place(*map(one, ([0], [leaf], [-1], [0], [-1], [0]))) for leaf in (0, 9))
    >>> runs = climb(net, here, there, one([0]), one([300]), "adaptive", 0)
    >>> [(key, int(count[0])) for key, (which, first, count) in runs.items() if len(which)]
    [('leaf_up', 32), ('leaf_down', 32)]
    """
    up, per, q1, q2 = net.uplinks, net.spine_uplinks, max(1, net.cables_per_spine), max(1, net.cables_per_core)
    same_leaf = (a.leaf == b.leaf) & (a.level <= 1) & (b.level <= 1)
    same_pod = (a.pod == b.pod) & (a.pod >= 0)
    via_core = ~same_pod
    # The spine and core that the ends force, -1 where any will do.
    spine = np.where(a.spine >= 0, a.spine, b.spine)
    core = np.where(a.core >= 0, a.core, b.core)
    bad = (a.spine >= 0) & (b.spine >= 0) & ((a.spine != b.spine) | (same_pod & (a.level == b.level)))
    bad |= (a.level == 3) & (b.level == 3)
    bad |= ~same_leaf & (net.levels < 2)
    bad |= via_core & ~same_leaf & (net.levels < 3)
    if bad.any():
        raise CourseError(_("Two ends of this network are not joined by one way up and one way down."))

    low = np.where(spine >= 0, spine * q1, 0)
    high = np.where(spine >= 0, np.minimum(spine * q1 + q1, up), up)
    c_low = np.where(core >= 0, core * q2, 0)
    c_high = np.where(core >= 0, np.minimum(core * q2 + q2, per), per)
    climbs = (a.level <= 1) & ~same_leaf
    falls = (b.level <= 1) & ~same_leaf
    rises = via_core & (a.level <= 2) & ~same_leaf
    sinks = via_core & (b.level <= 2) & ~same_leaf
    a_spine = a.pod * net.spines_per_pod
    b_spine = b.pod * net.spines_per_pod
    if choice == "adaptive":
        chosen_s = np.where(spine >= 0, spine, 0)
        s_count = np.where(spine >= 0, c_high - c_low, per * net.spines_per_pod)
        runs = {
            "leaf_up": (climbs, a.leaf * up + low, high - low),
            "spine_up": (rises, (a_spine + chosen_s) * per + c_low, s_count),
            "spine_down": (sinks, (b_spine + chosen_s) * per + c_low, s_count),
            "leaf_down": (falls, b.leaf * up + low, high - low),
        }
    else:
        if choice == "fixed":
            pick = (np.maximum(b.number, 0), np.maximum(b.leaf, 0), np.maximum(b.leaf, 0), np.maximum(b.number, 0))
        else:
            pick = tuple((mix(seed, pair_a, pair_b, i) >> np.uint64(1)).astype(np.int64) for i in range(4))
        u = low + pick[0] % np.maximum(high - low, 1)
        s = np.where(climbs, u // q1, np.where(spine >= 0, spine, 0))
        c = c_low + pick[1] % np.maximum(c_high - c_low, 1)
        # The way down may only use cables from the chosen core and spine; the table of `fixed` uses the same ones again.
        c_down = np.where(rises & (choice == "fixed"), c, _within(c // q2, q2, per, pick[2]))
        u_down = np.where(climbs & (choice == "fixed"), u, _within(s, q1, up, pick[3]))
        one = np.ones(len(low), np.int64)
        runs = {
            "leaf_up": (climbs, a.leaf * up + u, one),
            "spine_up": (rises, (a_spine + s) * per + c, one),
            "spine_down": (sinks, (b_spine + s) * per + c_down, one),
            "leaf_down": (falls, b.leaf * up + u_down, one),
        }
    return {key: (np.flatnonzero(mask), first[mask], count[mask]) for key, (mask, first, count) in runs.items()}


def _within(switch: NDArray, cables: int, total: int, pick: NDArray) -> NDArray:
    low = switch * cables
    return low + pick % np.maximum(np.minimum(low + cables, total) - low, 1)
