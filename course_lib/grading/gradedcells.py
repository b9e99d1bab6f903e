"""Graded cells put right: copies, missing and changed ones, against the release, which is the truth. Needs no nbgrader."""

import json
import re

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell

from course_lib.base.language import _

SCHEMA = 3


def spoken_language(nb: NotebookNode) -> str:
    """Return the programming language that a notebook's metadata names, in lower case, or "" if it names none."""
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        named = nb.metadata.get(key)
        if isinstance(named, dict) and isinstance(named.get(field), str) and named[field].strip():
            return re.sub(r"[\d. ]+$", "", named[field].strip().lower()).replace("ipython", "python")
    return "r" if isinstance(nb.metadata.get("kernelspec"), dict) and nb.metadata.kernelspec.get("name") == "ir" else ""


def repair(nb: NotebookNode, release: dict[str, NotebookNode]) -> list[str]:
    """Make the graded cells of `nb` agree with `release` (cells by their id, in order); return a sentence per change."""
    said, places = [], {}
    for cell in nb.cells:
        meta = cell.metadata.get("nbgrader")
        if meta is None:
            continue
        name = meta.get("grade_id") if isinstance(meta, dict) else None
        if not isinstance(name, str) or name not in release:
            del cell.metadata["nbgrader"]
            continue
        version = meta.get("schema_version", 0)
        if isinstance(version, (int, float)) and version > SCHEMA:
            text = _(
                "The cell of {name} was made by a newer version of nbgrader ({version}); it is read as version {known}."
            )
            said.append(text.format(name=question_name(name), version=version, known=SCHEMA))
        if name in places:
            text = _(
                "There are several cells of {name}. Delete the copies and keep one; the first one counts as the graded cell."
            )
            said.append(text.format(name=question_name(name)))
            del cell.metadata["nbgrader"]
            continue
        places[name] = cell
        # A copy, so that nothing that a hand-in says about points or flags survives.
        cell.metadata["nbgrader"] = from_dict(json.loads(json.dumps(release[name].metadata["nbgrader"])))
    for name, original in release.items():
        if name in places:
            continue
        meta = original.metadata["nbgrader"]
        if not meta["grade"] and not meta["locked"]:
            text = _(
                "The answer cell of {name} was deleted or has lost its mark; its answer is looked for by its name."
            )
            said.append(text.format(name=question_name(name)))
            continue
        text = _("The graded cell of {name} was missing and has been put back.").format(name=question_name(name))
        said.append(text)
        fresh = from_dict(json.loads(json.dumps(original)))
        fresh["id"] = re.sub(r"[^\w-]", "-", f"restored-{name}")[:64]
        if meta["grade"]:
            nb.cells += [new_markdown_cell(text), fresh]
        else:
            nb.cells.insert(0, fresh)
        places[name] = fresh
    if nb.nbformat_minor < 5:
        for cell in nb.cells:
            cell.pop("id", None)
    return said


def question_name(grade_id: str) -> str:
    """Return the question that a graded cell belongs to.

    >>> question_name("02-q3-answer"), question_name("memo")
    ('02.q3', 'memo')
    """
    match = re.match(r"(\w+)-(q\d+)(?:-|$)", grade_id)
    return f"{match[1]}.{match[2]}" if match else grade_id
