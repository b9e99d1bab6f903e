"""Question 12.q1: efficiency over the number of GPUs, and where it bends."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Case, Misconception, Question

ONE, ALL = _("one GPU does not talk"), _("many GPUs")


def scaled(
    work_s: float,
    message_GB: float,
    latency_us: float,
    rate_GBps: float,
    hidden: float,
    n_gpus: list[int],
    least: float,
) -> dict[str, object]:
    """Return efficiency at each number of GPUs, the largest that keeps `least`, and the quickest.

    >>> scaled(64.0, 14.0, 10.0, 25.0, 0.5, [1, 64, 4096], 0.5)["largest"]
    64
    """
    return _scaled(work_s, message_GB, latency_us, rate_GBps, hidden, n_gpus, least)


def _scaled(
    work_s,
    message_GB,
    latency_us,
    rate_GBps,
    hidden,
    n_gpus,
    least,
    *,
    steps: Callable[[float], float] = lambda n: 2 * (n - 1),
    share: Callable[[float], float] = lambda n: 2 * (n - 1) / n,
    hides: Callable[[float, float], float] = lambda computing_s, work_s: computing_s,
    efficiency: Callable[[float, float, float], float] = lambda work_s, step_s, n: work_s / (n * step_s),
    always_faster: bool = False,
    below_zero: bool = False,
    shows: Callable[[float, float, float], float] | None = None,
    largest: Callable[[list[int], list[int]], int] = lambda n_gpus, kept: max(kept, default=0),
) -> dict[str, object]:
    """The same, with what a learner may put in place of a part."""
    share_of, step = [], []
    for n in n_gpus:
        computing_s = work_s / n
        talk_s = steps(n) * latency_us * 1e-6 + share(n) * message_GB / rate_GBps
        shows_s = shows(computing_s, talk_s, hidden) if shows else talk_s - hidden * hides(computing_s, work_s)
        step.append(computing_s + (shows_s if below_zero else max(0.0, shows_s)))
        share_of.append(efficiency(work_s, step[-1], n))
    kept = [n for n, e in zip(n_gpus, share_of, strict=True) if e >= least]
    quickest = n_gpus[-1] if always_faster else n_gpus[int(np.argmin(step))]
    return {"efficiency": share_of, "largest": largest(n_gpus, kept), "quickest": quickest}


def _scaling_cases(rng: np.random.Generator) -> list[Case]:
    names = ("work_s", "message_GB", "latency_us", "rate_GBps", "hidden", "n_gpus", "least")
    cases = [Case(dict(zip(names, (8.0, 1.0, 10.0, 25.0, 0.5, [1], 0.8), strict=True)), ONE)]
    counts = [1, 8, 64, 512, 4096, 16384]
    cases += [
        Case(dict(zip(names, row, strict=True)), ALL)
        for row in (
            (64.0, 14.0, 10.0, 25.0, 0.0, counts, 0.8),
            (64.0, 14.0, 10.0, 25.0, 0.5, counts, 0.8),
            (512.0, 2.0, 20.0, 50.0, 0.3, counts, 0.9),
            (64.0, 14.0, 10.0, 25.0, 0.3, counts[2:], 0.5),  # one GPU is not among them
        )
    ]
    while len(cases) < 10:
        row = (
            float(rng.integers(20, 600)),
            float(rng.integers(1, 30)),
            float(rng.integers(5, 40)),
            float(rng.choice([12.5, 25.0, 50.0, 100.0])),
            round(float(rng.uniform(0.1, 0.9)), 2),
            [1, *sorted(int(2**k) for k in rng.choice(np.arange(2, 17), 6, replace=False))],
            round(float(rng.uniform(0.5, 0.95)), 2),
        )
        right = scaled(*row)
        clear = all(abs(e - row[-1]) > 0.02 for e in right["efficiency"])
        if clear and right["quickest"] != row[-2][-1]:
            cases.append(Case(dict(zip(names, row, strict=True)), ALL))
    return cases


def _wrong_scaling(**change: object) -> Callable[..., dict]:
    return lambda **given: _scaled(**given, **change)


def _from_the_first(**given: object) -> dict[str, object]:
    right, n_gpus = _scaled(**given), given["n_gpus"]
    share = [e / right["efficiency"][0] for e in right["efficiency"]]
    kept = [n for n, e in zip(n_gpus, share, strict=True) if e >= given["least"]]
    return right | {"efficiency": share, "largest": max(kept, default=0)}


q1 = Question(
    id="12.q1",
    title=_("Efficiency, and where it bends"),
    points=2,
    answer="scaled",
    kind="function",
    expects=Entries(
        {"efficiency": Number(tolerance=0.005), "largest": Number(whole=True), "quickest": Number(whole=True)},
        each=False,
    ),
    inputs=_scaling_cases,
    reference=scaled,
    withholds=("course_lib.cluster.scaling", "course_lib.explorers.lesson12"),
    misconceptions=(
        Misconception(
            "more GPUs are always faster",
            _wrong_scaling(always_faster=True),
            _(
                "You take the most GPUs for the quickest. The ring gets longer with every GPU, and at some "
                "size that costs more than it saves."
            ),
        ),
        Misconception(
            "nothing hides",
            lambda **given: _scaled(**given | {"hidden": 0.0}),
            _("You let no communication hide. The share `hidden` of the computing has traffic beside it."),
        ),
        Misconception(
            "a share of the traffic hides",
            _wrong_scaling(shows=lambda computing_s, talk_s, hidden: (1 - hidden) * talk_s),
            _("You hide a share of the communication. `hidden` is a share of the computing: as much as that hides."),
        ),
        Misconception(
            "the longer of the two",
            _wrong_scaling(shows=lambda computing_s, talk_s, hidden: max(0.0, talk_s - computing_s)),
            _(
                "You take the longer of computing and communication. Only the share `hidden` of the computing hides any."
            ),
        ),
        Misconception(
            "the first that falls below",
            _wrong_scaling(largest=lambda n_gpus, kept: next((n for n in n_gpus if n not in kept), n_gpus[-1])),
            _("You return the first number of GPUs that falls below. The largest that keeps it was asked for."),
        ),
        Misconception(
            "less than nothing shows",
            _wrong_scaling(below_zero=True),
            _("Your step gets shorter than its computing. What shows of communication is never less than zero."),
        ),
        Misconception(
            "hides behind all of the work",
            _wrong_scaling(hides=lambda computing_s, work_s: work_s),
            _(
                "You hide communication behind the computing of one GPU's whole job. On n GPUs each computes "
                "only 1/n of it."
            ),
        ),
        Misconception(
            "latency forgotten",
            lambda **given: _scaled(**given | {"latency_us": 0.0}),
            _("You count bytes only. The ring has 2(n − 1) steps, and each has its latency."),
        ),
        Misconception(
            "bytes shrink with n",
            _wrong_scaling(share=lambda n: 2 * (n - 1) / n / n),
            _(
                "You send 2(n − 1)/n² of the message. Every rank sends 2(n − 1)/n of it: nearly twice, however "
                "many there are."
            ),
        ),
        Misconception(
            "half of a ring",
            _wrong_scaling(steps=lambda n: n - 1, share=lambda n: (n - 1) / n),
            _("You run round the ring once. An all-reduce is a reduce-scatter and an all-gather: twice n − 1 steps."),
        ),
        Misconception(
            "against the first of the list",
            _from_the_first,
            _(
                "You compare with the first number of GPUs in the list. Efficiency is against one GPU, which may not be in it."
            ),
        ),
        Misconception(
            "speed-up for efficiency",
            _wrong_scaling(efficiency=lambda work_s, step_s, n: work_s / step_s),
            _("You return the speed-up. Efficiency is the speed-up over the number of GPUs."),
        ),
    ),
)
