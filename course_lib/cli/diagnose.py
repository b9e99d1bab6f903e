"""`interconnect diagnose`: read what a machine printed and judge it."""

import argparse
import json
import sys

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.units import parse_rate
from course_lib.machine import say
from course_lib.machine.diagnose import diagnose

HELP = "read what a machine printed (topology, nccl-tests, copies, links) and judge it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _(
        """JSON keys: status (healthy, finding, cannot tell), exit_status, headline, findings [code, text],
causes [code, text, because, test] (the likeliest first), sweeps [op, n_ranks, n_hosts, system, candidates, status,
plateau_Bps, peak_Bps, rising, wire_Bps, fit {latency_s, bandwidth_Bps}, algorithm {name, because}, bounds
{name: bus bandwidth}, arithmetic, notes, rows [message_B, time_s, algbw_Bps, busbw_Bps, expected_time_s,
expected_busbw_Bps, ratio, regime, dip]], fabric {shape, n_gpus, links [from, to, kind, bandwidth_Bps, parallel]},
notes, saw, paste, damaged, unknown. Unknown is null. Exit status: 0 healthy, 1 a finding, 2 cannot tell."""
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=_("what was printed; several enrich each other; - reads standard input"),
    )
    parser.add_argument(
        "--system", help=_("what it ran on: a built-in name or a TOML file (see predict --list-systems)")
    )
    parser.add_argument("--ranks", type=_count, help=_("ranks, where the log does not say"))
    parser.add_argument("--hosts", type=_count, help=_("hosts, where the log does not say"))
    parser.add_argument("--op", help=_("the collective, where the log does not say"))
    parser.add_argument(
        "--network", help=_("rate of all network cards of one host, one direction: '400 Gb/s', '50 GB/s'")
    )
    parser.add_argument("--json", action="store_true", help=_("print one JSON object"))


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(_("a whole number of at least 1 is expected, not {text}").format(text=text))
    return value


def run(args: argparse.Namespace) -> int:
    """Print a diagnosis; return 0 healthy, 1 a finding, 2 cannot tell (a CourseError counts as 2)."""
    if args.files.count("-") > 1:
        raise CourseError(_("Standard input can be read once only."))
    rate = None if args.network is None else parse_rate(args.network, direction="per direction").per_direction_Bps
    sources = [sys.stdin.buffer if name == "-" else name for name in args.files]
    report = diagnose(
        *sources,
        system=args.system,
        n_ranks=args.ranks,
        n_hosts=args.hosts,
        op=args.op,
        host_Bps=rate,
        names=args.files,
    )
    if args.json:
        json.dump(say.as_json(report), sys.stdout, indent=2, allow_nan=False, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(say.in_words(report))
    return report.exit_status
