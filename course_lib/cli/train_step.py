"""`interconnect train-step`: one training step of a plan on a system, every term by name, in words or as JSON."""

import argparse
import json
import math
import sys

from course_lib.base.columns import padded
from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.base.units import say_rate, say_share, say_time
from course_lib.plan import modelfile
from course_lib.plan.grid import ORDER
from course_lib.plan.steptime import ATTENTION, AUTO, PRECISIONS, SOFTWARE, Step, step
from course_lib.plan.transformer import RECOMPUTE, Shape, models, params

HELP = "predict one training step of a plan: seconds, utilisation, memory, every term"
_SHAPE = {
    "layers": "n_layers",
    "hidden": "hidden",
    "heads": "n_heads",
    "kv-heads": "n_kv_heads",
    "head-size": "head_size",
    "ffn": "ffn",
    "vocab": "vocab",
    "experts": "n_experts",
    "active-experts": "n_active",
    "expert-ffn": "expert_ffn",
}


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a model and a system; `interconnect plan` has the same."""
    parser.add_argument("--model", help=_("a name from --list-models, or the path of a TOML file"))
    parser.add_argument("--list-models", action="store_true", help=_("print the models that are known"))
    shape = parser.add_argument_group(_("a model of one's own, in place of --model"))
    for flag in _SHAPE:
        shape.add_argument(f"--{flag}", metavar="N")
    shape.add_argument("--gated", action="store_true", help=_("a gated MLP (SwiGLU): three matrices"))
    parser.add_argument("--system", help=_("a name (interconnect predict --list-systems), or the path of a TOML file"))
    parser.add_argument("--gpu", help=_("the processor, if not the system's own"))
    parser.add_argument("--global-batch", metavar="N", help=_("sequences of a step, all replicas together"))
    parser.add_argument("--sequence-length", metavar="N", help=_("tokens of a sequence; the model's own if left out"))
    parser.add_argument(
        "--precision", default="bf16", help=_("of matrix products: {names}").format(names=", ".join(PRECISIONS))
    )
    parser.add_argument(
        "--attention", help=_("kernels: {names}; by the GPU if left out").format(names=", ".join(ATTENTION))
    )
    parser.add_argument(
        "--software", help=_("{names}; pytorch with --zero 3, else megatron").format(names=", ".join(SOFTWARE))
    )
    parser.add_argument(
        "--order", default=ORDER, help=_("ranks, fastest axis first; {order} if left out").format(order=ORDER)
    )
    parser.add_argument("--json", action="store_true", help=_("print JSON"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `interconnect train-step`."""
    add_model_arguments(parser)
    parser.add_argument("--gpus", metavar="N", help=_("GPUs of the job: tp × pp × dp × cp"))
    for flag, text in (
        ("tp", _("tensor-parallel ranks")),
        ("pp", _("pipeline stages")),
        ("dp", _("replicas; follows from --gpus")),
        ("cp", _("context-parallel ranks")),
        ("ep", _("expert-parallel ranks")),
        ("etp", _("ranks that cut each expert")),
        ("microbatch", _("sequences of a micro-batch")),
        ("interleave", _("chunks of each stage")),
        ("zero", _("0 to 3: what replicas share out: nothing, optimizer, gradients, weights")),
    ):
        parser.add_argument(f"--{flag}", metavar="N", help=text)
    parser.add_argument("--recompute", default=AUTO, help=", ".join((*RECOMPUTE, AUTO)))
    parser.add_argument("--no-sequence-parallel", action="store_true", help=_("norms are not sliced by tensor ranks"))
    parser.add_argument("--ignore-memory", action="store_true", help=_("price plans that do not fit as well"))


def count(flag: str, text: str | None, default: int | None = None) -> int | None:
    """Return a flag's whole number; CourseError where it is none.

    >>> count("--tp", "8"), count("--tp", None, 1)
    (8, 1)
    """
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value != int(value) or value < 0:
        raise CourseError(_("{flag} is {text}; a whole number is expected.").format(flag=flag, text=text))
    return int(value)


