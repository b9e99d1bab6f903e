"""What to say of a plan that does not fit: the part that needs most, and the nearest plans that do, quickest first."""

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.units import say_bytes
from course_lib.plan import stepcost
from course_lib.plan.candidates import candidates
from course_lib.plan.efficiency import Chip, constants
from course_lib.plan.grid import ORDER
from course_lib.plan.plans import Plans, legal
from course_lib.plan.stepmemory import held
from course_lib.plan.transformer import RECOMPUTE, Shape
from course_lib.timing.system import System


def does_not_fit(
    memory, processor: Chip, shape: Shape, place: System, plans: Plans, global_batch, seq, precision, fused
) -> str:
    """Return the sentence for a plan that needs too much memory: the term that needs most, and the nearest plans that fit.

    >>> from course_lib.plan.steptime import step
    >>> try:
    ...     step("gpt3-175b", "dgx-a100", gpus=64, tensor=8, global_batch=1024)
    ... except ValueError as error:
    ...     "The nearest plans that fit" in str(error)
    True
    """
    largest = max(memory, key=memory.get)
    text = _(
        "This plan needs {need} on the fullest GPU, and {gpu} has {has}. The largest part: {part}, {part_B}."
    ).format(
        need=say_bytes(sum(memory.values())),
        gpu=processor.name,
        has=say_bytes(processor.hbm_B),
        part=largest,
        part_B=say_bytes(memory[largest]),
    )
    near = nearest_that_fit(processor, shape, place, plans, global_batch, seq, precision, fused)
    if not near:
        return text + " " + farther(processor, shape, place, plans, global_batch, seq, precision, fused)
    return text + " " + _("The nearest plans that fit: {plans}.").format(plans="; ".join(near))


def farther(
    processor: Chip, shape: Shape, place: System, plans: Plans, global_batch: int, seq: int, precision: str, fused: bool
) -> str:
    """Return what fits where no change of one or two settings does: the quickest plan on as many GPUs, or on 2, 4, 8 … times.

    >>> from course_lib.plan.steptime import step
    >>> try:
    ...     step("gpt3-175b", "dgx-h100", gpus=8, tensor=8, global_batch=64)
    ... except ValueError as error:
    ...     "The quickest on 64 GPUs: --tp" in str(error)
    True
    """
    contexts = tuple({1, int(plans.context[0])})
    found = quickest_elsewhere(
        processor,
        shape,
        place,
        int(plans.n_ranks[0]),
        global_batch=global_batch,
        seq=seq,
        precision=precision,
        fused=fused,
        contexts=contexts,
        order=plans.order,
    )
    if found is None:
        return _(
            "No plan fits on as many GPUs, nor on more that the system has; use GPUs with more memory, or shorter sequences."
        )
    text = _("No plan that differs in one or two settings fits on as many GPUs. The quickest on {n} GPUs: {plan}.")
    return text.format(n=found[0], plan=found[1])


def quickest_elsewhere(
    processor: Chip,
    shape: Shape,
    place: System,
    gpus: int,
    *,
    global_batch: int,
    seq: int,
    precision: str,
    fused: bool,
    contexts: tuple[int, ...] = (1,),
    order: str = ORDER,
) -> tuple[int, str] | None:
    """Return (GPUs, flags) of the quickest plan that fits on `gpus`, or on the first of 2, 4, 8 … times as many; None if none does.

    >>> from course_lib.plan.efficiency import chip
    >>> from course_lib.plan.transformer import model
    >>> from course_lib.timing.system import load
    >>> options = {"global_batch": 64, "seq": 2048, "precision": "bf16", "fused": True}
    >>> quickest_elsewhere(chip("h100"), model("gpt3-175b"), load("dgx-h100"), 8, **options)[0]
    64
    """
    for n in (gpus * 2**k for k in range(11)):
        if n > place.n_max or (place.scale_out is None and n > place.gpus_per_domain):
            break
        try:
            many = candidates(shape, n, global_batch=global_batch, seq=seq, contexts=contexts, order=order)
        except CourseError:
            continue
        many = many.take(held(shape, many, seq=seq, fused=fused).total_B <= processor.hbm_B)
        if len(many):
            options = {"seq": seq, "precision": precision, "fused": fused}
            found = stepcost.price(shape, place, processor, many, constants(), **options)
            return n, _flags(many.row(int(np.argmin(found.step_s))))
    return None


