"""Our Explorer beside `interact` + `fig.show()`: one picture moved by one slider, in a bare kernel and in JupyterLab; and all explorers.

In the kernel a move is the message that a page sends; counted are the bytes of all answers, the time until the picture is sent and
the processor time. In JupyterLab it is a key; counted are the time until the picture has changed and the saved file's growth.
"""

import importlib
import inspect
import itertools
import pkgutil
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from common import ROOT

MIMETYPE = "application/vnd.plotly.v1+json"
COURSE = """from tests.browser.demo import SIZES, alpha_beta, draw, link
from course_lib.base.units import say_time
"""
# what one writes without the course: nothing of it is imported, so that fig.show() is Plotly's own
PLAIN = """import numpy as np
SIZES = np.logspace(1, 10, 181)
say_time = "{:g} s".format
"""
INTERACT = """import plotly.graph_objects as go
from ipywidgets import SelectionSlider, interact
values = [m * 10.0**k for k in range(-7, -3) for m in (1, 1.5, 2, 3, 5, 7)] + [1e-3]
steps = SelectionSlider(options=[(say_time(v), v) for v in values], value=1e-5)
"""
CELLS = {
    "interact, a plain figure": PLAIN
    + INTERACT
    + """
@interact(latency_s=steps)
def show(latency_s):
    fig = go.Figure(go.Scatter(x=SIZES, y=SIZES / (latency_s + SIZES / 50e9)), {"title": f"latency {say_time(latency_s)}"})
    fig.update_xaxes(type="log", title="message size, bytes").update_yaxes(type="log", title="rate, bytes/s")
    fig.show()
""",
    "interact, the course's figure": COURSE
    + INTERACT
    + """
@interact(latency_s=steps)
def show(latency_s):
    draw(link(latency_s, 50e9)).show()
""",
    "Explorer": COURSE + "\nalpha_beta()",
}


IN_THE_PAGE = ("interact, a plain figure", "Explorer")


