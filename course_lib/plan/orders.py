"""Pipeline orders: in which order each stage takes its forward and backward work, one list per stage.

An operation is (kind, micro-batch, chunk): kind "F" forward, "B" backward, "W" the weights' part of a backward that
was split. Chunk c of stage s holds block number c·p + s of p·v blocks, so chunk 0 of all stages comes before chunk 1.
"""

import re
from typing import NamedTuple

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.plan.shares import nearest

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero-bubble")
KINDS = ("F", "B", "W")
MOST = 2_000_000  # operations in one order; more are a slip of the pen


class Op(NamedTuple):
    """One piece of work of a stage."""

    kind: str
    micro: int
    chunk: int = 0

    def __str__(self) -> str:
        """F3, or F3.1 for chunk 1."""
        return f"{self.kind}{self.micro}" + (f".{self.chunk}" if self.chunk else "")


Order = list[list[Op]]


def _sizes(p: object, m: object, v: object = 1) -> tuple[int, int, int]:
    p, m, v = whole("p", p, at_least=1), whole("m", m, at_least=1), whole("v", v, at_least=1)
    if 2 * p * m * v > MOST:
        raise CourseError(
            _("Stages × micro-batches × chunks, {p} × {m} × {v}, make {n:,} operations, more than {most:,}.").format(
                p=p, m=m, v=v, n=2 * p * m * v, most=MOST
            )
        )
    return p, m, v


def gpipe(p: int, m: int) -> Order:
    """Return GPipe's order: every stage does all m forward passes, then all m backward passes.

    Source: Huang et al. 2019, arXiv:1811.06965.

    >>> " ".join(map(str, gpipe(2, 3)[1]))
    'F0 F1 F2 B0 B1 B2'
    """
    p, m, _one = _sizes(p, m)
    return [[Op("F", i) for i in range(m)] + [Op("B", i) for i in range(m)] for _s in range(p)]


def one_forward_one_backward(p: int, m: int) -> Order:
    """Return 1F1B: stage s starts with p − 1 − s forward passes, then alternates, then drains.

    Source: Narayanan et al. 2021, figure 4 above, arXiv:2104.04473.

    >>> " ".join(map(str, one_forward_one_backward(3, 4)[0]))
    'F0 F1 F2 B0 F3 B1 B2 B3'
    """
    p, m, _one = _sizes(p, m)
    return [_alternate(m, min(p - 1 - s, m), lambda k: Op("F", k), lambda k: Op("B", k)) for s in range(p)]


def _alternate(total: int, warmup: int, forward, backward) -> list[Op]:
    """`warmup` forwards, then one forward and one backward in turn, then the backwards that are left."""
    ops = [forward(k) for k in range(warmup)]
    for k in range(total - warmup):
        ops += [forward(warmup + k), backward(k)]
    return ops + [backward(k) for k in range(total - warmup, total)]


def whole_rounds(p: int, m: int) -> None:
    """Refuse micro-batches that are no multiple of the stages: interleaving takes them in groups of p.

    >>> whole_rounds(4, 8)
    """
    if m % p:
        low = m // p * p
        choices = _("{a} or {b}").format(a=low, b=low + p) if low else str(p)
        raise CourseError(
            _(
                "The interleaved order needs micro-batches in multiples of {p} stages, not {m}. The nearest: {choices}."
            ).format(p=p, m=m, choices=choices)
        )


