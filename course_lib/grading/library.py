"""The course's library as a hand-in sees it: without the questions, and without modules that hold answers."""

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# Of `grading` only what asks for answers and what carries them, and the kernel itself.
KEPT_OF_GRADING = ("wire.py", "probe.py", "inside")
NO_MATTER = ("cli", "explorers", "figures", "locales")  # for marks


def build(target: Path, withheld: Iterable[str]) -> None:
    """Write a copy of course_lib under `target` in which each module or name of `withheld` can be imported and refuses to be used.

    The bank, the verdicts, the runner and the command line are not in it; `course_lib.grading` is a stand-in.
    """
    copy = target / "course_lib"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "cli", "grading"))
    grading = copy / "grading"
    grading.mkdir()
    for name in KEPT_OF_GRADING:
        source = PACKAGE / "grading" / name
        if source.is_dir():
            shutil.copytree(source, grading / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            shutil.copy(source, grading / name)
    shutil.move(grading / "inside" / "standin.py", grading / "__init__.py")
    shutil.move(grading / "inside" / "nursery.py", target / "nursery.py")
    for module in withheld:
        _withhold(copy, module)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _withhold(copy: Path, module: str) -> None:
    place = copy.joinpath(*module.split(".")[1:])
    file, parent = place.with_suffix(".py"), place.parent.with_suffix(".py")
    if not file.is_file() and not place.is_dir() and parent.is_file():  # a name in a module of which the rest stays
        _withhold_name(parent, *module.rpartition(".")[::2])
        return
    files = [file] if file.is_file() else sorted(place.rglob("*.py"))  # none where the copy lacks it anyway
    for path in files:
        name = ".".join(("course_lib", *path.relative_to(copy).with_suffix("").parts)).removesuffix(".__init__")
        text = f"from course_lib.grading.inside.withheld import getter\n\n__getattr__ = getter({name!r})\n"
        path.write_text(text, encoding="utf-8")


def _withhold_name(path: Path, module: str, name: str) -> None:
    text = f"\nfrom course_lib.grading.inside.withheld import Withheld as _Withheld\n\n{name} = _Withheld({module!r}, {name!r})\n"
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def fingerprint() -> str:
    """Return a hash of all of course_lib: marks made by another version of it are made again."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if (
            path.relative_to(PACKAGE).parts[0] not in NO_MATTER
            and path.suffix in (".py", ".csv", ".json", ".toml")
            and path.is_file()
        ):
            digest.update(path.relative_to(PACKAGE).as_posix().encode("utf-8") + b"\0" + path.read_bytes())
    return digest.hexdigest()
