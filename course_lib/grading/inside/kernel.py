"""Executes a notebook's cells as IPython does and answers questions about its names, over one socket; knows nothing else."""

import builtins
import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import random
import signal
import socket
import struct
import sys
import time
from collections.abc import Generator
from typing import Any


def _private(name: str) -> Any:
    """Return a copy of one of our modules that nobody else imports: what a hand-in does to the module changes nothing here."""
    spec = importlib.util.find_spec(f"course_lib.grading.{name}")
    module = importlib.util.module_from_spec(spec)
    importlib.import_module(f"course_lib.grading.{name}")
    spec.loader.exec_module(module)
    return module


wire, probe = _private("wire"), _private("probe")
probe.wire = wire

MOST_TEXT = 200_000  # letters of printed text kept per cell
MOST_CELL = 1_500_000  # letters of all outputs kept per cell
MOST_FRAME = 12_000_000
REQUESTS = ("AllReduce", "ReduceScatter", "AllGather", "Broadcast", "AllToAll", "Send", "Recv", "SendRecv")


class Channel:
    """Frames of JSON, each after its length, over a socket."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8", "replace")
        if len(data) > MOST_FRAME:
            data = json.dumps({"id": message.get("id"), "too_large": len(data)}).encode("ascii")
        self.end.sendall(struct.pack(">I", len(data)) + data)

    def receive(self) -> dict[str, Any] | None:
        head = self._exactly(4)
        data = self._exactly(struct.unpack(">I", head)[0]) if head else None
        return json.loads(data) if data else None

    def _exactly(self, n: int) -> bytes | None:
        parts, missing = [], n
        while missing:
            part = self.end.recv(min(missing, 1 << 20))
            if not part:
                return None
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


class Outputs:
    """What one cell shows, in nbformat's words, cut off when it becomes too long."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.size = self.text = 0
        self.cut = False

    def add(self, item: dict[str, Any]) -> None:
        size = len(json.dumps(item, default=lambda value: repr(value)[:100]))
        if self.size + size > MOST_CELL:
            self.cut = True
            return
        self.size += size
        self.items.append(item)

    def write(self, name: str, text: str) -> None:
        room = MOST_TEXT - self.text
        if len(text) > room:
            self.cut = True
            text = text[: max(room, 0)]
        if not text:
            return
        self.text += len(text)
        if self.items and self.items[-1].get("name") == name:
            self.items[-1]["text"] += text
        else:
            self.items.append({"output_type": "stream", "name": name, "text": text})


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a cell."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, sink: "Sink") -> None:
        self.name, self.sink = name, sink

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.sink.now.write(self.name, text)
        return len(text)


class Sink:
    """Where outputs go at the moment."""

    def __init__(self) -> None:
        self.now = Outputs()


def make_shell(sink: Sink) -> Any:
    """Return IPython's shell, without history, files, colours or a terminal."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data: dict, metadata: dict | None = None, **_more: Any) -> None:
            sink.now.add({"output_type": "display_data", "data": plain(data), "metadata": plain(metadata or {})})

        def clear_output(self, wait: bool = False) -> None:
            sink.now.items.clear()

    class Hook(DisplayHook):
        def start_displayhook(self) -> None: ...
        def write_output_prompt(self) -> None: ...
        def finish_displayhook(self) -> None: ...

        def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
            item = {"output_type": "execute_result", "execution_count": self.prompt_count}
            sink.now.add(item | {"data": plain(format_dict), "metadata": plain(md_dict or {})})

    class Shell(InteractiveShell):
        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)
        failure: tuple | None = None

        def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
            self.failure = (str(getattr(etype, "__name__", etype)), shown(evalue), [str(line) for line in stb])

        def enable_gui(self, gui: Any = None) -> None: ...

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.autocall = 0
    shell = Shell.instance(config=config)
    builtins.input = _no_keyboard  # type: ignore[assignment]
    return shell


class StdinNotImplementedError(NotImplementedError):
    """Nobody types while a notebook is marked."""


def _no_keyboard(prompt: object = "") -> str:
    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


def plain(value: Any) -> Any:
    """Return display data as JSON can hold it."""
    return json.loads(json.dumps(value, default=lambda item: repr(item)[:200]))


def shown(value: Any) -> str:
    """Return an exception's text, whatever its own `__str__` does."""
    try:
        return str(value)[:2000]
    except BaseException:
        return ""


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
