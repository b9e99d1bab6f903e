"""Where a number came from: title, publisher, year and address of every source that the data files name."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.tables import numbered

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Source:
    """One source; `key` is what the data files write."""

    key: str
    title: str
    publisher: str
    year: int
    address: str

    def __str__(self) -> str:
        return f"{self.title} ({self.publisher}, {self.year})"


def rows(name: str) -> list[dict[str, str]]:
    """Return the lines of a CSV of `course_lib/base/data`, one dict each, with its `line` number for messages.

    Raises CourseError when the file is missing or a line has too many or too few columns.

    >>> rows("sources.csv")[0]["key"] != ""
    True
    """
    return [row | {"line": str(line)} for line, row in numbered(DATA / name)]


@cache
def sources() -> MappingProxyType[str, Source]:
    """Return every source by its key; read once.

    >>> sources()["nccl-topo"].publisher
    'NVIDIA (GitHub)'
    """
    found: dict[str, Source] = {}
    for row in rows("sources.csv"):
        if row["key"] in found:
            raise CourseError(
                _("sources.csv, line {line}: {key} appears twice.").format(line=row["line"], key=row["key"])
            )
        found[row["key"]] = Source(row["key"], row["title"], row["publisher"], int(row["year"]), row["address"])
    return MappingProxyType(found)


def source(key: str) -> Source:
    """Return the source with this key; raises CourseError with the nearest keys.

    >>> source("nccl-topo").year
    2026
    """
    return sources()[one_of(_("source"), key, sources())]
