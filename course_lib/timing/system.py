"""A system as the timing models see it: what joins GPUs in a host, what joins hosts, and how a user describes their own."""

import functools
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from course_lib.base import hardware, tables
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.timing.tomlfile import check_keys, line_of

KINDS = ("switch", "mesh", "ring", "pcie")
MOST_GPUS, MOST_HOSTS = 1024, 1 << 20  # of a system that somebody describes: more is a slip of the pen
# Whose fitted constants a system of one's own borrows.
BORROWED_UP = {"switch": "nvlink4-switch", "mesh": "nvlink4-mesh", "ring": "nvlink-cube", "pcie": "pcie"}
BORROWED_NET = ((40e9, "ib-ndr"), (0.0, "ib"))  # by the rate of a card, at least

_KEYS = {
    "": ("name", "hosts", "gpus_per_host", "hosts_per_domain", "scale_up", "scale_out"),
    "scale_up": ("kind", "bandwidth_GBps", "latency_us", "in_network_reduction"),
    "scale_out": ("nics_per_host", "bandwidth_GBps", "latency_us", "oversubscription", "in_network_reduction"),
}


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """What joins the GPUs of a host (or of an NVLink domain); `bandwidth_Bps` is per GPU, one direction.

    `latency_s` is that of one step of a collective (`step_s` of the hardware table), not of a copy that has to be started.
    """

    kind: str
    bandwidth_Bps: float
    latency_s: float
    in_network_reduction: bool
    family: str


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """What joins hosts; `bandwidth_Bps` is per network card, one direction; `latency_s` is that of one step of a collective."""

    nics_per_host: int
    bandwidth_Bps: float
    latency_s: float
    oversubscription: float
    in_network_reduction: bool
    family: str


@dataclass(frozen=True, slots=True)
class System:
    """Hosts of GPUs: `hosts` is how many there may be, `hosts_per_domain` how many share one scale-up fabric."""

    name: str
    gpu: str
    gpus_per_host: int
    hosts_per_domain: int
    hosts: int
    scale_up: ScaleUp
    scale_out: ScaleOut | None
    source: str
    note: str
    borrows: str = ""

    @property
    def gpus_per_domain(self) -> int:
        """GPUs that reach each other without the network."""
        return self.gpus_per_host * self.hosts_per_domain

    @property
    def n_max(self) -> int:
        """GPUs of the whole system."""
        return self.gpus_per_host * self.hosts


def _si(cell: str, unit: float) -> float:
    """SI value of a cell: `nvlink4.line_Bps`, a value of the hardware table, or a number in the column's unit."""
    return hardware.value(*cell.split(".")) if hardware.names_a_value(cell) else float(cell) * unit


@functools.cache
def _table() -> tuple[dict[str, System], dict[str, str]]:
    systems, aliases = {}, {}
    for row in tables.rows(Path(__file__).parent / "data" / "systems.csv"):
        up = ScaleUp(
            row["up_kind"],
            _si(row["up_bandwidth_GBps"], 1e9),
            _si(row["up_latency_us"], 1e-6),
            row["up_in_network"] == "yes",
            row["up_family"],
        )
        out = ScaleOut(
            int(row["nics_per_host"]),
            _si(row["net_bandwidth_GBps"], 1e9),
            _si(row["net_latency_us"], 1e-6),
            1.0,
            row["net_in_network"] == "yes",
            row["net_family"],
        )
        systems[row["name"]] = System(
            row["name"],
            row["gpu"],
            int(row["gpus_per_host"]),
            int(row["hosts_per_domain"]),
            int(row["hosts"]),
            up,
            out,
            row["source"],
            row["note"],
        )
        aliases.update(dict.fromkeys(row["aliases"].split(), row["name"]))
    return systems, aliases


def names() -> list[str]:
    """Names of the built-in systems, in the order of the table.

    >>> "dgx-h100" in names()
    True
    """
    return list(_table()[0])


def load(name: "str | os.PathLike | System") -> System:
    """Return a system by its name, an alias, or the path of a TOML file; a System passes through.

    A word that ends in `.toml` or holds a path separator is a path; anything else a name (capitals and
    underscores do not matter). Unknown names, unreadable files and unknown keys raise a CourseError that names the nearest valid choice.

    >>> load("dgx-h100").scale_up.bandwidth_Bps
    450000000000.0
    >>> load("DGX_H100").name, load("p5.48xlarge").name
    ('dgx-h100', 'aws-p5')
    >>> load("dgx-h10")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no system 'dgx-h10'. The nearest: dgx-h100, dgx-h200, dgx-a100, dgx1-v100.
    """
    if isinstance(name, System):
        return name
    systems, aliases = _table()
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else name
    if isinstance(name, os.PathLike) or (isinstance(text, str) and (text.endswith(".toml") or os.sep in text)):
        return from_toml(text)
    if isinstance(text, str) and text not in systems and os.path.isfile(text):
        return from_toml(text)
    plain = text.strip().lower().replace("_", "-") if isinstance(text, str) else text
    return systems[aliases[plain] if plain in aliases else one_of(_("system"), text, systems)]


