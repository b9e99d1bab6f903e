"""The explorer in a real JupyterLab: driven, dragged, broken, in the dark, on a narrow page, and without a kernel."""

import json
import re
import time

import pytest

from . import access
from .lab import RUN_DONE, commit_guess, drive_every_control, visible_explorers

pytestmark = pytest.mark.browser

FIGURE = ".ic-explorer .ic-figure svg.main-svg"
PICTURES = """() => [...document.querySelectorAll('.jp-RenderedPlotly')].filter(e => e.getBoundingClientRect().height > 200)
  .length === 2"""


def opened(watch, lab, name, cells, **how):
    page = watch(lab.write(f"{name}.ipynb", cells), **how)
    page.page.wait_for_selector(FIGURE)
    return page


def clean(page):
    assert page.blocked == []
    assert page.errors == []
    assert page.outputs_with_errors() == []


def test_every_control_of_every_kind_is_driven(watch, lab):
    page = opened(watch, lab, "every", ["import demo", "demo.every_control()", "demo.guessed()"], height=1600)
    assert len(visible_explorers(page)) == 2
    assert drive_every_control(page) == []
    clean(page)


def test_axe_finds_no_serious_fault_and_the_keyboard_reaches_everything(watch, lab):
    cells = ["import demo", "demo.every_control()", "demo.guessed()"]
    page = opened(watch, lab, "access", cells, height=1600)
    first, second = visible_explorers(page)
    for button in (*first.locator(".ic-foot button").all()[:2], second.locator(".ic-foot button").first):
        button.click()  # with tables and description open
    commit_guess(page, second)
    assert access.faults(page.page, ".jp-OutputArea") == []

    page.page.locator(".jp-Cell .cm-content").nth(1).click()
    page.page.keyboard.press("Escape")
    met = access.tab_through(page.page)
    assert {at["control"] for at in met} >= {f"ic-control-{name}" for name in page_controls(page)}
    assert sum(at["name"] in ("table", "description", "light / dark", "reset") for at in met) == 8
    assert all(at["name"] for at in met if at["control"] != "ic-control-typed_B"), met
    assert {at["ring"] for at in met} == {"rgb(0, 0, 0)"}

    to_dark = "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    page.page.evaluate(to_dark)
    page.page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
    assert access.faults(page.page, ".jp-OutputArea") == []
    first.locator(".noUi-handle").first.focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.evaluate(access.FOCUSED)["ring"] == "rgb(255, 255, 255)"
    clean(page)


def page_controls(page):
    every = page.page.locator(".ic-controls > *").evaluate_all("all => all.map(e => e.className)")
    return {name for classes in every for name in re.findall(r"ic-control-(\w+)", classes)}


def test_keys_move_every_control_and_leave_the_notebook_where_it_was(watch, lab):
    page = opened(watch, lab, "keys", ["import demo", "demo.every_control()", "1"], height=1600)
    explorer = visible_explorers(page)[0]
    wanted = [
        (".ic-control-n .noUi-handle", ("ArrowRight", "ArrowDown", "PageUp", "Home", "End")),
        (".ic-control-kind select", ("ArrowDown", "ArrowUp")),
        (".ic-control-both input", ("Space",)),
        (".ic-control-step .noUi-handle", ("ArrowRight",)),
        (".ic-control-step button >> nth=1", ("Enter", "Space")),
        (".ic-control-step button >> nth=2", ("Enter",)),
    ]
    for where, keys in wanted:
        for key in keys:
            explorer.locator(where).focus()
            shown = page.picture(explorer)
            page.page.keyboard.press(key)
            assert page.settle(explorer, shown) != shown, (where, key)
    assert explorer.locator(".ic-control-n .noUi-handle").get_attribute("aria-valuetext") == "1,024"
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    assert page.page.evaluate(active) == 1  # the explorer's: no key of a control has led away from it
    clean(page)


def test_the_driver_notices_a_control_without_effect(watch, lab):
    dead = "from course_lib.explorers.controls import CountSlider\nfrom course_lib.explorers.explorer import Explorer\n"
    dead += "Explorer(lambda n: demo.link(1e-5, 5e10), demo.draw, question='dead?', n=CountSlider('GPUs'))"
    page = opened(watch, lab, "dead", ["import demo", dead])
    assert drive_every_control(page) == ["explorer 1, GPUs 8: the picture does not change"]


