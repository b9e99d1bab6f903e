"""Predict: the learner commits to a number before the lesson answers, and meets it again beside the model's answer.

In a lesson: `predict("01.p1", _("How long does 1 MB take over PCIe 5?"), unit="µs")` shows a box; later
`compare("01.p1", time_s(1e6, …))` returns the sentence. Both work without any input (Run All): nothing is kept, nothing fails.
"""

import html
import warnings
from collections.abc import Callable

import ipywidgets as widgets

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.explorers import answers, page


class Predict:
    """A question with a box for a number in `unit`, and the learner's first answer if there is one.

    `truth()` gives the model's answer in SI units for a comparison at once. `.row` is the widget without its frame, for explorers;
    `opened` is called when there is an answer, and `waiting` stands beside the box until then.
    """

    def __init__(
        self,
        name: str,
        question: str,
        unit: str = "",
        truth: Callable[[], float] | None = None,
        *,
        opened: Callable[[], None] | None = None,
        waiting: str = "",
    ):
        self.name, self.question, self.unit, self.truth, self._opened = name, question, unit, truth, opened
        self.message = ""
        self.value: float | None = None
        self._box = widgets.Text(description=question, placeholder=f"… {unit}".strip(), tooltip=question)
        self._button = widgets.Button(description=_("commit"), tooltip=_("keep this answer; the first one counts"))
        self._said = widgets.HTML()
        self._button.on_click(lambda _button: self.commit(self._box.value))
        with warnings.catch_warnings():  # the only way to hear Enter; ipywidgets calls it deprecated and keeps it
            warnings.simplefilter("ignore", DeprecationWarning)
            self._box.on_submit(lambda _box: self.commit(self._box.value))
        self.row = widgets.HBox([self._box, self._button, self._said])
        self.row.add_class("ic-guess")
        before = answers.kept(name)
        if before is None:
            self._say(waiting)
        else:
            self._box.value = str(before.get("text", ""))
            self._close(before["value"])

    def commit(self, text: str) -> None:
        """Keep the typed answer; what cannot be read is said beside the box."""
        if self.value is not None:
            return
        try:
            value = answers.read(text, self.unit)
        except CourseError as error:
            self._say(str(error))
            return
        answers.keep(self.name, value, text, self.unit)
        self._close(value)

    def _close(self, value: float) -> None:
        self.value = value
        self._box.disabled = self._button.disabled = True
        said = _("Kept: {guess}. The lesson comes back to it.").format(guess=answers.say(value, self.unit))
        if self.truth is not None:
            try:
                said = answers.verdict(value, float(self.truth()), self.unit)
            except CourseError as error:
                said = str(error)
        self._say(said)
        if self._opened is not None:
            self._opened()

    def _say(self, text: str) -> None:
        self.message = text
        self._said.value = (
            f'<div role="status" aria-live="polite">{html.escape(text, quote=False)}</div>' if text else ""
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display

        frame = widgets.VBox([widgets.HTML(page.frame()), self.row])
        frame.add_class("ic-explorer")
        note = _("Run this cell to answer.") + (f" {self.message}" if self.value is not None else "")
        display(
            {"text/html": page.snapshot_note(self.question, note), "text/plain": f"{self.question} {note}"}, raw=True
        )
        view = {"version_major": 2, "version_minor": 0, "model_id": frame.model_id}
        self._frame = frame
        display({page.WIDGET_VIEW: view, "text/html": "<span></span>", "text/plain": ""}, raw=True)


def predict(name: str, question: str, unit: str = "", truth: Callable[[], float] | None = None) -> Predict:
    """Return a prediction box for the end of a cell; `name` ("01.p1") is under which the answer is kept.

    `unit` ("µs", "GB/s", "MB", "×") is what a bare number means; "40 us" in any unit of the same kind works. With `truth`, a function
    without arguments that returns SI units, the answer is compared at once; else `compare` does it later.

    >>> predict("00.example", "How long?", unit="µs").message
    ''
    """
    return Predict(name, question, unit, truth)


def compare(name: str, truth: float, unit: str | None = None, who: str = "model") -> str:
    """Return the sentence that sets the learner's prediction beside the answer (SI units); it never fails for want of one.

    `who` has the answer: the "model", something "measured" or "counted", or the data "sheet".

    >>> compare("00.never-asked", 12e-6, "µs")
    'There is no prediction of yours yet; the model says 12 µs.'
    >>> compare("00.never-asked", 1.29, "×", "measured")
    'There is no prediction of yours yet; it was measured as 1.29 ×.'
    """
    truth = finite(_("the answer"), truth)
    record = answers.kept(name)
    shown = unit if unit is not None else (record or {}).get("unit", "")
    if record is None:
        return _("There is no prediction of yours yet; {answer}.").format(answer=answers.answer(truth, shown, who))
    return answers.verdict(record["value"], truth, shown, who)
