"""Model: a computation joined to its drawing, equation and sentence; the picture of a set of values, without a widget."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass

import plotly.graph_objects as go

from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.figures.theme import theme, themed


@dataclass(frozen=True, slots=True)
class Picture:
    """What an explorer shows for one set of values: a figure for each ground, the equation (formula, numbers) and the sentence."""

    figures: tuple[go.Figure, ...]
    equation: tuple[str, str] | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Model:
    """`compute(**values)` → `draw(result)`, with `equation(result)` and `sentence(result)` where there are any.

    Each of the three may take a second argument, the values.
    """

    compute: Callable
    draw: Callable[..., go.Figure]
    equation: Callable | None = None
    sentence: Callable | None = None

    def picture(self, values: dict, grounds: tuple[str, ...] = ()) -> Picture:
        """Return what is shown for these values; one figure for each of `grounds`, or for the one in force.

        Whatever the model refuses is raised.
        """
        with themed(grounds[0] if grounds else theme().name):
            result = self.compute(**values)
            first = _call(self.draw, result, values)
            equation = tuple(map(punctuated, _call(self.equation, result, values))) if self.equation else None
            sentence = punctuated(_call(self.sentence, result, values)) if self.sentence else ""
        others = []
        for ground in grounds[1:]:
            with themed(ground):
                others.append(_call(self.draw, result, values))
        return Picture((first, *others), equation, sentence)


def check_names(compute: Callable, controls: Collection[str]) -> None:
    """Raise CourseError where a control is not named after a parameter of `compute`, or a parameter has no control.

    >>> check_names(lambda n, m=1: n, ["k"])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: k is a control or a parameter of the model, but not both. Controls: k; parameters: n, m.
    """
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
