"""Data sheets as pictures: lines as printed and in one form, one rate in every form, prefixes, and from sheet to copy."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import GB, KB, MB, TB, GiB, KiB, MiB, TiB, say_bit_rate, say_number, say_rate
from course_lib.figures.base import base_figure, describe, linear_axis, log_axis
from course_lib.figures.rows import ROW_PX, losses, row_bars, row_label, row_value, rows_layout
from course_lib.figures.theme import color, faded, ink, theme

COURSE_FORM = 0  # the row of `forms` that the course uses: bytes, decimal, one direction


def as_printed(names: Sequence[str], texts: Sequence[str], numbers, roles: Sequence[str]) -> go.Figure:
    """Return the lines of a data sheet as bars of the bare numbers, as a hasty reader sees them; one trace, linear axis.

    `texts` is what the sheet prints, `numbers` (above 0) is the number in it; rows keep their order.

    >>> as_printed(["NVLink", "network card"], ["900 GB/s", "400 Gb/s"], [900, 400], ["nvlink", "network"]).layout.title.text
    'As printed, NVLink is 2.25 × the network card'
    """
    numbers = _numbers("numbers", numbers, names, texts, roles)
    title = _("As printed, {first} is {ratio} × the {last}").format(
        first=names[0], last=names[-1], ratio=say_number(numbers[0] / numbers[-1])
    )
    high = float(numbers.max()) * 1.3
    return _rows(
        names, numbers, texts, [color(r) for r in roles], [ink(r) for r in roles],
        title=title, subtitle=_("bars: the number alone, whatever stands behind it"),
        xaxis=linear_axis(_("the printed number"), 0, high),
        columns=[_("line"), _("printed")], rows=list(zip(names, texts)),
    )  # fmt: skip


def in_one_form(names: Sequence[str], texts: Sequence[str], rate_Bps, roles: Sequence[str]) -> go.Figure:
    """Return the same lines in one form, bytes per second of one direction, with what was printed beside each; one trace.

    >>> in_one_form(["NVLink", "network card"], ["900 GB/s", "400 Gb/s"], [450e9, 50e9], ["nvlink", "network"]).layout.title.text
    'In one form, NVLink is 9 × the network card'
    """
    rates = _numbers("rate_Bps", rate_Bps, names, texts, roles)
    said = [say_rate(float(rate)) for rate in rates]
    title = _("In one form, {first} is {ratio} × the {last}").format(
        first=names[0], last=names[-1], ratio=say_number(rates[0] / rates[-1], 2)
    )
    high = float(rates.max()) / GB * 1.3
    labels = [_("{name}, printed as {text}").format(name=name, text=text) for name, text in zip(names, texts)]
    return _rows(
        labels, rates / GB, said, [color(r) for r in roles], [ink(r) for r in roles],
        title=title, subtitle=_("bars: bytes per second in one direction, decimal prefix"),
        xaxis=linear_axis(_("rate, one direction (GB/s)"), 0, high),
        columns=[_("line"), _("printed"), _("rate, one direction")], rows=list(zip(names, texts, said)),
    )  # fmt: skip


def prefixes() -> go.Figure:
    """Return by how much each binary prefix is larger than its decimal twin, in percent; one trace.

    >>> prefixes().layout.title.text
    'A GiB is 7.4 % more than a GB'
    """
    pairs = (("KiB", "KB", KiB / KB), ("MiB", "MB", MiB / MB), ("GiB", "GB", GiB / GB), ("TiB", "TB", TiB / TB))
    more = np.array([100 * (ratio - 1) for _b, _d, ratio in pairs])
    names = [_("{binary} over {decimal}").format(binary=b, decimal=d) for b, d, _r in pairs]
    texts = [_("{percent} % more").format(percent=say_number(p, 2)) for p in more]
    marks = [color("attention") if b == "GiB" else color("limit") for b, _d, _r in pairs]
    inks = [ink("attention") if b == "GiB" else ink() for b, _d, _r in pairs]
    return _rows(
        names, more, texts, marks, inks,
        title=_("A GiB is {percent} % more than a GB").format(percent=say_number(more[2], 2)),
        subtitle=_("bars: the binary unit over its decimal twin; every step of 1024 over 1000 adds to the gap"),
        xaxis=linear_axis(_("difference (%)"), 0, float(more.max()) * 1.35),
        columns=[_("units"), _("difference")], rows=list(zip(names, texts)),
    )  # fmt: skip


def forms(
    typed: str,
    rate_Bps: float,
    lane_GTps: float,
    lanes: str,
    typed_row: int | None = None,
    rows: Sequence[Sequence] = (),
) -> go.Figure:
    """Return one rate in the seven forms that specifications use: the number in front of the unit, on a log axis; one trace.

    `rate_Bps` is one direction (above 0), `lane_GTps` the transfers of each lane in 1e9 per second, `lanes` says how many and in
    which code, `typed_row` (0 … 6) marks the form that was typed; `rows` (form, text) is the table of the figure, if there is more to say.

    >>> forms("900 GB/s", 450e9, 228.5, "16 lanes, 128b/130b", 1).layout.title.text
    '"900 GB/s" is 450 GB/s in one direction'
    """
    rate_Bps = finite("rate_Bps", rate_Bps, above=0)
    labels = [
        _("GB/s, one direction"), _("GB/s, both directions added"), _("Gb/s, one direction"), _("Gb/s, both directions added"),
        _("GiB/s, one direction"), _("GiB/s, both directions added"), _("GT/s on each lane ({lanes})").format(lanes=lanes),
    ]  # fmt: skip
    one, both = rate_Bps / GB, 2 * rate_Bps / GB
    numbers = np.array(
        [one, both, 8 * one, 8 * both, rate_Bps / GiB, 2 * rate_Bps / GiB, finite("lane_GTps", lane_GTps, above=0)]
    )
    if typed_row not in (None, *range(len(labels))):
        raise CourseError(
            _("typed_row is {row}; 0 to {last} or None is expected.").format(row=typed_row, last=len(labels) - 1)
        )
    marks, inks = [faded(theme().muted, 0.45)] * len(labels), [ink()] * len(labels)
    marks[COURSE_FORM], inks[COURSE_FORM] = color("model"), ink("model")
    texts = [say_number(n, 4) for n in numbers]
    if typed_row is not None:
        texts[typed_row] += "  " + _("as typed")
        if typed_row != COURSE_FORM:
            marks[typed_row], inks[typed_row] = color("attention"), ink("attention")
    # The axis stays where it is for the rates that exist, so that the bars move and not the ticks.
    low = min(1.0, 10.0 ** np.floor(np.log10(numbers.min() / 2)))
    high = max(3e6, 10.0 ** np.ceil(np.log10(numbers.max() * 30)))
    shown = typed.strip() if len(typed.strip()) <= 40 else typed.strip()[:39] + "…"
    return _rows(
        labels, numbers, texts, marks, inks,
        title=_('"{typed}" is {rate} in one direction').format(typed=_plain(shown), rate=say_rate(rate_Bps)),
        subtitle=_("one rate in seven forms, {low} to {high}; bars: the number in front of the unit").format(
            low=say_number(numbers.min()), high=say_number(numbers.max())
        ),
        xaxis=log_axis(_("the number in front of the unit"), float(low), float(high), say_number, 4),
        low=float(low), columns=[_("form"), _("value")],
        rows=list(rows) or list(zip(labels, texts)),
        alt=_('"{typed}" is {rate} in one direction, {bits} in bits.').format(
            typed=shown, rate=say_rate(rate_Bps), bits=say_bit_rate(rate_Bps)
        ),
    )  # fmt: skip


def sheet_to_copy(stages: Sequence[str], rate_Bps, measured_Bps: float, *, name: str, role: str = "pcie") -> go.Figure:
    """Return what is left of a data sheet's number on the way to one copy, and a measured copy below; three traces.

    `stages` and `rate_Bps` (bytes/s) go from the advertised sum of both directions to the payload of one.

    >>> fig = sheet_to_copy(["both directions", "one direction"], [128e9, 64e9], 55e9, name="PCIe 5 x16")
    >>> fig.layout.title.text
    'Of the 128 GB/s of PCIe 5 x16 one copy gets 55 GB/s: 43 %'
    """
    rates = np.atleast_1d(finite("rate_Bps", np.asarray(rate_Bps, dtype=float), above=0))
    measured_Bps = finite("measured_Bps", measured_Bps, above=0)
    percent = say_number(100 * measured_Bps / float(rates[0]), 2)
    title = _("Of the {printed} of {name} one copy gets {measured}: {percent} %").format(
        printed=say_rate(float(rates[0])), name=name, measured=say_rate(measured_Bps), percent=percent
    )
    subtitle = _("solid: left after this step; hatched: taken off at it")
    figure = losses(stages, rates, role=role, measured_Bps=measured_Bps, title=title, subtitle=subtitle)
    figure.layout.xaxis.title.text = _("rate")  # the first bar adds both directions
    return figure


def _plain(text: str) -> str:
    """Take the angle brackets out of what a person typed: Plotly reads tags in titles."""
    return text.replace("<", "‹").replace(">", "›")


def _numbers(name: str, values, *columns: Sequence) -> np.ndarray:
    found = np.atleast_1d(finite(name, np.asarray(values, dtype=float), above=0))
    sizes = {len(found), *map(len, columns)}
    if len(sizes) > 1:
        raise CourseError(
            _("{name} and its columns have {sizes} rows; one entry a row is expected in each.").format(
                name=name, sizes=sorted(sizes)
            )
        )
    return found


def _rows(names, numbers, texts, colours, inks, *, title, subtitle, xaxis, columns, rows, low=0.0, alt="") -> go.Figure:
    """Bars from top to bottom, each with its name above it and its text at its end."""
    said = [f"{name}: {text}" for name, text in zip(names, texts)]
    ends = np.log10(numbers) if xaxis["type"] == "log" else numbers
    labels = [row_label(name, i) for i, name in enumerate(names)]
    labels += [row_value(f"<b>{text}</b>", v, i, c) for i, (text, v, c) in enumerate(zip(texts, ends, inks))]
    return base_figure(
        [row_bars(np.asarray(numbers) - low, base=low, colours=colours, texts=said, row_px=ROW_PX)],
        title=title, subtitle=subtitle, xaxis=xaxis, annotations=labels, **rows_layout(len(names)),
        meta=describe(alt or _("{title}. {list}.").format(title=title, list="; ".join(said)), columns, rows),
    )  # fmt: skip
