"""Marks many hand-ins at once, each in a process that may die: here, or on the workers of a Dask cluster."""

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any, Protocol

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading.jobs import Job, Settings
from course_lib.grading.marks import marker

MARGIN_S = 240.0  # beyond a hand-in's own time: starting a sandbox, comparing, cleaning up
TRIES = 2


class Pool(Protocol):
    """Marks jobs in any order: yields each job once, with its result."""

    def marked(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]: ...

    def close(self) -> None: ...


def failed(job: Job, reason: str) -> dict[str, Any]:
    """Return the result of a job that nobody could finish."""
    empty: dict[str, Any] = {"questions": [], "manual": [], "notes": [], "flags": [], "points": 0.0, "of": 0.0}
    named = {"key": job.key, "student": job.student, "shown": job.shown, "exercise": "", "learner": None}
    return named | empty | {"state": "failed", "reason": reason, "sandbox": "", "seconds": 0.0}


def _serve(connection: Any, settings: Settings, parent: int) -> None:
    """Mark what comes through `connection` until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(parent)
    mark, close = marker(settings)
    try:
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                break
            if job is None:
                break
            try:
                result = mark(job)
            except Exception as error:  # a fault of ours must not stop the batch
                result = failed(job, f"{type(error).__name__}: {error}"[:500])
            connection.send(result)
    finally:
        close()


def _die_with(parent: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Slot:
    """One process that marks one hand-in at a time."""

    def __init__(self, settings: Settings) -> None:
        # A fork has everything imported already; it is safe only while there is one thread.
        quick = sys.platform == "linux" and threading.active_count() == 1
        context = multiprocessing.get_context("fork" if quick else "spawn")
        self.connection, theirs = context.Pipe()
        self.settings = settings
        self.process = context.Process(target=_serve, args=(theirs, settings, os.getpid()), daemon=False)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.ends = 0.0

    def give(self, job: Job) -> None:
        self.job, self.ends = job, time.monotonic() + self.settings.limits.total_s + MARGIN_S
        self.connection.send(job)

    def take(self) -> dict[str, Any] | None:
        """Return the result, or None if the process is gone."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        with contextlib.suppress(OSError):  # a fork of ours may hold the other end open, so closing alone says nothing
            self.connection.send(None)
        self.connection.close()
        self.process.join(0.1 if self.job is not None else 20)  # it ends by itself when nobody gives it work
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class LocalPool:
    """Processes of this machine."""

    def __init__(self, settings: Settings, n_processes: int) -> None:
        self.settings, self.n_processes, self._closing = settings, n_processes, False
        self._slots: list[Slot] = [Slot(settings) for _place in range(n_processes)]

    def marked(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """Yield each job with its result; a process that dies is replaced and its job tried once more."""
        waiting, tries = list(reversed(jobs)), dict.fromkeys((job.key for job in jobs), 0)
        while not self._closing and (waiting or any(slot.job for slot in self._slots)):
            while waiting and len(self._slots) < self.n_processes:
                self._slots.append(Slot(self.settings))
            for slot in self._slots:
                if slot.job is None and waiting:
                    self._give(slot, waiting)
            busy = {slot.connection: slot for slot in self._slots if slot.job}
            ready = wait(list(busy), timeout=1.0)
            now = time.monotonic()
            for slot in [busy[one] for one in ready] + [s for s in busy.values() if s.ends < now]:
                if slot not in self._slots or slot.job is None:
                    continue
                job = slot.job
                result = slot.take() if slot.connection in ready else None
                if result is None:
                    self._slots.remove(slot)
                    slot.process.kill()
                    slot.close()
                    tries[job.key] += 1
                    if tries[job.key] < TRIES:
                        waiting.append(job)
                        continue
                    result = failed(job, _("The process that marked it ended, {n} times.").format(n=TRIES))
                else:
                    slot.job = None
                    if waiting:  # work on while the caller books the result
                        self._give(slot, waiting)
                yield job, result

    def _give(self, slot: Slot, waiting: list[Job]) -> None:
        job = waiting.pop()
        try:
            slot.give(job)
        except OSError:  # it died while it had nothing to do; it is noticed at the next look
            slot.job = job

    def close(self) -> None:
        self._closing = True
        while self._slots:
            slot = self._slots.pop()
            if slot.job is not None:
                slot.process.kill()
            slot.close()


_here = threading.local()


def on_worker(job: Job, settings: Settings) -> dict[str, Any]:
    """Mark one job on a Dask worker: in a process of its own, one for each of the worker's threads."""
    slot: Slot | None = getattr(_here, "slot", None)
    if slot is None or slot.settings != settings or not slot.process.is_alive():
        if slot is not None:
            slot.close()
        slot = _here.slot = Slot(settings)
    slot.give(job)
    if slot.connection.poll(settings.limits.total_s + MARGIN_S) and (result := slot.take()) is not None:
        return result
    _here.slot = None
    slot.process.kill()
    slot.close()
    raise RuntimeError(_("The process that marked it ended."))


class DaskPool:
    """Workers of a Dask cluster; they need the course installed, and nothing else. A lost worker's jobs are done again."""

    def __init__(self, settings: Settings, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            text = _("--scheduler needs Dask: pip install 'interconnect-course[cluster]', here and on the workers.")
            raise CourseError(text) from None
        self.settings = settings
        try:
            self._client = Client(address, timeout=15, set_as_default=False)
        except Exception as error:
            text = _("No Dask scheduler answers at {address}: {why}.")
            raise CourseError(text.format(address=address, why=str(error)[:200])) from None

    def marked(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """Yield each job with its result; a job is tried again up to three times where its worker was lost."""
        from distributed import as_completed

        futures = {
            self._client.submit(on_worker, job, self.settings, key=f"grade-{job.key}", retries=3): job for job in jobs
        }
        for future in as_completed(list(futures), loop=self._client.loop):
            job = futures[future]
            try:
                result = future.result()
            except Exception as error:
                result = failed(job, _("No worker could finish it: {why}.").format(why=str(error)[:200]))
            future.release()
            yield job, result

    def close(self) -> None:
        self._client.close()


def pool(settings: Settings, n_processes: int, scheduler: str = "") -> Pool:
    """Return what marks: this machine's processes, or the cluster at `scheduler`."""
    return DaskPool(settings, scheduler) if scheduler else LocalPool(settings, n_processes)


def ahead(workers: Pool, jobs: Sequence[Job], most: int = 20) -> Iterator[list[tuple[Job, dict[str, Any]]]]:
    """Yield what the workers have given since, at most `most`; a thread collects it, so that they never wait for us."""
    waiting: queue.SimpleQueue = queue.SimpleQueue()

    def collect_all() -> None:
        try:
            for pair in workers.marked(jobs):
                waiting.put(pair)
            waiting.put(None)
        except BaseException as error:
            waiting.put(error)

    threading.Thread(target=collect_all, daemon=True).start()
    ended = False
    while not ended:
        some = [waiting.get()]
        while len(some) < most and not waiting.empty():
            some.append(waiting.get())
        ended = some[-1] is None
        for got in some:
            if isinstance(got, BaseException):
                raise got
        if good := [got for got in some if got is not None]:
            yield good
