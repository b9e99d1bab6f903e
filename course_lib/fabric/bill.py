"""What a network is made of: switches of each level and cables for so many GPUs, beside what reference designs list."""

from dataclasses import dataclass

from course_lib.base import hardware
from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.fabric.clos import clos


@dataclass(frozen=True, slots=True)
class Bill:
    """Switches and cables of a network; a cable joins a card or a switch to a switch, whichever of copper or optics it is."""

    n_gpus: int
    oversubscription: float
    levels: int
    n_leaves: int
    n_spines: int
    n_cores: int
    card_cables: int
    switch_cables: int

    @property
    def n_switches(self) -> int:
        return self.n_leaves + self.n_spines + self.n_cores

    @property
    def n_cables(self) -> int:
        return self.card_cables + self.switch_cables

    @property
    def switches(self) -> tuple[int, int, int]:
        """Leaves, spines, cores."""
        return self.n_leaves, self.n_spines, self.n_cores


def bill(
    n_gpus: int,
    *,
    oversubscription: float = 1.0,
    gpus_per_host: int = 8,
    nics_per_host: int = 8,
    radix: int | None = None,
    attach: str = "rail",
) -> Bill:
    """Return what joins n_gpus at a ratio, as `fabric.clos.clos` builds it: the fewest levels that reach.

    Args:
        n_gpus: GPUs; a last host that is not full has all its cards.
        oversubscription: bandwidth down over bandwidth up at the leaves.
        gpus_per_host: GPUs of a host.
        nics_per_host: network cards of a host.
        radix: ports of a switch; None: 64, more where three levels of it cannot reach.
        attach: `rail` (card i of each host on leaf i) or `leaf`.

    Raises:
        CourseError: counts that do not fit together.

    >>> bill(4096).switches, bill(4096).n_cables
    ((128, 128, 64), 12288)
    """
    n, per = whole("n_gpus", n_gpus, at_least=1), whole("gpus_per_host", gpus_per_host, at_least=1)
    net = clos(-(-n // per), nics_per_host, radix=radix, oversubscription=oversubscription, attach=attach)
    cards = net.n_hosts * net.nics_per_host
    counts = (net.levels, net.n_leaves, net.n_spines, net.n_cores)
    return Bill(n, net.oversubscription, *counts, cards, net.n_cables - cards)


@dataclass(frozen=True, slots=True)
class Published:
    """A reference design beside the bill for as many GPUs: leaves, spines and cores; None where the design does not say."""

    name: str
    title: str
    bill: Bill
    switches: tuple[int | None, int | None, int | None]

    @property
    def agrees(self) -> bool:
        """Whether every count that the design gives is the bill's."""
        return all(said in (None, counted) for said, counted in zip(self.switches, self.bill.switches, strict=True))


def published() -> list[Published]:
    """Return the DGX SuperPOD designs whose switches are published, smallest first, each beside its bill.

    >>> [(p.bill.n_gpus, p.switches, p.agrees) for p in published()][-1]
    (16384, (512, 512, 256), True)
    """
    found = []
    for name in hardware.items("cluster"):
        fields = hardware.record(name)
        if "leaf_switches" in fields:
            said = tuple(
                int(fields[key]) if key in fields else None
                for key in ("leaf_switches", "spine_switches", "core_switches")
            )
            found.append(Published(name, hardware.table().items[name].title, bill(int(fields["gpus"])), said))
    if not found:
        raise CourseError(_("No reference design with published switches was found in the hardware table."))
    return sorted(found, key=lambda p: p.bill.n_gpus)
