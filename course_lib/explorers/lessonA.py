"""Lesson A: choose a log or paste one and see the verdict and the causes; real collectives beside the model."""

from dataclasses import dataclass
from functools import lru_cache

import ipywidgets as widgets
import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_share, say_time
from course_lib.explorers.controls import Choice, Control
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.figures import diagnosis
from course_lib.figures.base import capital
from course_lib.figures.measuredrace import Timed, measured_race
from course_lib.machine import examples
from course_lib.machine.diagnose import diagnose
from course_lib.machine.measuring.beside import Comparison, compare
from course_lib.machine.measuring.run import ALGORITHMS, Measurement, measure
from course_lib.machine.records import CANNOT_TELL, FINDING, HEALTHY, Report
from course_lib.machine.say import share_at_the_end, with_verdict
from course_lib.timing import system as systems

AS_THE_LOG_SAYS = ""
MOST_CHARACTERS = 4_000_000  # of a pasted text; a file of any length goes to `interconnect diagnose`
_TABLES = 4


@dataclass(frozen=True)
class Paste(Control):
    """A box for several lines of text; it counts when the box is left."""

    value: str = ""

    def build(self) -> widgets.Textarea:
        """Return a Textarea."""
        return widgets.Textarea(
            value=self.value,
            description=self.label,
            placeholder=_("paste a whole output here"),
            continuous_update=False,
            rows=4,
            tooltip=self.help or self.label,
        )

    def read(self, widget: widgets.Textarea) -> str:
        """Return the text, unless it is too long for a box."""
        if len(widget.value) > MOST_CHARACTERS:
            raise CourseError(_("That is a long log: give its file to `interconnect diagnose` in a terminal."))
        return widget.value


@lru_cache(maxsize=32)
def report(log: str, system: str = AS_THE_LOG_SAYS, paste: str = "") -> Report:
    """Return what the diagnosis says about an example log, or about a pasted text where there is one.

    >>> report("slow-box").status
    'finding'
    """
    text = paste if paste.strip() else examples.text(log)
    return diagnose(text.encode("utf-8", "replace"), system=system or None, names=[_("the log")])


def say_verdict(found: Report) -> str:
    """Return the verdict as one word.

    >>> say_verdict(report("box"))
    'healthy'
    """
    return {HEALTHY: _("healthy"), FINDING: _("finding"), CANNOT_TELL: _("cannot tell")}[found.status]


def picture(found: Report):
    """Return the picture of a report: its first sweep, else its tables of pairs, else its sentences.

    >>> len(picture(report("peers")).data)
    4
    """
    title = capital(with_verdict(say_verdict(found), _short(found.headline)))
    for one in found.sweeps:
        good = one.busbw_Bps is not None and (one.busbw_Bps > 0).all()
        if good:
            return diagnosis.sweep(
                one.message_B, one.busbw_Bps, one.expected_busbw_Bps, odd=one.dips, title=title, where=one.system or ""
            )
    tables = [(t.name or t.title, t.values) for reading in found.readings for t in _matrices(reading)][:_TABLES]
    if tables:
        names, values = zip(*tables, strict=True)
        return diagnosis.pairs(names, values, title=title)
    said = [*found.paste, *found.notes] or [one.text for one in (*found.findings, *found.causes)]
    return diagnosis.words(title, said[:6])


def _matrices(reading) -> list:
    kept = [
        *(reading.p2p.matrices if reading.p2p else ()),
        *(reading.nvbandwidth.matrices if reading.nvbandwidth else ()),
    ]
    return [t for t in kept if t.quantity == "bandwidth" and np.ndim(t.values) == 2]


def _short(text: str, most: int = 150) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + " …"


def _sentence(found: Report) -> str:
    if not found.causes:
        said = [f.text for f in found.findings[1:3]] or [*found.paste[:1], *found.notes[:1]]
        return " ".join(_sentence_end(s) for s in said) or _("Nothing more to say.")
    first = found.causes[0]
    text = _("The likeliest of {n}: {cause} Why: {why}. The test: {test}")
    return text.format(
        n=len(found.causes), cause=_sentence_end(first.text), why=first.because.rstrip("."), test=first.test
    )


def _sentence_end(text: str) -> str:
    return text[:1].upper() + (text[1:] if text.endswith("。") else text[1:].rstrip(".") + ".")


