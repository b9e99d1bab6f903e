"""Make this Python as poor as the one in a browser, then run code cells of notebooks. A script: test_live.py starts it.

python like_a_browser.py ALLOWED.json [--all] NOTEBOOK…   (ALLOWED: names of third-party modules that the live site has)
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

# Modules of the standard library that Pyodide does not have; test_live.py asks the real one whether this is so.
LACKING = [
    "curses", "dbm", "ensurepip", "grp", "idlelib", "msvcrt", "nt", "pwd", "pydoc_data", "readline", "syslog",
    "tkinter", "turtle", "turtledemo", "venv", "winreg", "winsound",
]  # fmt: skip
LACKING_INSIDE = ["_curses", "_hashlib", "_multiprocessing", "_posixshmem", "_tkinter", "_uuid"]
MOCKED = {"fcntl", "resource", "termios", "tornado", "pexpect"}  # empty modules, which the kernel puts there


class Poor:
    """A finder of modules that finds nothing the browser has not."""

    def __init__(self, finder: object, allowed: set[str]) -> None:
        self.finder = finder
        self.allowed = allowed | (set(sys.stdlib_module_names) - set(LACKING) - set(LACKING_INSIDE))

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        return self.finder.find_spec(name, path, target) if name.partition(".")[0] in self.allowed else None

    def __getattr__(self, name: str) -> object:
        return getattr(self.finder, name)


def impoverish(allowed: set[str]) -> None:
    """Take away modules, processes, threads, alarms and Unix sockets, and say that this is a browser."""
    for name in [*LACKING, *LACKING_INSIDE, *MOCKED]:
        sys.modules.pop(name, None)
    for name in MOCKED:
        sys.modules[name] = type(sys)(name)
    sys.meta_path[:] = [Poor(finder, allowed | {"course_lib"}) for finder in sys.meta_path]
    for module, names in (
        (signal, ["setitimer", "alarm", "pthread_kill", "pthread_sigmask"]),
        (os, ["fork", "sched_getaffinity", "posix_spawn"]),
        (socket, ["AF_UNIX"]),
    ):
        for name in names:
            vars(module).pop(name, None)

    def no_thread(*_args: object, **_named: object) -> None:
        raise RuntimeError("can't start new thread")

    def no_process(*_args: object, **_named: object) -> None:
        raise OSError(138, "emscripten does not support processes.")

    threading.Thread.start = no_thread
    subprocess.Popen.__init__ = no_process
    socket.socketpair = no_process
    sys.platform = "emscripten"
    os.cpu_count = lambda: 1


def cells_of(path: Path) -> list[str]:
    """Return the sources of a notebook's code cells."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def main(words: list[str]) -> int:
    """Print one line of JSON per notebook: its name, how many cells ran, the seconds, and what went wrong."""
    allowed = set(json.loads(Path(words[0]).read_text(encoding="utf-8")))
    everything = "--all" in words
    paths = [Path(word) for word in words[1:] if word != "--all"]
    sources = {path: cells_of(path) for path in paths}
    impoverish(allowed)
    from IPython.core.interactiveshell import InteractiveShell

    for path, cells in sources.items():
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance()
        os.chdir(path.parent)
        start, wrong, ran = time.perf_counter(), "", 0
        quiet = sys.stdout
        with open(os.devnull, "w", encoding="utf-8") as sys.stdout:
            for source in cells if everything else cells[:1]:
                result = shell.run_cell(source, silent=True)
                error = result.error_before_exec or result.error_in_exec
                if error and not isinstance(error, NotImplementedError):
                    wrong = f"{type(error).__name__}: {error}"
                    break
                ran += 1
        sys.stdout = quiet
        said = {"notebook": path.stem, "ran": ran, "of": len(cells), "seconds": round(time.perf_counter() - start, 1)}
        print(json.dumps(said | {"wrong": wrong}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
