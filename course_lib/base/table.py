"""Reading the hardware table: every line is checked, units become SI, both directions become one, formulas are computed."""

import ast
import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType

from course_lib.base.errors import CourseError
from course_lib.base.language import _

KINDS = ("spec", "measured", "derived", "reported", "assumed")
DIRECTIONS = ("", "per direction", "both", "busbw")
EXAMPLE = "{},line_Bps,450,GB/s,per direction,raw,spec,,source,2026-11-30,"  # of the line that a link has to have
NAME = "name"  # the unit of a value that names another item

# Every unit the table may use, and what one of it is in SI (bytes, seconds, bits per second for a lane, FLOP/s, W).
UNITS = {
    "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "MB/s": 1e6, "MiB/s": 2**20, "GB/s": 1e9, "TB/s": 1e12, "Gb/s": 1e9, "GT/s": 1e9, "bits": 1,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "days": 86400, "GPU-hours": 3600, "ns/m": 1e-9,
    "TFLOPS": 1e12, "PFLOPS": 1e15, "W": 1, "kW": 1e3, "MW": 1e6, "USD": 1, "USD/kWh": 1 / 3.6e6,
    "fraction": 1, "ratio": 1, "parts": 1, "lanes": 1, "links": 1, "ports": 1, "chips": 1, "hosts": 1, "GPUs": 1, "CPUs": 1,
    "cards": 1, "switches": 1, "trays": 1, "cables": 1, "racks": 1, "events": 1, "dimensions": 1,
}  # fmt: skip
# The last part of a field's name says its SI unit; the table's unit has to agree.
SUFFIX_UNITS = {
    "B": {"B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"},
    "Bps": {"MB/s", "GB/s", "TB/s"},
    "bps": {"Gb/s", "GT/s"},
    "s": {"ns", "us", "ms", "s", "days", "GPU-hours"},
    "m": {"ns/m"},
    "flops": {"TFLOPS", "PFLOPS"},
    "W": {"W", "kW", "MW"},
    "usd": {"USD"},
    "J": {"USD/kWh"},
}
# Nothing of the table is below zero. A frame may have no check bytes and a week no failures; a rate, a peak, a power, a
# number of lanes is never zero.
NEVER_ZERO = {"bits", "lanes", "links", "ports", "chips", "hosts", "GPUs"}
NEVER_ZERO |= SUFFIX_UNITS["Bps"] | SUFFIX_UNITS["bps"] | SUFFIX_UNITS["flops"] | SUFFIX_UNITS["W"]
NEVER_ZERO |= {"GB", "TB", "GiB", "TiB"}  # memories
NAMES = {
    "scale_up": "link",
    "host_link": "link",
    "nic": "link",
    "gpu": "gpu",
    "switch": "switch",
}  # by field: what it names


@dataclass(frozen=True, slots=True)
class Value:
    """One line of the table. `value` is in SI and one direction (or the name of another item); `published` is as the source has it."""

    item: str
    field: str
    value: float | str
    published: str
    unit: str
    direction: str
    basis: str
    kind: str
    formula: str
    source: str
    as_of: str
    note: str


