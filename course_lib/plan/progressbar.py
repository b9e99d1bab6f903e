"""A bar for work that takes longer than a second: nothing before, one line on the error stream after."""

import sys
import time

from course_lib.base.language import _

WIDTH = 30
AFTER_S = 1.0


class Bar:
    """Tells how far something is, from its first second on.

    >>> import io
    >>> bar = Bar(io.StringIO())
    >>> bar(1, 2)
    >>> bar.stream.getvalue()
    ''
    >>> bar.start -= 2
    >>> bar(1, 2)
    >>> bar.stream.getvalue()[-12:]
    '1 of 2 plans'
    """

    def __init__(self, stream=None):
        """Start the clock."""
        self.stream, self.start, self.shown = sys.stderr if stream is None else stream, time.monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        """Draw `done` of `total` plans."""
        if time.monotonic() - self.start < AFTER_S:
            return
        self.shown = True
        full = WIDTH * done // max(total, 1)
        bar = "█" * full + "·" * (WIDTH - full)
        self.stream.write("\r" + _("{bar} {done:,} of {total:,} plans").format(bar=bar, done=done, total=total))
        self.stream.flush()

    def close(self) -> None:
        """End the line, if there is one."""
        if self.shown:
            self.stream.write("\n")
