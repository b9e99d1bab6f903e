"""From bytes to a notebook that can be run and marked: encodings, versions and graded cells put right, and said."""

import codecs
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.places import course_root
from course_lib.base.scale import say_bytes
from course_lib.grading.identify import exercise_of
from course_lib.grading.release import by_people

MOST_SOURCE = 2_000_000  # letters in one cell
MOST_CELLS = 4000
MOST_B = 64 * 2**20  # of a notebook without its outputs
SLIM_B = 4 * 2**20  # what is larger loses its outputs before it is passed around
READING_B = 2 * 2**30  # memory that reading one file may take
BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass
class Repaired:
    """A notebook of version 4 whose graded cells are those of the release, and what was done to get there."""

    notebook: Any
    exercise: str
    notes: list[str] = field(default_factory=list)


@cache
def release_path(exercise: str) -> Path:
    """Return the release of exercise "04", the file that learners got."""
    root = course_root()
    for path in sorted((root / "exercises").glob(f"{exercise}_*/*.ipynb")) if root else ():
        return path
    raise CourseError(_("There is no release of exercise {n} in exercises/.").format(n=exercise))


@cache
def release(exercise: str) -> Any:
    """Return the release as nbformat reads it; do not change it."""
    import nbformat

    return nbformat.read(release_path(exercise), as_version=4)


def left_to_people(exercise: str) -> list[str]:
    """Return a sentence for each item of an exercise that a person marks; none where there is no release.

    >>> left_to_people("00")
    []
    """
    try:
        items = by_people(release_path(exercise))
    except CourseError:
        return []
    said = _("{name} is marked by a person and is not in this sum: {of:g} points.")
    return [said.format(name=name, of=of) for name, of in items.items()]


def read(content: bytes, path: Path, wanted: str = "") -> Repaired:
    """Return the repaired notebook in `content`; `path` only helps to find out which exercise it is.

    Raises CourseError that says why it cannot be marked. `wanted` is an exercise that is known beforehand.
    """
    import nbformat

    notes: list[str] = []
    raw = _json(_text(content, notes))
    notebook = _normal(raw, notes)
    exercise = wanted or exercise_of(notebook, path)
    _refuse_other_languages(notebook)
    notebook["metadata"] = dict(release(exercise).metadata)  # whatever kernel the file names, ours runs it
    node = nbformat.from_dict(notebook)
    notes += _graded_cells(node, exercise)
    return Repaired(node, exercise, list(dict.fromkeys(notes)))


def slim(content: bytes) -> bytes:
    """Return a large notebook without its outputs, in its own encoding; anything else as it is.

    Raises CourseError for what cannot be read, or only with more memory than one file may take.
    """
    if len(content) <= SLIM_B:
        return content
    try:
        with _memory(READING_B):
            text, encoding = _decoded(content)
            raw = _json(text)
            for cell in raw.get("cells", ()) if isinstance(raw, dict) else ():
                if isinstance(cell, dict):
                    cell.pop("outputs", None)
            if isinstance(raw, dict) and isinstance(raw.get("metadata"), dict):
                raw["metadata"].pop("widgets", None)
            made = json.dumps(raw, ensure_ascii=False).encode(encoding, "replace")
    except (MemoryError, RecursionError, TypeError):
        raise CourseError(_("It is not a notebook that can be read: it takes too much memory.")) from None
    if len(made) > MOST_B:
        text = _("It is larger than {most} without its outputs.")
        raise CourseError(text.format(most=say_bytes(MOST_B)))
    return made


