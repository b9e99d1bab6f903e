"""The search: every legal plan of a model on a system, priced at once; the best, and the frontier of what it costs.

The price of a plan is `plan.stepcost.price`'s, so it is what `plan.steptime.step` says of the plan alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.base.units import say_bytes
from course_lib.plan import stepcost
from course_lib.plan.candidates import candidates
from course_lib.plan.efficiency import Constants, constants, precision_of
from course_lib.plan.grid import ORDER
from course_lib.plan.offers import quickest_elsewhere
from course_lib.plan.progressbar import Bar
from course_lib.plan.reach import check_room
from course_lib.plan.steptime import MOST, fused_of, gpu_of, plain_of
from course_lib.plan.transformer import RECOMPUTE, Shape, flops, model
from course_lib.timing.system import System, load

PIECE = 16384  # plans priced at a time: memory stays small, and progress can be told
COLUMNS = (
    "tensor",
    "pipeline",
    "data",
    "context",
    "expert",
    "expert_tensor",
    "micro_batch",
    "n_micro",
    "interleave",
    "recompute",
    "zero",
)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: `table` of (n,) arrays, one entry for each legal plan, in order of time, those that fit first.

    Columns: the sizes of the plan, `recompute` by its place in none, selective, full; `step_s`, `memory_B`, `gpus`,
    `tokens_per_s`, `mfu` and `fits`. `frontier` are places in the table: no plan that fits is better in one of time,
    memory and GPUs without being worse in another. `best` is the quickest that fits as plain numbers, None if none does. `skipped` are the
    numbers of GPUs that no plan divides, where others have plans; `enough` is, where nothing fits, how many would do, with flags.
    """

    n_plans: int
    n_fit: int
    best: dict | None
    table: dict[str, NDArray]
    frontier: NDArray[np.int64]
    capacity_B: float
    model: str
    system: str
    skipped: tuple[int, ...] = ()
    enough: tuple[int, str] | None = None

    def row(self, i: int) -> dict:
        """Return entry `i` of the table as plain numbers and words."""
        found = {name: column[i].item() for name, column in self.table.items()}
        found["recompute"] = RECOMPUTE[found["recompute"]]
        return found


