"""Data parallel with overlap: gradients leave in buckets while the backward pass still runs; what time stays exposed?

Layers are listed in the order in which the backward pass visits them: the last layer of the model first. One network
carries one bucket after the other, in that order, as `DistributedDataParallel` does (Li et al., VLDB 2020,
arXiv:2006.15704). Computing and sending are taken not to slow each other down; on a GPU the communication kernels do
take a few percent of the processors.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.plan.price import TimeOf, price

FEW = 48  # bucket sizes up to which each is searched by itself


@dataclass(frozen=True, slots=True)
class Overlap:
    """One backward pass and the reduction of its gradients; times in seconds from the start of the backward pass.

    `layer_end_s` (L,): when each layer's gradient is ready. `bucket_of` (L,): its bucket. For the buckets (K,):
    `bucket_B`, and when each is `ready_s`, starts on the network and is finished.
    """

    layer_end_s: np.ndarray
    bucket_of: np.ndarray
    bucket_B: np.ndarray
    ready_s: np.ndarray
    start_s: np.ndarray
    finish_s: np.ndarray
    exposed_s: float

    @property
    def backward_s(self) -> float:
        """Duration of the backward pass alone."""
        return float(self.layer_end_s[-1])

    @property
    def total_s(self) -> float:
        """Backward pass and the communication that sticks out behind it."""
        return self.backward_s + self.exposed_s

    @property
    def communication_s(self) -> float:
        """Time that the network is busy."""
        return float((self.finish_s - self.start_s).sum())


@dataclass(frozen=True, slots=True)
class Event:
    """A bar of a timeline: what happens where, from when to when (seconds)."""

    lane: str
    label: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class BucketSearch:
    """Exposed time for every bucket size that was tried, and the smallest size among the best."""

    bucket_B: np.ndarray
    n_buckets: np.ndarray
    exposed_s: np.ndarray
    best_B: float
    best_exposed_s: float


def _layers(backward_s: object, gradient_B: object) -> tuple[np.ndarray, np.ndarray]:
    durations = np.atleast_1d(finite("backward_s", backward_s, at_least=0, unit="s"))
    sizes = np.atleast_1d(finite("gradient_B", gradient_B, at_least=0, unit="bytes"))
    if durations.ndim != 1 or durations.shape != sizes.shape or durations.size == 0:
        raise CourseError(
            _("backward_s has {durations} entries and gradient_B {sizes}; each layer needs one of both.").format(
                durations=durations.size, sizes=sizes.size
            )
        )
    return durations, sizes


def _closings(
    gradient_B: np.ndarray, bucket_B: np.ndarray, first_bucket_B: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For every layer (rows) and bucket limit (columns): is a bucket closed here, and how many bytes are in it."""
    closed = np.zeros((gradient_B.size, bucket_B.size), dtype=bool)
    carried = np.zeros(closed.shape)
    if bucket_B.size <= FEW:  # arrays of a few numbers are slower than the numbers themselves
        sizes = gradient_B.tolist()
        for column, (limit, first) in enumerate(zip(bucket_B.tolist(), first_bucket_B.tolist())):
            at, filled = _closed_at(sizes, limit, first)
            closed[at, column], carried[at, column] = True, filled
        return closed, carried
    filled, limit = np.zeros(bucket_B.shape), first_bucket_B.astype(float)
    for layer, size in enumerate(gradient_B):
        filled = filled + size
        full = (filled >= limit) if layer < gradient_B.size - 1 else (filled > 0)
        closed[layer], carried[layer] = full, np.where(full, filled, 0.0)
        filled, limit = np.where(full, 0.0, filled), np.where(full, bucket_B, limit)
    return closed, carried


def _closed_at(sizes: list[float], limit: float, first: float) -> tuple[list[int], list[float]]:
    """For one bucket limit: the layers at which a bucket closes, and the bytes in each."""
    at, carried, filled, needed = [], [], 0.0, first
    for layer, size in enumerate(sizes):
        filled += size
        if filled >= needed:
            at.append(layer)
            carried.append(filled)
            filled, needed = 0.0, limit
    if filled > 0:  # what is left when no layer is
        at.append(len(sizes) - 1)
        carried.append(filled)
    return at, carried


def _exposed(closed: np.ndarray, duration_s: np.ndarray, layer_end_s: np.ndarray) -> np.ndarray:
    """Finish − end of backward = max over buckets of (its ready time − end + all that is sent from it on).

    In this form rounding cannot make the answer negative, nor break that it grows with every duration.
    """
    still_to_send = np.cumsum(duration_s[::-1], axis=0)[::-1]
    late = (layer_end_s - layer_end_s[-1])[:, None] + still_to_send
    return np.maximum(np.where(closed, late, 0.0).max(axis=0), 0.0)


