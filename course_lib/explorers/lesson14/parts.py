"""Lesson 14: the parts of the catalogue compared, by cost and over demand, and where their numbers come from."""

from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.cluster import gates
from course_lib.cluster.catalogue import items
from course_lib.cluster.design import Work
from course_lib.cluster.proposal import Proposal
from course_lib.cluster.shortlist import Found, by_part, enough
from course_lib.explorers.lesson14.brief import DAY, targets
from course_lib.figures import reviewing


@lru_cache(maxsize=4)
def shelf(tokens_per_s: float = Work().tokens_per_s) -> tuple[Found, ...]:
    """Return the best design found for every part of the catalogue.

    >>> [f.priced.item.name for f in shelf() if not f.stopped_by]
    ['b200-box']
    """
    return by_part(Work(tokens_per_s=tokens_per_s), targets(), on=DAY)


def shelf_picture():
    """Return the catalogue by the cost of a token.

    >>> shelf_picture().layout.title.text.startswith("Of 6 parts one passes")
    True
    """
    found = shelf()
    names = [_(f.priced.item.title) for f in found]
    passing = [f for f in found if not f.stopped_by]
    newest = max(found, key=lambda f: f.priced.item.year)
    usd = [f.priced.usd_per_mtoken for f in found]
    title = _("Of {n} parts one passes, {name}; a token of the newest costs {k} × as much").format(
        n=len(found),
        name=passing[0].priced.item.title.split(",")[0],
        k=say_number(newest.priced.usd_per_mtoken / passing[0].priced.usd_per_mtoken, 2),
    )
    return reviewing.shelf(names, usd, [f.priced.item.year for f in found], [_why(f) for f in found], title=title)


def _why(found: Found) -> str:
    missed = [_(v.target.measure.title) for v in found.report.verdicts if v.state == gates.MISSED]
    asked = [v for v in found.report.verdicts if v.state not in (gates.MISSED, gates.MET)]
    parts = [_("misses: {names}").format(names=", ".join(missed))] if missed else []
    if asked:
        text = _("a person decides {n} more") if missed else _("a person decides {n}")
        parts.append(text.format(n=len(asked)))
    return "; ".join(parts)


DEMANDS = tuple(float(x) for x in np.round(np.geomspace(20e3, 1e6, 49), -3))


@lru_cache(maxsize=1)
def by_demand() -> dict[str, list[float]]:
    """Return what a million tokens cost on four parts over how many are asked for, whatever the gates say of the rest.

    >>> cost = by_demand()
    >>> cost["B200"][0] < cost["GB200"][0], cost["B200"][-1] > cost["GB200"][-1]
    (True, True)
    """
    placed = {"tensor": 1, "precision": "fp8", "interval_s": 3600.0}
    kinds = {
        "B200": Proposal("b200-box", 1, 1, 8, expert=8, requests=1560, **placed),
        "GB200": Proposal("gb200-rack", 1, 2, 4, expert=32, requests=8192, **placed),
        "GB300": Proposal("gb300-rack", 1, 2, 4, expert=32, requests=8192, **placed),
        "Rubin": Proposal("rubin-rack", 1, 2, 8, expert=32, requests=8192, **placed),
    }
    found = {name: [enough(first, Work(tokens_per_s=d)) for d in DEMANDS] for name, first in kinds.items()}
    return {name: [p.usd_per_mtoken if p else float("nan") for p in row] for name, row in found.items()}


def crossing() -> float:
    """Return the first of the demands drawn at which a token of the GB200 rack is cheaper than one of the boxes.

    >>> 80e3 < crossing() < 300e3
    True
    """
    cost = by_demand()
    pairs = zip(DEMANDS, cost["B200"], cost["GB200"], strict=True)
    return next(demand for demand, box, rack in pairs if rack < box)


def demand_picture():
    """Return cost over demand, part by part.

    >>> len(demand_picture().data)
    4
    """
    title = _("Below {n} tokens a second boxes are cheaper than any rack").format(n=say_number(crossing(), 3))
    roles = {"B200": "model", "GB200": "memory", "GB300": "memory", "Rubin": "attention"}
    return reviewing.over_demand(DEMANDS, by_demand(), roles, title=title)


def catalogue_lines() -> None:
    """Print the catalogue: part, year, GPUs, price and power of a unit, and how far experts on it were measured.

    >>> catalogue_lines()  # doctest: +ELLIPSIS
    h100-box: DGX H100, a box of 8 (2022, ships); 0.317 MUSD, 10.2 kW...
    """
    for one in items():
        text = _("{name}: {title} ({year}, {status}); {usd} MUSD, {kW} kW")
        print(
            text.format(
                name=one.name,
                title=_(one.title),
                year=one.year,
                status=_(one.status),
                usd=say_number(one.price.value / 1e6, 3),
                kW=say_number(one.power.value / 1e3, 4),
            )
        )


def origins() -> None:
    """Print where price and power of each part come from; assumed ones with the reason.

    >>> origins()  # doctest: +ELLIPSIS
    h100-box, price: 317,000 USD (reported: Public H100 cluster cost sheet...
    """
    for one in items():
        for k in (one.price, one.power):
            why = _("assumed: {note}").format(note=k.note) if k.kind == "assumed" else f"{k.kind}: {k.source}; {k.note}"
            print(f"{k.name}: {say_number(k.value, 6)} {k.unit} ({why})")
