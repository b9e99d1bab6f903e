"""Generates exercises/ from solutions/: `python -m course_lib.grading.release [--check]`, the same bytes every time."""

import argparse
import ast
import hashlib
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.grading import bank

# Rules for AI assistants that read the folder of exercises: kept with the instructor's pages, put where they are read.
ASSISTANTS = (Path("instructor", "assistants.md"), Path("AGENTS.md"))
SOLUTION_MARK = "### BEGIN SOLUTION"
RANDOM_ID = re.compile(r"[0-9a-f]{8}|[0-9a-f-]{36}")


def stamp(notebook: dict[str, Any], exercise: str) -> dict[str, Any]:
    """Return `notebook` with what a machine can know written in: nbgrader's metadata, points from the bank, ids, no outputs.

    A code cell whose last line is check("02.q3") becomes that question's locked graded cell; a cell with
    "### BEGIN SOLUTION" becomes the answer cell of the next check after it. Cells marked by hand (written answers that
    people grade) stay as they are. New random cell ids become ids made from the text, then stay.
    """
    notebook = json.loads(json.dumps(notebook))
    number = exercise.split("_")[0]
    notebook["metadata"] = {
        "interconnect": {"exercise": number},
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    waiting: list[dict] = []
    for cell in notebook["cells"]:
        cell["source"] = source = "".join(cell["source"]).rstrip()
        cell["metadata"] = {
            k: v for k, v in cell["metadata"].items() if k in ("nbgrader", "tags", "deletable", "editable")
        }
        if cell["cell_type"] != "code":
            continue
        cell["outputs"], cell["execution_count"] = [], None
        if name := checked(source):
            question = _question(name, exercise)
            if len(waiting) > 1:
                raise CourseError(f"{exercise}: {name} has {len(waiting)} answer cells; it can have one.")
            grade_id = name.replace(".", "-")
            cell["metadata"]["nbgrader"] = _meta(grade_id, grade=True, points=question.points)
            cell["id"] = grade_id
            for answer in waiting:
                answer["metadata"]["nbgrader"] = _meta(f"{grade_id}-answer", grade=False)
                answer["id"] = f"{grade_id}-answer"
            waiting = []
        elif SOLUTION_MARK in source:
            waiting.append(cell)
        elif not _by_hand(cell):
            cell["metadata"].pop("nbgrader", None)
    if waiting:
        raise CourseError(f"{exercise}: no check follows the answer cell {waiting[0]['source'][:60]!r}.")
    _give_ids(notebook["cells"])
    return notebook


def _question(name: str, exercise: str) -> bank.Question:
    """Return the question that a notebook asks; an author who did not list it is told where that is done."""
    try:
        return bank.question(name)
    except CourseError as error:
        place = f"QUESTIONS in course_lib/grading/bank/ex{exercise.split('_')[0].lower()}/__init__.py"
        text = f"{exercise}: its check asks for {name}, which {place} does not list (docs/add_a_question.md, step 2). {error}"
        raise CourseError(text) from None


def _by_hand(cell: dict) -> bool:
    meta = cell["metadata"].get("nbgrader", {})
    return bool(meta.get("grade") and meta.get("solution"))


def by_people(path: Path) -> dict[str, float]:
    """Return the items of an exercise's notebook that people mark, such as "14.q3", with their points."""
    cells = filter(_by_hand, json.loads(path.read_text(encoding="utf-8"))["cells"])
    found = [cell["metadata"]["nbgrader"] for cell in cells]
    return {str(meta["grade_id"]).replace("-", "."): float(meta["points"]) for meta in found}


def _meta(grade_id: str, *, grade: bool, points: float | None = None) -> dict[str, Any]:
    meta: dict[str, Any] = {"grade": grade, "grade_id": grade_id, "locked": grade}
    if points is not None:
        meta["points"] = int(points) if points == int(points) else points
    return meta | {"schema_version": 3, "solution": not grade, "task": False}


def checked(source: str) -> str | None:
    """Return the question that the last expression of a cell checks, or None.

    >>> checked('x = 1\\ncheck("02.q3")')
    '02.q3'
    """
    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, IndexError):
        return None
    call = last.value if isinstance(last, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "check"
        and len(call.args) == 1
    ):
        word = call.args[0]
        return word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else None
    return None


def _give_ids(cells: list[dict]) -> None:
    taken: set[str] = set()
    for cell in cells:
        name = cell.get("id", "")
        if not name or RANDOM_ID.fullmatch(name):
            digest = hashlib.sha256(cell["source"].encode("utf-8")).hexdigest()[:8]
            name = ("text-" if cell["cell_type"] == "markdown" else "code-") + digest
        while name in taken:
            name += "-2"
        taken.add(name)
        cell["id"] = name


