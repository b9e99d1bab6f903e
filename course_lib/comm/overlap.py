"""Overlap: any schedule in a pipeline; the message goes in pieces, each one repeat behind the one before it."""

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.schedule import MAX_TRANSFERS, Schedule, blocks_of
from course_lib.comm.step import Step


def overlap(schedule: Schedule, pieces: int) -> Schedule:
    """Return the same collective in `pieces` pieces: one step in which piece q does in repeat k what all did in repeat k − q.

    Parts of an algorithm that use different links then work at the same time: repeats + pieces − 1 repeats, and in the long
    run the fullest link is always busy. Where ranks own shards, every shard is cut into pieces.

    Errors: CourseError for a number of pieces that is none, or too many transfers.

    >>> from course_lib.comm import hierarchical, ring
    >>> slow = hierarchical.all_reduce(ring.reduce_scatter(4), ring.all_reduce(3), ring.all_gather(4))
    >>> slow.repeats, len(slow.steps), overlap(slow, 16).repeats, len(overlap(slow, 16).steps)
    (10, 4, 25, 1)
    """
    pieces = whole("pieces", pieces, at_least=1)
    n_transfers = schedule.n_transfers
    if n_transfers > MAX_TRANSFERS >> 4:
        raise CourseError(_("{n} transfers are too many to be put in a pipeline.").format(n=n_transfers))
    if not n_transfers:
        return schedule
    share = schedule.chunks // blocks_of(schedule.op, schedule.n_ranks)  # chunks that stay side by side
    columns, begin = [], 0
    for step in schedule.steps:
        for k in range(step.repeats):
            which = step.active(k)
            if which.size:
                ends = step.src[which], step.dst[which], step.reduce[which]
                columns += _cut(step.chunk_at(k, which), step.width[which], step.window, share, ends, begin + k)
        begin += step.repeats
    src, dst, reduce, chunk, width, first = (np.concatenate(c) for c in zip(*columns, strict=True))
    long = share * pieces
    step = Step(
        src, dst, chunk // share * long + chunk % share, reduce, width, first, pieces, shift=share, window=long
    )  # fmt: skip
    s = schedule
    return Schedule(
        s.op, s.n_ranks, s.n_nodes, s.chunks * pieces, (step,), s.name, s.root, s.switch_rank, s.switch_level
    )  # fmt: skip


def _cut(chunk, width, window: int, share: int, ends: tuple, repeat: int) -> list[tuple]:
    """Return the transfers of a repeat, cut where they run over the end of their block or of a share."""
    found = []
    while chunk.size:
        room = np.minimum(window - chunk % window, share - chunk % share)
        now = np.minimum(width, room)
        found.append((*ends, chunk, now, np.full(chunk.size, repeat)))
        more = np.flatnonzero(width > now)
        block = chunk[more] // window * window
        chunk = block + (chunk[more] - block + now[more]) % window
        width, ends = width[more] - now[more], tuple(end[more] for end in ends)
    return found
