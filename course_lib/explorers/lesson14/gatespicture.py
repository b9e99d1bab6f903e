"""Lesson 14: a report of the gates as a picture."""

from course_lib.base.language import _
from course_lib.cluster import gates
from course_lib.cluster.quantities import say
from course_lib.figures import reviewing


def _ratio(verdict: gates.Verdict) -> float:
    """How much worse than the target the claim is: above 1 misses; NaN where there is none."""
    if verdict.claim is None:
        return float("nan")
    value, bound = verdict.claim.value, verdict.target.bound
    if verdict.target.measure.kind == "share" and not verdict.target.most:  # what is lost, not what is kept
        value, bound = 1 - value, 1 - bound
        return max(value, 1e-9) / bound
    return max(value, 1e-9) / bound if verdict.target.most else bound / max(value, 1e-9)


def against_bound(verdict: gates.Verdict) -> str:
    """Return what is claimed, and the bound, in words."""
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

    >>> from course_lib.explorers.lesson14.brief import check, design
    >>> gates_picture(check(design())).layout.title.text
    'All 7 gates are met: the roll-out goes on'
    """
    rows = report.verdicts
    return reviewing.gates(
        [_(v.target.measure.title) for v in rows],
        [_ratio(v) for v in rows],
        [v.state for v in rows],
        [against_bound(v) for v in rows],
        title=_title(report),
    )
