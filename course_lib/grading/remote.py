"""A learner's function as a driver sees it: the driver plays in the grader's process, the function stays in its kernel."""

import time
from collections.abc import Generator, Sequence
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm import requests
from course_lib.grading import probe, wire
from course_lib.grading.question import Question
from course_lib.grading.replies import GRACE_S, Ended, reply_of


def play(kernel: Any, question: Question, inputs: Sequence[Sequence[Any]]) -> list[probe.Reply]:
    """Play the driver here, in the grader's process; only the learner's function runs inside."""
    kind = kernel.request({"op": "kind", "name": question.answer}, 20.0).get("kind")
    name = f"`{question.answer}`"
    if kind == "absent":
        why = _("There is no {name} yet. Run the cell above this one.").format(name=name)
        return [probe.Reply(probe.ABSENT, why=why)] * len(inputs)
    if kind == "none":
        return [probe.Reply(probe.UNTOUCHED)] * len(inputs)
    if kind != "callable":
        why = _("{name} is {kind}; a function is expected.").format(name=name, kind=str(kind)[:80])
        return [probe.Reply(probe.REFUSED, why=why)] * len(inputs)
    remote = _Remote(kernel, question.answer, time.monotonic() + question.seconds)
    replies: list[probe.Reply] = []
    for arguments in inputs:
        reply = _played(question, remote, arguments)
        replies.append(reply)
        if reply.state == probe.SLOW:
            replies += [reply] * (len(inputs) - len(replies))
            break
    return replies


class _Stopped(Exception):
    """Carries a reply out of a driver."""

    def __init__(self, reply: probe.Reply) -> None:
        super().__init__(reply.why)
        self.reply = reply


class _Remote:
    """The learner's function as a driver sees it: calls go into the kernel, generators are played step by step."""

    def __init__(self, kernel: Any, name: str, until: float) -> None:
        self._kernel, self._name, self._until = kernel, name, until

    def __call__(self, *arguments: Any) -> Any:
        reply = self._step({"op": "call", "name": self._name, "inputs": wire.encode(list(arguments))})
        return self._programme(reply.get("handle")) if reply.get("kind") == "generator" else _decoded(reply)

    def _programme(self, handle: Any) -> Generator:
        answer: Any = None
        while True:
            reply = self._step({"op": "resume", "handle": handle, "inputs": wire.encode(answer)})
            if reply.get("kind") != "yield":
                return _decoded(reply)
            answer = yield _requested(reply)

    def _step(self, message: dict[str, Any]) -> dict[str, Any]:
        left = self._until - time.monotonic()
        if left <= 0:
            raise _Stopped(probe.Reply(probe.SLOW))
        reply = self._kernel.request(message | {"seconds": left}, left + GRACE_S)
        if reply.get("kind") not in ("value", "generator", "yield"):
            raise _Stopped(reply_of(reply.get("reply")))
        return reply


def _requested(reply: dict[str, Any]) -> Any:
    """Rebuild what a program yielded; anything but a request becomes an object of a type of that name."""
    name, fields = str(reply.get("type"))[:80], reply.get("fields")
    kind = next((kind for kind in requests.REQUESTS if kind.__name__ == name), None)
    if kind is None or not isinstance(fields, dict):
        return type(name if name.isidentifier() else "object", (), {})()
    try:
        return kind(**{str(key): wire.decode(text) for key, text in fields.items()})
    except (CourseError, TypeError) as error:
        raise _Stopped(probe.Reply(probe.REFUSED, why=str(error))) from None


def _decoded(reply: dict[str, Any]) -> Any:
    try:
        return wire.decode(reply.get("text", ""))
    except CourseError as error:
        raise _Stopped(probe.Reply(probe.REFUSED, why=str(error))) from None


def _played(question: Question, remote: _Remote, arguments: Sequence[Any]) -> probe.Reply:
    try:
        value = question.driver(remote, *wire.decode(wire.encode(list(arguments))))
    except _Stopped as stop:
        return _spoken(stop.reply, question.seconds)
    except Ended:
        raise
    except Exception as error:
        return probe.Reply(probe.FAILED, why=probe.failure(error))
    if value is None:
        return probe.Reply(probe.FAILED, why=_("It returned nothing (None). Is there a `return`?"))
    return probe.packed(value)


def _spoken(reply: probe.Reply, seconds: float) -> probe.Reply:
    if reply.state == probe.SLOW:
        why = _("It ran for more than {s:g} s and was stopped. Is there a loop that does not end?").format(s=seconds)
        return probe.Reply(probe.SLOW, why=why)
    if reply.state == probe.FAILED and reply.why == "memory":
        return probe.Reply(probe.FAILED, why=_("It asked for more memory than there is."))
    return reply
