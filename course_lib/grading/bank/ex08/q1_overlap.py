"""Question 08.q1: a scheduler of overlap."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex08.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import sharding

CLOSE = Number("s", tolerance=1e-6, near_zero=1e-12)


def exposed_s(
    backward_s: Sequence[float], gradient_B: Sequence[float], bucket_B: float, latency_s: float, rate_Bps: float
) -> float:
    """Return the time from the end of the backward pass to the end of the last bucket, by the library's scheduler.

    >>> exposed_s([1.0, 1.0, 2.0], [3e9, 3e9, 3e9], 1.0, 0.5, 3e9)
    1.5
    """
    return sharding.overlap(backward_s, gradient_B, bucket_B, lambda m: latency_s + m / rate_Bps).exposed_s


def at_every_rate(
    function: Callable,
    backward_s: Sequence[float],
    gradient_B: Sequence[float],
    bucket_B: float,
    latency_s: float,
    rates_Bps: Sequence[float],
) -> list[float]:
    """Return what a scheduler answers on ever faster networks, everything else the same.

    >>> at_every_rate(exposed_s, [1.0], [1e9], 1.0, 0.0, [1e9, 2e9])
    [1.0, 0.5]
    """
    return [function(list(backward_s), list(gradient_B), bucket_B, latency_s, rate) for rate in rates_Bps]


def _overlap_cases(rng: np.random.Generator) -> list[Case]:
    names = ("backward_s", "gradient_B", "bucket_B", "latency_s", "rates_Bps")
    rates = [1e9, 3e9, 1e10, 1e12]
    rows = [
        ([1.0], [1e9], 1e9, 0.5, rates),
        ([1.0, 1.0, 2.0], [3e9, 3e9, 3e9], 1.0, 0.5, rates),
        ([1.0, 1.0, 2.0], [3e9, 3e9, 3e9], 6e9, 0.5, rates),
        ([1.0, 1.0, 2.0], [3e9, 3e9, 3e9], 1e12, 0.5, rates),
        ([1.0, 2.0, 0.0], [2e9, 0.0, 5e9], 2e9, 0.0, rates),
        ([0.0, 4.0, 1.0, 1.0], [4e9, 1e9, 1e9, 1e9], 2e9, 0.1, rates),
    ]
    for _unused in range(6):
        n = int(rng.integers(4, 14))
        sizes = 10 ** rng.uniform(6, 9, n)
        spent = rng.uniform(1e-3, 2e-2, n)
        bucket = float(10 ** rng.uniform(6, 9.3))
        middle = float(sizes.sum() / spent.sum())
        rows.append(
            (
                spent.tolist(),
                sizes.tolist(),
                bucket,
                float(10 ** rng.uniform(-5, -3)),
                [middle * f for f in (0.2, 0.7, 1.5, 6.0)],
            )
        )
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _judge_overlap(answer: Sequence[float], **inputs: object) -> str:
    rates = [f"{rate / 1e9:.4g}" for rate in inputs["rates_Bps"]]
    for rate, given in zip(rates, answer, strict=True):
        if given < 0:
            return _("at {rate} GB/s you expose {given} s: a time that sticks out cannot be negative.").format(
                rate=rate, given=f"{given:.6g}"
            )
    if any(b > a * (1 + 1e-9) + 1e-12 for a, b in pairwise(answer)):
        return _("a faster network exposes more with you; it never does.")
    for rate, given, due in zip(rates, answer, at_every_rate(exposed_s, **inputs), strict=True):
        if not CLOSE.agrees(given, due):
            return _("at {rate} GB/s you expose {given} s, and it is {due} s.").format(
                rate=rate, given=f"{given:.6g}", due=f"{due:.6g}"
            )
    return ""


def scheduler(way: str = "") -> Callable[..., float]:
    """Return a scheduler as a learner writes it, right or with a mistake."""

    def exposed(
        backward_s: list[float], gradient_B: list[float], bucket_B: float, latency_s: float, rate_Bps: float
    ) -> float:
        if way == "last layer first":
            backward_s, gradient_B = backward_s[::-1], gradient_B[::-1]
        if way == "all at the end":
            return latency_s + sum(gradient_B) / rate_Bps
        bucket_B = 0.0 if way == "no buckets" else bucket_B
        latency_s = 0.0 if way == "no latency" else latency_s
        now = free = held = sent = 0.0
        for i, (spent, size) in enumerate(zip(backward_s, gradient_B, strict=True)):
            begun, now, held = now, now + spent, held + size
            full = held > bucket_B if way == "more than full" else held >= bucket_B
            if full or (i == len(gradient_B) - 1 and held > 0 and way != "rest lost"):
                takes = latency_s + held / rate_Bps
                start = {"no queue": now, "no queue, last": now, "too early": max(begun, free)}.get(way, max(now, free))
                free = max(free, start + takes) if way == "no queue" else start + takes
                held, sent = 0.0, sent + takes
        if way == "an empty bucket" and not held:
            free = max(now, free) + latency_s
        if way == "difference of sums":
            return sent - now
        if way == "clipped difference":
            return max(sent - now, 0.0)
        if way == "no overlap":
            return sent
        if way == "from the start":
            return free
        return max(free - now, 0.0)

    return exposed


def _played(way: str) -> Callable[..., list[float]]:
    return lambda **inputs: at_every_rate(scheduler(way), **inputs)


_OVERLAP_MISTAKES = (
    (
        "no queue",
        _(
            "You let every bucket start when it is ready. The network carries one at a time: a bucket also waits for it."
        ),
    ),
    (
        "no queue, last",  # the same with the end of the last bucket in place of the latest end
        _(
            "You start a bucket whatever the network still carries. It carries one at a time: a bucket also waits for it."
        ),
    ),
    (
        "clipped difference",
        _("You take communication minus computing. The last bucket is ready when nothing is left to hide it behind."),
    ),
    (
        "difference of sums",
        _(
            "You subtract all computing from all communication, which goes below zero. Buckets wait until they are ready."
        ),
    ),
    (
        "no overlap",
        _("You expose all of the communication. Buckets that are ready early travel while layers still compute."),
    ),
    ("too early", _("You start a bucket when its last layer starts. Its gradient is ready when that layer has ended.")),
    (
        "rest lost",
        _("You forget the gradients that are left in the last bucket when it is not full. They are sent at the end."),
    ),
    (
        "an empty bucket",
        _("You send a last bucket with nothing in it. Where the last layer closed one, nothing is left to send."),
    ),
    ("from the start", _("You count from the beginning. What is exposed begins where the backward pass ends.")),
    ("no latency", _("Your buckets take bytes over rate only. Each pays latency_s, too.")),
    ("no buckets", _("You send every gradient by itself. Gradients collect until a bucket holds bucket_B bytes.")),
    ("all at the end", _("You send everything at once, when all is computed. A full bucket may leave before that.")),
    ("more than full", _("Your buckets wait for more than bucket_B bytes. With that many they are closed.")),
    (
        "last layer first",
        _("You turn the lists round. They are in the order in which the backward pass visits the layers."),
    ),
)

q1 = Question(
    id="08.q1",
    title=_("A scheduler of overlap"),
    points=3,
    answer="exposed_s",
    kind="function",
    expects=CLOSE,
    inputs=_overlap_cases,
    reference=lambda **inputs: at_every_rate(exposed_s, **inputs),
    accept=_judge_overlap,
    driver=at_every_rate,
    written=scheduler(),
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, _played(name), sentence, written=scheduler(name)) for name, sentence in _OVERLAP_MISTAKES
    ),
)
