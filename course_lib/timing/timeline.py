"""Timeline: the stepped time of a schedule written out repeat by repeat: when each begins, waits and carries bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.fabric.topology import link_name
from course_lib.timing.stepped import Timing

MOST_REPEATS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """One entry per repeat, shape (repeats,): when it starts, its latency, and the seconds its fullest link carries bytes.

    `link` names the fullest link of each repeat; `message_B` is the message that was timed.
    """

    message_B: float
    start_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    transfer_s: NDArray[np.float64]
    link: tuple[str, ...]

    @property
    def end_s(self) -> NDArray[np.float64]:
        """When each repeat is over, (repeats,)."""
        return self.start_s + self.latency_s + self.transfer_s

    @property
    def time_s(self) -> float:
        """When the last repeat is over; 0 where nothing moves."""
        return float(self.end_s[-1]) if self.end_s.size else 0.0


def timeline(timing: Timing, message_B: float) -> Timeline:
    """Write out a stepped time for one message.

    Args:
        timing: what `stepped` returns.
        message_B: bytes as nccl-tests counts them.

    Raises:
        CourseError: a size that is negative, not finite or not a single number, or more repeats than can be written out.

    >>> from course_lib.comm import ring
    >>> from course_lib.fabric.scaleup import simple_host
    >>> from course_lib.timing.stepped import stepped
    >>> line = timeline(stepped(ring.all_reduce(4), simple_host("switch", 4, 100e9, 1e-6)), 4e8)
    >>> len(line.start_s), round(float(line.start_s[1]) * 1e6, 6), round(line.time_s * 1e6, 6)
    (6, 1001.0, 6006.0)
    """
    size = finite("message_B", message_B, at_least=0, unit="B")
    if np.ndim(size):
        raise CourseError(_("A timeline is for one message; here are {n} sizes.").format(n=np.size(size)))
    repeats = int(timing.repeats.sum())
    if repeats > MOST_REPEATS:
        raise CourseError(
            _("{n} repeats are too many to write out; at most {most}.").format(n=repeats, most=MOST_REPEATS)
        )
    latency_s, transfer_s = (
        np.repeat(values, timing.repeats) for values in (timing.latency_s, timing.second_per_B * size)
    )
    end_s = np.cumsum(latency_s + transfer_s)
    names = [link_name(timing.topology, int(link)) for link in timing.link]
    link = tuple(name for name, times in zip(names, timing.repeats.tolist(), strict=True) for _i in range(times))
    return Timeline(float(size), end_s - latency_s - transfer_s, latency_s, transfer_s, link)