def _flags(row: dict) -> str:
    """A plan as the flags of `interconnect train-step`."""
    flags = {"tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "etp": "expert_tensor"}
    flags |= {"microbatch": "micro_batch", "interleave": "interleave"}
    words = [f"--{flag} {row[name]}" for flag, name in flags.items() if row[name] > 1]
    return " ".join([*words, f"--zero {row['zero']}", f"--recompute {row['recompute']}"])


def _changes(shape: Shape, plans: Plans, global_batch: int) -> list[tuple[str, dict]]:
    now = plans.row()
    found = [({"recompute": i}, word) for i, word in enumerate(RECOMPUTE) if i > RECOMPUTE.index(now["recompute"])]
    found = [(_("--recompute {word}").format(word=word), change) for change, word in found]
    found += [(_("--zero {z}").format(z=z), {"zero": z}) for z in range(now["zero"] + 1, 4)]
    if now["micro_batch"] > 1:
        found.append((_("--microbatch {b}").format(b=1), {"micro_batch": 1}))
    for name, flag in (("tensor", "--tp"), ("pipeline", "--pp"), ("context", "--cp")):
        for factor in (2, 4, 8):
            if now["data"] % factor == 0:
                found.append(
                    (f"{flag} {now[name] * factor}", {name: now[name] * factor, "data": now["data"] // factor})
                )
    if shape.n_experts:
        found += [(f"--ep {now['expert'] * f}", {"expert": now["expert"] * f}) for f in (2, 4, 8, 16, 32)]
    return found


def nearest_that_fit(
    processor: Chip, shape: Shape, place: System, plans: Plans, global_batch: int, seq: int, precision: str, fused: bool
) -> list[str]:
    """Return up to three changes of one setting, else of two, after which a plan fits, quickest first.

    >>> from course_lib.plan.efficiency import chip
    >>> from course_lib.plan.plans import one
    >>> from course_lib.plan.transformer import model
    >>> from course_lib.timing.system import load
    >>> p = one(tensor=8, pipeline=1, data=8, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=8, interleave=1,
    ...         recompute="full", zero=1, sequence=True)
    >>> nearest_that_fit(chip("a100"), model("gpt3-175b"), load("dgx-a100"), p, 64, 2048, "bf16", True)[0][:2]
    '--'
    """
    single = _changes(shape, plans, global_batch)
    both = [(f"{a} {b}", x | y) for i, (a, x) in enumerate(single) for b, y in single[i + 1 :] if not set(x) & set(y)]
    for tries in (single, both):
        kept = []
        for words, change in tries:
            row = plans.row() | {"recompute": RECOMPUTE.index(plans.row()["recompute"])} | change
            unit = row["data"] * row["micro_batch"]
            if global_batch % unit:
                continue
            row["n_micro"] = global_batch // unit
            row["sequence"] = row["tensor"] > 1 and seq // row["context"] % row["tensor"] == 0
            kept.append((words, row))
        if not kept:
            continue
        many = Plans(**{name: np.array([row[name] for _w, row in kept]) for name in kept[0][1]}, order=plans.order)
        good = np.flatnonzero(legal(shape, many, global_batch=global_batch, seq=seq))
        if not good.size:
            continue
        found = stepcost.price(
            shape, place, processor, many.take(good), constants(), seq=seq, precision=precision, fused=fused
        )
        fits = np.flatnonzero(found.held.total_B <= processor.hbm_B)
        if fits.size:
            return [kept[good[i]][0] for i in fits[np.argsort(found.step_s[fits])][:3]]
    return []
