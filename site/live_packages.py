"""Packages of the live site: which ones the course needs in a browser, where their wheels come from, what the lock says."""

import importlib.metadata as metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from course_lib.base.errors import CourseError

# How markers read in the kernel of the site.
BROWSER = {
    "sys_platform": "emscripten",
    "platform_system": "Emscripten",
    "platform_machine": "wasm32",
    "os_name": "posix",
    "python_version": "3.14",
    "python_full_version": "3.14.2",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}
# Scripts for a notebook's page: the site has them already, and the kernel has no use for them.
NOT_IN_A_BROWSER = {"widgetsnbextension", "jupyterlab-widgets"}
# Wheels that lie inside the kernel's extension, and what they need.
CONTROL = {"piplite": ["micropip"], "pyodide-kernel": ["comm", "ipython"], "ipykernel": ["pyodide-kernel"]}


def needed(lines: Iterable[str] | None) -> list[str]:
    """Return the names among requirements that hold in a browser."""
    asked = map(Requirement, lines or [])
    names = {canonicalize_name(r.name) for r in asked if r.marker is None or r.marker.evaluate(BROWSER)}
    return sorted(names - NOT_IN_A_BROWSER)


def closure(roots: Mapping[str, Sequence[str] | None]) -> dict[str, list[str]]:
    """Return every package that the roots need in a browser, with what each needs, from what is installed here."""
    known = {name: needed(lines) for name, lines in roots.items()}
    open_ones = [name for names in known.values() for name in names]
    while open_ones:
        name = open_ones.pop()
        if name not in known:
            known[name] = needed(metadata.requires(name))
            open_ones += known[name]
    return known


class Wheels:
    """Wheels of pure Python in the versions, and with the hashes, of lock files; kept in a folder between builds."""

    def __init__(self, folder: Path, locks: Sequence[Path]) -> None:
        self.folder = folder
        self.locked = {}
        for lock in locks:
            for block in re.split(r"\n(?=[A-Za-z0-9])", lock.read_text(encoding="utf-8")):
                line, *hashes = [
                    part.strip().rstrip("\\").strip() for part in block.splitlines() if not part.startswith("#")
                ] or [""]
                if "==" not in line:
                    continue
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate(BROWSER):
                    name = canonicalize_name(requirement.name)
                    self.locked[name] = f"{requirement.name}{requirement.specifier} {' '.join(hashes)}"

    def download(self, names: Sequence[str]) -> dict[str, Path]:
        """Return {name: wheel}; pip fetches them once and checks each against its hash."""
        text = "".join(f"{self.locked[name]}\n" for name in names)
        mark = self.folder / "requirements.txt"
        if not mark.is_file() or mark.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            asked = self.folder / "asked.txt"
            asked.write_text(text, encoding="utf-8")
            words = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
            ]
            words += ["--python-version", BROWSER["python_version"], "--implementation", "py", "--abi", "none"]
            words += ["--platform", "any", "--dest", str(self.folder), "--requirement", str(asked)]
            done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
            if done.returncode:
                raise CourseError(f"pip could not fetch the live site's wheels:\n{done.stderr[-2000:]}")
            asked.rename(mark)
        found = {str(parse_wheel_filename(path.name)[0]): path for path in self.folder.glob("*.whl")}
        return {name: found[name] for name in names}


def modules_of(name: str) -> list[str]:
    """Return the modules that an installed package brings."""
    return _modules().get(name, [])


@cache
def _modules() -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for module, packages in metadata.packages_distributions().items():
        for package in packages if module.isidentifier() else ():
            found.setdefault(canonicalize_name(package), set()).add(module)
    return {name: sorted(modules) for name, modules in found.items()}


def record(name: str, wheel: Path, needs: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a wheel in Pyodide's lock file. `imports` are the modules that bring the package when a cell names them."""
    return {
        "name": name,
        "version": str(parse_wheel_filename(wheel.name)[1]),
        "file_name": wheel.name,
        "sha256": sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "install_dir": "site",
        "imports": modules_of(name),
        "depends": list(needs),
        "unvendored_tests": False,
    }
