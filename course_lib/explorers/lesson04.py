"""Lesson 04: a stepper over one's own schedule, proved, animated and timed as one object; a sweep beside the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import GiB, say_bytes, say_rate, say_time
from course_lib.comm.meaning import busbw_Bps
from course_lib.comm.proof import Proof, prove
from course_lib.comm.schedule import Schedule
from course_lib.comm.trace import Trace, trace
from course_lib.explorers.controls import Choice, SizeSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.explorers.stepper import Stepper
from course_lib.figures.busbw import measured_beside
from course_lib.figures.layoutparts import kind_word
from course_lib.figures.spacetime import spacetime
from course_lib.figures.stepbars import in_time
from course_lib.timing.place import topology_of
from course_lib.timing.stepped import Timing, stepped
from course_lib.timing.sweeps import Sweep, part, sweeps
from course_lib.timing.system import load
from course_lib.timing.timeline import Timeline, timeline
from course_lib.timing.tuning import Prediction, predict

SYSTEMS = (
    (_("eight H100, NVSwitch"), "dgx-h100"),
    (_("eight V100, cube mesh"), "dgx1-v100"),
    (_("eight GPUs, PCIe 4 tree"), "pcie4-box"),
)
LARGE_B = GiB


def time_of(schedule: Schedule, system: str = "dgx-h100") -> Timing:
    """Return the stepped time of a schedule on as many hosts of a system as hold its ranks.

    >>> from course_lib.comm import ring
    >>> round(time_of(ring.all_reduce(8)).time_s(2**30) * 1e3, 2)
    4.19
    """
    place = load(system)
    return stepped(schedule, topology_of(place, -(-schedule.n_ranks // place.gpus_per_host)))


@dataclass(frozen=True, slots=True, eq=False)
class Stepped:
    """What the stepper shows: the states, which of them, the proof, and the steps in time on the chosen system."""

    seen: Trace
    frame: int
    proof: Proof
    timed: Timeline
    fixed_s: float
    per_byte_s: float


def stepper(schedule: Schedule, *, ask: bool = False) -> Explorer:
    """Return the stepper over a schedule: step, message size and system; the same object is proved, animated and timed.

    With `ask` the learner first says how long it takes.

    Raises:
        CourseError: something that is no Schedule, or is too large for a picture.

    >>> from course_lib.comm import ring
    >>> shown = stepper(ring.all_reduce(8))
    >>> shown.set(step=14)
    >>> shown.figure.layout.title.text
    'After 14 of 14 steps, all 64 slots hold what they should'
    """
    if not isinstance(schedule, Schedule):
        raise CourseError(
            _("The stepper shows a Schedule, not a {kind}; build one with Schedule.from_transfers.").format(
                kind=type(schedule).__name__
            )
        )
    seen, proof = trace(schedule), prove(schedule)
    asked = _("How long does it take for {size} on {where}?").format(size=say_bytes(LARGE_B), where=SYSTEMS[0][0])
    times: dict[str, Timing] = {}

    def at(step: int, message_B: float, system: str) -> Stepped:
        if system not in times:
            times[system] = time_of(schedule, system)
        timing = times[system]
        return Stepped(seen, step, proof, timeline(timing, message_B), timing.fixed_s, timing.per_byte_s)

    return Explorer(
        at,
        lambda now: spacetime(now.seen, now.frame, now.timed),
        question=_("What does each step of this schedule move, and what does it cost?"),
        guess=Guess("04.stepper", asked, "ms", lambda: time_of(schedule).time_s(LARGE_B)) if ask else None,
        equation=_equation,
        sentence=_sentence,
        step=Stepper(_("step"), seen.frames, help=_("arrow keys, or play")),
        message_B=SizeSlider(_("message size"), 8, 2**34, LARGE_B),
        system=Choice(_("on"), SYSTEMS),
    )


def _equation(now: Stepped) -> tuple[str, str]:
    waiting, moving = float(now.timed.latency_s.sum()), float(now.timed.transfer_s.sum())
    return (
        _("time = latencies of {n} steps + bytes on the fullest link of each").format(n=now.timed.start_s.size),
        _("time = {a} + {b} = {all}").format(a=say_time(waiting), b=say_time(moving), all=say_time(now.timed.time_s)),
    )


def _in_words(link: str) -> str:
    """Return a link with the names that figures give to its ends; ends in several hosts keep theirs.

    >>> _in_words("nvswitch 0 → gpu 3"), _in_words("host 0 nic 1 → leaf 0")
    ('NVSwitch 0 → GPU 3', 'host 0 nic 1 → leaf 0')
    """
    words = []
    for end in link.split(" → "):
        kind, n = end.rsplit(" ", 1)
        if kind in ("nvswitch", "pcie-switch", "cpu"):
            end = f"{kind_word(kind, 1)} {n}"
        words.append(_("GPU {n}").format(n=n) if kind == "gpu" else end)
    return " → ".join(words)


def _sentence(now: Stepped) -> str:
    said = now.proof.sentence
    if not now.timed.time_s or not now.timed.message_B:
        return said
    if not now.proof.ok:
        return said + " " + _("Its time counts nothing until it is proved.")
    schedule, timed = now.seen.schedule, now.timed
    slowest = max(zip(timed.transfer_s.tolist(), timed.link))[1]
    rate = busbw_Bps(schedule.op, timed.message_B, timed.time_s, schedule.n_ranks)
    return (
        said
        + " "
        + _("{size} make a bus bandwidth of {rate}; the fullest link is {link}.").format(
            size=say_bytes(timed.message_B), rate=say_rate(rate), link=_in_words(slowest)
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """A published sweep beside two models, seconds per size.

    `ideal_s` is a schedule stepped on the wires alone, `predicted` the predictor with fitted constants; `unseen`: no constant
    was fitted with this sweep.
    """

    sweep: Sweep
    unseen: bool
    ideal_s: NDArray[np.float64]
    predicted: Prediction

    def busbw_Bps(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bus bandwidths of the sweep's sizes for these times."""
        return busbw_Bps(self.sweep.op, self.sweep.message_B, time_s, self.sweep.n_ranks)


