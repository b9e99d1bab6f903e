"""Packing: pictures as what differs from the first, each difference written once, those that always come together as one group.

`static/explorers.js` unpacks them on the page.
"""

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any

GONE = {"gone": True}  # a key that the other has not


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