def test_sixty_changes_in_a_second_end_with_the_last_value(watch, lab):
    page = opened(watch, lab, "drag", ["import demo", "e = demo.alpha_beta(); e"])
    explorer = visible_explorers(page)[0]
    handle = explorer.locator(".noUi-handle").nth(1)
    handle.focus()
    page.page.keyboard.press("Home")
    page.settle(explorer)
    # a drag of a second: the handle visits 60 places
    box = explorer.locator(".noUi-target").nth(1).bounding_box()
    page.page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    for i in range(60):
        page.page.mouse.move(box["x"] + 2 + (box["width"] - 4) * (i / 59), box["y"] + box["height"] / 2)
        time.sleep(1 / 60)
    page.page.mouse.up()
    ended = time.monotonic()
    wanted = explorer.locator(".widget-readout").nth(1).inner_text()
    assert wanted == "1 TB/s"
    page.page.wait_for_function(
        "w => document.querySelector('.ic-figure .svg-container')?.textContent.includes(w)",
        arg=wanted,
    )
    lag_s = time.monotonic() - ended
    assert wanted in explorer.locator(".ic-eq").inner_text()
    print(f"\nlast value shown {lag_s:.2f} s after the end of the drag")
    clean(page)


def test_an_error_in_the_model_is_read_beside_the_figure_and_heals(watch, lab):
    page = opened(watch, lab, "error", ["import demo", "demo.every_control()"])
    explorer = visible_explorers(page)[0]
    box = explorer.locator(".ic-control-typed_B input")
    box.fill("0")
    box.press("Enter")
    explorer.locator(".ic-message").wait_for()
    assert "The size is 0 B" in explorer.locator(".ic-message").inner_text()
    assert "ic-stale" in explorer.get_attribute("class")
    box.fill("64 MiB")
    box.press("Enter")
    explorer.locator(".ic-message").wait_for(state="detached")
    assert "ic-stale" not in explorer.get_attribute("class")
    clean(page)


def test_the_dark_theme_gives_a_dark_figure_that_can_be_read(watch, lab):
    page = opened(watch, lab, "dark", ["import demo", "demo.alpha_beta()"], theme="JupyterLab Dark")
    svg = page.page.locator(FIGURE).first
    assert "rgb(17, 17, 17)" in svg.get_attribute("style")
    tick = page.page.locator(".ic-figure .xtick text").first
    assert max(map(int, re.findall(r"\d+", tick.evaluate("e => getComputedStyle(e).fill")))) > 150
    clean(page)


@pytest.mark.parametrize("width", [360, 400])
def test_a_narrow_page_shows_everything_inside_its_width(watch, lab, width):
    page = opened(
        watch, lab, f"narrow{width}", ["import demo", "demo.alpha_beta()"], width=width, height=1400, simple=True
    )
    page.settle(visible_explorers(page)[0])
    room = page.page.locator(".ic-explorer").first.bounding_box()
    for part in (".ic-head", ".ic-figure svg.main-svg", ".ic-controls", ".ic-foot", ".ic-controls .noUi-target"):
        box = page.page.locator(f".ic-explorer {part}").first.bounding_box()
        assert box["width"] > 0, part
        assert box["height"] > 0, part
        assert box["x"] >= room["x"] - 1, part
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, part
    overlaps = page.page.evaluate(
        """() => { const texts = document.querySelectorAll('.ic-figure .annotation-text, .ic-figure .ytick text');
        const t = [...texts].map(e => e.getBoundingClientRect()).filter(r => r.width);
        const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
        return t.flatMap((a, i) => t.slice(i + 1).filter(b => touch(a, b))).length; }"""
    )
    assert overlaps == 0
    clean(page)


