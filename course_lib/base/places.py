"""Where the course lies: its root folder, found from any working folder, and the learner's own notes in it."""

import os
from functools import cache
from pathlib import Path

MARKER = "nbgrader_config.py"
NOTES = ".interconnect"


def _is_root(folder: Path) -> bool:
    return (folder / MARKER).is_file() and (folder / "notebooks").is_dir()


@cache
def _package_root() -> Path | None:
    folder = Path(__file__).resolve().parents[2]
    return folder if _is_root(folder) else None


def course_root() -> Path | None:
    """Return the folder that holds notebooks/ and exercises/, or None where only the package is installed.

    The working folder and its parents are looked at first, then the folder that course_lib was installed from.

    >>> root = course_root()
    >>> root is None or (root / "notebooks").is_dir()
    True
    """
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if _is_root(folder)), None) or _package_root()


def notes_folder() -> Path:
    """Return the folder for this learner's progress and predictions; made when missing, never inside git.

    INTERCONNECT_HOME names another place; without a course root it is a folder in the home folder.

    >>> notes_folder().name
    '.interconnect'
    """
    named = os.environ.get("INTERCONNECT_HOME")
    folder = Path(named) if named else (course_root() or Path.home()) / NOTES
    folder.mkdir(parents=True, exist_ok=True)
    return folder
