"""`interconnect bundle`: the archive for a class, without solutions, instructor pages and tests; the same bytes each time."""

import argparse
import re
import subprocess
import zipfile
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.places import course_root

HELP = "make the archive for a class: the course without solutions, instructor pages and tests"
KEPT_BACK = ("solutions", "instructor", "tests", "benchmarks", "grading", ".ci", ".github", ".interconnect", ".venv")
MARK = b"BEGIN SOLUTION"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--output", type=Path, default=Path("interconnect-course.zip"), help=_("the archive to write"))


def files(root: Path) -> list[Path]:
    """Return the files of the archive, relative to `root`: what git keeps, else everything, without what is kept back."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
        found = [Path(name.decode("utf-8")) for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    skipped = ("__pycache__", ".ipynb_checkpoints", ".git")
    return sorted(
        path
        for path in found
        if path.parts[0] not in KEPT_BACK
        and not any(part in skipped or part.endswith(".egg-info") for part in path.parts)
        and (root / path).is_file()
        and not (root / path).is_symlink()
        and path.suffix != ".zip"
    )


def content(root: Path, name: Path) -> bytes:
    """Return what the archive holds under `name`: the course's file, but for two pages that speak of what is kept back.

    The README loses the sections that lead there and the command that runs the tests; the rules for assistants that are
    released with the exercises stand in the place of those for whoever extends the course.
    """
    if name == Path("AGENTS.md"):
        return (root / "exercises" / "AGENTS.md").read_bytes()
    data = (root / name).read_bytes()
    return learners(data.decode("utf-8")).encode("utf-8") if name == Path("README.md") else data


def learners(readme: str) -> str:
    """Return a README without sections that lead to what is kept back, and without the tests.

    >>> print(learners("# A\\n\\n## Two commands\\n\\nmake lab\\nmake test\\n\\n## For a class\\n\\n[x](instructor/README.md)\\n"), end="")
    # A
    <BLANKLINE>
    ## Start
    <BLANKLINE>
    make lab
    <BLANKLINE>
    """
    sections = re.split(r"(?m)^(?=## )", readme)
    away = re.compile(rf"\]\((?:{'|'.join(map(re.escape, (*KEPT_BACK, 'AGENTS.md')))})[/)#]")
    kept = "".join(one for one in sections if not away.search(one))
    kept = kept.replace("## Two commands", "## Start")
    return re.sub(r"(?m)^make test\b.*\n", "", kept)


def run(args: argparse.Namespace) -> int:
    """Write the archive and say what is in it; refuses if a notebook in it still holds a solution."""
    root = course_root()
    if root is None:
        raise CourseError(_("There is no course here. Run this in the folder that holds notebooks/ and exercises/."))
    names = files(root)
    for name in names:
        if name.suffix == ".ipynb" and MARK in (root / name).read_bytes():
            raise CourseError(_("{name} holds a solution; nothing was written.").format(name=name.as_posix()))
    try:
        with zipfile.ZipFile(args.output, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                # A fixed date, so that the same course gives the same archive.
                entry = zipfile.ZipInfo(f"interconnect-course/{name.as_posix()}", (2026, 1, 1, 0, 0, 0))
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, content(root, name))
    except OSError as error:
        raise CourseError(_("{path} cannot be written: {why}.").format(path=args.output, why=error.strerror)) from None
    print(_("{path}: {n} files").format(path=args.output, n=len(names)))
    return 0
