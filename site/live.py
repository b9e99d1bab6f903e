"""Build the live site: JupyterLite with the lessons, and the whole of course_lib in a kernel that runs in the browser.

`make live`, or `python site/live.py [--to FOLDER] [--packages FOLDER]`. docs/live.md says what runs and what is untested.
"""

import argparse
import importlib.metadata as metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL, PYODIDE_VERSION
from live_packages import CONTROL, Wheels, closure, record

from course_lib.base.errors import CourseError
from course_lib.cli import node

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ASSETS = HERE / "live_assets"
COURSE = "interconnect-course"
EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "@jupyterlite/pyodide-kernel-extension", "jupyterlab-plotly")
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
NOTES = "progress"  # a folder of the site's files for what the kernel notes down; a browser keeps what is in it
PAGE_CHANGES = {  # in JupyterLite's config-utils.js
    "  // rewrite the config\n": "  (await import('./live.js')).adapt(config);\n  // rewrite the config\n",
    "config.appUrl.replace(/\\/?$/, '/index.html')": "(await import('./live.js')).front(config)",
}
ABOUT_NOTES = (
    "# Your notes\n\nWhat you predict and check is written down here. It stays in this browser, until you clear its "
    "data for this site: nobody else sees it.\n"
)


def main(arguments: list[str] | None = None) -> int:
    """Write the site and say where it lies; the return value is the exit code."""
    parser = argparse.ArgumentParser(description="build the course as a site that runs in the browser")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "live", help="where it goes (build/live)")
    parser.add_argument(
        "--packages",
        type=Path,
        default=os.environ.get("PYODIDE_PACKAGES") or None,
        help="a folder with Pyodide's own wheels of NumPy and ml_dtypes (or PYODIDE_PACKAGES)",
    )
    parser.add_argument("--no-fetch", action="store_true", help="do not try to fetch these two wheels")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        missing = build(args.to, args.packages, fetch=not args.no_fetch)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in args.to.rglob("*") if path.is_file())
    print(f"{args.to}: {size / 1e6:.0f} MB in {time.perf_counter() - start:.0f} s.")
    print(f"To read it: {Path(sys.executable).name} -m http.server --bind 127.0.0.1 --directory {args.to}")
    if missing:
        print(f"Not on the site, so each browser fetches it from {PYODIDE_CDN_URL}: {', '.join(missing)}")
    return 0


