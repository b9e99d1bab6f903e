"""`interconnect plan`: search all legal plans of a model on a system; print the best and the frontier, or JSON."""

import argparse
import json
import sys

from course_lib.base.columns import lined_up
from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.base.units import say_share
from course_lib.cli.train_step import add_model_arguments, count, described, gigabytes, list_models, shape_of
from course_lib.plan.progressbar import Bar
from course_lib.plan.search import Found, nothing_fits, search

HELP = "search all legal training plans: the quickest, and the frontier of time, memory and GPUs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `interconnect plan`."""
    add_model_arguments(parser)
    parser.add_argument("--gpus", nargs="+", metavar="N", help=_("GPUs of the job; several numbers are fine"))
    parser.add_argument("--max-tp", metavar="N", help=_("most tensor-parallel ranks"))
    parser.add_argument("--cp", nargs="+", default=["1"], metavar="N", help=_("context-parallel ranks to try"))
    parser.add_argument("--top", default="10", metavar="N", help=_("lines of the table"))


def run(args: argparse.Namespace) -> int:
    """Print what the search finds; status 0, or 1 where no plan fits."""
    if args.list_models:
        return list_models(args.json)
    missing = [] if described(args) else ["model"]
    missing += [flag for flag in ("system", "gpus", "global_batch") if getattr(args, flag) is None]
    if missing:
        raise CourseError(_("Missing: {what}.").format(what=", ".join("--" + m.replace("_", "-") for m in missing)))
    shape = shape_of(args)
    bar = Bar()
    gpus = [count("--gpus", n) for text in args.gpus for n in text.split(",") if n.strip()]
    found = search(
        shape,
        args.system,
        gpus if len(gpus) != 1 else gpus[0],
        global_batch=count("--global-batch", args.global_batch),
        seq=count("--sequence-length", args.sequence_length),
        precision=args.precision,
        progress=bar,
        max_tensor=count("--max-tp", args.max_tp),
        contexts=[count("--cp", n) for text in args.cp for n in text.split(",")],
        order=args.order,
        attention=args.attention,
        software=args.software or "megatron",
        gpu=args.gpu,
    )
    if args.json:
        json.dump(as_json(found), sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(in_words(found, count("--top", args.top)))
    return 0 if found.n_fit else 1


def as_json(found: Found) -> dict:
    """Return a search as plain data: counts, the best plan, the frontier.

    >>> sorted(as_json(search("llama3-8b", "dgx-h100", 8, global_batch=16)))
    ['best', 'frontier', 'n_fit', 'n_plans']
    """
    frontier = [found.row(int(i)) for i in found.frontier]
    return {"n_plans": found.n_plans, "n_fit": found.n_fit, "best": found.best, "frontier": frontier}


def _cells(row: dict) -> list[str]:
    named = ("tensor", "pipeline", "data", "context", "expert", "micro_batch", "interleave", "recompute", "zero")
    first = [str(row["gpus"]), f"{row['step_s']:.2f} s", say_share(row["mfu"], 1), gigabytes(row["memory_B"])]
    return first + [str(row[name]) for name in named]


def _table(rows: list[dict]) -> list[str]:
    head = [
        _("GPUs"),
        _("step"),
        _("MFU"),
        _("memory"),
        "tp",
        "pp",
        "dp",
        "cp",
        "ep",
        "micro",
        "int",
        "recompute",
        "zero",
    ]
    return lined_up([head, *map(_cells, rows)], ">" * len(head), (7, 8, 6, 9))


def in_words(found: Found, top: int) -> str:
    """Return a search as text: the quickest plans, then those that need less memory or fewer GPUs.

    >>> in_words(search("llama3-8b", "dgx-h100", 8, global_batch=16), 3).count("selective") >= 0
    True
    """
    lines = [
        _("{model} on {system}: legal plans {n:,}, of which {fit:,} fit.").format(
            model=found.model, system=found.system, n=found.n_plans, fit=found.n_fit
        )
    ]
    if not found.n_fit:
        return lines[0] + " " + nothing_fits(found) + "\n"
    if found.skipped:
        lines.append(_("No plan divides {gpus} GPUs.").format(gpus=_(" or ").join(map(str, found.skipped))))
    lines += ["", _("The quickest:"), *_table([found.row(i) for i in range(min(top, found.n_fit))])]
    lines += ["", _("The frontier: nothing else is quicker with as little memory and as few GPUs.")]
    chosen = found.frontier if len(found.frontier) <= top else found.frontier[:: -(-len(found.frontier) // max(top, 1))]
    lines += _table([found.row(int(i)) for i in chosen])
    return punctuated("\n".join(lines)) + "\n"
