"""Lesson 14: the brief and its gates, the catalogue compared, a log of decisions, and the explorer that picks a design."""

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from course_lib import cluster
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.cluster import gates
from course_lib.cluster.catalogue import item, items
from course_lib.cluster.design import PRECISIONS, Priced, Proposal, Work, claims, price
from course_lib.cluster.quantities import say
from course_lib.cluster.shortlist import Found, by_part, enough
from course_lib.cluster.targets import Design, Targets, read_targets
from course_lib.explorers.controls import Choice, CountSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.figures import reviewing

DAY = dt.date(2026, 12, 1)
FILE = Path(cluster.__file__).parent / "data" / "design_targets.toml"
UNITS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
RANKS = (8, 16, 32, 64)
PER_GPU = (16, 32, 64, 96, 128, 160, 192, 224, 256, 320)
INTERVALS = (600.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 72_000.0, 172_800.0)
START = {
    "part": "b200-box",
    "units": 3,
    "spares": 1,
    "expert": 8,
    "per_gpu": 128,
    "precision": "fp8",
    "interval_s": 1800.0,
}


@lru_cache(maxsize=1)
def targets() -> Targets:
    """Return the gates of the brief, as their file has them.

    >>> len(targets().targets)
    7
    """
    return read_targets(FILE)


def gate_text(name: str) -> str:
    """Return the lines of one gate in the file of targets.

    >>> gate_text("goodput").splitlines()[1]
    'at_least = "98 %"'
    """
    text = FILE.read_text(encoding="utf-8")
    start = text.find(f"[targets.{name}]")
    if start < 0:
        raise CourseError(_("The file of targets has no gate {name}.").format(name=name))
    return text[start:].split("\n\n")[0].strip()


def design(**changes: object) -> dict[str, object]:
    """Return the design that the lesson begins with, as a dict, with some keys changed.

    >>> design(units=4)["units"], design()["part"]
    (4, 'b200-box')
    """
    first = {"part": "b200-box", "units": 4, "spares": 1, "cards": 8, "tensor": 1, "expert": 8, "requests": 1280}
    return first | {"precision": "fp8", "interval_s": 72_000.0} | changes


def check(
    given: "dict | Proposal", name: str = "", reason: str = "", mind: str = "", on: dt.date = DAY
) -> gates.Report:
    """Return the gates' report on a design, priced by the models.

    >>> check(design()).passes, check(design(interval_s=1800)).passes
    (True, False)
    """
    return gates.check(targets(), claims(price(given), name, reason, mind), on)


def stopping(report: gates.Report) -> list[str]:
    """Return the sentences of the gates that are not met.

    >>> stopping(check(design()))
    []
    """
    return [v.sentence for v in report.verdicts if v.state != gates.MET]


def refused(**changes: object) -> str:
    """Return what the models say of a design that is none.

    >>> refused(goodput=1.0)[:39]
    'A design cannot state its own goodput: '
    """
    try:
        claims(price(design(**changes)))
    except CourseError as error:
        return str(error)
    return _("It is priced without a complaint.")


# Pictures -------------------------------------------------------------------------------------------------------------


def _ratio(verdict: gates.Verdict) -> float:
    """How much worse than the target the claim is: above 1 misses; NaN where there is none."""
    if verdict.claim is None:
        return float("nan")
    value, bound = verdict.claim.value, verdict.target.bound
    if verdict.target.measure.kind == "share" and not verdict.target.most:  # what is lost, not what is kept
        value, bound = 1 - value, 1 - bound
        return max(value, 1e-9) / bound
    return max(value, 1e-9) / bound if verdict.target.most else bound / max(value, 1e-9)


def _said(verdict: gates.Verdict) -> str:
    measure = verdict.target.measure
    word = _("at most") if verdict.target.most else _("at least")
    value = _("nothing claimed") if verdict.claim is None else say(measure, verdict.claim.value)
    return f"{value}, {word} {say(measure, verdict.target.bound)}"


def _title(report: gates.Report) -> str:
    stops = [v for v in report.verdicts if v.state != gates.MET]
    if not stops:
        return _("All {n} gates are met: the roll-out goes on").format(n=len(report.verdicts))
    names = ", ".join(_(v.target.measure.title) for v in stops[:2])
    more = _(" and {n} more").format(n=len(stops) - 2) if len(stops) > 2 else ""
    return _("{k} of {n} gates stop it: {names}{more}").format(
        k=len(stops), n=len(report.verdicts), names=names, more=more
    )


def gates_picture(report: gates.Report):
    """Return a report as a figure.

    >>> gates_picture(check(design())).layout.title.text
    'All 7 gates are met: the roll-out goes on'
    """
    rows = report.verdicts
    return reviewing.gates(
        [_(v.target.measure.title) for v in rows],
        [_ratio(v) for v in rows],
        [v.state for v in rows],
        [_said(v) for v in rows],
        title=_title(report),
    )


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
    roles = {"B200": "nvlink", "GB200": "model", "GB300": "network", "Rubin": "attention"}
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


# Gains and errors, quarter by quarter ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quarter:
    """What was predicted and what came, in the same units: USD a million tokens, and hours that errors cost."""

    name: str
    predicted_usd: float
    came_usd: float
    lost_h: float


