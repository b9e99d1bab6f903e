"""A stepper: back, play and forward, for explorers that walk through steps."""

from collections.abc import Callable
from dataclasses import dataclass

import ipywidgets as widgets

from course_lib.base.errors import whole
from course_lib.base.language import _
from course_lib.explorers.controls import Control


@dataclass(frozen=True)
class Stepper(Control):
    """A step 0 … n − 1 with back, forward and play buttons; arrow keys move it. `steps` is n, or tells it from the other values."""

    steps: int | Callable[[dict], int] = 2
    value: int = 0
    interval_ms: int = 700

    def build(self):
        """Return a slider with its buttons; `.value` is the step."""
        return StepBox(self)

    def fit(self, widget, values: dict) -> None:
        """Give the widget as many steps as there are for the other values."""
        if callable(self.steps):
            widget.set_steps(whole(_("steps"), self.steps(values), at_least=1))


class StepBox(widgets.VBox):
    """Slider, back, play and forward for a Stepper."""

    def __init__(self, control: Stepper):
        steps = control.steps if isinstance(control.steps, int) else max(control.value + 1, 2)
        self.slider = widgets.IntSlider(
            value=control.value,
            min=0,
            max=max(steps - 1, 0),
            description=control.label,
            tooltip=control.help or control.label,
        )
        self.play = widgets.Play(
            value=control.value, min=0, max=max(steps - 1, 0), interval=control.interval_ms, show_repeat=False
        )
        widgets.link((self.slider, "value"), (self.play, "value"))
        back = widgets.Button(description="◀", tooltip=_("one step back"), layout={"width": "40px"})
        on = widgets.Button(description="▶", tooltip=_("one step on"), layout={"width": "40px"})
        back.on_click(lambda _button: self._move(-1))
        on.on_click(lambda _button: self._move(1))
        self.buttons = (back, on)
        super().__init__([self.slider, widgets.HBox([back, on, self.play])])

    def _move(self, by: int) -> None:
        self.slider.value = min(max(self.slider.value + by, self.slider.min), self.slider.max)

    def set_steps(self, steps: int) -> None:
        """Set how many steps there are; the step stays where it is if it still exists."""
        if self.slider.max != steps - 1:
            self.slider.value = min(self.slider.value, steps - 1)
            self.slider.max = self.play.max = steps - 1

    @property
    def value(self) -> int:
        """The step."""
        return self.slider.value

    @value.setter
    def value(self, step: int) -> None:
        self.slider.value = step

    @property
    def disabled(self) -> bool:
        """Whether the control is locked."""
        return self.slider.disabled

    @disabled.setter
    def disabled(self, locked: bool) -> None:
        for widget in (self.slider, self.play, *self.buttons):
            widget.disabled = locked

    def observe(self, handler, names="value", type="change"):
        """Call `handler` when the step changes."""
        if names == "value":
            self.slider.observe(handler, names="value")
        else:
            super().observe(handler, names=names, type=type)
