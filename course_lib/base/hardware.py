"""The hardware of the course by name: links, GPUs, switches, systems; SI units, one direction, a source for every value."""

from dataclasses import dataclass
from functools import cache

from course_lib.base import sources as _sources
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.table import UNITS, Table, Value, build


@dataclass(frozen=True, slots=True)
class Link:
    """A link in SI units; `line_Bps` is one direction, after the line code and before packet headers."""

    name: str
    title: str
    family: str
    line_Bps: float
    latency_s: float | None

    @property
    def bidirectional_Bps(self) -> float:
        """Both directions together."""
        return 2 * self.line_Bps


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU in SI units; peaks are dense FLOP/s, None where no source was found; links are names of items.

    `family` names the GPUs with whose fitted constants its training steps are priced (`plan.efficiency`), "" for none.
    """

    name: str
    title: str
    family: str
    hbm_B: float
    hbm_Bps: float
    bf16_flops: float
    fp8_flops: float | None
    fp4_flops: float | None
    tdp_W: float | None
    scale_up: str
    host_link: str | None


@dataclass(frozen=True, slots=True)
class System:
    """A machine: hosts, GPUs and the names of the links that join them; None where no source was found."""

    name: str
    title: str
    gpu: str
    hosts: int
    gpus_per_host: int
    gpus: int
    scale_up: str
    switch: str | None
    switches: int | None
    nic: str | None
    nics_per_host: int | None
    host_link: str | None
    power_W: float | None


@cache
def table() -> Table:
    """Return the hardware table of the course; read at the first call.

    >>> table().items["pcie5"].title
    'PCIe Gen5 x16'
    """
    return build(_sources.rows("items.csv"), _sources.rows("hardware.csv"), _sources.sources())


@cache
def _by_item() -> dict[str, dict[str, Value]]:
    grouped: dict[str, dict[str, Value]] = {}
    for (item, field), found in table().values.items():
        grouped.setdefault(item, {})[field] = found
    return grouped


def find(name: str, kind: str | None = None) -> str:
    """Return the name of the item under its own or another name; raises CourseError with the nearest names.

    >>> find("nic400", "link"), find("hgx-h100")
    ('ib-ndr', 'dgx-h100')
    """
    known = table()
    if isinstance(name, str) and name in known.items and kind in (None, known.items[name].kind):
        return name
    valid = [n for n, i in known.items.items() if kind is None or i.kind == kind]
    valid += [a for a, target in known.aliases.items() if target in valid]
    found = one_of(kind or _("hardware item"), name, valid)
    return known.aliases.get(found, found)


def items(kind: str | None = None) -> list[str]:
    """Return the names of all items, or of those of one kind ("link", "gpu", "switch", "system", "cluster", "study", "cost").

    >>> "nvlink5" in items("link"), "h100" in items("gpu")
    (True, True)
    """
    kinds = {i.kind for i in table().items.values()}
    if kind is not None:
        kind = one_of(_("kind of item"), kind, sorted(kinds))
    return [n for n, i in table().items.items() if kind is None or i.kind == kind]


def line(item: str, field: str) -> Value:
    """Return the whole line of a value: published number, unit, direction, kind, formula, source, note.

    >>> line("nvlink4", "advertised_Bps").published, line("nvlink4", "advertised_Bps").direction
    ('900', 'both')
    """
    item = find(item)
    has = _by_item().get(item, {})
    if not has:
        raise CourseError(_("hardware.csv has no values of {item}.").format(item=item))
    found = one_of(_("value of {item}").format(item=item), field, has)
    if found != field:  # the case of a field means something: _bps is bits, _Bps bytes
        raise CourseError(_("{item} has no value {field}; it has {found}.").format(item=item, field=field, found=found))
    return has[found]


def value(item: str, field: str) -> float:
    """Return a value in SI units, rates per direction; raises CourseError for unknown items and fields and for names.

    >>> value("nvlink4", "line_Bps") / 1e9, value("nvlink4", "advertised_Bps") / 1e9
    (450.0, 450.0)
    """
    found = line(item, field).value
    if isinstance(found, str):
        raise CourseError(
            _("{item}.{field} is the name {name}, not a number; use named().").format(
                item=item, field=field, name=found
            )
        )
    return found


def names_a_value(text: str) -> bool:
    """Return whether a cell of another table names a value of this one, as `item.field`, in place of a number.

    >>> names_a_value("nvlink4.line_Bps"), names_a_value("31.5")
    (True, False)
    """
    item, dot, _field = text.partition(".")
    return bool(dot) and not item.isdigit()


def in_unit(cell: str, unit: str) -> float:
    """Return the number of another table's cell in a unit of this one: as it is typed, or the value that it names.

    >>> in_unit("31.5", "GB/s"), in_unit("nvlink4.line_Bps", "GB/s"), round(in_unit("prices.electricity_usd_per_J", "USD/kWh"), 4)
    (31.5, 450.0, 0.0806)
    """
    return value(*cell.split(".")) / UNITS[unit] if names_a_value(cell) else float(cell)


def named(item: str, field: str) -> str:
    """Return the item that a value names, as the scale-up link of a GPU.

    >>> named("h100", "scale_up")
    'nvlink4'
    """
    found = line(item, field).value
    if not isinstance(found, str):
        raise CourseError(_("{item}.{field} is a number, not a name; use value().").format(item=item, field=field))
    return found


def record(item: str) -> dict[str, float | str]:
    """Return all values of an item: field → SI number or name.

    >>> record("pcie5")["lanes"]
    16.0
    """
    return {field: found.value for field, found in _by_item().get(find(item), {}).items()}


def source_of(item: str, field: str) -> _sources.Source:
    """Return the source of a value; of a derived or assumed one, a Source whose title says so.

    >>> source_of("pcie5", "lane_bps").key, source_of("pcie5", "line_Bps").title
    ('nccl-topo', 'derived: raw_Bps * encoding')
    """
    found = line(item, field)
    if found.source:
        return _sources.source(found.source)
    derived = _("derived: {formula}").format(formula=found.formula)
    title = derived if found.formula else _("assumed: {note}").format(note=found.note)
    return _sources.Source("", title, _("this course"), int(found.as_of[:4]), "")


def link(name: str) -> Link:
    """Return a link; raises CourseError for unknown names and for a link without `line_Bps`.

    >>> link("nvlink5").line_Bps / 1e9
    900.0
    """
    name = find(name, "link")
    values, item = record(name), table().items[name]
    return Link(name, item.title, item.family, value(name, "line_Bps"), values.get("latency_s"))


def gpu(name: str) -> Gpu:
    """Return a GPU.

    >>> gpu("h100").hbm_B / 1e9, gpu("h100").scale_up
    (80.0, 'nvlink4')
    """
    name = find(name, "gpu")
    values = record(name)
    fields = ("hbm_B", "hbm_Bps", "bf16_flops", "fp8_flops", "fp4_flops", "tdp_W", "scale_up", "host_link")
    item = table().items[name]
    return Gpu(name, item.title, item.family, *(values.get(f) for f in fields))


def system(name: str) -> System:
    """Return a system.

    >>> system("gb200-nvl72").gpus, system("gb200-nvl72").switches
    (72, 18)
    """
    name = find(name, "system")
    values = record(name)
    fields = (
        "gpu",
        "hosts",
        "gpus_per_host",
        "gpus",
        "scale_up",
        "switch",
        "switches",
        "nic",
        "nics_per_host",
        "host_link",
    )
    found = [int(v) if isinstance(v, float) else v for v in (values.get(f) for f in fields)]
    return System(name, table().items[name].title, *found, values.get("power_W"))