def tracked(before_usd: float, quarters: "list[Quarter]", tokens: float, usd_per_hour: float) -> None:
    """Print the gain of a change against what its errors cost, quarter by quarter and in sum.

    Args:
        before_usd: USD a million tokens before the change.
        quarters: what was predicted and what came.
        tokens: tokens sold in a quarter.
        usd_per_hour: what an hour of the stopped pool costs.

    >>> tracked(1.0, [Quarter("Q1", 0.8, 0.9, 10.0)], 1e12, 200.0)
    Q1: predicted 0.8 USD, came 0.9 (+12 %); gained 0.1 MUSD, errors cost 0.002 MUSD
    in all: gained 0.1 MUSD, errors cost 0.002 MUSD
    """
    gained = lost = 0.0
    for q in quarters:
        gain, cost = (before_usd - q.came_usd) * tokens / 1e6, q.lost_h * usd_per_hour
        gained, lost = gained + gain, lost + cost
        text = _("{name}: predicted {p} USD, came {c} ({e:+.0f} %); gained {g} MUSD, errors cost {l} MUSD")
        print(
            text.format(
                name=q.name,
                p=say_number(q.predicted_usd, 3),
                c=say_number(q.came_usd, 3),
                e=100 * (q.came_usd / q.predicted_usd - 1),
                g=say_number(gain / 1e6, 2),
                l=say_number(cost / 1e6, 2),
            )
        )
    text = _("in all: gained {g} MUSD, errors cost {l} MUSD")
    print(text.format(g=say_number(gained / 1e6, 2), l=say_number(lost / 1e6, 2)))


# The explorer ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Picked:
    """A picked design: as priced with its report, or the sentence that says why it is none."""

    priced: Priced | None
    report: gates.Report | None
    why: str


def pick(part: str, units: int, spares: int, expert: int, per_gpu: int, precision: str, interval_s: float) -> Picked:
    """Return a design against the gates.

    Args:
        part: of the catalogue.
        units: boxes or racks.
        spares: hosts of them that stand by.
        expert: GPUs of one copy.
        per_gpu: requests at a time for each GPU of a copy.
        precision: of the weights.
        interval_s: seconds of training between two checkpoints.

    >>> pick(**START | {"units": 4, "per_gpu": 160, "interval_s": 72_000.0}).report.passes
    True
    >>> pick(**START | {"units": 1}).why
    '1 of 1 hosts are spares; at least one has to work.'
    """
    try:
        shelf = item(part)
        found = price(Proposal(part, units, spares, shelf.cards, 1, expert, per_gpu * expert, precision, interval_s))
        return Picked(found, gates.check(targets(), claims(found), DAY), "")
    except CourseError as error:
        return Picked(None, None, str(error))


def _draw(picked: Picked):
    if picked.report is not None:
        return gates_picture(picked.report)
    nothing = Design("", "", "", {})
    rows = gates.check(targets(), nothing, DAY).verdicts
    return reviewing.gates(
        [_(v.target.measure.title) for v in rows],
        [float("nan")] * len(rows),
        [gates.UNKNOWN] * len(rows),
        [_said(v) for v in rows],
        title=_("No gate is reached: this is no design that can run"),
        below=_("the sentence below says why; nothing is claimed"),
    )


def _equation(picked: Picked) -> tuple[str, str]:
    formula = _("cost = a year's bill / (tokens sold × useful time)")
    if picked.priced is None:
        return formula, _("nothing is sold")
    p = picked.priced
    return formula, _("{usd} USD a million = {bill} MUSD a year, {sold} of {all} tokens/s sold, {n} copies").format(
        usd=say_number(p.usd_per_mtoken, 3),
        bill=say_number(p.bill.usd_per_year / 1e6, 3),
        sold=say_number(min(p.tokens_per_s, Work().tokens_per_s), 3),
        all=say_number(p.tokens_per_s, 3),
        n=say_number(p.copies),
    )


def _sentence(picked: Picked) -> str:
    if picked.report is None:
        return picked.why
    best = _("The best interval between checkpoints here is {t}.").format(t=say_time(picked.priced.best_interval_s))
    stops = stopping(picked.report)
    if not stops:
        return _("Nothing stops it. {best}").format(best=best)
    outside = " ".join(picked.priced.outside)
    return " ".join(part for part in (stops[0], outside, best) if part)


def picker() -> Explorer:
    """Return the explorer: a design picked part by part, and the gates that stop it.

    >>> picker().figure.layout.title.text.replace("<br>", " ")
    '3 of 7 gates stop it: tokens a second of the whole cluster, goodput and 1 more'
    """
    return Explorer(
        pick,
        _draw,
        question=_("Which design do the gates let through?"),
        equation=_equation,
        sentence=_sentence,
        part=Choice(_("part"), [(f"{_(one.title)} ({one.year})", one.name) for one in items()], START["part"]),
        units=CountSlider(_("boxes or racks"), UNITS[0], UNITS[-1], START["units"], counts=UNITS),
        spares=CountSlider(_("spare hosts among them"), 0, 4, START["spares"], counts=(0, 1, 2, 3, 4)),
        expert=CountSlider(_("GPUs of a copy"), RANKS[0], RANKS[-1], START["expert"], counts=RANKS),
        per_gpu=CountSlider(_("requests for each GPU"), PER_GPU[0], PER_GPU[-1], START["per_gpu"], counts=PER_GPU),
        precision=Choice(_("weights in"), [(name.upper(), name) for name in PRECISIONS], START["precision"]),
        interval_s=Slider(
            _("checkpoint every"),
            values=INTERVALS,
            value=START["interval_s"],
            say=say_time,
            help=_("of the night's training"),
        ),
    )
