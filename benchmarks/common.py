"""What every measurement shares: a process of its own for each, and words about the machine it ran on."""

import datetime
import json
import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # tests.browser starts a JupyterLab


def about() -> dict:
    """Return date, versions, cores and load; nothing that names the machine."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


class Others:
    """How much of the cores other processes use between making it and `.share()`; what our children used counts once they ended."""

    def __init__(self):
        self._begin = self._read()

    @staticmethod
    def _read() -> tuple[float, float, float]:
        try:
            ticks = [int(v) for v in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
        except OSError:
            return 0.0, 0.0, 0.0
        busy_s = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        own_s = sum(os.times()[:4])
        return busy_s, own_s, time.monotonic()

    def share(self) -> float | None:
        """Return the share of all cores that others used, None where the system does not tell."""
        busy_s, own_s, wall_s = (now - then for now, then in zip(self._read(), self._begin, strict=True))
        return max(0.0, busy_s - own_s) / (wall_s * (os.cpu_count() or 1)) if wall_s else None


def peak_MB() -> float:
    """Return the most memory that this process has held so far."""
    unit_B = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_B / 1e6


def alone(call: Callable[[], object]) -> dict:
    """Run `call` in a forked child; return its plain `result`, its `wall_s`, `cpu_s` and the peak of its memory in MB.

    The peak holds what was imported before, so that it is what a user sees; raises RuntimeError with the child's words.
    """
    back, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(back)
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            result = call()
            told = {"result": result, "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
            told["peak_MB"] = peak_MB()
        except BaseException:
            told = {"error": traceback.format_exc()}
        with os.fdopen(into, "w", encoding="utf-8") as out:
            json.dump(told, out)
        os._exit(0)
    os.close(into)
    with os.fdopen(back, encoding="utf-8") as heard:
        text = heard.read()
    os.waitpid(child, 0)
    told = json.loads(text or '{"error": "the process died"}')
    if "error" in told:
        raise RuntimeError(told["error"])
    return told


def best_ms(call: Callable[[], object], times: int = 5) -> float:
    """Return the shortest of a few calls in milliseconds of a processor, after one that warms up."""
    call()
    taken = []
    for _again in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken) * 1e3
