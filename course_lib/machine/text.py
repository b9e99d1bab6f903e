"""Text: lines of any log in constant memory, without byte-order marks, terminal codes, launcher tags and time stamps."""

import codecs
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _

LONGEST_LINE = 8192  # characters; the rest of a longer line is skipped
MOST_DAMAGES = 100  # kept; more are only counted


@dataclass(frozen=True, slots=True)
class Line:
    """A cleaned line: its number in the file (from 1), its text, the launcher's tag of it, whether it came from stderr."""

    number: int
    text: str
    tag: str = ""
    stderr: bool = False


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that could not be used: where (None: the file as a whole) and why, in words without quotations."""

    line: int | None
    reason: str


class Unreadable(CourseError):
    """A file that holds no text a reader could use; `saw` says what it is."""

    def __init__(self, saw: str):
        super().__init__(saw)
        self.saw = saw


class Damages:
    """Damages of one reader: the first hundred are kept, all are counted."""

    def __init__(self):
        self.kept: list[Damage] = []
        self.count = 0

    def say(self, line: int | None, reason: str, **values) -> None:
        """Note one damage whose sentence takes values; beyond the first hundred it is only counted."""
        self.add(line, reason.format(**values) if len(self.kept) < MOST_DAMAGES else "")

    def add(self, line: int | None, reason: str) -> None:
        """Note one damage."""
        self.count += 1
        if len(self.kept) < MOST_DAMAGES:
            self.kept.append(Damage(line, reason))


_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"%PDF", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x7fELF", "ELF"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(head: bytes) -> str:
    """Return the encoding that the first bytes of a file show, or raise Unreadable for what is no text.

    >>> encoding_of("GPU0 X".encode("utf-16-le")), encoding_of(b"# nThread 1")
    ('utf-16-le', 'utf-8')
    >>> encoding_of(bytes(range(256)))
    Traceback (most recent call last):
    ...
    course_lib.machine.text.Unreadable: binary data, not text
    """
    for mark, name in _MAGIC:
        if head.startswith(mark):
            raise Unreadable(_("a {kind} file, not the text itself").format(kind=name))
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    if len(head) >= 4 and b"\0" in head:
        even, odd = head[0::2].count(0) * 2 / len(head), head[1::2].count(0) * 2 / len(head)
        if odd > 0.4 and even < 0.1:
            return "utf-16-le"
        if even > 0.4 and odd < 0.1:
            return "utf-16-be"
    odd_bytes = sum(head.count(c) for c in range(32) if c not in (7, 8, 9, 10, 12, 13, 27))
    high = len(head) - len(head.decode("utf-8", "ignore").encode("utf-8"))
    if odd_bytes > 0.05 * len(head) or high > 0.2 * len(head) + 4:
        raise Unreadable(_("binary data, not text"))
    return "utf-8"


def _bytes_of(source) -> "io.BufferedReader | io.TextIOBase":
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return io.BufferedReader(io.BytesIO(source.encode("utf-8", "replace")))
    if isinstance(source, (bytes, bytearray)):
        return io.BufferedReader(io.BytesIO(bytes(source)))
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            if path.is_dir():
                raise CourseError(_("{path} is a folder; a file is expected.").format(path=path))
            return open(path, "rb")
        except (OSError, ValueError) as error:
            if isinstance(error, CourseError):
                raise
            why = getattr(error, "strerror", None) or _("no usable file name")
            raise CourseError(_("{path} cannot be read: {why}.").format(path=path, why=why)) from None
    raw = getattr(source, "buffer", source)
    if isinstance(raw, io.TextIOBase):
        return raw
    return raw if hasattr(raw, "peek") else io.BufferedReader(raw)


def raw_lines(source) -> Iterator[tuple[int, str, bool]]:
    """Yield (number, text, goes on?) of every line as decoded, before cleaning.

    A line of more than 8,192 characters comes in pieces; those after the first are marked as going on.

    Args:
        source: a path, bytes, a text that holds a line end, or an open file (text or binary).

    Raises:
        CourseError: a file that cannot be opened; Unreadable where it is no text.
    """
    stream = _bytes_of(source)
    if isinstance(stream, io.TextIOBase):
        reader, mine = stream, False
    else:
        try:
            head = stream.peek(4096)[:4096]
            reader = io.TextIOWrapper(stream, encoding=encoding_of(head), errors="replace", newline=None)
        except OSError as error:
            raise CourseError(_("The file cannot be read: {why}.").format(why=error.strerror)) from None
        mine = isinstance(source, (str, bytes, bytearray, os.PathLike))
    number, whole = 0, True
    try:
        while text := reader.readline(LONGEST_LINE):
            number += whole
            yield number, text, not whole
            whole = text.endswith("\n")
    except OSError as error:
        raise CourseError(_("The file cannot be read: {why}.").format(why=error.strerror)) from None
    finally:
        if mine:
            reader.close()
        elif isinstance(reader, io.TextIOWrapper) and reader is not stream:
            reader.detach()


_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|(?<![\w.])\[\d{1,2}(?:;\d{1,3})*m|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b-\u200f\u2060]"
)
_NEEDS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\[\d{1,2}(?:;\d{1,3})*m|[^\x00-\x7f]")
_PREFIX = re.compile(
    r"\s*(?:"
    r"\[\d+,(?P<mpi>\d+)\]\s*(?:<std(?P<io>\w+)>)?\s*:?"
    r"|\[(?P<rank>\d{1,6})\](?::|(?=\s))"
    r"|\[?rank\s*(?P<named>\d{1,6})\]?\s*:"
    r"|(?P<number>\d{1,8}):(?!\d\d)"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?\]?(?:\s*[-:|])?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?(?=\s)"
    r"|\[\s*\d+\.\d{3,6}\]"
    r"|[A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d\s\S+\s\S+?:(?=\s)"
    r"|[\w./~+-]+\.(?:log|txt|out|err|md|rst|json|stdout|stderr)(?:[:-]\d+)?[:-]"
    r"|\[?pod/[\w./-]+\]?:?(?=\s)"
    r"|[\w.-]{1,80}\s+\|(?=\s)"
    r"|(?:INFO|DEBUG|stdout|stderr)\s*(?::|\||F\b)"
    r"|>(?=\s)"
    r")"
)
# A host's name in front of a line (`node-7: …`) goes only where the rest is something our readers know.
_HOST = re.compile(
    r"\s*(?!(?:NIC\d|GPU\b|GPU\d|Link|Device|Legend|Waived|Note|SUM)\w*:)[A-Za-z][\w.-]{0,80}:"
    r"(?=\s*(?:\#|\[\d+,\d+\]|\d+(?:\s+[\d.N]|\s*$)|GPU\s?\d+|Link\s\d|[DGC]\w?\\?\w*\s+0\b|mlx\d|NIC\d+|(?:Uni|Bi)directional\s|P2P|Running\s|memcpy\s|Waived|Legend))"
)
_CONTEXT = re.compile(r"NCCL|RCCL")
# Beginnings that no prefix has: a number or a word with a blank and more behind it, a comment, nothing at all.
_BARE = re.compile(
    r"\s*(?:#|$|(?:[0-9]+|(?!rank|INFO|DEBUG|stdout|stderr|[A-Z][a-z]{2}\s)[A-Za-z][A-Za-z0-9_=]*)\s+[^|\s])"
)


def clean(text: str) -> tuple[str, str, bool, int | None]:
    """Return (text without codes and prefixes, launcher's tag, from stderr?, a bare leading number or None).

    >>> clean("[1,0]<stdout>:# nThread 1")
    ('# nThread 1', '0', False, None)
    >>> clean("run.log:12: \\x1b[4mGPU0\\x1b[0m")[0].strip()
    'GPU0'
    """
    bare = text.rstrip()
    plain = "[" not in bare and bare.isascii() and (bare.isprintable() or bare.replace("\t", " ").isprintable())
    if not plain and _NEEDS.search(text):
        text = _ESCAPES.sub("", text)
        if not text.isascii():
            text = re.sub(r"[\u00a0\u2000-\u200a\u202f\u3000]", " ", text).replace("\u2212", "-")
        bare = text.rstrip()
    text = bare
    tag, stderr, number = "", False, None
    for _turn in range(4):
        if _BARE.match(text):
            break
        found = _PREFIX.match(text) or _HOST.match(text)
        if found is None or _CONTEXT.match(text, found.end()):
            break
        group = found.groupdict()
        if group.get("io") == "err":
            stderr = True
        tag = tag or group.get("mpi") or group.get("rank") or group.get("named") or ""
        if group.get("number") is not None:
            number = int(group["number"])
        text = text[found.end() :]
    return text, tag, stderr, number


class Leading:
    """A bare number with a colon in front (`3: …`): srun's tag where it repeats, the line number of grep where it only grows.

    >>> seen = Leading()
    >>> [seen.tag(number) for number in (1, 2, 2, 3)]
    ['', '', '2', '3']
    """

    def __init__(self) -> None:
        self.last, self.grows = -1, True

    def tag(self, number: int) -> str:
        """Return the tag that the next such number is; "" as long as they only grow."""
        self.grows = self.grows and number > self.last
        self.last = number
        return "" if self.grows else str(number)


def lines(source) -> Iterator[Line]:
    """Yield the cleaned lines of a source (see `raw_lines`) one by one.

    >>> [line.text for line in lines("a\\r\\nb\\r\\n")]
    ['a', 'b']
    """
    leading = Leading()
    for number, text, goes_on in raw_lines(source):
        if goes_on:
            continue
        said, tag, stderr, bare = clean(text)
        if bare is not None and not tag:
            tag = leading.tag(bare)
        yield Line(number, said, tag, stderr)
