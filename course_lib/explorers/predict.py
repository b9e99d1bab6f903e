"""Predict: the learner commits to a number before the lesson answers, and meets it again beside the model's answer.

In a lesson: `predict("01.p1", _("How long does 1 MB take over PCIe 5?"), unit="µs")` shows a box; later
`compare("01.p1", time_s(1e6, …))` returns the sentence. Both work without any input (Run All): nothing is kept, nothing fails.
"""

import html

import ipywidgets as widgets

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.explorers import answers, page


class Predict:
    """A question with a box for a number in `unit`, and the learner's first answer if there is one."""

    def __init__(self, name: str, question: str, unit: str = "", truth=None):
        self.name, self.question, self.unit, self.truth = name, question, unit, truth
        self.message = ""
        self._box = widgets.Text(description=question, placeholder=f"… {unit}".strip())
        self._button = widgets.Button(description=_("commit"), tooltip=_("keep this prediction"))
        self._said = widgets.HTML()
        self._button.on_click(lambda _button: self.commit(self._box.value))
        row = widgets.HBox([self._box, self._button, self._said])
        row.add_class("ic-guess")
        self.widget = widgets.VBox([widgets.HTML(page.style(page.CSS + page.LIVE_CSS)), row])
        self.widget.add_class("ic-explorer")
        before = answers.kept(name)
        if before is not None:
            self._box.value = str(before.get("text", ""))
            self._closed(before["value"])

    def commit(self, text: str) -> None:
        """Keep the typed prediction; what cannot be read is said beside the box."""
        try:
            value = answers.read(text, self.unit)
        except CourseError as error:
            self._say(str(error))
            return
        answers.keep(self.name, value, text, self.unit)
        self._closed(value)

    def _closed(self, value: float) -> None:
        self._box.disabled = self._button.disabled = True
        if self.truth is None:
            self._say(_("Kept: {guess}. The lesson comes back to it.").format(guess=answers.say(value, self.unit)))
        else:
            self._say(answers.verdict(value, float(self.truth()), self.unit))

    def _say(self, text: str) -> None:
        self.message = text
        self._said.value = html.escape(text)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        text = _("Predict: {question} (run this cell to answer)").format(question=self.question)
        first = f'{page.style(page.DEAD_CSS)}<div class="ic-snapshot">{html.escape(text, quote=False)}</div>'
        display({"text/html": first, "text/plain": text}, raw=True)
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        display(
            {"application/vnd.jupyter.widget-view+json": view, "text/html": "<span></span>", "text/plain": ""}, raw=True
        )


def predict(name: str, question: str, unit: str = "", truth=None) -> Predict:
    """Return a prediction box for the end of a cell; `name` ("01.p1") is under which the answer is kept.

    `unit` ("µs", "GB/s", "MB", "×") is what a bare number means; "40 us" in any unit of the same kind works. With `truth`, a function
    without arguments that returns SI units, the answer is compared at once; else `compare` does it later.

    >>> predict("00.example", "How long?", unit="µs").message
    ''
    """
    return Predict(name, question, unit, truth)


def compare(name: str, truth: float, unit: str | None = None) -> str:
    """Return the sentence that sets the learner's prediction beside the model's answer (SI units); prints nothing, never fails for want of one.

    >>> compare("00.never-asked", 12e-6, "µs")
    'There is no prediction of yours yet; the model says 12 µs.'
    """
    truth = finite(_("the model's answer"), truth)
    record = answers.kept(name)
    shown = unit if unit is not None else (record or {}).get("unit", "")
    if record is None:
        return _("There is no prediction of yours yet; the model says {truth}.").format(truth=answers.say(truth, shown))
    return answers.verdict(record["value"], truth, shown)
