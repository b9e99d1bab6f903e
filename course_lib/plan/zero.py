"""ZeRO and FSDP: what each rank sends per step, and how fetching parameters ahead hides the all-gathers.

Volumes are counted in units of (n−1)/n · parameters · bytes, which is what a ring reduce-scatter or all-gather of the
whole model sends from each rank; an all-reduce is two units. Source: Rajbhandari et al., SC 2020, arXiv:1910.02054,
section 7; Zhao et al. (FSDP), arXiv:2304.11277.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.price import TimeOf, price
from course_lib.plan.sharding import Event

SCHEMES = ("ddp", "zero1", "zero2", "zero3")
_SPELLINGS = {"zero-0": "ddp", "zero0": "ddp", "zero-1": "zero1", "zero-2": "zero2", "zero-3": "zero3", "fsdp": "zero3"}


@dataclass(frozen=True, slots=True)
class Volume:
    """Whole-model collectives in one step, and the bytes each rank sends for them (one direction)."""

    scheme: str
    all_reduces: int
    reduce_scatters: int
    all_gathers: int
    sent_B: float

    @property
    def units(self) -> int:
        """Sent per rank in units of (n−1)/n · parameters · bytes."""
        return 2 * self.all_reduces + self.reduce_scatters + self.all_gathers


def scheme_of(name: object) -> str:
    """Return "ddp", "zero1", "zero2" or "zero3" for any usual spelling (FSDP is "zero3"), or raise a CourseError.

    >>> scheme_of("FSDP"), scheme_of("ZeRO-2")
    ('zero3', 'zero2')
    """
    asked = str(name).lower().replace("_", "-").strip()
    return one_of("sharding scheme", _SPELLINGS.get(asked, name), SCHEMES)


def volume(
    scheme: str,
    parameters: object,
    n_ranks: object,
    *,
    bytes_each: object = 2,
    micro_batches: object = 1,
    deferred: bool = True,
) -> Volume:
    """Return what a step of `micro_batches` sends per rank under a sharding scheme.

    `parameters`: their number; `bytes_each`: bytes per parameter and per gradient on the wire. With `deferred` the
    gradients of the micro-batches are added on the rank and reduced once; ZeRO-2 and ZeRO-3 then hold whole gradients
    and lose that part of their saving. Per step, in units, with k micro-batches:

    | scheme | parts kept by a rank | deferred | not deferred |
    |---|---|---|---|
    | ddp | nothing is split: all-reduce | 2 | 2k |
    | zero1 | optimizer state: reduce-scatter, all-gather of new parameters | 2 | k + 1 |
    | zero2 | and gradients | 2 | k + 1 |
    | zero3 | and parameters: gathered forward and again backward | 2k + 1 | 3k |

    Raises CourseError for unknown schemes and for counts that are not whole.

    >>> volume("zero3", 7.5e9, 64).sent_B / volume("ddp", 7.5e9, 64).sent_B
    1.5
    >>> [volume(s, 1e9, 8, micro_batches=4, deferred=False).units for s in SCHEMES]
    [8, 5, 5, 12]
    """
    scheme = scheme_of(scheme)
    n_ranks = whole("n_ranks", n_ranks, at_least=1)
    k = whole("micro_batches", micro_batches, at_least=1)
    size_B = whole("parameters", parameters, at_least=0) * float(finite("bytes_each", bytes_each, above=0))
    reductions = 1 if deferred else k
    counts = {
        "ddp": (reductions, 0, 0),
        "zero1": (0, reductions, 1),
        "zero2": (0, reductions, 1),
        "zero3": (0, reductions, 2 * k),
    }[scheme]
    units = 2 * counts[0] + counts[1] + counts[2]
    return Volume(scheme, *counts, units * size_B * (n_ranks - 1) / n_ranks)


@dataclass(frozen=True, slots=True)
class ShardedStep:
    """Forward and backward pass of a model whose parameters are sharded; seconds from the start.

    Rows are the 2L computations (L layers forward, then backward from the last): when the parameters of each are
    `gathered_s`, and when it starts and ends. `scatter_end_s` (L,): when the gradients of layer 0 … L−1 are reduced.
    `held_B`: most bytes of gathered parameters held at one time.
    """

    gather_start_s: np.ndarray
    gathered_s: np.ndarray
    start_s: np.ndarray
    end_s: np.ndarray
    scatter_start_s: np.ndarray
    scatter_end_s: np.ndarray
    step_s: float
    exposed_s: float
    held_B: float


def sharded_step(
    forward_s: object,
    backward_s: object,
    parameter_B: object,
    gather_time_of: TimeOf,
    scatter_time_of: TimeOf,
    *,
    prefetch: object = 1,
) -> ShardedStep:
    """Return the timeline of one ZeRO-3 (FSDP) step.

    `forward_s`, `backward_s`, `parameter_B` (L,): per layer, in forward order; `parameter_B` is the whole layer, which
    is also the message size of its all-gather and reduce-scatter. The two functions price them (`plan.price.pricer`).
    `prefetch` is how many layers ahead may be gathered: 0 asks for a layer when the one before has ended, d asks when
    the computation d places before it starts. Parameters are dropped after each use. One network serves requests in
    the order made; a gather that is asked for ahead goes before the reduce-scatter of the running layer. Exposed time
    is the step minus all computing. Raises CourseError for lists of unequal length and negative values.

    >>> late, ahead = (sharded_step([1.0] * 4, [2.0] * 4, [8.0] * 4, lambda m: m / 10, lambda m: m / 10, prefetch=d)
    ...                for d in (0, 1))
    >>> f"{late.exposed_s:.1f} {ahead.exposed_s:.1f} {late.held_B:.0f} {ahead.held_B:.0f}"
    '9.6 1.6 8 16'
    """
    forward, backward, sizes = (
        np.atleast_1d(finite(name, value, at_least=0))
        for name, value in (("forward_s", forward_s), ("backward_s", backward_s), ("parameter_B", parameter_B))
    )
    if forward.ndim != 1 or not forward.shape == backward.shape == sizes.shape or forward.size == 0:
        raise CourseError(
            _(
                "forward_s, backward_s and parameter_B have {a}, {b} and {c} entries; each layer needs all three."
            ).format(a=forward.size, b=backward.size, c=sizes.size)
        )
    prefetch = whole("prefetch", prefetch, at_least=0)
    n_layers = forward.size
    layer = np.concatenate([np.arange(n_layers), np.arange(n_layers)[::-1]])
    compute_s = np.concatenate([forward, backward[::-1]])
    gather_s, scatter_s = price(gather_time_of, sizes)[layer], price(scatter_time_of, sizes)
    n, layers = 2 * n_layers, layer.tolist()
    gather_start, gathered, start, end = ([0.0] * n for _unused in range(4))
    scatter_start, scatter_end = [0.0] * n_layers, [0.0] * n_layers
    takes, computes, scatters = gather_s.tolist(), compute_s.tolist(), scatter_s.tolist()
    network_free = previous_end = 0.0
    next_gather = 0

    def ask_up_to(last: int, now: float) -> None:
        nonlocal next_gather, network_free
        while next_gather <= min(last, n - 1):
            gather_start[next_gather] = max(now, network_free)
            network_free = gathered[next_gather] = gather_start[next_gather] + takes[next_gather]
            next_gather += 1

    for task in range(n):
        ask_up_to(task, previous_end)  # on demand, if nobody asked for it ahead
        start[task] = max(previous_end, gathered[task])
        ask_up_to(task + prefetch, start[task])
        previous_end = end[task] = start[task] + computes[task]
        if task >= n_layers:
            scatter_start[layers[task]] = max(previous_end, network_free)
            network_free = scatter_end[layers[task]] = scatter_start[layers[task]] + scatters[layers[task]]
    step_s = max(previous_end, network_free)
    gather_start, gathered, start, end = (np.array(column) for column in (gather_start, gathered, start, end))
    # from the moment it is asked for to the end of its use a layer is held: count when each computation starts
    held_B = float((((gather_start <= start[:, None]) & (end > start[:, None])) @ sizes[layer]).max())
    exposed_s = max(step_s - float(compute_s.sum()), 0.0)
    scatter_start, scatter_end = np.array(scatter_start), np.array(scatter_end)
    return ShardedStep(gather_start, gathered, start, end, scatter_start, scatter_end, step_s, exposed_s, held_B)


def sharded_events(timeline: ShardedStep) -> tuple[Event, ...]:
    """Return the bars of the step for a figure: lanes "compute", "all-gather" and "reduce-scatter".

    >>> t = sharded_step([1], [2], [4], lambda m: m, lambda m: m)
    >>> [(e.lane, e.label) for e in sharded_events(t)][:2]
    [('all-gather', 'layer 1 forward'), ('compute', 'layer 1 forward')]
    """
    n_layers = len(timeline.scatter_end_s)
    bars = []
    for task in range(2 * n_layers):
        forward = task < n_layers
        number = task + 1 if forward else 2 * n_layers - task
        label = (_("layer {number} forward") if forward else _("layer {number} backward")).format(number=number)
        gather = (float(timeline.gather_start_s[task]), float(timeline.gathered_s[task]))
        bars.append(Event("all-gather", label, *gather))
        bars.append(Event("compute", label, float(timeline.start_s[task]), float(timeline.end_s[task])))
        if not forward:
            scatter = (float(timeline.scatter_start_s[number - 1]), float(timeline.scatter_end_s[number - 1]))
            bars.append(Event("reduce-scatter", label, *scatter))
    return tuple(bars)
