"""Moving: an explorer for a page without a kernel, its pictures drawn beforehand over a small grid of its controls.

`listen` runs in the kernel that runs a lesson. Where a cell shows an explorer, the kernel puts out the grid instead (`GRID`), and
where it asks for a number, the question (`ASKED`). `panel.py` writes both onto the page, `static/explorers.js` moves them there.
"""

import contextlib
import io
import itertools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packing import pack

from course_lib.base.errors import CourseError
from course_lib.base.scale import kept_together
from course_lib.explorers import answers
from course_lib.explorers.controls import Choice, Control, Entry, Slider, Toggle
from course_lib.explorers.explorer import Explorer, in_words
from course_lib.explorers.predict import Predict
from course_lib.explorers.stepper import Stepper
from course_lib.figures.show import cell_text, meta_of, spec, title_of
from course_lib.figures.theme import CONFIG

GRID = "application/vnd.interconnect.grid+json"
ASKED = "application/vnd.interconnect.asked+json"
GROUNDS = ("light", "dark")
FEW = 9  # positions of a slider that no plan names
MOST = 1300  # pictures of an explorer: about half a minute
DIGITS = 5


def listen(number: str, *, draw: bool) -> None:
    """Let this kernel put out grids and questions of lesson `number`; without `draw` only their places."""
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    plan = tomllib.loads(Path(__file__).with_name("moves.toml").read_text(encoding="utf-8")).get(number, {})

    def grid_of(explorer: Explorer) -> None:
        display({GRID: moves(explorer, plan) if draw else {}, "text/plain": ""}, raw=True)

    def question_of(asked: Predict) -> None:
        display({ASKED: question(asked), "text/plain": ""}, raw=True)

    formatter = get_ipython().display_formatter.ipython_display_formatter
    formatter.for_type(Explorer, grid_of)
    formatter.for_type(Predict, question_of)


def question(asked: Predict) -> dict[str, Any]:
    """Return what a page needs to ask for a number: the question, how to read an answer, and the truth, if it is told at once."""
    one = answers.read("1", asked.unit)
    found = {
        "name": asked.name,
        "question": asked.question,
        "unit": asked.unit,
        "kind": answers.kind_of(asked.unit),
        "spellings": answers.spellings(asked.unit),
        "one": one,
        "refusals": answers.refusals(asked.unit),
    }
    if asked.truth is not None:
        truth = float(asked.truth())
        found |= {"truth": truth / one, "answer": answers.answer(truth, asked.unit)}
    return found


# Which positions


@dataclass(frozen=True)
class Offer:
    """A control on a page: the positions it has there, in words and for the model, and whether there are more."""

    name: str
    control: Control
    kind: str
    texts: list[str]
    values: list
    start: int
    whole: bool


def offer(name: str, control: Control, plan: int | Sequence[str] | None) -> Offer:
    """Return the positions of a control on a page; `plan` says how many, or which by their words."""
    start = control.start()
    if isinstance(control, Slider):
        said: dict[str, object] = {}
        for value in control.values:
            said.setdefault(control.say(value), value)
        kind, pairs = "range", list(said.items())
        start = said[control.say(start)]
    elif isinstance(control, Choice):
        kind, pairs = "select", control.pairs()
    elif isinstance(control, Toggle):
        kind, pairs = "check", [("off", False), ("on", True)]
    elif isinstance(control, Stepper) and isinstance(control.steps, int):
        kind, pairs = "step", [(str(i), i) for i in range(control.steps)]
    elif isinstance(control, Entry) and isinstance(plan, list):
        start = control.say(start)
        texts = plan if start in plan else [start, *plan]
        kind, pairs = (
            "select",
            [(text, text) for text in texts],
        )  # parsed where the picture is drawn, as in the notebook
    else:
        kind, pairs = "fixed", [("", start)]
    values = [value for _text, value in pairs]
    first = values.index(start)
    if isinstance(plan, list):
        texts = [text for text, _value in pairs]
        unknown = [text for text in plan if text not in texts]
        if unknown:
            raise CourseError(f"{name} has no position {unknown[0]!r} (moves.toml); it has: {', '.join(texts)}.")
        chosen = sorted({first, *(texts.index(text) for text in plan)})
    else:
        chosen = spread(len(pairs), plan or (FEW if kind == "range" else len(pairs)), first)
    return Offer(
        name,
        control,
        kind if len(chosen) > 1 else "fixed",
        [pairs[i][0] for i in chosen],
        [values[i] for i in chosen],
        chosen.index(first),
        len(chosen) == len(pairs) and kind != "fixed" and not isinstance(control, Entry),
    )


