"""A guess is worth nothing where the answer stands beside it: what an explorer shows at its start does not say what it asks."""

import importlib
import inspect
import pkgutil
import re

import pytest

from course_lib import explorers
from course_lib.explorers import answers
from course_lib.explorers.explorer import Explorer

LESSONS = [m.name for m in pkgutil.iter_modules(explorers.__path__) if m.name.startswith("lesson")]


def asking(name):
    for make in vars(importlib.import_module(f"course_lib.explorers.{name}")).values():
        if getattr(make, "__annotations__", {}).get("return") is Explorer and not inspect.signature(make).parameters:
            made = make()
            if made.guess and made.guess.truth:
                yield made


@pytest.mark.parametrize("name", LESSONS)
def test_no_explorer_shows_at_its_start_what_it_asks(name):
    for made in asking(name):
        said = " ".join((made.figure.layout.title.text, made.view.formula.value, made.view.said.value))
        said = re.sub("<[^>]*>", " ", said)
        truth = made.guess.truth() / answers.read("1", made.guess.unit)
        near = [
            n for n in map(float, re.findall(r"\d+(?:[.]\d+)?", said.replace(",", ""))) if abs(n / truth - 1) < 0.03
        ]
        assert near == [], f"{made.guess.question} {truth:.3g}: {said}"
