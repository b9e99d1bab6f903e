"""A pipeline as a timeline: which stage does what, when; bubbles and stored activations are read off it.

Validity: stages of equal work, one operation at a time on a stage, a hand-off that runs beside the computing and
delays only the receiver.
"""

from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _
from course_lib.plan.orders import KINDS, SCHEDULES, Op, Order, parse


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events of one step, in the order in which they were placed; arrays of one length, times in seconds.

    `kind` is "F", "B" or "W". `split` says whether B leaves the weights' part to W.
    """

    p: int
    m: int
    v: int
    split: bool
    stage: np.ndarray
    kind: np.ndarray
    micro: np.ndarray
    chunk: np.ndarray
    start_s: np.ndarray
    end_s: np.ndarray

    @property
    def step_s(self) -> float:
        """From the first start to the last end."""
        return float(self.end_s.max())

    @property
    def busy_s(self) -> np.ndarray:
        """Time that each stage computes, shape (p,)."""
        return np.bincount(self.stage, self.end_s - self.start_s, self.p)

    @property
    def idle_s(self) -> np.ndarray:
        """Bubble of each stage: the step without its computing, shape (p,)."""
        return self.step_s - self.busy_s

    @property
    def bubble_of_ideal(self) -> float:
        """Idle time over the time that the busiest stage computes: (p − 1)/m for GPipe and 1F1B."""
        return self.step_s / float(self.busy_s.max()) - 1

    @property
    def bubble_of_step(self) -> float:
        """Idle time over the whole step: (p − 1)/(m + p − 1) for GPipe and 1F1B."""
        return 1 - float(self.busy_s.max()) / self.step_s


def run(order: object, *, forward_s: float = 1.0, backward_s: float = 2.0, handoff_s: float = 0.0) -> Timeline:
    """Place an order in time: every operation starts when its stage is free and what it needs has arrived.

    `forward_s` and `backward_s` are for one micro-batch on one whole stage; a stage of v chunks takes 1/v of it each.
    Where the order has W, B and W take half the backward time each. `handoff_s` passes between two stages.
    A forward needs the block before it, a backward its own forward and the backward of the block after it, W its B.
    Raises CourseError in words where the order is incomplete or can never run.

    >>> from course_lib.plan.orders import make
    >>> t = run(make("1f1b", 4, 8))
    >>> t.step_s, t.bubble_of_ideal, round(t.bubble_of_step, 4)
    (33.0, 0.375, 0.2727)
    """
    order = parse(order)
    forward_s = finite("forward_s", forward_s, above=0, unit="s")
    backward_s = finite("backward_s", backward_s, above=0, unit="s")
    handoff_s = finite("handoff_s", handoff_s, at_least=0, unit="s")
    p, m, v, split = _complete(order)
    blocks = p * v
    size = m * blocks  # results are numbered kind·size + micro·blocks + block, kinds F, B, W
    duration = (forward_s / v, backward_s / v / (1 + split), backward_s / v / 2)
    work = [
        [((k := KINDS.index(kind)), k * size + micro * blocks + chunk * p + s) for kind, micro, chunk in ops]
        for s, ops in enumerate(order)
    ]
    ends: list[float | None] = [None] * (3 * size)
    sleeper = [-1] * (3 * size)  # the stage that waits for a result
    place, free_s, wire_s = [0] * p, [0.0] * p, handoff_s if p > 1 else 0.0
    codes, starts, finishes = [], [], []
    todo = deque(range(p))
    while todo:
        s = todo.popleft()
        mine, at, free = work[s], place[s], free_s[s]
        while at < len(mine):
            kind, code = mine[at]
            block = code % blocks
            start = free
            # what this work needs: its own earlier result, and that of the neighbouring block
            own = code - size if kind else -1
            other = (code - 1 if block else -1) if kind == 0 else (code + 1 if kind == 1 and block < blocks - 1 else -1)
            if own >= 0:
                end = ends[own]
                if end is None:
                    sleeper[own] = s
                    break
                if end > start:
                    start = end
            if other >= 0:
                end = ends[other]
                if end is None:
                    sleeper[other] = s
                    break
                if end + wire_s > start:
                    start = end + wire_s
            free = ends[code] = start + duration[kind]
            codes.append(code)
            starts.append(start)
            finishes.append(free)
            at += 1
            if sleeper[code] >= 0:
                todo.append(sleeper[code])
        place[s], free_s[s] = at, free
    if sum(place) < sum(map(len, work)):
        raise CourseError(_stuck(order, place, ends, p, v))
    code = np.asarray(codes)
    kind, micro, block = code // size, code % size // blocks, code % blocks
    kinds = np.array(KINDS)[kind]
    return Timeline(p, m, v, split, block % p, kinds, micro, block // p, np.asarray(starts), np.asarray(finishes))


def _complete(order: Order) -> tuple[int, int, int, bool]:
    """Return (p, m, v, split) when every stage has every operation exactly once."""
    p = len(order)
    every = [op for ops in order for op in ops]
    if not every:
        raise CourseError(_("The order holds no operation."))
    m, v = 1 + max(op.micro for op in every), 1 + max(op.chunk for op in every)
    split = any(op.kind == "W" for op in every)
    n = (2 + split) * m * v
    for s, ops in enumerate(order):
        seen = set(ops)
        if len(seen) < len(ops):
            twice = next(op for n, op in enumerate(ops) if op in ops[:n])
            raise CourseError(_("Stage {s} does {op} twice.").format(s=s, op=twice))
        if len(seen) < n:
            # one wrong number can ask for millions of operations: look no further than is shown
            every = (Op(k, i, c) for k in ("FBW" if split else "FB") for i in range(m) for c in range(v))
            missing = list(islice((op for op in every if op not in seen), 5))
            shown = ", ".join(map(str, missing[:4])) + (" …" if len(missing) > 4 else "")
            raise CourseError(
                _(
                    "Stage {s} never does {missing}; a stage does every operation of each micro-batch once (micro-batches: {m})."
                ).format(s=s, missing=shown, m=m)
            )
    return p, m, v, split


def _stuck(order: Order, place: list[int], ends: list, p: int, v: int) -> str:
    """Say which dependency the order breaks: first one that a single stage breaks alone, else the circle."""
    for s, ops in enumerate(order):
        at = {op: n for n, op in enumerate(ops)}
        for op, n in at.items():
            before = {"B": Op("F", op.micro, op.chunk), "W": Op("B", op.micro, op.chunk)}.get(op.kind)
            if before is not None and at[before] > n:
                return _("Stage {s} does {op} before {before}: it needs that result first.").format(
                    s=s, op=op, before=before
                )
    says = []
    for s in range(p):
        if place[s] < len(order[s]):
            op = order[s][place[s]]
            block = op.chunk * p + s
            needed = block - 1 if op.kind == "F" else block + 1
            kind = op.kind
            if kind == "B" and ends[op.micro * p * v + block] is None:
                needed, kind = block, "F"
            says.append(
                _("stage {s} waits with {op} for {need} of stage {other}").format(
                    s=s, op=op, need=Op(kind, op.micro, needed // p), other=needed % p
                )
            )
    return _("The order stops for good: {says}.").format(says=_("; ").join(says[:4]))


def in_flight(timeline: Timeline) -> np.ndarray:
    """Return the most micro-batches whose activations each stage holds at once, shape (p,), read off the timeline.

    A chunk counts as 1/v of a micro-batch. It is held from the start of F to the end of B (of W, where B is split).

    >>> from course_lib.plan.orders import make
    >>> in_flight(run(make("gpipe", 4, 8))).tolist(), in_flight(run(make("1f1b", 4, 8))).tolist()
    ([8.0, 8.0, 8.0, 8.0], [4.0, 3.0, 2.0, 1.0])
    """
    takes, frees = timeline.kind == "F", timeline.kind == ("W" if timeline.split else "B")
    most = np.zeros(timeline.p)
    for s in range(timeline.p):
        mine = timeline.stage == s
        # one stage does one thing at a time, so its events in order of start are its history
        sequence = np.argsort(timeline.start_s[mine], kind="stable")
        held = np.cumsum((takes[mine].astype(int) - frees[mine])[sequence])
        most[s] = held.max() / timeline.v
    return most


def in_flight_formula(schedule: str, p: object, m: object, v: object = 1, stage: object = 0) -> np.ndarray | float:
    """Return what `in_flight` reads off, by the textbook: m for GPipe, min(p − s, m) for 1F1B; broadcasts.

    Interleaved: min(2(p − 1 − s) + (v − 1)p + 1, m·v)/v, on the first stage p(1 + (p − 1)/(p·v)). Zero-bubble
    (ZB-H1): min(p, m) on every stage. Source: Korthikanti et al. 2022, section 4.2; Qi et al. 2023, section 2.

    >>> in_flight_formula("interleaved", 8, 64, 3)
    10.333333333333334
    """
    schedule = one_of(_("schedule"), schedule, SCHEDULES)
    p, m = finite("p", p, at_least=1), finite("m", m, at_least=1)
    v, s = finite("v", v, at_least=1), finite("stage", stage, at_least=0)
    if (np.asarray(s) >= p).any():
        raise CourseError(
            _("There is no stage {s}: they are numbered from 0 to {last}.").format(s=np.max(s), last=np.min(p) - 1)
        )
    if schedule == "gpipe":
        held = m + 0 * s
    elif schedule == "zero-bubble":
        held = np.minimum(p, m) + 0 * s
    else:
        chunks = 2 * (p - 1 - s) + (v - 1) * p + 1
        held = np.where(np.asarray(v) > 1, np.minimum(chunks, m * v) / v, np.minimum(p - s, m))
    return float(held) if np.ndim(held) == 0 else held


@dataclass(frozen=True, slots=True)
class Bubble:
    """The idle share in both conventions; floats or arrays."""

    of_ideal: np.ndarray | float
    of_step: np.ndarray | float


def bubble_formula(schedule: str, p: object, m: object, v: object = 1, *, backward_over_forward: float = 2.0) -> Bubble:
    """Return the textbook bubble: (p − 1)/m of the ideal time and (p − 1)/(m + p − 1) of the step; broadcasts.

    Interleaved: (p − 1)/(v·m) of the ideal time. Zero-bubble (ZB-H1) leaves (p − 1)(F + B − W): with a backward of
    `backward_over_forward` times the forward, split in halves, (p − 1)/((1 + ratio)·m); with m < p only m − 1 of the W fit.
    A B longer than F (ratio above 2) leaves more: the first stage has min(p, m) forwards to do until the first B
    comes back, and waits (p − 1)·B. Hand-offs are free here. Source: Narayanan et al. 2021, section 2.2; Qi et al.
    2023, table 1, which takes B as no longer than F.

    >>> bubble_formula("1f1b", 8, 64)
    Bubble(of_ideal=0.109375, of_step=0.09859154929577464)
    """
    schedule = one_of(_("schedule"), schedule, SCHEDULES)
    p, m, v = finite("p", p, at_least=1), finite("m", m, at_least=1), finite("v", v, at_least=1)
    ratio = finite("backward_over_forward", backward_over_forward, above=0)
    over = (p - 1) / m
    if schedule == "interleaved":
        over = over / v
    elif schedule == "zero-bubble":
        filled = np.minimum(m, p)
        left = (p - 1) * (1 + ratio / 2) - (filled - 1) * ratio / 2
        over = np.maximum(left, p - filled + (p - 1) * ratio / 2) / (m * (1 + ratio))
    return Bubble(of_ideal=over, of_step=over / (1 + over))
