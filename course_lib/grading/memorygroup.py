"""A limit that the system itself puts on the memory of a group of processes (Linux cgroups), where this user may set one."""

import contextlib
import os
import time
import uuid
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def _places() -> list[tuple[Path, str]]:
    """Return the folders under which a group may be made, and the name of the file that holds its limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _number, kinds, path = line.split(":", 2)
        if "memory" in kinds.split(","):
            base = ROOT / "memory"
            found += [(base / path.lstrip("/"), "memory.limit_in_bytes"), (base, "memory.limit_in_bytes")]
        elif not kinds:
            found.append((ROOT / path.lstrip("/"), "memory.max"))
    return found


def make(most_B: int) -> Path | None:
    """Return a new empty group of processes that may use `most_B` bytes together, or None where that is not possible.

    Files in memory and what no process has mapped count as well, which looking at processes cannot see.
    """
    for base, limit in _places():
        group = base / f"interconnect-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(most_B), encoding="ascii")
            with contextlib.suppress(OSError):
                (group / "memory.swap.max").write_text("0", encoding="ascii")
            return group
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
    return None


def lives(name: str) -> bool:
    """Return whether the process whose number `name` begins with still runs; True where that cannot be told.

    >>> lives(f"{os.getpid()}-x"), lives("no number")
    (True, True)
    """
    number = name.split("-")[0]
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return True
    return True


def sweep() -> None:
    """Remove the empty groups of processes that were killed."""
    for base, _limit in _places():
        for group in base.glob("interconnect-*-*"):
            if not lives(group.name.removeprefix("interconnect-")):
                with contextlib.suppress(OSError):
                    group.rmdir()


def entering(group: Path | None, command: list[str]) -> list[str]:
    """Return a command line that enters `group` and then becomes `command`."""
    if group is None:
        return command
    return ["/bin/sh", "-c", 'echo $$ > "$0" || exit 118; exec "$@"', str(group / "cgroup.procs"), *command]


def remove(group: Path | None) -> None:
    """Remove the group once its processes are gone."""
    for _again in range(40):
        if group is None or not group.exists():
            return
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.05)
