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
import html
import inspect
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets as widgets
import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.explorers import page
from course_lib.explorers.controls import Control
from course_lib.explorers.frontend import live_or_note
from course_lib.explorers.merge import Merger
from course_lib.explorers.predict import Predict
from course_lib.explorers.stepper import Stepper
from course_lib.figures.show import MIMETYPE, bundle, meta_of, spec, table_html, title_of
from course_lib.figures.theme import theme, themed


@dataclass(frozen=True, slots=True)
class Guess:
    """A prediction that the learner commits to before the controls open; `truth()` is the model's answer in SI units."""

    id: str
    question: str
    unit: str = ""
    truth: Callable[[], float] | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """What an explorer shows for one set of values: a figure for each ground, the equation (formula, numbers) and the sentence."""

    figures: tuple[go.Figure, ...]
    equation: tuple[str, str] | None
    sentence: str


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
        _check_names(compute, controls)
        self._compute, self._draw, self._equation, self._sentence = compute, draw, equation, sentence
        self._controls = controls
        self.question, self.guess = question, guess
        self.figure: go.Figure | None = None
        self.message = ""
        self.stale = False
        self.updates = 0
        self._theme: str | None = None
        self._quiet = False
        self._merger = Merger(self._update)
        self._build(question)
        self._update()
        _settle()

    # What the learner sees

    def _build(self, question: str) -> None:
        self._widgets = {name: control.build() for name, control in self._controls.items()}
        for name, widget in self._widgets.items():
            widget.add_class(f"ic-control-{name}")
            widget.observe(self._changed, names="value")
        self._head, self._formula, self._said, self._note = (widgets.HTML() for _i in range(4))
        self._more = {"table": widgets.HTML(), "description": widgets.HTML()}
        self._output = widgets.Output()
        self._output.add_class("ic-figure")
        buttons = {
            "table": widgets.ToggleButton(description=_("table"), tooltip=_("show the numbers of the figure")),
            "description": widgets.ToggleButton(description=_("description"), tooltip=_("say the figure in words")),
            "dark": widgets.Button(description=_("light / dark"), tooltip=_("draw the figure on the other ground")),
            "reset": widgets.Button(description=_("reset"), tooltip=_("set every control back")),
        }
        for name in ("table", "description"):
            buttons[name].observe(self._fill_more, names="value")
            self._more[name].add_class("ic-hide")
        buttons["reset"].on_click(lambda _button: self.reset())
        buttons["dark"].on_click(lambda _button: self._switch_ground())
        self._buttons = buttons
        controls = widgets.VBox(list(self._widgets.values()))
        controls.add_class("ic-controls")
        view = widgets.VBox([self._head, self._output, self._formula])
        view.add_class("ic-view")
        body = widgets.HBox([controls, view] if self._widgets else [view])
        body.add_class("ic-body")
        foot = widgets.HBox(list(buttons.values()))
        foot.add_class("ic-foot")
        asked = page.frame() + page.block("question", question)
        rest = [self._note, self._said, foot, *self._more.values()]
        self.widget = widgets.VBox([widgets.HTML(asked), *self._ask(), body, *rest])
        self.widget.add_class("ic-explorer")

    def _ask(self) -> list[widgets.Widget]:
        """Return the row of the guess; the controls are locked until there is one (one that was kept earlier opens them)."""
        self.asked = None
        if self.guess is None:
            return []
        wait = _("The controls open when you commit to a guess.")
        self._lock(True)
        g = self.guess
        self.asked = Predict(g.id, g.question, g.unit, g.truth, opened=lambda: self._lock(False), waiting=wait)
        return [self.asked.row]

    def _lock(self, locked: bool) -> None:
        for widget in self._widgets.values():
            widget.disabled = locked

    def commit(self, text: str) -> None:
        """Commit a guess as the learner would."""
        if self.asked is not None:
            self.asked.commit(text)

    # What happens on a change

    @property
    def values(self) -> dict:
        """The values of the controls as the model gets them; raises CourseError where one cannot be read."""
        return {name: self._controls[name].read(widget) for name, widget in self._widgets.items()}

    @property
    def controls(self) -> dict[str, Control]:
        """The controls by name."""
        return dict(self._controls)

    def picture(self, values: dict, grounds: tuple[str, ...] = ()) -> Picture:
        """Return what is shown for these values of the model, without a widget; one figure for each of `grounds`, or for the one in force.

        Whatever the model refuses is raised.
        """
        with themed(grounds[0] if grounds else theme().name):
            result = self._compute(**values)
            first = _call(self._draw, result, values)
            equation = tuple(map(punctuated, _call(self._equation, result, values))) if self._equation else None
            sentence = punctuated(_call(self._sentence, result, values)) if self._sentence else ""
        others = []
        for ground in grounds[1:]:
            with themed(ground):
                others.append(_call(self._draw, result, values))
        return Picture((first, *others), equation, sentence)

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
                self._controls[name].write(self._widgets[name], value)
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
        self._show(made.figures[0], formula, said)
        self._say(_("The model printed:") if printed.getvalue() else "", printed.getvalue().rstrip())
        self._mark_stale(False)

    def _fit_steppers(self, values: dict) -> None:
        for name, control in self._controls.items():
            if isinstance(control, Stepper):
                self._quiet = True
                try:
                    control.fit(self._widgets[name], values)
                finally:
                    self._quiet = False
                values[name] = control.read(self._widgets[name])

    def _show(self, figure: go.Figure, formula: str, said: str) -> None:
        self.figure = figure
        plain = spec(figure, titled=False)
        self._output.layout.min_height = f"{plain['layout'].get('height', 360)}px"
        alt, *_table = meta_of(figure)
        self._output.outputs = (
            {"output_type": "display_data", "metadata": {}, "data": {MIMETYPE: plain, "text/plain": alt}},
        )
        self._head.value = page.head(*title_of(figure)) + page.block("aloud", alt)
        self._formula.value, self._said.value = formula, said
        self._fill_more()

    def _fill_more(self, _change=None) -> None:
        """Fill the table and the description if they are open."""
        for name, widget in self._more.items():
            if self._buttons[name].value and self.figure is not None:
                alt, *_table = meta_of(self.figure)
                inner = table_html(self.figure) if name == "table" else f"<div>{html.escape(alt)}</div>"
                widget.value = f'<div class="ic-more" tabindex="0">{inner}</div>'  # it scrolls, so keys must reach it
                widget.remove_class("ic-hide")
            else:
                widget.add_class("ic-hide")

    def _fail(self, error: Exception, printed: str) -> None:
        words = in_words(error)
        hint = (
            _("The figure shows the last values that worked.")
            if self.figure is not None
            else _("There is no figure for these values.")
        )
        parts = [words, hint, _("The model printed: {text}").format(text=printed.rstrip()) if printed else ""]
        self._say(_("These values do not work."), "\n".join(part for part in parts if part))
        self._mark_stale(True)

    def _say(self, title: str, text: str) -> None:
        title, text = punctuated(title), punctuated(text)
        self.message = punctuated(f"{title} {text}".strip())
        self._note.value = page.message(title, text) if self.message else ""

    def _mark_stale(self, stale: bool) -> None:
        self.stale = stale
        (self.widget.add_class if stale else self.widget.remove_class)("ic-stale")

    # How a notebook shows and keeps it

    def snapshot(self) -> dict:
        """Return the explorer as it stands as a static mimebundle: the picture, its text and its numbers, without controls."""
        if self.figure is None:
            return {"text/html": self._note.value, "text/plain": self.message}
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


def _check_names(compute: Callable, controls: dict[str, Control]) -> None:
    parameters = inspect.signature(compute).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    names = [p.name for p in parameters]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    wrong = [name for name in controls if name not in names] + [name for name in needed if name not in controls]
    if wrong:
        raise CourseError(
            _(
                "{name} is a control or a parameter of the model, but not both. Controls: {controls}; parameters: {names}."
            ).format(name=wrong[0], controls=", ".join(controls), names=", ".join(names))
        )


def _call(function: Callable, result, values: dict):
    """Call function(result), or function(result, values) where it takes two."""
    positional = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    needed = [p for p in positional if p.default is p.empty]
    return function(result, values) if len(needed) >= 2 else function(result)
