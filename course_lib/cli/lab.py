"""Opens the course in JupyterLab: also as root, and without a display, where it prints the address."""

import argparse
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.places import course_root

FIRST = "notebooks/00_start_here.ipynb"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the notebook to open and the port.

    >>> parser = argparse.ArgumentParser()
    >>> add_arguments(parser)
    >>> parser.parse_args([]).notebook
    'notebooks/00_start_here.ipynb'
    """
    parser.add_argument("notebook", nargs="?", default=FIRST, help=_("notebook to open first"))
    parser.add_argument("--port", type=int, default=8888, help=_("port to try first; the next free one is taken"))
    parser.add_argument("--no-browser", action="store_true", help=_("print the address, open no browser"))


def has_display() -> bool:
    """Return whether a browser window can be opened here.

    >>> isinstance(has_display(), bool)
    True
    """
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def command(root: Path, notebook: str, port: int, browser: bool) -> list[str]:
    """Return the command that starts JupyterLab in `root` with `notebook` open; the printed address leads to it, too.

    >>> [word for word in command(Path("."), FIRST, 8888, browser=False) if "url" in word][0]
    '--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb'
    """
    # The address is printed at every level. Ctrl+C is not asked about: who waits for the answer has left by then.
    words = [sys.executable, "-m", "jupyterlab", "--log-level=WARN", "--ServerApp.answer_yes=True"]
    words += [
        f"--ServerApp.root_dir={root}",
        f"--ServerApp.port={port}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook)}",
    ]
    if not browser:
        words.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")
    return words


def run(args: argparse.Namespace) -> int:
    """Start JupyterLab and stay until it ends.

    >>> run(argparse.Namespace(notebook="notebooks/99.ipynb", port=8888, no_browser=True))
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no notebook notebooks/99.ipynb in the course folder.
    """
    root = course_root()
    if root is None:
        raise CourseError(_("The course folder was not found from here; change into the cloned repository first."))
    if not (root / args.notebook).is_file():
        raise CourseError(_("There is no notebook {name} in the course folder.").format(name=args.notebook))
    browser = has_display() and not args.no_browser
    if not browser:
        print(_("Open the address with a token that JupyterLab prints below in a browser. Ctrl+C stops it."))
    settings = Path(__file__).parent / "jupyter_config"
    paths = [str(settings), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    env = dict(os.environ, JUPYTER_CONFIG_PATH=os.pathsep.join(paths))
    server = subprocess.Popen(command(root, args.notebook, args.port, browser), cwd=root, env=env)
    try:
        return server.wait()
    except KeyboardInterrupt:  # a terminal gives it to the server, too, which ends its kernels before it ends
        for insist in (None, server.terminate, server.kill):
            if insist is not None:
                insist()
            with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                server.wait(20)
                break
        return 0
