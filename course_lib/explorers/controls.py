"""Controls: what a learner moves in an explorer, each with a label, a value in human units, and the steps people use.

Every control is made before the widgets are (so that an explorer can be made many times): `build()` returns a fresh widget,
`read(widget)` the value that the model gets. A value that cannot be read raises a CourseError, which the explorer shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ipywidgets as widgets

from course_lib.base import typed
from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time

COUNTS = (
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    24,
    32,
    48,
    64,
    72,
    96,
    128,
    144,
    192,
    256,
    384,
    512,
    576,
    768,
    1024,
    2048,
    4096,
    8192,
    16384,
    32768,
    65536,
    131072,
)
_PER_DECADE = (1, 1.5, 2, 3, 5, 7)


def _between(low: float, high: float, steps: Sequence[float], value: float) -> tuple[float, ...]:
    return tuple(sorted({*(step for step in steps if low <= step <= high), low, high, value}))


@dataclass(frozen=True)
class Control:
    """A control with a label; `help` is its tooltip."""

    label: str
    help: str = field(default="", kw_only=True)

    def build(self) -> widgets.Widget:
        """Return a fresh widget."""
        raise NotImplementedError

    def read(self, widget: widgets.Widget):
        """Return the value for the model."""
        return widget.value

    def write(self, widget: widgets.Widget, value) -> None:
        """Set the widget to a value of the model."""
        widget.value = value

    def start(self):
        """Return the value at the start."""
        return self.value


@dataclass(frozen=True)
class Slider(Control):
    """A slider over given values, said by `say`; the base of the sliders below."""

    values: Sequence = ()
    value: object = None
    say: Callable[[object], str] = say_number

    def __post_init__(self):
        if not len(self.values):
            raise CourseError(_("The slider {label!r} has no values.").format(label=self.label))
        if self.value not in self.values:
            raise CourseError(
                _("The slider {label!r} starts at {value}, which is not among its values.").format(
                    label=self.label, value=self.value
                )
            )

    def build(self):
        """Return a SelectionSlider."""
        said: dict[str, object] = {}
        for value in self.values:
            said.setdefault(self.say(value), value)
        return widgets.SelectionSlider(
            options=list(said.items()),
            value=said[self.say(self.value)],
            description=self.label,
            tooltip=self.help or self.label,
            continuous_update=True,
        )

    def write(self, widget, value):
        """Set the slider to `value`, which has to be one of its steps."""
        if value not in (v for _text, v in widget.options):
            raise CourseError(
                _("{label} is {value}; the slider has {n} steps from {low} to {high}.").format(
                    label=self.label,
                    value=value,
                    n=len(self.values),
                    low=self.say(self.values[0]),
                    high=self.say(self.values[-1]),
                )
            )
        widget.value = value


def SizeSlider(
    label: str | None = None,
    low: float = 8,
    high: float = 2**34,
    value: float = 2**20,
    *,
    base: int = 2,
    help: str = "",
) -> Slider:
    """Return a log-scale slider of message sizes in bytes: powers of two, or 1-2-5 steps with `base=10`.

    >>> SizeSlider(low=1024, high=8192, value=4096).values
    (1024, 2048, 4096, 8192)
    """
    low, high, value = (
        finite(_("size"), v, above=0, unit="bytes") if not isinstance(v, int) else v for v in (low, high, value)
    )
    steps = [2**k for k in range(61)] if base == 2 else [m * 10**k for k in range(18) for m in (1, 2, 5)]
    return Slider(
        _("message size") if label is None else label, _between(low, high, steps, value), value, say_bytes, help=help
    )


def CountSlider(
    label: str, low: int = 1, high: int = 1024, value: int = 8, *, counts: Sequence[int] = COUNTS, help: str = ""
) -> Slider:
    """Return a slider over counts that people use (8, 16, 64, 72, 512, …); `counts` names others.

    >>> CountSlider("GPUs", 2, 16).values
    (2, 3, 4, 6, 8, 12, 16)
    """
    low, high, value = (whole(label, v) for v in (low, high, value))
    return Slider(label, _between(low, high, [whole(label, c) for c in counts], value), value, say_number, help=help)


def _decades(low: float, high: float, value: float) -> tuple[float, ...]:
    steps = [float(f"{m}e{k}") for k in range(-12, 18) for m in _PER_DECADE]
    return _between(low, high, steps, value)


def RateSlider(
    label: str | None = None, low: float = 1e9, high: float = 2e12, value: float = 50e9, *, help: str = ""
) -> Slider:
    """Return a log-scale slider of bandwidths in bytes per second, one direction.

    >>> [say_rate(v) for v in RateSlider(low=1e9, high=5e9, value=2e9).values]
    ['1 GB/s', '1.5 GB/s', '2 GB/s', '3 GB/s', '5 GB/s']
    """
    name = _("bandwidth, one direction") if label is None else label
    return Slider(name, _decades(low, high, value), value, say_rate, help=help)


def TimeSlider(
    label: str | None = None, low: float = 1e-7, high: float = 1e-3, value: float = 1e-5, *, help: str = ""
) -> Slider:
    """Return a log-scale slider of times in seconds.

    >>> [say_time(v) for v in TimeSlider(low=1e-6, high=3e-6, value=2e-6).values]
    ['1 µs', '1.5 µs', '2 µs', '3 µs']
    """
    return Slider(_("latency") if label is None else label, _decades(low, high, value), value, say_time, help=help)


@dataclass(frozen=True)
class Choice(Control):
    """One of several names: `options` is a list of values, or of (text, value) pairs."""

    options: Sequence = ()
    value: object = None

    def pairs(self) -> list[tuple[str, object]]:
        """Return the options as (text, value)."""
        return [option if isinstance(option, tuple) else (str(option), option) for option in self.options]

    def start(self):
        """Return the value at the start: the given one, else the first."""
        return self.pairs()[0][1] if self.value is None else self.value

    def build(self):
        """Return a Dropdown."""
        return widgets.Dropdown(
            options=self.pairs(), value=self.start(), description=self.label, tooltip=self.help or self.label
        )


@dataclass(frozen=True)
class Toggle(Control):
    """On or off."""

    value: bool = False

    def build(self):
        """Return a Checkbox."""
        return widgets.Checkbox(value=self.value, description=self.label, indent=False, tooltip=self.help or self.label)


@dataclass(frozen=True)
class Entry(Control):
    """A free text box; `parse` turns the text into the model's value and may refuse it with a sentence.

    The model gets the text itself without `parse`. Changes count on Enter or when the box is left.
    """

    value: object = ""
    parse: Callable[[str], object] = str
    say: Callable[[object], str] = str
    hint: str = ""

    def build(self):
        """Return a Text box."""
        return widgets.Text(
            value=self.say(self.value),
            description=self.label,
            placeholder=self.hint,
            continuous_update=False,
            tooltip=self.help or self.label,
        )

    def read(self, widget):
        """Return the parsed text."""
        return self.parse(widget.value)

    def write(self, widget, value):
        """Show `value` in the box."""
        widget.value = self.say(value)


def _number(text: str) -> float:
    return finite(_("The number"), typed.number(text, "12.5"))


def Number(
    label: str,
    value: float,
    *,
    parse: Callable[[str], float] = _number,
    say: Callable[[float], str] = say_number,
    hint: str = "",
    help: str = "",
) -> Entry:
    """Return a box for a free number; give `parse=parse_bytes, say=say_bytes` and the like for a number with a unit.

    >>> Number("GPUs", 8).parse("12")
    12.0
    """
    return Entry(label, value, parse, say, hint, help=help)
