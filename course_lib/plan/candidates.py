"""Every legal plan of a model on a number of GPUs, as arrays: what a search prices, and what a misfit is offered."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.plan.grid import ORDER
from course_lib.plan.plans import Plans, gap_of, legal
from course_lib.plan.shares import divisors
from course_lib.plan.transformer import RECOMPUTE, Shape


def layouts(
    shape: Shape,
    gpus: int,
    *,
    global_batch: int,
    seq: int,
    max_tensor: int | None = None,
    contexts: Sequence[int] = (1,),
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (tensor, pipeline, context, data) whose product is `gpus` and into which heads, layers, tokens and batch divide.

    >>> from course_lib.plan.transformer import model
    >>> list(layouts(model("llama3-8b"), 3, global_batch=8, seq=8192)), len(list(layouts(model("llama3-8b"), 4, global_batch=8, seq=8192)))
    ([], 6)
    """
    kv = shape.n_heads if shape.kv_rank else shape.n_kv_heads
    tensors = [
        t
        for t in divisors(gpus)
        if shape.n_heads % t == 0 and (kv % t == 0 or t % kv == 0) and t <= (max_tensor or t) and shape.ffn % t == 0
    ]
    stages = [p for p in divisors(gpus) if p <= shape.n_layers + 3 and int(gap_of(shape, p)) >= 0]
    for t, p, c in itertools.product(tensors, stages, contexts):
        if gpus % (t * p * c) or (c > 1 and seq % (2 * c)):
            continue
        d = gpus // (t * p * c)
        if global_batch % d == 0:
            yield t, p, c, d


def nearest_gpus(shape: Shape, gpus: int, within: int = 512, **options) -> list[int]:
    """Return the nearest numbers of GPUs below and above `gpus` that have a plan, as far as `within`; options as `layouts`.

    >>> from course_lib.plan.transformer import model
    >>> nearest_gpus(model("llama3-8b"), 7, global_batch=8, seq=8192)
    [4, 8]
    """
    found = []
    for numbers in (range(gpus - 1, max(gpus - within, 0), -1), range(gpus + 1, gpus + within)):
        found += list(itertools.islice((n for n in numbers if next(layouts(shape, n, **options), None)), 1))
    return found


def candidates(
    shape: Shape,
    gpus: int,
    *,
    global_batch: int,
    seq: int,
    max_tensor: int | None = None,
    contexts: Sequence[int] = (1,),
    zeros: Sequence[int] = (0, 1, 2, 3),
    recomputes: Sequence[str] = RECOMPUTE,
    order: str = ORDER,
) -> Plans:
    """Return every legal plan on exactly `gpus` GPUs as arrays; heads, layers, experts, tokens and batch divide.

    With one replica ZeRO has nothing to share out: only stage 0 is listed. Chunks need a pipeline.

    >>> from course_lib.plan.transformer import model
    >>> found = candidates(model("llama3-8b"), 8, global_batch=64, seq=8192)
    >>> len(found) > 100, set(found.n_ranks.tolist())
    (True, {8})
    """
    blocks = []
    for t, p, c, d in layouts(
        shape, gpus, global_batch=global_batch, seq=seq, max_tensor=max_tensor, contexts=contexts
    ):
        chunks = [1]
        if p > 1:
            each = (shape.n_layers + max(int(gap_of(shape, p)), 0)) // p
            chunks += [v for v in divisors(each) if v > 1 and int(gap_of(shape, p, v)) >= 0]
        spread = [(1, 1)]
        if shape.n_experts:
            ranks = t * c * d
            cuts = sorted({1, t}) if shape.expert_ffn % t == 0 else [1]
            spread = [(e, k) for e in divisors(shape.n_experts) for k in cuts if ranks % (e * k) == 0]
        stagesof = [z for z in zeros if z == 0 or d * c > 1] or [0]
        codes = [RECOMPUTE.index(word) for word in recomputes]
        for b in divisors(global_batch // d):
            m = global_batch // d // b
            kept = [v for v in chunks if v == 1 or m % p == 0]
            block = np.array(list(itertools.product(kept, codes, stagesof, spread_index(spread))), np.int32)
            sizes = np.array(spread, np.int32)[block[:, 3]]
            fixed = np.broadcast_to(np.array([t, p, d, c, b, m], np.int32), (len(block), 6))
            blocks.append(np.concatenate([fixed, sizes, block[:, :3]], axis=1))
    if not blocks:
        text = _("No plan divides: {gpus} GPUs, {layers} layers, {heads} heads, a batch of {batch} sequences.").format(
            gpus=gpus, layers=shape.n_layers, heads=shape.n_heads, batch=global_batch
        )
        near = nearest_gpus(shape, gpus, global_batch=global_batch, seq=seq, max_tensor=max_tensor, contexts=contexts)
        if near:
            text += " " + _("The nearest numbers of GPUs with plans: {near}.").format(
                near=_(" or ").join(map(str, near))
            )
        raise CourseError(text)
    t, p, d, c, b, m, e, k, v, r, z = np.concatenate(blocks).T.astype(np.int64)
    sequence = (t > 1) & (seq // c % t == 0)
    found = Plans(t, p, d, c, e, k, b, m, v, r, z, sequence, order)
    return found.take(legal(shape, found, global_batch=global_batch, seq=seq))


def spread_index(spread: Sequence) -> range:
    """Places of a list, to combine with other choices.

    >>> list(spread_index("ab"))
    [0, 1]
    """
    return range(len(spread))
