"""Question 09.q7: the bandwidth at which a codec breaks even."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.breakeven import break_even_Bps

GB, MS = 1e9, 1e-3


def break_even_GBps(dense_GB: float, packet_GB: float, encode_ms: float, decode_ms: float, n_ranks: int) -> float:
    """Return the bandwidth below which gathered packets pay against a dense all-reduce; 0 where they never do."""
    sent = 2 * (n_ranks - 1) / n_ranks * dense_GB * GB, (n_ranks - 1) * packet_GB * GB
    return break_even_Bps(*sent, (encode_ms + n_ranks * decode_ms) * MS) / GB


def _other(sent: Any, codec_ms: Any) -> Any:
    def model(dense_GB: float, packet_GB: float, encode_ms: float, decode_ms: float, n_ranks: int) -> float:
        saved_GB = sent(dense_GB, packet_GB, n_ranks)
        return max(saved_GB, 0.0) / (codec_ms(encode_ms, decode_ms, n_ranks) * MS)

    return model


def _right_bytes(dense_GB: float, packet_GB: float, n: int) -> float:
    return 2 * (n - 1) / n * dense_GB - (n - 1) * packet_GB


def _right_ms(encode_ms: float, decode_ms: float, n: int) -> float:
    return encode_ms + n * decode_ms


def _even_cases(rng: np.random.Generator) -> list[Case]:
    names = ("dense_GB", "packet_GB", "encode_ms", "decode_ms", "n_ranks")
    rows = [(4.0, 0.08, 50.0, 5.0, 2), (4.0, 0.08, 50.0, 5.0, 8), (4.0, 0.08, 50.0, 5.0, 64), (1.0, 1.0, 10.0, 1.0, 4)]
    rows += [
        (
            round(float(rng.uniform(0.5, 20)), 2),
            round(float(rng.uniform(0.01, 0.3)), 3),
            round(float(rng.uniform(1, 200)), 1),
            round(float(rng.uniform(0.5, 40)), 1),
            int(rng.integers(2, 17)),
        )
        for _i in range(8)
    ]
    return [
        Case(dict(zip(names, row)), "pays somewhere" if break_even_GBps(*row) > 0 else "never pays") for row in rows
    ]


q7 = Question(
    id="09.q7",
    title=_("The break-even bandwidth"),
    points=2,
    answer="break_even_GBps",
    kind="function",
    expects=Number("GB/s"),
    inputs=_even_cases,
    reference=break_even_GBps,
    withholds=("course_lib.plan.breakeven", "course_lib.plan.codecsteps"),
    misconceptions=(
        Misconception(
            "sizes instead of bytes sent",
            _other(lambda dense_GB, packet_GB, n: dense_GB - packet_GB, _right_ms),
            _("You compare the sizes of gradient and packet. A rank sends 2(n − 1)/n gradients, or n − 1 packets."),
        ),
        Misconception(
            "one packet decoded",
            _other(_right_bytes, lambda encode_ms, decode_ms, n: encode_ms + decode_ms),
            _("You decode one packet. After an all-gather a rank holds n packets and decodes each."),
        ),
        Misconception(
            "decoding is free",
            _other(_right_bytes, lambda encode_ms, decode_ms, n: encode_ms),
            _("You leave decoding out. Nothing can be updated before the packets are unpacked."),
        ),
        Misconception(
            "negative bandwidth",
            lambda dense_GB, packet_GB, encode_ms, decode_ms, n_ranks: (
                _right_bytes(dense_GB, packet_GB, n_ranks) / (_right_ms(encode_ms, decode_ms, n_ranks) * MS)
            ),
            _(
                "A bandwidth cannot be below zero. Where the packets have more bytes than the gradient it never pays: return 0."
            ),
        ),
        Misconception(
            "own packet not decoded",
            _other(_right_bytes, lambda encode_ms, decode_ms, n: encode_ms + (n - 1) * decode_ms),
            _("You decode n − 1 packets. Each rank decodes all n, its own among them."),
        ),
        Misconception(
            "encoded by all in turn",
            _other(_right_bytes, lambda encode_ms, decode_ms, n: n * (encode_ms + decode_ms)),
            _("You encode n times. Each rank encodes its own gradient once, all at the same time."),
        ),
        Misconception(
            "one packet sent",
            _other(lambda dense_GB, packet_GB, n: 2 * (n - 1) / n * dense_GB - packet_GB, _right_ms),
            _("You send one packet. In an all-gather a rank passes on n − 1 of them."),
        ),
        Misconception(
            "its own packet, too",
            _other(lambda dense_GB, packet_GB, n: 2 * (n - 1) / n * dense_GB - n * packet_GB, _right_ms),
            _("You count n packets. In an all-gather a rank passes on n − 1: the last one need go no further."),
        ),
        Misconception(
            "packets for shards",
            _other(lambda dense_GB, packet_GB, n: (n - 1) / n * (2 * dense_GB - packet_GB), _right_ms),
            _(
                "You gather packets as shards, (n − 1)/n of one. Each is a whole message: a rank passes on n − 1 of them."
            ),
        ),
        Misconception(
            "as if packets could be added",
            _other(lambda dense_GB, packet_GB, n: 2 * (n - 1) / n * (dense_GB - packet_GB), _right_ms),
            _("You send packets as an all-reduce would. They are gathered: n − 1 whole packets."),
        ),
        Misconception(
            "dense one way",
            _other(lambda dense_GB, packet_GB, n: (n - 1) / n * dense_GB - (n - 1) * packet_GB, _right_ms),
            _("Your dense all-reduce sends half of what it does. It is a reduce-scatter and an all-gather."),
        ),
        Misconception(
            "dense as large as the gradient",
            _other(lambda dense_GB, packet_GB, n: dense_GB - (n - 1) * packet_GB, _right_ms),
            _("You let the dense all-reduce send the gradient once. A rank sends 2(n − 1)/n of it."),
        ),
        Misconception(
            "turned round",
            lambda *numbers, **named: 1 / right if (right := break_even_GBps(*numbers, **named)) else 0.0,
            _("You divide time by bytes. A bandwidth is bytes over time."),
        ),
    ),
)
