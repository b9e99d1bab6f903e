"""Merging events: a fast drag sends dozens of changes, the model is asked a few times, and the last value always wins."""

import asyncio
import time
from collections.abc import Callable

REST_s = 0.045


class Merger:
    """Calls `work()` at once for a lone event; while events keep coming, at most once per rest, and once more after the last.

    The rest grows with the time that `work` takes, so that a slow model leaves the kernel time to hear the next event. Without a
    running event loop (a test, a script) every event is worked on at once.
    """

    def __init__(self, work: Callable[[], None], rest_s: float = REST_s):
        self.work = work
        self.rest_s = rest_s
        self.calls = 0
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def event(self) -> None:
        """Say that something changed."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._run()
            return
        if self._timer is not None:
            return  # a run is due: it will read the newest values
        wait = self._next_at - time.monotonic()
        if wait <= 0:
            self._run()
        else:
            self._timer = loop.call_later(wait, self._run)

    def _run(self) -> None:
        self._timer = None
        self.calls += 1
        began = time.monotonic()
        try:
            self.work()
        finally:
            ended = time.monotonic()
            self._next_at = ended + max(self.rest_s, 1.5 * (ended - began))
