"""TOML files that people write: on which line a key stands, and a sentence for a key that does not exist."""

import difflib
import re
from collections.abc import Mapping, Sequence

from course_lib.base.errors import CourseError
from course_lib.base.language import _

_WORD = r"\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+"
_PATH = re.compile(rf"\s*((?:{_WORD})(?:\s*\.\s*(?:{_WORD}))*)\s*(=|\])")


def _words(path: str) -> list[str]:
    return [word.strip("\"'") for word in re.findall(_WORD, path)]


def line_of(text: str, section: str, key: str) -> int:
    """Return the line (from 1) where `key` of `section` ("" is the top level) stands.

    Headers, dotted keys and inline tables are followed. A key that cannot be seen gives the first line that has the word.

    >>> line_of("hosts = 2\\n[scale_up]\\nkind = 'mesh'\\n", "scale_up", "kind")
    3
    >>> line_of("scale_up.kind = 'mesh'\\nscale_out = {nics_per_host = 8}\\n", "scale_out", "nics_per_host")
    2
    """
    wanted = [*([section] if section else []), key]
    header: list[str] = []
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        bare = line.split("#")[0].strip()
        opened = re.match(r"\[+", bare)
        found = _PATH.match(bare[opened.end() :] if opened else bare)
        if found:
            full = _words(found[1]) if opened else [*header, *_words(found[1])]
            header = full if opened else header
            rest = "" if opened else bare[found.end() :]
            if full[: len(wanted)] == wanted:
                return number
            if section and full == [section] and re.search(rf"[{{,\s][\"']?{re.escape(key)}[\"']?\s*[=.]", rest):
                return number
        quote = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    return next((i for i, line in enumerate(text.splitlines(), 1) if re.search(rf"\b{re.escape(key)}\b", line)), 1)


def check_keys(path: str, text: str, table: Mapping, section: str, valid: Sequence[str]) -> None:
    """Refuse a key of a section that is not valid: the file, its line, the nearest valid key, all valid keys.

    >>> check_keys("a.toml", "host = 3", {"host": 3}, "", ["hosts"])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: a.toml, line 1: there is no key 'host' in the top level. The nearest is 'hosts'; valid: hosts.
    """
    for key in table:
        if key in valid:
            continue
        near = difflib.get_close_matches(key.lower(), [v.lower() for v in valid], n=1, cutoff=0.5)
        nearest = next((v for v in valid if near and v.lower() == near[0]), None)
        hint = _("The nearest is '{near}'; valid: {valid}.") if nearest else _("Valid: {valid}.")
        raise CourseError(
            _("{path}, line {line}: there is no key '{key}' in {section}. {hint}").format(
                path=path,
                line=line_of(text, section, key),
                key=key,
                section=f"[{section}]" if section else _("the top level"),
                hint=hint.format(near=nearest, valid=", ".join(valid)),
            )
        )
