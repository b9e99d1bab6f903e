"""Graphs: machines as on a whiteboard, GPUs below and switches above; width is what flows, colour how full a link is."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.figures.base import base_figure, blank_axis, describe, note
from course_lib.figures.theme import color, faded, ink, theme

# Vertex shapes: what a thing is can be told without its name.
SHAPES = {
    "gpu": "square",
    "cpu": "circle",
    "root": "circle",
    "switch": "hexagon2",
    "nic": "diamond",
    "memory": "triangle-up",
}
LEVELS = (0.0, 0.01, 0.5, 0.8, 0.99)  # fullness from which a link is drawn thin, light, middling, dark, and as full
_STEPS = 14  # points along a link, so that hovering anywhere on it works


def fullness_colours() -> list[str]:
    """Return the colours of LEVELS, from unused grey to the attention of a full link.

    >>> len(fullness_colours()) == len(LEVELS)
    True
    """
    full = color("network")
    return [theme().axis, faded(color("attention"), 0.55), color("attention"), faded(full, 0.8), full]


def graph(
    names: Sequence[str],
    kinds: Sequence[str],
    x,
    y,
    src,
    dst,
    flow_Bps,
    capacity_Bps,
    *,
    title: str = "",
    subtitle: str = "",
    height: int = 420,
    unit_say=say_rate,
) -> go.Figure:
    """Return a machine as a graph of directed links; always two traces, hover points and vertices; links are shapes.

    Vertices: `names`, `kinds` (of SHAPES), positions `x`, `y` (larger y is higher), shape (v,). Directed links: `src`, `dst` (indices),
    `flow_Bps` and `capacity_Bps` (bytes/s, one direction), shape (e,). The two directions of a pair are drawn side by side. The fullest
    link is named in the title and labelled.

    >>> fig = graph(["switch", "GPU 0"], ["switch", "gpu"], [0, 0], [1, 0], [0, 1], [1, 0], [6e10, 0], [6e10, 6e10])
    >>> fig.layout.title.text, len(fig.data)
    ('switch → GPU 0 is full: 60 GB/s', 2)
    """
    x, y = np.atleast_1d(finite("x", np.asarray(x))), np.atleast_1d(finite("y", np.asarray(y)))
    src, dst = np.atleast_1d(np.asarray(src, dtype=int)), np.atleast_1d(np.asarray(dst, dtype=int))
    flow = np.atleast_1d(finite("flow_Bps", np.asarray(flow_Bps, dtype=float), at_least=0))
    capacity = np.atleast_1d(finite("capacity_Bps", np.asarray(capacity_Bps, dtype=float), above=0))
    if not src.shape == dst.shape == flow.shape == capacity.shape or not len(names) == len(kinds) == x.size == y.size:
        raise CourseError(
            _(
                "One entry a link is expected in src, dst, flow_Bps and capacity_Bps, and one a vertex in names, kinds, x and y."
            )
        )
    full = flow / capacity
    level = np.searchsorted(LEVELS, np.minimum(full, 1.0) + 1e-9, side="right") - 1
    width = np.where(flow > 0, 1.5 + 9 * np.sqrt(flow / max(flow.max(), 1e-300)), 1.2)
    colours = fullness_colours()
    paths = [_path(x, y, s, d, w) for s, d, w in zip(src, dst, width)]
    drawn = np.argsort(level, kind="stable")  # the fullest on top
    links = [_link_shape(paths[i], width[i], colours[level[i]]) for i in drawn]
    words = [
        _("{a} → {b}: {flow} of {all}, {percent} % full").format(
            a=names[s],
            b=names[d],
            flow=unit_say(float(f)),
            all=unit_say(float(c)),
            percent=say_number(100 * float(u), 3),
        )
        for s, d, f, c, u in zip(src, dst, flow, capacity, full)
    ]
    data = [_hover(paths, words), _vertices(names, kinds, x, y)]
    worst = int(np.argmax(full)) if full.size else -1
    labels = _names(names, kinds, x, y)
    if worst >= 0 and flow[worst] > 0:
        px, py = paths[worst]
        place = {"x": float(px[_STEPS // 2]), "y": float(py[_STEPS // 2]), "xref": "x", "yref": "y"}
        labels.append(note(f"<b>{unit_say(float(flow[worst]))}</b>", color=ink("network"), **place))
    if not title:
        title = _fullest(names, src, dst, flow, full, worst, unit_say)
    span_x, span_y = max(float(np.ptp(x)), 1.0), max(float(np.ptp(y)), 1.0)
    return base_figure(
        data,
        title=title,
        subtitle=subtitle or _("width: what flows one way; colour: how full the link is, from grey to vermilion"),
        xaxis=blank_axis(float(x.min()) - 0.09 * span_x, float(x.max()) + 0.09 * span_x),
        yaxis=blank_axis(float(y.min()) - 0.2 * span_y, float(y.max()) + 0.16 * span_y),
        annotations=labels,
        shapes=links,
        height=height,
        margin={"l": 8, "r": 8, "b": 12},
        meta=describe(
            _("A graph of {v} parts and {e} directed links. ").format(v=len(names), e=src.size)
            + "; ".join(w for w, f in zip(words, flow) if f > 0)
            + ".",
            [_("from"), _("to"), _("flow"), _("capacity"), _("full")],
            [
                (names[s], names[d], unit_say(float(f)), unit_say(float(c)), f"{100 * u:.0f} %")
                for s, d, f, c, u in zip(src, dst, flow, capacity, full)
            ],
        ),
    )


def pcie_tree(
    names: Sequence[str],
    kinds: Sequence[str],
    parent,
    up_Bps,
    down_Bps,
    capacity_Bps,
    *,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return a PCIe tree with its loads: root complexes on top, GPUs at the foot, the two directions of every link side by side.

    `parent[i]` is the index of what i hangs on, −1 for a root; `up_Bps[i]` flows from i to its parent, `down_Bps[i]` from the parent
    to i, `capacity_Bps[i]` is what that link carries in one direction (a root's entries are not read).

    >>> kinds, up, down = ["root", "gpu", "gpu"], [0, 5e10, 0], [0, 0, 5e10]
    >>> pcie_tree(["CPU", "GPU 0", "GPU 1"], kinds, [-1, 0, 0], up, down, [0, 6e10, 6e10]).layout.title.text
    'GPU 0 → CPU is 83 % full: 50 GB/s'
    """
    parent = np.asarray(parent, dtype=int)
    child = np.flatnonzero(parent >= 0)
    x, y = _tree_places(parent)
    capacity = np.asarray(capacity_Bps, dtype=float)[child]
    return graph(
        names,
        kinds,
        x,
        y,
        np.concatenate([child, parent[child]]),
        np.concatenate([parent[child], child]),
        np.concatenate([np.asarray(up_Bps, dtype=float)[child], np.asarray(down_Bps, dtype=float)[child]]),
        np.concatenate([capacity, capacity]),
        title=title,
        subtitle=subtitle,
    )


