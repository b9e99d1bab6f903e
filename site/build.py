"""Build the site: run every lesson on a light and on a dark ground, lay the pages out and let Sphinx write them.

`make site`, or `python site/build.py [05 …] [--to FOLDER]`. The notebooks in notebooks/ stay as they are: copies are run.
"""

import argparse
import hashlib
import html
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import plotly.graph_objects as go
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_lib.base.errors import CourseError
from course_lib.cli import node, slides
from course_lib.figures.show import heading_html, meta_of, spec, table_html

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import moving  # noqa: E402 (they lie beside this file, which is no package: the standard library has a `site`)
import packing  # noqa: E402
import panel  # noqa: E402

GROUNDS = ("light", "dark")
PAGES = [
    "accuracy",
    "accuracy_training",
    "accuracy_experts",
    "machine_gallery",
    "claims",
    "glossary",
    "add_a_gpu",
    "add_a_collective",
    "add_a_figure",
    "add_a_question",
    "kinds_of_questions",
    "follow_a_number",
    "translate",
]
FAULTS = sorted(f"faults/{path.stem}" for path in (ROOT / "docs" / "faults").glob("*.md"))
TREE = "\n\n```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```\n"

NOTE = (
    "These pages are the course to read. Point at a mark in a figure for its numbers. In a figure with axes, drag over a part to "
    "see it larger, double-click to go back; drawings without axes stay as they are. Explorers move over a few positions of their "
    "controls, drawn beforehand: `make lab` opens the notebooks, where every control moves freely and exercises are checked."
)


def main(arguments: list[str] | None = None) -> int:
    """Write the site and say how long it took; the return value is the exit code."""
    parser = argparse.ArgumentParser(description="build the static site of the course")
    parser.add_argument("lessons", nargs="*", metavar="05", help="which lessons; all by default")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="where it goes (build/site)")
    parser.add_argument("--no-math", action="store_true", help="leave MathJax out, so that npm is not needed")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        paths = slides.lessons(ROOT, args.lessons)
        pages = args.to.parent / f"{args.to.name}-pages"
        shutil.rmtree(pages, ignore_errors=True)
        lay_out(paths, pages, args.to.parent / f"{args.to.name}-run", math=not args.no_math)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    shutil.rmtree(args.to, ignore_errors=True)
    words = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", str(pages), "-d", str(pages / ".doctrees")]
    failed = subprocess.run([*words, str(pages), str(args.to)], check=False).returncode
    if not failed:
        print(f"{args.to / 'index.html'}: open it in a browser ({time.perf_counter() - start:.0f} s)")
    return failed


def lay_out(paths: list[Path], pages: Path, runs: Path, *, math: bool) -> None:
    """Write what Sphinx reads into `pages`: the folders of the repository with the notebooks executed."""
    for folder in ("notebooks", "docs", "_static/moves"):
        (pages / folder).mkdir(parents=True)
    runs.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "conf.py", pages)
    for folder in ("images", "faults/images"):
        shutil.copytree(ROOT / "docs" / folder, pages / "docs" / folder)
    put_static(pages / "_static", math=math)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        drawn = list(pool.map(lesson, paths, [runs] * len(paths), [pages / "_static" / "moves"] * len(paths)))
    kept = {f"notebooks/{path.name}" for path in paths} | {f"docs/{name}.md" for name in (*PAGES, *FAULTS)}
    for path, notebook in zip(paths, drawn):
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = links(cell.source, "notebooks", kept)
        nbformat.write(notebook, pages / "notebooks" / path.name)
    for name in (*PAGES, *FAULTS):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        text = re.sub(r'<a id="([\w-]+)"></a>', r"[]{#\1}", text)  # an anchor that Sphinx knows
        (pages / "docs" / f"{name}.md").write_text(
            links(text, f"docs/{name}".rpartition("/")[0], kept), encoding="utf-8"
        )
    with (pages / "docs" / "faults" / "index.md").open("a", encoding="utf-8") as index:
        others = [name.partition("/")[2] for name in FAULTS if name != "faults/index"]
        index.write(TREE.format("Faults", "\n".join(others)))
    readme = links((ROOT / "README.md").read_text(encoding="utf-8"), "", kept)
    title, _newline, rest = readme.partition("\n")
    readme = f"{title}\n\n> {NOTE}\n{rest}"
    readme += TREE.format("Lessons", "\n".join(f"notebooks/{path.stem}" for path in paths))
    readme += TREE.format("Held against the world", "\n".join(f"docs/{name}" for name in (*PAGES, "faults/index")))
    (pages / "index.md").write_text(readme, encoding="utf-8")


