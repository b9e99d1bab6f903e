"""A design checked against its targets: what is met, who decides where evidence ends, what is logged and undone."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.claims import Claim, Claims, read_claims
from course_lib.cluster.quantities import say
from course_lib.cluster.targets import Target, Targets, read_targets

MET, MISSED, UNKNOWN, OUTSIDE, OVERDUE = "met", "missed", "no evidence", "a person decides", "review overdue"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One gate's verdict: `state` is "met", "missed", "no evidence", "a person decides" or "review overdue"; `sentence` says why."""

    target: Target
    claim: Claim | None
    state: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Report:
    """All gates of a design on a day; the roll-out goes on only if every one is met."""

    targets: Targets
    design: Claims
    on: dt.date
    verdicts: tuple[Verdict, ...]

    @property
    def passes(self) -> bool:
        """Whether every gate is met."""
        return all(v.state == MET for v in self.verdicts)


def _bound(target: Target) -> str:
    word = _("at most") if target.most else _("at least")
    return f"{word} {say(target.measure, target.bound)}"


def _judge(target: Target, claim: Claim | None, on: dt.date) -> Verdict:
    who = {"owner": _(target.owner), "above": _(target.escalate_to)}
    if claim is None:
        text = _("{title}: the design says nothing about it; {owner} brings a number, or {above} decides without.")
        return Verdict(target, None, UNKNOWN, text.format(title=_(target.measure.title), **who))
    shown = say(target.measure, claim.value)
    words = {
        "title": _(target.measure.title),
        "value": shown,
        "bound": _bound(target),
        "from": _(claim.evidence),
        **who,
    }
    met = claim.value <= target.bound if target.most else claim.value >= target.bound
    if not met:
        text = _("{title}: {value} ({from}), but {bound} is the target. The roll-out stops; it goes to {above}.")
        return Verdict(target, claim, MISSED, text.format(**words))
    if claim.evidence == "predicted" and not claim.valid:
        text = _(
            "{title}: {value} keeps the target, {bound}, but the prediction is outside its range of validity; "
            "{above} decides, or {owner} measures."
        )
        return Verdict(target, claim, OUTSIDE, text.format(**words))
    strength = {"measured": 2, "predicted": 1, "assumed": 0}
    if strength[claim.evidence] < strength.get(target.needs, 1 if claim.evidence == "assumed" else 0):
        needs = _(target.needs or "predicted")
        text = _(
            "{title}: {value} keeps the target, {bound}, but it is {from} and the gate needs it {needs}; "
            "{above} decides, or {owner} brings it."
        )
        return Verdict(target, claim, OUTSIDE, text.format(needs=needs, **words))
    if target.review < on:
        text = _(
            "{title}: {value} keeps the target, {bound}, but the review was due on {review}; {owner} looks again before anything goes on."
        )
        return Verdict(target, claim, OVERDUE, text.format(review=target.review.isoformat(), **words))
    text = _("{title}: {value} ({from}), {bound} is the target.")
    return Verdict(target, claim, MET, text.format(**words))


def check(targets: "Targets | Mapping | str", design: "Claims | Mapping | str", on: dt.date | None = None) -> Report:
    """Return the verdict on every gate, in the order of the file.

    Args:
        targets: from `read_targets`, or what it reads (a path or a dict).
        design: from `read_claims`, or what it reads.
        on: the day of the check; None: today. A gate whose review date has passed does not let anything through.

    A value that misses stops. A value that only a model outside its range, or an assumption, gives does not pass by itself: a
    person decides, and the report names who. A target without a value is no evidence.

    Raises:
        CourseError: as the two readers do.

    >>> gate = {"at_least": "90 %", "owner": "Ada", "review": "2027-03-01", "escalate_to": "Grace"}
    >>> gates = {"title": "Roll-out", "targets": {"goodput": gate}}
    >>> day = dt.date(2026, 12, 1)
    >>> [check(gates, {"name": "a", "values": {"goodput": v}}, day).verdicts[0].state for v in ("93 %", "87 %")]
    ['met', 'missed']
    >>> claim = {"value": "93 %", "valid": False}
    >>> check(gates, {"name": "a", "values": {"goodput": claim}}, day).verdicts[0].state
    'a person decides'
    """
    wanted = targets if isinstance(targets, Targets) else read_targets(targets)
    found = design if isinstance(design, Claims) else read_claims(design)
    day = dt.date.today() if on is None else on
    if not isinstance(day, dt.date):
        raise CourseError(_("on is {value!r}; a date is expected.").format(value=on))
    return Report(wanted, found, day, tuple(_judge(t, found.claims.get(t.measure.name), day) for t in wanted.targets))


def roll_back_rule(target: Target, general: str = "") -> str:
    """Return the rule that undoes a roll-out, as a sentence: what is watched, the bound, who acts, what is done, who hears of it.

    >>> gate = {"at_least": "90 %", "owner": "Ada", "review": "2027-03-01", "escalate_to": "Grace", "roll_back": "stop new jobs"}
    >>> print(roll_back_rule(read_targets({"targets": {"goodput": gate}}).targets[0]))
    When goodput falls below 90 % as measured: Ada acts (stop new jobs) and tells Grace.
    """
    act = target.roll_back or general
    act = _(act) if act else _("return to the configuration before this decision")
    name = _(target.measure.title)
    if target.most:
        text = _("When {name} rises above {bound} as measured: {owner} acts ({act}) and tells {above}.")
    else:
        text = _("When {name} falls below {bound} as measured: {owner} acts ({act}) and tells {above}.")
    return text.format(
        name=name,
        bound=say(target.measure, target.bound),
        owner=_(target.owner),
        act=act,
        above=_(target.escalate_to),
    )


def log_entry(report: Report) -> str:
    """Return an entry for the decision log in Markdown: date, design, decision, gates, reason, roll-back rules, next review.

    >>> gate = {"at_least": "90 %", "owner": "Ada", "review": "2027-03-01", "escalate_to": "Grace"}
    >>> text = log_entry(check({"targets": {"goodput": gate}}, {"name": "a", "values": {"goodput": "87 %"}}, dt.date(2026, 12, 1)))
    >>> text.splitlines()[0], "Stopped" in text, "Grace" in text
    ('## 2026-12-01 · a', True, True)
    """
    lines = [f"## {report.on.isoformat()} · {report.design.name}", ""]
    stopped = [v for v in report.verdicts if v.state != MET]
    decision = (
        _("Goes on: all {n} gates are met.").format(n=len(report.verdicts))
        if report.passes
        else _("Stopped: {k} of {n} gates not met.").format(k=len(stopped), n=len(report.verdicts))
    )
    lines += [f"**{_('Decision')}.** {decision} ({_(report.targets.title)})", ""]
    lines += [f"- {_(v.state)}: {v.sentence}" for v in report.verdicts]
    lines += ["", f"**{_('Reason')}.** {report.design.reason or _('none is given; ask for one.')}"]
    mind = report.design.would_change_my_mind or _("nothing is named; ask for it.")
    lines += [f"**{_('Would change our mind')}.** {mind}", "", f"**{_('Roll-back')}.**"]
    lines += [f"- {roll_back_rule(v.target, report.targets.roll_back)}" for v in report.verdicts]
    first = min(v.target.review for v in report.verdicts)
    lines += ["", f"**{_('Next review')}.** {first.isoformat()}"]
    return "\n".join(lines)
