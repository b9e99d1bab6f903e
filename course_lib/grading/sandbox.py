"""The sandbox: one warmed Python behind bubblewrap, from which every hand-in gets a kernel with walls of its own."""

import itertools
import json
import os
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _, chosen_language
from course_lib.base.places import course_root
from course_lib.grading import library, memorygroup
from course_lib.grading.outside import Kernel

HOME = "/home/learner"
# Users that exist nowhere: one per hand-in, so that a limit on processes counts this hand-in's only.
OWN_B = 512 * 2**20  # for the warmed Python itself, where the system counts both together
PREFIX = "interconnect-grade-"
FIRST_USER, USERS = 1_900_000_000, 1_000_000


@dataclass(frozen=True)
class Limits:
    """What one hand-in may use. Memory counts the whole process tree; a cell and a whole hand-in have their own times."""

    cell_s: float = 60.0
    total_s: float = 600.0
    memory_B: int = 2 * 2**30
    files_B: int = 64 * 2**20
    processes: int = 48


def available() -> str:
    """Return "" if bubblewrap works here, else a sentence that says what is missing. Tried once."""
    return _tried()


@cache
def _tried() -> str:
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return _(
            "bubblewrap (the command bwrap) is not installed, so hand-ins cannot be walled off. Install it "
            "(Debian, Ubuntu: apt install bubblewrap), or give --no-sandbox on a machine that holds nothing else."
        )
    done = subprocess.run([*_walls(), "--ro-bind", "/usr", "/usr", *_system(), "true"], capture_output=True, text=True)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["?"])[-1]
        text = _("bubblewrap is installed and does not work here ({why}). --no-sandbox grades without it.")
        return text.format(why=why)
    return ""


def _walls() -> list[str]:
    """bubblewrap's options: no network, no other process, no right but those that the kernels' own walls need."""
    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() != 0:
        words += ["--unshare-user", "--uid", "0", "--gid", "0"]
    words += ["--die-with-parent", "--new-session", "--hostname", "course", "--cap-drop", "ALL"]
    for right in ("CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN", "CAP_KILL"):
        words += ["--cap-add", right]
    return words


def _system() -> list[str]:
    words = []
    for name in ("/bin", "/sbin", "/lib", "/lib64", "/lib32"):
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    return words


def _hidden(shown: Sequence[str]) -> list[str]:
    """Return bubblewrap's options that cover the course, with its solutions and marks, where it lies below what is shown."""
    installed = library.PACKAGE.parent
    places = (course_root(), installed if (installed / "solutions").is_dir() else None)
    covered = dict.fromkeys(str(place.resolve()) for place in places if place)
    inside = [one for one in covered if any(Path(one) != Path(s) and Path(one).is_relative_to(s) for s in shown)]
    return [word for one in inside for word in ("--tmpfs", one)]


def _packages() -> list[str]:
    """Return the folders that hold installed packages."""
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    found += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return [path for path in dict.fromkeys(found) if path and Path(path).is_dir()]


