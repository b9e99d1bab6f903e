"""The words of the course: every term in English, simplified and traditional Chinese, with a sentence and its lesson.

`python -m course_lib.base.glossary` writes docs/glossary.md from base/data/glossary.csv.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.places import course_root

FILE = Path(__file__).with_name("data") / "glossary.csv"
COLUMNS = ("term", "zh_CN", "zh_TW", "meaning", "lesson")
PAGE = "docs/glossary.md"


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the course: in three languages, what it means here (a sentence), and the lesson that introduces it."""

    term: str
    zh_CN: str
    zh_TW: str
    meaning: str
    lesson: str


@cache
def terms() -> dict[str, Term]:
    """Return all terms by their English name, in the order of the lessons.

    Raises CourseError for a table with other columns, an empty field, or a term given twice.

    >>> terms()["bandwidth"].zh_TW, terms()["bandwidth"].zh_CN
    ('頻寬', '带宽')
    """
    found = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        if tuple(next(rows)) != COLUMNS:
            raise CourseError(_("The glossary has other columns than {columns}.").format(columns=", ".join(COLUMNS)))
        for number, row in enumerate(rows, 2):
            if len(row) != len(COLUMNS) or not all(cell.strip() == cell != "" for cell in row):
                raise CourseError(_("Line {n} of the glossary is not complete.").format(n=number))
            if row[0] in found:
                raise CourseError(_("{term} is twice in the glossary.").format(term=row[0]))
            found[row[0]] = Term(*row)
    return found


def term(name: str) -> Term:
    """Return one term; capitals do not matter. Raises CourseError that names the nearest one.

    >>> term("All-Reduce").meaning
    'Every rank ends with the sum of all vectors.'
    """
    by_lower = {key.lower(): key for key in terms()}
    return terms()[by_lower[one_of(_("term"), str(name).strip().lower(), by_lower)]]


def page(lessons: dict[str, str]) -> str:
    """Return the glossary as Markdown, by the alphabet; `lessons` gives the address of each lesson by its number.

    >>> print(page({}).splitlines()[0])
    # Glossary
    """
    lines = [
        "# Glossary",
        "",
        f"{len(terms())} terms in English, simplified (zh_CN) and traditional Chinese (zh_TW, Taiwan's words), and what each means",
        "in this course. `python -m course_lib.base.glossary` writes this page from `course_lib/base/data/glossary.csv`.",
        "",
        "| term | 简体 | 繁體 | what it means here | lesson |",
        "| --- | --- | --- | --- | --- |",
    ]
    for t in sorted(terms().values(), key=lambda t: (t.term.lower(), t.term)):
        where = f"[{t.lesson}]({lessons[t.lesson]})" if t.lesson in lessons else t.lesson
        lines.append(f"| {t.term} | {t.zh_CN} | {t.zh_TW} | {t.meaning} | {where} |")
    return "\n".join(lines) + "\n"


def written() -> str:
    """Return docs/glossary.md as it should be, with links to the notebooks.

    >>> "| bandwidth | 带宽 | 頻寬 |" in written()
    True
    """
    root = course_root()
    notebooks = sorted((root / "notebooks").glob("*.ipynb")) if root else []
    return page({path.name.partition("_")[0]: f"../notebooks/{path.name}" for path in notebooks})


if __name__ == "__main__":
    root = course_root()
    if root is None:
        raise SystemExit(
            _("The course's folder was not found: the page is written in it, as {page}.").format(page=PAGE)
        )
    (root / PAGE).write_text(written(), encoding="utf-8")
