"""`interconnect predict`: the time of a collective on a system, in words, as a table, or as JSON."""

import argparse
import json
import math
import sys

from course_lib.base.columns import lined_up
from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.base.units import parse_bytes, say_bytes, say_rate, say_time
from course_lib.timing import system as systems
from course_lib.timing.tuning import Prediction, predict
from course_lib.timing.words import say_how

HELP = "predict the time of a collective on a system"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `interconnect predict`."""
    parser.add_argument("op", nargs="?", help=_("the collective: all_reduce, alltoall, sendrecv, …"))
    parser.add_argument("--system", help=_("a name from --list-systems, or the path of a TOML file"))
    parser.add_argument("--ranks", help=_("ranks, one GPU each"))
    parser.add_argument("--hosts", help=_("hosts they are spread over evenly (as few as hold them)"))
    parser.add_argument(
        "--size", nargs="+", help=_("bytes as nccl-tests counts them: 1GiB, 64MiB, 1048576; several are fine")
    )
    parser.add_argument(
        "--algorithm", help=_("force one: ring, tree, halving-doubling, direct, in-network, hierarchical-ring, …")
    )
    parser.add_argument("--protocol", help=_("force one: LL, LL128 or Simple"))
    parser.add_argument("--ideal", action="store_true", help=_("α–β of the system alone, no fitted constants"))
    parser.add_argument("--json", action="store_true", help=_("print JSON: one object, or a list for several sizes"))
    parser.add_argument("--list-systems", action="store_true", help=_("print the built-in systems"))


def run(args: argparse.Namespace) -> int:
    """Print a prediction; return 0, or raise a CourseError that the command line turns into a sentence and status 2."""
    if args.list_systems:
        return _list_systems(args.json)
    wanted = (
        ("op", _("a collective, such as all_reduce")),
        ("system", "--system"),
        ("ranks", "--ranks"),
        ("size", "--size"),
    )
    missing = [word for name, word in wanted if getattr(args, name) is None]
    if missing:
        raise CourseError(_("Missing: {what}.").format(what=", ".join(missing)))
    n_ranks = _count("--ranks", args.ranks)
    n_hosts = None if args.hosts is None else _count("--hosts", args.hosts)
    sizes = [_size(word) for text in args.size for word in text.split(",") if word.strip()]
    if not sizes:
        raise CourseError(_("Missing: {what}.").format(what="--size"))
    place = systems.load(args.system)
    made = [
        predict(
            args.op,
            size,
            place,
            n_ranks,
            n_hosts=n_hosts,
            algorithm=args.algorithm,
            protocol=args.protocol,
            ideal=args.ideal,
        )
        for size in sizes
    ]
    if args.json:
        answers = [as_json(p) for p in made]
        json.dump(answers[0] if len(answers) == 1 else answers, sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(in_words(made, place.name))
    return 0


def as_json(p: Prediction) -> dict:
    """Return a prediction of one size as plain data; ranges without an end are null, as is a bandwidth of nothing.

    >>> sorted(as_json(predict("all_reduce", 8, "dgx-h100", 8)))
    ['algbw_Bps', 'algorithm', 'bottleneck', 'busbw_Bps', 'protocol', 'terms', 'time_s', 'valid']
    """
    ended = lambda ends: None if ends is None else [e if math.isfinite(e) else None for e in ends]  # noqa: E731
    valid = {
        "inside": p.valid.inside,
        "message_B": ended(p.valid.message_B),
        "n_ranks": ended(p.valid.n_ranks),
        "reason": p.valid.reason,
    }
    return {
        "time_s": p.time_s,
        "algbw_Bps": p.algbw_Bps or None,
        "busbw_Bps": p.busbw_Bps or None,
        "algorithm": p.algorithm,
        "protocol": p.protocol,
        "bottleneck": p.bottleneck,
        "terms": p.terms,
        "valid": valid,
    }


def in_words(made: list[Prediction], name: str) -> str:
    """Return a table of predictions and a sentence about the last."""
    last = made[-1]
    lines = [
        _("{op} on {name}; ranks: {n}, hosts: {hosts}").format(
            op=last.op, name=name, n=last.n_ranks, hosts=last.n_hosts
        ),
        "",
    ]
    rows = [[_("size"), _("time"), _("algbw"), _("busbw"), _("algorithm, protocol"), _("bottleneck")]]
    for p in made:
        algbw, busbw = (say_rate(rate) if rate else "–" for rate in (p.algbw_Bps, p.busbw_Bps))
        how = say_how(p.algorithm, p.protocol)
        if p.pieces:
            how += _(", {n} pieces").format(n=p.pieces)
        rows.append([say_bytes(p.message_B), say_time(p.time_s), algbw, busbw, how, _(p.bottleneck)])
    lines += lined_up(rows, ">>>><<", (12, 11, 11, 11, 27))
    if last.n_ranks == 1:
        lines += ["", _("One rank has nobody to talk to: no transfers, no time. A collective needs at least 2.")]
    elif last.time_s > 0:
        largest = sorted(last.terms.items(), key=lambda item: -item[1])
        parts = ", ".join(f"{_(word)} {say_time(seconds)}" for word, seconds in largest if seconds > 0)
        lines += ["", _("{time} = {parts}.").format(time=say_time(last.time_s), parts=parts)]
    lines += [last.valid.reason, ""]
    return punctuated("\n".join(lines))


def _list_systems(as_data: bool) -> int:
    found = [systems.load(name) for name in systems.names()]
    if as_data:
        rows = [
            {"name": s.name, "gpu": s.gpu, "gpus_per_host": s.gpus_per_host, "note": s.note, "source": s.source}
            for s in found
        ]
        json.dump(rows, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    for s in found:
        out = s.scale_out
        net = (
            _("{n} × network card of {rate}").format(n=out.nics_per_host, rate=say_rate(out.bandwidth_Bps))
            if out
            else ""
        )
        text = _("{name:16} {g} × {gpu}, {kind} of {rate} a GPU; {net}").format(
            name=s.name,
            g=s.gpus_per_domain,
            gpu=_(s.gpu),
            kind=_(s.scale_up.kind),
            rate=say_rate(s.scale_up.bandwidth_Bps),
            net=net,
        )
        sys.stdout.write(punctuated(text) + "\n")
    return 0


def _count(name: str, text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value != int(value) or value < 1:
        raise CourseError(_("{name} is {text}; a whole number of at least 1 is expected.").format(name=name, text=text))
    return int(value)


def _size(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return parse_bytes(text)
    if not math.isfinite(value) or value < 0:
        raise CourseError(_("--size is {text}; a finite number of bytes, 0 or more, is expected.").format(text=text))
    return value