def _tree_places(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions: leaves side by side at the foot, everything else above the middle of what hangs on it."""
    n = parent.size
    for i, p in enumerate(parent):
        whole("parent", p, at_least=-1, at_most=n - 1)
        seen, above = {i}, int(p)
        while above >= 0:
            if above in seen:
                raise CourseError(_("Vertex {i} hangs on itself; a tree has no circles.").format(i=i))
            seen.add(above)
            above = int(parent[above])
    children = [np.flatnonzero(parent == i) for i in range(n)]
    x, y = np.zeros(n), np.zeros(n)
    next_x = 0.0

    def place(i: int) -> float:
        nonlocal next_x
        if not children[i].size:
            x[i], y[i] = next_x, 0.0
            next_x += 1
            return 0.0
        y[i] = 1.0 + max(place(int(c)) for c in children[i])
        x[i] = float(np.mean(x[children[i]]))
        return y[i]

    for root in np.flatnonzero(parent < 0):
        place(int(root))
    return x, y


def _path(x, y, s: int, d: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points along a link, moved to its right-hand side so that the way back has its own place."""
    t = np.linspace(0, 1, _STEPS + 1)
    dx, dy = x[d] - x[s], y[d] - y[s]
    length = max(float(np.hypot(dx, dy)), 1e-9)
    aside = 0.012 * max(np.ptp(x), 1.0)
    return x[s] + dx * t + aside * dy / length, y[s] + dy * t - aside * 0.6 * dx / length


def _link_shape(path, width: float, colour: str) -> dict:
    """Return a link as a shape: every one has a width of its own, which lines of one trace cannot have."""
    px, py = path
    ends = {"x0": float(px[0]), "y0": float(py[0]), "x1": float(px[-1]), "y1": float(py[-1])}
    return {"type": "line", "layer": "below", "line": {"color": colour, "width": float(width)}, **ends}


def _hover(paths, words: Sequence[str]) -> dict:
    px = np.concatenate([p[0][1:-1] for p in paths]) if paths else []
    py = np.concatenate([p[1][1:-1] for p in paths]) if paths else []
    return {
        "type": "scatter",
        "mode": "markers",
        "x": px,
        "y": py,
        "text": [w for w in words for _i in range(_STEPS - 1)],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 9, "opacity": 0, "color": theme().ground},
    }


def _vertices(names, kinds, x, y) -> dict:
    small = len(names) > 24
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "text": list(names),
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": [SHAPES.get(kind, "circle") for kind in kinds],
            "size": [16 if small else {"switch": 38, "gpu": 30}.get(kind, 32) for kind in kinds],
            "color": theme().panel,
            "line": {"color": theme().ink, "width": 1.8},
            "opacity": 1,
        },
    }


def _names(names, kinds, x, y) -> list[dict]:
    """Return the names: below what stands at the foot, above the rest; left out where there are too many to read."""
    if len(names) > 40:
        return []
    foot = y.min()
    crowd = int(np.sum(y == foot))
    labels = []
    for name, _kind, a, b in zip(names, kinds, x, y):
        short = name if crowd <= 6 or b > foot else name.replace(" ", "<br>", 1)
        labels.append(
            note(
                short,
                x=float(a),
                xref="x",
                y=float(b),
                yref="y",
                yshift=(-29 - 8 * short.count("<br>")) if b == foot else 29,
            )
            | {"font": {"size": 12, "color": ink()}}
        )
    return labels


def _fullest(names, src, dst, flow, full, worst: int, say) -> str:
    if worst < 0 or flow[worst] == 0:
        return _("Nothing flows")
    words = {"a": names[src[worst]], "b": names[dst[worst]], "flow": say(float(flow[worst]))}
    if full[worst] >= 0.995:
        return _("{a} → {b} is full: {flow}").format(**words)
    return _("{a} → {b} is {percent} % full: {flow}").format(percent=say_number(100 * float(full[worst]), 2), **words)