@dataclass(frozen=True, slots=True)
class Item:
    """What a set of values belongs to: a link, gpu, switch, system, cluster, study or cost."""

    name: str
    kind: str
    title: str
    family: str
    note: str


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table: items, alternative names, and values by (item, field)."""

    items: MappingProxyType
    aliases: MappingProxyType
    values: MappingProxyType


def _complain(row: dict[str, str], text: str) -> CourseError:
    place = _("hardware.csv, line {line} ({item}, {field}): ").format(
        line=row["line"], item=row["item"], field=row["field"]
    )
    return CourseError(place + text)


def _is_date(text: str) -> bool:
    """Whether a text is a day or a month: 2026-11-30, 2026-11."""
    if not re.fullmatch(r"\d{4}-\d\d(-\d\d)?", text, re.ASCII):
        return False
    try:
        dt.date.fromisoformat(text if len(text) == 10 else f"{text}-01")
    except ValueError:
        return False
    return True


def _check(row: dict[str, str], items: dict, seen: dict, source_keys: Iterable[str]) -> None:
    """Refuse a line that no reader could trust."""
    suffix, unit, kind = row["field"].rsplit("_", 1)[-1], row["unit"], row["kind"]
    is_rate = (
        unit in SUFFIX_UNITS["Bps"] and row["field"] != "hbm_Bps"
    )  # memory has one bandwidth, shared by reads and writes
    rules = (
        (row["item"] in items, lambda: _("the item is not in items.csv.")),
        ((row["item"], row["field"]) not in seen, lambda: _("the value is given twice.")),
        (row["field"].isidentifier(), lambda: _("the field is no identifier.")),
        (kind in KINDS, lambda: _("the kind is {kind!r}; valid: {valid}.").format(kind=kind, valid=", ".join(KINDS))),
        (row["direction"] in DIRECTIONS, lambda: _("the direction {d!r} is not known.").format(d=row["direction"])),
        (unit in UNITS or unit == NAME, lambda: _("the unit {unit!r} is not known.").format(unit=unit)),
        (
            suffix not in SUFFIX_UNITS or unit in SUFFIX_UNITS[suffix],
            lambda: _("the unit {unit} does not fit the field, whose name ends in _{suffix}; fitting: {valid}.").format(
                unit=unit, suffix=suffix, valid=", ".join(sorted(SUFFIX_UNITS[suffix]))
            ),
        ),
        (kind == "derived" or row["value"] != "", lambda: _("the value is missing.")),
        (
            kind != "derived" or (row["formula"] and not row["value"]),
            lambda: _("a derived value has a formula, no typed number."),
        ),
        (kind in ("derived", "assumed") or row["source"], lambda: _("a source is missing.")),
        (
            not row["source"] or row["source"] in source_keys,
            lambda: _("the source {k} is not known.").format(k=row["source"]),
        ),
        (kind != "assumed" or row["note"], lambda: _("an assumed value has to say why, in its note.")),
        (
            _is_date(row["as_of"]),
            lambda: _("as_of is {given!r}; a day or a month is expected, as 2026-11-30 or 2026-11.").format(
                given=row["as_of"]
            ),
        ),
        (not is_rate or row["direction"], lambda: _("a rate has to say its direction.")),
        (
            (row["direction"] == "busbw") == ("busbw" in row["field"]),
            lambda: _("a bus bandwidth says so in name and direction."),
        ),
    )
    for holds, text in rules:
        if not holds:
            raise _complain(row, text())


def build(item_rows: list[dict[str, str]], value_rows: list[dict[str, str]], source_keys: Iterable[str]) -> Table:
    """Return the table of these lines: units to SI, both directions to one, formulas computed.

    A bus bandwidth is never halved: it is no wire speed. Raises CourseError that names the line.
    """
    aliases = {r["item"]: r["title"] for r in item_rows if r["kind"] == "alias"}
    items = {
        r["item"]: Item(r["item"], r["kind"], r["title"], r["family"], r["note"])
        for r in item_rows
        if r["kind"] != "alias"
    }
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for row in value_rows:
        _check(row, items, seen, source_keys)
        seen[row["item"], row["field"]] = row
    done: dict[tuple[str, str], Value] = {}

    def resolve(item: str, field: str, chain: tuple = ()) -> float | str:
        if (item, field) in done:
            return done[item, field].value
        if (item, field) not in seen:
            raise _complain(
                seen[chain[-1]],
                _("the formula asks for {item}.{field}, which is not given.").format(item=item, field=field),
            )
        row = seen[item, field]
        if (item, field) in chain:
            raise _complain(row, _("the formula leads back to itself."))
        chain = (*chain, (item, field))
        if row["unit"] == NAME:
            if row["value"] not in items:
                raise _complain(row, _("it names {name}, which is not in items.csv.").format(name=row["value"]))
            found, wanted = items[row["value"]].kind, NAMES.get(field)
            if wanted and found != wanted:
                text = _("{name} is a {found} in items.csv; {field} names a {wanted}.")
                raise _complain(row, text.format(name=row["value"], found=found, field=field, wanted=wanted))
            result: float | str = row["value"]
        elif row["kind"] == "derived":
            result = _evaluate(row, lambda f: resolve(item, f, chain), lambda i, f: resolve(i, f, chain))
        else:
            try:
                result = float(row["value"]) * UNITS[row["unit"]]
            except ValueError:
                raise _complain(row, _("{value!r} is not a number.").format(value=row["value"])) from None
            if row["direction"] == "both":
                result /= 2
        if not isinstance(result, str) and not math.isfinite(result):
            raise _complain(row, _("the value is not finite."))
        if not isinstance(result, str) and result < 0:
            raise _complain(row, _("the value is below zero."))
        if result == 0 and (row["unit"] in NEVER_ZERO or field == "hbm_B"):
            raise _complain(row, _("the value is zero; it has to be more."))
        fields = ("unit", "direction", "basis", "kind", "formula", "source", "as_of", "note")
        done[item, field] = Value(item, field, result, row["value"], *(row[f] for f in fields))
        return result

    for item, field in seen:
        resolve(item, field)
    for row in item_rows:
        if row["kind"] == "link" and (row["item"], "line_Bps") not in seen:
            text = _("items.csv, line {line}: the link {name} has no line_Bps. Add a line to hardware.csv: {example}.")
            raise CourseError(
                text.format(line=row["line"], name=row["item"], example=f"`{EXAMPLE.format(row['item'])}`")
            )
    return Table(MappingProxyType(items), MappingProxyType(aliases), MappingProxyType({k: done[k] for k in seen}))


def _evaluate(
    row: dict[str, str], own: Callable[[str], float | str], other: Callable[[str, str], float | str]
) -> float:
    """Compute + − × ÷ over fields; `gpu.hbm_B` is a field of the item that the field `gpu` names. Nothing else is allowed."""
    operations = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b,
    }

    def walk(node: ast.AST) -> float | str:
        match node:
            case ast.Expression(body=body):
                return walk(body)
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return number
            case ast.Name(id=name):
                return own(name)
            case ast.Attribute(value=inner, attr=field):
                named = walk(inner)
                if not isinstance(named, str):
                    raise _complain(row, _("the formula takes a field of a number."))
                return other(named, field)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in operations:
                a, b = walk(left), walk(right)
                if isinstance(a, str) or isinstance(b, str):
                    raise _complain(row, _("the formula counts with a name."))
                return operations[type(op)](a, b)
        raise _complain(
            row, _("the formula {formula!r} has more in it than + - * / over fields.").format(formula=row["formula"])
        )

    try:
        result = walk(ast.parse(row["formula"], mode="eval"))
    except SyntaxError:
        raise _complain(row, _("the formula {formula!r} cannot be read.").format(formula=row["formula"])) from None
    except ZeroDivisionError:
        raise _complain(row, _("the formula divides by zero.")) from None
    if isinstance(result, str):
        raise _complain(row, _("the formula gives a name, not a number."))
    return float(result)
