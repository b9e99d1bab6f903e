"""The fit of a step's constants, without the judging pairs and with all: `python -m course_lib.plan.stepfit` writes both.

The sum of |ln(model / measured)| over the runs is made small, every (model, system) pair counting the same however many
runs it has, plus a pull towards the starting values (`plan.efficiency.DESCRIBED`).
"""

import csv
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from course_lib.base.language import _
from course_lib.base.units import say_share
from course_lib.plan import efficiency, stepcost
from course_lib.plan.efficiency import DESCRIBED, PATH, Constants, chip
from course_lib.plan.plans import Plans
from course_lib.plan.stepcomm import Asker
from course_lib.plan.stepmemory import held, stages
from course_lib.plan.steptime import AUTO, fused_of, gpu_of
from course_lib.plan.trainingdata import Run, runs
from course_lib.plan.transformer import RECOMPUTE
from course_lib.timing.fit import least_absolute

PAIR_WEIGHT = 6.0  # what one pair weighs against the pull to the start
FEW = 3.0  # a pair of fewer runs weighs less


class Batch:
    """Runs in groups that can be priced at once: the same model, system, precision, length and kind of attention."""

    def __init__(self, chosen: Sequence[Run]):
        """Group the runs."""
        self.runs = list(chosen)
        groups: dict[tuple, list[int]] = {}
        for i, r in enumerate(self.runs):
            gpu = gpu_of(r.system, None)
            key = (r.shape, r.system, gpu.name, r.precision, fused_of(r.attention, gpu, r.recompute))
            key += (r.attention == "early", r.software == "pytorch", r.recompute == AUTO)
            groups.setdefault(key, []).append(i)
        self.groups = []
        for key, mine in groups.items():
            plans = plans_of([self.runs[i] for i in mine])
            seq = np.array([self.runs[i].seq for i in mine])
            kept = held(key[0], plans, seq=seq, fused=key[4])
            over = key[7] and (kept.total_B > chip(key[2]).hbm_B).any()
            full = replace(plans, recompute=np.full(len(plans), RECOMPUTE.index("full"))) if over else None
            again = full and held(key[0], full, seq=seq, fused=key[4])
            self.groups.append((key, np.array(mine), seq, plans, kept, full, again, Asker(plans, key[1])))

    def priced(self, k: Constants) -> list[tuple[NDArray, stepcost.Priced]]:
        """Return (indices, prices) of every group."""
        found = []
        for (
            shape,
            place,
            gpu,
            precision,
            fused,
            early,
            plain,
            _auto,
        ), mine, seq, plans, kept, full, again, asker in self.groups:
            options = {"seq": seq, "precision": precision, "fused": fused, "early": early, "plain": plain, "ask": asker}
            prices = stepcost.price(shape, place, chip(gpu), plans, k, kept=kept, **options)
            if full is not None:
                whole = stepcost.price(shape, place, chip(gpu), full, k, kept=again, **options)
                layers = stages(shape, plans).total.max(axis=0)
                prices, _share = stepcost.mixed(prices, whole, chip(gpu).hbm_B, layers)
            found.append((mine, prices))
        return found

    def step_s(self, k: Constants) -> NDArray[np.float64]:
        """Return (runs,) modelled seconds."""
        times = np.zeros(len(self.runs))
        for mine, prices in self.priced(k):
            times[mine] = prices.step_s
        return times


def plans_of(chosen: Sequence[Run]) -> Plans:
    """Return runs as Plans.

    >>> len(plans_of(runs("shown")))
    9
    """

    def column(read) -> NDArray:
        return np.array([read(r) for r in chosen])

    return Plans(
        tensor=column(lambda r: r.layout.tensor),
        pipeline=column(lambda r: r.layout.pipeline),
        data=column(lambda r: r.layout.data),
        context=column(lambda r: r.layout.context),
        expert=column(lambda r: r.layout.expert),
        expert_tensor=column(lambda r: r.layout.expert_tensor),
        micro_batch=column(lambda r: r.micro_batch),
        n_micro=column(lambda r: r.global_batch // (r.layout.data * r.micro_batch)),
        interleave=column(lambda r: r.interleave),
        recompute=column(lambda r: RECOMPUTE.index("selective" if r.recompute == AUTO else r.recompute)),
        zero=column(lambda r: r.zero),
        sequence=column(lambda r: r.sequence),
    )


def errors(chosen: Sequence[Run], k: Constants) -> NDArray[np.float64]:
    """Return ln(model / measured) of each run.

    >>> from course_lib.plan.efficiency import constants
    >>> bool(np.median(np.abs(errors(runs("judging"), constants("training")))) < 0.25)
    True
    """
    return np.log(Batch(chosen).step_s(k) / np.array([r.step_s for r in chosen]))


def weights(chosen: Sequence[Run]) -> NDArray[np.float64]:
    """Return the weight of each run: pairs count alike, those with fewer than three runs less.

    >>> w = weights(runs("training"))
    >>> bool(w.min() > 0)
    True
    """
    counts = Counter(r.pair for r in chosen)
    return np.array([PAIR_WEIGHT / max(counts[r.pair], FEW) for r in chosen])


def fit(chosen: Sequence[Run], start: Constants | None = None, rounds: int = 25) -> dict[str, float]:
    """Return constants fitted to runs; those that no run touches stay at their start.

    >>> fit(runs("shown")[:2], rounds=1)["best_h100_bf16"]
    0.72
    """
    batch = Batch(chosen)
    centre = np.array([c.start for c in DESCRIBED])
    spread = np.array([c.spread for c in DESCRIBED])
    names = [c.name for c in DESCRIBED]

    def values(p: NDArray) -> dict[str, float]:
        found = centre * np.exp(p)
        for i, name in enumerate(names):  # shares stay shares
            if name.startswith(("best_", "attention_")) or name in ("hbm", "hidden_by", "handoff_shown", "sent_once"):
                found[i] = min(found[i], 0.98)
        return dict(zip(names, found.tolist(), strict=True))

    p0 = np.zeros(len(centre)) if start is None else np.log(np.array([start[n] for n in names]) / centre)

    def f(p: NDArray) -> NDArray:
        return np.log(batch.step_s(values(p)))

    target = np.log(np.array([r.step_s for r in chosen]))
    # the pull is towards the starting values, from wherever the search begins
    found = least_absolute(lambda d: f(d), p0, target, weights(chosen), spread, rounds=rounds)
    return values(found)


def main() -> int:
    """Fit both columns and write them beside each other; takes a few minutes.

    >>> callable(main)
    True
    """
    training = fit(runs("training"))
    shipped = fit([r for r in runs() if r.part != "shown"])
    with open(PATH, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["name", "shipped", "training", "start", "meaning"])
        for c in DESCRIBED:
            out.writerow([c.name, f"{shipped[c.name]:.5g}", f"{training[c.name]:.5g}", f"{c.start:g}", c.meaning])
    efficiency.constants.cache_clear()
    text = _("{part}: median error {error} over {n} runs")
    for part, k in (("training", training), ("judging", training), ("shown", training), ("judging", shipped)):
        found = np.abs(np.expm1(errors(runs(part), k)))
        sys.stdout.write(text.format(part=part, error=say_share(float(np.median(found)), 1), n=len(found)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
