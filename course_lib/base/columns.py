"""Tables of text on a terminal: columns that line up in every language (a Chinese character is two columns wide)."""

import unicodedata
from collections.abc import Sequence

from course_lib.base.language import punctuated


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> width("ring"), width("环"), width("直接式, LL")
    (4, 2, 10)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, columns: int, align: str = "<") -> str:
    """Return a text with blanks behind it (`<`) or before it (`>`) up to a number of columns; a longer one as it is.

    >>> padded("大小", 6, ">"), padded("size", 6)
    ('  大小', 'size  ')
    """
    blanks = " " * max(0, columns - width(text))
    return blanks + text if align == ">" else text + blanks


def lined_up(rows: Sequence[Sequence[str]], align: str, least: Sequence[int] = (), indent: str = "") -> list[str]:
    """Return rows of cells as lines: one `<` or `>` a column, each as wide as its widest cell and its `least`, two blanks between.

    The cells get their language's punctuation here, before they are measured; `punctuated` leaves the lines as they are.

    >>> lined_up([["大小", "算法"], ["64 MiB", "环"]], "><")
    ['  大小  算法', '64 MiB  环']
    """
    cells = [[punctuated(cell) for cell in row] for row in rows]
    floor = [*least, *[0] * (len(align) - len(least))]
    wide = [
        max([at_least, *map(width, column)]) for at_least, column in zip(floor, zip(*cells, strict=True), strict=True)
    ]
    lines = ("  ".join(map(padded, row, wide, align)) for row in cells)
    return [indent + line.rstrip() for line in lines]
