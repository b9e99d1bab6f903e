"""Question 02.q3: a thousand small messages, or one large one."""

from itertools import product
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import GB, KB, US
from course_lib.grading.answers import Choice, Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.links.alphabeta import many_s, time_s


def _pair(small_us: float, large_us: float) -> tuple[float, float, str]:
    return float(small_us), float(large_us), "small" if small_us <= large_us else "large"


def two_ways(
    count: int, message_KB: float, latency_us: float, bandwidth_GBps: float, pack_GBps: float
) -> tuple[float, float, str]:
    """Return the time in µs of `count` small messages, that of packing them and sending one large one, and which is faster."""
    small_s = many_s(message_KB * KB, count, latency_us * US, bandwidth_GBps * GB)
    large_s = count * message_KB * KB / (pack_GBps * GB) + time_s(
        count * message_KB * KB, latency_us * US, bandwidth_GBps * GB
    )
    return _pair(small_s / US, large_s / US)


def _as_times(*wrong):
    """Return a recogniser of the two times of `wrong` models; where they are equal, either word follows from them."""

    def recognise(given, **case):
        for model in wrong:
            small_us, large_us, faster = model(**case)
            near = abs(small_us - large_us) <= 1e-9 * large_us
            words = ("small", "large") if near else (faster,)
            if any(q3.expects.same(given, (small_us, large_us, word)) for word in words):
                return True
        return False

    return recognise


def _bytes_only(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    return two_ways(count, message_KB, 0, bandwidth_GBps, pack_GBps)


def _bytes_only_unpacked(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us = two_ways(count, message_KB, 0, bandwidth_GBps, pack_GBps)[0]
    return _pair(small_us, small_us)


def _one_latency(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us - (count - 1) * latency_us, large_us)


def _packing_free(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us - count * message_KB / pack_GBps)


def _every_latency(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us + (count - 1) * latency_us)


def _turned(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return small_us, large_us, "large" if faster == "small" else "small"


def _exchanged(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return large_us, small_us, faster


def _packing_overlaps(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)[0]
    return _pair(small_us, latency_us + count * message_KB / min(pack_GBps, bandwidth_GBps))


def _copied_twice(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us + count * message_KB / pack_GBps)


def _never_sent(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us - count * message_KB / bandwidth_GBps)


def _large_without_latency(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    small_us, large_us, _faster = two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps)
    return _pair(small_us, large_us - latency_us)


def _bytes_of_one(large_too: bool, packed_too: bool, small_too: bool):
    """Return the model that takes one message's bytes for all: in the small messages, in the large one, in its packing."""

    def wrong(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
        all_KB = count * message_KB
        sent, packed, small = (message_KB if too else all_KB for too in (large_too, packed_too, small_too))
        return _pair(
            count * latency_us + small / bandwidth_GBps, packed / pack_GBps + latency_us + sent / bandwidth_GBps
        )

    return wrong


def _sending_cases(rng: np.random.Generator) -> list[Case]:
    names = ("count", "message_KB", "latency_us", "bandwidth_GBps", "pack_GBps")
    rows: list[tuple[Any, ...]] = [
        (1, 1.0, 2.0, 400.0, 1000.0),
        (1000, 1.0, 2.0, 400.0, 1000.0),
        (2, 10000.0, 2.0, 50.0, 100.0),
        (1000, 0.0, 2.0, 400.0, 1000.0),
        (100, 64.0, 0.0, 50.0, 500.0),
        (1000000, 0.004, 1.5, 12.5, 200.0),
    ]
    while len(rows) < 16:
        count, message_KB = int(2 ** rng.integers(1, 15)), round(float(np.exp(rng.uniform(-4, 9))), 3)
        link = round(float(rng.uniform(0.5, 20)), 2), round(float(rng.uniform(10, 800)), 1)
        row = (count, message_KB, *link, round(float(rng.uniform(100, 2000)), 0))
        small_us, large_us, _faster = two_ways(*row)
        if abs(small_us / large_us - 1) > 0.05:
            rows.append(row)
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q3 = Question(
    id="02.q3",
    title=_("A thousand small messages or one large one"),
    points=3,
    answer="two_ways",
    kind="function",
    expects=Listing((Number("µs"), Number("µs"), Choice(("small", "large")))),
    inputs=_sending_cases,
    reference=two_ways,
    withholds=("course_lib.links.alphabeta",),
    misconceptions=(
        Misconception(
            "bandwidth only",
            _bytes_only,
            _(
                "You count bytes over bandwidth and no latency. Then a thousand messages cost no more than one, and none do."
            ),
            recognise=_as_times(_bytes_only, _bytes_only_unpacked),
        ),
        Misconception(
            "latency once",
            _one_latency,
            _("You count the latency of the small messages once. They go one after the other: each one waits."),
            recognise=_as_times(_one_latency),
        ),
        Misconception(
            "packing is free",
            _packing_free,
            _("You send the large message without packing it first. Copying all its bytes together takes time, too."),
            recognise=_as_times(_packing_free),
        ),
        Misconception(
            "latency of every small message in the large one",
            _every_latency,
            _("Your large message pays one latency for each small one in it. It is one message: it waits once."),
            recognise=_as_times(_every_latency),
        ),
        Misconception(
            "the word turned round",
            _turned,
            _("Your times are right, and the word is turned round: the faster way is the one that takes less time."),
        ),
        Misconception(
            "the two times exchanged",
            _exchanged,
            _("Your two times are exchanged: first that of the small messages, then that of the large one."),
        ),
        Misconception(
            "packing while sending",
            _packing_overlaps,
            _(
                "You let packing and sending go on at the same time. The large message leaves when all of it lies in the buffer."
            ),
            recognise=_as_times(_packing_overlaps),
        ),
        Misconception(
            "copied twice",
            _copied_twice,
            _("You copy the bytes twice. They are packed once; the receiver reads the buffer as it lies."),
            recognise=_as_times(_copied_twice),
        ),
        Misconception(
            "packed and never sent",
            _never_sent,
            _("You pack the large message and do not send it. Its bytes still have to cross the link."),
            recognise=_as_times(_never_sent),
        ),
        Misconception(
            "no latency for the large one",
            _large_without_latency,
            _("Your large message does not wait. It is one message, and pays the latency once."),
            recognise=_as_times(_large_without_latency),
        ),
        Misconception(
            "the bytes of one message",
            _bytes_of_one(True, True, True),
            _("You count the bytes of one message. There are count of them, and all their bytes are packed and sent."),
            recognise=_as_times(*(_bytes_of_one(*parts) for parts in product((True, False), repeat=3) if any(parts))),
        ),
    ),
)