class Kernel:
    """A bare kernel with one of the cells run; `.move(index)` sends what a slider sends."""

    def __init__(self, code: str):
        import psutil
        from jupyter_client import KernelManager

        self.folder = (
            tempfile.TemporaryDirectory()
        )  # sockets in a folder of our own: ports of several kernels can collide
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(Path(self.folder.name) / "k"))
        self.manager.connection_file = str(Path(self.folder.name) / "connection.json")
        self.manager.start_kernel(cwd=str(ROOT))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.heard_B = 0
        self.client.execute(code, store_history=False)
        self.slider = None
        for message in self.listen(20.0, 1.0):
            state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
            if state.get("_model_name") == "SelectionSliderModel" and self.slider is None:
                self.slider = message["content"]["comm_id"]  # the latency in every cell
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
        self.first_B = self.heard_B

    def listen(self, at_most_s: float, still_s: float):
        """Yield messages until none has come for `still_s` after the first idle; count their bytes."""
        socket, until, idle = self.client.iopub_channel.socket, time.monotonic() + at_most_s, False
        while time.monotonic() < until:
            if not socket.poll(int(still_s * 1000) if idle else 50):
                if idle:
                    return
                continue
            frames = socket.recv_multipart()
            self.heard_B += sum(map(len, frames))
            message = self.client.session.deserialize(self.client.session.feed_identities(frames)[1])
            idle = idle or (message["msg_type"] == "status" and message["content"]["execution_state"] == "idle")
            yield message

    def send(self, index: int) -> None:
        """Move the slider to a place among its values."""
        data = {"method": "update", "state": {"index": index}, "buffer_paths": []}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", {"comm_id": self.slider, "data": data}))

    def cpu_s(self) -> float:
        """Return the processor seconds of the kernel so far."""
        used = self.process.cpu_times()
        return used.user + used.system

    def stop(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.folder.cleanup()


def draws(message: dict) -> bool:
    """Return whether a message brings a picture: as a display, or as the state of an Output widget."""
    content = message["content"]
    return MIMETYPE in content.get("data", {}) or MIMETYPE in str(
        content.get("data", {}).get("state", {}).get("outputs", "")
    )


def in_the_kernel(code: str, moves: int = 60) -> dict:
    """Return what a move costs alone, and what a drag of as many moves, 25 ms apart, costs together."""
    kernel = Kernel(code)
    try:
        before_B, cpu, waited = kernel.heard_B, kernel.cpu_s(), []
        for i in range(moves):
            begin, seen = time.perf_counter(), None
            kernel.send(1 + i % 20)
            for message in kernel.listen(5.0, 0.06):
                if seen is None and draws(message):
                    seen = time.perf_counter() - begin
            waited.append(seen)
        drawn = [s for s in waited if s is not None]
        alone_B, alone_cpu = kernel.heard_B - before_B, kernel.cpu_s() - cpu
        before_B, cpu, begin, pictures, last = kernel.heard_B, kernel.cpu_s(), time.perf_counter(), 0, 0.0
        for i in range(moves):
            kernel.send(1 + i % 20)
            time.sleep(0.025)
        sent = time.perf_counter()
        for message in kernel.listen(30.0, 0.5):
            if draws(message):
                pictures, last = pictures + 1, time.perf_counter() - sent
        return {
            "first_B": kernel.first_B,
            "move_B": alone_B / moves,
            "move_ms": statistics.median(drawn) * 1e3,
            "move_cpu_ms": alone_cpu / moves * 1e3,
            "missed": moves - len(drawn),
            "drag_pictures": pictures,
            "drag_B": kernel.heard_B - before_B,
            "drag_cpu_ms": (kernel.cpu_s() - cpu) * 1e3,
            "drag_behind_ms": last * 1e3,
        }
    finally:
        kernel.stop()


SEEN = """() => { window._seen = []; let last = null;
  const look = () => { const e = document.querySelector('.scatterlayer .trace path.js-line');
    const now = e && e.getAttribute('d');
    if (now && now !== last) { last = now; window._seen.push(performance.now()); } requestAnimationFrame(look); }; look();
  document.addEventListener('keydown', () => { window._key = performance.now(); }, true); }"""


def in_jupyterlab(moves: int = 60) -> dict:
    """Return for two cells: size of the saved notebook before and after the moves, and from key to picture; {} without Chromium."""
    from tests.browser.lab import FLAGS, Lab, Watched, chromium

    if chromium() is None:
        return {}
    from playwright.sync_api import sync_playwright

    folder, found = Path(tempfile.mkdtemp(prefix="explorers-")), {}
    lab = Lab(folder)
    try:
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
            for number, name in enumerate(IN_THE_PAGE):
                code = CELLS[name]
                watched = Watched(browser, lab)
                path = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
                notebook = lab.write(f"n{number}.ipynb", [path + code])
                found[name] = _moved(watched, folder / notebook, moves) | {"left_machine": len(watched.blocked)}
                watched.close()
                lab.end_kernels()
            browser.close()
    finally:
        lab.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _moved(watched, path: Path, moves: int) -> dict:
    empty_B = path.stat().st_size
    watched.open(path.name)
    page = watched.page
    page.wait_for_selector(".scatterlayer .trace path.js-line", timeout=60_000)
    watched.save()
    saved_B = path.stat().st_size
    page.evaluate(SEEN)
    page.locator(".noUi-handle").first.focus()
    taken, missed = [], 0
    for i in range(moves):
        if i >= moves // 2:  # the second half counts for the file only
            page.keyboard.press("ArrowRight" if i % 20 < 10 else "ArrowLeft", delay=20)
            continue
        page.wait_for_timeout(80)
        before = page.evaluate("() => window._seen.length")
        page.keyboard.press("ArrowRight" if i % 20 < 10 else "ArrowLeft")
        try:
            page.wait_for_function(f"() => window._seen.length > {before}", timeout=3000)
            taken.append(page.evaluate("() => window._seen[window._seen.length - 1] - window._key"))
        except Exception:
            missed += 1
    page.wait_for_timeout(500)
    watched.save()
    return {
        "empty_B": empty_B,
        "saved_B": saved_B,
        "after_B": path.stat().st_size,
        "moves": moves,
        "timed": moves // 2,
        "missed": missed,
        "key_ms": statistics.median(taken) if taken else None,
        "key_95_ms": sorted(taken)[int(0.95 * (len(taken) - 1))] if taken else None,
    }


def of_the_lessons(most: int = 25) -> list[dict]:
    """Return for every explorer of the lessons: seconds to make it, and processor ms at the first visit of `most` settings.

    The lesson's own caches are emptied and each setting is visited once; twice over, and the better counts.
    """
    from course_lib import explorers as lessons
    from course_lib.explorers.explorer import Explorer

    rows = []
    for module in sorted(m.name for m in pkgutil.iter_modules(lessons.__path__) if m.name.startswith("lesson")):
        content = vars(importlib.import_module(f"course_lib.explorers.{module}"))
        whole = [m for name, m in list(sys.modules.items()) if f"{name}.".startswith(f"course_lib.explorers.{module}.")]
        own = [f for m in whole for f in vars(m).values() if hasattr(f, "cache_clear") and f.__module__ == m.__name__]
        for name, make in content.items():
            if getattr(make, "__annotations__", {}).get("return") is not Explorer or inspect.signature(make).parameters:
                continue
            made, taken = [], {}
            for _twice in range(2):
                for cached in own:
                    cached.cache_clear()
                began = time.process_time()
                explorer = make()
                made.append(time.process_time() - began)
                for thread in threading.enumerate():  # what an explorer prepares in the background
                    if thread is not threading.current_thread() and thread.daemon:
                        thread.join(60)
                settings = list(itertools.product(*(_choices(c) for c in explorer.controls.values())))
                for at in settings if len(settings) <= most else random.Random(0).sample(settings, most):
                    began = time.thread_time()
                    explorer.set(**dict(zip(explorer.controls, at, strict=True)))
                    taken[at] = min(taken.get(at, float("inf")), (time.thread_time() - began) * 1e3)
            median, slowest = statistics.median(taken.values()), max(taken.values())
            row = {
                "lesson": module.removeprefix("lesson"),
                "explorer": name,
                "made_s": max(made),
                "settings": len(settings),
            }
            rows.append(row | {"visited": len(taken), "median_ms": median, "slowest_ms": slowest})
    return rows


def _choices(control) -> list:
    if hasattr(control, "options"):
        return [value for _text, value in control.options]
    return list(getattr(control, "values", None) or [control.start()])


def measure(moves: int = 60) -> dict:
    """Return what the three cells send from a bare kernel."""
    return {"moves": moves, "kernel": {name: in_the_kernel(code, moves) for name, code in CELLS.items()}}
