"""How fast an explorer answers: one update in the kernel, and from a key press to the changed picture in Chromium.

Run `python benchmarks/explorer_latency.py [--keys 40] [--settings 60]`; it prints a table and judges nothing. The browser part needs
Chromium, and is left out with `--keys 0`.
"""

import argparse
import importlib
import inspect
import itertools
import pkgutil
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course_lib import explorers as lessons
from course_lib.explorers.explorer import Explorer
from tests.browser import demo
from tests.browser.lab import FLAGS, ROOT, RUN_DONE, Lab, Watched, chromium, visible_explorers

NEW_FIGURE = """() => { const f = document.querySelector('.ic-figure');
  return f && f !== window._first && f.querySelector('svg.main-svg'); }"""
WATCH = """() => { window._seen = []; let last = null;
  const look = () => { const e = document.querySelector('.ic-figure .scatterlayer .trace path.js-line');
    const now = e && e.getAttribute('d');
    if (now && now !== last) { last = now; window._seen.push(performance.now()); } requestAnimationFrame(look); }; look();
  document.addEventListener('keydown', () => { window._key = performance.now(); }, true); }"""


def quantile(values, share):
    values = sorted(values)
    return values[min(int(share * len(values)), len(values) - 1)]


def in_the_kernel(n=200):
    explorer = demo.alpha_beta()
    steps = explorer._controls["latency_s"].values
    taken, cpu = [], time.process_time()
    for i in range(n):
        value = steps[i % len(steps)]
        began = time.perf_counter()
        explorer.set(latency_s=value)
        taken.append((time.perf_counter() - began) * 1e3)
    cpu_ms = (time.process_time() - cpu) / n * 1e3
    spread = f"median {statistics.median(taken):.1f} ms, 95 % under {quantile(taken, 0.95):.1f} ms"
    print(f"one update, model and figure data: {spread}; {cpu_ms:.1f} ms of processor time each")


def at_many_settings(most=60):
    """Every explorer of the lessons: how long it takes to make, and processor time at the first visit of `most` settings.

    The lesson's own caches are emptied, the explorer is made, and each setting is visited once; twice over, and the better counts.
    """
    for module in sorted(m.name for m in pkgutil.iter_modules(lessons.__path__) if m.name.startswith("lesson")):
        content = vars(importlib.import_module(f"course_lib.explorers.{module}"))
        own_caches = [f for f in content.values() if hasattr(f, "cache_clear") and f.__module__.endswith(f".{module}")]
        for name, make in content.items():
            if getattr(make, "__annotations__", {}).get("return") is not Explorer or inspect.signature(make).parameters:
                continue
            made, taken = [], {}
            for _twice in range(2):
                for cached in own_caches:
                    cached.cache_clear()
                began = time.perf_counter()
                explorer = make()
                made.append(time.perf_counter() - began)
                settings = list(itertools.product(*(choices(c) for c in explorer._controls.values())))
                for at in settings if len(settings) <= most else random.Random(0).sample(settings, most):
                    began = time.process_time()
                    explorer.set(**dict(zip(explorer._controls, at, strict=True)))
                    taken[at] = min(taken.get(at, float("inf")), (time.process_time() - began) * 1e3)
            slowest = max(taken, key=taken.get)
            print(
                f"{module}.{name}: made in {max(made):.2f} s; {len(taken)} of {len(settings)} settings, first visits: median "
                f"{statistics.median(taken.values()):.1f} ms, slowest {taken[slowest]:.1f} ms of processor time at {slowest}"
            )


def choices(control):
    if hasattr(control, "options"):
        return [value for _text, value in control.options]
    return list(getattr(control, "values", None) or [control.start()])


def in_the_browser(keys):
    from playwright.sync_api import sync_playwright

    folder = Path(tempfile.mkdtemp(prefix="latency-"))
    shutil.copy(ROOT / "tests" / "browser" / "demo.py", folder / "demo.py")
    lab = Lab(folder)
    try:
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
            watched = Watched(browser, lab)
            watched.open(lab.write("latency.ipynb", ["import demo", "demo.alpha_beta()"]), run=False)
            page = watched.page
            run = "() => { window.jupyterapp.commands.execute('notebook:run-cell-and-select-next'); }"
            page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
            page.evaluate(run)
            page.wait_for_selector(".jp-Notebook .jp-CodeCell:has-text('[1]:')", timeout=60_000)
            began = time.monotonic()
            page.evaluate(run)
            page.wait_for_selector(".ic-figure svg.main-svg", timeout=60_000)
            print(
                f"first figure after running its cell, Plotly's own loading among it: {time.monotonic() - began:.1f} s"
            )
            page.wait_for_function(RUN_DONE)
            began = time.monotonic()
            page.evaluate("() => { window._first = document.querySelector('.ic-figure'); }")
            page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
            page.wait_for_function(NEW_FIGURE, timeout=60_000)
            print(f"the same again, everything loaded: {time.monotonic() - began:.1f} s")
            page.evaluate(WATCH)
            explorer = visible_explorers(watched)[0]
            explorer.locator(".noUi-handle").first.focus()
            taken, missed = [], 0
            for i in range(keys):
                page.wait_for_timeout(250)
                before = page.evaluate("() => window._seen.length")
                page.keyboard.press("ArrowRight" if i % 20 < 10 else "ArrowLeft")
                try:
                    page.wait_for_function(f"() => window._seen.length > {before}", timeout=5000)
                    taken.append(page.evaluate("() => window._seen[window._seen.length - 1] - window._key"))
                except Exception:
                    missed += 1
            print(
                f"key press to changed picture, {len(taken)} keys, {missed} missed: median "
                f"{statistics.median(taken):.0f} ms, 95 % under {quantile(taken, 0.95):.0f} ms"
            )
            print(
                f"requests that would have left this machine: {len(watched.blocked)}; console errors: {len(watched.errors)}"
            )
            browser.close()
    finally:
        lab.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--keys", type=int, default=40)
    arguments.add_argument("--settings", type=int, default=60)
    given = arguments.parse_args()
    keys = given.keys
    in_the_kernel()
    at_many_settings(given.settings)
    if keys and chromium():
        in_the_browser(keys)
    else:
        print("the browser part is left out")


if __name__ == "__main__":
    main()
