"""The first line of a lesson: what runs here, or what to install and where, before anything fails."""

import builtins
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from course_lib.explorers import environment

GOOD = {"jupyterlab": (4, 4), "ipywidgets": (8, 1), "plotly": (6, 9), "numpy": (2, 4)}


def test_nothing_is_said_where_all_is_well():
    assert environment.problems(GOOD, (3, 11)) == []
    assert environment.check_environment().startswith("Ready: Python 3.")


def test_an_old_python_is_told_before_anything_else():
    first, *rest = environment.problems({}, (3, 10))
    assert "3.11 or newer" in first
    assert "3.10" in first
    assert rest


@pytest.mark.parametrize(("package", "old"), [("plotly", (5, 24)), ("ipywidgets", (7, 7)), ("numpy", (1, 26))])
def test_a_package_that_is_missing_or_old_is_named_with_its_command(package, old):
    for version in (None, old):
        (said,) = environment.problems(GOOD | {package: version}, (3, 12))
        assert said.startswith(package)
        assert f'pip install "{package}>=' in said


def test_jupyterlab_may_live_in_another_environment():
    assert environment.problems(GOOD | {"jupyterlab": None}, (3, 12)) == []


def test_without_anywidget_one_line_says_so_and_the_explorer_lives(monkeypatch):
    version, load = environment._version, builtins.__import__

    def without(name, *how, **more):
        if name.split(".")[0] == "anywidget":
            raise ImportError(name)
        return load(name, *how, **more)

    monkeypatch.setattr(environment, "_version", lambda package: None if package == "anywidget" else version(package))
    monkeypatch.setattr(builtins, "__import__", without)
    assert "anywidget is missing; the course does without it" in environment.check_environment()
    from course_lib.explorers import lesson02

    explorer = lesson02.many_or_one()
    assert explorer.figure is not None
    assert not explorer.stale


def test_in_vs_code_a_sentence_says_what_it_may_ask_for(monkeypatch):
    monkeypatch.setenv("VSCODE_PID", "1")
    assert "VS Code may ask" in environment.check_environment()


def test_the_course_binds_no_major_version_of_numpy():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (numpy,) = (r for r in map(Requirement, project["dependencies"]) if r.name == "numpy")
    assert numpy.specifier.contains("3.1")
    assert not numpy.specifier.contains("1.26")
    assert Requirement(f"python{project['requires-python']}").specifier.contains("3.15")
