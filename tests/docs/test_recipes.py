"""Recipes of docs/ are true to the letter: a copy of the course follows them line by line, and their proofs pass."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "docs").glob("add_a_*.md"))
NEEDED = ("course_lib", "docs", "exercises", "instructor", "notebooks", "solutions", "tests")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
DOES = re.compile(
    r"(?:(?P<create>Create|create) `(?P<new>[^`]+)`|(?P<append>Append|append) to `(?P<end>[^`]+)`"
    r"|[Ii]n `(?P<file>[^`]+)`, (?:below the line `(?P<below>[^`]+)`|the line `(?P<line>[^`]+)` becomes))[^`:]*:\s*$"
)


def blocks(text):
    """Yield (what the sentence before it says to do, kind, content) of every fenced block."""
    for found in FENCE.finditer(text):
        indent, kind, content = found.groups()
        lines = [line.removeprefix(indent) for line in content.splitlines()]
        yield DOES.search(text[: found.start()].rstrip()), kind, "\n".join(lines) + "\n"


def edit(folder, does, content):
    path = folder / (does["new"] or does["end"] or does["file"])
    if does["create"]:
        assert not path.exists(), f"{path} is there already"
        path.write_text(content, encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8")
    if does["append"]:
        assert before.endswith("\n")
        path.write_text(before + content, encoding="utf-8")
        return
    lines = before.splitlines(keepends=True)
    wanted = does["below"] or does["line"]
    places = [i for i, line in enumerate(lines) if line.strip() == wanted]
    assert len(places) == 1, f"{path.name} has the line {wanted!r} {len(places)} times"
    lines[places[0] + bool(does["below"]) : places[0] + 1] = [content]
    path.write_text("".join(lines), encoding="utf-8")


def run(folder, commands):
    bin_ = Path(sys.executable).parent
    script = commands.replace(".venv/bin/", f"{bin_}/")
    known = os.environ | {"PYTHONPATH": str(folder), "CI": ""}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=known, text=True, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    skip = shutil.ignore_patterns("__pycache__", "fixtures", "*.mo")
    for name in NEEDED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skip)
    for path in ("pyproject.toml", "nbgrader_config.py", "README.md"):
        shutil.copy(ROOT / path, tmp_path)
    return tmp_path


@pytest.mark.kernel
@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_a_recipe_is_true_to_the_letter(path, folder):
    text = path.read_text(encoding="utf-8")
    done = list(blocks(text))
    assert done[-1][1] == "sh", "a recipe ends in the command that proves it"
    for does, kind, content in done:
        if does:
            edit(folder, does, content)
        elif kind == "sh":
            out = run(folder, content)
            assert "no tests ran" not in out
    assert "passed" in out or kind != "sh" or "pytest" not in content


def test_a_number_can_be_followed_as_its_page_says():
    found = doctest.testfile(str(ROOT / "docs" / "follow_a_number.md"), module_relative=False, encoding="utf-8")
    assert found.attempted > 10
    assert not found.failed


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_a_recipe_fits_a_page_and_names_places_that_are_there(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.split()) < 900
    made = {does["new"] for does, _kind, _content in blocks(text) if does and does["new"]}
    for name in set(re.findall(r"`((?:course_lib|docs|tests|solutions|exercises)/[\w/.]+)`", text)) - made:
        assert (ROOT / name).exists(), name
