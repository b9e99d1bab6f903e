"""Pages of faults that other courses' notebooks had: each shown as it is here, with a picture taken in Chromium.

`python -m tests.browser.faults` writes docs/faults/*.md from docs/faults/faults.toml; with `--pictures` it takes the pictures, too.
"""

import argparse
import shutil
import tempfile
import tomllib
from pathlib import Path

from .lab import FLAGS, ROOT, Lab, Watched, chromium, visible_explorers

FOLDER = ROOT / "docs" / "faults"
TABLE = FOLDER / "faults.toml"
LIMIT_B = 60_000
DEMO = ["import demo", "demo.alpha_beta()"]
PART = ".jp-Notebook .jp-Cell"

INDEX = """# Faults of notebooks, and what happens here

Widgets, figures and environments of other courses' notebooks have failed in public in these ways. Each page says what people met,
what happens here, how to see it, which test holds it, and what could not be tried. `python -m tests.browser.faults` writes the
pages from `docs/faults/faults.toml`; with `--pictures` it takes the pictures in Chromium.

| what people met | picture | tried in full |
|---|---|---|
"""


def faults() -> list[dict]:
    """Return the entries of the table, in its order."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["fault"]


def page(fault: dict) -> str:
    """Return the page of one fault as Markdown."""
    told = [f"[{one}](https://github.com/{one.replace('#', '/issues/')})" for one in fault["told"]]
    lines = [f"# {fault['title']}", "", "## What people met", "", fault["met"], ""]
    lines += [f"Told in {', '.join(told)}.", ""] if told else []
    lines += ["## What happens here", "", fault["here"], ""]
    if "picture" in fault:
        lines += [f"![{fault['picture']}](images/{fault['file']}.png)", ""]
    lines += ["## See it yourself", ""]
    lines += [f"{i}. {step}" for i, step in enumerate(fault["see"], 1)] if len(fault["see"]) > 1 else fault["see"]
    lines += ["", "## What holds it", "", *(f"- `{test}`" for test in fault["tests"]), ""]
    if "untried" in fault:
        lines += ["## What could not be tried", "", fault["untried"], ""]
    return "\n".join([*lines, "[All faults](index.md)", ""])


def pages() -> dict[str, str]:
    """Return every page by its file's name, the index among them."""
    every = faults()
    rows = [
        f"| [{f['title']}]({f['file']}.md) | {'yes' if 'picture' in f else '–'} | {'no' if 'untried' in f else 'yes'} |\n"
        for f in every
    ]
    return {f"{f['file']}.md": page(f) for f in every} | {"index.md": INDEX + "".join(rows)}


def main() -> int:
    """Write the pages, and the pictures where they are asked for."""
    parser = argparse.ArgumentParser(description="write docs/faults from its table")
    parser.add_argument("--pictures", nargs="*", metavar="FILE", help="take pictures, too: all, or these")
    args = parser.parse_args()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    if args.pictures is not None:
        take([f["file"] for f in faults() if "picture" in f and (not args.pictures or f["file"] in args.pictures)])
    return 0


# Pictures


def take(names: list[str]) -> None:
    """Take the pictures of these faults, all in one JupyterLab and one Chromium."""
    from playwright.sync_api import sync_playwright

    (FOLDER / "images").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as engine:
        folder = Path(home)
        shutil.copy(ROOT / "tests" / "browser" / "demo.py", folder)
        shutil.copytree(ROOT / "notebooks", folder / "notebooks")
        browser = engine.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        lab = Lab(folder)
        try:
            for name in names:
                lab.theme("JupyterLab Dark" if name == "the_dark_theme" else "JupyterLab Light")
                picture = globals()[f"_{name}"](browser, lab)
                path = FOLDER / "images" / f"{name}.png"
                path.write_bytes(picture)
                print(f"{path.relative_to(ROOT)}: {len(picture) / 1000:.0f} KB")
                lab.end_kernels()
        finally:
            lab.stop()
            browser.close()


def _open(
    browser, lab, cells: list[str], *, width: int = 900, run: bool = True, simple: bool = True, name: str = "one"
):
    page = Watched(browser, lab, width=width, height=900)
    page.open(lab.write(f"{name}.ipynb", cells), run=run, simple=simple)
    if run:
        page.page.wait_for_selector(".ic-explorer .ic-figure svg.main-svg", timeout=30_000)
        page.settle(visible_explorers(page)[0])
    return page


