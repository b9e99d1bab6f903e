"""Algorithms over message size: time and bus bandwidth of each, the quickest shaded; steps and bytes."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.figures.base import (
    at,
    base_figure,
    describe,
    end_labels,
    line,
    linear_axis,
    note,
    points,
    size_axis,
    time_axis,
    wrapped,
)
from course_lib.figures.inswitch import busbw_axis
from course_lib.figures.theme import MARGIN, SERIES_DASH, color, faded, ink, theme
from course_lib.timing.contest import ROWS, Contest

PANEL_PX, GAP_PX, TOP_PX = 230, 46, 24
RIGHT_PX = 124  # room for the names at the line ends
LEAST_BAND_PX = 62  # of a band that gets its winner's name; measured on a plot of PLOT_PX
PLOT_PX = 560
PHONE_PANEL_PX = 105
PHONE_PLOT_PX = (215, 270)  # on a page of 360 px


def contest_figure(
    found: Contest, at_B: float | None = None, *, role: str = "nvlink", title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return time (above) and bus bandwidth (below) of every algorithm over size; who wins is shaded and drawn thick.

    `at_B` marks one message on the winner's curve. `role` is the colour of the links that set the pace. Traces, always: a line
    per row of `ROWS` in either panel, the winner, the mark, and the limit of the link.

    >>> from course_lib.timing.contest import contest
    >>> fig = contest_figure(contest("dgx-h100", 8, 2.0 ** np.arange(3, 35)))
    >>> fig.layout.title.text.replace("<br>", " "), len(fig.data)
    ('8 GPUs: direct is quickest up to 47 MB, then in the switch', 17)
    """
    sizes = found.message_B
    if sizes.size < 2:
        raise CourseError(_("A contest of one size is no curve; two sizes or more are expected."))
    xaxis = size_axis(float(sizes[0]), float(sizes[-1]))
    height_px = 2 * PANEL_PX + GAP_PX
    share = PANEL_PX / height_px
    time_y = time_axis(float(found.time_s.min()) / 1.6, float(found.time_s.max()) * 1.6) | {"domain": [1 - share, 1]}
    link_Bps = found.system.scale_up.bandwidth_Bps if found.n_hosts <= found.system.hosts_per_domain else 0.0
    top = max(float(found.busbw_Bps.max()), link_Bps) * 1.12
    rate_y = busbw_axis(top) | {"domain": [0, share]}
    data, labels = [], []
    for values, yaxis, axis in ((found.time_s, time_y, "y"), (found.busbw_Bps, rate_y, "y2")):
        drawn, marks = _panel(found, values, yaxis, axis, role, at_B)
        data, labels = data + drawn, labels + marks
    data.append(
        line(sizes[[0, -1]] if link_Bps else [], [link_Bps] * 2 if link_Bps else [], role="limit", width=1.5)
        | {"yaxis": "y2"}
    )
    if link_Bps:
        labels.append(
            note(
                _("one link {rate}").format(rate=say_rate(link_Bps)),
                role="limit",
                x=0.01,
                xref="paper",
                xanchor="left",
                y=link_Bps,
                yref="y2",
                yshift=10,
            )
        )
    bands, names = _bands(found, xaxis, role)
    said = runs_in_words(found)
    some = 1 < len(found.taking_part) < len(found.names)
    head = _("{n} GPUs, {k} take part: {said}") if some else _("{n} GPUs: {said}")
    figure = base_figure(
        data,
        title=title or head.format(n=found.n_ranks, k=len(found.taking_part), said=said),
        subtitle=subtitle
        or _("above: time; below: bus bandwidth; shaded and thick: the quickest; faint: takes no part"),
        xaxis=xaxis | {"anchor": "y2"},
        yaxis=time_y,
        yaxis2=rate_y,
        margin={"r": RIGHT_PX},
        annotations=labels + names,
        shapes=bands,
        meta=describe(
            _("All-reduce on {n} GPUs of {where}: {said}. Sizes from {a} to {b}.").format(
                n=found.n_ranks,
                where=found.system.name,
                said=said,
                a=say_bytes(float(sizes[0])),
                b=say_bytes(float(sizes[-1])),
            ),
            [_("size"), *map(_, found.names), _("quickest taking part")],
            [
                [
                    say_bytes(float(sizes[i])),
                    *(say_time(float(t)) for t in found.time_s[:, i]),
                    _(found.names[int(found.winner[i])]),
                ]
                for i in np.unique(np.linspace(0, sizes.size - 1, min(sizes.size, 17)).round().astype(int))
            ],
        ),
    )
    figure.layout.margin.t += TOP_PX  # the winners' names stand over their bands
    figure.layout.height = height_px + figure.layout.margin.t + MARGIN["b"]
    return figure


