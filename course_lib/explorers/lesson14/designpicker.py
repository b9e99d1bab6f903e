"""Lesson 14's explorer: a design picked part by part, and the gates that stop it."""

from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.cluster import gates
from course_lib.cluster.catalogue import item, items
from course_lib.cluster.claims import Claims
from course_lib.cluster.design import Priced, Work, claims, price
from course_lib.cluster.proposal import PRECISIONS, Proposal
from course_lib.explorers.controls import Choice, CountSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.explorers.lesson14.brief import DAY, stopping, targets
from course_lib.explorers.lesson14.gatespicture import against_bound, gates_picture
from course_lib.figures import reviewing
from course_lib.figures.base import capital

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
    'Hosts 1, spares 1: at least one has to work.'
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
    nothing = Claims("", "", "", {})
    rows = gates.check(targets(), nothing, DAY).verdicts
    return reviewing.gates(
        [_(v.target.measure.title) for v in rows],
        [float("nan")] * len(rows),
        [gates.UNKNOWN] * len(rows),
        [against_bound(v) for v in rows],
        title=_("No gate is reached: this is no design that can run"),
        below=_("the sentence below says why; nothing is claimed"),
    )


def _equation(picked: Picked) -> tuple[str, str]:
    formula = _("cost = a year's bill / (tokens sold × useful time)")
    if picked.priced is None:
        return formula, _("nothing is sold")
    p = picked.priced
    return formula, _("{usd} USD a million = {bill} MUSD a year, {sold} of {all} tokens/s sold, copies {n}").format(
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
    return " ".join(part for part in (capital(stops[0]), outside, best) if part)


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
        part=Choice(_("part"), [(_(one.title), one.name) for one in items()], START["part"]),
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
