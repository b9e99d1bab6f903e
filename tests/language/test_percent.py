"""One form of a share everywhere: "4 %", a space before the sign, from `say_share` or typed."""

import ast
import re
from pathlib import Path

import pytest

from course_lib.locales.extract import PACKAGE, messages, modules

from ..notebooks.lessons import LESSONS, ROOT, SOLUTIONS, read, source

TIGHT = re.compile(r"(?<![%\w])[\d.,]*\d%(?!\d)")  # not the CSS and URL forms, which are no sentences
FORMATTED = re.compile(r"\.\d%\}|^\.\d%$")  # a format that makes the tight form: {share:.0%}
TYPED = ("10%",)  # a value of --late, as it is typed
PAGES = sorted(
    p
    for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("instructor/*.md"), *ROOT.glob("benchmarks/*.md"))
)


def in_text(text: str) -> list[str]:
    """Return what is tight in prose, outside of code."""
    bare = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|https?://\S+", "", text, flags=re.DOTALL)
    return [m for m in TIGHT.findall(bare) if m not in TYPED]


def in_code(path: Path) -> list[tuple[int, str]]:
    """Return formats that write a tight percent, with their lines."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(v.value for v in node.format_spec.values if isinstance(v, ast.Constant))
            if spec.endswith("%") and spec != "%":
                found.append((node.lineno, spec))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and FORMATTED.search(node.value):
            found.append((node.lineno, node.value[:60]))
    return found


def test_messages_have_a_space_before_the_sign():
    assert {m: bad for m in messages() if (bad := in_text(m))} == {}


def test_no_code_formats_a_tight_percent():
    names = {p.relative_to(PACKAGE).as_posix(): in_code(p) for p in modules()}
    names.pop("base/scale.py")  # say_share itself
    assert {name: bad for name, bad in names.items() if bad} == {}


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=lambda p: p.parent.name + "/" + p.stem)
def test_lessons_and_exercises_have_a_space_before_the_sign(path):
    bad = {}
    for cell in read(path)["cells"]:
        text = source(cell)
        found = in_text(text) if cell["cell_type"] == "markdown" else re.findall(r":[.\d]*%\}", text)
        if found:
            bad[cell["id"]] = found
    assert bad == {}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_pages_have_a_space_before_the_sign(path):
    assert in_text(path.read_text(encoding="utf-8")) == []
