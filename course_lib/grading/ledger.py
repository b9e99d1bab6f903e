"""What has been marked, line by line, so that a run that was stopped goes on where it was: nothing lost, nothing twice."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from course_lib.base.errors import CourseError
from course_lib.base.language import _


class Ledger:
    """An append-only file. A hand-in has two lines: "marked" with its marks, then "booked" once the gradebook has them.

    One run at a time: a second one on the same file is refused. Use it in a `with`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.marked: dict[str, dict[str, Any]] = {}
        self.booked: set[str] = set()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "a+", encoding="utf-8")
        self._lock()
        self._file.seek(0)
        text = self._file.read()
        for line in text.splitlines():
            self._take(line)
        if text and not text.endswith("\n"):  # the last run was stopped in the middle of a line
            self._file.write("\n")
        return self

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            text = _("Another run is grading into {folder}. Wait for it, or choose another folder with --to.")
            raise CourseError(text.format(folder=self.path.parent)) from None

    def _take(self, line: str) -> None:
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            entry = json.loads(line)
            if entry["is"] == "marked":
                self.marked[str(entry["key"])] = dict(entry["result"])
                self.booked.discard(str(entry["key"]))
            elif entry["is"] == "booked":
                self.booked.add(str(entry["key"]))

    def mark(self, key: str, result: Mapping[str, Any]) -> None:
        """Write down a hand-in's marks; `sync` makes sure of it."""
        self.marked[key] = dict(result)
        self.booked.discard(key)
        self._write({"is": "marked", "key": key, "result": self.marked[key]})

    def book(self, key: str) -> None:
        """Write down that the gradebook has them."""
        self.booked.add(key)
        self._write({"is": "booked", "key": key})

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Return when everything written is on the disk."""
        os.fsync(self._file.fileno())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
