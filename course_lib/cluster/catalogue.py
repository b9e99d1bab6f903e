"""The catalogue of a design review: boxes and racks with year, price and power, each number with its source or its reason."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.base import tables
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.cluster.published import KINDS, Known, from_table
from course_lib.timing.system import System, load

STATUS = ("ships", "announced")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that can be bought: a box, or a rack that is bought as one.

    `system` prices its communication (`timing.system`), `hosts_per_unit` is 1 for a box and 18 for a rack of trays, `year` the first
    in which it was delivered or is to be, `status` "ships" or "announced". `price` (USD) and `power` (W, the most that it may draw)
    are of one unit and carry their origin.
    """

    name: str
    title: str
    system: System
    year: int
    status: str
    hosts_per_unit: int
    price: Known
    power: Known

    @property
    def gpus(self) -> int:
        """GPUs of one unit."""
        return self.hosts_per_unit * self.system.gpus_per_host

    @property
    def cards(self) -> int:
        """Network cards of a host, at most."""
        return self.system.scale_out.nics_per_host


def _origin(row: dict[str, str], what: str, unit: str, title: str) -> Known:
    key = "usd" if what == "usd" else "W"
    note = row[f"{key}_note"]
    value, kind, source, address = from_table(
        row[f"unit_{key}"], unit, row[f"{key}_kind"], row[f"{key}_source"], row[f"{key}_address"]
    )
    kind = one_of(_("kind"), kind, KINDS)
    if kind == "assumed" and not note:
        raise CourseError(_("{part}: an assumed number needs a note.").format(part=row["part"]))
    if kind != "assumed" and not (source and address):
        raise CourseError(_("{part}: a number of kind {kind} needs its source.").format(part=row["part"], kind=kind))
    return Known(f"{row['part']}, {title}", title, value, unit, kind, source, address, note)


@cache
def _items() -> dict[str, Item]:
    found = {}
    for row in tables.rows(Path(__file__).parent / "data" / "catalogue.csv"):
        found[row["part"]] = Item(
            row["part"],
            row["title"],
            load(row["system"]),
            int(row["year"]),
            one_of(_("status"), row["status"], STATUS),
            int(row["hosts_per_unit"]),
            _origin(row, "usd", "USD", "price"),
            _origin(row, "W", "W", "power"),
        )
    return found


def items() -> tuple[Item, ...]:
    """Return the whole catalogue, oldest part first.

    >>> [i.name for i in items()]
    ['h100-box', 'h200-box', 'b200-box', 'gb200-rack', 'gb300-rack', 'rubin-rack']
    >>> items()[-1].status
    'announced'
    """
    return tuple(_items().values())


def item(name: str) -> Item:
    """Return one part by its name; an unknown name raises CourseError with the nearest.

    >>> item("gb200-rack").gpus, item("b200-box").price.kind
    (72, 'reported')
    """
    return _items()[one_of(_("part"), name, _items())]
