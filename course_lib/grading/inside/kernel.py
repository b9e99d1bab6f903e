"""Executes a notebook's cells as IPython does and answers questions about its names, over one socket; knows nothing else."""

import contextlib
import dataclasses
import importlib.util
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Generator
from typing import Any

from course_lib.grading.inside.channel import MOST_FRAME, Channel
from course_lib.grading.inside.outputs import Outputs, Sink, Stream
from course_lib.grading.inside.shell import shown


def _private(name: str) -> Any:
    """Return a copy of one of our modules that nobody else imports: what a hand-in does to the module changes nothing here."""
    spec = importlib.util.find_spec(f"course_lib.grading.{name}")
    module = importlib.util.module_from_spec(spec)
    importlib.import_module(f"course_lib.grading.{name}")
    spec.loader.exec_module(module)
    return module


wire, probe = _private("wire"), _private("probe")
probe.wire = wire

REQUESTS = ("AllReduce", "ReduceScatter", "AllGather", "Broadcast", "AllToAll", "Send", "Recv", "SendRecv")


class Server:
    """Answers one grader's requests until the socket closes."""

    def __init__(self, channel: Channel, shell: Any, sink: Sink) -> None:
        self.channel, self.shell, self.sink = channel, shell, sink
        self.generators: list[Generator] = []

    def serve(self) -> None:
        while (message := self.channel.receive()) is not None:
            try:
                reply = getattr(self, "do_" + message["op"])(message)
            except BaseException as error:  # whatever a hand-in has done to this process, say something
                reply = {"broken": f"{type(error).__name__}: {shown(error)}"[:300]}
            self.channel.send({"id": message["id"], **reply, "touched": self._touched()})

    def _touched(self) -> list[str]:
        module = sys.modules.get("course_lib.grading.inside.withheld")
        return sorted(module.touched) if module else []

    def do_run(self, message: dict) -> dict:
        """Run one cell; its time is up after `seconds`, as if somebody had pressed stop."""
        self.sink.now = outputs = Outputs()
        late: list[bool] = []

        def ring(_signal: int, _frame: Any) -> None:
            late.append(True)
            raise KeyboardInterrupt

        self.shell.failure = None
        signal.signal(signal.SIGALRM, ring)
        error = None
        try:
            signal.setitimer(signal.ITIMER_REAL, message["seconds"], 0.5)
            out, err = Stream("stdout", self.sink), Stream("stderr", self.sink)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                self.shell.run_cell(message["source"], store_history=True)
        except BaseException as problem:
            error = {"ename": type(problem).__name__, "evalue": shown(problem), "traceback": []}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if self.shell.failure:
            name, value, lines = self.shell.failure
            error = {"ename": name, "evalue": value, "traceback": [line[:2000] for line in lines[:60]]}
        count = self.shell.execution_count - 1
        return {"outputs": outputs.items, "error": error, "late": bool(late), "cut": outputs.cut, "count": count}

    def do_value(self, message: dict) -> dict:
        return {"replies": [packed(probe.ask_value(self.shell.user_ns, message["name"]))]}

    def do_function(self, message: dict) -> dict:
        inputs = wire.decode(message["inputs"], MOST_FRAME)
        replies = probe.ask_function(self.shell.user_ns, message["name"], inputs, message["seconds"])
        most, sized = MOST_FRAME // 2, []
        for reply in replies:
            most -= len(reply.text)
            sized.append(reply if most > 0 else probe.Reply(probe.REFUSED, why="The answers together are too large."))
        return {"replies": [packed(reply) for reply in sized]}

    def do_kind(self, message: dict) -> dict:
        """Say what a name is, before a driver plays it."""
        self.generators = []
        name, there = message["name"], self.shell.user_ns
        if name not in there:
            return {"kind": "absent"}
        value = there[name]
        return {"kind": "none" if value is None else "callable" if callable(value) else str(type(value).__name__)[:80]}

    def do_call(self, message: dict) -> dict:
        """Call a function once, for a driver that plays outside; a generator stays here and gets a number."""
        arguments = wire.decode(message["inputs"], MOST_FRAME)
        return self._driven(lambda: self.shell.user_ns[message["name"]](*arguments), message["seconds"])

    def do_resume(self, message: dict) -> dict:
        """Send a value into a generator and return what it yields next, or returns."""
        generator = self.generators[message["handle"]]
        answer = wire.decode(message["inputs"], MOST_FRAME)
        ended = object()

        def on() -> Any:
            try:
                return ended, generator.send(answer)
            except StopIteration as end:
                return end.value

        return self._driven(on, message["seconds"], ended)

    def _driven(self, call: Any, seconds: float, yielded: Any = None) -> dict:
        try:
            with probe.quiet(), probe.alarm(max(seconds, 0.01)):
                value = call()
            if isinstance(value, tuple) and yielded is not None and len(value) == 2 and value[0] is yielded:
                return self._request(value[1])
            if isinstance(value, Generator):
                self.generators.append(value)
                return {"kind": "generator", "handle": len(self.generators) - 1}
            return {"kind": "value", "text": wire.encode(value)}
        except probe.TimeUp:
            return {"kind": "failed", "reply": [probe.SLOW, "", ""]}
        except NotImplementedError:
            return {"kind": "failed", "reply": packed(probe.Reply(probe.UNTOUCHED))}
        except MemoryError:
            return {"kind": "failed", "reply": [probe.FAILED, "", "memory"]}
        except BaseException as error:
            return {"kind": "failed", "reply": packed(probe.Reply(probe.FAILED, why=probe.failure(error)))}

    def _request(self, value: Any) -> dict:
        kind = type(value)
        if kind.__module__ != "course_lib.comm.requests" or kind.__name__ not in REQUESTS:
            return {"kind": "yield", "type": str(kind.__name__)[:80], "fields": None}
        fields = {field.name: wire.encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": "yield", "type": kind.__name__, "fields": fields}


def packed(reply: Any) -> list[str]:
    """Return a probe's reply as it crosses."""
    return [str(reply.state), str(reply.text), str(reply.why)[:1000]]


def parameters_from(channel: Channel) -> Any:
    """Return what `parameters` calls: it asks the grader, who knows the questions, while a cell runs."""

    def ask(name: str, learner: str) -> Any:
        from course_lib.base.errors import CourseError

        channel.send({"op": "parameters", "name": name[:40], "learner": learner[:200]})
        reply = channel.receive() or {"error": "The grader went away."}
        if "error" in reply:
            raise CourseError(reply["error"])
        return wire.decode(reply["text"], MOST_FRAME)

    return ask


def fresh_randomness() -> None:
    """Undo that a forked process starts with its parent's random state."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def live(end: socket.socket, shell: Any, sink: Sink) -> None:
    """Serve one hand-in in this process until the grader hangs up."""
    import course_lib.grading as standin

    fresh_randomness()
    channel = Channel(end)
    standin.ask_outside = parameters_from(channel)
    sys.stdout, sys.stderr = Stream("stdout", sink), Stream("stderr", sink)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  for as long as this process lives
    channel.send({"op": "ready", "time": time.time()})
    Server(channel, shell, sink).serve()
