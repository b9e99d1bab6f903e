"""Judge a pipeline order that somebody wrote: can it run, does it hold no more than 1F1B, is it as fast?"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.units import say_share
from course_lib.plan.orders import make, parse
from course_lib.plan.pipeline import Timeline, in_flight, run


@dataclass(frozen=True, slots=True)
class Review:
    """The verdict and the sentence that gives its reason; `timeline` is None where the order cannot run."""

    accepted: bool
    reason: str
    timeline: Timeline | None = None


def review(order: object, p: int, m: int, *, like: str = "1f1b", v: int = 1) -> Review:
    """Accept an order for p stages and m micro-batches when it keeps what the schedule `like` promises, else say why not.

    Asked in turn: has every stage each operation once; can it run; does any stage hold more micro-batches than `like`
    does; does the step last longer (forward 1, backward 2, free hand-offs). Any order that passes is right: it need
    not be the same list. Wrong p or m raise CourseError; a wrong order does not, it is refused in words.

    >>> review(["F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2"], 2, 3).accepted
    True
    >>> review(["F0 F1 F2 B0 B1 B2", "F0 B0 F1 B1 F2 B2"], 2, 3).reason
    'Stage 0 holds the activations of 3 micro-batches at once; 1f1b holds 2.'
    """
    p, m, v = whole("p", p, at_least=1), whole("m", m, at_least=1), whole("v", v, at_least=1)
    model = run(make(like, p, m, v))
    try:
        stages = parse(order)
        if len(stages) != p:
            return Review(
                False, _("A list for each stage is expected; lists: {n}, stages: {p}.").format(n=len(stages), p=p)
            )
        highest = 1 + max((op.micro for ops in stages for op in ops), default=-1)
        if highest > m:
            return Review(
                False,
                _("Micro-batch {i} does not exist: they are numbered from 0 to {last}.").format(
                    i=highest - 1, last=m - 1
                ),
            )
        timeline = run(stages)
    except CourseError as error:
        return Review(False, str(error))
    if (timeline.m, timeline.v, timeline.split) != (m, v, model.split):
        return Review(
            False,
            _("The order's micro-batches are {m} and its chunks {v}{split}; asked were {wm} and {wv}{wsplit}.").format(
                m=timeline.m,
                v=timeline.v,
                split=_(" with split backward") if timeline.split else "",
                wm=m,
                wv=v,
                wsplit=_(" with split backward") if model.split else "",
            ),
            timeline,
        )
    held, limit = in_flight(timeline), in_flight(model)
    over = np.flatnonzero(held > limit + 1e-9)
    if over.size:
        s = int(over[0])
        return Review(
            False,
            _("Stage {s} holds the activations of {held:g} micro-batches at once; {like} holds {limit:g}.").format(
                s=s, held=held[s], like=like, limit=limit[s]
            ),
            timeline,
        )
    if timeline.step_s > model.step_s * (1 + 1e-9):
        return Review(
            False,
            _("It runs, but the step lasts {t:g} where {like} needs {best:g} (forward 1, backward 2).").format(
                t=timeline.step_s, like=like, best=model.step_s
            ),
            timeline,
        )
    return Review(
        True,
        _("Accepted: step {t:g}, bubble {b} of the step; micro-batches that a stage holds at most: {h:g}.").format(
            t=timeline.step_s, b=say_share(timeline.bubble_of_step, 1), h=held.max()
        ),
        timeline,
    )
