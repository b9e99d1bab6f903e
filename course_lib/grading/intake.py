"""Looks through what a class handed in: one entry per input, whatever it is; links and odd files are named, not opened."""

import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes

MOST_FILE_B = 400 * 2**20
MOST_ENTRIES = 2000  # files of one learner that are looked at
MOST_MEMBERS = 100  # of one archive
NOTEBOOK = re.compile(r"(?i)\.(ipynb|ipynb\.txt|ipynb\.json|json)$")
SKIPPED = (".ipynb_checkpoints", "__pycache__", "__MACOSX", ".git", ".DS_Store", "timestamp.txt", ".gitkeep")


@dataclass(frozen=True)
class HandIn:
    """One input.

    `shown` is its path below submitted/; `member` names the file inside an archive; `problem` says why it cannot be read;
    `folders` are the names between the learner's folder and the file.
    """

    student: str
    shown: str
    path: Path
    member: str = ""
    problem: str = ""
    submitted: str = ""  # what timestamp.txt says
    modified_s: float = 0.0
    folders: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        return PurePosixPath(self.member or self.shown).name

    def read(self) -> bytes:
        """Return the file's bytes; raises CourseError with the reason where that is not possible."""
        try:
            if self.member:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                    data = file.read(MOST_FILE_B + 1)
            else:
                # Not through a link that was put there since, and not a device that never ends.
                fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                with open(fd, "rb") as file:
                    if not stat.S_ISREG(os.fstat(fd).st_mode):
                        raise CourseError(_("It is no ordinary file."))
                    data = file.read(MOST_FILE_B + 1)
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
            raise CourseError(_("It cannot be read: {why}.").format(why=str(error)[:200])) from None
        except Exception as error:  # a damaged archive: zlib and lzma have errors of their own
            raise CourseError(_("It cannot be read: {why}.").format(why=type(error).__name__)) from None
        if len(data) > MOST_FILE_B:
            raise CourseError(_("It is larger than {most}.").format(most=say_bytes(MOST_FILE_B)))
        return data


