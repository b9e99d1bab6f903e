"""Every message that passes through `_()`: those written as literals, and the few that reach it as a variable.

The syntax tree is read, and not Babel's tokens, which miss a `_()` inside an f-string before Python 3.12.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# Arguments that people read.
READ = {
    "title",
    "subtitle",
    "label",
    "labels",
    "description",
    "alt",
    "hint",
    "placeholder",
    "tooltip",
    "sentence",
    "text",
    "help",
}

# Names of terms that the models of collectives put together where they compute them; a test compares.
COLLECTIVE_TERMS = ("launch", "scale-up steps", "network steps", "scale-up transfer", "network transfer", "local copy")
COLLECTIVE_TERMS += ("pipeline filling",)


def _tree(source: str | ast.AST) -> ast.AST:
    return ast.parse(source) if isinstance(source, str) else source


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_":
            yield node


def _text(node: ast.Call) -> str | None:
    first = node.args[0] if len(node.args) == 1 and not node.keywords else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def literals(source: str | ast.AST) -> list[tuple[str, int]]:
    """Return the literal messages of a module's source (or its tree) with their lines, in the order of the lines.

    >>> literals('a = _("Hello {name}").format(name=f"{_(\\'you\\')}")')
    [('Hello {name}', 1), ('you', 1)]
    """
    found = [(_text(call), call.lineno) for call in _calls(_tree(source))]
    return sorted(((t, line) for t, line in found if t is not None), key=lambda pair: pair[1])


def unreadable(source: str | ast.AST) -> list[tuple[int, str]]:
    """Return calls of `_` that no catalogue can hold: f-strings, sums, `.format` inside, two arguments; with line and text.

    A name, an attribute or an entry (`_(names[0])`) is allowed: the text is a literal elsewhere, see `spoken`.

    >>> unreadable('_(f"{n} GPUs"); _("a" + b); _(state); _("fine")')
    [(1, "f'{n} GPUs'"), (1, "'a' + b")]
    """
    allowed = (ast.Name, ast.Attribute, ast.Subscript)
    wrong = []
    for call in _calls(_tree(source)):
        first = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if isinstance(first, ast.BoolOp):  # `_(needs or "predicted")`
            plain = all(isinstance(v, (ast.Constant, *allowed)) for v in first.values)
        else:
            plain = _text(call) is not None or isinstance(first, allowed)
        if not plain:
            wrong.append((call.lineno, ", ".join(map(ast.unparse, call.args))))
    return wrong


def variables(source: str | ast.AST) -> list[str]:
    """Return the arguments of `_` that are variables, as written.

    >>> variables('_(state); _("fine")')
    ['state']
    """
    return [ast.unparse(c.args[0]) for c in _calls(_tree(source)) if _text(c) is None and c.args]


def _outside(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts below a node that do not pass through `_` and are no docstrings; f-strings with {} for what is filled in."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_":
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    elif isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _outside(part.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _outside(child)


def untranslated_errors(source: str | ast.AST) -> list[tuple[int, str]]:
    """Return the words of CourseErrors that do not pass through `_`, with their lines.

    >>> untranslated_errors('raise CourseError(f"{x} is wrong.")'), untranslated_errors('raise CourseError(_("No.") + hint)')
    ([(1, '{} is wrong.')], [])
    """
    wrong = []
    for node in ast.walk(_tree(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "CourseError"
            and node.args
        ):
            bare = node.args[0]
            while isinstance(bare, ast.Call) and isinstance(bare.func, ast.Attribute) and bare.func.attr == "format":
                bare = bare.func.value
            sides = [bare]
            while any(isinstance(side, ast.BinOp) for side in sides):
                sides = [part for s in sides for part in ((s.left, s.right) if isinstance(s, ast.BinOp) else (s,))]
            texts = [
                found for side in sides if isinstance(side, (ast.Constant, ast.JoinedStr)) for found in _outside(side)
            ]
            wrong += [(line, text) for line, text in texts if re.search(r"[A-Za-z]{2}", text)]
    return wrong


def untranslated_sentences(source: str | ast.AST) -> list[tuple[int, str]]:
    """Return texts outside `_` that read like sentences (four words and a stop) or stand where people read (`title=` and such).

    >>> untranslated_sentences('note(f"{n} GPUs wait for one. "); note("host memory"); note(_("All of them wait here."))')
    [(1, '{} GPUs wait for one. ')]
    >>> untranslated_sentences('figure(title=f"{n} ranks wait")')
    [(1, '{} ranks wait')]
    """
    tree, wrong = _tree(source), []
    for line, text in _outside(tree):
        plain = re.sub(r"<[^>]*>", "", text).strip()
        words = re.findall(r"(?<![\w.])[A-Za-z]{2,}(?![\w(=])|\{\}", plain)
        if (
            len(words) >= 4
            and len(words) - words.count("{}") >= 2
            and plain[-1] in ".?…"
            and len(words) * 9 > len(plain)
        ):
            wrong.append((line, text))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in READ and isinstance(node.value, (ast.Constant, ast.JoinedStr)):
            wrong += [(line, text) for line, text in _outside(node.value) if re.search(r"[a-z]{3,}\W+[a-z]{3,}", text)]
    return list(dict.fromkeys(wrong))


def gates_say() -> tuple[str, ...]:
    """Return what the lessons' own files of targets say in words: titles, owners, those a miss goes to, ways back.

    >>> {"head of product", "on-call lead"} <= set(gates_say())
    True
    """
    import tomllib

    from course_lib.cluster.targets import read_targets
    from course_lib.explorers.lesson13.gated import TARGETS

    own = PACKAGE / "cluster" / "data" / "design_targets.toml"
    files = [read_targets(own), read_targets(tomllib.loads(TARGETS))]
    words = [word for file in files for word in (file.title, file.roll_back)]
    words += [word for file in files for t in file.targets for word in (t.owner, t.escalate_to, t.roll_back)]
    return tuple(dict.fromkeys(filter(None, words)))


def spoken() -> tuple[str, ...]:
    """Return the names that reach `_` as a variable, from the tables they stand in.

    >>> {"met", "goodput", "ships", "DGX H100, a box of 8"} <= set(spoken())
    True
    """
    from course_lib.base import hardware
    from course_lib.cli.main import COMMANDS
    from course_lib.cluster import catalogue, cost, fleetfit, gates, loadmix, quantities
    from course_lib.links.recovery import RECOVERIES
    from course_lib.plan import grid, serving
    from course_lib.plan.picked import GROUPS
    from course_lib.timing import system, words
    from course_lib.timing.contest import ROWS

    return (
        *COMMANDS.values(),
        *(measure.title for measure in quantities.MEASURES.values()),
        *(gates.MET, gates.MISSED, gates.UNKNOWN, gates.OUTSIDE, gates.OVERDUE),
        *("measured", "predicted", "assumed"),
        *catalogue.STATUS,
        *(part.title for part in catalogue.items()),
        *(fleet.counts for fleet in fleetfit.fleets()),
        *(hardware.system(name).title for name in hardware.items("system")),
        *(hardware.link(name).title for name in hardware.items("link")),
        *cost.LINES,
        *loadmix.MIXES,
        *GROUPS,
        *grid.AXES.values(),
        *grid.GROUPS,
        *RECOVERIES,
        *ROWS,
        *(algorithm for algorithms in ROWS.values() for algorithm in algorithms),
        *COLLECTIVE_TERMS,
        *words.BOTTLENECKS,
        *words.PARTS,
        *system.KINDS,
        *gates_say(),
        *(f"PCIe {k} cards" for k in (3, 4, 5)),
        *serving.TERMS,
    )


def modules() -> list[Path]:
    """Return the course's modules, in order.

    >>> any(path.name == "language.py" for path in modules())
    True
    """
    return sorted(PACKAGE.rglob("*.py"))


@cache
def messages() -> Mapping[str, list[str]]:
    """Return every message with the modules it stands in (paths from the course's folder), in the order of the modules.

    >>> messages()["The bill is empty."]
    ['course_lib/figures/paying.py']
    """
    found: dict[str, list[str]] = {}
    for path in modules():
        name = path.relative_to(PACKAGE.parent).as_posix()
        for text, _line in literals(path.read_text(encoding="utf-8")):
            places = found.setdefault(text, [])
            if name not in places:
                places.append(name)
    for text in spoken():
        found.setdefault(text, ["course_lib/locales/extract.py"])
    return found
