"""Exercise 09, fewer bits: round, scale a loss, add in narrow types, send the top k, and say when it pays."""

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number, Truth
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.breakeven import break_even_Bps, messages
from course_lib.plan.codecs import Dense, TopK
from course_lib.plan.smallmodel import Shape, batches, first_weights, loss_and_gradient, make_task, mean_loss

GB, MS = 1e9, 1e-3
EXACT = Number(tolerance=1e-9)

# q1: rounding --------------------------------------------------------------------------------------------------------


def _cut(x: float, mantissa_bits: int, way: Any) -> float:
    if x == 0:
        return 0.0
    step = 2.0 ** (np.frexp(x)[1] - 1 - mantissa_bits)  # frexp gives m·2^e with m in [1/2, 1)
    return float(way(x / step) * step)


def round_bits(x: float, mantissa_bits: int) -> float:
    """Return `x` with this many mantissa bits after the leading one, to nearest, ties to even; the exponent has no bounds."""
    return _cut(x, mantissa_bits, np.rint)


def _up(x: float) -> float:
    return float(np.copysign(np.floor(abs(x) + 0.5), x))


def _round_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(0.0, 7), (1.0, 7), (-257.0, 7), (1 / 3, 3), (1e-9, 10), (-0.1, 2)]
    rows += [
        (float(np.ldexp(rng.uniform(-1, 1), int(rng.integers(-30, 30)))), int(rng.integers(1, 12))) for _i in range(12)
    ]
    ties = [(257.0, 7), (259.0, 7), (-2.5, 1), (1.125, 2), (1.375, 2)]
    return [Case({"x": x, "mantissa_bits": b}, "to nearest") for x, b in rows] + [
        Case({"x": x, "mantissa_bits": b}, "ties to even") for x, b in ties
    ]  # fmt: skip


q1 = Question(
    id="09.q1",
    title=_("Round to a few bits"),
    points=2,
    answer="round_bits",
    kind="function",
    expects=EXACT,
    inputs=_round_cases,
    reference=round_bits,
    withholds=("course_lib.plan.precision",),
    misconceptions=(
        Misconception(
            "cut off",
            lambda x, mantissa_bits: _cut(x, mantissa_bits, np.trunc),
            _("You cut the rest off. Rounding goes to the nearest value, up as often as down."),
        ),
        Misconception(
            "leading one counted",
            lambda x, mantissa_bits: round_bits(x, mantissa_bits - 1),
            _("You count the leading one among the mantissa bits. It is not stored: there is one bit more than that."),
        ),
        Misconception(
            "ties away from zero",
            lambda x, mantissa_bits: _cut(x, mantissa_bits, _up),
            _("Your ties go away from zero. A value half-way between two goes to the one whose last bit is even."),
        ),
        Misconception(
            "steps of the same size everywhere",
            lambda x, mantissa_bits: float(np.rint(x * 2**mantissa_bits) / 2**mantissa_bits),
            _(
                "You round to steps of the same size everywhere, as a fixed point does. The step follows the exponent of x."
            ),
        ),
    ),
)

# q2: loss scaling ----------------------------------------------------------------------------------------------------


