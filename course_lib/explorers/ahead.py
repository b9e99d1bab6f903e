"""Ahead: what an explorer will be asked for is made in the background, where there are threads."""

import atexit
from collections.abc import Iterable
from threading import Event, Thread

_leaving = Event()


def in_background(steps: Iterable) -> Thread | None:
    """Walk through `steps`, a generator that works as it goes, in the background, and return the thread.

    None where there are no threads, as in a page without a server. Python waits at its end for the step that is at work.

    >>> done = []
    >>> in_background(done.append(n) for n in (1, 2)).join()
    >>> done
    [1, 2]
    """

    def walk() -> None:
        for _made in steps:
            if _leaving.is_set():
                return

    thread = Thread(target=walk, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    atexit.register(_leave, thread)
    return thread


def _leave(thread: Thread) -> None:
    """End a thread between two steps: one that Python's end meets inside a library in C++ would abort the process."""
    _leaving.set()
    thread.join()
