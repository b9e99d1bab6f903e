"""The best design that a coarse search finds for every part of the catalogue, judged by the gates."""

import datetime as dt
from dataclasses import dataclass, replace

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.cluster import gates
from course_lib.cluster.catalogue import item, items
from course_lib.cluster.design import Priced, Work, claims, price, requests_that_fit
from course_lib.cluster.proposal import PRECISIONS, Proposal
from course_lib.cluster.targets import Targets

RANKS = {1: (8, 16, 32, 64), 18: (8, 16, 24, 32, 64)}  # of a copy, by hosts of a unit
PER_GPU = (32, 64, 128, 160, 256)
SPARES = {1: (1, 2), 18: (2, 4)}


@dataclass(frozen=True, slots=True)
class Found:
    """The best design of a part: as priced, with the gates' report."""

    priced: Priced
    report: gates.Report

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """Names of the gates that are not met."""
        return tuple(v.target.measure.name for v in self.report.verdicts if v.state != gates.MET)


def best(part: str, work: Work, targets: Targets, *, on: dt.date, precisions: tuple[str, ...] = ("fp8",)) -> Found:
    """Return the design of one part that meets most gates, and of those the cheapest for each token.

    Args:
        part: name of the catalogue.
        work: what the pool is for.
        targets: the gates.
        on: the day of the check.
        precisions: which to try.

    Searches ranks of a copy, requests for each GPU, one or two spares, and as few units as deliver the tokens; the checkpoint
    interval is the best one. Raises CourseError where nothing fits.

    >>> from course_lib.cluster.targets import read_targets
    >>> from pathlib import Path
    >>> gates_file = Path(__file__).parent / "data" / "design_targets.toml"
    >>> day = dt.date(2026, 12, 1)
    >>> best("b200-box", Work(), read_targets(gates_file), on=day).stopped_by
    ()
    """
    shelf = item(part)
    tried = [
        Found(priced, gates.check(targets, claims(priced), on))
        for precision in precisions
        for priced in _candidates(shelf.name, one_of(_("precision"), precision, PRECISIONS), work)
    ]
    if not tried:
        raise CourseError(_("No copy of {model} fits on {title}.").format(model=work.model, title=shelf.title))
    return min(tried, key=lambda f: (_misses(f), f.priced.usd_per_mtoken))


def _misses(found: Found) -> tuple[int, int]:
    states = [v.state for v in found.report.verdicts]
    return states.count(gates.MISSED), sum(s != gates.MET for s in states)


def _candidates(part: str, precision: str, work: Work) -> list[Priced]:
    shelf, found = item(part), []
    hosts = shelf.hosts_per_unit
    for ranks in RANKS[hosts]:
        most = requests_that_fit(part, 1, ranks, precision, work)
        for requests in (ranks * n for n in PER_GPU if ranks * n <= most):
            for spares in SPARES[hosts]:
                least = -(-(ranks // shelf.system.gpus_per_host + spares) // hosts)
                first = Proposal(part, least, spares, shelf.cards, 1, ranks, requests, precision, 3600.0)
                seen = price(first, work)
                copies = -(-work.tokens_per_s * seen.copies // seen.tokens_per_s)
                need = copies * ranks / shelf.system.gpus_per_host  # hosts, if copies fill them
                units = max(least, int(-(-(need + spares) // hosts)))
                for more in (0, 1):
                    try:
                        seen = price(replace(first, units=units + more), work)
                    except CourseError:
                        continue
                    if seen.tokens_per_s >= work.tokens_per_s:
                        found.append(price(replace(seen.proposal, interval_s=seen.best_interval_s), work))
                        break
    return [p for p in found if p.fit.fits]


def by_part(work: Work, targets: Targets, *, on: dt.date) -> tuple[Found, ...]:
    """Return the best design of every part, oldest part first.

    >>> from course_lib.cluster.targets import read_targets
    >>> from pathlib import Path
    >>> gates_file = Path(__file__).parent / "data" / "design_targets.toml"
    >>> found = by_part(Work(), read_targets(gates_file), on=dt.date(2026, 12, 1))
    >>> [f.priced.item.name for f in found if not f.stopped_by], found[-1].priced.item.name
    (['b200-box'], 'rubin-rack')
    """
    return tuple(best(shelf.name, work, targets, on=on) for shelf in items())


def enough(first: Proposal, work: Work, *, most: int = 512) -> Priced | None:
    """Return a design with as few units as deliver the tokens asked for, saving as often as is best; None where `most` do not.

    >>> placed = dict(spares=1, cards=8, tensor=1, expert=8, requests=1280, precision="fp8", interval_s=3600.0)
    >>> enough(Proposal("b200-box", 1, **placed), Work()).proposal.units
    4
    """
    hosts = item(first.part).hosts_per_unit
    least = -(-(first.spares + 1) // hosts)
    while least <= most:
        try:
            seen = price(replace(first, units=least), work)
        except CourseError:
            least += 1
            continue
        if seen.tokens_per_s >= work.tokens_per_s:
            return price(replace(seen.proposal, interval_s=seen.best_interval_s), work)
        working = (least * hosts - first.spares) * work.tokens_per_s / seen.tokens_per_s
        least = max(least + 1, int((0.9 * working + first.spares) // hosts))
    return None
