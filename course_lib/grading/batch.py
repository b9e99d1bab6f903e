"""One run over a class: what is to do, what comes back, and where it is written down."""

import contextlib
import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import autograded, bank, late, learnerpage, library, owner, people, repair, report
from course_lib.grading.gradebook import Book
from course_lib.grading.intake import HandIn, as_name
from course_lib.grading.jobs import Job, Settings
from course_lib.grading.ledger import Ledger
from course_lib.grading.pool import ahead, failed, pool
from course_lib.grading.rivals import meant, winners
from course_lib.grading.sandbox import Limits

REPORT_S = 20.0  # how often the tables are brought up to date


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to grade: where results go, which exercises ("04", …; all if none), limits, lateness, and who works."""

    to: Path
    only: tuple[str, ...] = ()
    n_processes: int = 2
    scheduler: str = ""
    walled: bool = True
    limits: Limits = field(default_factory=Limits)
    due: datetime | None = None
    rule: str = "none"
    again: bool = False


@dataclass
class Outcome:
    """What came out: a row per input, how many were known from an earlier run, and whether it was stopped."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    repeated: int = 0
    stopped: bool = False

    @property
    def status(self) -> int:
        """0 if every input that was asked for has its marks, 1 if one has not, 130 if the run was stopped."""
        if self.stopped:
            return 130
        return 1 if any(r["state"] in ("refused", "failed") for r in self.rows) or not self.rows else 0


class _Stopped(BaseException):
    pass