def build(target: Path, packages: Path | None = None, *, fetch: bool = True) -> list[str]:
    """Write the site into `target`; return the files that are not on it, because they could not be had."""
    if target.exists() and any(target.iterdir()) and not (target / "jupyter-lite.json").is_file():
        raise CourseError(
            f"{target} holds something else than a live site. Empty it, or choose another folder with --to."
        )
    kept = ROOT / "build" / "live-kept"
    modules = node.install(ASSETS, kept / "node")
    with tempfile.TemporaryDirectory() as place:
        lite = Path(place) / "lite"
        missing = lay_out_python(modules / "pyodide", lite / "static" / "pyodide", kept, packages, fetch=fetch)
        contents = lay_out_contents(lite / "contents")
        (lite / "jupyter-lite.json").write_text(json.dumps(page_settings()), encoding="utf-8")
        (lite / "overrides.json").write_text(json.dumps(user_settings()), encoding="utf-8")
        (lite / "jupyter_lite_config.json").write_text(json.dumps(lite_settings(contents)), encoding="utf-8")
        words = [sys.executable, "-m", "jupyterlite_core", "build", "--output-dir", str(lite / "_output")]
        done = subprocess.run(words, cwd=lite, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            raise CourseError(f"JupyterLite could not build the site:\n{(done.stdout + done.stderr)[-3000:]}")
        finish(lite / "_output")
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(lite / "_output", target)
    return missing


def lay_out_python(
    source: Path, folder: Path, kept: Path, packages: Path | None = None, *, fetch: bool = True
) -> list[str]:
    """Put Python for the browser into `folder`, with a lock file of exactly what the course needs. Return what is missing.

    A kernel looks up every module that a cell imports in that lock, so that `import course_lib` brings the course's wheel.
    """
    folder.mkdir(parents=True)
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        shutil.copy(source / name, folder)
    lock = json.loads((source / "pyodide-lock.json").read_text(encoding="utf-8"))
    needs = closure(roots())
    binary = {
        n: lock["packages"][n]
        for n in needs
        if "none-any" not in lock["packages"].get(n, {}).get("file_name", "none-any")
    }
    found = {COURSE: course_wheel(folder)}
    wheels = Wheels(kept / "wheels", [ROOT / "requirements.lock.txt", ASSETS / "requirements.txt"])
    found |= wheels.download(sorted(set(needs) - set(binary) - set(found)))
    for path in sorted(extension("@jupyterlite/pyodide-kernel-extension").glob("static/pypi/*.whl")):
        name = path.name.partition("-")[0].replace("_", "-")
        if name in CONTROL:
            found[name], needs[name] = path, CONTROL[name]
    missing = []
    written = {}
    for name, path in found.items():
        if path.parent != folder:
            shutil.copy(path, folder)
        written[name] = record(name, path, needs[name])
    for name, entry in binary.items():
        path = prebuilt(entry, kept / "prebuilt", packages, fetch=fetch)
        if path:
            shutil.copy(path, folder)
            written[name] = entry
        else:
            missing.append(entry["file_name"])
            written[name] = entry | {"file_name": f"{PYODIDE_CDN_URL}/{entry['file_name']}"}
    lock["packages"] = written
    (folder / "pyodide-lock.json").write_text(json.dumps(lock, sort_keys=True), encoding="utf-8")
    return missing


def roots() -> dict[str, list[str] | None]:
    """Return what the kernel is asked for by name, and what each of these needs by its own account."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {COURSE: project["dependencies"], "ipython": metadata.requires("ipython"), "micropip": []}


def prebuilt(entry: dict[str, Any], kept: Path, packages: Path | None, *, fetch: bool) -> Path | None:
    """Return the file of a package that is compiled for the browser: given, kept from before, fetched, or None."""
    import urllib.error
    import urllib.request

    name = entry["file_name"]
    if packages is not None:
        path = Path(packages) / name
        if not path.is_file():
            raise CourseError(f"{packages} holds no {name}, the version that belongs to Pyodide {PYODIDE_VERSION}.")
        if sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            raise CourseError(
                f"{path} is not the file that belongs to Pyodide {PYODIDE_VERSION}: its checksum differs."
            )
        return path
    path = kept / name
    if path.is_file():
        return path
    if not fetch:
        return None
    try:
        with urllib.request.urlopen(f"{PYODIDE_CDN_URL}/{name}", timeout=20) as answer:
            data = answer.read()
    except (urllib.error.URLError, OSError):
        return None
    if sha256(data).hexdigest() != entry["sha256"]:
        raise CourseError(f"What came from {PYODIDE_CDN_URL} as {name} has another checksum than Pyodide's lock says.")
    kept.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def course_wheel(folder: Path) -> Path:
    """Build the course's wheel into `folder`, from a copy of the sources, so that nothing is left beside them."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        shutil.copytree(ROOT / "course_lib", source / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
            shutil.copy(ROOT / name, source)
        words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
        done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise CourseError(f"The course's wheel could not be built:\n{done.stderr[-2000:]}")
    return next(folder.glob(f"{COURSE.replace('-', '_')}-*.whl"))


def lay_out_contents(folder: Path) -> Path:
    """Put the lessons, the exercises and what they link to into `folder`, as the site's file browser shows them."""
    for path in [*sorted(ROOT.glob("notebooks/*.ipynb")), *sorted(ROOT.glob("exercises/*/*.ipynb"))]:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["metadata"]["kernelspec"] = {
            "name": "python",
            "display_name": "Python (Pyodide)",
            "language": "python",
        }
        put = folder / path.relative_to(ROOT)
        put.parent.mkdir(parents=True, exist_ok=True)
        put.write_text(json.dumps(notebook, ensure_ascii=False, indent=1), encoding="utf-8")
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / NOTES).mkdir()
    (folder / NOTES / "README.md").write_text(ABOUT_NOTES, encoding="utf-8")
    for name in ("LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, folder)
    return folder


def finish(site: Path) -> None:
    """Let the page tell the kernel the reader's language and ground, lead to the first lesson, and have an icon."""
    utils = site / "config-utils.js"
    text = utils.read_text(encoding="utf-8")
    for before, after in PAGE_CHANGES.items():
        if text.count(before) != 1:
            raise CourseError(
                "This JupyterLite starts its pages in another way than the one site/live.py was written for."
            )
        text = text.replace(before, after)
    utils.write_text(text, encoding="utf-8")
    shutil.copy(ASSETS / "live.js", site)
    shutil.copy(site / "lab" / "favicon.ico", site)


def extension(name: str) -> Path:
    """Return the folder of an installed extension of JupyterLab."""
    folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / name
    if not (folder / "package.json").is_file():
        raise CourseError(f'The extension {name} is not installed here. Run: pip install -e ".[site]"')
    return folder


def lite_settings(contents: Path) -> dict[str, Any]:
    """Return what JupyterLite's builder reads: three extensions of the many that may be installed, and no source maps."""
    return {
        "LiteBuildConfig": {
            "apps": ["lab", "notebooks", "tree", "edit"],
            "contents": [str(contents)],
            "ignore_sys_prefix": ["federated_extensions"],
            "federated_extensions": [str(extension(name)) for name in EXTENSIONS],
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
        }
    }


def page_settings() -> dict[str, Any]:
    """Return what the page reads: what the kernel loads at its start, and that packages come from this site alone."""
    kernel = {
        "disablePyPIFallback": True,
        "loadPyodideOptions": {
            "packages": ["micropip", *CONTROL, "comm", "jedi", "ipython"],
            "env": {"INTERCONNECT_HOME": f"/drive/{NOTES}"},
        },
    }
    data = {"appName": "GPU interconnects", "litePluginSettings": {KERNEL: kernel}}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}


def user_settings() -> dict[str, Any]:
    """Return the settings that a reader starts with: the theme is light or dark as the system's is."""
    return {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}


if __name__ == "__main__":
    raise SystemExit(main())
