"""Lateness as a pure function of two times that carry a zone; computed anew at every run, never kept."""

import re
from datetime import UTC, datetime, timedelta

from course_lib.base.errors import CourseError
from course_lib.base.language import _

RULES = "none, zero, or a share of the score per started day such as 10%"


def instant(text: str) -> datetime:
    """Return the point in time that `text` names, in UTC; raises CourseError where the zone is missing.

    >>> instant("2026-12-01 23:59 +01:00").isoformat()
    '2026-12-01T22:59:00+00:00'
    """
    try:
        given = datetime.fromisoformat(_iso(text))
    except ValueError:
        hint = _("{text} is no time. Write it like 2026-12-01T23:59+01:00.").format(text=repr(text))
        raise CourseError(hint) from None
    if given.tzinfo is None:
        hint = _("{text} names no time zone. Write it like 2026-12-01T23:59+01:00, or with Z for UTC.")
        raise CourseError(hint.format(text=repr(text)))
    return given.astimezone(UTC)


def handed_in(text: str) -> tuple[datetime | None, str]:
    """Return when something was handed in, as timestamp.txt says, and a sentence about what had to be assumed.

    >>> handed_in("2026-12-01 22:58:00 UTC")[1], handed_in("2026-12-01 22:58:00")[1]
    ('', 'timestamp.txt names no time zone; it was read as UTC.')
    """
    if not text:
        return None, ""
    try:
        return instant(text), ""
    except CourseError:
        pass
    try:
        return datetime.fromisoformat(_iso(text)).replace(tzinfo=UTC), _(
            "timestamp.txt names no time zone; it was read as UTC."
        )
    except ValueError:
        return None, _("timestamp.txt holds no time: {text}.").format(text=repr(text[:40]))


def _iso(text: str) -> str:
    text = re.sub(r"\s*(UTC|GMT|Z)$", "+00:00", text.strip())
    text = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", text)
    return text.replace(" ", "T", 1)


def penalty(score: float, submitted: datetime | None, due: datetime | None, rule: str) -> float:
    """Return the points taken off a score for lateness: 0 in time, and never more than the score.

    `rule` is "none", "zero" (everything), or a percentage of the score per started day. Both times need a zone.

    >>> due = instant("2026-12-01T23:59+01:00")
    >>> [penalty(10, instant(f"2026-12-01T{t}Z"), due, "10%") for t in ("22:58", "22:59", "22:59:30", "23:00")]
    [0.0, 0.0, 1.0, 1.0]
    >>> penalty(10, instant("2026-12-04T00:00Z"), due, "10%")
    3.0
    """
    share = _share(rule)
    for moment in (submitted, due):
        if moment is not None and moment.tzinfo is None:
            raise CourseError(_("{when} names no time zone.").format(when=moment.isoformat()))
    if submitted is None or due is None or submitted <= due or score <= 0:
        return 0.0
    days = -((due - submitted) // timedelta(days=1))
    return round(float(min(score, score * share * days)), 6)  # nbgrader's own table shows it as it is


def _share(rule: str) -> float:
    if rule in ("none", "zero"):
        return 0.0 if rule == "none" else 1.0
    match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", rule.strip())
    if not match or float(match[1]) > 100:
        raise CourseError(_("{rule} is no rule for lateness; there are: {rules}.").format(rule=repr(rule), rules=RULES))
    return float(match[1]) / 100
