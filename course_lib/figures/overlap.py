"""Overlap: computing and the network as two lanes along one time axis, waiting in amber; exposed time by bucket size."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_time
from course_lib.figures.base import at, base_figure, describe, line, log_axis, note, points, size_axis
from course_lib.figures.stepbars import seconds_axis
from course_lib.figures.theme import MARGIN, color, faded, theme
from course_lib.plan.sharding import BucketSearch, Event

LANE_PX, BAR, BLOCK = 30, 0.78, 3.3  # a block: one row for its name, two lanes, a little air
MOST_BARS = 3_000
HATCH = {"size": 5, "solidity": 0.6}


def _spans(events: Sequence[Event], compute: bool) -> tuple[np.ndarray, np.ndarray, list[str]]:
    chosen = [e for e in events if (e.lane == "compute") == compute]
    return np.array([e.start_s for e in chosen]), np.array([e.end_s for e in chosen]), [e.label for e in chosen]


def waiting(events: Sequence[Event]) -> tuple[np.ndarray, np.ndarray]:
    """Return begin and end of every stretch in which the network is busy or awaited and nothing is computed, in seconds.

    >>> begin, end = waiting([Event("compute", "a", 0.0, 1.0), Event("network", "b", 1.0, 1.5)])
    >>> begin.tolist(), end.tolist()
    ([1.0], [1.5])
    """
    start, end, _labels = _spans(events, True)
    order = np.argsort(start, kind="stable")
    last = max(e.end_s for e in events)
    begins = np.concatenate([[0.0], end[order]])
    ends = np.concatenate([start[order], [last]])
    open_ = ends - begins > 1e-9 * max(last, 1e-30)
    return begins[open_], ends[open_]


def _checked(blocks: Sequence[tuple[str, Sequence[Event]]]) -> float:
    if not blocks or any(not any(e.lane == "compute" for e in events) for _name, events in blocks):
        raise CourseError(_("Each timeline needs bars on the lane compute."))
    if sum(len(events) for _name, events in blocks) > MOST_BARS:
        raise CourseError(_("More than {most} bars are too fine to draw.").format(most=MOST_BARS))
    return max(e.end_s for _name, events in blocks for e in events)


def _traces(blocks: Sequence[tuple[str, Sequence[Event]]], role: str, axes: dict | None = None) -> list[dict]:
    """Three traces: computing, the network, waiting; the lanes of block i lie at BLOCK·i + 1 and + 2."""
    grey, strong = color("memory"), color(role)
    shades, gathering, amber = (
        (faded(grey, 0.5), faded(grey, 0.75)),
        faded(strong, 0.45),
        faded(color("attention"), 0.8),
    )
    drawn = {name: {"x": [], "base": [], "y": [], "colour": [], "shape": [], "text": []} for name in "cnw"}

    def add(kind: str, begin: float, end: float, y: float, colour: str, shape: str, text: str) -> None:
        columns = drawn[kind]
        for key, value in zip(columns, (end - begin, begin, y, colour, shape, text), strict=True):
            columns[key].append(value)

    for i, (name, events) in enumerate(blocks):
        seen = 0
        for e in events:
            if e.lane == "compute":
                seen += 1
                add("c", e.start_s, e.end_s, BLOCK * i + 1, shades[seen % 2], "", f"{name}, {e.label}")
            elif e.lane == "all-gather":
                add("n", e.start_s, e.end_s, BLOCK * i + 2, gathering, "/", f"{name}, {e.lane}, {e.label}")
            else:
                add("n", e.start_s, e.end_s, BLOCK * i + 2, strong, "", f"{name}, {e.lane}, {e.label}")
        nothing = _("{name}, nothing is computed").format(name=name)
        for begin, end in zip(*waiting(events), strict=True):
            add("w", float(begin), float(end), BLOCK * i + 1, amber, "x", nothing)
    hover = "%{text}<br>" + _("from %{base:.4s}s on, for %{x:.3s}s") + "<extra></extra>"
    return [
        {
            "type": "bar",
            "orientation": "h",
            "x": np.array(d["x"], float),
            "y": np.array(d["y"], float),
            "base": np.array(d["base"], float),
            "width": BAR,
            "marker": {
                "color": d["colour"],
                "line": {"width": 0.8, "color": theme().ground},
                "pattern": HATCH | {"shape": d["shape"], "fgcolor": theme().ground},
            },
            "text": d["text"],
            "textposition": "none",
            "hovertemplate": hover,
            **(axes or {}),
        }
        for d in drawn.values()
    ]


def exposed(events: Sequence[Event]) -> float:
    """Return the seconds in which a timeline does not compute.

    >>> exposed([Event("compute", "a", 0.0, 1.0), Event("network", "b", 0.5, 1.5)])
    0.5
    """
    begin, end = waiting(events)
    return float((end - begin).sum())


def lanes(
    blocks: Sequence[tuple[str, Sequence[Event]]], *, role: str = "network", title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return timelines under one another: grey computing above, coloured network below, amber where nothing is computed.

    `blocks` are (name, bars); bars on the lane "compute" lie above, all others on the network's lane, those of an
    all-gather paler and hatched. `role` colours the network. Three traces.

    >>> both = [("late", [Event("compute", "a", 0, 1.0), Event("network", "b", 1.0, 1.5)]),
    ...         ("early", [Event("compute", "a", 0, 1.0), Event("network", "b", 0.6, 1.1)])]
    >>> lanes(both).layout.title.text
    'Exposed: late 500 ms, early 100 ms'
    """
    longest = _checked(blocks)
    stuck = [exposed(events) for _name, events in blocks]
    shown = ", ".join(f"{name} {say_time(t)}" for (name, _events), t in zip(blocks, stuck))
    labels = [
        note(
            _("{name}: <b>{time}</b> exposed").format(name=name, time=say_time(t)),
            x=0,
            xref="paper",
            xanchor="left",
            y=BLOCK * i,
            yref="y",
            yshift=-4,
        )
        for i, ((name, _events), t) in enumerate(zip(blocks, stuck))
    ]
    rows = [
        (
            name,
            say_time(float(sum(e.end_s - e.start_s for e in events if e.lane == "compute"))),
            say_time(float(sum(e.end_s - e.start_s for e in events if e.lane != "compute"))),
            say_time(t),
        )
        for (name, events), t in zip(blocks, stuck)
    ]
    n = len(blocks)
    return base_figure(
        _traces(blocks, role),
        title=title or _("Exposed: {list}").format(list=shown),
        subtitle=subtitle
        or _("grey: computing, a bar for each layer; coloured: the network; amber, crossed: nothing is computed"),
        xaxis=seconds_axis(longest),
        yaxis={
            "range": [BLOCK * n - 0.6, -0.7],
            "visible": False,
            "fixedrange": True,
            "title": {"text": ""},
        },
        height=round(MARGIN["b"] + 74 + LANE_PX * (BLOCK * n + 0.2)),
        margin={"l": 14},
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("Timelines of computing and network. {list}.").format(
                list="; ".join(
                    _("{name}: computing {a}, network busy {b}, exposed {c}").format(name=r[0], a=r[1], b=r[2], c=r[3])
                    for r in rows
                )
            ),
            [_("timeline"), _("computing"), _("network busy"), _("exposed")],
            rows,
        ),
    )