def collect(folder: Path) -> list[HandIn]:
    """Return every input below `folder`, sorted: submitted/<learner>/…/*.ipynb, single files, archives.

    Raises CourseError if the folder itself cannot be read.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise CourseError(_("{path} cannot be read: {why}.").format(path=folder, why=error.strerror)) from None
    found: list[HandIn] = []
    for entry in entries:
        if entry.name in SKIPPED:
            continue
        path, shown = Path(entry.path), _clean(entry.name)
        student = as_text(entry.name)
        if not entry.is_dir(follow_symlinks=False):
            student = re.sub(NOTEBOOK, "", re.sub(r"(?i)\.zip$", "", student))
        if entry.is_symlink():
            found.append(HandIn(_clean(student), shown, path, problem=_("It is a link. Links are not followed.")))
        elif problem := _bad_name(student):
            found.append(HandIn(_clean(student), shown, path, problem=problem))
        elif entry.is_dir(follow_symlinks=False):
            inside = list(_below(path, student, (), [0], ""))
            if not inside:
                inside = [HandIn(student, shown + "/", path, problem=_("There is no notebook in this folder."))]
            found += inside
        else:
            found += _file(path, student, shown, (), "")
    return found


def _bad_name(student: str) -> str:
    try:
        student.encode("utf-8")
    except UnicodeEncodeError:
        return _("Its name is not readable as text.")
    if student.strip(". ") == "" or any(ord(letter) < 32 or letter in "\\/\x7f" for letter in student):
        return _("Its name cannot be a learner's id.")
    return ""


def as_text(name: str) -> str:
    """Return a file's name as text, also where this machine's own encoding is not UTF-8."""
    try:
        return os.fsencode(name).decode("utf-8")
    except UnicodeError:
        return name


def as_name(text: str) -> str:
    """Return text as this machine can name a file; undoes `as_text`."""
    return os.fsdecode(text.encode("utf-8"))


def _clean(text: str) -> str:
    """Return a name as it can be printed."""
    text = as_text(text)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _below(folder: Path, student: str, folders: tuple[str, ...], count: list[int], stamp: str) -> Iterator[HandIn]:
    shown_folder = "/".join((_clean(student), *map(_clean, folders)))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield HandIn(student, shown_folder, folder, problem=_("It cannot be read: {why}.").format(why=error.strerror))
        return
    stamp = _stamp(folder) or stamp
    for entry in entries:
        if entry.name in SKIPPED:
            continue
        count[0] += 1
        shown, path = f"{shown_folder}/{_clean(entry.name)}", Path(entry.path)
        if count[0] > MOST_ENTRIES:
            problem = _("There are more than {n} files; the rest was not looked at.").format(n=MOST_ENTRIES)
            if count[0] == MOST_ENTRIES + 1:
                yield HandIn(student, shown, path, problem=problem, folders=folders)
            return
        if entry.is_symlink():
            if entry.name.endswith((".ipynb", ".zip")) or not folders:
                problem = _("It is a link. Links are not followed.")
                yield HandIn(student, shown, path, problem=problem, folders=folders)
        elif entry.is_dir(follow_symlinks=False):
            if len(folders) < 20:
                yield from _below(path, student, (*folders, entry.name), count, stamp)
        else:
            yield from _file(path, student, shown, folders, stamp)


def _file(path: Path, student: str, shown: str, folders: tuple[str, ...], stamp: str) -> Iterator[HandIn]:
    is_zip = path.suffix.lower() == ".zip"
    if not is_zip and not NOTEBOOK.search(path.name):
        if not folders and as_text(path.parent.name) != student:  # a stray file at the top
            yield HandIn(_clean(student), shown, path, problem=_("It is neither a notebook nor a folder of one."))
        return
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            yield HandIn(student, shown, path, problem=_("It is no ordinary file."), folders=folders)
            return
    except OSError as error:
        yield HandIn(student, shown, path, problem=_("It cannot be read: {why}.").format(why=error.strerror))
        return
    if is_zip:
        yield from _archive(path, student, shown, stamp)
    else:
        yield HandIn(student, shown, path, submitted=stamp, modified_s=status.st_mtime, folders=folders)


def _archive(path: Path, student: str, shown: str, stamp: str) -> Iterator[HandIn]:
    """Look into an archive. Nothing is unpacked: a name in it is only a name, wherever it points."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
    except Exception as error:
        problem = _("It is no archive that can be read: {why}.").format(why=str(error)[:100] or type(error).__name__)
        yield HandIn(student, shown, path, problem=problem)
        return
    members = [m for m in members if NOTEBOOK.search(m.filename) and not any(s in m.filename for s in SKIPPED)]
    if not members:
        yield HandIn(student, shown, path, problem=_("There is no notebook in this archive."))
    room = MOST_FILE_B  # of the whole archive: a few bytes of it can stand for gigabytes
    if len(members) > MOST_MEMBERS:
        problem = _("There are more than {n} files; the rest was not looked at.").format(n=MOST_MEMBERS)
        yield HandIn(student, shown, path, problem=problem)
    for member in members[:MOST_MEMBERS]:
        room -= member.file_size
        name = f"{shown}:{_clean(member.filename)}"
        problem = ""
        if room < 0:
            problem = _("It is larger than {most}.").format(most=say_bytes(MOST_FILE_B))
        elif stat.S_ISLNK(member.external_attr >> 16):
            problem = _("It is a link. Links are not followed.")
        yield HandIn(student, name, path, member.filename, problem, stamp, modified_s=_seconds(member))


def _seconds(member: zipfile.ZipInfo) -> float:
    year, month, day, hour, minute, second = member.date_time
    return float(((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 60 + second)


def _stamp(folder: Path) -> str:
    """Return what nbgrader's timestamp.txt says, or ""."""
    path = folder / "timestamp.txt"
    try:
        if not path.is_symlink() and path.is_file() and path.stat().st_size < 200:
            return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        pass
    return ""
