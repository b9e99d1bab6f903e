"""Many training plans at once, as arrays; which are legal; and a sentence with the nearest legal ones for one that is not."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.plan.footprint import layer_params
from course_lib.plan.grid import ORDER, Layout
from course_lib.plan.orders import chunks_for, whole_rounds
from course_lib.plan.shares import nearest, share
from course_lib.plan.transformer import RECOMPUTE, Shape


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans as arrays (n,) of whole numbers; `recompute` counts in `RECOMPUTE`, `sequence` is boolean. `order` is one for all.

    `data` are replicas of everything but experts, as in `plan.grid.Layout`. `micro_batch` sequences make a micro-batch,
    `n_micro` of them a step of each replica.
    """

    tensor: NDArray
    pipeline: NDArray
    data: NDArray
    context: NDArray
    expert: NDArray
    expert_tensor: NDArray
    micro_batch: NDArray
    n_micro: NDArray
    interleave: NDArray
    recompute: NDArray
    zero: NDArray
    sequence: NDArray
    order: str = ORDER

    def __len__(self) -> int:
        """Number of plans."""
        return len(self.tensor)

    @property
    def n_ranks(self) -> NDArray:
        """GPUs of each plan."""
        return self.tensor * self.pipeline * self.data * self.context

    @property
    def expert_data(self) -> NDArray:
        """Replicas of every expert."""
        return self.tensor * self.context * self.data // (self.expert * self.expert_tensor)

    def take(self, chosen) -> "Plans":
        """Return the plans with these indices (or where a mask is true)."""
        return Plans(*(getattr(self, f.name)[chosen] for f in fields(self)[:-1]), self.order)

    def layout(self, i: int = 0) -> Layout:
        """Return the layout of plan `i`."""
        names = ("tensor", "pipeline", "data", "expert", "context", "expert_tensor")
        return Layout(*(int(getattr(self, name)[i]) for name in names), order=self.order)

    def row(self, i: int = 0) -> dict:
        """Return plan `i` as plain numbers and words."""
        found = {f.name: int(getattr(self, f.name)[i]) for f in fields(self)[:-1]}
        found["recompute"] = RECOMPUTE[found["recompute"]]
        found["sequence"] = bool(found["sequence"])
        return found


def one(**values) -> Plans:
    """Return Plans with one plan from numbers, `order` and the word for recomputing.

    >>> one(tensor=8, pipeline=2, data=4, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=8, interleave=1,
    ...     recompute="full", zero=1, sequence=True).n_ranks.tolist()
    [64]
    """
    order = values.pop("order", ORDER)
    values["recompute"] = RECOMPUTE.index(values["recompute"])
    return Plans(**{name: np.array([value]) for name, value in values.items()}, order=order)


def gap_of(shape: Shape, pipeline, interleave=1):
    """Return how many layers fewer the first and last stages hold than the others, or −1 where no split is legal; broadcasts.

    0 where layers divide into stages × chunks. Else 2 where embedding and head, each in the place of a layer, make them
    divide (Llama 3 405B: 126 + 2 layers on 16 stages), or 3 for models that also predict a second token (latent attention).

    >>> from course_lib.plan.transformer import model
    >>> [int(gap_of(model("llama3-405b"), p)) for p in (8, 9, 14, 11)]
    [2, 0, 0, -1]
    """
    parts = np.asarray(pipeline) * np.asarray(interleave)
    found = np.where(shape.n_layers % parts == 0, 0, -1)
    for extra in (2, 3) if shape.kv_rank else (2,):
        ends = (found < 0) & ((shape.n_layers + extra) % parts == 0) & (np.asarray(pipeline) > 1)
        ends &= (shape.n_layers + extra) // np.asarray(pipeline) > extra - 1
        found = np.where(ends, extra, found)
    return found


