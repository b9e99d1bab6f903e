"""What others published about failing and paying: fleets, parts, recovery times and prices, each with its source."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.base import hardware, tables
from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _

DATA = Path(__file__).parent / "data"
DAY_s, HOUR_s, YEAR_s = 86_400.0, 3_600.0, 365 * 86_400.0
USES = ("fit", "held out", "other")
KINDS = ("spec", "measured", "reported", "assumed")


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet whose failures somebody counted. `failures` is None where only a rate was published.

    `use` is "fit" (rates are taken from it), "held out" (nothing is fitted on it) or "other" (counts something else).
    """

    name: str
    title: str
    use: str
    gpus: int
    gpus_per_host: int
    span_s: float
    failures: int | None
    rate_per_host_s: float
    counts: str
    source: str
    address: str
    note: str

    @property
    def hosts(self) -> float:
        """Hosts of the fleet."""
        return self.gpus / self.gpus_per_host

    @property
    def between_s(self) -> float:
        """Mean time between two failures of the whole fleet, in seconds."""
        return 1 / (self.rate_per_host_s * self.hosts)


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of part of a host, how many a host has, and how often it stopped the Llama 3 run in 54 days."""

    name: str
    title: str
    group: str
    parts_per_host: int
    events: int


@dataclass(frozen=True, slots=True)
class Known:
    """A number with its origin: `value` in the unit that is named; `kind` is one of spec, measured, reported, assumed."""

    name: str
    title: str
    value: float
    unit: str
    kind: str
    source: str
    address: str
    note: str


@cache
def _fleets() -> dict[str, Fleet]:
    found = {}
    for row in tables.rows(DATA / "fleets.csv"):
        gpus, span_s = int(hardware.in_unit(row["gpus"], "GPUs")), hardware.in_unit(row["span_days"], "days") * DAY_s
        hosts = gpus / int(row["gpus_per_host"])
        failures = int(hardware.in_unit(row["failures"], "events")) if row["failures"] else None
        rate = failures / (hosts * span_s) if failures is not None else float(row["rate_per_host_day"]) / DAY_s
        found[row["fleet"]] = Fleet(
            row["fleet"],
            row["title"],
            one_of(_("use of a fleet"), row["use"], USES),
            gpus,
            int(row["gpus_per_host"]),
            span_s,
            failures,
            rate,
            row["counts"],
            row["source"],
            row["address"],
            row["note"],
        )
    return found


def fleets(use: str | None = None) -> list[Fleet]:
    """Return the published fleets, or those of one use ("fit", "held out", "other").

    >>> [f.name for f in fleets("held out")], len(fleets("fit")) >= 4
    (['llama3-405b'], True)
    """
    if use is not None:
        use = one_of(_("use of a fleet"), use, USES)
    return [f for f in _fleets().values() if use in (None, f.use)]


def fleet(name: str) -> Fleet:
    """Return one fleet by its name; an unknown name raises CourseError with the nearest.

    >>> fleet("llama3-405b").failures, round(fleet("llama3-405b").between_s / HOUR_s, 2)
    (419, 3.09)
    """
    return _fleets()[one_of(_("fleet"), name, _fleets())]


@cache
def parts() -> tuple[Part, ...]:
    """Return the kinds of parts, with the counts of Llama 3's table; the counts add up to the 419, the printed shares do not.

    >>> sum(p.events for p in parts()), parts()[0].events
    (419, 148)
    """
    return tuple(
        Part(r["part"], r["title"], r["group"], int(r["parts_per_host"]), int(r["events"]))
        for r in tables.rows(DATA / "components.csv")
    )


def from_table(text: str, unit: str, kind: str, source: str, address: str) -> tuple[float, str, str, str]:
    """Return value, kind, source and address of a number; `item.field` takes all four from the hardware table, in `unit`.

    >>> from_table("dgx-h100.power_W", "W", "", "", "")[:2]
    (10200.0, 'spec')
    >>> from_table("1.3", "ratio", "assumed", "", "")
    (1.3, 'assumed', '', '')
    """
    if not hardware.names_a_value(text):
        return float(text), kind, source, address
    item, field = text.split(".")
    origin = hardware.source_of(item, field)
    return hardware.in_unit(text, unit), hardware.line(item, field).kind, str(origin), origin.address


@cache
def _known() -> dict[str, Known]:
    found = {}
    for file, key in (("costs.csv", "item"), ("recovery.csv", "what")):
        for number, r in tables.numbered(DATA / file):
            value, kind, source, address = from_table(r["value"], r["unit"], r["kind"], r["source"], r["address"])
            kind = one_of(_("kind of number"), kind, KINDS)
            if (kind == "assumed" and not r["note"]) or (kind != "assumed" and not source):
                raise CourseError(
                    _("{file}, line {line}: {name} needs a source, or a note if it is assumed.").format(
                        file=file, line=number, name=r[key]
                    )
                )
            title = r.get("title") or r["note"]
            found[r[key]] = Known(r[key], title, value, r["unit"], kind, source, address, r["note"])
    return found


def known(name: str) -> Known:
    """Return a price, a power or a recovery time with its origin; an unknown name raises CourseError with the nearest.

    >>> known("electricity_usd_per_kWh").value, known("pue").kind
    (0.0806, 'assumed')
    """
    return _known()[one_of(_("number"), name, _known())]