def _half(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


def _answer(values: np.ndarray, skip: bool) -> dict[str, Any]:
    return {"gradient": np.zeros_like(values) if skip else values, "skip": bool(skip)}


def through_fp16(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    """Return the gradient that arrives from a backward pass in FP16 under a loss scale, and whether the step is skipped."""
    narrow = _half(np.asarray(gradient) * scale)
    skip = not np.isfinite(narrow).all()
    return _answer(np.where(np.isfinite(narrow), narrow, 0.0) / scale, skip)


def _late(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    narrow = _half(gradient)
    return _answer(np.where(np.isfinite(narrow), narrow, 0.0), not np.isfinite(narrow).all())


def _not_divided(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    found = through_fp16(gradient, scale)
    return _answer(found["gradient"] * scale, found["skip"])


def _divided_in_half(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    found = through_fp16(gradient, scale)
    return _answer(_half(found["gradient"]), found["skip"])


def _clipped(gradient: np.ndarray, scale: float) -> dict[str, Any]:
    return _answer(np.clip(_half(np.clip(np.asarray(gradient) * scale, -65504, 65504)), -65504, 65504) / scale, False)


def _scale_cases(rng: np.random.Generator) -> list[Case]:
    def drawn(low: float, high: float) -> np.ndarray:
        size = int(rng.integers(3, 9))
        return np.array([float(f"{v:.4g}") for v in 10 ** rng.uniform(low, high, size) * rng.choice([-1, 1], size)])

    small = [(np.array([1e-8, -3e-6, 0.0]), 1.0), (np.array([2e-9, 5e-7, -4e-8]), 65536.0)]
    small += [(drawn(-9, -5), float(2.0 ** rng.integers(8, 17))) for _i in range(5)]
    large = [(np.array([1.0, 2.0]), 65536.0), (np.array([70000.0, 1e-3]), 1.0)]
    large += [(np.append(drawn(-6, -3), 3.0), float(2.0 ** rng.integers(16, 21))) for _i in range(3)]
    return [Case({"gradient": g, "scale": s}, "small gradients") for g, s in small] + [
        Case({"gradient": g, "scale": s}, "overflow") for g, s in large
    ]  # fmt: skip


q2 = Question(
    id="09.q2",
    title=_("Loss scaling"),
    points=2,
    answer="through_fp16",
    kind="function",
    expects=Entries({"gradient": Number(tolerance=1e-9, near_zero=1e-30), "skip": Truth()}, each=False),
    inputs=_scale_cases,
    reference=through_fp16,
    withholds=("course_lib.plan.precision", "course_lib.plan.lossscale"),
    misconceptions=(
        Misconception(
            "scaled after rounding",
            _late,
            _(
                "You round first and scale later. What has become zero stays zero: the scale has to act before FP16 does."
            ),
        ),
        Misconception(
            "not divided again",
            _not_divided,
            _("Your gradient is still multiplied by the scale. The update needs the true one: divide again."),
        ),
        Misconception(
            "divided in FP16",
            _divided_in_half,
            _("You divide in FP16, and the small values vanish after all. Divide in a wider type."),
        ),
        Misconception(
            "overflow clipped",
            _clipped,
            _(
                "You clip what overflows to the largest value. That is a wrong gradient; the step has to be skipped instead."
            ),
        ),
    ),
)

# q3: sums in BF16 and in FP32 ----------------------------------------------------------------------------------------


def _bf16(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def _chain(rows: np.ndarray, cast: Any) -> np.ndarray:
    total = rows[0]
    for row in rows[1:]:
        total = cast(total + row)
    return total


def ring_sums(rows: np.ndarray) -> dict[str, Any]:
    """Return the sum of all rows kept in BF16 and kept in FP32, added in order, and the bytes that a rank sends for each."""
    inputs = _bf16(rows)
    n, size = inputs.shape
    one_B = 2 * (n - 1) / n * size
    return {
        "bf16": _chain(inputs, _bf16).astype(np.float64),
        "fp32": _bf16(_chain(inputs, np.float32)).astype(np.float64),
        "bf16_B": 2 * one_B,
        "fp32_B": 4 * one_B,
    }


def _with(**changed: Any) -> Any:
    return lambda rows: ring_sums(rows) | {name: make(rows) for name, make in changed.items()}


def _pairs(rows: np.ndarray) -> np.ndarray:
    level = list(_bf16(rows))
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [_bf16(a + b) for a, b in zip(level[::2], level[1::2])] + odd
    return level[0].astype(np.float64)


def _sum_cases(rng: np.random.Generator) -> list[Case]:
    rows = [np.ones((2, 3)), np.ones((600, 2)), np.ones((1, 4))]
    rows += [
        np.round(rng.uniform(0.5, 1.5, (n, int(rng.integers(2, 5)))), 4) for n in (3, 8, int(rng.integers(400, 700)))
    ]
    return [Case({"rows": row}) for row in rows]


q3 = Question(
    id="09.q3",
    title=_("An all-reduce in BF16, and with FP32 sums"),
    points=2,
    answer="ring_sums",
    kind="function",
    # a sum in FP32 may be added in another order: its rounding to BF16 may then fall on the neighbour
    expects=Entries(
        {"bf16": Number(tolerance=1e-6), "fp32": Number(tolerance=0.008), "bf16_B": Number("B"), "fp32_B": Number("B")},
        each=False,
    ),
    inputs=_sum_cases,
    reference=ring_sums,
    withholds=("course_lib.plan.precision", "course_lib.plan.narrowsum"),
    misconceptions=(
        Misconception(
            "rounded at the end only",
            _with(bf16=lambda rows: ring_sums(rows)["fp32"]),
            _(
                "Your BF16 sum is rounded once, at the end. In a ring every partial sum is sent in BF16: round after each addition."
            ),
        ),
        Misconception(
            "FP32 sums travel as BF16",
            _with(fp32_B=lambda rows: ring_sums(rows)["bf16_B"]),
            _("You let FP32 sums travel in two bytes. In a ring the partial sums are what travels, so they take four."),
        ),
        Misconception(
            "added in pairs",
            _with(bf16=_pairs),
            _(
                "You add in pairs, as a tree does. A ring adds one rank after the other, the first to the second and so on."
            ),
        ),
        Misconception(
            "each value sent once",
            _with(bf16_B=lambda rows: ring_sums(rows)["bf16_B"] / 2, fp32_B=lambda rows: ring_sums(rows)["fp32_B"] / 2),
            _(
                "Your bytes are half of it. An all-reduce is a reduce-scatter and an all-gather: 2(n − 1)/n of the message."
            ),
        ),
    ),
)

# q4: top-k with error feedback ---------------------------------------------------------------------------------------


def top_k(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    """Return the positions (rising) and values that are sent, and the memory after it."""
    return _sent(np.asarray(gradient) + memory, k, np.abs)


def _sent(wanted: np.ndarray, k: int, size: Any, memory: Any = None) -> dict[str, Any]:
    at = np.sort(np.argsort(-size(wanted), kind="stable")[:k])
    left = np.array(wanted, dtype=float)
    left[at] = 0.0
    return {"positions": at, "values": wanted[at], "memory": left if memory is None else memory(at, left)}


def _no_memory(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    return _sent(np.asarray(gradient), k, np.abs)


def _chosen_by_gradient(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    at = _no_memory(gradient, memory, k)["positions"]
    left = gradient + memory
    left[at] = 0.0
    return {"positions": at, "values": (gradient + memory)[at], "memory": left}


def _last_only(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    right = top_k(gradient, memory, k)
    left = np.array(gradient, dtype=float)
    left[right["positions"]] = 0.0
    return right | {"memory": left}


def _never_cleared(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    return top_k(gradient, memory, k) | {"memory": gradient + memory}


def _top_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (np.array([4.0, 1.0, -3.0, 0.5, 0.0, 1.5]), np.zeros(6), 2),
        (np.array([4.0, 1.0, -3.0]), np.array([0.0, 5.0, -0.5]), 1),
        (np.array([1.0, -2.0]), np.array([0.5, 0.0]), 2),
        (np.array([-7.0]), np.array([2.0]), 1),
    ]
    for size in (5, 12, 40):
        gradient, memory = np.round(rng.standard_normal(size), 3), np.round(2 * rng.standard_normal(size), 3)
        gradient += 1e-5 * np.arange(size)  # no two magnitudes alike
        rows.append((gradient, memory, int(rng.integers(1, size // 2 + 1))))
    return [Case({"gradient": g, "memory": m, "k": k}) for g, m, k in rows]


q4 = Question(
    id="09.q4",
    title=_("Top-k with error feedback"),
    points=2,
    answer="top_k",
    kind="function",
    expects=Entries({"positions": Number(whole=True), "values": EXACT, "memory": EXACT}, each=False),
    inputs=_top_cases,
    reference=top_k,
    withholds=("course_lib.plan.codecs", "course_lib.plan.exchange"),
    misconceptions=(
        Misconception(
            "memory never used",
            _no_memory,
            _("You choose and send from the gradient alone. What was kept has to be added to it first."),
        ),
        Misconception(
            "largest instead of largest magnitude",
            lambda gradient, memory, k: _sent(gradient + memory, k, lambda v: v),
            _("You take the largest values, and −3 counts as small. It is the magnitude that decides."),
        ),
        Misconception(
            "only the last gradient kept",
            _last_only,
            _(
                "Your new memory holds what is left of this gradient only. What was owed before and not sent is still owed."
            ),
        ),
        Misconception(
            "memory not cleared",
            _never_cleared,
            _("Your memory still holds what was sent. It would be sent again: set it to zero there."),
        ),
        Misconception(
            "chosen by the gradient alone",
            _chosen_by_gradient,
            _(
                "You add the memory, but choose the positions by the gradient alone. Then small ones never get their turn."
            ),
        ),
    ),
)

# q5: bytes, with positions and ranks ---------------------------------------------------------------------------------


def times_less(size: int, k: int, n_ranks: int) -> float:
    """Return how many times less each rank sends with gathered top-k packets than with a dense all-reduce in FP32."""
    (dense,), (packed,) = messages(Dense(), size, n_ranks), messages(TopK(k / size), size, n_ranks)
    return dense.sent_B / packed.sent_B


def _less_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(100, 1, 2), (1000, 1000, 2), (1_000_000, 10_000, 64), (1_000_000, 10_000, 256)]
    rows += [
        (100 * size, size * int(rng.integers(1, 20)), int(rng.integers(3, 300)))
        for size in map(int, rng.integers(10, 10_000, 6))
    ]
    return [Case(dict(zip(("size", "k", "n_ranks"), row))) for row in rows]


q5 = Question(
    id="09.q5",
    title=_("How many times less traffic?"),
    points=1,
    answer="times_less",
    kind="function",
    expects=Number("×"),
    inputs=_less_cases,
    reference=times_less,
    withholds=(
        "course_lib.plan.breakeven",
        "course_lib.plan.wire",
        "course_lib.plan.codecs",
        "course_lib.plan.codecsteps",
    ),
    misconceptions=(
        Misconception(
            "a hundred times less",
            lambda size, k, n_ranks: size / k,
            _(
                "You say that 1 % kept is 100 times less. Each value needs its position, and packets cannot be added on the way."
            ),
        ),
        Misconception(
            "positions forgotten",
            lambda size, k, n_ranks: 2 * size / k / n_ranks,
            _("You count the values and not their positions. A position takes four bytes as well."),
        ),
        Misconception(
            "as if packets could be added",
            lambda size, k, n_ranks: size / k / 2,
            _(
                "You let the ring add packets. Ranks keep different positions, so each packet has to reach every rank: n − 1 of them."
            ),
        ),
        Misconception(
            "dense counted once",
            lambda size, k, n_ranks: size / k / 2 / n_ranks,
            _(
                "Your dense all-reduce sends (n − 1)/n of the gradient. It is twice that: it scatters sums and gathers them."
            ),
        ),
    ),
)

# q6: loss of a run with and without error feedback ---------------------------------------------------------------------

KEPT = (14, 28, 42, 55, 69, 83, 110, 138)
RANKS, STEPS, RATE = 4, 60, 0.3


@cache
def last_loss(k: int, feedback: bool) -> float:
    """Return the small model's loss after a run on four ranks that exchange their top k, as the notebook does it.

    >>> last_loss(28, True) < last_loss(28, False)
    True
    """
    shape, task = Shape(), make_task(0)
    weights, memory = first_weights(shape), np.zeros((RANKS, shape.size))
    for chosen in batches(task, RANKS, STEPS, 16, 0):
        _loss, gradients = loss_and_gradient(weights, task.inputs[chosen], task.labels[chosen], shape)
        mean = np.zeros(shape.size)
        for rank in range(RANKS):
            sent = top_k(gradients[rank], memory[rank], k)
            mean[sent["positions"]] += sent["values"] / RANKS
            if feedback:
                memory[rank] = sent["memory"]
        weights = weights - RATE * mean
    return mean_loss(weights, task, shape)[0]


def _runs(k: int) -> dict[str, float]:
    sent_B = messages(TopK(k / Shape().size), Shape().size, RANKS)[0].sent_B
    return {"with_feedback": last_loss(k, True), "without": last_loss(k, False), "sent_B": sent_B}


q6 = Question(
    id="09.q6",
    title=_("What error feedback is worth"),
    points=1,
    answer="runs",
    expects=Entries(
        {"with_feedback": Number(tolerance=0.02), "without": Number(tolerance=0.02), "sent_B": Number("B")}
    ),
    parameters=lambda rng: {"k": KEPT[int(rng.integers(len(KEPT)))]},
    reference=_runs,
    misconceptions=(
        Misconception(
            "feedback in both",
            lambda k: {"without": last_loss(k, True)},
            _("Both runs had error feedback; it is on unless you say feedback=False."),
        ),
        Misconception(
            "one packet",
            lambda k: {"sent_B": 8.0 * k},
            _("That is one packet. In an all-gather over four ranks each rank passes on three."),
        ),
        Misconception(
            "positions forgotten",
            lambda k: {"sent_B": 4.0 * k * (RANKS - 1)},
            _("You count four bytes a value. Its position takes four more."),
        ),
    ),
)

# q7: break-even ------------------------------------------------------------------------------------------------------


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
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6, q7)