def from_toml(path: "str | os.PathLike") -> System:
    """Read a system of one's own from a TOML file and check every value; errors name the file, the line and the valid keys.

    Needed: `gpus_per_host` and `[scale_up]` with `kind` (switch, mesh, ring or pcie), `bandwidth_GBps` (per GPU, one
    direction) and `latency_us` (of one step of a collective). `[scale_out]` (`nics_per_host`, `bandwidth_GBps` per card, one direction,
    `latency_us`, `oversubscription`) is needed for more than one host. The fitted constants are those of the kind.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "own.toml"
    ...     _n = path.write_text('gpus_per_host = 4\\n[scale_up]\\nkind = "mesh"\\nbandwidth_GBps = 300\\nlatency_us = 1\\n')
    ...     from_toml(path).scale_up.bandwidth_Bps
    300000000000.0
    """
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(
            _("The system file {path} cannot be read: {why}.").format(
                path=path, why=getattr(error, "strerror", None) or error
            )
        ) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CourseError(_("{path} is not valid TOML: {why}.").format(path=path, why=error)) from None
    check_keys(path, text, data, "", _KEYS[""])

    def section(name: str) -> dict:
        table = data.get(name, {})
        if not isinstance(table, dict):
            raise CourseError(
                _("{path}, line {line}: [{name}] has to be a section.").format(
                    path=path, line=line_of(text, "", name), name=name
                )
            )
        check_keys(path, text, table, name, _KEYS[name])
        return table

    def read(table: dict, name: str, key: str, check, default=None, **bounds):
        where = f"[{name}] " if name else ""
        if key not in table:
            if default is None:
                raise CourseError(_("{path}: {where}needs the key '{key}'.").format(path=path, where=where, key=key))
            return default
        try:
            if isinstance(table[key], (list, dict)):
                raise CourseError(_("{key} is {value}; one value is expected.").format(key=key, value=table[key]))
            return check(key, table[key], **bounds)
        except CourseError as error:
            line = line_of(text, name, key)
            raise CourseError(
                _("{path}, line {line}: {where}{why}").format(path=path, line=line, where=where, why=error)
            ) from None

    def switch(key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise CourseError(_("{key} is {value}; true or false is expected.").format(key=key, value=value))
        return value

    def adds(key: str, value: object) -> bool:
        if switch(key, value) and kind != "switch":
            text = _("{key} is true, but a {kind} has no switch that could add. Only kind = 'switch' has one.")
            raise CourseError(text.format(key=key, kind=kind))
        return value

    up, out = section("scale_up"), section("scale_out")
    if "scale_up" not in data:
        raise CourseError(_("{path}: the section [scale_up] is missing.").format(path=path))
    kind = read(up, "scale_up", "kind", lambda key, value: one_of(_("kind of scale-up"), value, KINDS))
    scale_up = ScaleUp(
        kind,
        read(up, "scale_up", "bandwidth_GBps", finite, above=0) * 1e9,
        read(up, "scale_up", "latency_us", finite, at_least=0) * 1e-6,
        read(up, "scale_up", "in_network_reduction", adds, default=False),
        BORROWED_UP[kind],
    )
    scale_out = None
    if "scale_out" in data:
        card_Bps = read(out, "scale_out", "bandwidth_GBps", finite, above=0) * 1e9
        scale_out = ScaleOut(
            read(out, "scale_out", "nics_per_host", whole, at_least=1, at_most=MOST_GPUS),
            card_Bps,
            read(out, "scale_out", "latency_us", finite, at_least=0) * 1e-6,
            read(out, "scale_out", "oversubscription", finite, default=1.0, at_least=1.0),
            read(out, "scale_out", "in_network_reduction", switch, default=False),
            next(family for least, family in BORROWED_NET if card_Bps >= least),
        )
    hosts = read(data, "", "hosts", whole, default=1, at_least=1, at_most=MOST_HOSTS)
    per_domain = read(data, "", "hosts_per_domain", whole, default=1, at_least=1, at_most=MOST_GPUS)
    if hosts > per_domain and scale_out is None:
        raise CourseError(_("{path}: {hosts} hosts need a section [scale_out].").format(path=path, hosts=hosts))
    name = data.get("name", Path(path).stem)
    if not isinstance(name, str) or not name:
        raise CourseError(
            _("{path}, line {line}: name has to be text.").format(path=path, line=line_of(text, "", "name"))
        )
    borrows = scale_up.family + (f", {scale_out.family}" if scale_out else "")
    return System(
        name,
        _("own"),
        read(data, "", "gpus_per_host", whole, at_least=1, at_most=MOST_GPUS),
        per_domain,
        hosts,
        scale_up,
        scale_out,
        path,
        "",
        borrows,
    )