def _panel(
    found: Contest, values, yaxis: dict, axis: str, role: str, at_B: float | None
) -> tuple[list[dict], list[dict]]:
    """Return the traces of one panel (a line per row, the winner, the mark) and the names at the line ends."""
    sizes, say = found.message_B, say_time if axis == "y" else say_rate
    said_sizes = [say_bytes(b) for b in sizes.tolist()]
    value = "%{text}, %{y:.3~s}" + ("s" if axis == "y" else "B/s")
    place = {name: i for i, name in enumerate(found.names)}
    data, ends = [], []
    for k, name in enumerate(ROWS):
        here, faint = name in place, name not in found.taking_part
        y = values[place[name]] if here else np.full(sizes.size, np.nan)
        look = {"role": "model", "dash": SERIES_DASH[k], "width": 1.1 if faint else 1.6}
        drawn = line(sizes, y, name=_(name), hover=f"{_(name)}: {value}", **look)
        data.append(drawn | {"yaxis": axis, "text": said_sizes if here else [], "opacity": 0.45 if faint else 0.9})
        if here:
            said = _(name) if axis == "y" else f"{_(name)}<br><b>{say(float(y[-1]))}</b>"
            ends.append((said, float(y[-1]), _role(name, found, role)))
    winner = values[found.winner, np.arange(sizes.size)]
    data.append(line(sizes, winner, role=role, width=4, dash="solid", name=_("quickest")) | {"yaxis": axis})
    shown = [] if at_B is None else [float(np.exp(np.interp(np.log(at_B), np.log(sizes), np.log(winner))))]
    mark = points([at_B] * len(shown), shown, role="attention", symbol="diamond", size=11, hover="%{text}")
    mark["marker"]["line"] = {"width": 1.5, "color": theme().ink}
    data.append(
        mark | {"yaxis": axis, "cliponaxis": False, "text": [f"{say_bytes(at_B)}: {say(shown[0])}"] if shown else []}
    )
    marks = end_labels(ends, yaxis, outside=True, height=PANEL_PX + 74 + MARGIN["b"], gap_px=16)
    return data, [{**m, "yref": axis, "font": {**m["font"], "size": 12}} for m in marks]


def runs_in_words(found: Contest) -> str:
    """Return who wins from where to where, in words.

    >>> from course_lib.timing.contest import contest
    >>> runs_in_words(contest("dgx-a100", 8, 2.0 ** np.arange(3, 35), library_only=True))
    'ring is the only one that takes part'
    """
    runs = found.runs
    if len(found.taking_part) == 1:
        return _("{name} is the only one that takes part").format(name=_(runs[0][2]))
    if len(runs) == 1:
        return _("{name} is quickest at every size").format(name=_(runs[0][2]))
    first = _("{name} is quickest up to {size}").format(name=_(runs[0][2]), size=say_bytes(_two(runs[0][1])))
    middle = [_("{name} to {size}").format(name=_(name), size=say_bytes(_two(b))) for _a, b, name in runs[1:-1]]
    return ", ".join([first, *middle, _("then {name}").format(name=_(runs[-1][2]))])


def _two(size_B: float) -> float:
    """Two digits: a crossing between two sizes is not known better."""
    return float(f"{size_B:.1e}")


def _role(name: str, found: Contest, role: str) -> str:
    return role if name == found.names[int(found.winner[-1])] else "model" if name in found.taking_part else "limit"


def _bands(found: Contest, xaxis: dict, role: str) -> tuple[list[dict], list[dict]]:
    """Return a band per run of one winner through both panels, and the winners' names over them where there is room."""
    low, high = xaxis["range"]
    bands, names = [], []
    end, level = np.inf, 0
    for i, (a, b, name) in reversed(list(enumerate(found.runs))):
        bands.append(
            {
                "type": "rect",
                "x0": a,
                "x1": b,
                "xref": "x",
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"width": 0},
                "fillcolor": faded(color(role), 0.16 if i % 2 else 0.07),
                "layer": "below",
            }
        )
        wide = (at(xaxis, b) - at(xaxis, a)) / (high - low) * PLOT_PX
        if wide >= LEAST_BAND_PX:
            text = wrapped(_(name), max(int(wide / 8), 6))
            middle = (at(xaxis, a) + at(xaxis, b)) / 2
            half = 4.2 * max(map(len, text.split("<br>")))
            place = (middle - low) / (high - low) * PHONE_PANEL_PX
            level = 0 if place + half < end else level + 1  # on a narrow page they would stand on one another
            end = min(end, place - half) if level else place - half
            names.append(
                note(
                    f"<b>{text}</b>",
                    color=ink(role),
                    x=middle,
                    xref="x",
                    xanchor="center",
                    y=1,
                    yref="paper",
                    yanchor="bottom",
                    yshift=2 - 18 * level,
                    font={"size": 12, "color": ink(role)},
                )
            )
    return bands[::-1], names[::-1]


