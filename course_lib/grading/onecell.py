"""One cell run in a kernel, for `rehearse`: the verdicts that it displays, and an end in time whatever it does."""

import time
from typing import Any

from course_lib.base.language import _
from course_lib.grading.notebook import MIMETYPE

MEMORY_B = 4 * 2**30
# A busy computer may give a kernel a tenth of a processor. So what a cell may use is processor time, and the clock only
# ends what waits: for a keyboard, for another program, in a sleep.
PATIENCE = 10.0
GRACE_S = 5.0  # of processor time, after its interrupt


def limit_memory(manager: Any) -> None:
    """Give a kernel `MEMORY_B` at most, where the system can."""
    try:
        import resource

        resource.prlimit(manager.provisioner.pid, resource.RLIMIT_AS, (MEMORY_B, MEMORY_B))
    except (ImportError, AttributeError, OSError, ValueError):
        pass


class _Late:
    """Whether a kernel has had its time: `seconds` of a processor from now on, or `PATIENCE` times as many on the clock."""

    LOOK_S = 0.2  # asked for with every message, and some cells print without end

    def __init__(self, manager: Any, seconds: float) -> None:
        self.pid, self.seconds = getattr(manager.provisioner, "pid", None), seconds
        self.used, self.clock = _processor_s(self.pid), time.monotonic()
        self.looked, self.found = self.clock, False

    def __bool__(self) -> bool:
        now = time.monotonic()
        if not self.found and now - self.looked >= self.LOOK_S:
            self.looked, passed = now, now - self.clock
            # a process that has just ended tells nothing, and is noticed elsewhere
            used = passed if self.used is None else (_processor_s(self.pid) or self.used) - self.used
            self.found = passed >= PATIENCE * self.seconds or used >= self.seconds
        return self.found


def _processor_s(pid: int | None) -> float | None:
    """Return the processor seconds of a process and of those it has waited for; None where nobody tells."""
    try:
        import psutil

        return sum(psutil.Process(pid).cpu_times()[:4])
    except Exception:
        return None


def execute(client: Any, manager: Any, source: str, seconds: float) -> tuple[list[dict], str, bool]:
    """Run one cell; return the verdicts it displayed, a sentence if it failed, and whether that spoils what it defined."""
    import queue

    wanted = client.execute(source, allow_stdin=False, store_history=True)
    outputs: list[dict] = []
    error, spoils = "", False
    late, interrupted = _Late(manager, seconds), False
    while True:
        try:
            message = client.get_iopub_msg(timeout=1.0)
        except queue.Empty:
            message = None
            if not manager.is_alive():
                return outputs, _("the kernel ended (out of memory, or the code ended it)."), True
        if message and message["parent_header"].get("msg_id") == wanted:
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "execute_result") and MIMETYPE in content["data"]:
                outputs.append(content["data"][MIMETYPE])
            elif kind == "error" and not interrupted:
                error, spoils = (
                    _spoken(content["ename"], content["evalue"]),
                    _no_memory(content["ename"], content["evalue"]),
                )
            elif kind == "status" and content["execution_state"] == "idle":
                return outputs, error, spoils
        if not late:
            continue
        if interrupted:
            manager.shutdown_kernel(now=True)
            return outputs, error + " " + _("It could not be stopped."), True
        interrupted, spoils, late = True, True, _Late(manager, GRACE_S)
        error = _("it ran for more than {s:g} s and was stopped.").format(s=seconds)
        manager.interrupt_kernel()


def _no_memory(name: str, value: str) -> bool:
    return name == "MemoryError" or value.startswith("[Errno 12]")  # mmap says it so


def _spoken(name: str, value: str) -> str:
    if name == "StdinNotImplementedError":
        return _("it asks for keyboard input, which is not allowed in graded cells.")
    if _no_memory(name, value):
        return _("it asked for more memory than there is ({most} GiB at most).").format(most=MEMORY_B // 2**30)
    return f"{name}: {value}"[:200]
