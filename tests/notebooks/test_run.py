"""Every notebook runs in order: in this process for speed, and from a clean kernel and other folders in CI."""

import re
import time

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from course_lib.explorers import explorer
from course_lib.figures import show
from tests.figures import sight

from .lessons import EXERCISES, LESSONS, ROOT, SOLUTIONS


def ident(path):
    return f"{path.parent.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", LESSONS + SOLUTIONS + EXERCISES, ids=ident)
def test_runs_from_first_to_last_cell(path, monkeypatch, capsys):
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("INTERCONNECT_GRADING", "1")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shown, bundle = [], show.bundle
    for module in (show, explorer):
        monkeypatch.setattr(module, "bundle", lambda fig, **how: shown.append(fig) or bundle(fig, **how))
    try:
        for number, cell in enumerate(nbformat.read(path, 4).cells):
            if cell.cell_type == "code":
                result = shell.run_cell(cell.source, store_history=False)
                error = result.error_before_exec or result.error_in_exec
                assert result.success, f"cell {number}: {error!r}\n{cell.source}"
    finally:
        InteractiveShell.clear_instance()
    assert shown or path not in LESSONS
    for figure in shown:
        is_for_every_reader(figure)


def is_for_every_reader(figure):
    """A description with a number, a table, series that differ by more than colour, and nothing pale."""
    title = show.title_of(figure)[0]
    alt, columns, rows = show.meta_of(figure)
    assert re.search(r"\d", alt), title
    assert columns, title
    assert rows, title
    assert sight.alike(figure) == [], title
    assert sight.pale(figure) == [], title


@pytest.mark.kernel
@pytest.mark.parametrize("path", LESSONS + EXERCISES, ids=ident)
def test_runs_in_a_clean_kernel_and_says_nothing_unasked(path, tmp_path, monkeypatch):
    """Offline, quiet, small: no stderr, no script address, no copy of the plotting library in the outputs."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    notebook = nbformat.read(path, 4)
    start = time.perf_counter()
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, startup_timeout=300, resources=folder, store_widget_state=False).execute()
    print(f"{path.stem}: {time.perf_counter() - start:.1f} s")
    text = nbformat.writes(notebook)
    assert len(text) < 5_000_000
    assert not [o for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert not re.search(r'src=\\?["\']https?://|cdn\.plot|unpkg|jsdelivr', text)


@pytest.mark.kernel
@pytest.mark.parametrize("where", ["the root", "elsewhere with spaces"])
def test_runs_from_any_working_folder(where, tmp_path):
    folder = ROOT if where == "the root" else tmp_path / "a folder ü"
    folder.mkdir(exist_ok=True)
    for path in (*LESSONS[:2], *EXERCISES[:1]):
        notebook = nbformat.read(path, 4)
        resources = {"metadata": {"path": str(folder)}}
        NotebookClient(
            notebook, timeout=300, startup_timeout=300, resources=resources, store_widget_state=False
        ).execute()
