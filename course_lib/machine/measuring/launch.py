"""Starts the measuring processes, hears what they say, and leaves none behind, not even on kill −9."""

import contextlib
import importlib.util
import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.base.language import _

GRACE_S = 20.0  # to start, and to come to an end, beside the time that was asked for
_WORKER = "course_lib.machine.measuring.worker"
# Linux ends the launcher with us; the ranks have a watchdog of their own.
_TIED = "import ctypes,os,sys; ctypes.CDLL(None).prctl(1,9); os.getppid()==int(sys.argv[1]) and os.execv(sys.argv[2],sys.argv[2:])"


def has_module(name: str) -> bool:
    """Whether a package can be imported, without importing it.

    >>> has_module("numpy"), has_module("no_such_package")
    (True, False)
    """
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def mpiexec() -> str:
    """Return the path of the MPI launcher: the one beside this Python first, since mpi4py uses that library.

    Raises:
        CourseError: mpi4py or a launcher is missing; the sentence says what to install.
    """
    if not has_module("mpi4py"):
        raise CourseError(
            _(
                "Real collectives need MPI, and mpi4py is not installed here. Install it with an MPI library: "
                '`pip install -e ".[mpi]"` in the course\'s folder, or `pip install mpi4py mpich` anywhere. '
                "Without it, `interconnect measure --copy` measures copies, and lesson A brings a measurement along."
            )
        )
    beside = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=str(beside)) or shutil.which("mpiexec") or shutil.which("mpirun")
    if found is None:
        raise CourseError(
            _(
                "mpi4py is here, but no mpiexec: install an MPI library beside it with `pip install mpich` "
                "(on Windows install Microsoft MPI)."
            )
        )
    return found


def _commands(job: dict) -> list[list[str]]:
    worker = [sys.executable, "-m", _WORKER]
    if job["backend"] == "mpi":
        return [[mpiexec(), "-n", str(job["n_ranks"]), *worker]]
    return [[*worker, str(rank)] for rank in range(job["n_ranks"])]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes:
    """The processes of one job, as a context: whatever happens inside, none is left when it ends.

    They hold an open wire to this process and end themselves when it breaks, so that even kill −9 of this process ends
    them; on Linux the kernel is asked to do the same.
    """

    def __init__(self, job: dict) -> None:
        self.job = job
        self.pids: set[int] = set()
        self.started: list[subprocess.Popen] = []
        self.wires: list[socket.socket] = []

    def __enter__(self) -> "Processes":
        self.words = tempfile.TemporaryFile()
        self.listener = socket.create_server(("127.0.0.1", 0))
        token = secrets.token_hex(16)
        self.token = token
        self.job = self.job | {"token": secrets.token_hex(8)}
        if self.job["backend"] != "mpi":
            self.job = self.job | {"meeting_port": _free_port()}
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "PMIX_", "OMPI_"))}
        environment |= {
            "INTERCONNECT_MEASURE": f"{self.listener.getsockname()[1]}:{token}",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI refuses more processes than cores otherwise
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }
        try:
            for command in _commands(self.job):
                if sys.platform == "linux":
                    command = [sys.executable, "-I", "-c", _TIED, str(os.getpid()), *command]
                self.started.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=self.words,
                        stderr=self.words,
                        env=environment,
                        start_new_session=True,  # Ctrl-C reaches us alone, and we end them in order
                    )
                )
        except BaseException:
            self.__exit__()
            raise
        return self

    def messages(self) -> Iterator[dict]:
        """Give what the processes say, line by line, until rank 0 has come to the end.

        Raises:
            CourseError: a process failed or died, or all of them took too long.
        """
        end_by = time.monotonic() + self.job["seconds"] + GRACE_S
        ears = selectors.DefaultSelector()
        ears.register(self.listener, selectors.EVENT_READ, None)
        try:
            while True:
                if time.monotonic() > end_by:
                    raise CourseError(
                        _("The processes did not come to an end within {s:.0f} s; they were stopped.").format(
                            s=self.job["seconds"] + GRACE_S
                        )
                    )
                heard = ears.select(0.2)
                for key, _events in heard:
                    if key.data is None:
                        wire, _address = self.listener.accept()
                        wire.settimeout(5)
                        self.wires.append(wire)
                        ears.register(wire, selectors.EVENT_READ, bytearray())
                        continue
                    data = self._read(key.fileobj)
                    if not data:
                        ears.unregister(key.fileobj)
                    key.data.extend(data)
                    while b"\n" in key.data:
                        line, rest = key.data.split(b"\n", 1)
                        key.data[:] = rest
                        message = self._understood(line, key.fileobj)
                        if message is None:
                            continue
                        yield message
                        if message["kind"] == "end":
                            return
                if not heard and any(p.poll() is not None for p in self.started):
                    raise CourseError(self._why())
        finally:
            ears.close()

    def _read(self, wire: socket.socket) -> bytes:
        try:
            return wire.recv(1 << 16)
        except OSError:
            return b""

    def _understood(self, line: bytes, wire: socket.socket) -> dict | None:
        try:
            message = json.loads(line)
        except ValueError:
            return None
        if message.get("kind") == "hello":
            if not secrets.compare_digest(str(message.get("token")), self.token):
                wire.close()
                return None
            self.pids.add(int(message["pid"]))
            wire.sendall((json.dumps(self.job) + "\n").encode())
            return None
        if message.get("kind") == "error":
            raise CourseError(
                _("A measuring process failed: {error}: {text}").format(error=message["error"], text=message["text"])
            )
        return message

    def _why(self) -> str:
        self.words.seek(0)
        last = [line for line in self.words.read().decode(errors="replace").splitlines() if line.strip()][-4:]
        text = _("A measuring process ended before its work was done; the others were stopped.")
        return text + (_(" Its last words: {words}").format(words=" / ".join(last)[:600]) if last else "")

    def __exit__(self, *_error: object) -> None:
        with _deaf():
            for wire in [*self.wires, self.listener]:
                with contextlib.suppress(OSError):
                    wire.close()  # every rank ends itself when its wire breaks
            _wait(lambda: all(p.poll() is not None for p in self.started), 1.5)
            for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
                for process in self.started:
                    if process.poll() is None:
                        with contextlib.suppress(OSError):
                            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
                if _wait(lambda: all(p.poll() is not None for p in self.started), 2.0):
                    break
            if not _wait(lambda: not any(map(_alive, self.pids)), 3.0):
                for pid in self.pids:
                    with contextlib.suppress(OSError):
                        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            self.words.close()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A second Ctrl-C does not stop the clearing away."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(done, seconds: float) -> bool:
    end_by = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end_by:
            return False
        time.sleep(0.02)
    return True


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return state not in "ZX"
    except OSError:
        if Path("/proc/self").exists():
            return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
