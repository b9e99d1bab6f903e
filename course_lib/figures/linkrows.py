"""Links in rows: packets drawn to scale, NVLink beside PCIe generation by generation, copies as a share of the line rate."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.figures.base import base_figure, describe, line, linear_axis, note, points, rate_axis
from course_lib.figures.theme import MARGIN, color, faded, ink, theme

ROW_PX = 62
TALL_PX = 74  # a line over the row, and two lines beside its marks
BAR_PX = 17


def packets(payload_B, overhead_B: float, *, chosen_B: float | None = None, title: str = "") -> go.Figure:
    """Return packets of a link as a share of their wire time: data solid, headers hatched, one row a payload size; two traces.

    `payload_B` (n,) is the data in a full packet and `overhead_B` what travels with each, both in bytes, above 0; `chosen_B` is
    the size that the title speaks of (the first by default).

    >>> packets([128, 256], 24, chosen_B=256).layout.title.text
    '24 B of headers on 256 B of data: 91 % of the packet is data'
    """
    sizes = np.atleast_1d(finite("payload_B", np.asarray(payload_B, dtype=float), above=0))
    overhead_B = finite("overhead_B", overhead_B, above=0)
    share = sizes / (sizes + overhead_B) * 100
    chosen_B = float(sizes[0]) if chosen_B is None else finite("chosen_B", chosen_B, above=0)
    texts = [
        _("{size} B of data: {share} %").format(size=say_number(s), share=f"{p:.1f}") for s, p in zip(sizes, share)
    ]
    data = _bars(share, 0.0, [color("pcie") if s == chosen_B else faded(color("pcie"), 0.55) for s in sizes], texts)
    rest = _bars(100 - share, share, [faded(color("attention"), 0.35)] * sizes.size, texts)
    rest["marker"]["pattern"] = {"shape": "/", "fgcolor": theme().muted, "size": 6, "solidity": 0.25}
    labels = [_over(text, i, ink("pcie") if s == chosen_B else ink()) for i, (text, s) in enumerate(zip(texts, sizes))]
    percent = say_number(100 * chosen_B / (chosen_B + overhead_B), 2)
    return base_figure(
        [data, rest],
        title=title
        or _("{overhead} B of headers on {size} B of data: {percent} % of the packet is data").format(
            overhead=say_number(overhead_B), size=say_number(chosen_B), percent=percent
        ),
        subtitle=_("each row is a packet as the wire sees it; solid: data, hatched: framing, header and check"),
        xaxis=linear_axis(_("share of the packet (%)"), 0, 102),
        **_layout(sizes.size, 46),
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("Share of data in a packet with {overhead} B of headers: {list}.").format(
                overhead=say_number(overhead_B), list="; ".join(texts)
            ),
            [_("data in a packet"), _("headers"), _("share of data")],
            [(f"{say_number(s)} B", f"{say_number(overhead_B)} B", f"{p:.1f} %") for s, p in zip(sizes, share)],
        ),
    )


def generations(
    titles: Sequence[str],
    pcie: Sequence[str],
    nvlink: Sequence[str],
    pcie_Bps,
    nvlink_Bps,
    *,
    under: Sequence[str] = (),
) -> go.Figure:
    """Return, a row a GPU, the rate of its PCIe slot (square) and of its NVLink (circle) on a log axis; three traces.

    `pcie` and `nvlink` are labels, `under` a few words more a row; rates (n,) are bytes per second of one direction, above 0.

    >>> generations(["H100"], ["PCIe 5"], ["NVLink 4"], [63e9], [450e9]).layout.title.text
    'H100: NVLink carries 7.1 times what its PCIe slot carries'
    """
    slow = np.atleast_1d(finite("pcie_Bps", np.asarray(pcie_Bps, dtype=float), above=0))
    fast = np.atleast_1d(finite("nvlink_Bps", np.asarray(nvlink_Bps, dtype=float), above=0))
    if not len(titles) == len(pcie) == len(nvlink) == slow.size == fast.size:
        raise CourseError(_("One entry a GPU is expected in titles, pcie, nvlink, pcie_Bps and nvlink_Bps."))
    n, ratio = slow.size, fast / slow
    y = np.arange(n, dtype=float)
    said = [
        _("{title}: {pcie} {slow}, {nvlink} {fast}, {ratio} ×").format(
            title=t, pcie=p, slow=say_rate(float(s)), nvlink=v, fast=say_rate(float(f)), ratio=say_number(float(r), 2)
        )
        for t, p, v, s, f, r in zip(titles, pcie, nvlink, slow, fast, ratio)
    ]
    joined = np.column_stack([slow, fast, np.full(n, np.nan)]).ravel()
    labels = []
    for i in range(n):
        more = f": {under[i]}" if i < len(under) else ""
        labels.append(_over(titles[i] + more, i, ink(), 20))
        for name, rate, role, side in ((pcie[i], slow[i], "pcie", "right"), (nvlink[i], fast[i], "nvlink", "left")):
            text = f"{name}<br><b>{say_rate(float(rate))}</b>"
            place = {"x": float(np.log10(rate)), "xref": "x", "y": i, "yref": "y", "xanchor": side}
            labels.append(note(text, role=role, xshift=-11 if side == "right" else 11, align=side, **place))
        middle = float(np.log10(slow[i] * fast[i]) / 2)
        labels.append(note(f"{say_number(float(ratio[i]), 2)} ×", x=middle, xref="x", y=i, yref="y", yshift=13))
    low, high = float(slow.min()) / 30, float(fast.max()) * 14  # room for labels on a phone
    return base_figure(
        [
            line(joined, np.repeat(y, 3), role="limit", width=2, dash="solid"),
            points(slow, y, role="pcie", size=13, hover="%{text}", text=said),
            points(fast, y, role="nvlink", size=14, hover="%{text}", text=said),
        ],
        title=_("{gpu}: NVLink carries {ratio} times what its PCIe slot carries").format(
            gpu=titles[-1], ratio=say_number(float(ratio[-1]), 2)
        ),
        subtitle=_("line rates of one direction; a row is a GPU with the slot it was sold with"),
        xaxis=rate_axis(low, high),
        **_layout(n, TALL_PX),
        annotations=labels,
        meta=describe(
            _("Line rates of one direction, a row a GPU. {list}.").format(list="; ".join(said)),
            [_("GPU"), _("PCIe"), _("rate"), _("NVLink"), _("rate"), _("NVLink over PCIe")],
            [
                (t, p, say_rate(float(s)), v, say_rate(float(f)), f"{say_number(float(r), 2)} ×")
                for t, p, v, s, f, r in zip(titles, pcie, nvlink, slow, fast, ratio)
            ],
        ),
    )


def of_line_rate(names: Sequence[str], measured_Bps, model_Bps, line_Bps, roles: Sequence[str]) -> go.Figure:
    """Return measured copies as a share of the line rate of their link, the model as a diamond; a row a copy, three traces.

    Rates (n,) are bytes per second of one direction, above 0; the bar ends at what was measured, 100 % is the line rate.

    >>> of_line_rate(["H200 host copy"], [55.4e9], [56.8e9], [63e9], ["pcie"]).layout.title.text
    'H200 host copy reaches 88 % of its line rate, the lowest of 1'
    """
    columns = (("measured_Bps", measured_Bps), ("model_Bps", model_Bps), ("line_Bps", line_Bps))
    measured, model, full = (np.atleast_1d(finite(n, np.asarray(v, dtype=float), above=0)) for n, v in columns)
    if not len(names) == len(roles) == measured.size == model.size == full.size:
        raise CourseError(_("One entry a copy is expected in names, measured_Bps, model_Bps, line_Bps and roles."))
    n, share, modelled = measured.size, 100 * measured / full, 100 * model / full
    texts = [
        _("{name}: {measured} of {line}, model {model}").format(
            name=a, measured=say_rate(float(b)), line=say_rate(float(c)), model=say_rate(float(d))
        )
        for a, b, c, d in zip(names, measured, full, model)
    ]
    labels = []
    for i, (name, b, c, s, role) in enumerate(zip(names, measured, full, share, roles)):
        value = _("<b>{share} %</b>  {measured} of {line}").format(
            share=say_number(float(s), 2), measured=say_rate(float(b)), line=say_rate(float(c))
        )
        labels.append(_over(f'{name}<br><span style="color:{ink("measured")}">{value}</span>', i, ink(role)))
    worst = int(np.argmin(share))
    diamonds = points(
        modelled, np.arange(n, dtype=float), role="model", symbol="diamond", size=12, hover="%{text}", text=texts
    )
    return base_figure(
        [
            _bars(share, 0.0, [color("measured")] * n, texts),
            diamonds,
            line([100, 100], [-0.6, n - 0.5], role="limit", width=1.5),
        ],
        title=_("{name} reaches {share} % of its line rate, the lowest of {n}").format(
            name=names[worst], share=say_number(float(share[worst]), 2), n=n
        ),
        subtitle=_("bar: measured; diamond: the model; dashed: line rate; one direction"),
        xaxis=linear_axis(
            _("share of the line rate (%)"), 0, max(104.0, float(max(share.max(), modelled.max())) * 1.04)
        ),
        **_layout(n),
        annotations=labels,
        meta=describe(
            _("Measured copies against line rate and model. {list}.").format(list="; ".join(texts)),
            [_("copy"), _("measured"), _("model"), _("line rate"), _("share of the line")],
            [
                (a, say_rate(float(b)), say_rate(float(d)), say_rate(float(c)), f"{s:.0f} %")
                for a, b, c, d, s in zip(names, measured, full, model, share)
            ],
        ),
    )


def _bars(lengths, base, colours: Sequence[str], texts: Sequence[str]) -> dict:
    return {
        "type": "bar", "orientation": "h", "x": np.asarray(lengths), "y": np.arange(len(texts), dtype=float),
        "base": base if np.ndim(base) else [base] * len(texts), "width": BAR_PX / ROW_PX,
        "marker": {"color": list(colours), "line": {"width": 0}}, "text": list(texts), "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _over(text: str, row: int, colour: str, lift_px: int = 10) -> dict:
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": row, "yref": "y", "yanchor": "bottom"}
    return note(text, color=colour, yshift=lift_px, align="left", **place)


def _layout(n_rows: int, row_px: int = ROW_PX) -> dict:
    above = (row_px - 10) / row_px
    yaxis = {"visible": False, "range": [n_rows - 1 + 18 / row_px, -above], "fixedrange": True, "title": {"text": ""}}
    return {"yaxis": yaxis, "height": round(MARGIN["b"] + 74 + row_px * (n_rows - 1 + above) + 18), "margin": {"l": 14}}
