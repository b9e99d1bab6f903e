"""Question 12.q3: the collectives of a token."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Case, Misconception, Question


def token(
    layers: int,
    hidden: int,
    params_GB: float,
    readers: int,
    context: int,
    tensor: int,
    latency_us: float,
    rate_GBps: float,
    memory_GBps: float,
) -> dict[str, float]:
    """Return the all-reduces of a decoding step, the bytes of one, their µs in all, and their share of the step.

    >>> found = token(80, 8192, 70.0, 64, 4096, 8, 30.0, 400.0, 3350.0)
    >>> found["all-reduces"], round(found["bytes"] / 2**20), round(found["share"], 2)
    (160, 1, 0.68)
    """
    return _token(layers, hidden, params_GB, readers, context, tensor, latency_us, rate_GBps, memory_GBps)


def _token(
    layers,
    hidden,
    params_GB,
    readers,
    context,
    tensor,
    latency_us,
    rate_GBps,
    memory_GBps,
    *,
    per_layer: int = 2,
    element_B: float = 2.0,
    tokens: Callable[[int, int, int], float] = lambda readers, context, tensor: readers,
    read: Callable[[float, int], float] = lambda params_GB, tensor: params_GB / tensor,
    bus: Callable[[int], float] = lambda t: 2 * (t - 1) / t,
) -> dict[str, float]:
    count = per_layer * layers if tensor > 1 else 0
    size = tokens(readers, context, tensor) * hidden * element_B
    talk_us = count * (latency_us + bus(tensor) * size / rate_GBps / 1e3)
    read_us = read(params_GB, tensor) / memory_GBps * 1e6
    return {"all-reduces": count, "bytes": size, "communication": talk_us, "share": talk_us / (talk_us + read_us)}


def _token_cases(rng: np.random.Generator) -> list[Case]:
    names = ("layers", "hidden", "params_GB", "readers", "context", "tensor", "latency_us", "rate_GBps", "memory_GBps")
    rows = [
        (80, 8192, 70.0, 1, 1, 1, 30.0, 400.0, 3350.0),
        (80, 8192, 70.0, 1, 4096, 2, 30.0, 400.0, 3350.0),
        (80, 8192, 70.0, 64, 4096, 8, 30.0, 400.0, 3350.0),
        (126, 16384, 405.0, 256, 8192, 16, 60.0, 45.0, 3350.0),
    ]
    rows += [
        (
            int(rng.integers(24, 130)),
            int(128 * rng.integers(16, 140)),
            float(rng.integers(5, 400)),
            int(2 ** rng.integers(1, 10)),
            int(1024 * rng.integers(2, 32)),
            int(2 ** rng.integers(1, 6)),
            float(rng.integers(10, 80)),
            float(rng.choice([25.0, 45.0, 300.0, 400.0, 700.0])),
            float(rng.choice([2000.0, 3350.0, 4800.0, 8000.0])),
        )
        for _unused in range(6)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _wrong_token(**change: object) -> Callable[..., dict]:
    return lambda **given: _token(**given, **change)


q3 = Question(
    id="12.q3",
    title=_("Communication of one decoding step"),
    points=3,
    answer="token",
    kind="function",
    expects=Entries(
        {
            "all-reduces": Number(whole=True),
            "bytes": Number("B"),
            "communication": Number("µs"),
            "share": Number(tolerance=0.005),
        },
        each=False,
    ),
    inputs=_token_cases,
    reference=token,
    withholds=("course_lib.plan.serving", "course_lib.plan.traffic", "course_lib.explorers.lesson12"),
    misconceptions=(
        Misconception(
            "bandwidth only",
            lambda **given: _token(**given | {"latency_us": 0.0}),
            _(
                "You count bytes only. In decoding the messages are small, and the latency of each all-reduce "
                "is most of the time."
            ),
        ),
        Misconception(
            "the count of training",
            _wrong_token(per_layer=4),
            _("You count four all-reduces a layer. That is training: decoding has no backward pass, so two."),
        ),
        Misconception(
            "one a layer",
            _wrong_token(per_layer=1),
            _("You count one all-reduce a layer. Attention ends in one and the MLP in another."),
        ),
        Misconception(
            "the context travels",
            _wrong_token(tokens=lambda readers, context, tensor: readers * context),
            _(
                "You send the activations of the whole context. Its keys and values are cached where they are; "
                "one token of each request travels."
            ),
        ),
        Misconception(
            "a message cut by the ranks",
            _wrong_token(tokens=lambda readers, context, tensor: readers / tensor),
            _("You divide the message by the ranks. Every rank has a partial sum of the full width."),
        ),
        Misconception(
            "four bytes a number",
            _wrong_token(element_B=4.0),
            _("You take four bytes a number. Activations travel in BF16, two bytes."),
        ),
        Misconception(
            "one byte a number",
            _wrong_token(element_B=1.0),
            _("You take one byte a number, as if activations were weights in 8 bits. They travel in BF16, two bytes."),
        ),
        Misconception(
            "one reader's message",
            _wrong_token(tokens=lambda readers, context, tensor: 1),
            _("You send the activations of one reader. A step has a token of each of them, in one message."),
        ),
        Misconception(
            "weights read for each reader",
            lambda **given: _token(**given | {"params_GB": given["params_GB"] * given["readers"]}),
            _("You read the weights once for each reader. A step reads them once for all: that is why servers batch."),
        ),
        Misconception(
            "every rank reads the whole model",
            _wrong_token(read=lambda params_GB, tensor: params_GB),
            _("You let each GPU read all weights. Each holds and reads its slice."),
        ),
        Misconception(
            "a share of the reading",
            lambda **given: (lambda d: d | {"share": d["share"] / (1 - d["share"])})(_token(**given)),
            _("You divide communication by reading. Its share is of both together."),
        ),
        Misconception(
            "one rank talks to itself",
            lambda **given: _token(**given) | {"all-reduces": 2 * given["layers"]},
            _("You count all-reduces on one rank. There is nobody to add with."),
        ),
        Misconception(
            "half of a ring",
            _wrong_token(bus=lambda t: (t - 1) / t),
            _("You send (t − 1)/t of the message. An all-reduce sends it twice: 2(t − 1)/t."),
        ),
        Misconception(
            "a latency for each step of a ring",
            lambda **given: _token(**given | {"latency_us": given["latency_us"] * max(1, 2 * (given["tensor"] - 1))}),
            _("You pay the latency in every step of a ring. It is that of a whole all-reduce here."),
        ),
    ),
)
