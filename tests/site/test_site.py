"""A page of the site needs no kernel and no network, is small, and draws its figures on the ground the reader has."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSON = "02"
ADDRESS = r"(?:https?:)?//[\w.-]+\.\w+"
LIMIT_B = 3_000_000


@pytest.fixture(scope="module")
def build():
    """Return site/build.py as a module; the standard library has a `site` already."""
    found = importlib.util.spec_from_file_location("site_build", ROOT / "site" / "build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_only_what_differs_on_a_dark_ground_is_written_down(build):
    light = {"data": [{"x": [1, 2], "color": "#000"}], "layout": {"title": "a", "shapes": [1]}}
    dark = {"data": [{"x": [1, 2], "color": "#fff"}], "layout": {"title": "a", "shapes": [1, 2]}}
    changes = build.differences(light, dark)
    assert changes == [[["data", 0, "color"], "#fff"], [["layout", "shapes"], [1, 2]]]
    assert build.differences(light, light) == []


def test_links_to_files_that_are_not_on_the_site_become_words(build):
    kept = {"docs/claims.md", "notebooks/00.ipynb"}
    text = "[a](../docs/claims.md#x) [b](../LICENSE) [c](https://example.org) [d](../README.md) ![e](../p.png) [f](#g)"
    made = build.links(text, "notebooks", kept)
    assert made == "[a](../docs/claims.md#x) b [c](https://example.org) [d](../index.md) ![e](../p.png) [f](#g)"


def test_a_figure_keeps_its_words_and_cannot_end_its_own_script(build):
    meta = {"alt": 'two "bars"', "table": {"columns": ["a<b"], "rows": [[1]]}}
    drawn = {"data": [{"y": [1]}], "layout": {"title": {"text": "One"}, "meta": meta, "xaxis": {"title": "</script>"}}}
    text = build.figure(drawn, None)
    assert text.count("</script>") == 1
    assert 'aria-label="two &quot;bars&quot;"' in text
    assert "a&lt;b" in text
    inside = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, flags=re.S)[1])
    assert inside["data"][0]["y"] == [1]
    assert "title" not in inside["layout"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a site with one lesson, made by the command without MathJax, which npm would have to fetch."""
    folder = tmp_path_factory.mktemp("site") / "site"
    words = [sys.executable, str(ROOT / "site" / "build.py"), LESSON, "--no-math", "--to", str(folder)]
    result = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert result.returncode == 0, result.stderr
    assert "WARNING" not in result.stderr, result.stderr
    return folder


@pytest.fixture(scope="module")
def lesson(site):
    (path,) = (site / "notebooks").glob("*.html")
    return path


@pytest.mark.kernel
def test_nothing_on_the_site_is_fetched_from_another_place(site):
    for path in (*site.rglob("*.html"), *site.rglob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        found = re.findall(rf"<(?:script|img|iframe|source)\b[^>]*{ADDRESS}[^>]*>", text)
        found += re.findall(rf'<link\b[^>]*rel="(?:stylesheet|preload|icon)"[^>]*{ADDRESS}[^>]*>', text)
        found += re.findall(rf"(?:@import\s*(?:url\()?|url\()\s*['\"]?{ADDRESS}[^)]*", text)
        assert not found, path.name


@pytest.mark.kernel
def test_a_lesson_is_small_has_all_its_figures_and_no_dead_widget(build, lesson):
    page = lesson.read_text(encoding="utf-8")
    assert lesson.stat().st_size < LIMIT_B
    assert page.count('class="site-figure"') > 5
    assert "widget-view" not in page
    assert "ic-snapshot" not in page
    assert "run this cell in the notebook" in page
    darks = [json.loads(text)["dark"] for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]
    assert darks
    assert all(["layout", "paper_bgcolor"] in [way for way, _value in dark] for dark in darks)


@pytest.mark.kernel
def test_the_notebook_itself_stays_without_outputs():
    (path,) = (ROOT / "notebooks").glob(f"{LESSON}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)


@pytest.mark.kernel
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_a_browser_without_a_network_draws_hovers_and_zooms(lesson, ground):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed here.")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(
            offline=True, color_scheme=ground, viewport={"width": 1200, "height": 900}
        ).new_page()
        asked, wrong = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(lesson.as_uri())
        page.locator(".site-figure").first.scroll_into_view_if_needed()
        page.wait_for_selector(f".site-figure[data-drawn={ground}] .nsewdrag")
        graph = "document.querySelector('.site-figure .js-plotly-plot')"
        area = page.locator(".site-figure .nsewdrag").first.bounding_box()
        hovered = f"{graph}.on('plotly_hover', () => window.hovered = true)"
        page.evaluate(hovered)
        for part in range(1, 40):
            page.mouse.move(area["x"] + area["width"] * part / 80, area["y"] + area["height"] * part / 40)
            page.wait_for_timeout(20)
        before = page.evaluate(f"{graph}._fullLayout.xaxis.range")
        page.mouse.move(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.3)
        page.mouse.down()
        page.mouse.move(area["x"] + area["width"] * 0.7, area["y"] + area["height"] * 0.8, steps=5)
        page.mouse.up()
        page.wait_for_timeout(500)
        after = page.evaluate(f"{graph}._fullLayout.xaxis.range")
        hover = page.evaluate("window.hovered")
        browser.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not wrong
    assert hover
    assert before != after
