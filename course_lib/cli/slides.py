"""`interconnect slides`: the live path of a lesson as slides that need no network and no kernel."""

import argparse
import html
import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.places import course_root

HELP = "make slides of lessons from their cells tagged workshop; they open without a network"
ASSETS = Path(__file__).parent / "slides_assets"
PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
ROOM = 720  # pixels of a slide


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("lessons", nargs="*", metavar="05", help=_("which lessons; all by default"))
    parser.add_argument("--to", type=Path, default=None, metavar="FOLDER", help=_("where they go (build/slides)"))
    parser.add_argument("--no-run", action="store_true", help=_("do not run the notebooks: no figures, but at once"))


def run(args: argparse.Namespace) -> int:
    """Write one page for each lesson and the folder assets/ beside them."""
    root = course_root()
    if root is None:
        raise CourseError(_("There is no course here. Run this in the folder that holds notebooks/ and exercises/."))
    chosen = lessons(root, args.lessons)
    target = args.to or root / "build" / "slides"
    target.mkdir(parents=True, exist_ok=True)
    put_assets(target / "assets")
    for path in chosen:
        deck = target / f"{path.stem}.html"
        deck.write_text(page(path, execute=not args.no_run), encoding="utf-8", newline="\n")
        print(_("{file}: open it in a browser; keep assets/ beside it.").format(file=deck))
    return 0


def lessons(root: Path, words: Sequence[str]) -> list[Path]:
    """Return the notebooks that `words` mean: numbers, stems or paths.

    >>> from course_lib.base.places import course_root
    >>> [path.stem for path in lessons(course_root(), ["5"])]
    ['05_ring_tree_or_the_switch']
    """
    paths = sorted((root / "notebooks").glob("*_*.ipynb"))
    if not words:
        return paths
    by_number = {path.stem.split("_")[0]: path for path in paths}
    found = []
    for word in words:
        number = Path(word).stem.split("_")[0].upper()
        number = number.zfill(2) if number.isdigit() else number
        if number not in by_number:
            text = _("There is no lesson {word}; there are {numbers}.")
            raise CourseError(text.format(word=word, numbers=", ".join(by_number)))
        found.append(by_number[number])
    return found


