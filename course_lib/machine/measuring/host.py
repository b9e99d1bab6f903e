"""This computer, as a measurement sees it: memory, cores, GPUs, and what can carry messages between processes."""

import os
import platform
import sys
from pathlib import Path

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.machine.measuring.launch import has_module, mpiexec

BACKENDS = ("auto", "mpi", "torch-gloo", "torch-nccl")


def free_memory_B() -> int | None:
    """Return the bytes of memory that are free for use, or None where the system does not say.

    >>> free = free_memory_B()
    >>> free is None or free > 0
    True
    """
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def gpus_here() -> int:
    """Return how many CUDA devices PyTorch sees; 0 without PyTorch."""
    if not has_module("torch"):
        return 0
    import torch

    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


def choose_backend(backend: str, n_ranks: int) -> str:
    """Return what will carry the messages, or raise a CourseError that says what to install.

    >>> choose_backend("smoke signals", 2)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no backend 'smoke signals'. Valid: auto, mpi, torch-gloo, torch-nccl.
    """
    name = one_of(_("backend"), backend, BACKENDS)
    if sys.platform == "emscripten":
        raise CourseError(_("A browser has no processes to measure between: `make lab` on your own computer has."))
    if name.startswith("torch") and not has_module("torch"):
        raise CourseError(
            _("{name} needs PyTorch, which is not installed here: `pip install torch`, or use --backend mpi.").format(
                name=name
            )
        )
    if name == "torch-nccl" and gpus_here() < n_ranks:
        text = _(
            "NCCL needs a GPU for every rank: {n} ranks are asked for, and the GPUs that PyTorch sees here are {g}. "
            "Ask for fewer ranks, or use --backend torch-gloo or mpi to run on the processors."
        )
        raise CourseError(text.format(n=n_ranks, g=gpus_here()))
    if name == "auto":
        if gpus_here() >= n_ranks:
            return "torch-nccl"
        if has_module("mpi4py") or not has_module("torch"):
            name = "mpi"
        else:
            return "torch-gloo"
    if name == "mpi":
        mpiexec()
    return name


def this_machine() -> dict[str, str | int]:
    """Return what the measurement ran on, without names of people, hosts or folders.

    >>> sorted(this_machine())
    ['cores', 'load', 'processor', 'python', 'system']
    """
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    try:
        load = f"{os.getloadavg()[0]:.2f}"
    except (AttributeError, OSError):
        load = ""
    return {
        "processor": processor,
        "cores": cores,
        "system": platform.system(),
        "python": platform.python_version(),
        "load": load,
    }
