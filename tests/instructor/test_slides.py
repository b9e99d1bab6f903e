"""A deck is the live path of a lesson, needs no kernel, and asks nobody on the network for anything."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from course_lib.base.errors import CourseError
from course_lib.cli import main, slides
from tests.browser.lab import PATIENCE_ms
from tests.notebooks.lessons import LESSONS, read, source, tags

ROOT = Path(__file__).parents[2]
LESSON = "02"
DRAWN = "[...document.querySelectorAll('.figure')].every(figure => figure.querySelector('.main-svg'))"
ADDRESS = r"(?:https?:)?//[\w.-]+\.\w+"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with one deck, made by the command."""
    folder = tmp_path_factory.mktemp("slides")
    try:
        slides.put_assets(folder / "assets")
    except CourseError as error:
        pytest.skip(f"reveal.js and MathJax cannot be fetched here. {error}")
    assert main.main(["slides", LESSON, "--to", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def deck(folder):
    (path,) = folder.glob("*.html")
    return path


@pytest.mark.kernel
def test_nothing_in_a_deck_is_fetched_from_another_place(folder, deck):
    page = deck.read_text(encoding="utf-8")
    styles = [p.read_text(encoding="utf-8") for p in (folder / "assets").rglob("*.css")]
    for text in (page, *styles):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)  # comments in style sheets name their authors
        found = re.findall(rf"<(?:script|link|img|iframe|source)\b[^>]*{ADDRESS}[^>]*>", text)
        found += re.findall(rf"(?:@import\s*(?:url\()?|url\()\s*['\"]?{ADDRESS}[^)]*", text)
        found += re.findall(rf"\bimport\b[^;\n]*['\"]{ADDRESS}", text)
        assert not found
    for name in re.findall(r'(?:src|href)="(assets/[^"]+)"', page):
        assert (folder / name).is_file(), name
    assert "unpkg" not in page
    assert "cdnjs" not in page


@pytest.mark.kernel
def test_a_browser_without_a_network_draws_figures_and_formulas(deck):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed here.")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_ms)
        asked, wrong = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(deck.as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady() && window.MathJax && MathJax.startup")
        page.evaluate("MathJax.startup.promise")
        for _slide in range(page.evaluate("Reveal.getTotalSlides()")):
            page.evaluate("Reveal.next()")
        page.wait_for_function(f"document.querySelectorAll('.figure').length > 3 && {DRAWN}")
        formulas = page.evaluate("document.querySelectorAll('mjx-container').length")
        browser.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not wrong
    assert formulas > 0


@pytest.mark.kernel
def test_a_deck_holds_the_live_cells_and_no_prediction_of_anybody(deck):
    page = deck.read_text(encoding="utf-8")
    (path,) = [p for p in LESSONS if p.stem.startswith(LESSON)]
    for cell in read(path)["cells"]:
        heading = re.match(r"##+ (.+)", source(cell))
        if heading and cell["cell_type"] == "markdown":
            assert (f">{heading[1]}<" in page) == ("workshop" in tags(cell)), heading[1]
    assert 'class="figure"' in page
    assert "widget-view" not in page


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_lesson_has_a_live_path_that_makes_slides(path):
    made = slides.live_path(nbformat.read(path, as_version=4))
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in made.cells]
    assert kinds[0] == "slide"
    assert kinds.count("slide") >= 3
    for cell in made.cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\]\((?!#|[a-z]+:)", cell.source), "a link to a file that is not beside the deck"


def test_what_cannot_be_shown_without_a_kernel_is_left_out_or_said():
    widget = {"output_type": "display_data", "data": {slides.WIDGET: {}}, "metadata": {}}
    asked = {
        "output_type": "display_data",
        "data": {"text/html": '<div class="ic-snapshot">', "text/plain": "How long? Run this cell to answer."},
        "metadata": {},
    }
    assert slides._still(widget, []) is None
    assert "How long?" in slides._still(dict(asked), ["predict"])["data"]["text/html"]
    assert "notebook" in slides._still(dict(asked), ["explorer"])["data"]["text/html"]


def test_a_figure_cannot_end_the_script_it_is_in():
    text = slides.figure({"data": [{"text": "</script><b>"}], "layout": {"meta": {"alt": 'a "b"'}}})
    assert text.count("</script>") == 1
    assert 'aria-label="a &quot;b&quot;"' in text


def test_a_lesson_that_is_not_there_is_named(capsys):
    assert main.main(["slides", "77"]) == 2
    assert "There is no lesson 77; there are 00, 01" in capsys.readouterr().err


@pytest.mark.kernel
def test_a_lesson_that_does_not_run_is_named_with_its_error(tmp_path):
    cell = nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["workshop"]})
    path = tmp_path / "07_broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    with pytest.raises(CourseError, match=r"07_broken\.ipynb does not run .* ZeroDivisionError: division by zero"):
        slides.page(path)


@pytest.mark.parametrize(
    "output",
    [
        nbformat.v4.new_output("stream", text="one line of a log\n" * 14),
        nbformat.v4.new_output("display_data", data={"text/plain": "one line of a log\n" * 14}),
        nbformat.v4.new_output("stream", text="one long line of a log that goes on and on " * 34),
    ],
    ids=["printed", "shown", "long"],
)
def test_what_a_cell_prints_takes_room_on_a_slide(output):
    """A table of ten lines and fourteen printed ones do not fit below one another."""
    table = nbformat.v4.new_markdown_cell("\n".join(["# Tools", *["| a | b |"] * 10]), metadata={"tags": ["workshop"]})
    printed = nbformat.v4.new_code_cell("print(log)", outputs=[output], metadata={"tags": ["workshop"]})
    made = slides.live_path(nbformat.v4.new_notebook(cells=[table, printed]))
    assert [cell.metadata.slideshow.slide_type for cell in made.cells] == ["slide", "subslide"]