def _beside(names: Sequence[str], across, up) -> list[dict]:
    """Return where names stand by their points (shares of a plot): at the right, else over, under or at the left, on nothing else."""
    wide, high = PHONE_PLOT_PX
    dots = [(x * wide - 7, x * wide + 7, y * high - 7, y * high + 7) for x, y in zip(across, up)]
    taken, places = list(dots), []
    for name, x, y in zip(names, np.asarray(across) * wide, np.asarray(up) * high):
        length = 7.7 * len(name)
        tries = [("left", 10, 0), ("left", -7, 17), ("left", -7, -17), ("right", -10, 0)]
        for anchor, dx, dy in tries:
            left = x + dx - (length if anchor == "right" else 0)
            box = (left, left + length, y + dy - 8, y + dy + 8)
            if left > -4 and left + length < wide + 14 and not any(_touch(box, other) for other in taken):
                break
        else:
            anchor, dx, dy = tries[0]
            box = (x + dx, x + dx + length, y - 8, y + 8)
        taken.append(box)
        places.append({"xanchor": anchor, "xshift": dx, "yshift": dy})
    return places


def _touch(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def steps_and_bytes(
    names: Sequence[str], steps, factors, n_ranks: int, *, best: Sequence[str] = (), title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return algorithms as points: steps that follow one another (across, log) and bytes through a link over the message (up).

    `best` are drawn in green. Two traces.

    >>> steps_and_bytes(["ring", "tree"], [14, 6], [1.75, 6], 8).layout.title.text.replace("<br>", " ")
    'On 8 GPUs: ring takes 14 steps and 1.75 messages, tree 6 steps and 6'
    """
    x, y = np.asarray(steps, dtype=float), np.asarray(factors, dtype=float)
    if not len(names) == x.size == y.size or x.size < 2:
        raise CourseError(_("Each algorithm needs a name, steps and bytes, and there have to be two or more."))
    texts = [
        _("{name}: {s} steps, {f} × the message").format(name=n, s=say_number(float(a), 3), f=say_number(float(b), 3))
        for n, a, b in zip(names, x, y)
    ]
    chosen = np.isin(np.array(names), list(best))
    data = []
    for mine, role, symbol in ((~chosen, "model", "circle"), (chosen, "nvlink", "diamond")):
        shown = points(x[mine], y[mine], role=role, size=12, symbol=symbol, hover="%{text}")
        data.append(shown | {"text": [t for t, m in zip(texts, mine) if m]})
    low, high = float(x.min()) / 1.6, float(x.max()) * 2.4
    ticks = [t for t in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= t <= high]
    xaxis = linear_axis(_("steps, one after another"), float(np.log10(low)), float(np.log10(high))) | {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [say_number(t) for t in ticks],
    }
    top = float(y.max()) * 1.15
    yaxis = linear_axis(_("bytes through a GPU's link ÷ message"), -0.09 * top, top)
    labels = [
        note(name, role="nvlink" if c else "", x=at(xaxis, float(a)), xref="x", y=float(b), yref="y", **place)
        for name, a, b, c, place in zip(
            names, x, y, chosen, _beside(names, np.log10(x / low) / np.log10(high / low), y / top)
        )
    ]
    k = int(np.flatnonzero(chosen)[0]) if chosen.any() else 1
    said = {"n": n_ranks, "a": names[0], "s": say_number(float(x[0])), "f": say_number(float(y[0]))}
    said |= {"b": names[k], "t": say_number(float(x[k])), "g": say_number(float(y[k]))}
    return base_figure(
        data,
        title=title or _("On {n} GPUs: {a} takes {s} steps and {f} messages, {b} {t} steps and {g}").format(**said),
        subtitle=subtitle or _("left is better for small messages, down is better for large ones"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=labels,
        meta=describe(
            _("Steps and bytes of all-reduce algorithms on {n} GPUs. {list}.").format(n=n_ranks, list="; ".join(texts)),
            [_("algorithm"), _("steps"), _("bytes ÷ message")],
            [(n, float(a), float(b)) for n, a, b in zip(names, x, y)],
        ),
    )
