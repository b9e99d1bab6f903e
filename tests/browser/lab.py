"""A JupyterLab of its own on copies of notebooks, and a Chromium that watches it: requests that leave the machine, console errors."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing leaves the machine, whatever a page asks for
]

PATIENCE_ms = 120_000  # a bound on every wait in a page, for a machine that does other things too

READY = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
RUN_DONE = """() => { const w = window.jupyterapp?.shell.currentWidget; const k = w?.sessionContext?.session?.kernel;
  if (!k || k.status !== 'idle') return false;
  const ran = m => m.type !== 'code' || !m.sharedModel.getSource().trim() || m.executionCount !== null;
  return w.content.widgets.every(c => ran(c.model)); }"""

# JupyterLab puts cells that are out of sight into the page when it has time, and fills outputs and widgets after that: until all
# are there, an error is not seen and an explorer is not found.
ALL_SHOWN = """() => window.jupyterapp.shell.currentWidget.content.widgets.every(cell => {
  if (!cell.node.isConnected || cell.isPlaceholder()) return false;
  if (cell.model.type !== 'code') return true;
  const shown = [...cell.outputArea.node.querySelectorAll(':scope > .jp-OutputArea-child > .jp-OutputArea-output')];
  const figures = [...cell.node.querySelectorAll('.ic-explorer .ic-figure')];
  const full = e => e.classList.contains('jupyter-widgets') ? e.querySelector('.widget-box') : e.childNodes.length;
  return shown.length >= cell.model.outputs.length && shown.every(full)
    && figures.every(e => e.querySelector('svg.main-svg')); })"""

ERRORS = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
  .filter(e => /stderr|jupyter.error/.test(e.dataset.mimeType))
  .map(e => { const cells = [...document.querySelectorAll('.jp-Cell')];
    return `cell ${cells.indexOf(e.closest('.jp-Cell'))}: ${e.textContent.trim()}`; })"""

# What an explorer shows, as a short text; the random parts of Plotly's ids are left out.
PICTURE = """e => { const seen = [...e.querySelectorAll('.ic-head, .ic-figure svg, .ic-eq, .ic-sentence, .ic-message')]
    .filter(x => x.parentElement.closest('svg') === null).map(x => x.outerHTML).join('|')
    .replace(/\\b(clip|legend|topdefs|defs)?[a-z-]*[0-9a-f]{6,}[a-z-]*/g, '');
  let a = 1, b = 2;
  for (let i = 0; i < seen.length; i++) {
    const c = seen.charCodeAt(i); a = Math.imul(a ^ c, 2654435761); b = Math.imul(b ^ c, 1597334677); }
  return `${seen.length}.${a >>> 0}.${b >>> 0}`; }"""

# Looks from within the page: asked for from outside, each look would send the whole picture through two processes.
SETTLED = f"""(e, {{before, quiet, most, patience}}) => new Promise(done => {{
  const picture = {PICTURE};
  const began = performance.now();
  let last = picture(e), since = began;
  const look = () => {{
    const now = picture(e), moment = performance.now();
    if (now !== last) {{ last = now; since = moment; }}
    const waiting = before !== null && now === before && moment - began < patience;
    const drawn = e.querySelector('.ic-figure svg.main-svg') !== null;
    if ((!waiting && moment - since > quiet && drawn) || moment - began > most) done(last);
    else setTimeout(look, 40);
  }};
  setTimeout(look, 40); }})"""


def chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM", "")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return (named if Path(named).is_file() else None) or next(filter(None, map(shutil.which, names)), None)