@contextlib.contextmanager
def _memory(most_B: int) -> Iterator[None]:
    """Let this process take at most `most_B` bytes more than it has, where the system can see to it."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        before = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + most_B
        if before[0] == resource.RLIM_INFINITY or before[0] > most:
            resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _text(content: bytes, notes: list[str]) -> str:
    text, encoding = _decoded(content)
    if encoding not in ("utf-8", "utf-8-sig"):
        notes.append(_("It was written in the encoding {name} and read as such.").format(name=encoding))
    return text


def _decoded(content: bytes) -> tuple[str, str]:
    """Return the text and the name of its encoding."""
    if not content.strip():
        raise CourseError(_("It is empty."))
    name = next((name for bom, name in BOMS if content.startswith(bom)), "")
    if not name and content[:40].count(0) >= 8:
        name = "utf-16-le" if content[1:2] == b"\0" else "utf-16-be"
    for encoding in [name] if name else ["utf-8", "cp1252", "latin-1"]:
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise CourseError(_("It is no text in an encoding that is known."))


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda name: None)
    except ValueError as error:
        at = getattr(error, "lineno", None)
        where = _(" (line {n})").format(n=at) if at else ""
        raise CourseError(_("It is not a notebook: it cannot be read as JSON{where}.").format(where=where)) from None
    except RecursionError:
        raise CourseError(_("It is not a notebook: it is nested too deeply.")) from None


def _normal(raw: Any, notes: list[str]) -> dict[str, Any]:
    """Return a notebook of version 4 with nothing but well-formed cells, outputs left out."""
    if not isinstance(raw, dict):
        raise CourseError(_("It is not a notebook: it holds no cells."))
    version = raw.get("nbformat", 4)
    cells = raw.get("cells")
    if not isinstance(cells, list) and isinstance(raw.get("worksheets"), list):
        sheets = [sheet.get("cells") for sheet in raw["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
        notes.append(_("It has the notebook format 3; it was read as format 4."))
    if not isinstance(cells, list):
        raise CourseError(_("It is not a notebook: it holds no cells."))
    if isinstance(version, (int, float)) and version > 4:
        text = _("It was made by a newer version of Jupyter (notebook format {v}); it was read as format 4.")
        notes.append(text.format(v=version))
    if len(cells) > MOST_CELLS:
        raise CourseError(_("It has {n} cells; at most {most} are marked.").format(n=len(cells), most=MOST_CELLS))
    good = [cell for cell in (_cell(cell, notes) for cell in cells) if cell is not None]
    if len(good) < len(cells):
        notes.append(_("Things in it that are no cells were left out: {n}.").format(n=len(cells) - len(good)))
    taken: set[str] = set()
    for place, cell in enumerate(good):
        if cell["id"] in taken or not cell["id"]:
            cell["id"] = f"cell-{place}"
        while cell["id"] in taken:
            cell["id"] += "-2"
        taken.add(cell["id"])
    meta = raw.get("metadata")
    return {"nbformat": 4, "nbformat_minor": 5, "cells": good, "metadata": meta if isinstance(meta, dict) else {}}


def _cell(cell: Any, notes: list[str]) -> dict[str, Any] | None:
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    source = source if isinstance(source, str) else ""
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    if len(source) > MOST_SOURCE:
        notes.append(_("A cell of more than {n} letters was emptied.").format(n=MOST_SOURCE))
        source = ""
    kind = cell.get("cell_type")
    kind = {"heading": "markdown"}.get(kind, kind) if isinstance(kind, str) else "raw"
    meta = cell.get("metadata")
    kept = {}
    if isinstance(meta, dict):
        kept = {key: meta[key] for key in ("nbgrader", "tags", "deletable", "editable") if key in meta}
        if not isinstance(kept.get("tags", []), list) or not all(isinstance(t, str) for t in kept.get("tags", [])):
            del kept["tags"]
        if "nbgrader" in kept and not isinstance(kept["nbgrader"], dict):
            del kept["nbgrader"]
    name = cell.get("id", "")
    name = name if isinstance(name, str) and re.fullmatch(r"[\w-]{1,64}", name, re.ASCII) else ""
    made: dict[str, Any] = {"id": name, "cell_type": kind, "metadata": kept, "source": source}
    if kind not in ("code", "markdown", "raw"):
        made["cell_type"] = "raw"
    if made["cell_type"] == "code":
        made |= {"outputs": [], "execution_count": None}
    return made


def _refuse_other_languages(notebook: dict[str, Any]) -> None:
    import nbformat

    from course_lib.grading.gradedcells import spoken_language

    language = spoken_language(nbformat.from_dict({"metadata": notebook["metadata"]}))
    if language not in ("", "python"):
        text = _("This notebook is written in {language}; Python is expected.")
        raise CourseError(text.format(language=language[:40]))


def _graded_cells(node: Any, exercise: str) -> list[str]:
    """Make graded cells what they are in the release: flags, points, type and text; return a sentence per change."""
    from course_lib.grading.gradedcells import question_name, repair

    originals = {
        cell.metadata.nbgrader.grade_id: cell for cell in release(exercise).cells if cell.metadata.get("nbgrader")
    }
    order = list(originals)
    notes = repair(node, originals)
    seen = []
    for cell in node.cells:
        meta = cell.metadata.get("nbgrader")
        if not meta:
            continue
        original = originals[meta["grade_id"]]
        name = question_name(meta["grade_id"])
        seen.append(meta["grade_id"])
        if cell.cell_type != original.cell_type:
            _retype(cell, original.cell_type)
            notes.append(_("A cell of {name} had another type; it was changed back.").format(name=name))
        if original.metadata.nbgrader.get("locked") and cell.source.strip() != original.source.strip():
            notes.append(_("The graded cell of {name} was changed; the original was used.").format(name=name))
        if original.metadata.nbgrader.get("locked"):
            cell.source = original.source
    placed = [order.index(name) for name in seen if not name.startswith("restored-")]
    restored = any("put back" in note for note in notes)
    if placed != sorted(placed) and not restored:
        notes.append(_("Graded cells are in another order than in the release; each is marked all the same."))
    return notes


def _retype(cell: Any, kind: str) -> None:
    cell.cell_type = kind
    if kind == "code":
        cell.outputs, cell.execution_count = [], None
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
