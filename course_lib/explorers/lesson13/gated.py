"""Lesson 13: a file of targets, and what reading it refuses."""

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.targets import read_targets

TARGETS = """
title = "Roll-out of the new training pool"
roll_back = "drain the new pool, resume from the last checkpoint on the old one"

[targets.goodput]
at_least = "90 %"
owner = "training lead"
review = 2027-03-01
escalate_to = "head of infrastructure"

[targets.cost_per_million_tokens]
at_most = "4.50 USD/Mtokens"
owner = "capacity planner"
review = 2027-06-01
escalate_to = "head of finance"

[targets.restart_time]
at_most = "10 min"
owner = "on-call lead"
review = 2027-01-15
escalate_to = "head of infrastructure"
needs = "measured"
"""


def refused(old: str, new: str) -> str:
    """Return what reading the lesson's targets says when a word of them is replaced by another.

    >>> refused("10 min", "10 minutes")
    "targets, line 18: restart_time is '10 minutes': it has no unit 'minutes'. The nearest is min; valid: ns, us, µs, ms, s, min, h, days."
    """
    try:
        read_targets(TARGETS.replace(old, new))
    except CourseError as error:
        return str(error)
    return _("It is read without a complaint.")