def free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Lab:
    """A JupyterLab server with private folders for settings; `.page(…)` opens a notebook in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = free_port()
        self.home = folder / ".lab-home"
        (self.home / "config" / "labconfig").mkdir(parents=True)
        no_news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (self.home / "config" / "labconfig" / "page_config.json").write_text(json.dumps(no_news), encoding="utf-8")
        self.environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.home / "run"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.home / "settings"),
            "IPYTHONDIR": str(self.home / "ipython"),
            "INTERCONNECT_HOME": str(self.home / "notes"),
        }
        self.log = (self.home / "lab.log").open("w", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "jupyter",
            "lab",
            "--no-browser",
            "--allow-root",
            f"--ServerApp.port={self.port}",
        ]
        command += [
            "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1",
            "--IdentityProvider.token=",
            "--LabApp.news_url=",
        ]
        command += [
            "--ServerApp.disable_check_xsrf=True",
            "--LabApp.expose_app_in_browser=True",
            f"--ServerApp.root_dir={folder}",
        ]
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, env=self.environment, cwd=folder
        )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + 240  # seconds on an idle machine
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/status", timeout=60).read()
                return
            except OSError:
                time.sleep(0.15)
        raise RuntimeError("JupyterLab did not start:\n" + (self.home / "lab.log").read_text(encoding="utf-8")[-3000:])

    def theme(self, name: str) -> None:
        """Save "JupyterLab Light" or "JupyterLab Dark" as the person's theme."""
        folder = self.home / "settings" / "@jupyterlab" / "apputils-extension"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "themes.jupyterlab-settings").write_text(json.dumps({"theme": name}), encoding="utf-8")

    def write(self, name: str, cells: list[str]) -> str:
        """Write a notebook of code cells and return its name."""
        made = [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": c}
            for i, c in enumerate(cells)
        ]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        (self.folder / name).write_text(
            json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8"
        )
        return name

    def end_kernels(self) -> None:
        """Shut every kernel down."""
        base = f"http://127.0.0.1:{self.port}/api/sessions"
        for session in json.load(urllib.request.urlopen(base, timeout=60)):
            urllib.request.urlopen(
                urllib.request.Request(f"{base}/{session['id']}", method="DELETE"), timeout=60
            ).read()

    def stop(self) -> None:
        """End the server and its kernels."""
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()