def text_of(notebook: dict[str, Any]) -> str:
    """Return a notebook as the file's text: keys sorted, sources as lines, one newline at the end."""
    notebook = json.loads(json.dumps(notebook))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def generate(root: Path, target: Path, names: Sequence[str]) -> None:
    """Write the learners' version of each exercise in `names` under `target`, with nbgrader and its gradebook left alone."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.release_directory = str(target)
    config.GenerateAssignment.no_database = True
    config.GenerateAssignment.force = True
    config.GenerateAssignment.preprocessors = [
        step for step in config.GenerateAssignment.preprocessors if step.__name__ != "SaveCells"
    ]
    quiet = logging.getLogger("interconnect.release")
    quiet.setLevel(logging.ERROR)
    for name in names:
        directory = CourseDirectory(config=config)
        directory.assignment_id = name
        converter = GenerateAssignment(coursedir=directory, config=config)
        converter.log = quiet
        converter.start()
        for path in sorted((target / name).rglob("*.ipynb")):
            # No line of a solution may reach a learner, whatever nbgrader made of the cell.
            path.write_text(text_of(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8", newline="\n")


def problems(path: Path, notebook: dict[str, Any]) -> list[str]:
    """Return what an author has to put right by hand before an exercise can be released."""
    found, seen = [], set()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if "HIDDEN TESTS" in source:
            found.append("hidden tests: feedback would show them")
        if source.count("### BEGIN SOLUTION") != source.count("### END SOLUTION"):
            found.append(f"a solution that does not end: {source[:60]!r}")
        if cell["cell_type"] == "code" and (name := checked(source)):
            if name in seen:
                found.append(f"two checks of {name}")
            if source.strip() != f'check("{name}")':
                found.append(f'the cell of {name} holds more than check("{name}")')
            seen.add(name)
    number = path.parent.name.split("_")[0]
    declared = {q.id for q in bank.questions(number)} if number in bank.exercises() else set()
    found += [f"{name} is in the bank and not in the notebook" for name in sorted(declared - seen)]
    found += [f"{name} is in the notebook and not in bank/ex{number}" for name in sorted(seen - declared)]
    return [f"{path.parent.name}: {text}" for text in found]


def exercises(root: Path, only: Sequence[str] = ()) -> list[Path]:
    """Return the notebooks in solutions/, all or those whose folder starts with a word of `only`."""
    paths = sorted((root / "solutions").glob("*/*.ipynb"))
    return [p for p in paths if not only or any(p.parent.name.startswith(word) for word in only)]


def main(argv: Sequence[str] | None = None) -> int:
    """Stamp solutions/ and regenerate exercises/, or with --check say what is out of date and return 1."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.grading.release", description=__doc__)
    parser.add_argument("only", nargs="*", help="exercise numbers or folders; all by default")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if something would change")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    wrong, stale = [], []
    try:
        paths = exercises(args.root, args.only)
        for path in paths:
            before = path.read_text(encoding="utf-8")
            stamped = stamp(json.loads(before), path.parent.name)
            wrong += problems(path, stamped)
            if text_of(stamped) != before:
                stale.append(str(path.relative_to(args.root)))
                if not args.check:
                    path.write_text(text_of(stamped), encoding="utf-8", newline="\n")
        if not wrong and not (args.check and stale):
            stale += _release(args.root, [path.parent.name for path in paths], args.check, whole=not args.only)
    except CourseError as error:
        wrong.append(str(error))
    for text in wrong:
        print(text, file=sys.stderr)
    for name in stale:
        print(("out of date: " if args.check else "written: ") + name)
    return 1 if wrong or (args.check and stale) else 0


def _release(root: Path, names: Sequence[str], check: bool, whole: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(root, fresh, names)
        wanted = {p.relative_to(fresh): p.read_bytes() for p in fresh.rglob("*") if p.is_file()}
    source, name = ASSISTANTS
    if (root / source).is_file():
        wanted[name] = (root / source).read_bytes()
    target = root / "exercises"
    there = {
        p.relative_to(target) for p in target.glob("*/**/*") if p.is_file() and ".ipynb_checkpoints" not in p.parts
    }
    there = {p for p in there if p.parts[0] in names or (whole and re.match(r"(\d\d|A)_", p.parts[0]))}
    changed = [p for p, data in wanted.items() if not (target / p).is_file() or (target / p).read_bytes() != data]
    gone = sorted(there - set(wanted))
    if not check:
        for path in changed:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(wanted[path])
        for path in gone:
            (target / path).unlink()
            if not any((target / path).parent.iterdir()):
                shutil.rmtree((target / path).parent)
    return [f"exercises/{p.as_posix()}" for p in (*sorted(changed), *gone)]


if __name__ == "__main__":
    raise SystemExit(main())
