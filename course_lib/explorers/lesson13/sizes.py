"""Lesson 13's explorer: what is left of a cluster when parts fail, over its size."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.cluster import checkpoints, cost, goodput
from course_lib.cluster.published import DAY_s
from course_lib.cluster.reliability import between_s
from course_lib.explorers.controls import CountSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.explorers.lesson13.job import restart_s, tokens_per_s_per_gpu
from course_lib.figures import failing

GPUS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
# Failures in 1,000 host-days: the published fleets, and rates ten times better and worse than most.
RATES = (0.5, 1.0, 2.34, 3.79, 6.5, 13.9, 30.0)
STALLS = (0.5, 1.0, 3.0, 10.0, 33.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: the choice, and over all cluster sizes the shares and the cost of a million tokens."""

    n_gpus: int
    rate: float
    save_s: float
    between: np.ndarray
    shares: goodput.Shares
    usd: np.ndarray
    ideal_usd: np.ndarray

    @property
    def at(self) -> int:
        """Where the chosen size stands among all."""
        return GPUS.index(self.n_gpus)


@lru_cache(maxsize=1)
def _bills() -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of a year at each size, and the tokens a second."""
    found = np.array([cost.bill(n).usd_per_year for n in GPUS])
    return found, tokens_per_s_per_gpu() * np.array(GPUS)


@lru_cache(maxsize=256)
def read_cluster(n_gpus: int, rate: float, save_s: float) -> Reading:
    """Return the shares of time and the cost of a million tokens over cluster sizes.

    Args:
        n_gpus: the chosen size, one of `GPUS`.
        rate: failures in 1,000 host-days, hosts of 8.
        save_s: standstill for one checkpoint, in seconds.

    >>> r = read_cluster(16384, 3.79, 10.0)
    >>> round(float(r.shares.useful[r.at]), 2), round(float(r.between[r.at]) / 3600, 2)
    (0.9, 3.09)
    """
    between = between_s(rate / 1000 / DAY_s, np.array(GPUS) / 8)
    shares = goodput.best(between, save_s, restart_s())
    year, tokens = _bills()
    kept = np.maximum(shares.useful, 1e-6)
    return Reading(
        int(n_gpus),
        rate,
        save_s,
        between,
        shares,
        cost.usd_per_million_tokens(year, tokens, kept),
        cost.usd_per_million_tokens(year, tokens, 1.0),
    )


def _draw(reading: Reading):
    parts = {name: getattr(reading.shares, name) for name in failing.PARTS}
    return failing.over_cluster(GPUS, parts, reading.usd, reading.ideal_usd, reading.n_gpus)


def _equation(reading: Reading) -> tuple[str, str]:
    i = reading.at
    between, tau = float(reading.between[i]), float(checkpoints.best_s(reading.save_s, reading.between[i]))
    return (
        _("stays ≈ 1 − save/interval − (interval/2 + restart)/between"),
        _("{u} % (exact) from save {s}, interval {t}, restart {r}, between failures {m}").format(
            u=say_number(100 * float(reading.shares.useful[i]), 3),
            s=say_time(reading.save_s),
            t=say_time(tau),
            r=say_time(restart_s()),
            m=say_time(between),
        ),
    )


def _sentence(reading: Reading) -> str:
    i, s = reading.at, reading.shares
    between = float(reading.between[i])
    tail = _("Of the time {a} % goes to saving, {b} % to doing again and {c} % to restarting.").format(
        a=say_number(100 * float(s.saving[i]), 2),
        b=say_number(100 * float(s.redone[i]), 2),
        c=say_number(100 * float(s.restarting[i]), 2),
    )
    if between < restart_s():
        tail = _("A restart takes longer than the job runs between failures: most restarts fail as well.")
    dearer = float(reading.usd[i] / reading.ideal_usd[i])
    extra = (
        _("Failures add {p} % to the cost of a token.").format(p=say_number(100 * (dearer - 1), 2))
        if dearer < 3
        else _("Failures make a token {k} × as dear.").format(k=say_number(dearer, 2))
    )
    return " ".join((_("One failure stops the job every {time}.").format(time=say_time(between)), tail, extra))


def cluster() -> Explorer:
    """Return the explorer: cluster size, failure rate and checkpoint time, to goodput and the cost of a token.

    >>> cluster().figure.layout.title.text.startswith("16,384 GPUs keep 90")
    True
    """
    return Explorer(
        read_cluster,
        _draw,
        question=_("What is left of a large cluster when parts fail?"),
        equation=_equation,
        sentence=_sentence,
        n_gpus=CountSlider(_("GPUs of the job"), GPUS[0], GPUS[-1], 16384, counts=GPUS, help=_("hosts of eight")),
        rate=Slider(
            _("failures in 1,000 host-days"),
            values=RATES,
            value=3.79,
            say=_say_rate,
            help=_("2.34 and 6.5 are Meta's two research clusters, 3.79 the Llama 3 run, 13.9 the OPT run"),
        ),
        save_s=Slider(
            _("standstill for a checkpoint"),
            values=STALLS,
            value=10.0,
            say=say_time,
            help=_("how long training stands still to save"),
        ),
    )


def _say_rate(rate: float) -> str:
    return say_number(rate, 3)