def search(
    shape: "Shape | str",
    system: "System | str",
    gpus: "int | Sequence[int]",
    *,
    global_batch: int,
    seq: int | None = None,
    precision: str = "bf16",
    progress: Progress | bool | None = None,
    max_tensor: int | None = None,
    contexts: Sequence[int] = (1,),
    zeros: Sequence[int] = (0, 1, 2, 3),
    recomputes: Sequence[str] = RECOMPUTE,
    order: str = ORDER,
    attention: str | None = None,
    software: str | None = "megatron",
    gpu: str | None = None,
    using: Constants | None = None,
) -> Found:
    """Return all legal plans of a model, priced, with the best and the frontier.

    `gpus` is a number or several; each is filled exactly. `contexts` are the numbers of context-parallel ranks to try,
    `max_tensor` the most tensor ranks (None: whatever divides). `software` is one for all plans, so that ZeRO-3 does not
    pay for the frameworks that are known for it. `progress(done, all)` is called after each piece; True draws a bar once
    the search has taken a second.
    Raises CourseError where nothing divides or a name is unknown; plans that do not fit stay in the table with `fits` False.

    >>> found = search("llama3-8b", "dgx-h100", 8, global_batch=64)
    >>> found.n_plans > 100, 0 < found.n_fit < found.n_plans, bool(found.best["step_s"] == found.table["step_s"][0])
    (True, True, True)
    """
    shape, place = model(shape), load(system)
    processor = gpu_of(place, gpu)
    precision = precision_of(processor, precision)
    seq = shape.seq if seq is None else whole("seq", seq, at_least=1, at_most=MOST)
    batch = whole("global_batch", global_batch, at_least=1, at_most=MOST)
    k = constants() if using is None else using
    counts = [whole("gpus", n, at_least=1) for n in (gpus if isinstance(gpus, Sequence | np.ndarray) else [gpus])]
    if not counts:
        raise CourseError(_("Give at least one number of GPUs."))
    max_tensor = None if max_tensor is None else whole("max_tensor", max_tensor, at_least=1)
    contexts = tuple(whole("contexts", c, at_least=1) for c in contexts)
    zeros = tuple(whole("zeros", z, at_least=0, at_most=3) for z in zeros)
    recomputes = tuple(one_of(_("kind of recomputing"), word, RECOMPUTE) for word in recomputes)
    bar = Bar() if progress is True else progress or None
    asked = {"global_batch": batch, "seq": seq, "max_tensor": max_tensor, "contexts": contexts}
    asked |= {"zeros": zeros, "recomputes": recomputes, "order": order}
    parts, skipped = [], []
    for n in counts:
        check_room(n, place)
        try:
            parts.append(candidates(shape, n, **asked))
        except CourseError:
            if len(counts) == 1:
                raise
            skipped.append(n)
    if not parts:
        candidates(shape, counts[0], **asked)  # says why
    columns: dict[str, list[NDArray]] = {}
    total, done = sum(len(p) for p in parts), 0
    # whether attention keeps scores depends on what is recomputed, and the software may on ZeRO: such plans are priced apart
    fused = np.array([fused_of(attention, processor, word) for word in RECOMPUTE])
    options = {"seq": seq, "precision": precision, "early": attention == "early"}
    for plans in parts:
        for start in range(0, len(plans), PIECE):
            piece = plans.take(slice(start, start + PIECE))
            kind = 2 * fused[piece.recompute] + (piece.zero == 3 if software is None else plain_of(software, 3))
            for code in np.unique(kind):
                some = piece.take(np.flatnonzero(kind == code))
                found = stepcost.price(
                    shape, place, processor, some, k, fused=bool(code // 2), plain=bool(code % 2), **options
                )
                for name in COLUMNS:
                    columns.setdefault(name, []).append(getattr(some, name))
                columns.setdefault("gpus", []).append(some.n_ranks)
                columns.setdefault("step_s", []).append(found.step_s)
                columns.setdefault("memory_B", []).append(found.held.total_B)
            done += len(piece)
            if bar is not None:
                bar(done, total)
    if isinstance(bar, Bar):
        bar.close()
    table = {name: np.concatenate(parts) for name, parts in columns.items()}
    found = replace(_found(shape, place, processor, table, precision, batch, seq), skipped=tuple(skipped))
    if not found.n_fit:
        options = {"global_batch": batch, "seq": seq, "precision": precision, "contexts": contexts, "order": order}
        fits = quickest_elsewhere(processor, shape, place, max(counts), fused=bool(fused[2]), **options)
        found = replace(found, enough=fits)
    return found


def _found(shape, place, processor, table, precision, batch, seq) -> Found:
    table["fits"] = table["memory_B"] <= processor.hbm_B
    ranking = np.lexsort((table["gpus"], table["memory_B"], table["step_s"], ~table["fits"]))
    table = {name: column[ranking] for name, column in table.items()}
    table["tokens_per_s"] = batch * seq / table["step_s"]
    work = float(flops(shape, batch, seq).model)
    table["mfu"] = work / table["step_s"] / table["gpus"] / processor.peak[precision]
    n_fit = int(table["fits"].sum())
    front = pareto(table["step_s"][:n_fit], table["memory_B"][:n_fit], table["gpus"][:n_fit])
    found = Found(len(ranking), n_fit, None, table, front, processor.hbm_B, shape.name, place.name)
    if n_fit:
        found = Found(len(ranking), n_fit, found.row(0), table, front, processor.hbm_B, shape.name, place.name)
    return found


def pareto(time_s: NDArray, memory_B: NDArray, gpus: NDArray) -> NDArray[np.int64]:
    """Return the places that no other place beats in all of three columns; `time_s` has to rise, ties by memory, then GPUs.

    >>> pareto(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 4.0]), np.array([8, 4, 8])).tolist()
    [0, 1, 2]
    >>> pareto(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 4.0]), np.array([8, 8, 8])).tolist()
    [0, 2]
    """
    counts = np.unique(gpus)
    kept = np.zeros(len(time_s), bool)
    least = np.full(len(time_s), np.inf)
    for n in counts:  # from few GPUs to many: a plan has to beat all that are as quick with as few GPUs
        mine = gpus <= n
        low = np.minimum.accumulate(np.where(mine, memory_B, np.inf))
        before = np.concatenate([[np.inf], low[:-1]])
        least = np.where(gpus == n, before, least)
        kept |= (gpus == n) & (memory_B < before)
    return np.flatnonzero(kept)


def nothing_fits(found: Found) -> str:
    """Return the sentence for a search in which no plan fits: how much the leanest needs.

    >>> found = search("llama3-70b", "dgx-h100", 8, global_batch=8)
    >>> found.n_fit == 0 and nothing_fits(found)[:24]
    'None of the 630 legal pl'
    """
    i = int(np.argmin(found.table["memory_B"]))
    row = found.row(i)
    text = _(
        "None of the {n} legal plans fits: the leanest (tensor {t}, pipeline {p}, ZeRO-{z}, recompute {r}) needs {need} on a GPU "
        "of {has}."
    )
    if found.enough:
        text += " " + _("On {gpus} GPUs one fits: {plan}.").format(gpus=found.enough[0], plan=found.enough[1])
    else:
        text += " " + _("None fits on more GPUs either; use ones with more memory, or shorter sequences.")
    return text.format(
        n=found.n_plans,
        t=row["tensor"],
        p=row["pipeline"],
        z=row["zero"],
        r=row["recompute"],
        need=say_bytes(row["memory_B"]),
        has=say_bytes(found.capacity_B),
    )
