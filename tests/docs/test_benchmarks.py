"""benchmarks/README.md and the README's two pictures say what results.json and the course's data say."""

import ast
import json
import re
from pathlib import Path

import pytest

from ..scripts import scripts

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def made():
    """The modules page, pictures and tables, as the command imports them."""
    return scripts("benchmarks", "page", "pictures", "tables")


@pytest.fixture(scope="module")
def results():
    return json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def test_the_page_is_what_the_results_give(made, results):
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == made[0].page(results)


def test_a_changed_result_changes_the_page(made, results):
    page = made[0]
    other = json.loads(json.dumps(results))
    other["grading"]["found"]["ours"]["wall_s"] *= 2
    assert page.page(other) != page.page(results)
    assert page.quoted(other) != page.quoted(results)


def test_the_front_page_quotes_results_and_describes_both_pictures(made, results):
    _page, pictures, tables = made
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    accuracy = pictures.description(pictures.accuracy())
    assert results["picture"] == pictures.description(pictures.growth(results["growth"]["found"]))
    assert tables.front(text, results, accuracy) == text
    for name, said in (("accuracy", accuracy), ("benchmarks", results["picture"])):
        drawn = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
        assert pictures.text_of(drawn, "Description") == said
        assert len(drawn) < 120_000


def test_every_script_says_its_purpose_and_is_listed(made):
    listed = set(re.findall(r"[\w]+\.py", " ".join((*made[0].SCRIPTS, *made[0].SCRIPTS.values()))))
    assert listed == {p.name for p in FOLDER.glob("*.py")}
    for path in FOLDER.glob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path.name


def test_results_name_no_machine_and_what_is_compared_is_pinned(results):
    text = json.dumps(results)
    assert not re.search(r"/(?:root|home|tmp|work|Users)\b|https?://", text)
    pins = dict(
        re.findall(r"^(\w[\w-]*)==(\S+)$", (FOLDER / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert pins["mlsysim"] == results["mlsysim"]["found"]["version"]
