"""One plan beside its neighbours: the same GPUs cut by every tensor degree, priced at once, its terms in five groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.plan import stepcost
from course_lib.plan.efficiency import constants, precision_of
from course_lib.plan.grid import ORDER, Layout, Span, check_room, data_of, order_of, spans
from course_lib.plan.plans import Plans, check, legal
from course_lib.plan.steptime import fused_of, gpu_of
from course_lib.plan.transformer import RECOMPUTE, Shape, flops, model
from course_lib.timing.system import System, load

#: The terms of `plan.stepcost` in the groups that a picture has room for, in the order in which they are stacked.
GROUPS: dict[str, tuple[str, ...]] = {
    "computing": (
        "matrix products",
        "attention",
        "bytes moved",
        "launches and gaps",
        "output head",
        "outside the layers",
        "slowest GPU",
    ),
    "recomputing": ("recomputing",),
    "exposed communication": (
        "tensor-parallel communication",
        "context-parallel communication",
        "expert-parallel communication",
        "weight gathering",
        "pipeline hand-offs",
        "gradient synchronization",
    ),
    "bubble": ("pipeline bubble", "uneven stages"),
    "optimizer": ("optimizer",),
}
DEGREES = (1, 2, 4, 8, 16, 32)


def grouped(terms: Mapping[str, object]) -> dict[str, object]:
    """Return the five groups of a step's terms (numbers or arrays); they add up to the same step.

    >>> grouped({"matrix products": 3.0, "attention": 1.0, "pipeline bubble": 0.5})["computing"]
    4.0
    """
    known = {name for names in GROUPS.values() for name in names}
    for name in terms:
        one_of(_("term of a step"), name, known)
    return {group: sum(terms[n] for n in names if n in terms) for group, names in GROUPS.items()}


@dataclass(frozen=True, slots=True)
class Picked:
    """Plans that differ in their tensor degree, arrays (n,): seconds by group, bytes on the fullest GPU; NaN where one does not divide."""

    tensor: NDArray[np.int64]
    legal: NDArray[np.bool_]
    groups: dict[str, NDArray[np.float64]]
    step_s: NDArray[np.float64]
    memory_B: NDArray[np.float64]
    tokens_per_s: NDArray[np.float64]
    mfu: NDArray[np.float64]
    capacity_B: float
    gpu: str

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Which divide and fit."""
        return self.legal & (np.nan_to_num(self.memory_B, nan=np.inf) <= self.capacity_B)

    def at(self, tensor: int) -> int:
        """Return the place of a degree."""
        places = np.flatnonzero(self.tensor == whole("tensor", tensor, at_least=1))
        if not places.size:
            raise CourseError(
                _("{n} is not among the degrees priced: {all}.").format(
                    n=tensor, all=", ".join(map(str, self.tensor.tolist()))
                )
            )
        return int(places[0])