def check_stages(shape: Shape, pipeline: int, interleave: int = 1) -> None:
    """Refuse stages and chunks that layers do not divide into, with the nearest that they do.

    >>> from course_lib.plan.transformer import model
    >>> check_stages(model("gpt3-175b"), 7 * 5)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 96 layers do not divide into 35 stages. The nearest numbers of stages: 32 or 48.
    """
    if gap_of(shape, pipeline, interleave) >= 0:
        return
    gap = int(gap_of(shape, pipeline))
    if gap > 0:
        each = (shape.n_layers + gap) // pipeline
        choices = _(" or ").join(map(str, sorted(nearest(each, interleave))))
        raise CourseError(
            _(
                "{each} layers of a stage (embedding and head count as one each) do not divide into {v} chunks. The nearest: {choices}."
            ).format(each=each, v=interleave, choices=choices)
        )
    chunks_for(shape.n_layers, pipeline, interleave)


def check(
    shape: Shape,
    layout: Layout,
    *,
    micro_batch: int,
    global_batch: int,
    interleave: int = 1,
    seq: int,
    sequence: bool = True,
) -> int:
    """Return the micro-batches of each replica after checking that everything divides; sentences name the nearest that does.

    >>> from course_lib.plan.transformer import model
    >>> check(model("gpt3-175b"), Layout(tensor=8, pipeline=8, data=16), micro_batch=1, global_batch=1536, seq=2048)
    96
    >>> try:
    ...     check(model("gpt3-175b"), Layout(tensor=8, pipeline=8, data=16), micro_batch=1, global_batch=1000, seq=2048)
    ... except CourseError as error:
    ...     print(str(error)[-33:])
    The nearest batches: 992 or 1008.
    """
    v = whole("interleave", interleave, at_least=1)
    b, batch = (
        whole(name, n, at_least=1) for name, n in (("micro_batch", micro_batch), ("global_batch", global_batch))
    )
    t, c = layout.tensor, layout.context
    layer_params(
        _with_width(shape, t, layout.expert_tensor),
        t,
        layout.expert if shape.n_experts else 1,
        seq=seq // c if sequence and t > 1 and seq % c == 0 else None,
    )
    if layout.expert > 1 and not shape.n_experts:
        layer_params(shape, 1, layout.expert)  # says that there are none
    if shape.n_experts and layout.expert_tensor > 1:
        share(shape.expert_ffn, layout.expert_tensor, what=_("columns of an expert"), by=_("ranks that cut an expert"))
    check_stages(shape, layout.pipeline, v)
    if c > 1 and seq % (2 * c):
        near = nearest(seq // 2, c) if seq % 2 == 0 else [1]
        raise CourseError(
            _(
                "{seq} tokens of a sequence do not divide into 2 × {c} slices, two for each context-parallel rank. "
                "The nearest that do: {choices} context-parallel ranks."
            ).format(seq=seq, c=c, choices=_(" or ").join(map(str, sorted(near))))
        )
    if sequence and t > 1:
        share(seq // c, t, what=_("tokens of a context rank"), by=_("tensor-parallel ranks"))
    if batch % (layout.data * b):
        unit = layout.data * b
        low = batch // unit * unit
        choices = _(" or ").join(str(n) for n in (low, low + unit) if n)
        raise CourseError(
            _(
                "A batch of {batch} does not divide by {d} × {b} (replicas × micro-batch). The nearest batches: {choices}."
            ).format(batch=batch, d=layout.data, b=b, choices=choices)
        )
    n_micro = batch // (layout.data * b)
    if v > 1:
        if layout.pipeline == 1:
            raise CourseError(_("{v} chunks per stage need a pipeline; with one stage use 1.").format(v=v))
        whole_rounds(layout.pipeline, n_micro)
    return n_micro


def check_experts(shape: Shape, tensor: int, context: int, data: int, expert: int, expert_tensor: int = 1) -> None:
    """Refuse experts that do not share out over the ranks of a stage, with the nearest numbers with which all divides.

    >>> from course_lib.plan.transformer import model
    >>> try:
    ...     check_experts(model("mixtral-8x7b"), 1, 1, 12, 8)
    ... except CourseError as error:
    ...     print(str(error)[-23:])
    The nearest that do: 4.
    """
    if not shape.n_experts:
        for ranks in (expert, expert_tensor):
            if whole("expert", ranks, at_least=1) > 1:
                layer_params(shape, 1, int(ranks))  # says that there are none
        return
    names = ("tensor", "context", "data", "expert", "expert_tensor")
    t, c, d, e, k = (
        whole(name, n, at_least=1)
        for name, n in zip(names, (tensor, context, data, expert, expert_tensor), strict=True)
    )
    ranks = t * c * d
    share(
        shape.expert_ffn,
        k,
        what=_("columns of an expert"),
        by=_("ranks that cut an expert"),
        also=lambda n: ranks % n == 0,
    )
    if ranks % k:
        raise CourseError(
            _(
                "{k} ranks that cut an expert do not divide the {n} ranks of a stage. The nearest that do: {choices}."
            ).format(
                k=k,
                n=ranks,
                choices=_(" or ").join(map(str, sorted(nearest(ranks, k, also=lambda n: shape.expert_ffn % n == 0)))),
            )
        )
    share(
        shape.n_experts,
        e,
        what=_("experts"),
        by=_("expert-parallel ranks"),
        also=lambda n: ranks % (n * k) == 0,
    )
    if ranks % (e * k):
        text = _(
            "{e} expert-parallel ranks{cut} do not divide the {n} ranks of a stage (tensor × context × data). "
            "The nearest that do: {choices}."
        )
        choices = sorted(nearest(shape.n_experts, e, also=lambda n: ranks % (n * k) == 0))
        cut = _(" of {k} each").format(k=k) if k > 1 else ""
        raise CourseError(text.format(e=e, cut=cut, n=ranks, choices=_(" or ").join(map(str, choices))))


def _with_width(shape: Shape, tensor: int, expert_tensor: int) -> Shape:
    """The shape whose experts tensor ranks have to cut only where they do."""
    if not shape.n_experts or expert_tensor == tensor:
        return shape
    values = {f.name: getattr(shape, f.name) for f in fields(Shape)}
    values["expert_ffn"] = shape.ffn if shape.ffn % tensor == 0 else shape.expert_ffn * tensor
    return Shape(**values)


def legal(shape: Shape, plans: Plans, *, global_batch: int, seq: int) -> NDArray[np.bool_]:
    """Return (n,) whether each plan divides: the same rules as `check`, for many at once.

    >>> from course_lib.plan.transformer import model
    >>> p = one(tensor=8, pipeline=7, data=1, context=1, expert=1, expert_tensor=1, micro_batch=1, n_micro=8, interleave=1,
    ...         recompute="none", zero=1, sequence=True)
    >>> legal(model("llama3-70b"), p, global_batch=8, seq=8192).tolist()
    [False]
    """
    t, c = plans.tensor, plans.context
    kv = shape.n_heads if shape.kv_rank else shape.n_kv_heads
    good = (shape.n_heads % t == 0) & ((kv % t == 0) | (t % kv == 0)) & (shape.ffn % t == 0)
    if shape.n_experts:
        good &= (shape.n_experts % plans.expert == 0) & (shape.expert_ffn % plans.expert_tensor == 0)
        good &= t * c * plans.data % (plans.expert * plans.expert_tensor) == 0
    else:
        good &= (plans.expert == 1) & (plans.expert_tensor == 1)
    good &= gap_of(shape, plans.pipeline, plans.interleave) >= 0
    good &= (c == 1) | (seq % (2 * c) == 0)
    good &= ~plans.sequence | (t == 1) | (seq // c % t == 0)
    good &= global_batch == plans.data * plans.micro_batch * plans.n_micro
    good &= (plans.interleave == 1) | ((plans.pipeline > 1) & (plans.n_micro % plans.pipeline == 0))
    return good
