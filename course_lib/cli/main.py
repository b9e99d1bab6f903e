"""The command `interconnect`: finds the command's module, reads its arguments, and turns errors into one sentence."""

import argparse
import importlib
import sys

from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated

# One module a command, imported only when it is asked for, so that help stays fast.
COMMANDS = {
    "bundle": "make the archive for a class: the course without solutions, instructor pages and tests",
    "check": "run an exercise in a clean kernel and say what would be marked",
    "diagnose": "read what a machine printed (topology, nccl-tests, copies, links) and judge it",
    "gate": "check a design against targets: what is met, what stops, who decides",
    "grade": "mark what a class handed in, each hand-in in a sandbox",
    "lab": "open the course in JupyterLab",
    "measure": "run real collectives between processes of this computer and lay them beside the model",
    "plan": "search all legal training plans: the quickest, and the frontier of time, memory and GPUs",
    "predict": "predict the time of a collective on a system",
    "progress": "list questions, verdicts and points of this learner",
    "slides": "make slides of lessons from their cells tagged workshop; they open without a network",
    "train-step": "predict one training step of a plan: seconds, utilisation, memory, every term",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 good, 2 for an input it cannot use.

    >>> main(["lab", "--what"])
    2
    """
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that knows no ✓ or α shows a question mark, and goes on
            stream.reconfigure(errors="replace")
    parser = argparse.ArgumentParser(prog="interconnect", description=_("Tools of the GPU interconnect course."))
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    asked = next((word for word in argv if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=_(text), description=_(text))
        if name == asked:
            module = importlib.import_module("course_lib.cli." + name.replace("-", "_"))
            module.add_arguments(sub)
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        return int(module.run(args) or 0)
    except CourseError as error:
        print(punctuated(f"interconnect {args.command}: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