def put_static(folder: Path, *, math: bool) -> None:
    """Put the scripts and styles of the pages into `folder`; MathJax comes from npm once, in a locked version."""
    from plotly.offline import get_plotlyjs

    for path in (HERE / "static").iterdir():
        shutil.copy(path, folder)
    (folder / "units.js").write_text(panel.units(), encoding="utf-8")
    (folder / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    (folder / "tex-svg-full.js").touch()
    if math:
        modules = node.install(slides.ASSETS, ROOT / "build" / "node")
        shutil.copy(modules / "mathjax" / "es5" / "tex-svg-full.js", folder)
        shutil.copy(modules / "mathjax" / "LICENSE", folder / "LICENSE-mathjax")


def links(text: str, folder: str, kept: set[str]) -> str:
    """Return Markdown in which links to files that are not on the site are plain words; README becomes the index."""

    def one(found: re.Match) -> str:
        words, target = found[1], found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        place, _sharp, _anchor = target.partition("#")
        full = os.path.normpath(os.path.join(folder, place)).replace(os.sep, "/")
        if full == "README.md":
            return f"[{words}]({os.path.relpath('index.md', folder or '.')})"
        return found[0] if full in kept else words

    return re.sub(r"(?<!!)\[([^\]\[]*)\]\(([^)\s]+)\)", one, text)


def lesson(path: Path, runs: Path, data: Path) -> Any:
    """Return a lesson as it stands after a run, its outputs ready for a page without a kernel; explorers' data goes to `data`."""
    light, dark = (executed(path, ground, runs) for ground in GROUNDS)
    moved = 0
    for one, other in zip(light.cells, dark.cells):
        if one.cell_type == "code":
            made = []
            for output, twin in itertools.zip_longest(one.outputs, other.outputs[: len(one.outputs)]):
                key = f"{number(path)}-{moved}"
                if moving.GRID in output.get("data", {}):
                    found = output["data"][moving.GRID]
                    (data / f"{key}.js").write_text(panel.script(found, key), encoding="utf-8")
                    moved += 1
                made.append(still(output, twin, key))
            one.outputs = [output for output in made if output]
    light.metadata.pop("widgets", None)
    return light


def number(path: Path) -> str:
    """Return the number of a lesson, "05" or "A"."""
    return path.stem.split("_")[0]


def executed(path: Path, ground: str, runs: Path) -> Any:
    """Return a notebook run in a kernel that draws on `ground`; what has not changed since the last run is kept."""
    state = hashlib.sha256(path.read_bytes() + ground.encode())
    for file in sorted([*(ROOT / "course_lib").rglob("*"), *HERE.glob("mov*"), HERE / "packing.py"]):
        if file.suffix in {".py", ".csv", ".toml", ".json"}:
            state.update(file.read_bytes())
    kept = runs / f"{path.stem}-{ground}-{state.hexdigest()[:16]}.ipynb"
    if kept.is_file():
        return nbformat.read(kept, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    draws = ground == GROUNDS[0]  # the first run draws the explorers on both grounds
    listen = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import moving; moving.listen({number(path)!r}, draw={draws})"
    )
    notebook.cells.insert(0, nbformat.v4.new_code_cell(listen))
    with tempfile.TemporaryDirectory() as notes:  # no prediction of this computer's learner gets onto a page
        env = os.environ | {"INTERCONNECT_HOME": notes, "INTERCONNECT_THEME": ground, "INTERCONNECT_LANG": "en"}
        where = {"metadata": {"path": str(path.parent)}}
        quiet = ["--log-level=ERROR"]
        client = NotebookClient(notebook, timeout=600, resources=where, store_widget_state=False, extra_arguments=quiet)
        try:
            client.execute(env=env)
        except CellExecutionError as error:
            why = f"{error.ename}: {error.evalue}"
            raise CourseError(f"{path.name} does not run to its end, so there is no site: {why}") from None
    del notebook.cells[0]
    for old in runs.glob(f"{path.stem}-{ground}-*.ipynb"):
        old.unlink()
    nbformat.write(notebook, kept)
    return notebook


def still(output: Any, twin: Any, key: str) -> Any:
    """Return an output as a page shows it without a kernel, or None for a widget; `twin` is the same on a dark ground."""
    data = output.get("data", {})
    if slides.WIDGET in data:
        return None
    if slides.PLOTLY in data:
        other = (twin or {}).get("data", {}).get(slides.PLOTLY)
        text = figure(data[slides.PLOTLY], other)
    elif moving.GRID in data:
        text = panel.explorer(data[moving.GRID], key)
    elif moving.ASKED in data:
        asked = data[moving.ASKED]
        text = panel.ask(asked, f"asked-{asked['name']}")
    else:
        return output
    return nbformat.v4.new_output("display_data", data={"text/html": text})


def figure(drawn: dict[str, Any], dark: dict[str, Any] | None) -> str:
    """Return a figure's place on a page: its numbers as JSON, what differs on a dark ground, its words and its table."""
    fig = _figure(drawn)
    heading = heading_html(fig) if fig.layout.title.text else ""  # what `show` draws has its heading above it already
    alt, *_table = meta_of(fig)
    plain = _bare(fig)
    plain["dark"] = packing.differences(plain, _bare(_figure(dark))) if dark else []
    height = int(plain["layout"].get("height", 420))
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    inner = f"<p>{html.escape(alt)}</p>{table_html(fig)}"
    return (
        f'{heading}<div class="site-figure" role="img" aria-label="{html.escape(alt, quote=True)}" style="min-height:{height}px">'
        f'<script type="application/json">{text}</script></div>'
        f'<details class="site-words"><summary>The figure in words and numbers</summary>{inner}</details>'
    )


def _figure(drawn: dict[str, Any]) -> go.Figure:
    return go.Figure({"data": drawn.get("data", []), "layout": drawn.get("layout", {})}, _validate=False)


def _bare(fig: go.Figure) -> dict[str, Any]:
    plain = spec(fig, titled=False)
    plain["layout"].pop("meta", None)  # the words and the table stand on the page
    return plain


if __name__ == "__main__":
    raise SystemExit(main())
