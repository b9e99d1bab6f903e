"""Copies inside one process: the picture of a single link, host to host and, with a GPU, host to device."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.base.units import say_bytes, say_rate, say_share, say_time
from course_lib.links.calibrate import Fit, fit
from course_lib.machine.measuring.host import free_memory_B, gpus_here, this_machine
from course_lib.machine.measuring.record import Point
from course_lib.machine.measuring.run import ENOUGH, MAX_POINTS, sizes_between
from course_lib.machine.measuring.sharedcores import off

_LEAST = 4  # points of a part
KINDS = ("host to host", "host to device", "device to host", "device to device")
_SAMPLE_S, _MOST_TIMES = 2e-3, 2000


@dataclass(frozen=True, slots=True)
class Copies:
    """Timed copies: points whose `algorithm` is the kind of copy, and what they ran on. Every copy was compared afterwards."""

    points: tuple[Point, ...]
    missing: tuple[tuple[str, float], ...]
    machine: dict[str, str | int]

    @property
    def kinds(self) -> list[str]:
        """Kinds of copy, in order."""
        return list(dict.fromkeys(p.algorithm for p in self.points))

    def columns(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return (message_B, time_s) of one kind, small to large."""
        name = one_of(_("kind of copy"), kind, self.kinds)
        mine = sorted((p.message_B, p.time_s) for p in self.points if p.algorithm == name)
        return np.array([m for m, _t in mine]), np.array([t for _m, t in mine])

    def line(self, kind: str) -> Fit:
        """Return the straight line through one kind's points."""
        return fit(*self.columns(kind))

    def lines(self, kind: str) -> list["Part"]:
        """Return one straight line, or two where one would miss much more: what fits into a cache, and what does not."""
        sizes, times = self.columns(kind)
        parts = [_part(sizes, times)]
        if sizes.size < 2 * _LEAST:
            return parts
        tries = []
        for cut in range(_LEAST, sizes.size - _LEAST + 1):
            with contextlib.suppress(CourseError):
                tries.append((_part(sizes[:cut], times[:cut]), _part(sizes[cut:], times[cut:])))
        best = min(tries, key=lambda pair: sum(p.off * p.line.time_s.size for p in pair), default=None)
        if best is None or sum(p.off * p.line.time_s.size for p in best) > parts[0].off * sizes.size / 2:
            return parts
        return list(best)


@dataclass(frozen=True, slots=True)
class Part:
    """A straight line over the sizes from `from_B` to `to_B`; `off` is the median of |line ÷ measured − 1|."""

    from_B: float
    to_B: float
    line: Fit
    off: float

    def in_words(self, kind: str) -> str:
        """Return one sentence."""
        text = _("{kind}, {a} to {b}: α {alpha}, β {beta}; this line is off by {off} (median).")
        return text.format(
            kind=kind, a=say_bytes(self.from_B), b=say_bytes(self.to_B), alpha=say_time(self.line.latency_s),
            beta=say_rate(self.line.bandwidth_Bps), off=say_share(self.off),
        )  # fmt: skip


def _part(sizes: np.ndarray, times: np.ndarray) -> Part:
    line = fit(sizes, times)
    return Part(float(sizes[0]), float(sizes[-1]), line, off(times, times / (1 + line.residual)))


