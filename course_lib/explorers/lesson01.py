"""Lesson 01: two links side by side over message size, and flows that share a PCIe tree with ACS on or off."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.explorers.controls import Choice, SizeSlider, Toggle
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.figures.base import end_labels, rate_axis
from course_lib.figures.curves import Curve, rate_over_size
from course_lib.figures.graphs import pcie_tree
from course_lib.links import alphabeta, pcietree
from course_lib.links.linerate import payload_Bps
from course_lib.links.sidebyside import PCIE_TO_NVLINK, Side, short_title, side, times_faster

SIZES = np.logspace(2, 10, 161)
RATES = (2e7, 6e12)  # the axis, bytes per second
START = ("pcie5", "nvlink4", 2**20)
ROLE = {"pcie": "pcie", "nvlink": "nvlink", "c2c": "c2c"}

# Two links side by side -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TwoLinks:
    """Both links over all sizes, and at the chosen one."""

    left: Side
    right: Side
    left_at: Side
    right_at: Side
    ratio: float
    regimes: tuple[str, str]


def compare_links(left: str, right: str, message_B: float, both: bool) -> TwoLinks:
    """Return both links over SIZES and at message_B (bytes); `both` sends a message in each direction at once.

    >>> round(compare_links("pcie5", "nvlink4", 1e6, False).ratio, 1)
    4.3
    """
    sides = [side(name, SIZES, both_ways=both) for name in (left, right)]
    at = [side(name, float(message_B), both_ways=both) for name in (left, right)]
    regimes = tuple(alphabeta.regime(float(message_B), s.latency_s, s.bandwidth_Bps) for s in at)
    return TwoLinks(*sides, *at, float(times_faster(*at)), regimes)


def _draw_links(found: TwoLinks) -> go.Figure:
    sides = (found.left, found.right)
    curves = [Curve(s.title, s.rate_Bps, ROLE[s.family], half_B=s.half_B, limit=s.limit_Bps) for s in sides]
    size = float(found.left_at.message_B)
    if found.left.name == found.right.name:
        title = _("The same link twice: {title} moves {size} in {time}")
    elif abs(found.ratio - 1) < 0.005:
        title = _("At {size} {right} and {left} take the same {time}")
    elif found.ratio > 1:
        title = _("At {size} {right} is {ratio} times as fast as {left}")
    else:
        title = _("At {size} {left} is {inverse} times as fast as {right}")
    words = {"title": found.left.title, "left": found.left.title, "right": found.right.title, "size": say_bytes(size)}
    words |= {"time": say_time(float(found.left_at.time_s)), "ratio": say_number(found.ratio, 2)}
    words["inverse"] = say_number(1 / found.ratio, 2)
    ways = _("both directions added") if found.left.ways == 2 else _("one direction")
    figure = rate_over_size(
        SIZES,
        curves,
        at_B=size,
        title=title.format(**words),
        subtitle=_("diamonds: this message; rings: half of the rate; dashed grey: line rate; {ways}").format(ways=ways),
    )
    # The axis stays where it is, so that the lines move and not the ticks.
    axis = rate_axis(*RATES, _("rate, both directions added") if found.left.ways == 2 else None)
    ends = [
        (f"{s.title}  <b>{say_rate(float(s.rate_Bps[-1]))}</b>", float(s.rate_Bps[-1]), ROLE[s.family]) for s in sides
    ]
    figure.layout.yaxis, figure.layout.annotations = axis, end_labels(ends, axis)
    return figure


def _links_equation(found: TwoLinks) -> tuple[str, str]:
    a, b = found.left_at, found.right_at
    terms = [f"({say_time(s.latency_s)} + {say_time(float(s.message_B) / s.bandwidth_Bps)})" for s in (a, b)]
    return (
        _("ratio = (α + m/β) of {left} ÷ (α + m/β) of {right}").format(left=a.title, right=b.title),
        _("ratio = {a} ÷ {b} = {ratio}").format(a=terms[0], b=terms[1], ratio=say_number(found.ratio)),
    )


def _links_sentence(found: TwoLinks) -> str:
    a, b = found.left_at, found.right_at
    if a.name == b.name:
        return _("Choose two different links to compare them.")
    if found.regimes == ("latency", "latency"):
        return _(
            "Both wait for latency: {a} and {b} for a message of {size}. Ten times the bandwidth would change next to nothing here."
        ).format(a=say_time(float(a.time_s)), b=say_time(float(b.time_s)), size=say_bytes(float(a.message_B)))
    most = b.bandwidth_Bps / a.bandwidth_Bps
    if found.regimes == ("bandwidth", "bandwidth"):
        return _(
            "Both are limited by the wire: the ratio is that of the payload rates, {ratio}, and grows no further."
        ).format(ratio=say_number(most))
    return _(
        "In between: {left} spends {a} % of its time on the wire, {right} {b} %. "
        "The ratio of the payload rates, {ratio}, is only reached by larger messages."
    ).format(
        left=a.title, right=b.title, a=_on_the_wire(a), b=_on_the_wire(b), ratio=say_number(most)
    )  # fmt: skip


def _on_the_wire(s: Side) -> str:
    return say_number(100 * (1 - s.latency_s / float(s.time_s)), 2)


def two_links() -> Explorer:
    """Return the explorer that puts two links side by side over message size.

    >>> two_links().guess.unit
    '×'
    """
    options = [(short_title(name), name) for name in PCIE_TO_NVLINK]
    left, right, size = START
    return Explorer(
        compare_links,
        _draw_links,
        question=_("From which message size on does the faster link pay?"),
        guess=Guess(
            "01.small",
            _("For 64 KiB, how many times as fast is NVLink 4 as PCIe 5?"),
            "×",
            truth=lambda: compare_links(left, right, 2**16, False).ratio,
        ),
        equation=_links_equation,
        sentence=_links_sentence,
        left=Choice(_("one link"), options, left),
        right=Choice(_("the other"), options, right),
        message_B=SizeSlider(_("message size"), 128, 2**33, size),
        both=Toggle(_("a message in each direction at once")),
    )


# Flows in a PCIe tree -------------------------------------------------------------------------------------------------

LAYOUT = {"CPU": {"switch 0": ["GPU 0", "GPU 1", "NIC 0"], "switch 1": ["GPU 2", "GPU 3", "NIC 1"]}}
PATTERNS = {
    "host": [("CPU", f"GPU {i}") for i in range(4)],
    "neighbours": [("GPU 0", "GPU 1"), ("GPU 1", "GPU 0"), ("GPU 2", "GPU 3"), ("GPU 3", "GPU 2")],
    "across": [("GPU 0", "GPU 2"), ("GPU 1", "GPU 3")],
    "cards": [("GPU 0", "NIC 0"), ("GPU 2", "NIC 1"), ("CPU", "GPU 1"), ("CPU", "GPU 3")],
}


def pattern_names() -> list[tuple[str, str]]:
    """Return the patterns of traffic as (text, name).

    >>> [name for _text, name in pattern_names()] == list(PATTERNS)
    True
    """
    texts = (
        _("host memory to all four GPUs"),
        _("neighbours exchange data"),
        _("to GPUs under the other switch"),
        _("two to cards, two from the host"),
    )
    return list(zip(texts, PATTERNS, strict=True))


@dataclass(frozen=True, slots=True)
class TreeFlows:
    """A tree, what flows in it, and what its links carry (bytes per second, one direction)."""

    box: pcietree.Tree
    shares: pcietree.Shares
    up_Bps: np.ndarray
    down_Bps: np.ndarray
    acs: bool
    generation: str


def tree_flows(pattern: str, acs: bool, generation: str = "pcie5") -> TreeFlows:
    """Return what the flows of a pattern get in a host with four GPUs, two switches and two cards.

    >>> found = tree_flows("host", False)
    >>> (found.shares.rate_Bps / 1e9).round(1).tolist()
    [28.8, 28.8, 28.8, 28.8]
    """
    box = pcietree.tree(LAYOUT, float(payload_Bps(generation)))
    shares = pcietree.flow_rates(box, PATTERNS[pattern], acs=acs)
    return TreeFlows(box, shares, *pcietree.loads(box, shares), acs, generation)


def draw_tree(found: TreeFlows) -> go.Figure:
    """Return the tree with its loads; the title says what the slowest flow gets, and which link holds it back."""
    rates = found.shares.rate_Bps
    slow = int(np.argmin(rates))
    box = found.box
    said = dict(zip(box.names, _names(box)))
    (src, dst), (a, b) = (map(said.get, pair) for pair in (found.shares.flows[slow], found.shares.bottleneck[slow]))
    full = float(box.uplink_Bps.max())
    if rates.min() > full * (1 - 1e-9):
        title = _("Every flow gets the whole {rate} of its links").format(rate=say_rate(float(rates.min())))
    else:
        title = _("{src} → {dst} gets {rate}: it shares {a} → {b}").format(
            src=src, dst=dst, rate=say_rate(float(rates[slow])), a=a, b=b
        )
    # The root's own entry is not read.
    return pcie_tree(
        list(said.values()), box.kinds, box.parent, found.up_Bps, found.down_Bps, box.uplink_Bps, title=title
    )


def _names(box: pcietree.Tree) -> list[str]:
    """What the parts of the tree are called in the picture."""
    texts = {"switch": _("switch {n}"), "nic": _("NIC {n}")}
    return [texts.get(kind, name).format(n=name.split()[-1]) for name, kind in zip(box.names, box.kinds)]


def _tree_equation(found: TreeFlows) -> tuple[str, str]:
    shares = found.shares
    slow = int(np.argmin(shares.rate_Bps))
    place = shares.links.index(shares.bottleneck[slow])
    return (
        _("slowest flow = payload rate of its link ÷ flows on it, one direction"),
        _("slowest flow = {all} ÷ {n} = {rate}").format(
            all=say_rate(float(shares.capacity_Bps[place])), n=int(shares.count[place]), rate=say_rate(float(shares.rate_Bps[slow]))
        ),
    )  # fmt: skip


def _tree_sentence(found: TreeFlows) -> str:
    total = _("All flows together: {total}.").format(total=say_rate(float(found.shares.rate_Bps.sum())))
    lost = pcietree.lost_pairs(found.box, acs=found.acs)
    if lost:
        pairs = ", ".join(f"{a} – {b}" for a, b in lost)
        text = _(
            "With ACS on, {pairs} have no direct path any more: "
            "what would turn in the switch climbs to the CPU and comes back."
        )
        return total + " " + text.format(pairs=pairs)
    return total + " " + _("With ACS off, a flow turns in the lowest switch that both of its ends hang on.")


def flows_in_a_tree() -> Explorer:
    """Return the explorer of flows that share a PCIe tree.

    >>> flows_in_a_tree().figure.layout.title.text
    'CPU → GPU 0 gets 28.8 GB/s: it shares CPU → switch 0'
    """
    return Explorer(
        tree_flows,
        draw_tree,
        question=_("Which link holds the flows back?"),
        equation=_tree_equation,
        sentence=_tree_sentence,
        pattern=Choice(_("what flows"), pattern_names(), "host"),
        acs=Toggle(_("ACS on in both switches")),
        generation=Choice(_("slots"), [(short_title(n), n) for n in ("pcie3", "pcie4", "pcie5", "pcie6")], "pcie5"),
    )