def test_reopened_without_a_kernel_there_is_a_picture_and_an_instruction(watch, lab):
    cells = [
        "import demo",
        "demo.alpha_beta()",
        "from course_lib.figures.show import show\nshow(demo.draw(demo.link(1e-5, 5e10)))",
    ]
    page = opened(watch, lab, "reopened", cells)
    page.settle(visible_explorers(page)[0])
    page.page.wait_for_function("() => document.querySelectorAll('.jp-RenderedPlotly svg.main-svg').length")
    page.save()
    page.close()
    lab.end_kernels()
    path = lab.folder / "reopened.ipynb"
    assert path.stat().st_size < 400_000
    assert "Plotly.newPlot" not in path.read_text(encoding="utf-8")

    again = watch("reopened.ipynb", run=False, height=1600)  # trusted: this server has signed it
    _looks_alive(again)

    changed = json.loads(path.read_text(encoding="utf-8"))
    changed["cells"][0]["source"] = "import demo  # by another hand"
    (lab.folder / "stranger.ipynb").write_text(json.dumps(changed), encoding="utf-8")
    stranger = watch("stranger.ipynb", run=False, height=1600)  # untrusted: styles and scripts are taken out
    _looks_alive(stranger)


def _looks_alive(page):
    page.page.get_by_text("Run this cell").first.wait_for()
    page.page.wait_for_timeout(4000)  # the widget manager gives up after two seconds
    page.page.wait_for_function(PICTURES)
    text = page.page.locator(".jp-Notebook").inner_text()
    assert "model not found" not in text
    assert "VBox(" not in text
    assert "Run this cell" in text
    pictures = [p for p in page.page.locator(".jp-RenderedPlotly").all() if p.is_visible()]
    assert len(pictures) == 2
    assert all(p.bounding_box()["height"] > 200 for p in pictures)


def test_run_again_it_does_not_grow(watch, lab):
    page = opened(watch, lab, "again", ["import demo", "demo.alpha_beta()"])
    sizes = []
    for _i in range(3):
        page.page.evaluate("async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        page.page.wait_for_function(RUN_DONE)
        page.settle(visible_explorers(page)[0])
        page.save()
        sizes.append((lab.folder / "again.ipynb").stat().st_size)
    assert max(sizes) < 1.1 * min(sizes)


def test_a_prediction_typed_and_entered_is_kept(watch, lab):
    cell = "from course_lib.explorers.predict import predict\npredict('99.p1', 'How long?', unit='µs', truth=lambda: 12e-6)"
    page = watch(lab.write("predict.ipynb", [cell]))
    box = page.page.locator(".ic-guess input")
    box.wait_for()
    box.fill("40")
    box.press("Enter")
    page.page.get_by_text("3.3 × too much").wait_for()
    assert box.is_disabled()
    assert '"99.p1"' in (lab.home / "notes" / "predictions.jsonl").read_text(encoding="utf-8")
    clean(page)


START = """async () => {
  const asked = {path: 'beside', name: 'beside', type: 'console', kernel: {name: 'python3'}};
  const seen = new Set();
  for (let i = 0; i < 40 && !seen.has(500); i++) {
    let starting = true;
    const body = JSON.stringify({...asked, path: `beside${i}`});
    const started = fetch('/api/sessions', {method: 'POST', body}).then(() => { starting = false; });
    while (starting) seen.add((await fetch('/api/kernels')).status);
    await started;
  }
  return [...seen]; }"""


def test_a_server_asked_for_kernels_while_one_starts_is_no_fault(watch, lab):
    page = watch(lab.write("starting.ipynb", ["1"]))
    assert 500 in page.page.evaluate(START), (
        "Jupyter Server lists kernels that start: lab.py need not forgive it any more"
    )
    clean(page)


def test_any_other_answer_of_500_is_a_fault_with_its_address(watch, lab):
    page = watch(lab.write("broken.ipynb", ["1"]))
    broken = lab.home / "settings" / "@jupyterlab" / "codemirror-extension" / "plugin.jupyterlab-settings"
    broken.parent.mkdir(parents=True)
    broken.write_text("{ no settings", encoding="utf-8")
    at = "/lab/api/settings/@jupyterlab/codemirror-extension:plugin"
    try:
        with page.page.expect_response(lambda response: response.status == 500):
            page.page.evaluate("at => fetch(at).then(answer => answer.status)", at)
    finally:
        broken.unlink()
    assert at in page.errors[0]
    assert "Failed loading settings" in page.errors[0]