def copies(
    message_B: Sequence[float] | None = None,
    *,
    seconds: float = 20.0,
    rounds: int = 12,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> Copies:
    """Time copies over message sizes in this process: within host memory, and to, from and within a GPU where PyTorch sees one.

    Args:
        message_B: sizes; 8 B to 64 MiB in powers of two unless given.
        seconds: time to be done in.
        rounds: at most so many, each in another order.
        seed: of the order.
        progress: called with (share done, a few words).

    Raises:
        CourseError: sizes that do not fit into the free memory.

    Validity: host copies by one core; small ones also hold the cost of calling from Python, about a microsecond.

    >>> found = copies([8, 1 << 20], seconds=2, rounds=3)
    >>> found.kinds[0], found.line("host to host").bandwidth_Bps > 1e8
    ('host to host', True)
    """
    given = sizes_between(8, 64 << 20) if message_B is None else message_B
    sizes = sorted({int(m) // 4 * 4 for m in np.atleast_1d(finite("message_B", given, at_least=4, unit="B"))})
    if len(sizes) > MAX_POINTS:
        raise CourseError(_("{n} sizes are more than the {most} that fit.").format(n=len(sizes), most=MAX_POINTS))
    budget, rounds = finite("seconds", seconds, at_least=0.5, unit="s"), whole("rounds", rounds, at_least=1)
    free = free_memory_B()
    if free is not None and 4 * sizes[-1] > free / 2:
        raise CourseError(
            _("Copies of {size} need {needed}; {free} are free here.").format(
                size=say_bytes(sizes[-1]), needed=say_bytes(4 * sizes[-1]), free=say_bytes(free)
            )
        )
    began, tell = time.monotonic(), progress or (lambda share, words: None)
    movers = _movers(sizes[-1] // 4)
    order = [(kind, size) for size in sizes for kind in movers]
    times: dict[tuple[str, int], list[float]] = {}
    wrong = {}
    for kind, size in order:
        copy, same = movers[kind]
        copy(size // 4, 1)
        wrong[kind, size] = 0 if same(size // 4) else size // 4
    rng = np.random.default_rng(seed)
    for turn in range(rounds):
        for i in rng.permutation(len(order)):
            if time.monotonic() - began > budget and turn >= min(ENOUGH, rounds):
                break
            kind, size = order[i]
            copy, _same = movers[kind]
            once = copy(size // 4, 1)
            each = int(np.clip(2e-5 / once, 1, 200))  # so many between two looks at the clock
            runs = int(np.clip(_SAMPLE_S / (once * each), 3, _MOST_TIMES))
            took = [copy(size // 4, each) for _again in range(runs)]
            found = float(np.median(took))
            times.setdefault((kind, size), []).append(found)
            tell((turn + 0.5) / rounds, f"{kind}, {say_bytes(size)}")
    tell(1.0, _("done"))
    points = [Point(k, float(s), tuple(times[k, s]), wrong[k, s]) for k, s in sorted(times, key=order.index)]
    missing = tuple((k, float(s)) for k, s in order if len(times.get((k, s), ())) < min(ENOUGH, rounds))
    return Copies(tuple(points), missing, this_machine())


def _movers(most: int) -> dict[str, tuple[Callable[[int, int], float], Callable[[int], bool]]]:
    """For each kind: (copy `size` elements `times` times → seconds of one; whether the copy equals its source)."""
    source = np.random.default_rng(0).integers(0, 1 << 16, most).astype(np.float32)
    target = np.zeros(most, np.float32)

    def host(size: int, times: int) -> float:
        a, b = source[:size], target[:size]
        begin = time.perf_counter()
        for _again in range(times):
            np.copyto(b, a)
        return (time.perf_counter() - begin) / times

    movers = {KINDS[0]: (host, lambda size: bool((target[:size] == source[:size]).all()))}
    if gpus_here():
        movers |= _device_movers(source)
    return movers


def _device_movers(source: np.ndarray) -> dict:
    import torch

    pinned = torch.from_numpy(source).pin_memory()
    back = torch.zeros_like(pinned).pin_memory()
    near, far = (torch.zeros(source.size, dtype=torch.float32, device=f"cuda:{d}") for d in (0, gpus_here() - 1))

    def mover(a, b):
        def copy(size: int, times: int) -> float:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _again in range(times):
                b[:size].copy_(a[:size], non_blocking=True)
            torch.cuda.synchronize()
            return (time.perf_counter() - begin) / times

        return copy, lambda size: bool(torch.equal(b[:size].cpu(), a[:size].cpu()))

    pairs = {KINDS[1]: (pinned, near), KINDS[2]: (near, back)}
    return {kind: mover(*pair) for kind, pair in (pairs | {KINDS[3]: (near, far)}).items()}
