"""The fitted constants of each family of links: what each means, what it is pulled to, and the table that the fit wrote."""

import functools
from dataclasses import dataclass
from pathlib import Path

from course_lib.base import tables
from course_lib.base.errors import one_of
from course_lib.base.language import _

PATH = Path(__file__).parent / "data" / "constants.csv"
COLUMNS = ("shipped", "training")


@dataclass(frozen=True, slots=True)
class Constant:
    """One fitted constant: where the fit starts, how far (as a factor e^spread) it may move for one system, what it means."""

    name: str
    start: float
    spread: float
    meaning: str

    @property
    def most(self) -> float:
        """What physics allows: no link carries more than it can, so shares of a bandwidth end at 1."""
        return 1.0 if self.name in SHARES else float("inf")


#: Constants that are a share of something.
SHARES = ("ring_eff", "tree_eff", "rooted_eff", "p2p_eff", "nvls_eff", "net_eff", "net_p2p_eff", "net_pair")
SHARES += ("ll_rate", "net_ll_rate")


#: Inside a scale-up domain. The starts are NCCL's own figures where it has one (0.6 µs a step over NVLink, ~6 µs to
#: start), else round numbers; the fit moves them as far as measured systems ask for it.
UP = (
    Constant("launch_us", 5.0, 0.5, "µs to launch a collective and see it end"),
    Constant("p2p_launch_us", 6.0, 0.5, "the same for sends and receives"),
    Constant("step", 0.8, 0.5, "one step of a short message, in latencies of the link"),
    Constant("ring_eff", 0.8, 0.3, "of a GPU's bandwidth, what a ring uses"),
    Constant("tree_eff", 0.65, 0.15, "of a GPU's bandwidth, what a tree uses"),
    Constant("rooted_eff", 0.8, 0.4, "of a GPU's bandwidth, what a chain from or to one root uses"),
    Constant("p2p_eff", 0.78, 0.3, "of a GPU's bandwidth, what sends and receives use"),
    Constant("nvls_eff", 0.69, 0.2, "of a GPU's bandwidth, what sums in the switch use"),
    Constant("nvls_us", 15.0, 0.5, "µs more to start a sum in the switch"),
    Constant("copy", 2.0, 0.5, "rate of the local copy of a rank's own part, in bandwidths of the GPU"),
    Constant("kappa", 0.5, 0.5, "filling of the pipeline, Simple"),
    Constant("ll_rate", 0.3, 0.7, "of the bulk rate, what LL reaches"),
    Constant("p2p_ll", 0.7, 0.5, "LL of sends and receives against LL of the ring"),
    Constant("bulk_latency", 1.3, 0.4, "latency of Simple over that of LL"),
    Constant("ll128_latency", 1.2, 0.4, "latency of LL128 over that of LL"),
    Constant("ll128_kappa", 1.0, 0.5, "filling of LL128 against Simple"),
    Constant("ll_kappa", 0.3, 1.0, "filling of LL against Simple"),
)
#: Between domains.
NET = (
    Constant("net_launch_us", 4.0, 0.7, "µs more to start once the network takes part"),
    Constant("net_ring", 0.5, 1.0, "one step of a ring, in latencies of the network"),
    Constant("net_tree", 1.0, 0.7, "one level of a tree, in latencies of the network"),
    Constant("net_peer", 0.3, 1.0, "one more peer to talk to, in latencies of the network"),
    Constant("net_eff", 0.92, 0.2, "of the cards' bandwidth, what collectives use"),
    Constant("net_p2p_eff", 0.92, 0.4, "of the cards' bandwidth, what sends and receives use"),
    Constant("net_kappa", 0.5, 0.3, "filling of the pipeline, Simple"),
    Constant("net_ll_rate", 0.25, 0.7, "of the bulk rate, what LL reaches"),
    Constant("net_bulk_latency", 2.0, 0.7, "latency of Simple over that of LL"),
    Constant("net_ll_kappa", 1.5, 1.0, "filling of LL against Simple"),
    Constant("net_pair", 0.95, 0.25, "of the factor two that a tree gains between two domains, what is seen"),
)
#: Families that start elsewhere: {family: {constant: (start, spread)}}.
OTHER_STARTS = {
    # NCCL's own table gives sums in the switch 0.85 on Hopper and 0.74 on Blackwell.
    "nvlink5-switch": {"nvls_eff": (0.69 * 0.74 / 0.85, 0.2)},
    # Copies through host memory: bandwidths differ by far more between boards.
    "pcie": {"ring_eff": (0.3, 1.0), "p2p_eff": (0.35, 1.0), "rooted_eff": (0.7, 1.0), "copy": (2.0, 1.0)},
    "pcie-geforce": {"ring_eff": (0.3, 1.0), "p2p_eff": (0.35, 1.0), "rooted_eff": (0.7, 1.0), "copy": (2.0, 1.0)},
    # Sockets are limited by the processor, not by the card.
    "tcp": {"net_eff": (0.12, 1.0), "net_p2p_eff": (0.12, 1.0)},
}


def described(kind: str, family: str) -> dict[str, Constant]:
    """Return the constants of a kind ("up" or "net") with the starts of a family.

    >>> described("net", "tcp")["net_eff"].start
    0.12
    """
    base = UP if one_of(_("kind of family"), kind, ("up", "net")) == "up" else NET
    other = OTHER_STARTS.get(family, {})
    return {c.name: Constant(c.name, *other[c.name], c.meaning) if c.name in other else c for c in base}


@functools.cache
def _table() -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    table: dict = {}
    for row in tables.rows(PATH):
        table.setdefault((row["kind"], row["family"]), {})[row["name"]] = row
    return table


def load(kind: str, family: str, column: str = "shipped") -> dict[str, float]:
    """Return the constants of a family: `shipped` (fitted on all sweeps) or `training` (on the training part only).

    A family that no sweep measured has its starts.

    >>> 0.7 < load("up", "nvlink4-switch")["ring_eff"] < 1
    True
    """
    one_of(_("column of constants"), column, COLUMNS)
    rows = _table().get((kind, family), {})
    return {
        c.name: float(rows[c.name][column]) if c.name in rows else c.start for c in described(kind, family).values()
    }


def families(kind: str) -> list[str]:
    """Return the families of a kind that sweeps measured.

    >>> "ib" in families("net")
    True
    """
    return sorted({family for k, family in _table() if k == kind})
