"""Question 11.q5: models that a measurement excludes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Listing, Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

MODELS = ("one card", "ring", "serial", "overlapped")
BOXES = ("boxes", "per_box", "message_B", "nvlink_GBps", "card_GBps", "measured_ms")


def _judge(
    boxes: int,
    per_box: int,
    message_B: float,
    nvlink_GBps: float,
    card_GBps: float,
    measured_ms: float,
    *,
    cards: int | None = None,
    gather: float = 2,
    ring_cards: int | None = None,
    of_all: bool = False,
    shard: int | None = None,
    turned: bool = False,
) -> dict[str, Any]:
    n, c, s = boxes * per_box, cards or per_box, shard or per_box
    ring = 2 * (n - 1) / n * message_B / (card_GBps * 1e6)
    twins = n if of_all else boxes
    between = 2 * (twins - 1) / twins * message_B / s / (card_GBps * 1e6) * (per_box / c)
    inside = (per_box - 1) / per_box * message_B / (nvlink_GBps * 1e6)
    times = (ring, ring / (ring_cards or c), gather * inside + between, between)
    out = [name for name, t in zip(MODELS, times, strict=True) if (t < measured_ms if turned else t > measured_ms)]
    return dict(zip(MODELS, times, strict=True)) | {"excluded": out}


def judge(
    boxes: int, per_box: int, message_B: float, nvlink_GBps: float, card_GBps: float, measured_ms: float
) -> dict[str, Any]:
    """Return the least ms of four models of an all-reduce, and the names of those that the measurement excludes.

    >>> judge(2, 8, 2**32, 900, 50, 11.95)["excluded"]
    ['one card', 'ring', 'serial']
    """
    return _judge(boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms)


def _judge_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (4, 8, 2.0**32, 900.0, 50.0, 22.05, "four boxes of eight"),
        (2, 8, 2.0**32, 900.0, 50.0, 11.95, "two boxes of eight"),
        (4, 8, 2.0**32, 900.0, 50.0, 200.0, "others"),
        (4, 8, 2.0**32, 900.0, 50.0, 10.0, "others"),
        (16, 4, 2.0**28, 300.0, 25.0, 30.0, "others"),
    ]
    while len(rows) < 11:
        row = (
            int(rng.choice([2, 3, 4, 8])),
            int(rng.choice([4, 8])),
            float(2 ** int(rng.integers(24, 35))),
            float(rng.choice([300.0, 450.0, 900.0])),
            float(rng.choice([12.5, 25.0, 50.0])),
        )
        found = _judge(*row, 1.0)
        if found["serial"] > 2 * found["overlapped"]:
            continue  # NVLink would be the slower part, and "only the cards count" would not be the least time
        times = sorted(t for t in _judge(*row, 1.0).values() if isinstance(t, float))
        k = int(rng.integers(0, 3))
        rows.append((*row, float(f"{math.sqrt(times[k] * times[k + 1]):.4g}"), "others"))
    return [Case(dict(zip(BOXES, row[:6], strict=True)), row[6]) for row in rows]


def _judging(**options: Any) -> Callable[..., dict[str, Any]]:
    return lambda boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms: _judge(
        boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms, **options
    )


q5 = Question(
    id="11.q5",
    title=_("Four models against a measurement"),
    points=3,
    answer="judge",
    kind="function",
    expects=Entries(
        {name: Number("ms", tolerance=0.005) for name in MODELS} | {"excluded": Listing(Choice(MODELS), ordered=False)},
        each=False,
    ),
    inputs=_judge_cases,
    reference=judge,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one network card per host",
            _judging(cards=1),
            _(
                "You let a box send over one network card. It has a card for every GPU, and all of them send at the same time."
            ),
        ),
        Misconception(
            "rings over one card",
            _judging(ring_cards=1),
            _(
                "Your ring over all cards still leaves a box over one. There are as many rings as cards, each with its part of the message."
            ),
        ),
        Misconception(
            "a shard's ring over all GPUs",
            _judging(of_all=True),
            _("You add a shard up over all GPUs. Its ring has one GPU of each box: 2(k − 1)/k of a shard for k boxes."),
        ),
        Misconception(
            "excluded the wrong way",
            _judging(turned=True),
            _(
                "You exclude models that are quicker than the measurement. These are least times: a real one may be longer, never shorter."
            ),
        ),
        Misconception(
            "no way back inside",
            _judging(gather=1),
            _(
                "You leave out the all-gather. After the boxes have added up, every GPU of a box still needs the other shards."
            ),
        ),
        Misconception(
            "a shard on the way back",
            lambda boxes, per_box, *rest, **named: _judge(boxes, per_box, *rest, **named, gather=1 + 1 / per_box),
            _(
                "Your all-gather moves a shard. It begins with shards and ends with the whole message in every GPU: "
                "(per_box − 1)/per_box of it."
            ),
        ),
        Misconception(
            "the whole message between boxes",
            _judging(shard=1),
            _(
                "You send the whole message over every card. After the reduce-scatter a GPU holds one shard, message/per_box."
            ),
        ),
    ),
)
