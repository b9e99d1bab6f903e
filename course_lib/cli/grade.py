"""`interconnect grade grading/submitted`: marks a class in a sandbox; 0 only if every input could be marked."""

import argparse
import os
import sys
import time
from pathlib import Path

from course_lib.base.columns import padded
from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.places import course_root

HELP = "mark what a class handed in, each hand-in in a sandbox"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", type=Path, metavar="submitted", help=_("submitted/<learner>/<exercise>/*.ipynb"))
    parser.add_argument(
        "--exercise", action="append", default=[], metavar="04", help=_("only this one; may be repeated")
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help=_("hand-ins at a time"))
    parser.add_argument("--scheduler", default="", metavar="tcp://…", help=_("a Dask scheduler whose workers mark"))
    parser.add_argument(
        "--no-sandbox", action="store_true", help=_("run hand-ins without walls: read and write anything")
    )
    parser.add_argument("--to", type=Path, default=None, metavar="FOLDER", help=_("where results go (grading/)"))
    parser.add_argument("--seconds", type=float, default=60.0, help=_("time for one cell (60)"))
    parser.add_argument("--total", type=float, default=600.0, help=_("seconds for one hand-in (600)"))
    parser.add_argument(
        "--memory", default="2 GiB", help=_("memory of one hand-in, all its processes together (2 GiB)")
    )
    parser.add_argument("--due", default="", metavar="TIME", help=_("with a zone: 2026-12-01T23:59+01:00"))
    parser.add_argument("--late", default="none", metavar="RULE", help=_("none, zero, or 10%% of the score a day"))
    parser.add_argument("--again", action="store_true", help=_("mark anew what was marked in an earlier run"))


def run(args: argparse.Namespace) -> int:
    """Return 0 if all is marked, 1 if an input could not be, 2 for wrong arguments, 130 if it was stopped."""
    from course_lib.base.units import parse_bytes
    from course_lib.grading import late, report
    from course_lib.grading.runner import Options, grade
    from course_lib.grading.sandbox import Limits

    root = course_root()
    if root is None:
        raise CourseError(_("There is no course here. Run this in the folder that holds notebooks/ and exercises/."))
    for name, value in (("--seconds", args.seconds), ("--total", args.total)):
        if not 0 < value < 1e6:
            raise CourseError(_("{name} is {value:g}; a time above zero is expected.").format(name=name, value=value))
    memory_B = int(parse_bytes(args.memory))
    if memory_B < 2**28:
        raise CourseError(_("--memory is {given}; Python and NumPy need 256 MiB or more.").format(given=args.memory))
    options = Options(
        to=args.to or root / "grading",
        only=tuple(_number(word) for word in args.exercise),
        n_processes=whole("--jobs", args.jobs, at_least=1, at_most=512),
        scheduler=args.scheduler,
        walled=not args.no_sandbox,
        limits=Limits(cell_s=args.seconds, total_s=args.total, memory_B=memory_B),
        due=late.instant(args.due) if args.due else None,
        rule=args.late,
        again=args.again,
    )
    if args.no_sandbox:
        print(_("No sandbox: what people handed in can read and change files of this machine."), file=sys.stderr)
    bar = _Bar()
    outcome = grade(args.folder, options, bar.tell)
    bar.end()
    for line in report.summary(outcome.rows, outcome.repeated):
        print(line)
    if outcome.stopped:
        print(_("Stopped. The same command goes on where it was."), file=sys.stderr)
    print(_("Tables, gradebook, autograded/ and feedback/ are in {folder}.").format(folder=options.to))
    return outcome.status


def _number(word: str) -> str:
    """Return the exercise that "4", "04" or "04_eight_gpus_add_a_vector" means."""
    word = word.strip("/").split("/")[-1].split("_")[0].split(".")[0].upper()
    return word.zfill(2) if word.isdigit() else word


class _Bar:
    """One line that is written over on a terminal; a line now and then in a log."""

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def tell(self, done: int, of: int, who: str) -> None:
        now = time.monotonic()
        if not self.terminal and now - self.last < 10 and done < of:
            return
        self.last = now
        rate = done / max(now - self.begun, 1e-9)
        filled = "#" * (24 * done // of)
        text = _("{done} of {of} marked, {left:.0f} s to go").format(done=done, of=of, left=(of - done) / rate)
        line = f"[{filled:<24}] {text}"
        print(
            f"\r{padded(line, 70)}" if self.terminal else line,
            end="" if self.terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        if self.terminal:
            print(file=sys.stderr)
