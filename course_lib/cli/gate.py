"""`interconnect gate`: a design checked against its targets, with the decision log entry on request."""

import argparse
import datetime as dt
import json

from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated

HELP = "check a design against targets: what is met, what stops, who decides"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("targets", help=_("TOML file with one section [targets.<measure>] for each gate"))
    parser.add_argument("design", help=_("TOML file with a name and a section [values]"))
    parser.add_argument("--on", metavar="DATE", help=_("day of the check (2027-03-01); today if left out"))
    parser.add_argument("--log", action="store_true", help=_("print the entry for the decision log (Markdown)"))
    parser.add_argument("--json", action="store_true", help=_("print the verdicts as JSON"))


def run(args: argparse.Namespace) -> int:
    """Print the verdicts; return 0 when every gate is met, 1 when something stops.

    >>> run(argparse.Namespace(targets="none.toml", design="none.toml", on=None, log=False, json=False))
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: The file none.toml cannot be read: No such file or directory.
    """
    from course_lib.cluster.gates import check, log_entry

    try:
        on = None if args.on is None else dt.date.fromisoformat(args.on)
    except ValueError:
        raise CourseError(_("--on is {value}; a date like 2027-03-01 is expected.").format(value=args.on)) from None
    report = check(args.targets, args.design, on)
    if args.json:
        rows = [
            {
                "measure": v.target.measure.name,
                "state": v.state,
                "value": None if v.claim is None else v.claim.value,
                "bound": v.target.bound,
                "owner": v.target.owner,
                "escalate_to": v.target.escalate_to,
                "review": v.target.review.isoformat(),
                "sentence": v.sentence,
            }
            for v in report.verdicts
        ]
        print(json.dumps({"design": report.design.name, "passes": report.passes, "gates": rows}, ensure_ascii=False))
    elif args.log:
        print(log_entry(report))
    else:
        for v in report.verdicts:
            print(punctuated(f"{_(v.state)}: {v.sentence}"))
        print(_("Goes on.") if report.passes else _("Stopped."))
    return 0 if report.passes else 1
