"""One JupyterLab and one Chromium for a file of tests; skipped without Chromium, an error under CI=true.

Not for the whole session: Playwright keeps an event loop running in its process, and other tests need one of their own.
"""

import os
import shutil

import pytest

from .lab import FLAGS, ROOT, Lab, Watched, chromium


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        why = "no Chromium here (Debian: apt-get install chromium, or name one in CHROMIUM)"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "exercises"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "tests" / "browser" / "demo.py", folder / "demo.py")
    running = Lab(folder)
    yield running
    running.stop()


@pytest.fixture
def watch(browser, lab):
    """Return a function that opens a notebook in a fresh page; everything is closed and the theme set back afterwards."""
    pages = []

    def opened(notebook, *, run=True, width=1280, height=900, theme="JupyterLab Light", simple=False):
        lab.theme(theme)
        page = Watched(browser, lab, width=width, height=height)
        pages.append(page)
        return page.open(notebook, run=run, simple=simple)

    yield opened
    for page in pages:
        page.close()
    lab.end_kernels()
    lab.theme("JupyterLab Light")
