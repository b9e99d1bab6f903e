"""System calls that no hand-in needs and that could go round a limit: refused by a filter the kernel keeps for good."""

import ctypes
import platform
import struct

PR_SET_SECCOMP, FILTER = 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
LOAD, JUMP_EQUAL, JUMP_FROM, JUMP_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NR, ARCHITECTURE, FIRST = 0, 4, 16
FAMILIES = (1, 2, 10)  # sockets of this machine and of the network that is not there; no others reach anything
NEW_NAMESPACES = 0x7E020080  # of clone: user, process, network, mount, message, name, cgroup and time spaces

# Memory that belongs to no process (memfd, System V), new namespaces and mounts, and what looks into other processes.
NAMES = """memfd_create memfd_secret shmget semget msgget unshare setns mount umount2 pivot_root chroot open_tree move_mount
fsopen fsconfig fsmount ptrace process_vm_readv process_vm_writev bpf perf_event_open userfaultfd add_key request_key keyctl
io_uring_setup io_uring_enter io_uring_register kexec_load init_module delete_module finit_module clone clone3 socket"""
NUMBERS = {
    "x86_64": (
        0xC000003E,
        "319 447 29 64 68 272 308 165 166 155 161 428 429 430 431 432 101 310 311 321 298 323 248 249 250 "
        "425 426 427 246 175 176 313 56 435 41",
    ),
    "aarch64": (
        0xC00000B7,
        "279 447 194 190 186 97 268 40 39 41 51 428 429 430 431 432 117 270 271 280 241 282 217 218 219 "
        "425 426 427 104 105 106 273 220 435 198",
    ),
}


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter as (code, jump if true, jump if false, value); empty for a machine whose numbers are not known.

    >>> len(program("x86_64")) > 40, program("pdp11")
    (True, [])
    """
    if machine not in NUMBERS:
        return []
    architecture, numbers = NUMBERS[machine]
    calls = dict(zip(NAMES.split(), map(int, numbers.split()), strict=True))
    clone, clone3, socket = (calls.pop(name) for name in ("clone", "clone3", "socket"))
    refuse = (RETURN, 0, 0, ERRNO | EPERM)
    lines = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_EQUAL, 1, 0, architecture), refuse, (LOAD, 0, 0, NR)]
    lines += [(JUMP_FROM, 0, 1, 0x40000000), refuse]
    for number in calls.values():
        lines += [(JUMP_EQUAL, 0, 1, number), refuse]
    lines += [(JUMP_EQUAL, 0, 1, clone3), (RETURN, 0, 0, ERRNO | ENOSYS)]  # the C library then takes clone
    lines += [(JUMP_EQUAL, 0, 4, clone), (LOAD, 0, 0, FIRST), (JUMP_BITS, 0, 1, NEW_NAMESPACES), refuse]
    lines += [(RETURN, 0, 0, ALLOW), (JUMP_EQUAL, 0, 5, socket), (LOAD, 0, 0, FIRST)]
    lines += [(JUMP_EQUAL, 3 - place, 0, family) for place, family in enumerate(FAMILIES)]
    return [*lines, (RETURN, 0, 0, ERRNO | EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]


def filter_calls(libc: ctypes.CDLL) -> bool:
    """Put the filter on this process and all it will start; return whether the machine is one whose numbers are known."""
    lines = program(platform.machine())
    if not lines:
        return False
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.create_string_buffer(head, len(head)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return True
