"""The live site: what a learner imports is there in a browser; the kernel starts, the course installs, a slider moves a figure."""

import functools
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from ..browser.lab import FLAGS, READY, RUN_DONE, PATIENCE_ms, chromium
from ..scripts import scripts
from . import like_a_browser

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [*sorted(ROOT.glob("notebooks/*.ipynb")), *sorted(ROOT.glob("exercises/*/*.ipynb"))]


@pytest.fixture(scope="module")
def live():
    """Return site/live.py as a module, with its helper beside it as `python site/live.py` finds it."""
    return scripts("site", "live")[0]


@pytest.fixture(scope="module")
def run(live, tmp_path_factory):
    """Return a function that runs first cells of notebooks in a Python as poor as the browser's."""
    from live_packages import modules_of

    folder = tmp_path_factory.mktemp("browser")
    names = sorted({module for name in live.closure(live.roots()) for module in modules_of(name)})
    (folder / "allowed.json").write_text(json.dumps(names), encoding="utf-8")

    def ran(paths):
        words = [sys.executable, like_a_browser.__file__, str(folder / "allowed.json"), *map(str, paths)]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=300, cwd=ROOT)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ran


def test_what_a_learner_imports_is_there_in_a_browser(run):
    """First cells import all that their notebooks use: none needs a server's package, nor a part of the system at once."""
    found = run(NOTEBOOKS)
    assert len(found) == len(NOTEBOOKS) == 32
    assert not [line for line in found if line["wrong"] or not line["ran"]]


def test_the_python_of_that_test_lacks_what_a_browser_lacks(run, tmp_path):
    absent = ["nbgrader", "jupyterlab", "nbformat", "zmq", "mpi4py", "distributed", "grp", "pwd"]
    paths = [tmp_path / f"{module}.ipynb" for module in absent]
    for path in paths:
        cell = {"cell_type": "code", "source": f"import {path.stem}"}
        path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    assert [line["wrong"] for line in run(paths)] == [
        f"ModuleNotFoundError: No module named '{name}'" for name in absent
    ]


def test_a_server_and_its_kin_are_not_asked_for_in_a_browser(live):
    needs = live.closure(live.roots())
    assert {"numpy", "ml-dtypes", "plotly", "ipywidgets", "comm", "narwhals"} <= set(needs)
    assert not {"jupyterlab", "nbgrader", "ipykernel", "tornado", "pyzmq", "widgetsnbextension"} & set(needs)
    assert all(name in needs for names in needs.values() for name in names)


