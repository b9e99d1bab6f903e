"""Which names code cells make and need, so that a part of a lesson that is taken out by itself still runs."""

import ast
import builtins
from collections.abc import Iterable

GUESS = "the guess "


def of_cells(sources: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that code cells, run in this order, make, and those that they need from elsewhere.

    A guess made by `predict` is a name as well: `compare` needs it.

    >>> made, needed = of_cells(["n = 8", "show(ring(n))", 'compare("04.p1", n)'])
    >>> sorted(made), sorted(needed)
    (['n'], ['compare', 'ring', 'show', 'the guess 04.p1'])
    """
    made: set[str] = set()
    needed: set[str] = set()
    for source in sources:
        makes, needs = _of_one(source)
        needed |= needs - makes - made
        made |= makes
    return frozenset(made), frozenset(needed - set(dir(builtins)))


def _of_one(source: str) -> tuple[set[str], set[str]]:
    makes, needs = set(), set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                needs.add(name)
            case ast.Name(id=name):
                makes.add(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                makes.add(name)
            case ast.alias(name=name, asname=other):
                makes.add((other or name).split(".")[0])
            case ast.Call(func=ast.Name(id="predict" | "compare" as kind), args=[ast.Constant(value=name), *_]):
                (makes if kind == "predict" else needs).add(GUESS + str(name))
    return makes, needs