def _cell(page: Watched, number: int = 1) -> bytes:
    page.page.evaluate("() => document.activeElement.blur()")
    picture = page.page.locator(PART).nth(number).locator(".jp-Cell-outputWrapper").screenshot()
    page.close()
    return picture


def _reopened_without_a_kernel(browser, lab) -> bytes:
    first = _open(browser, lab, DEMO, name="reopened")
    first.page.wait_for_timeout(1000)
    first.save()
    first.page.wait_for_timeout(1500)
    first.close()
    lab.end_kernels()
    page = Watched(browser, lab, width=900, height=900)
    page.open("reopened.ipynb", run=False, simple=True)
    page.page.wait_for_timeout(4000)  # the widget manager gives up after two seconds
    return _cell(page)


def _kernel_and_lab_apart(browser, lab) -> bytes:
    page = Watched(browser, lab, width=900, height=1300)
    for extension in ("jupyterlab-plotly", "@jupyter-widgets"):
        page.page.route(f"**/lab/extensions/{extension}/**", lambda route: route.abort())
    page.open(lab.write("apart.ipynb", DEMO), simple=True)
    page.page.wait_for_timeout(1500)
    box = page.page.locator(PART).nth(1).locator(".jp-Cell-outputWrapper").bounding_box()
    picture = page.page.screenshot(clip=box | {"height": 500})
    page.close()
    return picture


def _a_fast_drag(browser, lab) -> bytes:
    page = _open(browser, lab, DEMO)
    explorer = visible_explorers(page)[0]
    box = explorer.locator(".noUi-target").nth(1).bounding_box()
    page.page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    for i in range(60):
        page.page.mouse.move(box["x"] + 2 + (box["width"] - 4) * i / 59, box["y"] + box["height"] / 2)
        page.page.wait_for_timeout(1000 / 60)
    page.page.mouse.up()
    page.settle(explorer, quiet_s=1.0)
    return _cell(page)


def _an_error_in_a_callback(browser, lab) -> bytes:
    page = _open(browser, lab, ["import demo", "demo.every_control()"])
    box = visible_explorers(page)[0].locator(".ic-control-typed_B input")
    box.fill("0")
    box.press("Enter")
    page.page.locator(".ic-message").wait_for()
    return _cell(page)


def _blank_elsewhere(browser, lab) -> bytes:
    from course_lib.figures.show import fallback_html
    from course_lib.figures.theme import themed

    from . import demo

    page = browser.new_page(viewport={"width": 720, "height": 420})
    with themed("light"):
        text = fallback_html(demo.draw(demo.link(1e-5, 5e10)))
    page.set_content(f'<body style="font:14px sans-serif;margin:16px">{text}</body>')
    picture = page.screenshot()
    page.close()
    return picture


def _the_dark_theme(browser, lab) -> bytes:
    return _cell(_open(browser, lab, DEMO))


def _red_and_green(browser, lab) -> bytes:
    page = _open(browser, lab, ["from course_lib.explorers import lesson01", "lesson01.two_links()"])
    for box in page.page.locator(".ic-guess input").all():
        box.fill("10")
        box.press("Enter")
    page.page.context.new_cdp_session(page.page).send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
    explorer = visible_explorers(page)[0]
    page.settle(explorer)
    picture = explorer.locator(".ic-view").screenshot()
    page.close()
    return picture


def _no_network(browser, lab) -> bytes:
    page = Watched(browser, lab, width=720, height=520)
    page.open("notebooks/02_how_fast_is_this_link.ipynb", simple=True)
    page.page.locator(".jp-RenderedPlotly").first.evaluate("e => e.scrollIntoView({block: 'center'})")
    page.page.wait_for_timeout(2000)
    assert page.blocked == []
    picture = page.page.screenshot()
    page.close()
    return picture


def _a_narrow_page(browser, lab) -> bytes:
    return _cell(_open(browser, lab, DEMO, width=360))


if __name__ == "__main__":
    raise SystemExit(main())
