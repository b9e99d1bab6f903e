"""`interconnect measure`: real collectives between processes of this computer, or copies, beside the model."""

import argparse
import contextlib
import json
import math
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from course_lib.base.columns import lined_up
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.units import parse_bytes, say_bytes, say_rate, say_share, say_time
from course_lib.cli.measure_output import found_as_data, plot, sentences, table

HELP = "run real collectives between processes of this computer and lay them beside the model"
STATUS = _(
    "Exit status: 0 all measured and every sum right; 1 a wrong sum, or not all that was asked for was reached in time; "
    "2 it cannot be measured (the sentence says why and what to install); 130 or 143 stopped by Ctrl-C or a signal."
)
KEYS = _(
    "Keys of --json: op, n_ranks, backend, rounds, machine, points [algorithm, message_B, time_s, median_s, quartiles_s, "
    "rounds_s, wrong], missing [algorithm, message_B], complete, wrong_points, schedules, and with two sizes or more fits "
    "[algorithm, latency_s, bandwidth_Bps, line_off, model_off, others_off], model, race [first, second, fitted_to, "
    "measured, predicted, crossings, agreed, decided]. Off is the median of |model ÷ measured − 1|; "
    "time_s is the lower quartile of rounds_s."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = f"{STATUS} {KEYS}"
    parser.add_argument("--op", default="all_reduce", help=_("the collective (all_reduce)"))
    parser.add_argument("--ranks", default="4", help=_("processes (4)"))
    parser.add_argument(
        "--algorithms", help=_("names with commas between: ring, tree, double-tree, halving-doubling, direct")
    )
    parser.add_argument("--sizes", help=_("from:to, doubling (8B:16MiB), or sizes with commas between"))
    parser.add_argument("--max-size", help=_("the largest size, in place of the end of --sizes"))
    parser.add_argument("--seconds", default="50", help=_("time to be done in (50)"))
    parser.add_argument("--rounds", default="12", help=_("at most so many rounds, each in another order (12)"))
    parser.add_argument(
        "--backend", default="auto", help=_("auto, mpi (mpi4py), torch-nccl (a GPU for each rank) or torch-gloo")
    )
    parser.add_argument("--copy", action="store_true", help=_("copies within one process in place of a collective"))
    parser.add_argument("--plot", type=Path, help=_("write the picture to this HTML file"))
    parser.add_argument("--json", action="store_true", help=_("print JSON"))
    parser.add_argument("--quiet", action="store_true", help=_("no progress bar"))


def run(args: argparse.Namespace) -> int:
    """Measure, print, and return the status that STATUS describes."""
    sizes = _sizes(args)
    seconds, rounds = _number("--seconds", args.seconds), int(_number("--rounds", args.rounds, whole=True))
    if args.plot is not None and not args.plot.resolve().parent.is_dir():
        raise CourseError(_("--plot is {path}; there is no such folder.").format(path=args.plot))
    try:
        with _stoppable(), _bar(args.quiet) as progress:
            if args.copy:
                return _copy(args, sizes, seconds, rounds, progress)
            return _collective(args, sizes, seconds, rounds, progress)
    except (KeyboardInterrupt, _Stopped) as stop:
        print("\n" + _("interconnect measure: stopped; no process was left running."), file=sys.stderr)
        return 143 if isinstance(stop, _Stopped) else 130


def _collective(args, sizes, seconds, rounds, progress) -> int:
    from course_lib.machine.measuring.run import ALGORITHMS, as_data, measure

    names = ALGORITHMS if args.algorithms is None else args.algorithms.split(",")
    if args.op not in ("all_reduce", None) and args.algorithms is None:
        names = _default_names(args.op)
    ranks = int(_number("--ranks", args.ranks, whole=True))
    measured = measure(
        args.op,
        ranks,
        names,
        sizes,
        seconds=seconds,
        rounds=rounds,
        backend=args.backend,
        progress=progress,
    )
    progress(None, "")
    found, why = _compared(measured)
    complete = not measured.missing
    if args.json:
        data = as_data(measured)
        for row, point in zip(data["points"], measured.points, strict=True):
            row |= {"time_s": point.time_s, "median_s": point.median_s, "quartiles_s": list(point.quartiles_s)}
        data |= {"complete": complete, "wrong_points": len(measured.wrong)} | found_as_data(found, why)
        print(json.dumps(data, indent=1, allow_nan=False))
    else:
        print("\n".join(table(measured, found)))
        print("\n".join(sentences(measured, found, why)))
    if args.plot is not None:
        plot(measured, found, args.plot)
    return 0 if complete and not measured.wrong else 1


def _default_names(op: str) -> list[str]:
    from course_lib.comm.meaning import canonical_op
    from course_lib.machine.measuring.run import ALGORITHMS, MAX_RANKS, schedule_of

    canonical_op(op)
    found = []
    for name in ALGORITHMS:
        with contextlib.suppress(CourseError):
            schedule_of(op, name, min(2, MAX_RANKS))
            found.append(name)
    return found


def _compared(measured):
    from course_lib.machine.measuring.beside import compare

    try:
        return compare(measured), ""
    except CourseError as error:  # one size, or times that do not grow: measured all the same, there is no line
        return None, str(error)


def _copy(args, sizes, seconds, rounds, progress) -> int:
    from course_lib.machine.measuring.copies import copies

    found = copies(sizes, seconds=min(seconds, 20.0), rounds=rounds, progress=progress)
    progress(None, "")
    fits = {kind: found.lines(kind) for kind in found.kinds} if len(found.points) > 1 else {}
    wrong = [p for p in found.points if p.wrong]
    if args.json:
        data = {
            "machine": found.machine,
            "points": [
                {
                    "kind": p.algorithm,
                    "message_B": p.message_B,
                    "time_s": p.time_s,
                    "median_s": p.median_s,
                    "quartiles_s": list(p.quartiles_s),
                    "wrong": p.wrong,
                }
                for p in found.points
            ],
            "fits": [
                {
                    "kind": kind,
                    "from_B": part.from_B,
                    "to_B": part.to_B,
                    "latency_s": part.line.latency_s,
                    "bandwidth_Bps": part.line.bandwidth_Bps,
                    "line_off": part.off,
                }
                for kind, parts in fits.items()
                for part in parts
            ],
            "complete": not found.missing,
            "wrong_points": len(wrong),
        }
        print(json.dumps(data, indent=1, allow_nan=False))
    else:
        rows = []
        for p in found.points:
            spread = "({}–{})".format(*map(say_time, p.quartiles_s))
            rate = say_rate(p.message_B / p.time_s)
            rows.append([p.algorithm, say_bytes(p.message_B), say_time(p.time_s), spread, rate])
        print("\n".join(lined_up(rows, "<>>>>", (16, 8, 8, 23, 10))))
        for kind, parts in fits.items():
            for part in parts:
                print(part.in_words(kind))
    return 1 if found.missing or wrong else 0


def _sizes(args: argparse.Namespace) -> list[int] | None:
    from course_lib.machine.measuring.run import sizes_between

    most = None if args.max_size is None else _bytes(args.max_size)
    if args.sizes is None and most is None:
        return None
    text = args.sizes or "8B:16MiB"
    if ":" in text:
        ends = text.split(":")
        if len(ends) != 2:
            raise CourseError(_("--sizes is {text}; from:to is expected, such as 8B:16MiB.").format(text=text))
        return sizes_between(_bytes(ends[0]), _bytes(ends[1]) if most is None else most)
    sizes = [_bytes(word) for word in text.split(",") if word.strip()]
    if not sizes:
        raise CourseError(_("--sizes is {text}; from:to is expected, such as 8B:16MiB.").format(text=text))
    return [size for size in sizes if most is None or size <= most] or [most]


def _bytes(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return parse_bytes(text)


def _number(name: str, text: str, *, whole: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0 or (whole and value != int(value)):
        kind = _("a whole number of at least 1") if whole else _("a number above 0")
        raise CourseError(_("{name} is {text}; {kind} is expected.").format(name=name, text=text, kind=kind))
    return value


class _Stopped(BaseException):
    """SIGTERM came."""


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, so that everything is cleared away as with Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number, _frame):
        raise _Stopped

    numbers = [n for n in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if n is not None]
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator:
    """A progress bar on a terminal's stderr; nothing where it is no terminal."""
    shown = sys.stderr.isatty() and not quiet
    last = [-1]

    def show(share: float | None, words: str) -> None:
        if not shown:
            return
        if share is None:
            sys.stderr.write("\r\x1b[K")
        elif int(share * 200) != last[0]:
            last[0] = int(share * 200)
            full = round(min(share, 1.0) * 30)
            sys.stderr.write(f"\r\x1b[K[{'█' * full}{'·' * (30 - full)}] {say_share(share):>5} {words[:40]}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show(None, "")
