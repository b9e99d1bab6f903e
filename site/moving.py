"""Moving: an explorer for a page without a kernel, its pictures drawn beforehand over a small grid of its controls.

`listen` runs in the kernel that runs a lesson. Where a cell shows an explorer, the kernel puts out the grid instead (`GRID`), and
where it asks for a number, the question (`ASKED`). `panel.py` writes both onto the page, `static/explorers.js` moves them there.
"""

import contextlib
import copy
import io
import itertools
import json
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
GONE = {"gone": True}  # a key that the other has not


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


# Packing: what differs from the start, each difference written once, and those that always come together as one group


def differences(one: Any, other: Any, way: tuple = ()) -> list[list]:
    """Return [path, value] for all that has to be set in `one` to make it `other`; a list is cut by its "length".

    >>> differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 4})
    [[['a', 1, 'b'], 3], [['c'], 4]]
    >>> differences({"a": [{}, {}, {}], "b": 1}, {"a": [{}]})
    [[['a', 'length'], 1], [['b'], {'gone': True}]]
    """
    if one == other:
        return []
    found: list[list] = []
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys() if one.keys() != other.keys() else one:
            if key not in other:
                found.append([[*way, key], GONE])
            elif key not in one:
                found.append([[*way, key], other[key]])
            else:
                found += differences(one[key], other[key], (*way, key))
        return sorted(found, key=lambda change: [str(part) for part in change[0]])
    if isinstance(one, list) and isinstance(other, list) and any(isinstance(part, (dict, list)) for part in one):
        for i, pair in enumerate(zip(one, other)):
            found += differences(*pair, (*way, i))
        found += [[[*way, i], other[i]] for i in range(len(one), len(other))]
        return found + ([[[*way, "length"], len(other)]] if len(other) < len(one) else [])
    return [[list(way), other]]


def apply(changes: Iterable, to: Any) -> Any:
    """Return a copy of `to` with the differences set, as explorers.js does it.

    >>> apply([[["a", "length"], 1], [["b"], {"gone": True}]], {"a": [5, 6], "b": 1})
    {'a': [5]}
    """
    made = copy.deepcopy(to)
    for path, value in changes:
        part = made
        for key in path[:-1]:
            part = part[key]
        last = path[-1]
        if last == "length" and isinstance(part, list):
            del part[value:]
        elif value == GONE:
            part.pop(last, None)
        else:
            if isinstance(part, list):  # what is added may come in any order
                part += [None] * (last + 1 - len(part))
            part[last] = copy.deepcopy(value)
    return made


def pack(states: Sequence[tuple[dict, dict] | str], start: int) -> dict[str, Any]:
    """Return pictures, each a (light, dark) pair or the sentence of a refusal, as differences from the one at `start`."""
    base, dark_base = states[start]
    on_dark = differences(base, dark_base)
    wanted: dict[str, int] = {}  # a difference in words → its number
    light, dark = [], []
    for one in states:
        if isinstance(one, str):
            light.append(one)
            dark.append(())
            continue
        changes = differences(base, one[0])
        light.append([wanted.setdefault(_text(change), len(wanted)) for change in changes])
        more = differences(apply(changes, dark_base), one[1])
        dark.append([wanted.setdefault(_text(change), len(wanted)) for change in more])
    groups, rows = _together(len(wanted), [*light, *dark])
    paths: dict[str, int] = {}
    values: dict[str, int] = {}
    edits = []
    for text in wanted:
        path, value = json.loads(text)
        edits.append([paths.setdefault(_text(path), len(paths)), values.setdefault(_text(value), len(values))])
    return {
        "base": base,
        "dark": on_dark,
        "paths": [json.loads(text) for text in paths],
        **_pooled([json.loads(text) for text in values]),
        "groups": [[number for edit in group for number in edits[edit]] for group in groups],
        "onLight": rows[: len(light)],
        "onDark": rows[len(light) :],
    }


def _together(n: int, rows: list[list[int] | str]) -> tuple[list[list[int]], list[list[int] | str]]:
    """Return numbers 0 … n − 1 in groups that occur in the same rows only, and the rows as numbers of groups.

    >>> _together(3, [[0, 1, 2], "no", [0, 1], []])
    ([[0, 1], [2]], [[0, 1], 'no', [0], []])
    """
    where: list[list[int]] = [[] for _number in range(n)]
    for i, row in enumerate(rows):
        for number in row if not isinstance(row, str) else ():
            where[number].append(i)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, places in enumerate(where):
        groups.setdefault(tuple(places), []).append(number)
    made: list[list[int] | str] = [row if isinstance(row, str) else [] for row in rows]
    for number, places in enumerate(groups):
        for i in places:
            made[i].append(number)
    return list(groups.values()), made


def _pooled(values: list) -> dict[str, list]:
    """Return values in which the texts of lists are numbers of `words`: what is written on marks comes again and again.

    >>> _pooled([["a", "b", None], [1, 2], ["b", "b"]])
    {'values': [{'words': [0, 1, None]}, [1, 2], {'words': [1, 1]}], 'words': ['a', 'b']}
    """
    words: dict[str, int] = {}
    made = []
    for value in values:
        if isinstance(value, list) and len(value) > 1 and {type(part) for part in value} <= {str, type(None)}:
            value = {"words": [None if part is None else words.setdefault(part, len(words)) for part in value]}
        made.append(value)
    return {"values": made, "words": list(words)}


def unpacked(packed: dict[str, Any], place: int, ground: str) -> dict | str:
    """Return one picture of a grid as it was drawn, or the sentence of a refusal."""
    if isinstance(packed["onLight"][place], str):
        return packed["onLight"][place]
    words = packed["words"]
    values = [
        [None if i is None else words[i] for i in value["words"]] if isinstance(value, dict) and "words" in value else value
        for value in packed["values"]
    ]  # fmt: skip
    rows = [packed["onLight"][place], *([packed["onDark"][place]] if ground == "dark" else [])]
    changes = list(packed["dark"]) if ground == "dark" else []
    for row in rows:
        for group in row:
            numbers = packed["groups"][group]
            changes += [[packed["paths"][p], values[v]] for p, v in zip(numbers[::2], numbers[1::2])]
    return apply(changes, packed["base"])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
