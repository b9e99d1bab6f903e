"""Lesson 07: the explorer of a pipeline's timeline, and two tables in words: who sends what, and a cut between hosts."""

from dataclasses import dataclass
from functools import lru_cache

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures import timeline as pictures
from course_lib.plan.crossing import Cut, Group
from course_lib.plan.orders import make
from course_lib.plan.pipeline import Timeline, in_flight, run

STAGES, MICROS, CHUNKS = (2, 4, 8), (1, 2, 4, 8, 16, 32), (1, 2, 4)


def names() -> dict[str, str]:
    """Return the schedules' names as people write them.

    >>> names()["1f1b"]
    '1F1B'
    """
    return {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved": _("Interleaved"), "zero-bubble": _("Zero-bubble")}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: a schedule's timeline; `chunks` is what was asked for, which only interleaving uses."""

    schedule: str
    chunks: int
    timeline: Timeline

    @property
    def sends(self) -> int:
        """Hand-offs that a stage in the middle sends in a step, both ways together."""
        return 2 * self.timeline.v * self.timeline.m


@lru_cache(maxsize=64)
def read_timeline(p: int, m: int, v: int, schedule: str) -> Reading:
    """Return the timeline of a schedule with p stages, m micro-batches, and v chunks where the schedule has chunks.

    Forward takes 1, backward 2, hand-offs nothing. Raises CourseError where m is no multiple of p and the schedule needs it.

    >>> read_timeline(4, 8, 2, "interleaved").timeline.step_s
    28.5
    """
    return Reading(schedule, v, run(make(schedule, p, m, v if schedule == "interleaved" else 1)))


def _draw(reading: Reading):
    return pictures.pipeline(reading.timeline, name=names()[reading.schedule])


def _equation(reading: Reading) -> tuple[str, str]:
    t, p, m, v = reading.timeline, reading.timeline.p, reading.timeline.m, reading.timeline.v
    ideal, step = (say_number(100 * b, 3) for b in (t.bubble_of_ideal, t.bubble_of_step))
    if reading.schedule == "zero-bubble":
        return (
            _("bubble = (step − ideal) ÷ ideal;  of the step: (step − ideal) ÷ step"),
            _("({step} − {ideal_t}) ÷ {ideal_t} = {a} % of the ideal time;  {b} % of the step").format(
                step=say_number(t.step_s, 4), ideal_t=say_number(float(t.busy_s.max()), 4), a=ideal, b=step
            ),
        )
    if reading.schedule == "interleaved":
        return (
            _("bubble = (p − 1) ÷ (v·m) of the ideal time = (p − 1) ÷ (v·m + p − 1) of the step"),
            f"{p - 1} ÷ {v * m} = {ideal} %;  {p - 1} ÷ {v * m + p - 1} = {step} %",
        )
    return (
        _("bubble = (p − 1) ÷ m of the ideal time = (p − 1) ÷ (m + p − 1) of the step"),
        f"{p - 1} ÷ {m} = {ideal} %;  {p - 1} ÷ {m + p - 1} = {step} %",
    )


def _sentence(reading: Reading) -> str:
    t = reading.timeline
    said = _(
        "The step takes {t} where computing alone takes {ideal}. A stage in the middle sends {n} hand-offs."
    ).format(t=say_number(t.step_s, 4), ideal=say_number(float(t.busy_s.max()), 4), n=reading.sends)
    if t.m == 1:
        more = _("One micro-batch: only one stage works at any time.")
    elif t.m < t.p:
        more = _("Fewer micro-batches than stages: there is never a moment when all work.")
    elif in_flight(t)[0] == t.m:
        more = _("The first stage holds every micro-batch of the step.")
    else:
        more = _("The first stage holds {h} of {m} micro-batches.").format(
            h=say_number(float(in_flight(t)[0]), 3), m=t.m
        )
    if reading.schedule != "interleaved" and reading.chunks > 1:
        more += " " + _("Chunks change nothing here: only the interleaved schedule has more than one.")
    return f"{said} {more}"


def pipeline_timeline() -> Explorer:
    """Return the explorer: stages, micro-batches, chunks and schedule to a timeline.

    >>> pipeline_timeline().figure.layout.title.text[:11]
    'Interleaved'
    """
    return Explorer(
        read_timeline,
        _draw,
        question=_("How much of a step do the stages wait, and how much do they hold?"),
        equation=_equation,
        sentence=_sentence,
        p=CountSlider(_("stages p"), 2, 8, 4, counts=STAGES),
        m=CountSlider(_("micro-batches m"), 1, 32, 8, counts=MICROS),
        v=CountSlider(_("chunks v of a stage"), 1, 4, 2, counts=CHUNKS, help=_("interleaved only")),
        schedule=Choice(_("schedule"), tuple((text, name) for name, text in names().items()), "interleaved"),
    )


def said_groups(groups: "tuple[Group, ...]") -> str:
    """Return a line for each group of a plan: how often a GPU of it communicates in a step, and what it sends.

    >>> print(said_groups((Group("data", 8, "all_reduce", 1, 1e9, 1.75e9),)))
    data       8 ranks      1 × all_reduce of 1 GB; a GPU sends 1.75 GB in a step
    """
    form = _("{name:<9}{n:>3} ranks {count:>6,} × {op} of {size}; a GPU sends {sent} in a step")
    return "\n".join(
        form.format(
            name=g.name,
            n=g.n_ranks,
            count=g.count,
            op=g.op,
            size=say_bytes(g.message_B),
            sent=say_bytes(float(f"{g.sent_B:.3g}")),
        )
        for g in groups
    )


def said_cuts(cuts: "tuple[Cut, ...]") -> str:
    """Return a line for each way of spreading a model over hosts: how often it waits for the network, for how long, for what.

    >>> print(said_cuts((Cut("staged", 7, 16384.0, 2e-5, 1.6e-5),)))
    staged: 7 × 16 KiB at 20 µs = 140 µs; 80 % of it is latency
    """
    form = _("{name}: {n} × {size} at {each} = {all}; {share} % of it is latency")
    return "\n".join(
        form.format(
            name=c.name,
            n=c.count,
            size=say_bytes(c.message_B),
            each=say_time(c.each_s),
            all=say_time(c.total_s),
            share=say_number(100 * c.latency_share, 2),
        )
        for c in cuts
    )
