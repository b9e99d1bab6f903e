"""Replies of a kernel as they come over the wire, and that it ended."""

from typing import Any

from course_lib.base.language import _
from course_lib.grading import probe

GRACE_S = 4.0  # after its time is up, a cell has this long to notice
STATES = (probe.ABSENT, probe.UNTOUCHED, probe.VALUE, probe.FAILED, probe.SLOW, probe.REFUSED)


class Ended(Exception):
    """The kernel is gone. `why` is a sentence for the learner; `kind` is "died", "time", "memory" or "flood"."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


def replies(message: dict[str, Any], n: int) -> list[probe.Reply]:
    """Return `n` replies; a message that does not hold as many well-formed ones holds none."""
    given = message.get("replies")
    if not isinstance(given, list) or len(given) != n:
        why = _("The answer came back damaged: {why}.").format(why=str(message.get("broken", "?"))[:200])
        return [probe.Reply(probe.REFUSED, why=why)] * n
    return [reply_of(item) for item in given]


def reply_of(item: Any) -> probe.Reply:
    """Return a reply from what came over the wire; anything else is a refusal."""
    if isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item) and item[0] in STATES:
        return probe.Reply(item[0], item[1], item[2][:1000])
    return probe.Reply(probe.REFUSED, why=_("The answer came back damaged: {why}.").format(why="?"))
