"""`interconnect check FILE.ipynb …`: run copies in a clean kernel and print the verdicts; 0 only if all is right."""

import argparse
import json
import sys
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _

HELP = "run an exercise in a clean kernel and say what would be marked"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.ipynb")
    parser.add_argument("--seconds", type=float, default=60.0, help=_("seconds of a processor for one cell (60)"))
    parser.add_argument("--json", action="store_true", help=_("print the same as JSON"))


def run(args: argparse.Namespace) -> int:
    """Return 0 if every question of every file is correct, 1 if not, 2 if a file cannot be used; all files are looked at."""
    from course_lib.base.sparing import spare_the_grammar

    spare_the_grammar()  # nbclient would have it compiled
    from course_lib.grading import rehearse

    status, reports = 0, []
    for path in args.files:
        try:
            result = rehearse.rehearse(path, args.seconds)
        except CourseError as error:
            print(f"interconnect check: {error}", file=sys.stderr)
            reports.append({"path": str(path), "passed": False, "error": str(error)})
            status = 2
            continue
        reports.append(rehearse.as_data(result))
        if not args.json:
            print(rehearse.report(result), flush=True)
        status = max(status, 0 if result.passed else 1)
    if args.json:
        print(json.dumps(reports, indent=1))
    return status