def put_assets(folder: Path) -> None:
    """Put reveal.js, MathJax and Plotly into `folder`: npm fetches the first two once, with locked versions."""
    from plotly.offline import get_plotlyjs

    from course_lib.cli import node

    lock = (ASSETS / "package-lock.json").read_bytes()
    mark = folder / "package-lock.json"
    if mark.is_file() and mark.read_bytes() == lock:
        return
    with tempfile.TemporaryDirectory() as place:
        modules = node.install(ASSETS, Path(place))
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("dist/reveal.js", "dist/reveal.css", "dist/theme/white.css", "plugin/notes/notes.js", "LICENSE"):
            (folder / "reveal" / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(modules / "reveal.js" / part, folder / "reveal" / part)
        fonts = Path("dist", "theme", "fonts", "source-sans-pro")
        shutil.copytree(modules / "reveal.js" / fonts, folder / "reveal" / fonts)
        shutil.copy(modules / "mathjax" / "es5" / "tex-svg-full.js", folder / "tex-svg-full.js")
        shutil.copy(modules / "mathjax" / "LICENSE", folder / "LICENSE-mathjax")
    (folder / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    mark.write_bytes(lock)


def page(path: Path, *, execute: bool = True) -> str:
    """Return the deck of one notebook as a page."""
    from nbconvert import SlidesExporter

    notebook = live_path(_read(path, execute))
    exporter = SlidesExporter(
        template_name="interconnect_slides",
        extra_template_basedirs=[str(ASSETS / "template")],
        reveal_url_prefix="assets/reveal",
        reveal_theme="white",  # the default one asks Google for its fonts
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    text, _resources = exporter.from_notebook_node(notebook, {"metadata": {"name": path.stem}})
    return text


def _read(path: Path, execute: bool) -> Any:
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    if not execute:
        return notebook
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    with tempfile.TemporaryDirectory() as notes:  # no prediction of this computer's learner gets onto a slide
        env = os.environ | {"INTERCONNECT_HOME": notes}
        where = {"metadata": {"path": str(path.parent)}}
        quiet = ["--log-level=ERROR"]  # the kernel's words about its transport are not the instructor's business
        client = NotebookClient(notebook, timeout=300, resources=where, extra_arguments=quiet)
        try:
            client.execute(env=env)
        except CellExecutionError as error:
            text = _("{file} does not run to its end, so it makes no slides: {why}")
            raise CourseError(text.format(file=path.name, why=f"{error.ename}: {error.evalue}")) from None
    return notebook


def live_path(notebook: Any) -> Any:
    """Return a notebook with the live cells only, each with its place in the deck, and outputs that need no kernel.

    A heading begins a slide, another text the next one below it; code and what it shows stay with the text before where
    there is room.
    """
    import nbformat

    made = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    filled = 0.0
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "workshop" not in tags or "imports" in tags:
            continue
        cell = nbformat.from_dict(json.loads(json.dumps(cell)))
        if cell.cell_type == "markdown":
            kind = "slide" if cell.source.lstrip().startswith("#") else "subslide"
            # A link to another notebook leads nowhere from here.
            cell.source = re.sub(r"(?<!!)\[([^\]\[]*)\]\((?!#|[a-z]+:)[^)]*\)", r"\1", cell.source)
        else:
            kind = "-"
            cell.outputs = [one for output in cell.outputs if (one := _still(output, tags)) is not None]
        tall = height(cell)
        if kind == "-" and filled and filled + tall > ROOM:
            kind = "subslide"
        filled = tall if kind != "-" else filled + tall
        cell.metadata = {"slideshow": {"slide_type": kind}}
        made.cells.append(cell)
    if not made.cells:
        raise CourseError(_("This notebook has no cell tagged workshop."))
    return made


def height(cell: Any) -> float:
    """Return about how many of a slide's 720 pixels a cell takes: its lines, and its figures.

    >>> from types import SimpleNamespace
    >>> height(SimpleNamespace(cell_type="markdown", source="one line"))
    50.0
    """
    lines = sum(1 + len(line) // 95 for line in cell.source.splitlines() if line.strip())
    paragraphs = cell.source.count("\n\n") + 1
    pixels = 30.0 * lines + 20 * paragraphs
    for output in getattr(cell, "outputs", []):
        data = output.get("data", {})
        text = str(data.get("text/html", "") or data.get("text/plain", "") or "".join(output.get("text", "")))
        drawn = re.search(r'"height": ?(\d+)', text)
        pixels += float(drawn[1]) if drawn else 28.0 * sum(1 + len(line) // 95 for line in text.splitlines())
    return pixels


def _still(output: Any, tags: Sequence[str]) -> Any:
    """Return an output as a page can show it without a kernel, or None for one that cannot be shown."""
    data = output.get("data", {})
    if WIDGET in data:
        return None
    if PLOTLY in data:
        return _shown(output, figure(data[PLOTLY]))
    if "ic-snapshot" in str(data.get("text/html", "")):
        question = str(data.get("text/plain", "")).split(" Run this cell")[0]
        if "predict" in tags:
            return _shown(output, f'<div class="ask"><b>{_("Predict")}</b> {html.escape(question)}</div>')
        return _shown(output, f'<p class="live">{_("Live: run this cell in the notebook and move its controls.")}</p>')
    return output


def _shown(output: Any, text: str) -> Any:
    output["data"], output["metadata"] = {"text/html": text}, {}
    return output


def figure(spec: dict[str, Any]) -> str:
    """Return a figure's place on a slide: its numbers as JSON, drawn when the slide is shown, and its description.

    >>> 'aria-label="two bars"' in figure({"data": [], "layout": {"meta": {"alt": "two bars"}}})
    True
    """
    meta = spec.get("layout", {}).get("meta") or {}
    parts = {"data": spec.get("data") or [], "layout": spec.get("layout") or {}, "config": spec.get("config") or {}}
    text = json.dumps(parts).replace("<", "\\u003c")
    label = html.escape(str(meta.get("alt", "")), quote=True)
    return (
        f'<div class="figure" role="img" aria-label="{label}"><div class="plot"></div>'
        f'<script type="application/json">{text}</script></div>'
    )
