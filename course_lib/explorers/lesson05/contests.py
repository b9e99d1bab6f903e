"""Lesson 05's explorer: which all-reduce is the quickest on a system, over message size and ranks."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from threading import Thread

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.explorers.ahead import in_background
from course_lib.explorers.controls import Choice, CountSlider, SizeSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.algorithms import contest_figure
from course_lib.timing.contest import Contest, contest
from course_lib.timing.tuning import Prediction, predict

SIZES = 2.0 ** np.arange(3, 34.5, 0.5)
COUNTS = (2, 3, 4, 6, 8, 12, 16, 32, 64, 72, 128)
# What is shown, the system, and the colour of its links inside a domain.
SYSTEMS = {
    "dgx-h100": (_("H100 boxes of 8, switch adds"), "nvlink"),
    "dgx-h100-sharp": (_("H100 boxes of 8, network adds too"), "nvlink"),
    "dgx-a100": (_("A100 boxes of 8, nothing adds"), "nvlink"),
    "gb200-nvl72": (_("GB200 racks of 72, switch adds"), "nvlink"),
    "mi300x": (_("MI300X boxes of 8, no switch"), "nvlink"),
    "dgx1-v100": (_("V100 boxes of 8, cube mesh"), "nvlink"),
    "pcie4-box": (_("boxes of 8 on PCIe 4"), "pcie"),
}
WHO = ((_("what a library weighs"), True), (_("every algorithm"), False))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What the explorer shows: a contest, the marked message, and the times there, (a,)."""

    found: Contest
    message_B: float
    at_s: np.ndarray
    role: str

    @property
    def best(self) -> int:
        """The place of the quickest of those that take part at the marked message."""
        part = np.array([name in self.found.taking_part for name in self.found.names])
        return int(np.argmin(np.where(part, self.at_s, np.inf)))


@cache
def price_ahead() -> Thread | None:
    """Price in the background every contest that can be chosen, two seconds of work, so that every choice answers at once.

    Returns the thread; None where there are no threads: a contest is priced there when it is chosen.

    >>> price_ahead() is price_ahead()
    True
    """
    return in_background(contest_once(*one) for one in product(SYSTEMS, COUNTS, (True, False)))


@cache
def contest_once(system: str, n_ranks: int, library_only: bool) -> Contest:
    """Return a contest over all sizes of the explorer, priced when it is first asked for.

    >>> contest_once("dgx-h100", 8, True).taking_part
    ('ring', 'in the switch')
    """
    return contest(system, n_ranks, SIZES, library_only=library_only)


def race(n_ranks: int, message_B: float, system: str, library_only: bool) -> Reading:
    """Return the contest on a system, with the times of one message.

    >>> now = race(8, 2.0**30, "dgx-h100", True)
    >>> now.found.names[now.best], now.found.taking_part
    ('in the switch', ('ring', 'in the switch'))
    """
    found = contest_once(system, n_ranks, library_only)
    at = np.array([np.exp(np.interp(np.log(message_B), np.log(SIZES), np.log(row))) for row in found.time_s])
    inside = found.n_hosts <= found.system.hosts_per_domain
    return Reading(found, float(message_B), at, SYSTEMS[system][1] if inside else "network")


def ring_tree_or_switch() -> Explorer:
    """Return the explorer of the lesson: ranks, message, system, and who takes part.

    >>> shown = ring_tree_or_switch()
    >>> shown.set(system="dgx-a100")
    >>> shown.figure.layout.title.text
    '8 GPUs: ring is the only one that takes part'
    """
    explorer = Explorer(
        race,
        lambda now: contest_figure(now.found, now.message_B, role=now.role),
        question=_("Which algorithm is the quickest, for which message, on how many GPUs?"),
        equation=_equation,
        sentence=_sentence,
        n_ranks=CountSlider(_("GPUs"), 2, 128, 8, counts=COUNTS),
        message_B=SizeSlider(_("marked message"), 8, 2**34, 2**20),
        system=Choice(_("on"), tuple((text, name) for name, (text, _role) in SYSTEMS.items())),
        library_only=Choice(_("takes part"), WHO),
    )
    price_ahead()
    return explorer


def _at(now: Reading) -> Prediction:
    return predict("all_reduce", now.message_B, now.found.system, now.found.n_ranks)


def _equation(now: Reading) -> tuple[str, str]:
    p = _at(now)
    parts = sorted((term for term in p.terms.items() if term[1] > 1e-3 * p.time_s), key=lambda term: -term[1])
    return (
        _("time of the library's choice = {names}").format(names=" + ".join(_(name) for name, _s in parts)),
        f"{say_time(p.time_s)} = {' + '.join(say_time(s) for _name, s in parts)}",
    )


def _sentence(now: Reading) -> str:
    found, p, i = now.found, _at(now), now.best
    last = int(np.argmax(now.at_s))
    first = _("{size} on {n} GPUs ({hosts}): {best} takes {time}").format(
        size=say_bytes(now.message_B),
        n=found.n_ranks,
        hosts=_("one host") if found.n_hosts == 1 else _("{n} hosts").format(n=found.n_hosts),
        best=_(found.names[i]),
        time=say_time(float(now.at_s[i])),
    )
    ratio = float(now.at_s[last] / now.at_s[i])
    if ratio > 1.005:
        first += _(", {worst} {ratio} × as long").format(
            worst=_(found.names[last]), ratio=say_number(ratio, 3 if ratio < 2 else 2)
        )
    return (
        first
        + ". "
        + _("A library takes {algorithm} with the protocol {protocol}: bus bandwidth {rate}.").format(
            algorithm=_(p.algorithm), protocol=p.protocol, rate=say_rate(p.busbw_Bps)
        )
    )
