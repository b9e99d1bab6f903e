"""Exercise 08, many replicas: a scheduler of overlap, bytes of a step, the best bucket, memory of ZeRO, steps and hours."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import memory, sharding, zero

WITHHELD = ("course_lib.plan.sharding", "course_lib.plan.zero", "course_lib.plan.replicas")
CLOSE = Number("s", tolerance=1e-6, near_zero=1e-12)

# q1: a scheduler of overlap ------------------------------------------------------------------------------------------


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
        now = free = held = sent = 0.0
        for i, (spent, size) in enumerate(zip(backward_s, gradient_B, strict=True)):
            begun, now, held = now, now + spent, held + size
            if held >= bucket_B or (i == len(gradient_B) - 1 and held > 0 and way != "rest lost"):
                takes = latency_s + held / rate_Bps
                start = {"no queue": now, "too early": max(begun, free)}.get(way, max(now, free))
                free = max(free, start + takes) if way == "no queue" else start + takes
                held, sent = 0.0, sent + takes
        if way == "difference of sums":
            return sent - now
        if way == "clipped difference":
            return max(sent - now, 0.0)
        if way == "no overlap":
            return sent
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

# q2: bytes of a step -------------------------------------------------------------------------------------------------


def sent_GB(scheme: str, parameters: int, n_ranks: int, micro_batches: int, put_off: bool) -> float:
    """Return GB (1e9) that a rank sends in a step, 16 bits a parameter.

    >>> sent_GB("ddp", 10**9, 8, 4, True), sent_GB("zero3", 10**9, 8, 4, False)
    (3.5, 21.0)
    """
    return zero.volume(scheme, parameters, n_ranks, micro_batches=micro_batches, deferred=put_off).sent_B / 1e9


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(10**9, 1, 1, True), (10**9, 2, 1, False), (10**9, 8, 4, True), (10**9, 8, 4, False)]
    rows += [
        (int(rng.integers(1, 400)) * 10**9, int(rng.integers(2, 1025)), int(rng.integers(2, 33)), bool(k % 2))
        for k in range(4)
    ]
    names = ("parameters", "n_ranks", "micro_batches", "put_off")
    return [
        Case({"scheme": s} | dict(zip(names, row, strict=True)), s) for s in ("ddp", "zero2", "zero3") for row in rows
    ]


def _units(rule: Callable[[str, int, bool], float], whole: bool = False) -> Callable[..., float]:
    """2 bytes a parameter times units by a rule of scheme, micro-batches and whether reducing is put off."""
    return lambda scheme, parameters, n_ranks, micro_batches, put_off: (
        rule(scheme, micro_batches, put_off)
        * 2
        * parameters
        / 1e9
        * (float(n_ranks > 1) if whole else (n_ranks - 1) / n_ranks)
    )


def _right(scheme: str, k: int, put_off: bool) -> float:
    return zero.volume(scheme, 1, 2, micro_batches=k, deferred=put_off).units


q2 = Question(
    id="08.q2",
    title=_("Bytes of a step"),
    points=3,
    answer="sent_GB",
    kind="function",
    expects=Number("GB", near_zero=1e-15),
    inputs=_bytes_cases,
    reference=sent_GB,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "accumulation saves traffic by itself",
            _units(lambda s, k, put_off: _right(s, 1, True)),
            _(
                "You charge one micro-batch whatever their number. Adding gradients up saves traffic only where it is put off."
            ),
        ),
        Misconception(
            "putting off saves nothing",
            _units(lambda s, k, put_off: _right(s, k, False)),
            _("You reduce after every micro-batch even where it is put off to the last."),
        ),
        Misconception(
            "an all-reduce is one unit",
            _units(lambda s, k, put_off: _right(s, k, put_off) / (2 if s == "ddp" else 1)),
            _("You send the gradients once in an all-reduce. It is a reduce-scatter and an all-gather: two units."),
        ),
        Misconception(
            "weights gathered once",
            _units(lambda s, k, put_off: _right(s, k, put_off) - (k if s == "zero3" else 0)),
            _(
                "You gather the weights of ZeRO-3 once for each micro-batch. They were dropped: backward gathers them again."
            ),
        ),
        Misconception(
            "stage 2 gathers for every micro-batch",
            _units(lambda s, k, put_off: 2 * (1 if put_off else k) if s == "zero2" else _right(s, k, put_off)),
            _("You let ZeRO-2 gather new weights after every micro-batch. They are new only once a step."),
        ),
        Misconception(
            "the message for what is sent",
            _units(_right, whole=True),
            _("You forget (n−1)/n: a rank does not send its own part to itself."),
        ),
        Misconception(
            "once for every rank",
            lambda scheme, parameters, n_ranks, micro_batches, put_off: (
                n_ranks * sent_GB(scheme, parameters, n_ranks, micro_batches, put_off)
            ),
            _("You add up all ranks. The question is what one of them sends."),
        ),
    ),
)

# q3: the best bucket -------------------------------------------------------------------------------------------------


def _all_exposed(
    backward_s: Sequence[float],
    gradient_B: Sequence[float],
    latency_s: float,
    rate_Bps: float,
    sizes_B: Sequence[float],
) -> np.ndarray:
    time_of = lambda m: latency_s + m / rate_Bps  # noqa: E731
    return sharding.bucket_search(backward_s, gradient_B, time_of, sizes_B).exposed_s


def best_bucket_B(
    backward_s: Sequence[float],
    gradient_B: Sequence[float],
    latency_s: float,
    rate_Bps: float,
    sizes_B: Sequence[float],
) -> float:
    """Return the smallest of the sizes that expose least.

    >>> best_bucket_B([1e-3] * 8, [50e6] * 8, 1e-3, 100e9, [1e6, 1e8, 4e8])
    100000000.0
    """
    late = _all_exposed(backward_s, gradient_B, latency_s, rate_Bps, sizes_B)
    return float(np.asarray(sizes_B)[late <= late.min() * (1 + 1e-9)].min())


def _judge_bucket(answer: float, **inputs: object) -> str:
    sizes = list(inputs["sizes_B"])
    if answer not in sizes:
        return _("{given} is not one of the sizes that were offered.").format(given=f"{answer:.6g}")
    late = _all_exposed(**inputs)
    mine = late[sizes.index(answer)]
    if mine > late.min() * (1 + 1e-6):
        return _("buckets of {given} MB expose {mine} ms, those of {best} MB only {least} ms.").format(
            given=f"{answer / 1e6:.6g}",
            mine=f"{mine * 1e3:.4g}",
            best=f"{best_bucket_B(**inputs) / 1e6:.6g}",
            least=f"{late.min() * 1e3:.4g}",
        )
    if answer != best_bucket_B(**inputs):
        return _("smaller buckets expose as little, {best} MB; the smallest of the best was asked for.").format(
            best=f"{best_bucket_B(**inputs) / 1e6:.6g}"
        )
    return ""


def _bucket_cases(rng: np.random.Generator) -> list[Case]:
    names = ("backward_s", "gradient_B", "latency_s", "rate_Bps", "sizes_B")
    sizes = [float(s) for s in (4e6, 25e6, 40e6, 64e6, 128e6, 256e6, 512e6, 1024e6, 4096e6)]
    rows = [
        ([1e-3] * 8, [50e6] * 8, 0.0, 1e12, [25e6]),
        ([1e-3] * 16, [24e6] * 16, 2e-3, 40e9, sizes),
        ([1e-3] * 32, [45e6] * 32, 1e-5, 400e9, sizes),
        ([5e-4] * 64, [30e6] * 64, 1.5e-3, 40e9, sizes),
        ([2e-3] * 24, [100e6] * 24, 3e-3, 45e9, sizes[::-1]),
    ]
    for _unused in range(5):
        n = int(rng.integers(24, 64))
        sizes_n = rng.uniform(1e7, 6e7, n)
        spent = rng.uniform(4e-4, 2e-3, n)
        rate = float(sizes_n.sum() / spent.sum() * rng.uniform(0.8, 1.6))
        rows.append((spent.tolist(), sizes_n.tolist(), float(spent.mean() * rng.uniform(0.5, 3)), rate, sizes))
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _chooses(rule: Callable[..., float]) -> Callable[..., float]:
    return lambda backward_s, gradient_B, latency_s, rate_Bps, sizes_B: float(
        rule(np.asarray(sizes_B), latency_s, rate_Bps, backward_s, gradient_B)
    )


def _latest_best(sizes: np.ndarray, latency_s: float, rate_Bps: float, *layers: Sequence[float]) -> float:
    late = _all_exposed(*layers, latency_s, rate_Bps, sizes)
    return sizes[late <= late.min() * (1 + 1e-9)].max()


q3 = Question(
    id="08.q3",
    title=_("The best bucket"),
    points=2,
    answer="best_bucket_B",
    kind="function",
    expects=Number("B"),
    inputs=_bucket_cases,
    reference=best_bucket_B,
    accept=_judge_bucket,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one large message",
            _chooses(lambda sizes, *rest: sizes.max()),
            _("You take the largest bucket: fewest latencies, and nothing is sent before the pass has ended."),
        ),
        Misconception(
            "as early as possible",
            _chooses(lambda sizes, *rest: sizes.min()),
            _("You take the smallest bucket: it leaves earliest, and each one pays a latency, so they queue."),
        ),
        Misconception(
            "the default",
            _chooses(lambda sizes, *rest: sizes[np.argmin(np.abs(sizes - 25e6))]),
            _("You take 25 MB on every network. It is a default; latency, rate and computing decide."),
        ),
        Misconception(
            "the half-size",
            _chooses(lambda sizes, latency_s, rate_Bps, *rest: sizes[np.argmin(np.abs(sizes - latency_s * rate_Bps))]),
            _(
                "You take the size whose bytes last as long as its latency. That says nothing about when gradients are ready."
            ),
        ),
        Misconception(
            "the largest of the best",
            _chooses(_latest_best),
            _("You take the largest of several sizes that expose equally little. The smallest was asked for."),
        ),
    ),
)

# q4: memory of ZeRO 0 to 3 -------------------------------------------------------------------------------------------


def state_GB(stage: int, parameters: int, n_ranks: int) -> float:
    """Return GB of weights, gradients and optimizer on one GPU, mixed-precision Adam.

    >>> [round(state_GB(stage, 7_500_000_000, 64), 1) for stage in range(4)]
    [120.0, 31.4, 16.6, 1.9]
    """
    return float(memory.states(parameters, n_ranks, stage).total_B) / 1e9


def _memory_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(10**9, 1), (10**9, 2), (7_500_000_000, 64)]
    rows += [(int(rng.integers(1, 2000)) * 10**8, int(rng.integers(2, 2049))) for _unused in range(4)]
    return [
        Case({"stage": stage, "parameters": p, "n_ranks": n}, _("stage {s}").format(s=stage))
        for stage in range(4)
        for p, n in rows
    ]


def _state(rule: Callable[[int, int], float]) -> Callable[..., float]:
    """Bytes for each parameter by a rule of stage and ranks."""
    return lambda stage, parameters, n_ranks: rule(stage, n_ranks) * parameters / 1e9


q4 = Question(
    id="08.q4",
    title=_("Memory of ZeRO 0 to 3"),
    points=2,
    answer="state_GB",
    kind="function",
    expects=Number("GB"),
    inputs=_memory_cases,
    reference=state_GB,
    withholds=(*WITHHELD, "course_lib.plan.memory", "course_lib.plan.footprint"),
    misconceptions=(
        Misconception(
            "every stage shares out everything",
            _state(lambda stage, n: 16 / n if stage else 16),
            _(
                "You divide all 16 bytes from stage 1 on. Stage 1 shares out the optimizer only, stage 2 gradients as well."
            ),
        ),
        Misconception(
            "one stage late",
            _state(lambda stage, n: (4 + 12 / n, 2 + 14 / n, 16 / n, 16 / n)[stage]),
            _("You are one stage ahead: stage 0 shares out nothing."),
        ),
        Misconception(
            "weights first",
            _state(lambda stage, n: (16, 14 + 2 / n, 12 + 4 / n, 16 / n)[stage]),
            _("You share out weights first and the optimizer last. The optimizer goes first: it is the largest part."),
        ),
        Misconception(
            "no master copy",
            _state(lambda stage, n: (12, 4 + 8 / n, 2 + 10 / n, 12 / n)[stage]),
            _("You keep two moments only. In mixed precision the optimizer also has a copy of the weights in 32 bits."),
        ),
        Misconception(
            "optimizer forgotten",
            _state(lambda stage, n: (4, 4, 2 + 2 / n, 4 / n)[stage]),
            _("You count weights and gradients only. The optimizer keeps 12 of the 16 bytes."),
        ),
    ),
)

# q5: steps and hours -------------------------------------------------------------------------------------------------


def _job(rng: np.random.Generator) -> dict:
    compute_ms = 10 * int(rng.integers(15, 60))
    exposed = 5 * round(compute_ms * float(rng.uniform(0.3, 0.8)) / 5)
    return {
        "steps": 1000 * int(rng.integers(20, 200)),
        "compute_ms": compute_ms,
        "exposed_ms": exposed,
        "new_exposed_ms": 5 * max(1, round(exposed * float(rng.uniform(0.05, 0.3)) / 5)),
    }


def new_network(steps: int, compute_ms: int, exposed_ms: int, new_exposed_ms: int) -> dict[str, float]:
    """Return the steps to the same loss on the new network, the hours on both, and how many times as fast it gets there."""
    old, new = (steps * (compute_ms + e) / 3.6e6 for e in (exposed_ms, new_exposed_ms))
    return {"new steps": steps, "old hours": old, "new hours": new, "times as fast": old / new}


q5 = Question(
    id="08.q5",
    title=_("A faster network and convergence"),
    points=2,
    answer="bought",
    expects=Entries(
        {
            "new steps": Number(whole=True),
            "old hours": Number("hours"),
            "new hours": Number("hours"),
            "times as fast": Number(),
        }
    ),
    parameters=_job,
    reference=new_network,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "faster synchronisation needs fewer steps",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "new steps": round(steps * (compute_ms + new_exposed_ms) / (compute_ms + exposed_ms))
            },
            _(
                "You let the number of steps fall. The network carries the same gradients; only the time of a step changes."
            ),
        ),
        Misconception(
            "only communication counts",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {"times as fast": exposed_ms / new_exposed_ms},
            _("You compare the exposed times. The computing of a step stays, so the step gains much less."),
        ),
        Misconception(
            "computing forgotten",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "old hours": steps * exposed_ms / 3.6e6,
                "new hours": steps * new_exposed_ms / 3.6e6,
            },
            _("Your hours hold the exposed communication only. Each step also computes."),
        ),
        Misconception(
            "no communication is left",
            lambda steps, compute_ms, exposed_ms, new_exposed_ms: {
                "new hours": steps * compute_ms / 3.6e6,
                "times as fast": (compute_ms + exposed_ms) / compute_ms,
            },
            _("You take the new network for infinitely fast. A part still sticks out: it is among your numbers."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5)