class Watched:
    """One browser page on a Lab: `.page` is Playwright's; `.blocked` and `.errors` collect what must not happen.

    All pages of a browser share one context, and requests are looked at, not intercepted: either would cost every page
    JupyterLab's scripts again.
    """

    def __init__(self, browser, lab: Lab, *, width: int = 1280, height: int = 900):
        self.lab = lab
        self.blocked: list[str] = []
        self.errors: list[str] = []
        self.context = browser.contexts[0] if browser.contexts else browser.new_context()
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_ms)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("websocket", lambda socket: self._asked(socket.url))
        self.page.on("console", lambda m: self._error(m.text, m.location["url"]) if m.type == "error" else None)
        self.page.on(
            "response", lambda r: self._error(f"{r.request.method} {r.status}", r.url) if r.status >= 500 else None
        )
        self.page.on("pageerror", lambda e: self._error(str(e)))

    def _error(self, text: str, url: str = "") -> None:
        log = (self.lab.home / "lab.log").read_text(encoding="utf-8")
        # the site's builder leaves an extension for pages without a server, which a Lab with one cannot load
        built = "@jupyterlite/" in text
        # in the moment in which a kernel starts the server cannot list kernels (jupyter/notebook#5345); the page asks again
        starting = urlsplit(url).path == "/api/kernels" and "The 'last_activity' trait" in log
        if not built and not starting:
            self.errors.append(f"{text[:300]} {url}" + (f"\n{log[-3000:]}" if "500" in text else ""))

    def _asked(self, url: str) -> None:
        place = f"127.0.0.1:{self.lab.port}/"
        if not url.startswith((f"http://{place}", f"ws://{place}", "data:", "blob:")):
            self.blocked.append(url[:200])

    def open(self, notebook: str, *, run: bool = True, simple: bool = False) -> "Watched":
        """Open a notebook, wait for its kernel and, with `run`, for all its cells."""
        mode = "doc" if simple else "lab"
        self.page.goto(f"http://127.0.0.1:{self.lab.port}/{mode}/tree/{notebook}?reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=240_000)
        self.page.wait_for_function(READY, timeout=240_000)
        if run:
            self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
            self.page.wait_for_function(RUN_DONE, timeout=400_000)
            self.page.wait_for_function(ALL_SHOWN)
        return self

    def save(self) -> None:
        """Save the notebook."""
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")

    def outputs_with_errors(self) -> list[str]:
        """Return the texts of tracebacks and stderr in the outputs, with the number of their cell."""
        return self.page.evaluate(ERRORS)

    def picture(self, explorer) -> str:
        """Return a mark of what an explorer shows: title, drawing, formula, sentence and message; equal marks, equal pictures."""
        return explorer.evaluate(f"e => ({PICTURE})(e)")

    def settle(self, explorer, before: str | None = None, *, quiet_s: float = 0.2, at_most_s: float = 10.0) -> str:
        """Wait until the picture has stopped changing and return its mark; `before` is one it should first differ from (for 2.5 s)."""
        times = {"before": before, "quiet": 1000 * quiet_s, "most": 1000 * at_most_s, "patience": 2500}
        return explorer.evaluate(SETTLED, times)

    def close(self) -> None:
        """Close the page."""
        self.page.close()


def visible_explorers(watched: Watched) -> list:
    """Return the explorers of the page that hold a figure, in order."""
    return [e for e in watched.page.locator(".ic-explorer:has(.ic-figure)").all() if e.is_visible()]


def commit_guess(watched: Watched, explorer) -> None:
    """Type a guess where one is asked, so that the controls open."""
    box = explorer.locator(".ic-guess input")
    if box.count() and box.first.is_enabled():
        box.first.fill("10")
        explorer.locator(".ic-guess button").first.click()
        opened = "e => !e.querySelector('.ic-guess input:enabled, .ic-controls [disabled]')"
        watched.page.wait_for_function(opened, arg=explorer.element_handle())


def drive_every_control(watched: Watched, *, must_change: bool = True) -> list[str]:
    """Move every control of every explorer over its range; return what went wrong, in words (an empty list is a pass)."""
    wrong: list[str] = []
    for number, explorer in enumerate(visible_explorers(watched), 1):
        explorer.scroll_into_view_if_needed()
        commit_guess(watched, explorer)
        watched.settle(explorer)
        for control in explorer.locator(".ic-controls > *").all():
            name = " ".join(control.inner_text().replace("\u200b", "").split())[:60] or "?"
            seen = [watched.settle(explorer)]
            try:
                for move in _moves(watched, control):
                    move()
                    seen.append(watched.settle(explorer, seen[-1]))
            except Exception as error:
                wrong.append(f"explorer {number}, {name}: could not be moved: {error}"[:300])
            if must_change and len(set(seen)) < 2:
                wrong.append(f"explorer {number}, {name}: the picture does not change")
            explorer.locator(".ic-foot button").last.click()  # reset: a value that fails must not hide the next control
            watched.settle(explorer)
            if not explorer.locator(".ic-figure svg.main-svg").count():
                wrong.append(f"explorer {number}, {name}: the picture is gone")
        for button in explorer.locator(".ic-foot button").all():
            button.click()
            watched.settle(explorer)
        if explorer.locator(".ic-message").count() and explorer.locator(".ic-message").first.is_visible():
            wrong.append(
                f"explorer {number}: a message is left after reset: {explorer.locator('.ic-message').first.inner_text()}"
            )
    wrong += [f"error in an output: {text[:300]}" for text in watched.outputs_with_errors()]
    return wrong


def _moves(watched: Watched, control):
    """Yield what a hand can do to a control, one act at a time."""
    keyboard = watched.page.keyboard

    def press(handle, key):
        handle.focus()
        keyboard.press(key)

    def enter(box, text):
        box.fill(text)
        box.press("Enter")

    if control.locator(".noUi-handle").count():
        handle = control.locator(".noUi-handle").first
        for key in ("ArrowRight", "Home", "ArrowRight", "End", "ArrowLeft"):
            yield lambda key=key: press(handle, key)
        for button in control.locator("button").all():
            if button.is_visible() and button.is_enabled():
                yield button.click
    elif control.locator("select").count():
        select = control.locator("select").first
        shown = select.evaluate("e => e.selectedIndex")
        others = [i for i in range(select.locator("option").count()) if i != shown]
        for i in (*others, shown):  # what is shown comes last: chosen first, it would change nothing
            yield lambda i=i: select.select_option(index=i)
    elif control.locator("input[type=checkbox]").count():
        for _i in range(2):
            yield control.locator("input[type=checkbox]").first.click
    elif control.locator("textarea").count():
        box = control.locator("textarea").first
        for text in ("nonsense", "GPU0 GPU1\n\x00\u202e", "9" * 2000, ""):
            yield lambda text=text: (box.fill(text), box.blur())
    elif control.locator("input").count():
        box = control.locator("input").first
        for text in ("", "nonsense", "-1", "0", "1e300", "nan", box.input_value()):
            yield lambda text=text: enter(box, text)
    else:
        for button in control.locator("button").all():
            yield button.click
