"""Lesson 11's explorer: which uplink fills first, and what the slowest flow gets; and two wirings as pictures."""

import plotly.graph_objects as go

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.explorers.lesson11.flows import PATTERNS, PER_HOST, RATIOS, SEEDS, WAYS, CARD_Bps, Flows, fabric, send
from course_lib.figures.layout import layout
from course_lib.figures.topology import topology_loads


def _title(f: Flows) -> str:
    return _("The slowest of {n} flows gets {rate} of a card's {card}; the mean is {mean}").format(
        n=len(f.rate_Bps), rate=say_rate(f.slowest_Bps), card=say_rate(CARD_Bps), mean=say_rate(f.mean_Bps)
    )


def _draw(f: Flows) -> go.Figure:
    return topology_loads(f.topology, f.flow_Bps, first=f.first, title=_title(f), subtitle=_how_to_read())


def _how_to_read() -> str:
    return _(
        "below: hosts; middle: leaves; top: spines; width: what flows; colour: how full; outlined: full; dotted: unused"
    )


def _equation(f: Flows) -> tuple[str, str]:
    if f.fullest > 1:
        return (
            _("slowest flow ≤ uplink ÷ flows on the fullest uplink"),
            _("slowest flow = {rate} ≤ {card} ÷ {n} = {bound}").format(
                rate=say_rate(f.slowest_Bps),
                card=say_rate(CARD_Bps),
                n=say_number(f.fullest, 2),
                bound=say_rate(CARD_Bps / f.fullest),
            ),
        )
    return (
        _("slowest flow ≤ card ÷ 1"),
        _("slowest flow = {rate}: no uplink carries more than {n} flow").format(
            rate=say_rate(f.slowest_Bps), n=say_number(f.fullest, 2)
        ),
    )


def _sentence(f: Flows) -> str:
    least = f.ratio
    words = _("Cards below a leaf: {down}; uplinks: {up} ({r}:1).").format(down=PER_HOST, up=f.uplinks, r=f.ratio)
    if f.choice == "adaptive":
        words += " " + _("Spread over all uplinks, a full leaf puts {n} on each; the seed plays no part.").format(
            n=least
        )
    elif f.choice == "fixed":
        words += " " + _("The table sends all flows to one destination the same way; the seed plays no part.")
    else:
        words += " " + _(
            "Hash {s}: the fullest uplink carries {n} flows, spread evenly it would be {m} at most."
        ).format(s=f.seed, n=say_number(f.fullest, 2), m=least)
    return words


def hash_or_spread() -> Explorer:
    """Return the explorer: who sends to whom over leaves and spines, how flows choose an uplink, the hash, the ratio.

    >>> hash_or_spread().figure.layout.title.text[:11]
    'The slowest'
    """
    for ratio in RATIOS:
        layout(fabric(ratio))
        for _name, pattern in PATTERNS:
            send(pattern, "hashed", 1, ratio)
    return Explorer(
        send,
        _draw,
        question=_("Which uplink fills first, and what does the slowest flow get?"),
        guess=Guess(
            "11.spread",
            _(
                "Half as many uplinks as cards (2:1), packets spread over all. Every GPU sends to its twin. The slowest flow gets:"
            ),
            "GB/s",
            truth=lambda: send("twin", "adaptive", 1, 2).slowest_Bps,
        ),
        equation=_equation,
        sentence=_sentence,
        pattern=Choice(_("who sends to whom"), PATTERNS, "twin"),
        choice=Choice(_("how a flow gets its uplink"), WAYS, "hashed"),
        seed=CountSlider(
            _("hash, number"), 1, 12, 1, counts=SEEDS, help=_("another seed of the hash: other flows meet")
        ),
        ratio=Choice(_("cards to uplinks"), tuple((f"{r}:1", r) for r in RATIOS), 1),
    )


def placed(attach: str, pattern: str, choice: str = "hashed") -> str:
    """Return in words what flows get in a wiring: slowest, mean, and how much of the traffic climbs to a spine.

    >>> placed("rail", "twin").endswith("bytes climb to a spine")
    True
    """
    found = send(pattern, choice, 1, 1, attach)
    return _("slowest {slow}, mean {mean}; {share} % of the bytes climb to a spine").format(
        slow=say_rate(found.slowest_Bps), mean=say_rate(found.mean_Bps), share=say_number(100 * found.climbing, 2)
    )


def placement_picture(attach: str, pattern: str) -> go.Figure:
    """Return the fabric under a pattern, flows hashed; the title says how many bytes climb.

    >>> placement_picture("rail", "twin").layout.title.text.replace("<br>", " ")
    '25 % of the bytes climb to a spine; the slowest flow gets 50 GB/s'
    """
    found = send(pattern, "hashed", 1, 1, attach)
    title = _("{share} % of the bytes climb to a spine; the slowest flow gets {rate}").format(
        share=say_number(100 * found.climbing, 2), rate=say_rate(found.slowest_Bps)
    )
    return topology_loads(found.topology, found.flow_Bps, first=found.first, title=title, subtitle=_how_to_read())
