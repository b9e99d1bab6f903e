"""Every class of our own style sheets is given to something: a rule that nothing meets is read by nobody."""

import re
from pathlib import Path

import pytest

from course_lib.explorers.page import CSS

ROOT = Path(__file__).parents[2]
SHEETS = {"explorers": CSS, "site": (ROOT / "site" / "static" / "site.css").read_text(encoding="utf-8")}
THEIRS = {"bd-content", "dataframe", "pre", "text_html"}  # of the Sphinx theme, pandas, docutils and myst-nb

WIDGETS = ("jupyter", "widget", "jp-", "noUi", "slider-container")  # of JupyterLab and ipywidgets


def classes(sheet):
    rules = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", sheet, flags=re.DOTALL)
    return {name for name in re.findall(r"\.([a-z][\w-]*)", rules) if not name.startswith(WIDGETS)}


@pytest.mark.parametrize("name", SHEETS)
def test_every_class_of_a_style_sheet_is_used(name):
    places = [*(ROOT / "course_lib" / "explorers").rglob("*.py"), *(ROOT / "site").rglob("*.py")]
    places += (ROOT / "site").rglob("*.js")
    text = " ".join(p.read_text(encoding="utf-8") for p in places).replace(CSS, "")
    blocks = {f"ic-{kind}" for kind in re.findall(r"block\(\s*\"(\w+)\"", text)}  # page.block puts these together
    assert len(classes(SHEETS[name])) > 10
    assert {c for c in classes(SHEETS[name]) - THEIRS - blocks if not re.search(rf"\b{c}(?![\w-])", text)} == set()
