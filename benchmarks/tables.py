"""Everything measured and written: `python benchmarks/tables.py` makes results.json, README.md, the pictures and the README's lines.

`--only NAME …` measures these parts again and keeps the others; `--from-results` measures nothing; `--no-pictures` needs no Chromium.
On Linux or macOS: a measurement is a forked process.
"""

import argparse
import datetime
import importlib
import json
import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from common import ROOT, Others, about
from page import SECTIONS, page, quoted

RESULTS = ROOT / "benchmarks" / "results.json"
OTHERS = ROOT / "build" / "benchmarks"  # the environment of what we are compared with
DIGITS = 4


def others(python: str | None) -> str:
    """Return the Python of an environment with mlsysim; it is made where none is given."""
    if python:
        return python
    made = OTHERS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if subprocess.run([made, "-c", "import mlsysim"], capture_output=True).returncode if made.exists() else True:
        venv.create(OTHERS, with_pip=True, clear=True)
        wanted = ["-r", str(Path(__file__).with_name("requirements.txt"))]
        subprocess.run([str(made), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return str(made)


def measure(name: str, python: str | None) -> object:
    """Return what one part found."""
    if name == "mlsysim":
        rivals, other = importlib.import_module("rivals"), others(python)
        asked = "from importlib.metadata import version; print(version('mlsysim'))"
        version = subprocess.run([other, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
        return {"version": version, **rivals.measure(other)}
    if name in ("lessons", "jupyterlab"):
        explorers = importlib.import_module("explorers")
        return explorers.of_the_lessons() if name == "lessons" else explorers.in_jupyterlab()
    module = {"logs": "machine_logs", "search": "step_time"}.get(name, name)
    return importlib.import_module(module).measure()


def rounded(value):
    """Return plain data with floats of a few digits, so that the file stays small and says no more than was measured."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def filled(text: str, name: str, lines: list[str]) -> str:
    """Return a page with what stands between its two comments `name` written anew."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    found, n = re.subn(pattern, lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.DOTALL)
    if n != 1:
        raise SystemExit(f"README.md needs one pair of comments <!-- {name} --> … <!-- /{name} -->.")
    return found


def front(text: str, results: dict, accuracy: str) -> str:
    """Return the course's README with its two pictures and its sentence on speed."""
    said = "Collectives on systems that no constant saw, from the best to the worst:"
    text = filled(text, "accuracy", [said, "", f"![{accuracy}](docs/images/accuracy.png)"])
    shown = f"![{results['picture']}](docs/images/benchmarks.png)"
    return filled(text, "benchmarks", [*quoted(results), "", shown])


def main() -> int:
    """Measure what is asked for and write everything."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="+", choices=SECTIONS, help="measure these again, keep the others")
    options.add_argument(
        "--from-results", action="store_true", help="measure nothing, write the page from results.json"
    )
    options.add_argument("--no-pictures", action="store_true", help="leave the two pictures as they are")
    options.add_argument(
        "--mlsysim", help="the Python of an environment with mlsysim (else one is made in build/benchmarks)"
    )
    given = options.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in [] if given.from_results else given.only or SECTIONS:
        if name == "mlsysim":
            given.mlsysim = others(given.mlsysim)  # not part of the time
        print(f"{name} …", flush=True)
        on, begin, others_used = about(), time.perf_counter(), Others()
        found = measure(name, given.mlsysim)
        on |= {
            "took_s": time.perf_counter() - begin,
            "load_after": round(os.getloadavg()[0], 1),
            "others": others_used.share(),
        }
        results[name] = {"about": on, "found": found}
        results = rounded(results)
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    missing = [name for name in SECTIONS if name not in results]
    if missing:
        print(f"No page yet: {', '.join(missing)} not measured.")
        return 1
    import pictures

    results["picture"] = pictures.description(pictures.growth(results["growth"]["found"]))
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (ROOT / "benchmarks" / "README.md").write_text(page(results), encoding="utf-8")
    readme = ROOT / "README.md"
    accuracy = pictures.description(pictures.accuracy())
    readme.write_text(front(readme.read_text(encoding="utf-8"), results, accuracy), encoding="utf-8")
    if not given.no_pictures:
        pictures.write(results)
    print(f"{datetime.date.today()}: benchmarks/README.md and README.md written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
