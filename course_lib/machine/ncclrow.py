"""A row of nccl-tests: size, count, type and two groups of four numbers, wherever columns are blank, missing or added."""

import math
import re
from dataclasses import dataclass

from course_lib.base.language import _

ELEMENT_B = {"int8": 1, "uint8": 1, "char": 1, "int32": 4, "uint32": 4, "int": 4, "int64": 8, "uint64": 8}
ELEMENT_B |= {"half": 2, "float16": 2, "bfloat16": 2, "bf16": 2, "float": 4, "float32": 4, "double": 8, "float64": 8}
ELEMENT_B |= {"fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1, "float8_e4m3": 1, "float8_e5m2": 1}
_TYPES = "|".join(sorted(ELEMENT_B, key=len, reverse=True))
TYPE = re.compile(rf"\d\s+(?:{_TYPES})(?![\w.:/=-])")
BEGIN = re.compile(rf"(?:(?<=[\s:>\]|])|^)(\d{{1,19}})\s+(\d{{1,19}})\s+({_TYPES})(?![\w.:/=-])")
REDOPS = ("sum", "prod", "max", "min", "avg", "mulsum", "premulsum", "all", "none")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_EMPTY = ("n/a", "nan", "-nan", "inf", "-inf")


@dataclass(frozen=True, slots=True)
class Half:
    """Out-of-place or in-place numbers of a row; None is what was not printed or `N/A`. Rates are bytes per second.

    `wrong` counts wrong elements (columns `#wrong`), `error` is the largest error (older tables, column `error`).
    """

    time_s: float | None
    algbw_Bps: float | None
    busbw_Bps: float | None
    wrong: int | None
    error: float | None
    failed: bool = False  # an asterisk behind the check: beyond the benchmark's own limit


@dataclass(frozen=True, slots=True)
class Row:
    """One size: `out` and `inplace` as printed, checked against each other (size over time is the algorithm bandwidth)."""

    line: int
    size_B: int
    count: int
    type: str
    redop: str | None
    root: int | None
    out: Half
    inplace: Half


@dataclass(frozen=True, slots=True)
class Columns:
    """What a header promises: is there a root, is the check a magnitude, is there a redop column, one group or two."""

    root: bool | None = None
    redop: bool | None = None
    error: bool | None = None
    groups: int = 2


def columns_of(text: str) -> Columns:
    """Return what the header line of a table promises.

    >>> columns_of("# size count type redop time algbw busbw error time algbw busbw error").root
    False
    """
    words = text.lower().replace("#wrong", "wrong").strip("# ").split()
    return Columns("root" in words, "redop" in words, "error" in words, 2 if words.count("algbw") > 1 else 1)


def cut(text: str) -> list[tuple[re.Match, str]]:
    """Return the rows that begin in a line, each with the text up to the next one."""
    starts = list(BEGIN.finditer(text))
    if not starts:
        return []
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [(start, text[start.end() : end]) for start, end in zip(starts, ends, strict=True)]


def _value(word: str) -> tuple[float | None, float]:
    """Return (number or None, half a unit of its last digit)."""
    if word.lower() in _EMPTY:
        return None, 0.0
    value, digits = float(word), word.lower().partition("e")[0].partition(".")[2]
    return (value, 0.5 * 10.0 ** -len(digits)) if math.isfinite(value) else (None, 0.0)


def _agree(size_B: int, group: list[tuple[float | None, float]], scale: float = 1.0) -> bool | None:
    """Say whether size over time is the printed algorithm bandwidth, as far as the printed digits tell (None: nothing to compare)."""
    (time, ulp), (algbw, rate_ulp) = group[0], group[1]
    if time is None or algbw is None:
        return None
    if time <= 0 or time <= ulp:
        return algbw == 0 if size_B == 0 else None
    expected = size_B / time / 1e3 * scale
    return abs(expected - algbw) <= rate_ulp * 1.2 + expected * (0.004 + ulp / (time - ulp))


def _ratio_ok(group: list[tuple[float | None, float]]) -> bool:
    """Say whether the bus factor is one that exists: 0 (one rank), or between a half and two."""
    (algbw, a_ulp), (busbw, b_ulp) = group[1], group[2]
    if algbw is None or busbw is None:
        return True
    if busbw <= b_ulp or algbw <= a_ulp:
        return busbw <= b_ulp or busbw <= 2.0 * (algbw + a_ulp) + b_ulp
    return 0.5 * (algbw - a_ulp) - b_ulp <= busbw <= 2.0 * (algbw + a_ulp) + b_ulp


def _whole(word: tuple[float | None, float]) -> int | None:
    return None if word[0] is None or word[0] != math.floor(word[0]) or word[0] < 0 else int(word[0])


def parse(start: re.Match, rest: str, number: int, columns: Columns) -> "tuple[Row | None, str]":
    """Return (row, "") or (None, why it cannot be used); `milliseconds` marks times a thousand times too small for their rates."""
    size, count, kind = int(start.group(1)), int(start.group(2)), start.group(3)
    words, values, redop, cut_short = rest.split(), [], None, False
    if words and words[0].lower() in REDOPS:
        redop, words = words[0].lower(), words[1:]
    starred = set()
    for word in words:
        if word.endswith("*") and len(word) > 1:
            word = word[:-1]
            starred.add(len(values))
        if _NUMBER.fullmatch(word) or word.lower() in _EMPTY:
            values.append(_value(word))
        else:
            cut_short = bool(re.match(r"\d", word)) and not re.match(r"\d{4}-\d\d-\d\d|\d\d:\d\d|\d+(?:\.\d+)?%", word)
            break
    if count * ELEMENT_B[kind] > size or (count and size % (count * ELEMENT_B[kind])):
        return None, _("size and count do not fit together ({size} B, {count} elements)").format(size=size, count=count)
    want = 4 * columns.groups
    for root in _readings(columns, len(values), want):
        group = values[1:] if root else values
        first, second = group[:4], group[4:8] if columns.groups == 2 else []
        half_lost = columns.groups == 2 and cut_short and len(second) == 3
        if half_lost:
            second = [*second, (None, 0.0)]
        if len(first) < 4 or (columns.groups == 2 and len(second) < 4):
            continue
        if root and (values[0][0] is None or values[0][0] != int(values[0][0]) or not -1 <= values[0][0] < 1 << 20):
            continue
        if any((v[0] or 0) < 0 for v in [*first, *second]):
            continue
        checks = [_agree(size, g) for g in (first, second) if g]
        if False in checks:
            if all(c is not False for c in (_agree(size, g, 1e-3) for g in (first, second) if g)):
                return None, "milliseconds"
            continue
        if not all(_ratio_ok(g) for g in (first, second) if g):
            continue
        error = columns.error
        if error is None:
            error = any(v[0] is not None and v[0] != int(v[0]) for v in (first[3], *(second[3:4])))
        marks = [3 + root in starred, 7 + root in starred]
        groups = (first, second if second else [(None, 0.0)] * 4)
        halves = [_half(g, error, mark) for g, mark in zip(groups, marks, strict=True)]
        return Row(number, size, count, kind, redop, int(values[0][0]) if root else None, *halves), ""
    if len(values) < want:
        said = _("row cut after {n} of {want} numbers ({size} B)")
        return None, said.format(n=len(values), want=want, size=size)
    return None, _("numbers contradict each other: size over time is not the printed bandwidth ({size} B)").format(
        size=size
    )


_HALF_DIGIT = tuple(0.5 * 10.0**-k for k in range(20))


def _plain_group(words: list[str], size_B: int) -> tuple[float, float, float, float] | None:
    """Return the four numbers of a group that `parse` would take, or None where it has to look."""
    time, algbw, busbw, check = map(float, words)
    ulps = []
    for word in words[:3]:
        at = word.find(".")
        digits = len(word) - at - 1 if at >= 0 else 0
        if at == 0 or digits > 19:
            return None
        ulps.append(_HALF_DIGIT[digits])
    ulp, a_ulp, b_ulp = ulps
    if time <= ulp:
        return None
    expected = size_B / time / 1e3
    if abs(expected - algbw) > a_ulp * 1.2 + expected * (0.004 + ulp / (time - ulp)):
        return None
    if busbw > 2.0 * (algbw + a_ulp) + b_ulp:
        return None
    if busbw > b_ulp and algbw > a_ulp and busbw < 0.5 * (algbw - a_ulp) - b_ulp:
        return None
    return time, algbw, busbw, check


class Plain:
    """A whole row without anything odd, not yet a record: `row` makes what `parse` returns for it."""

    __slots__ = ("error", "groups", "head", "wrong")

    def __init__(self, head: tuple, groups: tuple, error: bool):
        self.head, self.groups, self.error = head, groups, error
        self.wrong = not error and any(group[3] and group[3].is_integer() for group in groups)

    def row(self, number: int) -> Row:
        """Return the record."""
        halves = [
            Half(time * 1e-6, algbw * 1e9, busbw * 1e9, None, check)
            if self.error
            else Half(time * 1e-6, algbw * 1e9, busbw * 1e9, int(check) if check.is_integer() else None, None)
            for time, algbw, busbw, check in self.groups
        ]
        return Row(number, *self.head, *halves)


def plain(text: str, columns: Columns) -> Plain | None:
    """Read a row in the usual form (two groups, plain numbers, nothing else); None: `cut` and `parse` have to look.

    >>> plain("1048576 262144 float sum -1 50.00 20.97 36.70 0 50.10 20.93 36.63 0", Columns()).row(1).out.busbw_Bps
    36700000000.0
    >>> plain("1048576 262144 float sum -1 50.00 20.97 36.70 0 50.10 20.93 36.63 N/A", Columns()) is None
    True
    """
    words = text.split()
    if not 11 <= len(words) <= 13 or words[2] not in ELEMENT_B or columns.groups != 2:
        return None
    text = text.rstrip()
    if not text.isascii() or not (text.isprintable() or text.replace("\t", " ").isprintable()):
        return None  # a control character is no blank here
    first, second, kind = words[:3]
    if not (first.isdigit() and second.isdigit() and len(first) < 20 and len(second) < 20):
        return None
    redop, rest = words[3].lower(), words[4:]
    if redop not in REDOPS:
        redop, rest = None, words[3:]
    root = None
    if len(rest) == 9 and columns.root is not False:
        said, rest = rest[0], rest[1:]
        if said != "-1" and not (said.isdigit() and len(said) < 7):
            return None
        root = int(said)
        if root >= 1 << 20:
            return None
    glued = "".join(rest)
    if len(rest) != 8 or len(glued) > 160 or not glued.replace(".", "").isdigit():
        return None
    size, count = int(first), int(second)
    elements_B = count * ELEMENT_B[kind]
    if size <= 0 or elements_B > size or (count and size % elements_B):
        return None
    try:
        groups = _plain_group(rest[:4], size), _plain_group(rest[4:], size)
    except ValueError:  # two points in a number
        return None
    if None in groups or rest[3][0] == "." or rest[7][0] == ".":
        return None
    error = columns.error
    if error is None:
        error = not (groups[0][3].is_integer() and groups[1][3].is_integer())
    return Plain((size, count, kind, redop, root), groups, error)


def _readings(columns: Columns, n: int, want: int) -> list[bool]:
    """Return the ways to read the numbers, likeliest first: with a root in front or without."""
    if columns.root is None:
        return [True, False] if n > want else [False]
    return [True] if columns.root and n > want else [False, True] if columns.root else [False]


def _half(group: list[tuple[float | None, float]], error: bool, failed: bool) -> Half:
    time, algbw, busbw, check = (group[k][0] for k in range(4))
    rate = lambda v: None if v is None else v * 1e9  # noqa: E731
    return Half(
        None if time is None else time * 1e-6,
        rate(algbw),
        rate(busbw),
        None if error else _whole(group[3]),
        check if error else None,
        failed,
    )
