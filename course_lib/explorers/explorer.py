"""Explorer: controls, a model and a figure joined; every explorer of the course is one call of this class.

Recipe (one small module per notebook, `course_lib/explorers/lesson02.py`, with a function that returns the explorer):

    from course_lib.explorers.controls import Choice, CountSlider, RateSlider, SizeSlider, TimeSlider, Toggle, Number
    from course_lib.explorers.explorer import Explorer, Guess

    def latency_or_bandwidth() -> Explorer:
        return Explorer(
            compute,                      # compute(latency_s, bandwidth_Bps) -> result; the model, no drawing
            draw,                         # draw(result) -> go.Figure made with figures.base (or a figure function)
            question=_("From which size on is the link half used?"),
            guess=Guess("02.half", _("Half-size at 10 µs and 50 GB/s?"), unit="KB", truth=lambda: half_size_B(10e-6, 50e9)),
            equation=lambda result: ("m½ = α · β", f"m½ = {…} · {…} = {…}"),
            sentence=lambda result: _("At {size} …").format(size=…),
            latency_s=TimeSlider(_("latency"), 1e-7, 1e-3, 1e-5),        # controls are named after compute's parameters
            bandwidth_Bps=RateSlider(_("bandwidth, one direction"), 1e9, 1e12, 50e9),
        )

In the notebook: `latency_or_bandwidth()` as the last line of a cell. `draw`, `equation` and `sentence` may also take a second
argument, the dict of the control values. At most three controls or so. `guess=None` leaves the guess out; with one, the controls are
locked until the learner has committed (the prediction is kept, so a second run is open). `.values`, `.figure`, `.set(name=value)`,
`.snapshot()` and `.message` are for tests. What the explorer does by itself: merges fast events, says errors and prints in words
beside the figure and marks it stale, follows the light or dark theme, offers the table, a description and a reset, and leaves
a snapshot in the saved notebook.
"""

import contextlib
import gc
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.explorers import page
from course_lib.explorers.controls import Control
from course_lib.explorers.frontend import live_or_note
from course_lib.explorers.merge import Merger
from course_lib.explorers.model import Model, Picture, check_names
from course_lib.explorers.predict import Predict
from course_lib.explorers.stepper import Stepper
from course_lib.explorers.view import View
from course_lib.figures.show import bundle
from course_lib.figures.theme import theme, themed


@dataclass(frozen=True, slots=True)
class Guess:
    """A prediction that the learner commits to before the controls open; `truth()` is the model's answer in SI units."""

    id: str
    question: str
    unit: str = ""
    truth: Callable[[], float] | None = None