def described(args: argparse.Namespace) -> bool:
    """Return whether the arguments say what model is meant.

    >>> described(argparse.Namespace(model="gpt3", **dict.fromkeys(flag.replace("-", "_") for flag in _SHAPE)))
    True
    """
    return args.model is not None or any(getattr(args, flag.replace("-", "_")) is not None for flag in _SHAPE)


def shape_of(args: argparse.Namespace) -> Shape:
    """Return the model that the arguments name or describe."""
    given = {field: getattr(args, flag.replace("-", "_")) for flag, field in _SHAPE.items()}
    given = {field: count(field, text) for field, text in given.items() if text is not None}
    if args.model is not None:
        if given:
            raise CourseError(_("Give --model, or sizes of a model of your own, not both."))
        return modelfile.named(args.model)
    if not given:
        raise CourseError(_("Missing: {what}.").format(what="--model"))
    seq = count("--sequence-length", args.sequence_length, 2048)
    return modelfile.described(**given, seq=seq, gated=args.gated)


def run(args: argparse.Namespace) -> int:
    """Print a step; return 0, or raise a CourseError that the command line turns into a sentence and status 2."""
    if args.list_models:
        return list_models(args.json)
    missing = [] if described(args) else ["model"]
    missing += [flag for flag in ("system", "global_batch") if getattr(args, flag) is None]
    if args.gpus is None and args.dp is None:
        missing.append("gpus")
    if missing:
        raise CourseError(_("Missing: {what}.").format(what=", ".join("--" + m.replace("_", "-") for m in missing)))
    shape = shape_of(args)
    found = step(
        shape,
        args.system,
        gpus=count("--gpus", args.gpus),
        tensor=count("--tp", args.tp, 1),
        pipeline=count("--pp", args.pp, 1),
        data=count("--dp", args.dp),
        context=count("--cp", args.cp, 1),
        expert=count("--ep", args.ep, 1),
        expert_tensor=count("--etp", args.etp, 1),
        micro_batch=count("--microbatch", args.microbatch, 1),
        global_batch=count("--global-batch", args.global_batch),
        seq=count("--sequence-length", args.sequence_length),
        precision=args.precision,
        recompute=args.recompute,
        interleave=count("--interleave", args.interleave, 1),
        zero=count("--zero", args.zero, 1),
        sequence=False if args.no_sequence_parallel else None,
        order=args.order,
        attention=args.attention,
        software=args.software,
        gpu=args.gpu,
        check_memory=not args.ignore_memory,
    )
    if args.json:
        json.dump(as_json(found), sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(in_words(found, shape, args.system))
    return 0


def as_json(found: Step) -> dict:
    """Return a step as plain data: exactly step_s, tokens_per_s, tflops_per_gpu, mfu, memory_B and terms.

    >>> sorted(as_json(step("llama3-8b", "dgx-h100", gpus=8, global_batch=64, zero=3)))
    ['memory_B', 'mfu', 'step_s', 'terms', 'tflops_per_gpu', 'tokens_per_s']
    """
    names = ("step_s", "tokens_per_s", "tflops_per_gpu", "mfu", "memory_B", "terms")
    return {name: getattr(found, name) for name in names}


def in_words(found: Step, shape: Shape, system: str) -> str:
    """Return a step as text: the plan, its rates, terms, memory, and what each group crosses.

    >>> "pipeline bubble" in in_words(step("llama3-8b", "dgx-h100", gpus=8, pipeline=2, global_batch=64), model_of("llama3-8b"), "h")
    True
    """
    at = found.layout
    lines = [
        _("{model} on {gpus} GPUs of {system}: tensor {t} × pipeline {p} × context {c} × data {d}{experts}").format(
            model=shape.name,
            gpus=found.n_gpus,
            system=system,
            t=at.tensor,
            p=at.pipeline,
            c=at.context,
            d=at.data,
            experts=_(", experts over {e}").format(e=at.expert) if shape.n_experts else "",
        ),
        _("{time} a step, {tokens:,.0f} tokens/s, {tflops:.0f} TFLOP/s a GPU, utilisation {mfu}").format(
            time=say_time(found.step_s),
            tokens=found.tokens_per_s,
            tflops=found.tflops_per_gpu,
            mfu=say_share(found.mfu, 1),
        ),
        "",
    ]
    words = said()
    for name, value in sorted(found.terms.items(), key=lambda item: -item[1]):
        if value > 0:
            lines.append(f"  {say_share(value / found.step_s, 1):>7} {say_time(value):>10}  {words[name]}")
    some, of = found.recomputed
    if some:
        lines.append(_("  {some} of {of} layers of a stage are computed again.").format(some=some, of=of))
    lines += [
        "",
        _("Memory of the fullest GPU: {need} of {has}").format(
            need=gigabytes(found.memory_B), has=gigabytes(found.capacity_B)
        ),
    ]
    lines += [f"  {gigabytes(value):>10}  {words[name]}" for name, value in found.memory.items() if value > 0]
    if found.spans:
        lines += ["", _("What each group crosses:")]
    for s in found.spans:
        text = _("  {axis} ranks {n}, groups {groups}: {link}, {rate} a GPU")
        lines.append(
            text.format(
                axis=padded(_(s.axis), 13), n=s.n_ranks, groups=s.n_groups, link=s.link, rate=say_rate(s.bandwidth_Bps)
            )
        )
    return punctuated("\n".join(lines)) + "\n"


def said() -> dict[str, str]:
    """Return the words for the terms of a step and the parts of memory in the reader's language; JSON keeps the names.

    >>> from course_lib.plan.stepcost import TERMS
    >>> set(TERMS) <= set(said())
    True
    """
    return {
        "matrix products": _("matrix products"),
        "attention": _("attention"),
        "bytes moved": _("bytes moved"),
        "launches and gaps": _("launches and gaps"),
        "output head": _("output head"),
        "recomputing": _("recomputing"),
        "tensor-parallel communication": _("tensor-parallel communication"),
        "context-parallel communication": _("context-parallel communication"),
        "expert-parallel communication": _("expert-parallel communication"),
        "weight gathering": _("weight gathering"),
        "pipeline hand-offs": _("pipeline hand-offs"),
        "uneven stages": _("uneven stages"),
        "pipeline bubble": _("pipeline bubble"),
        "gradient synchronization": _("gradient synchronization"),
        "optimizer": _("optimizer"),
        "outside the layers": _("outside the layers"),
        "slowest GPU": _("slowest GPU"),
        "weights": _("weights"),
        "gradients": _("gradients"),
        "activations": _("activations"),
        "working space": _("working space"),
    }


def gigabytes(size_B: float) -> str:
    """Return bytes in one unit for all, so that a column adds up by eye.

    >>> gigabytes(2**30)
    '1.07 GB'
    """
    return f"{size_B / 1e9:.2f} GB"


def model_of(name: str) -> Shape:
    """Return a model by any usual spelling.

    >>> model_of("gpt3").n_layers
    96
    """
    return modelfile.named(name)


def list_models(as_data: bool) -> int:
    """Print the known models with layers, width, parameters; return 0."""
    shapes = [modelfile.named(name) for name in models()]
    rows = [
        {
            "name": s.name,
            "layers": s.n_layers,
            "hidden": s.hidden,
            "heads": s.n_heads,
            "parameters": params(s).total,
            "experts": s.n_experts,
            "sequence_length": s.seq,
        }
        for s in shapes
    ]
    if as_data:
        json.dump(rows, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    for row in rows:
        experts = _(", {n} experts").format(n=row["experts"]) if row["experts"] else ""
        text = _("{name:18} {layers} layers × {hidden}, {parameters:.4g} billion parameters{experts}")
        sys.stdout.write(text.format(**row | {"parameters": row["parameters"] / 1e9, "experts": experts}) + "\n")
    return 0
