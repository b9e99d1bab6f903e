"""TOML files of targets and of designs: read from a path, a text or a dict, every complaint with its line."""

import os
import tomllib
from collections.abc import Mapping

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.cluster.quantities import MEASURES, Measure, nearest, parse
from course_lib.timing.tomlfile import check_keys, line_of


def load(source: "str | os.PathLike | Mapping", kind: str) -> tuple[str, str, Mapping]:
    """Return (name for messages, text, data) of a path, of the text of a file, or of a mapping.

    >>> load("title = 'Roll-out'\\n", "targets")
    ('targets', "title = 'Roll-out'\\n", {'title': 'Roll-out'})
    """
    if isinstance(source, Mapping):
        return kind, "", source
    if isinstance(source, str) and "\n" in source:
        try:
            return kind, source, tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise CourseError(_("{path} is not valid TOML: {why}.").format(path=kind, why=error)) from None
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if path is None:
        raise CourseError(_("{kind}: the path of a TOML file, its text or a dict is expected.").format(kind=kind))
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        return os.path.basename(path), text, tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise CourseError(_("The file {path} cannot be read: {why}.").format(path=path, why=why)) from None
    except tomllib.TOMLDecodeError as error:
        raise CourseError(
            _("{path} is not valid TOML: {why}.").format(path=os.path.basename(path), why=error)
        ) from None


class Place:
    """Where in a file we are: every complaint names the line when there is one.

    A section is "" for the top level, "targets.goodput" for that of a gate; a key is "" where the section itself is meant.
    """

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text

    def fail(self, section: str, key: str, sentence: str) -> CourseError:
        """Return the error with a sentence, the file and the line of a key."""
        if not self.text:
            return CourseError(f"{self.name}, [{section}] {sentence}" if section else f"{self.name}: {sentence}")
        line = self.line(section, key)
        return CourseError(_("{name}, line {line}: {why}").format(name=self.name, line=line, why=sentence))

    def line(self, section: str, key: str) -> int:
        """Return the line, from 1, on which a key stands, or the header of its section."""
        if key and "." not in section:
            return line_of(self.text, section, key)
        header, found = f"[{section}]", None
        for number, line in enumerate(self.text.splitlines(), 1):
            bare = line.split("#")[0].strip()
            if bare.startswith("["):
                found = number if bare.replace('"', "").replace(" ", "") == header else None
            if found and key and bare.split("=")[0].strip().strip('"') == key:
                return number
            if found and not key:
                return found
        return line_of(self.text, "", key or section.rsplit(".", 1)[-1])

    def keys(self, table: object, section: str, valid: tuple[str, ...]) -> Mapping:
        """Return a section, after checking that it is one and has no key but `valid`."""
        if not isinstance(table, Mapping):
            raise self.fail("", section.rsplit(".", 1)[-1], _("[{s}] has to be a section.").format(s=section))
        if self.text and "." not in section:
            check_keys(self.name, self.text, table, section, valid)
        for key in table:
            if key not in valid:
                where = f"[{section}]" if section else _("the top level")
                sentence = _("there is no key '{key}' in {where}. {hint}")
                raise self.fail(section, key, sentence.format(key=key, where=where, hint=nearest(key, valid)))
        return table

    def words(self, table: Mapping, section: str, key: str, default: str | None = None) -> str:
        """Return the text at a key; without a default it has to be there."""
        value = table.get(key, default)
        if value is None:
            raise self.fail(section, "", _("[{s}] needs the key '{key}'.").format(s=section, key=key))
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.fail(
                section, key, _("{key} is {value!r}; words in quotes are expected.").format(key=key, value=value)
            )
        return value.strip()

    def measure(self, name: str, section: str) -> Measure:
        """Return the measure of that name."""
        if name not in MEASURES:
            sentence = _("there is no measure '{name}'. {hint}")
            raise self.fail(section, "", sentence.format(name=name, hint=nearest(name, tuple(MEASURES))))
        return MEASURES[name]

    def quantity(self, measure: Measure, table: Mapping, section: str, key: str) -> float:
        """Return the quantity at a key in SI units of its measure."""
        try:
            return parse(measure, table[key])
        except CourseError as error:
            raise self.fail(section, key, str(error)) from None
