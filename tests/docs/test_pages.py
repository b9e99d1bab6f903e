"""Hand-written and generated pages lead where they say: files, anchors, commands and modules that they name are there."""

import importlib.util
import json
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from course_lib.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "docs", "exercises", "instructor", "notebooks", "site", "solutions", "course_lib", "tests")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(p for folder in FOLDERS for kind in ("*.md", "*.ipynb") for p in (ROOT / folder).rglob(kind)),
    ]
)
PAGES = [p for p in PAGES if ".ipynb_checkpoints" not in p.parts and "fixtures" not in p.parts]
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2`*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(<?([^()\s<>]+)>?(?: \"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"")
MADE = {"exercises/00_start_here/feedback"}  # written by nbgrader on the hub
ids = pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


@cache
def text_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return text


def prose(path):
    """The text without fenced blocks and code between backticks."""
    return re.sub(r"(`+)[^`]+\1", "", FENCE.sub("", text_of(path)))


@cache
def anchors(path):
    """Every anchor of a page: ids that are written, and headings as GitHub and Sphinx name them."""
    text = FENCE.sub("", text_of(path))
    found = set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.+?)\s*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = 0
        while (name := slug + (f"-{again}" if again else "")) in found:
            again += 1
        found.add(name)
    return found


def missing(path):
    """Yield every link inside the repository that leads nowhere."""
    for pair in LINK.findall(prose(path)):
        target = pair[0] or pair[1]
        if re.match(r"[a-z][a-z0-9+.-]*:", target):  # https:, mailto:, data:
            continue
        place, _sharp, anchor = target.partition("#")
        there = (path.parent / place).resolve() if place else path
        known = anchors(there) if there.suffix in (".md", ".ipynb") and there.exists() else {anchor}
        if not there.exists() or (anchor and anchor not in known):
            yield target


@ids
def test_every_link_leads_to_a_file_and_an_anchor_that_are_there(path):
    assert list(missing(path)) == []


@pytest.mark.parametrize(
    ("link", "lost"),
    [
        ("[a](b.md)", True),
        ("[a](own.md#what-is-here)", False),
        ("[a](#what-is-here)", False),
        ("[a](#what-is-there)", True),
        ('<img src="b.png">', True),
        ("![a](own.md)", False),
        ("[a](#set)", False),
        ("`[a](b.md)`", False),
        ("```\n[a](b.md)\n```", False),
        ("[a](https://example.com/b.md)", False),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path, link, lost):
    page = tmp_path / "own.md"
    page.write_text(f'# A page\n\n## What is `here`?\n\n<a id="set"></a>{link}\n', encoding="utf-8")
    assert bool(list(missing(page))) == lost


PARTS = "|".join(sorted(p.name for p in (ROOT / "course_lib").iterdir() if (p / "__init__.py").exists()))


@ids
def test_every_path_between_backticks_is_there(path):
    text = text_of(path)
    named = set(re.findall(rf"`((?:{'|'.join(FOLDERS)}|\.ci)/[\w./-]*\w)(?=[/`:])", text))
    named |= {f"course_lib/{name}" for name in re.findall(rf"`((?:{PARTS})/[\w/]+\.py)`", text)}
    named -= set(re.findall(r"[Cc]reate `([^`]+)`", text)) | MADE
    assert [n for n in sorted(named) if not (ROOT / n).exists() and not (path.parent / n).exists()] == []


@ids
def test_every_name_of_the_library_between_backticks_is_there(path):
    for name in set(re.findall(rf"`(?:course_lib\.)?((?:{PARTS})(?:\.(?!py\b)\w+)+)(?:\([^`]*\))?`", text_of(path))):
        try:
            pkgutil.resolve_name(f"course_lib.{name}")
        except (ImportError, AttributeError):
            pytest.fail(f"course_lib.{name} is not there")


@ids
def test_every_command_that_is_named_exists(path):
    text = text_of(path)
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`|\$ |true )make ([a-z]+)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"(?:^|`|bin/)interconnect ([a-z][\w-]+)", text, re.MULTILINE)) <= set(COMMANDS)
    for module in set(re.findall(r"python -m ((?:course_lib|tests|benchmarks)[\w.]+)", text)):
        assert importlib.util.find_spec(module) or (ROOT / f"{module.replace('.', '/')}.py").exists(), module