class Explorer:
    """Controls → `compute(**values)` → `draw(result)`, shown together; see the module for the recipe.

    Raises CourseError where a control is not named after a parameter of `compute`.

    >>> from course_lib.explorers.controls import CountSlider
    >>> from course_lib.figures.base import base_figure, describe, line, linear_axis
    >>> def draw(n):
    ...     return base_figure([line([0, n], [0, n])], title=f"A line to {n}", xaxis=linear_axis("x"), yaxis=linear_axis("y"),
    ...                        meta=describe(f"a line to {n}", ["n"], [[n]]))
    >>> explorer = Explorer(lambda n: 2 * n, draw, question="How far?", n=CountSlider("GPUs", 1, 8, 4))
    >>> explorer.set(n=8)
    >>> explorer.figure.layout.title.text
    'A line to 16'
    """

    def __init__(
        self,
        compute: Callable,
        draw: Callable[..., go.Figure],
        *,
        question: str = "",
        guess: Guess | None = None,
        equation: Callable | None = None,
        sentence: Callable | None = None,
        **controls: Control,
    ):
        check_names(compute, controls)
        self._model = Model(compute, draw, equation, sentence)
        self._controls = controls
        self.question, self.guess = question, guess
        self.updates = 0
        self._theme: str | None = None
        self._quiet = False
        self._merger = Merger(self._update)
        self.view = View(controls)
        self.view.on_change(self._changed, self.reset, self._switch_ground)
        self.asked = self._ask()
        self.widget = self.view.laid_out(question, [self.asked.row] if self.asked else [])
        self._update()
        _settle()

    def _ask(self) -> Predict | None:
        """Return the box of the guess; the controls are locked until there is one (one that was kept earlier opens them)."""
        if self.guess is None:
            return None
        wait = _("The controls open when you commit to a guess.")
        self.view.lock(True)
        g = self.guess
        return Predict(g.id, g.question, g.unit, g.truth, opened=lambda: self.view.lock(False), waiting=wait)

    def commit(self, text: str) -> None:
        """Commit a guess as the learner would."""
        if self.asked is not None:
            self.asked.commit(text)

    # What it shows

    @property
    def figure(self) -> go.Figure | None:
        """The figure on the page, None before there is one."""
        return self.view.figure

    @property
    def message(self) -> str:
        """What is said beside the figure; "" where nothing went wrong."""
        return self.view.message

    @property
    def stale(self) -> bool:
        """Whether the figure belongs to other values than the controls have."""
        return self.view.stale

    def picture(self, values: dict, grounds: tuple[str, ...] = ()) -> Picture:
        """Return what is shown for these values of the model, without a widget; see `Model.picture`."""
        return self._model.picture(values, grounds)

    # What happens on a change

    @property
    def values(self) -> dict:
        """The values of the controls as the model gets them; raises CourseError where one cannot be read."""
        return {name: self._controls[name].read(widget) for name, widget in self.view.inputs.items()}

    @property
    def controls(self) -> dict[str, Control]:
        """The controls by name."""
        return dict(self._controls)

    def set(self, **values) -> None:
        """Set controls by name; the figure follows at once."""
        unknown = set(values) - set(self._controls)
        if unknown:
            raise CourseError(
                _("There is no control {name}; there are: {names}.").format(
                    name=sorted(unknown)[0], names=", ".join(self._controls)
                )
            )
        self._quiet = True
        try:
            for name, value in values.items():
                self._controls[name].write(self.view.inputs[name], value)
        finally:
            self._quiet = False
        self._update()

    def reset(self) -> None:
        """Set every control back to its start."""
        self.set(**{name: control.start() for name, control in self._controls.items()})

    def _changed(self, _change) -> None:
        if not self._quiet:
            self._merger.event()

    def _switch_ground(self) -> None:
        self._theme = "light" if (self._theme or theme().name) == "dark" else "dark"
        self._update()

    def _update(self) -> None:
        """Read the controls, ask the model, draw; say in words what goes wrong, and keep the last good picture, marked stale."""
        self.updates += 1
        printed = io.StringIO()
        try:
            # the theme of the page is read from a file: once for a picture, not for each of its colours
            with contextlib.redirect_stdout(printed), themed(self._theme or theme().name):
                values = self.values
                self._fit_steppers(values)
                made = self.picture(values)
                formula = page.equation(*made.equation) if made.equation else ""
                said = page.block("sentence", made.sentence, live=True)
        except Exception as error:
            self._fail(error, printed.getvalue())
            return
        self.view.show(made.figures[0], formula, said)
        self.view.say(_("The model printed:") if printed.getvalue() else "", printed.getvalue().rstrip())
        self.view.mark_stale(False)

    def _fit_steppers(self, values: dict) -> None:
        for name, control in self._controls.items():
            if isinstance(control, Stepper):
                self._quiet = True
                try:
                    control.fit(self.view.inputs[name], values)
                finally:
                    self._quiet = False
                values[name] = control.read(self.view.inputs[name])

    def _fail(self, error: Exception, printed: str) -> None:
        words = in_words(error)
        hint = (
            _("The figure shows the last values that worked.")
            if self.figure is not None
            else _("There is no figure for these values.")
        )
        parts = [words, hint, _("The model printed: {text}").format(text=printed.rstrip()) if printed else ""]
        self.view.say(_("These values do not work."), "\n".join(part for part in parts if part))
        self.view.mark_stale(True)

    # How a notebook shows and keeps it

    def snapshot(self) -> dict:
        """Return the explorer as it stands as a static mimebundle: the picture, its text and its numbers, without controls."""
        if self.figure is None:
            return {"text/html": self.view.note.value, "text/plain": self.message}
        return bundle(self.figure)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        live, note = live_or_note()
        first = page.snapshot_note(self.question, note)
        display({"text/html": first, "text/plain": note or _("An explorer: run this cell to make it live.")}, raw=True)
        if live:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
            display(
                {page.WIDGET_VIEW: view, "text/html": "<span></span>", "text/plain": ""},
                raw=True,
            )
        display(self.snapshot(), raw=True)


def in_words(error: Exception) -> str:
    """Return what is said of an error: a CourseError is a sentence already.

    >>> in_words(CourseError("Eight is too many.")), in_words(ValueError("too many"))
    ('Eight is too many.', 'ValueError: too many')
    """
    return str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"


@lru_cache(maxsize=1)
def _settle() -> None:
    """Set aside, once a kernel, what the imports made: a full collection would look at all of it, 100 ms in the middle of a drag."""
    gc.collect()
    gc.freeze()
