"""Tables of data files: the lines of a CSV, each as a dict, with a sentence where a line has too many or too few columns."""

import csv
from collections.abc import Iterator
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _


def numbered(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield every line of a CSV file with its number in the file; the first line names the columns.

    Raises CourseError when the file is missing or a line has too many or too few columns.

    >>> number, row = next(numbered(Path(__file__).parent / "data" / "sources.csv"))
    >>> number, "key" in row
    (2, True)
    """
    if not path.is_file():
        raise CourseError(_("The data file {path} is missing; the installation is not complete.").format(path=path))
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            if None in row or None in row.values():
                columns = len(reader.fieldnames or ())
                raise CourseError(
                    _("{name}, line {line}: {columns} columns are expected.").format(
                        name=path.name, line=reader.line_num, columns=columns
                    )
                )
            yield reader.line_num, row


def rows(path: Path) -> list[dict[str, str]]:
    """Return every line of a CSV file, checked as `numbered` does.

    >>> len(rows(Path(__file__).parent / "data" / "sources.csv")) > 50
    True
    """
    return [row for _number, row in numbered(path)]
