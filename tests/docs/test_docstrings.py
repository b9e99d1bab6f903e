"""Public functions say what they do, name their parameters, carry units, and their examples run."""

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(p for p in (ROOT / "course_lib").rglob("*.py") if p.name != "__init__.py")
MODULES = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0


def public(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_module_says_its_idea_in_its_first_line(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, path
    assert len(text.splitlines()[0]) <= 120


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_public_names_are_explained_by_a_sentence(path):
    for node in public(path):
        text = ast.get_docstring(node)
        assert text, f"{path.name}: {node.name} has no docstring"
        assert text.splitlines()[0].rstrip().endswith((".", ":", "?")), (
            f"{path.name}: {node.name}: {text.splitlines()[0]}"
        )


MODELS = [p for p in FILES if p.parent.name in ("links", "fabric", "comm", "timing", "plan", "cluster")]


@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_every_public_model_function_has_an_example(path):
    missing = [
        n.name for n in public(path) if isinstance(n, ast.FunctionDef) and ">>>" not in (ast.get_docstring(n) or "")
    ]
    assert not missing, f"{path.name}: no example in {missing}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_translated_sentences_are_plain_strings(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_" and node.args:
            assert not isinstance(node.args[0], ast.JoinedStr), f"{path.name}:{node.lineno}: f-string inside _()"


def test_docstrings_name_no_parameter_that_is_gone():
    """A name in backticks that looks like a quantity (`message_B`) has to exist in the module."""
    for path in MODELS:
        source = path.read_text(encoding="utf-8")
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ != module.__name__:  # imported: its own module is looked at
                continue
            for word in re.findall(r"`(\w+_(?:B|s|Bps))`", inspect.getdoc(function) or ""):
                assert re.search(rf"\b{word}\b", source.replace(f"`{word}`", "")), f"{path.name}: {name} names {word}"


@pytest.mark.parametrize("folder", ["plan", "figures", "grading"])
def test_a_folder_of_many_modules_says_where_each_belongs(folder):
    package = importlib.import_module(f"course_lib.{folder}")
    named = re.findall(r"\w+", " ".join(re.findall(r"(?m)^(?:- [^:]+:|  )(.*)", package.__doc__)))
    there = sorted(p.stem for p in Path(package.__file__).parent.glob("*.py") if p.stem != "__init__")
    assert sorted(named) == there


def test_a_folder_that_says_nothing_of_its_modules_has_few():
    silent = {p.parent for p in ROOT.glob("course_lib/*/__init__.py") if "by subject" not in p.read_text("utf-8")}
    assert {folder.name: n for folder in silent if (n := len(list(folder.glob("*.py")))) > 30} == {}
