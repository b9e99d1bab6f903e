"""Starts one warmed Python inside the sandbox and forks a fresh, walled-off kernel from it for every hand-in.

Run as a script: `python nursery.py SETTINGS CONTROL_FD`. It waits for commands on the control socket: "fork" comes with
the hand-in's own socket, "reap" ends what was forked and says how it ended.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time

NEWNS, NEWUTS, NEWIPC, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
MS_REC_PRIVATE = 0x4000 | 0x40000
NOSUID_NODEV = 2 | 4
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 4, 38, 36


class Failed(Exception):
    """A wall could not be put up: the kernel must not start."""


def main() -> int:
    """Warm up, then serve the control socket until it closes."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=int(sys.argv[2]))
    sys.path[:0] = settings["path"]
    libc = ctypes.CDLL(None, use_errno=True)
    if not settings["walls"]:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # All of the kernel is imported here, so that forks find it warm.
    from course_lib.grading.inside import kernel, outputs, shell  # noqa: F401

    sink = outputs.Sink()
    made = shell.make_shell(sink)
    for statement in settings["warm"]:
        # A module that cannot be imported is the learner's cell's matter, in words, later.
        with contextlib.suppress(BaseException):
            exec(statement, {"__name__": "warm"})
    own = os.open("/proc/self/ns/pid", os.O_RDONLY) if settings["walls"] else -1
    control.sendall(b'{"ready": true}\n')
    while True:
        data, fds, _flags, _address = socket.recv_fds(control, 4096, 1)
        if not data:
            return 0
        message = json.loads(data)
        if message["op"] == "fork":
            if settings["walls"]:
                done(libc.unshare(NEWPID), "a process space")
            pid = os.fork()
            if pid == 0:
                control.close()
                first_process(libc, settings, message["uid"], fds[0], made, sink, own)
            os.close(fds[0])
            if settings["walls"]:
                done(libc.setns(own, NEWPID), "its own process space")
            control.sendall(json.dumps({"pid": pid}).encode("ascii") + b"\n")
        elif message["op"] == "reap":
            status = reap(message["pid"], message["wait"])
            control.sendall(json.dumps({"status": status}).encode("ascii") + b"\n")


def done(result: int, what: str) -> None:
    """Raise Failed where a system call did not do its work."""
    if result != 0:
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")


def reap(pid: int, wait_s: float) -> int:
    """Return how the hand-in's first process ended; kill it if it has not after `wait_s`. All others die with it."""
    ends = time.monotonic() + wait_s
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= ends:
            break
        time.sleep(0.005)
    for send in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            send(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)
    return -signal.SIGKILL


def first_process(libc: ctypes.CDLL, settings: dict, uid: int, fd: int, shell: object, sink: object, own: int) -> None:
    """Put up the walls, start the kernel behind them, bury the dead, and leave with the kernel's status."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if settings["walls"]:
            os.close(own)
            walls(libc, settings)
        pid = os.fork()
        if pid == 0:
            from course_lib.grading.inside import channel, kernel

            end = socket.socket(fileno=fd)
            try:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                lower(libc, settings, uid)
                os.chdir(settings["home"])
                kernel.live(end, shell, sink)
            except BaseException as error:
                with contextlib.suppress(BaseException):
                    channel.Channel(end).send({"op": "broken", "why": f"{type(error).__name__}: {error}"[:300]})
            finally:
                os._exit(0)
        os.close(fd)
        while True:
            found, status = os.wait()
            if found == pid:
                code = os.waitstatus_to_exitcode(status)
                os._exit(code if code >= 0 else 128 - code)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(119)


def walls(libc: ctypes.CDLL, settings: dict) -> None:
    """Give this process its own empty folders, names, message queues and view of processes."""
    done(libc.unshare(NEWNS | NEWIPC | NEWUTS), "namespaces")
    done(libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "private mounts")
    for folder, mode in ((settings["home"], "0777"), ("/tmp", "1777"), ("/dev/shm", "1777")):
        size = f"size={settings['files_B']},nr_inodes=4096,mode={mode}".encode("ascii")
        done(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", NOSUID_NODEV, size), folder)
    done(libc.mount(b"proc", b"/proc", b"proc", NOSUID_NODEV, None), "/proc")


def lower(libc: ctypes.CDLL, settings: dict, uid: int) -> None:
    """Set the limits, become a user without any right, and let nothing give a right back."""
    from course_lib.grading.inside import seccomp

    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # where memory runs out, this goes first
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    limits = {
        resource.RLIMIT_AS: settings["memory_B"],
        resource.RLIMIT_FSIZE: settings["files_B"],
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: settings["cpu_s"],
        resource.RLIMIT_MEMLOCK: 65536,
    }
    if settings["walls"]:  # without a user of its own, the limit would count the instructor's processes
        limits |= {resource.RLIMIT_NPROC: settings["processes"], resource.RLIMIT_MSGQUEUE: 0}
    for which, most in limits.items():
        _soft, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not settings["walls"]:
        return
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if os.getresuid() != (uid, uid, uid) or os.getgroups():
            raise Failed("a user of its own")
    drop_capabilities(libc)
    seccomp.filter_calls(libc)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # as for any program; a change of user had switched it off


def drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up every capability; needed where this is root of a user namespace, harmless elsewhere."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    done(libc.capset(header, nothing), "no capabilities")


if __name__ == "__main__":
    raise SystemExit(main())
