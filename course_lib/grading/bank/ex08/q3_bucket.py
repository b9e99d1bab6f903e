"""Question 08.q3: the best bucket."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex08.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import sharding


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
        if 1e6 * answer in sizes:
            return _("{given} is one of the sizes in MB; give it in bytes, as it stands in the list.").format(
                given=f"{answer:.6g}"
            )
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
        ([1e-3] * 32, [45e6] * 32, 1e-5, 400e9, [32e6, 64e6, 4e6, 25e6, 40e6, *sizes[4:]]),  # four are the best
        ([5e-4] * 64, [30e6] * 64, 1.5e-3, 40e9, sizes),
        ([2e-3] * 24, [100e6] * 24, 3e-3, 45e9, sizes[::-1]),
    ]
    for _unused in range(5):
        n = int(rng.integers(24, 64))
        sizes_n = rng.uniform(1e7, 6e7, n)
        spent = rng.uniform(4e-4, 2e-3, n)
        rate = float(sizes_n.sum() / spent.sum() * rng.uniform(0.8, 1.6))
        offered = rng.permutation(sizes).tolist()
        rows.append((spent.tolist(), sizes_n.tolist(), float(spent.mean() * rng.uniform(0.5, 3)), rate, offered))
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _chooses(rule: Callable[..., float]) -> Callable[..., float]:
    return lambda backward_s, gradient_B, latency_s, rate_Bps, sizes_B: float(
        rule(np.asarray(sizes_B), latency_s, rate_Bps, backward_s, gradient_B)
    )


def _latest_best(sizes: np.ndarray, latency_s: float, rate_Bps: float, *layers: Sequence[float]) -> float:
    late = _all_exposed(*layers, latency_s, rate_Bps, sizes)
    return sizes[late <= late.min() * (1 + 1e-9)].max()


def _first_best(sizes: np.ndarray, latency_s: float, rate_Bps: float, *layers: Sequence[float]) -> float:
    late = _all_exposed(*layers, latency_s, rate_Bps, sizes)
    return sizes[late <= late.min() * (1 + 1e-9)][0]


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
        Misconception(
            "the first of the best",
            _chooses(_first_best),
            _(
                "You take the first of several sizes that expose equally little. The list has no order: take the smallest."
            ),
        ),
    ),
)
