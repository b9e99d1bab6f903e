"""A page of the site needs no kernel and no network, is small, and draws its figures on the ground the reader has."""

import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.schedule import Schedule
from course_lib.explorers.lesson04 import stepper
from tests.browser import access, lab

from ..browser import demo

ROOT = Path(__file__).parents[2]
LESSON = "04"  # it has a slider, a choice, a stepper and a guess, and few pictures
ADDRESS = r"(?:https?:)?//[\w.-]+\.\w+"
LIMIT_B = 3_000_000
# figures.js, at once, and the theme, 0.3 s after a change, let what scrolls take the focus.
REACHED = """() => {
  const wide = part => part.scrollWidth > part.clientWidth, high = part => part.scrollHeight > part.clientHeight;
  const all = where => [...document.querySelectorAll(where)];
  return all('.bd-article table, .site-words, mjx-container').every(part => wide(part) === (part.tabIndex === 0))
    && all('pre, .cell_output > .output').every(part => part.tabIndex === 0 || !(wide(part) || high(part))); }"""


@pytest.fixture(scope="module")
def build():
    """Return site/build.py as a module; the standard library has a `site` already."""
    found = importlib.util.spec_from_file_location("site_build", ROOT / "site" / "build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_only_what_differs_is_written_down(build):
    light = {"data": [{"x": [1, 2], "color": "#000"}], "layout": {"title": "a", "shapes": [1]}}
    dark = {"data": [{"x": [1, 2], "color": "#fff"}], "layout": {"title": "a", "shapes": [1, 2]}}
    changes = build.packing.differences(light, dark)
    assert changes == [[["data", 0, "color"], "#fff"], [["layout", "shapes"], [1, 2]]]
    assert build.packing.differences(light, light) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 3}, {"c": [1, None]}, {"d": {}}], "e": "x"}),
        ({"a": {"b": {"c": 1}}, "x": 1}, {"a": {"b": 5}}),
        ({"a": [[1, 2], [3]]}, {"a": [[1, 2], [4], []]}),
    ],
)
def test_differences_lead_to_what_they_were_made_from(build, one, other):
    apply, differences = build.packing.apply, build.packing.differences
    assert apply(differences(one, other), one) == other
    assert apply(reversed(differences(one, other)), one) == other


@pytest.fixture(scope="module")
def packed(build):
    """Return the explorer with every kind of control, and its grid; a size of 0 is refused."""
    explorer = demo.every_control()
    plan = {"message_B": 2, "n": ["8", "64"], "typed_B": ["1 MiB", "0"], "step": 1}
    return explorer, build.moving.moves(explorer, plan)


def test_every_picture_of_a_grid_is_what_the_explorer_draws(build, packed):
    explorer, grid = packed
    offers = [
        build.moving.offer(n, c, p)
        for (n, c), p in zip(explorer.controls.items(), (2, ["8", "64"], None, None, ["1 MiB", "0"], 1))
    ]
    sizes = [len(o.values) for o in offers]
    assert sizes == [len(one["texts"]) for one in grid["controls"]]
    refused = 0
    for place, values in enumerate(itertools.product(*(o.values for o in offers))):
        drawn = build.moving.state(explorer, offers, values)
        for i, ground in enumerate(("light", "dark")):
            assert build.packing.unpacked(grid, place, ground) == (drawn if isinstance(drawn, str) else drawn[i])
        refused += isinstance(drawn, str)
    assert refused == len(grid["onLight"]) / 2
    assert {"The size is 0 B"} < {one[:15] for one in grid["onLight"] if isinstance(one, str)} | {""}


def test_a_grid_is_refused_where_it_is_too_large_or_names_what_is_not_there(build, monkeypatch):
    explorer = demo.every_control()
    with pytest.raises(CourseError, match="n has no position '9'"):
        build.moving.moves(explorer, {"n": ["9"]})
    monkeypatch.setattr(build.moving, "MOST", 10)
    with pytest.raises(CourseError, match="at most 10: message_B 9"):
        build.moving.moves(explorer, {})


def test_the_plan_of_the_site_names_controls_that_the_lessons_have():
    plan = tomllib.loads((ROOT / "site" / "moves.toml").read_text(encoding="utf-8"))
    for number, controls in plan.items():
        files = [p for p in (ROOT / "course_lib" / "explorers").rglob("*.py") if f"lesson{number}" in p.as_posix()]
        source = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in {*controls, *controls.get("labels", {})} - {"labels"}:
            assert re.search(rf"\b{name}=(?:\w*Slider|Choice|Toggle|Entry|Stepper|Paste)\(", source), (number, name)