def interleaved(p: int, m: int, v: int) -> Order:
    """Return the interleaved order with v chunks per stage: micro-batches go round in groups of p.

    m has to divide by p (Narayanan et al. 2021, section 2.2); else CourseError names the nearest that do.

    >>> " ".join(map(str, interleaved(2, 2, 2)[1]))
    'F0 F1 F0.1 B0.1 F1.1 B1.1 B0 B1'
    >>> interleaved(4, 6, 2)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: The interleaved order needs micro-batches in multiples of 4 stages, not 6. The nearest: 4 or 8.
    """
    p, m, v = _sizes(p, m, v)
    whole_rounds(p, m)

    def op(kind: str, k: int) -> Op:
        chunk = k % (p * v) // p
        return Op(kind, k // (p * v) * p + k % p, chunk if kind == "F" else v - 1 - chunk)

    rounds = []
    for s in range(p):
        warmup = (p - 1 - s) * 2 + (v - 1) * p if v > 1 else p - 1 - s
        rounds.append(_alternate(m * v, min(warmup, m * v), lambda k: op("F", k), lambda k: op("B", k)))
    return rounds


def zero_bubble(p: int, m: int) -> Order:
    """Return ZB-H1: 1F1B with the backward pass split; stage s puts off the weights' part by s micro-batches.

    The weights' part (W) waits for nobody, so it fills the gaps at the end; memory stays that of 1F1B's first stage.
    Source: Qi et al. 2023, arXiv:2401.10241, figure 3.

    >>> " ".join(map(str, zero_bubble(3, 4)[2]))
    'F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3'
    """
    p, m, _one = _sizes(p, m)
    order = []
    for s, ops in enumerate(one_forward_one_backward(p, m)):
        mine, done = [], 0
        for op in ops:
            mine.append(op)
            if op.kind == "B" and op.micro >= s:
                mine.append(Op("W", done))
                done += 1
        order.append(mine + [Op("W", k) for k in range(done, m)])
    return order


def make(schedule: str, p: int, m: int, v: int = 1) -> Order:
    """Return an order by name: "gpipe", "1f1b", "interleaved" or "zero-bubble" with p stages, m micro-batches, v chunks.

    Only "interleaved" has chunks; v above 1 with another raises CourseError.

    >>> make("1f1b", 2, 1)
    [[Op(kind='F', micro=0, chunk=0), Op(kind='B', micro=0, chunk=0)], [Op(kind='F', micro=0, chunk=0), Op(kind='B', micro=0, chunk=0)]]
    """
    schedule = one_of(_("schedule"), schedule, SCHEDULES)
    if schedule == "interleaved":
        return interleaved(p, m, v)
    if whole("v", v, at_least=1) > 1:
        raise CourseError(
            _('{schedule} has one chunk per stage; {v} chunks are for "interleaved".').format(schedule=schedule, v=v)
        )
    return {"gpipe": gpipe, "1f1b": one_forward_one_backward, "zero-bubble": zero_bubble}[schedule](p, m)


def parse(order: object) -> Order:
    """Read an order as people write it: one list (or one text) per stage of "F0", "B0", "F0.1" or ("F", 0, 1).

    Raises CourseError that names the stage, the place and what was found there.

    >>> parse(["F0 B0"])
    [[Op(kind='F', micro=0, chunk=0), Op(kind='B', micro=0, chunk=0)]]
    >>> parse([["F0", "X0"]])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: Stage 0, place 1: 'X0' is no operation; write kind and micro-batch: F3, or F3.1 for chunk 1.
    """
    if not isinstance(order, (list, tuple)) or not order:
        raise CourseError(_("An order is a list with one list of operations for each stage."))
    stages = []
    for s, ops in enumerate(order):
        ops = ops.split() if isinstance(ops, str) else ops
        if not isinstance(ops, (list, tuple)):
            raise CourseError(_("Stage {s}: {ops!r} is no list of operations.").format(s=s, ops=ops))
        stages.append([_parse_op(op, s, place) for place, op in enumerate(ops)])
    return stages


def _parse_op(op: object, stage: int, place: int) -> Op:
    if type(op) is Op and op.kind in KINDS and type(op.micro) is int is type(op.chunk) and min(op.micro, op.chunk) >= 0:
        return op
    if isinstance(op, str):
        match = re.fullmatch(r"\s*([FBWfbw])\s*(\d{1,9})(?:\.(\d{1,9}))?\s*", op, re.ASCII)
        if match:
            return Op(match[1].upper(), int(match[2]), int(match[3] or 0))
    elif isinstance(op, (tuple, list)) and 2 <= len(op) <= 3 and isinstance(op[0], str) and op[0].upper() in KINDS:
        numbers = [whole(_("micro-batch or chunk"), n, at_least=0) for n in op[1:]]
        return Op(op[0].upper(), *numbers)
    raise CourseError(
        _(
            "Stage {s}, place {place}: {op!r} is no operation; write kind and micro-batch: F3, or F3.1 for chunk 1."
        ).format(s=stage, place=place, op=op)
    )


def chunks_for(n_layers: int, p: int, v: int = 1) -> int:
    """Return the layers of one chunk when `n_layers` go to p stages of v chunks; they have to divide.

    >>> chunks_for(96, 8, 3)
    4
    >>> chunks_for(80, 12)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 80 layers do not divide into 12 stages. The nearest numbers of stages: 10 or 16.
    """
    n_layers, p, v = whole("n_layers", n_layers, at_least=1), whole("p", p, at_least=1), whole("v", v, at_least=1)
    if n_layers % p:
        choices = _(" or ").join(map(str, sorted(nearest(n_layers, p))))
        raise CourseError(
            _("{n} layers do not divide into {p} stages. The nearest numbers of stages: {choices}.").format(
                n=n_layers, p=p, choices=choices
            )
        )
    if n_layers // p % v:
        choices = _(" or ").join(map(str, sorted(nearest(n_layers // p, v))))
        raise CourseError(
            _("{each} layers of a stage do not divide into {v} chunks. The nearest: {choices}.").format(
                each=n_layers // p, v=v, choices=choices
            )
        )
    return n_layers // p // v
