"""Origins: a table that says of every value of a lesson what was published, in which direction, and where."""

import html
import re
from dataclasses import dataclass

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.base.language import _


@dataclass(frozen=True, slots=True)
class Numbers:
    """Rows of (value, as published, source, address); shown as a table in a notebook, as lines elsewhere."""

    rows: tuple[tuple[str, str, str, str], ...]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {said}. {source}" for name, said, source, _address in self.rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        titles = (_("value"), _("as published"), _("source"))
        head = "".join(f'<th scope="col" style="text-align:left">{html.escape(t)}</th>' for t in titles)
        body = "".join(_row_html(*row) for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row_html(name: str, said: str, source: str, address: str) -> str:
    shown = html.escape(source)
    if address.startswith("https://"):
        shown = f'<a href="{html.escape(address)}" target="_blank" rel="noopener">{shown}</a>'
    cells = (html.escape(name), html.escape(said), shown)
    return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"


def where_from(*names: str) -> Numbers:
    """Return the source of each value, named "item.field"; of a derived value also those that it is made of, each once.

    Raises CourseError for a name without a dot and for unknown items and fields, with the nearest ones.

    >>> print(where_from("nvlink4.advertised_Bps"))  # doctest: +ELLIPSIS
    NVLink 4 of one GPU (H100, H200, GH200), advertised_Bps: 900 GB/s, both directions. Machine Learning Engineering: network, ...
    """
    rows: dict[tuple[str, str], tuple[str, str, str, str]] = {}
    for name in names:
        item, dot, field = str(name).partition(".")
        if not dot:
            raise CourseError(_("{name!r} names no value; write it as 'nvlink4.line_Bps'.").format(name=name))
        _collect(hardware.find(item), field, rows)
    return Numbers(tuple(rows.values()))


def _collect(item: str, field: str, rows: dict) -> None:
    value = hardware.line(item, field)
    if (item, field) in rows:
        return
    direction = {"both": _(", both directions"), "per direction": _(", one direction")}.get(value.direction, "")
    said = (
        f"{value.published} {value.unit}".strip() + direction
        if value.published
        else _("computed: {f}").format(f=value.formula)
    )
    source = hardware.source_of(item, field)
    name = f"{hardware.table().items[item].title}, {field}"
    rows[item, field] = (name, said, _("this library") if value.formula else str(source), source.address)
    if value.formula:
        for part in re.findall(r"[A-Za-z_]\w*(?:\.\w+)?", value.formula):
            other, dot, inner = part.partition(".")
            if dot:
                _collect(hardware.named(item, other), inner, rows)
            else:
                _collect(item, part, rows)
