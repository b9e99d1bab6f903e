"""Lesson 14: the brief as gates, and a design held against them."""

import datetime as dt
from functools import lru_cache
from pathlib import Path

from course_lib import cluster
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster import gates
from course_lib.cluster.design import claims, price
from course_lib.cluster.proposal import Proposal
from course_lib.cluster.targets import Targets, read_targets

DAY = dt.date(2026, 12, 1)
FILE = Path(cluster.__file__).parent / "data" / "design_targets.toml"


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


def check(given: dict | Proposal, name: str = "", reason: str = "", mind: str = "", on: dt.date = DAY) -> gates.Report:
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