class Batch:
    """One run over a class."""

    def __init__(
        self, options: Options, settings: Settings, ledger: Ledger, tell: Callable[[int, int, str], None]
    ) -> None:
        self.options, self.settings, self.ledger, self.tell = options, settings, ledger, tell
        self.opened: Book | None = None
        self.reported_s = time.monotonic()
        self.outcome = Outcome()
        self.times: dict[str, tuple[datetime | None, str]] = {}
        self.due: dict[str, datetime | None] = {}
        self.given = people.given(options.to / "gradebook.db")
        limits = options.limits
        self.version = "\n".join(
            [library.fingerprint(), _releases(), settings.secret, repr(limits), repr(options.walled)]
        )

    def through(self, hand_ins: Sequence[HandIn]) -> Outcome:
        jobs, refused = self._jobs(hand_ins)
        old = (
            {}
            if self.options.again
            else {j.key: self.ledger.marked[j.key] for j in jobs if j.key in self.ledger.marked}
        )
        waiting = [job for job in jobs if job.key not in old]
        done = len(old)
        try:
            with _stoppable(), contextlib.ExitStack() as stack:
                results: Iterator[list[tuple[Job, dict[str, Any]]]] = iter(())
                if waiting:  # the workers begin while this process still loads nbgrader
                    workers = pool(self.settings, min(self.options.n_processes, len(waiting)), self.options.scheduler)
                    stack.callback(workers.close)
                    results = ahead(workers, waiting)
                self._keep([], list(old.values()))
                self.outcome.repeated = sum(result["state"] == "marked" for result in old.values())
                for some in results:
                    self._keep(some, [])
                    if time.monotonic() - self.reported_s > REPORT_S:
                        self._report()
                    for job, _result in some:
                        done += 1
                        self.tell(done, len(jobs), job.student)
        except (_Stopped, KeyboardInterrupt):
            self.outcome.stopped = True
        self._keep([], refused)
        self._report()
        return self.outcome

    def _report(self) -> None:
        """Write the tables as far as they are known."""
        about = {"sandbox": "bubblewrap" if self.options.walled else "none", "stopped": self.outcome.stopped}
        if not self.options.walled:
            about["warning"] = _("Graded without a sandbox: hand-ins could read and change this machine's files.")
        about |= {"late_rule": self.options.rule, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        report.write(self.options.to, self.outcome.rows, about)
        self.reported_s = time.monotonic()

    @property
    def book(self) -> Book:
        """The gradebook, opened at its first use."""
        if self.opened is None:
            self.opened = Book(self.options.to / "gradebook.db")
        return self.opened

    # what there is to do ------------------------------------------------------------------------------------------

    def _jobs(self, hand_ins: Sequence[HandIn]) -> tuple[list[Job], list[dict[str, Any]]]:
        """Return what to mark, and rows for what cannot be; of several files for one exercise, one is marked."""
        refused, found = [], []
        for one in hand_ins:
            job = Job("", one.student, one.shown, b"")
            try:
                if one.problem:
                    raise CourseError(one.problem)
                content = one.read()
                job = Job(self._key(one, content), one.student, one.shown, repair.slim(content))
                found.append((one, job))
            except CourseError as error:
                refused.append(failed(job, str(error)) | {"state": "refused", "exercise": meant(one.shown)})
            self.times[one.shown] = late.handed_in(one.submitted)
        jobs, read = [], {one.shown: (one, job) for one, job in found}
        for (one, job), winner in zip(found, winners(found), strict=True):
            if winner is None:
                jobs.append(job)
                continue
            passed = failed(job, _("{file} was marked instead.").format(file=winner))
            chosen, taken = read[winner]
            if one.modified_s > chosen.modified_s and job.content != taken.content:
                passed["flags"] = [
                    _("{file} is newer than {other}, which was marked.").format(file=one.shown, other=winner)
                ]
            refused.append(passed | {"state": "passed over", "exercise": meant(one.shown)})
        return jobs, refused

    def _key(self, one: HandIn, content: bytes) -> str:
        digest = hashlib.sha256("\0".join((self.version, one.student, one.shown)).encode("utf-8", "replace"))
        digest.update(content)
        return digest.hexdigest()[:40]

    # what was done ------------------------------------------------------------------------------------------------

    def _keep(self, fresh: Sequence[tuple[Job, dict[str, Any]]], old: Sequence[dict[str, Any]]) -> None:
        """Write results down: pages first, then the ledger, then the gradebook. Whatever stops this, the next run completes it."""
        for job, result in fresh:
            pages = {name: result.pop(name, None) for name in ("autograded", "feedback")}
            if not result["exercise"]:
                result["exercise"] = meant(job.shown)
            if result["state"] == "marked":
                self._pages(result, pages)
            if result["state"] not in ("failed", "skipped"):  # for a reason of ours, or of this run: the next one tries
                self.ledger.mark(job.key, result)
        if fresh:
            self.ledger.sync()
        booked: list[str] = []
        with self.book.together():
            for result in [*(one for _job, one in fresh), *old]:
                booked += self._finish(result)
        for key in booked:
            self.ledger.book(key)

    def _pages(self, result: dict[str, Any], pages: dict[str, str | None]) -> None:
        for kind, suffix in (("autograded", ".ipynb"), ("feedback", ".html")):
            if (text := pages[kind]) is not None:
                _replace(self._target(result, kind, suffix), text)

    def _target(self, result: dict[str, Any], kind: str, suffix: str) -> Path:
        path = repair.release_path(result["exercise"])
        return self.options.to / kind / as_name(result["student"]) / path.parent.name / (path.stem + suffix)

    def _page_now(self, result: dict[str, Any], taken: float, submitted: datetime | None) -> None:
        """Bring the head of a learner's page up to date: people may have marked, and dates moved, since it was written."""
        path = self._target(result, "feedback", ".html")
        try:
            before = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        now = learnerpage.up_to_date(before, result, taken, submitted)
        if now != before:
            _replace(path, now)

    def _finish(self, result: dict[str, Any]) -> list[str]:
        """Bring a result into the gradebook if it is not there yet, and into the rows; return its key if it was booked."""
        booked = []
        submitted, assumed = self.times.get(result["shown"], (None, ""))
        taken = 0.0
        if result["state"] == "marked":
            machine, folder = result, repair.release_path(result["exercise"]).parent.name
            anew = result["key"] not in self.ledger.booked
            result = people.over(result, self.given.get((result["student"], folder), people.NOTHING), anew=anew)
            taken = late.penalty(result["points"], submitted, self._due(result["exercise"]), self.options.rule)
            if anew:
                self.book.book(machine, submitted, taken)
                booked.append(result["key"])
            else:
                self.book.late(result["exercise"], result["student"], taken, submitted)
            self._page_now(result, taken, submitted)
        elif result["state"] in ("refused", "failed") and result["exercise"] and not self._marked_otherwise(result):
            self._pages(result, {"autograded": self._sign(result), "feedback": None})
            self.book.book(result, submitted, 0.0)
        extra = [text for text in (assumed, self._who(result)) if text]
        result = result | {"notes": [*result["notes"], *extra]}
        when = submitted.isoformat(timespec="seconds") if submitted else ""
        self.outcome.rows.append(report.row(result, taken, when))
        return booked

    def _sign(self, result: dict[str, Any]) -> str:
        return autograded.refused(repair.release(result["exercise"]), result["reason"])

    def _marked_otherwise(self, result: dict[str, Any]) -> bool:
        mine = (result["student"], result["exercise"])
        return any((r["student"], r["exercise"]) == mine and r["state"] == "marked" for r in self.outcome.rows)

    def _who(self, result: dict[str, Any]) -> str:
        """Compare the learner's id in the notebook with the path's."""
        if result["state"] != "marked":
            return ""
        identity = owner.identify(result["student"], result["learner"] or "", self.settings.known)
        per_learner = any(q.parameters for q in bank.questions(result["exercise"]))
        if identity.kind == owner.ANOTHER:
            text = _("LEARNER in the notebook is {who}, another learner of this class.")
        elif identity.kind == owner.UNKNOWN:
            text = _("LEARNER in the notebook is {who}; it was marked with the numbers of that name.")
        elif identity.kind == owner.PUBLIC and per_learner:
            return _("LEARNER is blank; it was marked with the public numbers.")
        else:
            return ""
        said = text.format(who=repr(identity.stated)[:80])
        if said not in result["flags"]:
            result["flags"] = [*result["flags"], said]
        return ""

    def _due(self, exercise: str) -> datetime | None:
        if self.options.due is not None:
            return self.options.due
        if exercise not in self.due:
            self.due[exercise] = self.book.due(exercise)
        return self.due[exercise]


def _replace(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    os.replace(fresh, path)


def _releases() -> str:
    digest = hashlib.sha256()
    for number in bank.exercises():
        try:
            digest.update(repair.release_path(number).read_bytes())
        except CourseError:
            continue
    return digest.hexdigest()


class _stoppable:
    """Turns a polite request to end into _Stopped, so that what is done is written down."""

    def __enter__(self) -> None:
        self.before = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGTERM, self._ring)

    def _ring(self, number: int, frame: object) -> None:
        raise _Stopped

    def __exit__(self, *ended: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGTERM, self.before)