def test_a_panel_says_what_is_held_and_waits_for_the_guess(build, packed):
    _explorer, grid = packed
    text = build.panel.explorer(grid, "x")
    assert "Held here: " in text
    assert "Fewer positions than in the notebook: " in text
    assert '<fieldset class="site-controls">' in text
    asked = {"name": "a", "question": 'is "1" < 2?', "unit": "ms"}
    assert '<fieldset class="site-controls" disabled>' in build.panel.explorer(grid | {"guess": asked}, "x")


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
    data = sum(path.stat().st_size for path in (lesson.parents[1] / "_static" / "moves").glob("*.js"))
    assert lesson.stat().st_size + data < LIMIT_B
    assert page.count('class="site-figure"') > 5
    assert "widget-view" not in page
    assert "ic-snapshot" not in page
    assert page.count('class="site-explorer"') == len(list((lesson.parents[1] / "_static" / "moves").glob("*.js"))) == 1
    darks = [json.loads(text)["dark"] for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]
    assert darks
    assert all(["layout", "paper_bgcolor"] in [way for way, _value in dark] for dark in darks)


@pytest.mark.kernel
def test_the_notebook_itself_stays_without_outputs():
    (path,) = (ROOT / "notebooks").glob(f"{LESSON}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)


@pytest.fixture
def opened(lesson):
    """Return a function that opens the lesson without a network, and see that nothing was asked for and nothing went wrong."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed here.")
    sync_api = pytest.importorskip("playwright.sync_api")
    asked, wrong = [], []
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def open_page(ground, width=1200):
            context = browser.new_context(offline=True, color_scheme=ground, viewport={"width": width, "height": 900})
            page = context.new_page()
            page.set_default_timeout(lab.PATIENCE_ms)
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
            page.goto(lesson.as_uri())
            return page

        yield open_page
        browser.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not wrong


def drawn_in_python(step, size_B, system, ground):
    """Return what the explorer of the lesson draws: the learner's schedule as it stands in the notebook."""
    owner = [0, 0, 0, 0, 1, 1, 1, 1]
    collect = [(r, owner[c], c, "add") for c in range(8) for r in range(8) if r != owner[c]]
    spread = [(owner[c], r, c, "copy") for c in range(8) for r in range(8) if r != owner[c]]
    explorer = stepper(Schedule.from_transfers("all_reduce", 8, 8, [collect, spread], name="mine"))
    return explorer.picture({"step": step, "message_B": size_B, "system": system}, (ground,))


@pytest.mark.kernel
@pytest.mark.parametrize(("ground", "width"), [("light", 1200), ("dark", 360)])
def test_an_explorer_moves_without_a_kernel_and_shows_what_python_draws(build, opened, ground, width):
    page = opened(ground, width)
    shown = page.locator(".site-explorer")
    shown.scroll_into_view_if_needed()
    shown.locator(f".site-figure[data-drawn={ground}]").wait_for()
    step, size, system = (page.locator(f"[id='04-0-{name}']") for name in ("step", "message_B", "system"))
    assert step.is_disabled()
    shown.locator(".site-ask input").fill("much")
    shown.locator(".site-ask button").click()
    assert step.is_disabled()
    assert "'much' is not a number" in shown.locator(".site-kept").inner_text()
    shown.locator(".site-ask input").fill("5 seconds")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "site-kept"  # box and button are closed now
    assert re.fullmatch(
        r"You said 5 seconds; the model says \S+ ms: \d+ × too much.", shown.locator(".site-kept").inner_text()
    )

    step.focus()
    page.keyboard.press("ArrowRight")
    system.select_option(label="eight V100, cube mesh")
    size.evaluate("(one) => { one.value = 1; one.dispatchEvent(new Event('input')); }")
    page.wait_for_function("document.querySelector('.site-explorer').dataset.place === '22'")  # (1 · 6 + 1) · 3 + 1
    assert size.get_attribute("aria-valuetext") == "8 KiB" == shown.locator("output[for='04-0-message_B']").inner_text()
    made = drawn_in_python(1, 8192, "dgx1-v100", ground)
    want = build.moving.shown(made.figures[0], made.equation, made.sentence)
    plot = shown.locator(".site-plot").evaluate("(one) => ({data: one.data, layout: one.layout})")
    assert plot["data"] == json.loads(json.dumps(want["data"]))
    assert plot["layout"]["annotations"] == json.loads(json.dumps(want["layout"]["annotations"]))
    assert shown.locator(".site-title").inner_text() == want["title"][0]
    assert shown.locator(".site-said").inner_text() == want["sentence"]
    assert shown.locator(".site-figure").get_attribute("aria-label") == want["alt"]
    assert want["equation"][1].partition("=")[2].strip() in shown.locator(".site-equation").inner_text()
    shown.locator("summary").click()
    cells = shown.locator(".site-words tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    assert cells == want["rows"]

    page.evaluate("siteMoves['04-0'].onLight[23] = 'No.'")
    system.select_option(index=2)
    page.wait_for_selector(".site-stale")
    assert shown.locator(".site-message").inner_text().startswith("These values do not work. No. The figure shows")
    assert shown.locator(".site-title").inner_text() == want["title"][0]
    shown.locator("button[data-do=reset]").click()
    page.wait_for_function("!document.querySelector('.site-stale')")
    shown.locator("button[data-do=play]").click()
    page.wait_for_function("document.querySelector('[id=\"04-0-step\"]').value === '2'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.kernel
def test_an_answer_is_folded_until_every_number_that_it_answers_is_typed(opened):
    page = opened("light")
    answer = page.locator("details.site-answer .cell_output")
    assert answer.count() == 1  # one cell answers both questions of this lesson
    assert not answer.is_visible()
    first, second = (page.locator(f"form.site-ask:has([id='asked-04.p{k}'])") for k in (1, 2))
    first.locator("input").fill("2")
    first.locator("button").click()
    assert not answer.is_visible()
    second.locator("input").fill("18 GB")
    second.locator("button").click()
    page.wait_for_function("document.querySelector('.site-answer').open")
    assert answer.is_visible()
    assert "You said 2 GB" in answer.inner_text()
    assert "You said 18 GB" in answer.inner_text()
    assert not page.locator("details.site-answer:not([open])").count()


@pytest.mark.kernel
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_a_browser_without_a_network_draws_hovers_and_zooms(opened, ground):
    page = opened(ground)
    figure = page.locator(".site-figure").last  # a curve with measured points
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f".site-figure[data-drawn={ground}] .nsewdrag")
    area = figure.locator(".nsewdrag").first.bounding_box()
    graph = "[...document.querySelectorAll('.site-figure .js-plotly-plot')].at(-1)"
    page.evaluate(f"{graph}.on('plotly_hover', () => window.hovered = true)")
    for part in itertools.count(1):  # to and fro, until the figure has seen the hand
        along = abs(part % 78 - 39) / 40
        page.mouse.move(area["x"] + area["width"] * along, area["y"] + area["height"] * (1 - along))
        page.wait_for_timeout(20)
        if page.evaluate("window.hovered"):
            break
        assert part < 2000
    before = page.evaluate(f"{graph}._fullLayout.xaxis.range")
    page.mouse.move(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.7, area["y"] + area["height"] * 0.8, steps=5)
    page.mouse.up()
    page.wait_for_function(
        f"JSON.stringify({graph}._fullLayout.xaxis.range) !== {json.dumps(json.dumps(before, separators=(',', ':')))}"
    )


@pytest.mark.kernel
def test_axe_finds_no_serious_fault_on_either_ground_and_width(site, lesson):
    chromium = lab.chromium()
    if chromium is None:
        pytest.skip("Chromium is not installed here.")
    sync_api = pytest.importorskip("playwright.sync_api")
    wrong = []
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for ground in ("light", "dark"):
            page = browser.new_context(color_scheme=ground).new_page()
            page.set_default_timeout(lab.PATIENCE_ms)
            for path in (lesson, site / "docs" / "faults" / "a_narrow_page.html")[: 1 if ground == "light" else 2]:
                page.goto(path.as_uri())
                page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
                for width in (1200, 360):
                    page.set_viewport_size({"width": width, "height": 900})
                    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
                    page.wait_for_function(REACHED)
                    wrong += [f"{path.stem}, {ground}, {width}: {said}" for said in access.faults(page, "body")]
        browser.close()
    assert wrong == []
