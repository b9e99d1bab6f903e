"""One line at the start of a notebook: versions that work, or what to install and where."""

import importlib.metadata as metadata
import os
import sys

from course_lib.base.language import _

# Oldest versions the course is tested to run with; the newest are in the lock file.
NEEDED = {"jupyterlab": (4, 2), "ipywidgets": (8, 1), "plotly": (6, 9), "numpy": (2, 0)}


def _version(package: str) -> tuple[int, ...] | None:
    try:
        text = metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def problems(found: dict[str, tuple[int, ...] | None], python: tuple[int, int], frontend: str = "lab") -> list[str]:
    """Return one sentence for each thing that would keep the course from working, the most serious first.

    >>> problems({"plotly": (5, 24), "numpy": (2, 1), "ipywidgets": (8, 1), "jupyterlab": None}, (3, 11))
    ['plotly 5.24 is older than 6.9, the oldest that works: pip install "plotly>=6.9" in the environment of this kernel.']
    >>> problems({}, (3, 10))[0]
    'This course needs Python 3.11 or newer; this kernel runs 3.10.'
    >>> problems({"plotly": (7, 1), "ipywidgets": (8, 1)}, (3, 14), "browser")
    ['numpy did not reach this page. It comes from the network: reload the page with one.']
    """
    said = []
    if python < (3, 11):
        said.append(
            _("This course needs Python 3.11 or newer; this kernel runs {version}.").format(
                version="{}.{}".format(*python)
            )
        )
    for package, oldest in NEEDED.items():
        version = found.get(package)
        name = ".".join(map(str, oldest))
        if version is None:
            if package == "jupyterlab":  # the server may live in another environment than the kernel
                continue
            if frontend == "browser":  # the kernel of `make live`, which nobody can install into
                text = _("{package} did not reach this page. It comes from the network: reload the page with one.")
                said.append(text.format(package=package))
                continue
            said.append(
                _('{package} is missing: pip install "{package}>={oldest}" in the environment of this kernel.').format(
                    package=package, oldest=name
                )
            )
        elif version[:2] < oldest:
            said.append(
                _(
                    "{package} {version} is older than {oldest}, the oldest that works: "
                    'pip install "{package}>={oldest}" in the environment of this kernel.'
                ).format(package=package, version=".".join(map(str, version)), oldest=name)
            )
    if frontend == "vscode":
        said.append(_("VS Code may ask to fetch widget code from the network; `make lab` works without one."))
    return said


def check_environment() -> str:
    """Return one line for the learner: what runs here, or what to install.

    >>> "Python" in check_environment()
    True
    """
    found = {package: _version(package) for package in NEEDED}
    in_vscode = any(name in os.environ for name in ("VSCODE_PID", "VSCODE_CWD", "VSCODE_IPC_HOOK"))
    frontend = "browser" if sys.platform == "emscripten" else "vscode" if in_vscode else "lab"
    said = problems(found, sys.version_info[:2], frontend)
    if said:
        return "\n".join(said)
    versions = ", ".join(f"{p} {'.'.join(map(str, v))}" for p, v in found.items() if v)
    extra = (
        ""
        if frontend == "browser" or _version("anywidget")
        else _(" anywidget is missing; the course does without it.")
    )
    return (
        _("Ready: Python {python}, {versions}.").format(python="{}.{}".format(*sys.version_info[:2]), versions=versions)
        + extra
    )