def spread(n: int, few: int, start: int) -> list[int]:
    """Return `few` of n places: the first, the last, `start`, and the others as evenly between as can be.

    >>> spread(20, 5, 7), spread(3, 9, 0), spread(9, 1, 4)
    ([0, 7, 10, 14, 19], [0, 1, 2], [4])
    """
    if few >= n:
        return list(range(n))
    if few < 3:
        return sorted({start, (n - 1 if start < n / 2 else 0)}) if few == 2 else [start]
    even = [round(i * (n - 1) / (few - 1)) for i in range(few)]
    if start not in even:
        inner = min(range(1, few - 1), key=lambda i: abs(even[i] - start))
        even[inner] = start
    return sorted(even)


def moves(explorer: Explorer, plan: dict[str, Any]) -> dict[str, Any]:
    """Return an explorer as plain data: its controls, and every picture of their grid, packed.

    Raises CourseError where the grid is too large; moves.toml makes it smaller.
    """
    offers = [offer(name, control, plan.get(name)) for name, control in explorer.controls.items()]
    labels = plan.get("labels", {})
    n = math.prod(len(o.values) for o in offers)
    if n > MOST:
        each = ", ".join(f"{o.name} {len(o.values)}" for o in offers)
        raise CourseError(f"{n} pictures for one explorer, at most {MOST}: {each}. moves.toml can name fewer.")
    states: list[tuple[dict, dict] | str] = []
    for values in itertools.product(*(o.values for o in offers)):
        states.append(state(explorer, offers, values))
    start = 0
    for o in offers:
        start = start * len(o.values) + o.start
    if isinstance(states[start], str):
        raise CourseError(f"The explorer does not draw its start: {states[start]}")
    return {
        "question": explorer.question,
        "guess": question(explorer.asked) if explorer.asked else None,
        "controls": [
            {"name": o.name, "kind": o.kind, "label": labels.get(o.name, o.control.label), "help": o.control.help, "texts": o.texts,
             "start": o.start, "whole": o.whole} | _pace(o)
            for o in offers
        ],
        "start": start,
        "config": CONFIG,
        **pack(states, start),
    }  # fmt: skip


def _pace(o: Offer) -> dict[str, int]:
    return {"interval_ms": o.control.interval_ms} if isinstance(o.control, Stepper) else {}


def state(explorer: Explorer, offers: Sequence[Offer], values: Sequence) -> tuple[dict, dict] | str:
    """Return all that a page shows for these values on both grounds, or the sentence with which the model refuses them."""
    try:
        typed = {o.name for o in offers if isinstance(o.control, Entry) and o.kind != "fixed"}
        read = {o.name: o.control.parse(v) if o.name in typed else v for o, v in zip(offers, values)}
        with contextlib.redirect_stdout(io.StringIO()):
            made = explorer.picture(read, GROUNDS)
    except Exception as error:
        return in_words(error)
    return tuple(shown(figure, made.equation, made.sentence) for figure in made.figures)


def shown(figure: Any, equation: tuple[str, str] | None, sentence: str) -> dict:
    """Return what a page shows of a figure with its equation and sentence, as plain data."""
    plain = spec(figure, titled=False)
    plain["layout"].pop("meta", None)
    alt, columns, rows = meta_of(figure)
    return {
        "data": short(plain["data"]),
        "layout": short(plain["layout"]),
        "title": [kept_together(text) for text in title_of(figure)],
        "alt": alt,
        "columns": columns,
        "rows": [[cell_text(value) for value in row] for row in rows],
        "equation": [kept_together(text) for text in equation] if equation else None,
        "sentence": kept_together(sentence),
    }


def short(value: Any) -> Any:
    """Return plain data with as many digits as a screen can show.

    >>> short({"x": [1 / 3, 2.0, 2**40]})
    {'x': [0.33333, 2, 1099511627776]}
    """
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2**53:
            return int(value)
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: short(part) for key, part in value.items()}
    return [short(part) for part in value] if isinstance(value, (list, tuple)) else value