def _equation(found: Report) -> tuple[str, str]:
    for one in found.sweeps:
        if one.ratio is not None:
            k = int(one.ratio.size - 1)
            numbers = _("{size}: {measured:.4g} GB/s ÷ {expected:.4g} GB/s = {share}").format(
                size=say_bytes(float(one.message_B[k])), measured=float(one.busbw_Bps[k]) / 1e9,
                expected=float(one.expected_busbw_Bps[k]) / 1e9, share=say_share(float(one.ratio[k])),
            )  # fmt: skip
            end = share_at_the_end(one)
            if end is not None:
                numbers += _("; median of the largest sizes: {share}").format(share=say_share(end))
            return _("share = measured ÷ expected bus bandwidth"), numbers
    return _("share = measured ÷ expected bus bandwidth"), _("no expectation for this log")


def read_a_log() -> Explorer:
    """Return the explorer of lesson A: a log, or a pasted one, and its verdict."""
    options = tuple((example.title, name) for name, example in examples.EXAMPLES.items())
    names = ((_("as the log says"), AS_THE_LOG_SAYS), *((name, name) for name in systems.names()))
    return Explorer(
        report,
        picture,
        question=_("Is this machine healthy, and if not, what is it consistent with?"),
        guess=Guess(
            "A.as-a100",
            _(
                "Judged as a DGX A100, what share of the expected bus bandwidth does the healthy box of H100 reach at 8 GiB?"
            ),
            unit="%",
            truth=lambda: 100 * float(report("box", "dgx-a100").sweeps[0].ratio[-1]),
        ),
        equation=_equation,
        sentence=_sentence,
        log=Choice(_("log"), options, "box"),
        system=Choice(_("judge as"), names, AS_THE_LOG_SAYS),
        paste=Paste(_("or paste one")),
    )


def measured_here(run: bool, seconds: float = 40.0, n_ranks: int = 4) -> Measurement:
    """Measure on this computer if `run`, else return the measurement that comes with the course.

    Where it cannot be run (no mpi4py), a sentence says what to install, and the shipped one is returned.

    >>> measured_here(False).n_ranks
    4
    """
    if not run:
        return examples.measurement()
    names = (*ALGORITHMS[:2], "double-tree", *ALGORITHMS[2:])
    try:
        with _Bar() as bar:
            return measure("all_reduce", n_ranks, names, seconds=seconds, progress=bar)
    except CourseError as error:
        print(_("{why} Here is the measurement that comes with the course.").format(why=error))
        return examples.measurement()


class _Bar:
    """A progress bar in the notebook."""

    def __enter__(self):
        from IPython.display import display

        self.bar = widgets.FloatProgress(min=0, max=1, layout={"width": "60%"})
        self.words = widgets.Label()
        display(widgets.HBox([self.bar, self.words]))
        return self

    def __call__(self, share: float, words: str) -> None:
        self.bar.value, self.words.value = share, words

    def __exit__(self, *_error) -> None:
        self.bar.close()
        self.words.close()


def where(measured: Measurement) -> str:
    """Return what a measurement ran on, in a few words.

    >>> where(examples.measurement()).startswith("4 processes on 2 cores")
    True
    """
    return _("{n} processes on {cores} cores, {processor}").format(
        n=measured.n_ranks, cores=measured.machine["cores"], processor=measured.machine["processor"]
    )


def race_picture(measured: Measurement, first: str = "ring", second: str = "tree"):
    """Return two measured algorithms beside what the others predict.

    >>> len(race_picture(examples.measurement()).data)
    8
    """
    found = compare(measured, (first, second))
    rows = {row.algorithm: row for row in found.algorithms}
    both = []
    for name in (first, second):
        points = sorted((p for p in measured.points if p.algorithm == name and not p.wrong), key=lambda p: p.message_B)
        low, high = (np.array(v) for v in zip(*(p.quartiles_s for p in points), strict=True))
        row = rows[name]
        predicted = row.model_s if row.others_s is None else row.others_s
        both.append(Timed(name, row.message_B, row.time_s, low, high, predicted))
    return measured_race(both, crossing_B=found.race.predicted_crossing_B, where=where(measured))


def offs(found: Comparison) -> list[str]:
    """Return for every algorithm how far its line, and the others' prediction, are from what was measured (medians).

    >>> len(offs(compare(examples.measurement())))
    5
    """
    return [
        _("{name}: α = {a}, its line is off by {line} %, the others' prediction by {others} %").format(
            name=row.algorithm,
            a=say_time(row.line.latency_s),
            line=say_number(100 * row.line_off, 2),
            others="–" if row.others_off is None else say_number(100 * row.others_off, 2),
        )
        for row in found.algorithms
    ]