def overlap(
    backward_s: object, gradient_B: object, bucket_B: object, time_of: TimeOf, *, first_bucket_B: object = None
) -> Overlap:
    """Return the timeline of a backward pass whose gradients are reduced in buckets.

    `backward_s` and `gradient_B` (L,): duration and gradient bytes of each layer, in the order of the backward pass. A
    bucket closes when it holds at least `bucket_B` bytes (the first: `first_bucket_B`) or when no layer is left; layers
    are not cut, so a bucket can be larger. `time_of(message_B)` prices its all-reduce in seconds: `plan.price.pricer`
    asks `predict`. The exposed time is the last finish minus the end of the backward pass: never negative, and never
    longer on a faster network. Raises CourseError for lists of unequal length, negative times and empty buckets.

    >>> o = overlap([1.0, 1.0, 1.0], [8e9, 8e9, 8e9], 8e9, lambda m: m / 16e9)
    >>> o.start_s.tolist(), o.finish_s.tolist(), o.exposed_s
    ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5], 0.5)
    >>> overlap([1.0, 1.0, 1.0], [8e9, 8e9, 8e9], 24e9, lambda m: m / 16e9).exposed_s
    1.5
    """
    durations, sizes = _layers(backward_s, gradient_B)
    limit = np.array([finite("bucket_B", bucket_B, above=0, unit="bytes")], dtype=float).reshape(1, -1)[0]
    if limit.size != 1:
        raise CourseError(_("bucket_B has {count} entries; `bucket_search` tries many.").format(count=limit.size))
    first = limit if first_bucket_B is None else np.array([finite("first_bucket_B", first_bucket_B, above=0)])
    layer_end_s = np.cumsum(durations)
    closed, carried = _closings(sizes, limit, first)
    at = np.flatnonzero(closed[:, 0])
    bucket_bytes, ready_s = carried[at, 0], layer_end_s[at]
    duration_s = price(time_of, bucket_bytes) if at.size else np.zeros(0)
    start_s, finish_s, free_s = np.zeros(at.size), np.zeros(at.size), 0.0
    for k in range(at.size):
        start_s[k] = max(ready_s[k], free_s)
        free_s = finish_s[k] = start_s[k] + duration_s[k]
    by_layer = np.zeros((sizes.size, 1))
    by_layer[at, 0] = duration_s
    exposed_s = float(_exposed(closed, by_layer, layer_end_s)[0])
    bucket_of = np.minimum(np.searchsorted(at, np.arange(sizes.size)), max(at.size - 1, 0))
    return Overlap(layer_end_s, bucket_of, bucket_bytes, ready_s, start_s, finish_s, exposed_s)


def bucket_search(
    backward_s: object, gradient_B: object, time_of: TimeOf, bucket_B: object = None, *, first_bucket_B: object = None
) -> BucketSearch:
    """Return the exposed time for each bucket size in `bucket_B` (K,) and the smallest of the best sizes.

    Without `bucket_B`, 64 sizes are tried, evenly spaced on a log scale from the smallest layer to all gradients.
    `time_of` is called once, with the sizes of all buckets of all candidates. Arguments, assumptions and errors as in
    `overlap`; with 100 layers a search takes about a millisecond.

    >>> s = bucket_search([1e-3] * 48, [50e6] * 48, lambda m: 3e-4 + m / 60e9)
    >>> f"{s.best_B / 1e6:.0f} MB, {s.best_exposed_s * 1e3:.2f} ms; one bucket: {s.exposed_s[-1] * 1e3:.1f} ms"
    '53 MB, 1.97 ms; one bucket: 40.3 ms'
    """
    durations, sizes = _layers(backward_s, gradient_B)
    if bucket_B is None:
        smallest, total = sizes[sizes > 0].min(initial=np.inf), max(sizes.sum(), 1.0)
        bucket_B = np.geomspace(min(smallest, total), total, 64)
    limits = np.atleast_1d(finite("bucket_B", bucket_B, above=0, unit="bytes")).ravel()
    if limits.size == 0:
        raise CourseError(_("bucket_B is empty; give at least one size to try."))
    first = (
        limits if first_bucket_B is None else np.full(limits.shape, finite("first_bucket_B", first_bucket_B, above=0))
    )
    layer_end_s = np.cumsum(durations)
    closed, carried = _closings(sizes, limits, first)
    duration_s = np.zeros(carried.shape)
    different, place = np.unique(carried[closed], return_inverse=True)
    if different.size:
        duration_s[closed] = price(time_of, different)[place]
    exposed_s = _exposed(closed, duration_s, layer_end_s)
    best = exposed_s.min()
    best_B = float(limits[exposed_s == best].min())
    return BucketSearch(limits, closed.sum(axis=0), exposed_s, best_B, float(best))


@dataclass(frozen=True, slots=True)
class Accumulated:
    """A step of several micro-batches: seconds, and bytes each rank contributes to all-reduces."""

    step_s: float
    exposed_s: float
    reduced_B: float
    reductions: int


def accumulate(
    forward_s: object,
    backward_s: object,
    gradient_B: object,
    bucket_B: object,
    time_of: TimeOf,
    *,
    micro_batches: object,
    deferred: bool,
) -> Accumulated:
    """Return time and traffic of a data-parallel step that adds the gradients of `micro_batches` before it updates.

    `forward_s` is the forward time of one micro-batch, the rest as in `overlap`. Adding up saves traffic only when the
    reduction is put off (`deferred=True`, `no_sync` in PyTorch) to the last micro-batch; otherwise each backward pass
    reduces its gradients and waits for them. `reduced_B` is the sum of the all-reduce messages; a ring sends
    2(n−1)/n of it from each rank.

    >>> kept = dict(micro_batches=4, bucket_B=10.0, time_of=lambda m: m / 10)
    >>> a = accumulate(1.0, [1.0, 1.0], [10.0, 10.0], deferred=False, **kept)
    >>> b = accumulate(1.0, [1.0, 1.0], [10.0, 10.0], deferred=True, **kept)
    >>> a.reduced_B, a.step_s, b.reduced_B, b.step_s
    (80.0, 16.0, 20.0, 13.0)
    """
    micro_batches = whole("micro_batches", micro_batches, at_least=1)
    forward_s = finite("forward_s", forward_s, at_least=0, unit="s")
    once = overlap(backward_s, gradient_B, bucket_B, time_of)
    times = 1 if deferred else micro_batches
    compute_s = micro_batches * (float(forward_s) + once.backward_s)
    reduced_B = times * float(once.bucket_B.sum())
    return Accumulated(compute_s + times * once.exposed_s, times * once.exposed_s, reduced_B, times)