def _sweep() -> None:
    """Remove what graders that were killed have left behind."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        if not memorygroup.lives(path.name.removeprefix(PREFIX)):
            shutil.rmtree(path, ignore_errors=True)
    memorygroup.sweep()


class Sandbox:
    """A warmed Python with a library that lacks `withheld`; `kernel()` gives a fresh walled-off kernel. Close it when done."""

    def __init__(
        self, withheld: Sequence[str] = (), warm: Sequence[str] = (), limits: Limits | None = None, walled: bool = True
    ) -> None:
        self.limits, self.walled = limits or Limits(), walled
        self._users = itertools.count(os.getpid() * 97 % USERS)
        if walled and (why := available()):
            raise CourseError(why)
        _sweep()
        self._folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        self._process: subprocess.Popen | None = None
        self._group: Path | None = None
        try:
            self._start(tuple(withheld), tuple(warm))
        except BaseException:
            self.close()
            raise

    def _start(self, withheld: tuple[str, ...], warm: tuple[str, ...]) -> None:
        folder = Path(self._folder.name)
        library.build(folder / "course", withheld)
        (folder / "home").mkdir()
        packages = _packages()
        inside = [f"/packages/{place}" for place, _path in enumerate(packages)] if self.walled else packages
        course = "/course" if self.walled else str(folder / "course")
        settings: dict[str, Any] = {
            "path": [course, *inside],
            "warm": warm,
            "walls": self.walled,
            "home": HOME if self.walled else str(folder / "home"),
            "memory_B": self.limits.memory_B,
            "files_B": self.limits.files_B,
            "processes": self.limits.processes,
            "cpu_s": int(self.limits.total_s) + 60,
        }
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
        python = python if python.exists() else Path(os.path.realpath(sys.executable))
        if self.walled and python.is_relative_to(sys.base_prefix):
            python = Path(self._python_home()) / python.relative_to(sys.base_prefix)
        command = [str(python), "-I", "-S", "-B", f"{course}/nursery.py", json.dumps(settings), str(theirs.fileno())]
        if self.walled:
            command = self._bubblewrap(folder, packages, inside) + command
            self._group = memorygroup.make(self.limits.memory_B + OWN_B)
            command = memorygroup.entering(self._group, command)
        self._log = open(folder / "log", "w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=self._environment(settings["home"]),
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader to hear
        )
        theirs.close()
        self._said(120.0)

    def _python_home(self) -> str:
        """Return where Python lies inside: where it always does, unless a folder of the hand-in's own would hide it."""
        return "/python" if Path(sys.base_prefix).is_relative_to("/tmp") else sys.base_prefix

    def _environment(self, home: str) -> dict[str, str]:
        """Nothing of the grader's environment goes in."""
        return {
            "HOME": home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": "learner",
            "TMPDIR": "/tmp" if self.walled else home,
            "IPYTHONDIR": f"{home}/.ipython",
            "NBGRADER_EXECUTION": "autograde",
            "INTERCONNECT_PROGRESS": "off",
            "INTERCONNECT_HOME": f"{home}/.interconnect",
            "INTERCONNECT_LANG": chosen_language(),
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        }

    def _bubblewrap(self, folder: Path, packages: list[str], inside: list[str]) -> list[str]:
        words = [*_walls(), "--ro-bind", "/usr", "/usr", *_system()]
        words += ["--perms", "0755", "--dir", "/etc"]
        for name in ("/etc/ld.so.cache", "/etc/alternatives"):
            words += ["--ro-bind-try", name, name]
        words += ["--proc", "/proc", "--dev", "/dev"]
        # bubblewrap makes the folders above a mount for root only.
        home = self._python_home()
        above = [place for name in (home, HOME, *inside) for place in reversed(Path(name).parents)]
        for place in dict.fromkeys(str(one) for one in above if len(one.parts) > 1 and one.parts[1] != "usr"):
            words += ["--perms", "0755", "--dir", place]
        if not Path(sys.base_prefix).is_relative_to("/usr"):
            words += ["--ro-bind", sys.base_prefix, home]
        for path, name in zip(packages, inside, strict=True):
            words += ["--ro-bind", path, name]
            seen = [name]
            if Path(path).is_relative_to(sys.base_prefix):
                seen.append(str(Path(home) / Path(path).relative_to(sys.base_prefix)))
            for place in seen:
                if (Path(path) / "course_lib").is_dir():  # an installed course would bring its questions along
                    words += ["--tmpfs", f"{place}/course_lib"]
        words += _hidden(["/usr", *(["/bin", "/lib"] if not Path("/bin").is_symlink() else []), sys.base_prefix])
        words += ["--ro-bind", str(folder / "course"), "/course", "--dir", HOME, "--perms", "1777", "--tmpfs", "/tmp"]
        return [*words, "--chdir", "/", "--"]

    def _said(self, seconds: float) -> dict[str, Any]:
        """Return the next line on the control socket."""
        self._control.settimeout(seconds)
        data = b""
        try:
            while not data.endswith(b"\n"):
                part = self._control.recv(4096)
                if not part:
                    raise OSError
                data += part
        except OSError:
            self._log.seek(0)
            why = (self._log.read()[-600:].strip().splitlines() or [_("it ended without a word")])[-1]
            raise CourseError(_("The sandbox does not start or has ended: {why}").format(why=why)) from None
        return json.loads(data)

    def kernel(self) -> Kernel:
        """Return a fresh kernel that nothing of an earlier hand-in has touched, under a user of its own."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        uid = FIRST_USER + next(self._users) % USERS if self.walled and os.geteuid() == 0 else 0
        socket.send_fds(self._control, [json.dumps({"op": "fork", "uid": uid}).encode("ascii")], [theirs.fileno()])
        theirs.close()
        pid = self._said(30.0)["pid"]
        return Kernel(ours, self.limits, self._process.pid, lambda wait: self._reap(pid, wait), self._reason)

    def _reap(self, pid: int, wait_s: float) -> int:
        self._control.sendall(json.dumps({"op": "reap", "pid": pid, "wait": wait_s}).encode("ascii"))
        return int(self._said(30.0)["status"])

    def _reason(self) -> str:
        """Return the last thing that the processes of the sandbox wrote about themselves."""
        self._log.seek(0)
        return (self._log.read()[-300:].strip().splitlines() or [""])[-1]

    def close(self) -> None:
        """End every process and remove the folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._control.close()
            self._log.close()
        memorygroup.remove(self._group)
        self._folder.cleanup()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def as_data(self) -> dict[str, Any]:
        """Return what a report says about the sandbox."""
        return {"kind": "bubblewrap" if self.walled else "none", **asdict(self.limits)}