def over_buckets(
    name: str,
    events: Sequence[Event],
    search: BucketSearch,
    chosen_B: float,
    *,
    role: str = "network",
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Return one timeline, and under it the exposed time over the bucket size with the chosen size marked; five traces.

    >>> from course_lib.plan.replicas import bars, tensors
    >>> from course_lib.plan.sharding import bucket_search, overlap
    >>> work, time_of = tensors("gpt2-1.5b", 8192, 400e12), (lambda m: 3e-4 + m / 60e9)
    >>> found = bucket_search(work.backward_s, work.gradient_B, time_of, [1e6, 1e8, 4e8])
    >>> events = bars(work, overlap(work.backward_s, work.gradient_B, 1e8, time_of))
    >>> len(over_buckets("all", events, found, 1e8).data)
    5
    """
    blocks = [(name, events)]
    longest, stuck = _checked(blocks), exposed(events)
    chosen_B = finite("chosen_B", chosen_B, above=0, unit="bytes")
    sizes, late = search.bucket_B, search.exposed_s
    positive = late[late > 0]
    low = positive.min() / 1.6 if positive.size else 1e-6
    high = max(positive.max(initial=low), stuck, 2 * low) * 2.2
    below = log_axis(_("exposed time"), low, high, say_time, 3) | {"domain": [0, 0.46], "anchor": "x2"}
    across = size_axis(float(sizes.min()), float(sizes.max()), _("bucket size")) | {"anchor": "y2"}
    marked = max(stuck, low)
    data = _traces(blocks, role)
    hover = _("bucket %{x:.3s}B: %{y:.3s}s exposed")
    data.append(line(sizes, np.maximum(late, low), role="model", hover=hover, xaxis="x2", yaxis="y2"))
    data.append(
        points([chosen_B], [marked], role="attention", symbol="diamond", size=13, hover=hover, xaxis="x2", yaxis="y2")
    )
    x = at(across, chosen_B)
    where = (x - across["range"][0]) / (across["range"][1] - across["range"][0])
    # the side of the mark on which the valley's line does not run
    right, above = where < 0.3 or (where <= 0.7 and chosen_B > search.best_B), where > 0.7
    labels = [
        note(
            _("{name}; <b>{time}</b> exposed").format(name=name, time=say_time(stuck)),
            x=0,
            xref="paper",
            xanchor="left",
            y=0,
            yref="y",
            yshift=-4,
        ),
        note(
            f"<b>{say_bytes(chosen_B)}</b>, {say_time(stuck)}",
            role="attention",
            x=x,
            xref="x2",
            xanchor="left" if right else "right",
            xshift=10 if right else -10,
            y=at(below, marked),
            yref="y2",
            yshift=16 if above else -16,
        ),
    ]
    best = say_bytes(search.best_B)
    return base_figure(
        data,
        title=title
        or _("Buckets of {size}: {time} exposed; the best is {best}").format(
            size=say_bytes(chosen_B), time=say_time(stuck), best=best
        ),
        subtitle=subtitle
        or _("above: grey computing, coloured network, amber waiting; below: exposed time at every bucket size"),
        xaxis=seconds_axis(longest) | {"anchor": "y"},
        yaxis={
            "range": [BLOCK - 0.6, -0.7],
            "domain": [0.66, 1],
            "visible": False,
            "fixedrange": True,
            "title": {"text": ""},
        },
        xaxis2=across,
        yaxis2=below,
        height=500,
        barmode="overlay",
        annotations=labels,
        meta=describe(
            _("{name}; exposed {time} with buckets of {size}; the smallest exposed time is {least} at {best}.").format(
                name=name,
                time=say_time(stuck),
                size=say_bytes(chosen_B),
                least=say_time(search.best_exposed_s),
                best=best,
            ),
            [_("bucket size"), _("buckets"), _("exposed")],
            [(say_bytes(float(b)), int(n), say_time(float(t))) for b, n, t in zip(sizes, search.n_buckets, late)],
        ),
    )
