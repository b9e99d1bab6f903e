"""Every lesson has the anatomy that STYLE.md promises, and is kept clean."""

import ast
import builtins
import itertools
import re

import pytest

from .lessons import EXERCISES, LESSONS, ROOT, SOLUTIONS, minutes, read, source, tags

ALL = LESSONS + SOLUTIONS + EXERCISES


def name(path):
    return path.stem


def code_cells(path):
    return [c for c in read(path)["cells"] if c["cell_type"] == "code"]


def text_of(path):
    return "\n\n".join(source(c) for c in read(path)["cells"] if c["cell_type"] == "markdown")


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.parent.name}-{p.stem}")
def test_kept_without_outputs_and_with_stable_ids(path):
    cells = read(path)["cells"]
    assert not [c for c in cells if c.get("outputs") or c.get("execution_count")]
    ids = [c.get("id") for c in cells]
    assert None not in ids
    assert len(set(ids)) == len(ids)
    assert "widgets" not in read(path)["metadata"]


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_cells_are_small_and_sentences_surround_them(path):
    for cell in code_cells(path):
        lines = [line for line in source(cell).splitlines() if line.strip() and not line.lstrip().startswith("#")]
        limit = 12 if "edit-me" in tags(cell) or "imports" in tags(cell) else 8
        assert len(lines) <= limit, source(cell)
    kinds = [c["cell_type"] for c in read(path)["cells"]]
    assert not re.search("(code,){4}", ",".join(kinds) + ","), "four code cells in a row without a sentence"


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_no_helper_functions_hide_in_a_lesson(path):
    for cell in code_cells(path):
        if "edit-me" in tags(cell):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While)
        assert not [n for n in ast.walk(ast.parse(source(cell))) if isinstance(n, kinds)], source(cell)


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_has_the_promised_parts_in_order(path):
    text = text_of(path)
    order = ["> **Predict**", "> **Measured**", "> **What this leaves out**", "> **Takeaway**"]
    places = [text.find(box) for box in order]
    assert -1 not in places, dict(zip(order, places, strict=True))
    assert places[1] < places[2] < places[3]
    assert places[0] < places[1]
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    assert any("Check yourself" in h for h in headings)
    assert any("Where the numbers came from" in h for h in headings)
    cells = read(path)["cells"]
    assert [c for c in cells if "imports" in tags(c)], "one visible import cell, tagged imports"
    assert [c for c in cells if "explorer" in tags(c)], "one explorer, tagged explorer"
    assert [c for c in cells if "predict" in tags(c)], "a prediction, tagged predict"


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_keeps_to_its_minutes(path):
    cells = read(path)["cells"]
    whole = minutes(cells)
    live = minutes([c for c in cells if "workshop" in tags(c)])
    assert 30 <= whole <= 55, f"{whole:.0f} minutes self-paced"
    assert 12 <= live <= 25, f"{live:.0f} minutes for the workshop path"
    assert abs(read(path)["metadata"]["interconnect"]["minutes"] - whole) <= 1, f"metadata says otherwise: {whole:.0f}"


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_the_live_path_stands_alone(path):
    """Cells tagged workshop use no name that another cell makes, and no sentence leads to a cell that is left out."""
    cells = read(path)["cells"]
    made = set(dir(builtins))
    for cell, after in itertools.pairwise([*cells, {"cell_type": "markdown", "source": ""}]):
        if "workshop" not in tags(cell):
            continue
        if cell["cell_type"] == "markdown":
            leads = source(cell).rstrip().endswith(":")
            assert not leads or "workshop" in tags(after), source(cell)[-80:]
            assert not re.search(r"last section|table at the end", source(cell)), source(cell)  # not on this path
            continue
        nodes = list(ast.walk(ast.parse(source(cell))))
        made |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        made |= {n.arg for n in nodes if isinstance(n, ast.arg)} | {
            n.name for n in nodes if isinstance(n, ast.FunctionDef)
        }
        imported = [a for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
        made |= {(a.asname or a.name).split(".")[0] for a in imported}
        assert {n.id for n in nodes if isinstance(n, ast.Name)} - made == set(), source(cell)


@pytest.mark.parametrize("path", LESSONS + SOLUTIONS, ids=name)
def test_text_is_plain(path):
    text = text_of(path)
    without_code = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    for word in (" simply ", " just ", " obviously ", " of course "):
        assert word not in without_code.lower(), word
    assert not re.search(r"!(?!\[)", without_code), "an exclamation mark"
    assert not re.search("[\U0001f300-\U0001faff]", text), "an emoji"
    boxes = re.findall(r"^> \*\*([^*]+)\*\*", text, flags=re.M)
    assert set(boxes) <= {"Predict", "Measured", "What this leaves out", "Takeaway"}, boxes


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.parent.name}-{p.stem}")
def test_nothing_in_a_notebook_needs_the_network_or_one_machine(path):
    for cell in code_cells(path):
        assert not re.search(r"https?://|urlopen|import requests|requests\.|!pip|%pip|/home/|C:\\\\", source(cell))


@pytest.mark.parametrize("path", LESSONS + SOLUTIONS, ids=name)
def test_links_between_files_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+\.(?:ipynb|md))\)", text_of(path)):
        assert (path.parent / target).exists() or (ROOT / target).exists(), target


@pytest.mark.parametrize(("before", "after"), list(itertools.pairwise(LESSONS)), ids=lambda path: path.stem[:2])
def test_neighbouring_lessons_lead_to_one_another(before, after):
    assert f"]({after.name})" in text_of(before)
    assert f"]({before.name})" in text_of(after)
