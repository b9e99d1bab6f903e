"""A kernel seen from outside: requests go in, plain data comes back, and whatever it does it ends in time."""

import json
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes
from course_lib.grading import probe, remote, wire
from course_lib.grading.question import Case, Question
from course_lib.grading.replies import GRACE_S, Ended, replies

MOST_FRAME = 16_000_000
MOST_TALK = 200_000_000  # bytes that one kernel may send in all
MOST_SHOWN = 4_000_000  # bytes of one cell's outputs; an honest kernel cuts them off earlier
LOOK_S = 0.05  # how often memory is looked at


class Kernel:
    """One hand-in's kernel. `numbers(name, learner)` answers its requests for a question's numbers."""

    def __init__(
        self, end: socket.socket, limits: Any, root_pid: int, reap: Callable[[float], int], reason: Callable[[], str]
    ) -> None:
        self._end, self.limits, self._root, self._reap, self._reason = end, limits, root_pid, reap, reason
        self._talk = self._turn = self._size = 0  # bytes so far, requests so far, bytes of the last frame
        self._ended: Ended | None = None
        self._buffer = bytearray()
        self.touched: frozenset[str] = frozenset()
        self.numbers: Callable[[str, str], Mapping[str, Any]] = _no_numbers
        self._end.setblocking(False)
        self._until = time.monotonic() + 60
        if (first := self._receive(time.monotonic() + 30)).get("op") != "ready":
            self.close()
            raise CourseError(_("The sandbox could not be set up: {why}").format(why=first.get("why", "?")))

    @property
    def gone(self) -> bool:
        """Whether the kernel has ended."""
        return self._reap is None

    # cells --------------------------------------------------------------------------------------------------------

    def run(self, source: str, seconds: float) -> dict[str, Any]:
        """Run one cell; return {"outputs", "error", "late", "cut", "count"}. Raises Ended."""
        reply = self.request({"op": "run", "source": source, "seconds": seconds}, seconds + GRACE_S)
        outputs, error, cut = reply.get("outputs"), reply.get("error"), reply.get("cut") is True
        if self._size > MOST_SHOWN:  # a class's worth of these would be kept until the hand-in is marked
            outputs, error, cut = [], {"ename": str(error)[:80]} if error else None, True
        return {
            "outputs": [item for item in outputs if isinstance(item, dict)] if isinstance(outputs, list) else [],
            "error": error if isinstance(error, dict) else None,
            "late": reply.get("late") is True,
            "cut": cut,
            "count": reply.get("count") if type(reply.get("count")) is int else None,
        }

    # questions ----------------------------------------------------------------------------------------------------

    def value(self, name: str) -> probe.Reply:
        """Return the variable's value as it is now."""
        reply = self.request({"op": "value", "name": name}, 20.0)
        return replies(reply, 1)[0]

    def ask(self, question: Question, cases: Sequence[Case]) -> list[probe.Reply]:
        """Return the answers to `cases`, one each. Raises Ended."""
        if question.kind == "value":
            return [self.value(question.answer)]
        inputs = [tuple(case.inputs.values()) for case in cases]
        if question.driver is not None:
            return remote.play(self, question, inputs)
        message = {"op": "function", "name": question.answer, "inputs": wire.encode(inputs, MOST_FRAME // 2)}
        seconds = question.seconds
        return replies(self.request(message | {"seconds": seconds}, seconds + GRACE_S), len(cases))

    # the wire -----------------------------------------------------------------------------------------------------

    def request(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._ended is not None:
            raise self._ended
        self._turn += 1
        self._send({**message, "id": self._turn}, time.monotonic() + seconds)
        until = time.monotonic() + seconds
        while True:
            reply = self._receive(until)
            if reply.get("op") == "parameters":
                self._send(self._parameters(reply), until)
            elif reply.get("id") == self._turn:
                break
        if "too_large" in reply:
            raise self._end_with("flood", _("It sends more than {most}.").format(most=say_bytes(MOST_FRAME)))
        touched = reply.get("touched")
        if isinstance(touched, list):
            self.touched = self.touched | {str(name)[:80] for name in touched[:20]}
        return reply

    def _parameters(self, message: dict[str, Any]) -> dict[str, str]:
        name, learner = (
            str(message.get(key))[:400].encode("utf-8", "replace").decode("utf-8") for key in ("name", "learner")
        )
        try:
            return {"text": wire.encode(dict(self.numbers(name, learner)))}
        except CourseError as error:
            return {"error": str(error)}

    def _send(self, message: dict[str, Any], until: float) -> None:
        data = json.dumps(message).encode("utf-8")
        rest = memoryview(struct.pack(">I", len(data)) + data)
        while rest:
            self._wait(until, writing=True)
            try:
                rest = rest[self._end.send(rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._gone() from None

    def _receive(self, until: float) -> dict[str, Any]:
        while True:
            if len(self._buffer) >= 4:
                size = struct.unpack(">I", self._buffer[:4])[0]
                if size > MOST_FRAME:
                    raise self._end_with("flood", _("It sends more than {most}.").format(most=say_bytes(MOST_FRAME)))
                if len(self._buffer) >= 4 + size:
                    data, self._size = bytes(self._buffer[4 : 4 + size]), size
                    del self._buffer[: 4 + size]
                    try:
                        message = json.loads(data)
                    except (ValueError, RecursionError):
                        message = None
                    if isinstance(message, dict):
                        return message
                    raise self._end_with("died", _("It sends something that is no answer."))
            self._wait(until, writing=False)
            try:
                part = self._end.recv(1 << 20)
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise self._gone()
            self._talk += len(part)
            if self._talk > MOST_TALK:
                raise self._end_with("flood", _("It sends more than {most}.").format(most=say_bytes(MOST_TALK)))
            self._buffer += part

    def _wait(self, until: float, writing: bool) -> None:
        """Wait until the socket is ready, looking at the clock and at the memory of all processes behind it."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise self._end_with("time", _("It did not end in time and was stopped."))
            ends = ([], [self._end], []) if writing else ([self._end], [], [])
            if any(select.select(*ends, min(left, LOOK_S))):
                return
            if memory_B(self._root) > self.limits.memory_B:
                most = say_bytes(self.limits.memory_B)
                raise self._end_with(
                    "memory", _("It used more than {most} of memory and was stopped.").format(most=most)
                )

    def _gone(self) -> Ended:
        """Say how a kernel ended that hung up by itself."""
        status = self._status(0.5)
        if status == 119:
            raise CourseError(_("The sandbox could not be set up: {why}").format(why=self._reason()))
        if status in (137, -9):
            why = _("Python was killed; too much memory is the usual reason.")
            return self._remember(Ended("memory", why))
        if status > 128:
            why = _("Python ended by signal {n}.").format(n=status - 128)
        else:
            why = _("Python ended (exit status {n}).").format(n=status)
        return self._remember(Ended("died", why))

    def _end_with(self, kind: str, why: str) -> Ended:
        self._status(0.0)
        return self._remember(Ended(kind, why))

    def _remember(self, ended: Ended) -> Ended:
        self._ended = ended
        return ended

    def _status(self, wait_s: float) -> int:
        if self._reap is None:
            return 0
        reap, self._reap = self._reap, None
        self._end.close()
        return reap(wait_s)

    def close(self) -> None:
        """End every process of this hand-in."""
        self._status(0.0)


def _no_numbers(name: str, learner: str) -> Mapping[str, Any]:
    raise CourseError(_("There are no numbers for {name} here.").format(name=name))


def memory_B(root_pid: int) -> int:
    """Return the memory in bytes that the processes below `root_pid` have for themselves, the pages of files left out.

    0 where the system does not tell (not Linux). A process that shares pages with its parent is counted with them, so this
    errs on the high side by the size of the warmed Python, which is taken off once.

    >>> import os
    >>> memory_B(os.getpid()) >= 0
    True
    """
    total, waiting, seen = 0, [root_pid], 0
    while waiting and seen < 5000:
        pid = waiting.pop()
        seen += 1
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                words = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split()
                waiting += [int(word) for word in words]
            if pid != root_pid:
                for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
                    if line.startswith(("RssAnon:", "RssShmem:")):
                        total += int(line.split()[1]) * 1024
        except (OSError, ValueError):
            continue
    return total