def test_a_folder_with_something_else_in_it_is_not_overwritten(live, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("keep me", encoding="utf-8")
    assert live.main(["--to", str(tmp_path)]) == 1
    assert "holds something else" in capsys.readouterr().err
    assert (tmp_path / "letter.txt").exists()


def test_numpys_wheel_is_taken_from_a_folder_and_a_wrong_one_refused(live, tmp_path):
    entry = {"file_name": "numpy.whl", "sha256": "0" * 64}
    with pytest.raises(live.CourseError, match=r"holds no numpy\.whl"):
        live.prebuilt(entry, tmp_path, tmp_path, fetch=False)
    (tmp_path / "numpy.whl").write_bytes(b"the wheel")
    right = entry | {"sha256": hashlib.sha256(b"the wheel").hexdigest()}
    assert live.prebuilt(right, tmp_path / "kept", tmp_path, fetch=False) == tmp_path / "numpy.whl"
    assert live.prebuilt(right, tmp_path / "kept", None, fetch=False) is None
    with pytest.raises(live.CourseError, match="checksum differs"):
        live.prebuilt(entry, tmp_path / "kept", tmp_path, fetch=False)


# The real thing: the site as `make live` writes it, in Chromium, with the network cut. NumPy's wheel is fetched by the
# reader's browser where the build could not have it; here nothing is, so what needs NumPy is not tried.

SLIDER = """\
import ipywidgets as widgets
import plotly.graph_objects as go
slider, place = widgets.IntSlider(value=3, min=1, max=9), widgets.Output()
def draw(_change=None):
    fig = go.Figure(go.Scatter(y=[i * i for i in range(slider.value)]), {"title": {"text": f"n = {slider.value}"}})
    data = {"application/vnd.plotly.v1+json": fig.to_plotly_json() | {"config": {}}}
    place.outputs = ({"output_type": "display_data", "metadata": {}, "data": data},)
slider.observe(draw, "value")
draw()
widgets.VBox([slider, place])
"""
FACTS = """\
import importlib.metadata, importlib.util, json, os, pathlib, sys
from course_lib.base.language import chosen_language
from course_lib.base.places import notes_folder
with open(notes_folder() / "progress.jsonl", "a", encoding="utf-8") as file:
    file.write("kept")
facts = {
    "lacking": sorted(n for n in sys.stdlib_module_names - set(sys.modules) if importlib.util.find_spec(n) is None),
    "language": chosen_language(), "LANG": os.environ["LANG"], "theme": os.environ["INTERCONNECT_THEME"],
    "notes": (pathlib.Path("/drive/progress/progress.jsonl")).read_text(),
    "course": importlib.metadata.version("interconnect-course"), "python": sys.version_info[:2],
}
print("FACTS", json.dumps(facts))
"""
FAILED = """() => window.jupyterapp.shell.currentWidget.content.widgets.some(
  c => c.model.type === 'code' && c.model.outputs.toJSON().some(o => o.output_type === 'error'))"""
LATE = ("numpy-", "ml_dtypes-")  # the only files that a site built without them asks the network for
HARMLESS = ("The following error occurred while loading", "Failed to fetch", "net::ERR_FAILED")  # said of these two


@pytest.fixture(scope="module")
def site(live, tmp_path_factory):
    """Return the site, and beside the lessons a notebook of this test."""
    target = tmp_path_factory.mktemp("live") / "site"
    missing = live.build(target, fetch=False)
    assert [name.partition("-")[0] for name in sorted(missing)] == ["ml_dtypes", "numpy"]
    first = like_a_browser.cells_of(ROOT / "notebooks" / "00_start_here.ipynb")[0]
    cells = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for i, source in enumerate([first, "%pip install -q interconnect-course", FACTS, SLIDER])
    ]
    kernel = {"kernelspec": {"name": "python", "display_name": "Python", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (target / "files" / "probe.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    listing = target / "api" / "contents" / "all.json"
    listed = json.loads(listing.read_text(encoding="utf-8"))
    licence = next(entry for entry in listed["content"] if entry["name"] == "LICENSE")
    listed["content"].append(licence | {"name": "probe.ipynb", "path": "probe.ipynb", "type": "notebook"})
    listing.write_text(json.dumps(listed), encoding="utf-8")
    config = target / "jupyter-lite.json"
    settings = json.loads(config.read_text(encoding="utf-8"))
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True
    config.write_text(json.dumps(settings), encoding="utf-8")
    return target


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_words):
        pass


@pytest.fixture(scope="module")
def seen(site):
    """Return what happened in Chromium: requests that would have left this computer, errors, texts, times."""
    path = chromium()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium here")
        pytest.skip("no Chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    left, errors, found = [], [], {}
    try:
        with sync_api.sync_playwright() as engine:
            browser = engine.chromium.launch(executable_path=path, args=FLAGS)
            context = browser.new_context(locale="zh-CN", color_scheme="dark", viewport={"width": 1280, "height": 900})

            def pass_on(route):
                if route.request.url.startswith((f"{here}/", "data:", "blob:")):
                    return route.continue_()
                left.append(route.request.url)
                return route.abort()

            context.route("**/*", pass_on)
            page = context.new_page()
            page.set_default_timeout(2 * PATIENCE_ms)
            page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            start = time.perf_counter()
            page.goto(f"{here}/?path=probe.ipynb&lang=zh_TW")
            page.wait_for_function(READY)
            found["kernel_s"] = time.perf_counter() - start
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
            page.wait_for_function(f"() => ({FAILED})() || ({RUN_DONE})()")
            assert not page.evaluate(FAILED), page.locator(".jp-OutputArea-output").all_inner_texts()
            title = "document.querySelector('.js-plotly-plot .gtitle')?.textContent"
            page.wait_for_function(f"() => {title} === 'n = 3'")
            page.locator(".noUi-handle").first.focus()
            page.keyboard.press("ArrowRight")
            page.wait_for_function(f"() => {title} === 'n = 4'")
            found["slider_s"] = time.perf_counter() - start
            found["said"] = page.locator(".jp-OutputArea-output").all_inner_texts()
            found["dark"] = page.evaluate("document.body.dataset.jpThemeLight") == "false"
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    print(f"kernel ready after {found['kernel_s']:.0f} s, slider moved after {found['slider_s']:.0f} s")
    facts = next(text for text in found["said"] if text.startswith("FACTS"))
    return found | {"left": left, "errors": errors, "facts": json.loads(facts.removeprefix("FACTS"))}


@pytest.mark.browser
def test_the_live_site_has_every_notebook_and_the_courses_wheel(site):
    for path in NOTEBOOKS:
        put = json.loads((site / "files" / path.relative_to(ROOT)).read_text(encoding="utf-8"))
        assert put["cells"] == json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert put["metadata"]["kernelspec"]["name"] == "python"
        listing = json.loads(
            (site / "api" / "contents" / path.relative_to(ROOT).parent / "all.json").read_text("utf-8")
        )
        assert path.name in [entry["name"] for entry in listing["content"]]
    (wheel,) = (site / "static" / "pyodide").glob("interconnect_course-*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    for path in ROOT.glob("course_lib/**/*"):
        if path.suffix in (".py", ".csv", ".toml", ".mo"):
            assert path.relative_to(ROOT).as_posix() in inside


@pytest.mark.browser
def test_a_kernel_in_the_browser_installs_the_course_and_a_slider_moves_a_figure(seen):
    facts = seen["facts"]
    assert facts["course"] == "0.1.0"
    assert facts["python"] == [3, 14]
    assert facts["notes"].endswith("kept")
    assert seen["slider_s"] > seen["kernel_s"]


@pytest.mark.browser
def test_the_kernel_hears_the_readers_language_and_ground(seen):
    assert seen["facts"]["LANG"] == "zh_CN.UTF-8"
    assert seen["facts"]["language"] == "zh_TW"  # asked for in the address
    assert seen["facts"]["theme"] == "dark"
    assert seen["dark"]
    assert "numpy" in seen["said"][0]
    assert "沒有" in seen["said"][0]


@pytest.mark.browser
def test_the_live_site_asks_nobody_else_but_for_the_two_wheels_it_names(seen):
    names = {url.rpartition("/")[2] for url in seen["left"]}
    assert all(name.startswith(LATE) for name in names), names
    assert not [text for text in seen["errors"] if not any(words in text for words in HARMLESS)]


@pytest.mark.browser
def test_the_poor_python_is_as_poor_as_the_real_one(seen):
    lacking = [name for name in seen["facts"]["lacking"] if not name.startswith("_")]
    assert lacking == like_a_browser.LACKING
    assert set(like_a_browser.LACKING_INSIDE) <= set(seen["facts"]["lacking"])