def beside(name: str, schedule: Schedule) -> Beside:
    """Return the published sweep of this name beside a schedule and the predictor.

    Raises:
        CourseError: no such sweep, or a schedule of another collective or number of ranks.

    >>> from course_lib.comm import ring
    >>> found = beside("m072", ring.all_reduce(8))
    >>> found.sweep.measured_on, found.unseen
    ('8x A100 node (NVLink3)', True)
    """
    sweep = next((one for one in sweeps() if one.name == name), None)
    if sweep is None:
        raise CourseError(_("There is no published sweep {name!r} in the package.").format(name=name))
    if (sweep.op, sweep.n_ranks) != (schedule.op, schedule.n_ranks):
        raise CourseError(
            _("The sweep is {a} on {n} ranks, the schedule {b} on {m}.").format(
                a=sweep.op, n=sweep.n_ranks, b=schedule.op, m=schedule.n_ranks
            )
        )
    ideal_s = stepped(schedule, topology_of(sweep.system, sweep.n_hosts)).time_s(sweep.message_B)
    column = "training" if part(sweep) == "judging" else "shipped"
    predicted = predict(sweep.op, sweep.message_B, sweep.system, sweep.n_ranks, n_hosts=sweep.n_hosts, column=column)
    return Beside(sweep, part(sweep) == "judging", ideal_s, predicted)


def side_by_side(schedules: Sequence[Schedule], message_B: float, system: str = "dgx-h100") -> go.Figure:
    """Return schedules along one time axis, each step for one message on a system.

    >>> from course_lib.comm import ring
    >>> side_by_side([ring.all_reduce(8)], 0).layout.title.text.replace("<br>", " ")
    'ring: 14 steps, 14 µs of latency and 0 s of bytes, 14 µs in all'
    """
    return in_time([one.name for one in schedules], [timeline(time_of(one, system), message_B) for one in schedules])


def sweep_figure(found: Beside) -> go.Figure:
    """Return the bus bandwidth of a published sweep over size, with both models and the rate of one GPU's link.

    >>> from course_lib.comm import ring
    >>> sweep_figure(beside("m072", ring.all_reduce(8))).layout.title.text.replace("<br>", " ")
    '8x A100 node (NVLink3): the bus bandwidth reaches 235 GB/s on links of 300 GB/s'
    """
    sweep = found.sweep
    rates = (found.busbw_Bps(time_s) for time_s in (sweep.time_s, found.ideal_s, found.predicted.time_s))
    return measured_beside(sweep.message_B, *rates, sweep.system.scale_up.bandwidth_Bps, where=sweep.measured_on)