def over_tensor(
    shape: "Shape | str",
    system: "System | str",
    gpus: int,
    *,
    degrees: Sequence[int] = DEGREES,
    pipeline: int = 1,
    expert: int = 1,
    micro_batch: int = 1,
    global_batch: int,
    interleave: int = 1,
    recompute: str = "selective",
    zero: int = 1,
    order: str = ORDER,
    seq: int | None = None,
    precision: str = "bf16",
) -> Picked:
    """Return the step of the same GPUs for every tensor degree; data parallelism takes what is left. Arguments as for `steptime.step`.

    A degree that does not divide has NaN in its place; `why_not` says why. Raises CourseError for unknown names, more GPUs than
    the system has, and where no degree divides.

    >>> from course_lib.plan.steptime import step
    >>> found = over_tensor("gpt3-175b", "dgx-a100", 1024, pipeline=8, global_batch=1536)
    >>> alone = step("gpt3-175b", "dgx-a100", gpus=1024, tensor=8, pipeline=8, global_batch=1536, recompute="selective")
    >>> bool(np.isclose(found.step_s[found.at(8)], alone.step_s)), bool(np.isclose(sum(found.groups.values())[3], alone.step_s))
    (True, True)
    """
    shape, place = model(shape), load(system)
    processor = gpu_of(place, None)
    precision = precision_of(processor, precision)
    code = RECOMPUTE.index(one_of(_("kind of recomputing"), recompute, RECOMPUTE))
    order = "-".join(order_of(order))
    n, p, e, b, v, batch = (
        whole(name, value, at_least=1)
        for name, value in (
            ("gpus", gpus),
            ("pipeline", pipeline),
            ("expert", expert),
            ("micro_batch", micro_batch),
            ("interleave", interleave),
            ("global_batch", global_batch),
        )
    )
    zero = whole("zero", zero, at_least=0, at_most=3)
    if not len(degrees):
        raise CourseError(_("Give at least one tensor degree."))
    check_room(n, place)
    seq = shape.seq if seq is None else whole("seq", seq, at_least=1)
    t = np.array([whole("tensor", d, at_least=1) for d in degrees])
    d = n // (t * p)
    size = np.ones(len(t), np.int64)
    sequence = (t > 1) & (seq % t == 0)
    m = np.maximum(batch // np.maximum(d * b, 1), 1)
    plans = Plans(
        t, size * p, d, size, size * e, size, size * b, m, size * v, size * code, size * zero, sequence, order
    )
    good = (d * t * p == n) & (d > 0) & legal(shape, plans, global_batch=batch, seq=seq)
    if not good.any():
        why_not(shape, n, int(t[0]), pipeline=p, expert=e, micro_batch=b, global_batch=batch, interleave=v, seq=seq)
        raise CourseError(_("None of the degrees {all} divides.").format(all=", ".join(map(str, t.tolist()))))
    some = plans.take(good)
    fused = fused_of(None, processor, recompute)
    found = stepcost.price(shape, place, processor, some, constants(), seq=seq, precision=precision, fused=fused)

    def wide(values) -> NDArray:
        full = np.full(len(t), np.nan)
        full[good] = values
        return full

    step_s = wide(found.step_s)
    work = float(flops(shape, batch, seq).model)
    return Picked(
        t,
        good,
        {name: wide(value) for name, value in grouped(found.terms).items()},
        step_s,
        wide(found.held.total_B),
        batch * seq / step_s,
        work / n / step_s / processor.peak[precision],
        processor.hbm_B,
        processor.name,
    )


def why_not(
    shape: "Shape | str",
    gpus: int,
    tensor: int,
    *,
    pipeline: int,
    expert: int,
    micro_batch: int,
    global_batch: int,
    interleave: int = 1,
    seq: int | None = None,
) -> None:
    """Raise the CourseError that says what does not divide, with the nearest that does; return None if all does.

    >>> why_not("gpt3-175b", 1024, 8, pipeline=8, expert=1, micro_batch=1, global_batch=1536)
    >>> try:
    ...     why_not("gpt3-175b", 1024, 8, pipeline=7, expert=1, micro_batch=1, global_batch=1536)
    ... except CourseError as error:
    ...     print(str(error)[:50])
    1024 GPUs do not divide into tensor 8 × pipeline 7
    """
    shape = model(shape)
    seq = shape.seq if seq is None else seq
    layout = Layout(tensor, pipeline, data_of(gpus, tensor, pipeline), expert)
    sequence = tensor > 1 and seq % tensor == 0
    check(
        shape,
        layout,
        micro_batch=micro_batch,
        global_batch=global_batch,
        interleave=interleave,
        seq=seq,
        sequence=sequence,
    )


def crossing(
    system: "System | str", gpus: int, tensor: int, pipeline: int, expert: int = 1, order: str = ORDER
) -> tuple[Span, ...]:
    """Return what the groups of a plan cross (`plan.grid.spans`).

    >>> [(s.axis, s.crosses) for s in crossing("dgx-h100", 64, 16, 2)]
    [('tensor', 'network'), ('pipeline', 'network'), ('data', 'network')]
    """
    return spans(Layout(tensor, pipeline, data_of(gpus, tensor, pipeline), expert, order=order), load(system))
