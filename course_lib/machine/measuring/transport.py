"""How processes exchange the pieces of one repeat: through MPI, or through torch.distributed."""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from course_lib.machine.measuring.bells import Bells
from course_lib.machine.measuring.moves import Turn


class MPI:
    """Exchange through mpi4py: shared memory or loopback, as the MPI library chooses on one computer."""

    def __init__(self, job: dict, rank: int | None) -> None:
        import mpi4py

        mpi4py.rc.thread_level = "funneled"  # one thread talks; the watchdog does not
        from mpi4py import MPI as mpi

        self.mpi, self.comm = mpi, mpi.COMM_WORLD
        self.rank, self.n_ranks = self.comm.Get_rank(), self.comm.Get_size()
        crowded = self.n_ranks > (os.cpu_count() or 1)
        self.pause = getattr(os, "sched_yield", lambda: time.sleep(0)) if crowded else None
        self.bells = None
        if crowded and hasattr(socket, "MSG_DONTWAIT"):
            self.bells = Bells(self.rank, self.n_ranks, job["token"], self.comm.allgather)
        self.barrier()
        _forget_shared_files()
        self.pulls = self.bells is not None and self._receivers_pull()
        self.library = " ".join(mpi.Get_library_version().splitlines()[0].strip("\0").replace("Version:", "").split())[
            :80
        ]

    def empty(self, size: int) -> np.ndarray:
        """Room for `size` float32, every page of it touched."""
        return np.zeros(size, np.float32) + np.float32(0)

    def prepared(self, steps: Sequence[Turn], state, temp, per_chunk: int) -> tuple[Callable[[], None], Callable]:
        """Return (a function that carries the steps out once, a function that frees what it holds)."""
        ready = []
        for turn in steps:
            arriving, requests, adds = [], [], []
            for piece, target, room in _places(turn, state, temp, per_chunk):
                arriving.append(self.comm.Recv_init([room, self.mpi.FLOAT], piece.peer, piece.tag))
                if piece.add:
                    adds.append((target, room))
            for piece in turn.sends:
                part = state[piece.begin * per_chunk : piece.stop * per_chunk]
                requests.append(self.comm.Send_init([part, self.mpi.FLOAT], piece.peer, piece.tag))
            ready.append((arriving, arriving + requests, *_who_rings(turn, per_chunk, self.pulls), adds))
        start, wait, add, bells = self.mpi.Prequest.Startall, self.wait, np.add, self.bells

        def go() -> None:
            for arriving, requests, ring, heed, thank, thanked, adds in ready:
                start(requests)
                if bells is not None:
                    bells.ring(ring)
                    bells.wait(heed)
                    if thank or thanked:
                        wait(arriving)
                        bells.ring(thank)
                        bells.wait(thanked)
                wait(requests)
                for target, room in adds:
                    add(target, room, out=target)

        def free() -> None:
            for _arriving, requests, *_others in ready:
                for request in requests:
                    request.Free()

        return go, free

    def wait(self, requests: list) -> None:
        """Wait for requests; with more processes than cores, make room for the one that is waited for."""
        test = self.mpi.Request.Testall
        if self.pause is None:
            self.mpi.Request.Waitall(requests)
            return
        while not test(requests):
            self.pause()

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.bells is None:
            self.wait([self.comm.Ibarrier()])
        self.together()

    def _receivers_pull(self) -> bool:
        """Whether a large message arrives while its sender sleeps: then senders may sleep, instead of asking again and again."""
        part = np.zeros(1 << 18, np.float32)
        arrived = np.ones(1)
        if self.rank == 0:
            request = self.comm.Isend([part, self.mpi.FLOAT], 1, 0)
            self.bells.ring((1,))
            arrived[0] = self.bells.wait((1,), seconds=0.5)
            self.wait([request])
            if not arrived[0]:
                self.bells.wait((1,))
        elif self.rank == 1:
            request = self.comm.Irecv([part, self.mpi.FLOAT], 0, 0)
            self.bells.wait((0,))
            self.wait([request])
            self.bells.ring((0,))
        return bool(self.agree(arrived[0]))

    def together(self) -> None:
        """Sleep until all ranks are here, where they share cores."""
        if self.bells is not None:
            self.bells.all()

    def agree(self, value: float) -> float:
        """Give everybody rank 0's number."""
        number = np.array([float(value)])
        self.together()
        self.wait([self.comm.Ibcast(number, 0)])
        return float(number[0])

    def largest(self, values) -> np.ndarray:
        """Return the largest of all ranks' numbers, place by place, to all."""
        given = np.array(values, float, ndmin=1)
        result = np.empty_like(given)
        self.together()
        self.wait([self.comm.Iallreduce(given, result, self.mpi.MAX)])
        return result

    def put(self, where, values: np.ndarray) -> None:
        """Write host numbers into a buffer."""
        where[:] = values

    def get(self, where) -> np.ndarray:
        """Read a buffer into host memory."""
        return where

    def finished(self) -> None:
        """Wait until the work started so far is done."""

    def close(self) -> None:
        """Leave in order."""


LARGE_B = 4096.0  # above it a message needs both sides at once


def _who_rings(turn: Turn, per_chunk: int, pulls: bool) -> tuple[list[int], ...]:
    """Return the ranks to ring and to wait for when a turn starts, and again when its large messages have arrived.

    Senders ring receivers; for large messages both do. Where receivers pull, they ring a second time when they are done, and
    the senders of large messages sleep until then.
    """
    large = lambda p: (p.stop - p.begin) * per_chunk * 4 > LARGE_B  # noqa: E731
    out, into = ([p.peer for p in side if large(p)] for side in (turn.sends, turn.receives))
    ring = [p.peer for p in turn.sends] + into
    heed = [p.peer for p in turn.receives] + out
    return (ring, heed, into, out) if pulls else (ring, heed, [], [])


def _forget_shared_files() -> None:
    """Take MPICH's shared memory out of its folder once all ranks have it: it then goes with the last process, even on kill −9."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for name in {
        line.split()[-1] for line in lines if "/dev/shm/mpich_shm_" in line and not line.endswith("(deleted)")
    }:
        with contextlib.suppress(OSError):
            os.unlink(name)


class Torch:
    """Exchange through torch.distributed: NCCL with a GPU for every rank, else Gloo over loopback on the processors."""

    def __init__(self, job: dict, rank: int | None) -> None:
        import torch
        from torch import distributed

        self.torch, self.dist = torch, distributed
        self.rank, self.n_ranks, self.kind = int(rank or 0), job["n_ranks"], job["backend"].removeprefix("torch-")
        torch.set_num_threads(1)
        self.device = torch.device("cuda", self.rank) if self.kind == "nccl" else torch.device("cpu")
        if self.kind == "nccl":
            torch.cuda.set_device(self.device)
        address = f"tcp://127.0.0.1:{job['meeting_port']}"
        distributed.init_process_group(self.kind, init_method=address, rank=self.rank, world_size=self.n_ranks)
        self.library = f"torch {torch.__version__}, {self.kind}"

    def empty(self, size: int):
        """Room for `size` float32 on this rank's device."""
        return self.torch.zeros(size, dtype=self.torch.float32, device=self.device)

    def prepared(self, steps: Sequence[Turn], state, temp, per_chunk: int) -> tuple[Callable[[], None], Callable]:
        """Return (a function that carries the steps out once, a function that frees what it holds)."""
        op, send, receive = self.dist.P2POp, self.dist.isend, self.dist.irecv
        gloo = self.kind == "gloo"
        ready = []
        for turn in steps:
            ops, adds = [], []
            for piece, target, room in _places(turn, state, temp, per_chunk):
                ops.append((piece.tag, receive, room, piece.peer))
                if piece.add:
                    adds.append((target, room))
            for piece in turn.sends:
                ops.append((piece.tag, send, state[piece.begin * per_chunk : piece.stop * per_chunk], piece.peer))
            ops.sort(key=lambda row: row[0])  # NCCL knows no tags: the order between two ranks is the transfers' own
            ready.append(([op(what, part, peer, tag=tag if gloo else 0) for tag, what, part, peer in ops], adds))
        together = self.dist.batch_isend_irecv

        def go() -> None:
            for ops, adds in ready:
                for request in together(ops):
                    request.wait()
                for target, room in adds:
                    target.add_(room)

        return go, lambda: None

    def _numbers(self, values):
        return self.torch.tensor(np.array(values, float, ndmin=1), device=self.device)

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.largest(0.0)

    def agree(self, value: float) -> float:
        """Give everybody rank 0's number."""
        number = self._numbers(value)
        self.dist.broadcast(number, 0)
        return float(number.item())

    def largest(self, values) -> np.ndarray:
        """Return the largest of all ranks' numbers, place by place, to all."""
        numbers = self._numbers(values)
        self.dist.all_reduce(numbers, self.dist.ReduceOp.MAX)
        return numbers.cpu().numpy()

    def put(self, where, values: np.ndarray) -> None:
        """Write host numbers into a buffer."""
        where.copy_(self.torch.from_numpy(values))

    def get(self, where) -> np.ndarray:
        """Read a buffer into host memory."""
        return where.cpu().numpy()

    def finished(self) -> None:
        """Wait until the work started so far is done."""
        if self.kind == "nccl":
            self.torch.cuda.synchronize()

    def close(self) -> None:
        """Leave in order."""
        self.dist.destroy_process_group()


def _places(turn: Turn, state, temp, per_chunk: int):
    """Give (piece, its place in the buffer, where it is received): copies arrive in place, what is added beside it."""
    used = 0
    for piece in turn.receives:
        target = state[piece.begin * per_chunk : piece.stop * per_chunk]
        length = (piece.stop - piece.begin) * per_chunk
        yield piece, target, temp[used : used + length] if piece.add else target
        used += length if piece.add else 0


def room_needed(steps: Sequence[Turn]) -> int:
    """Return the chunks that a rank receives beside its buffer in its fullest repeat.

    >>> from course_lib.comm import direct
    >>> from course_lib.machine.measuring.moves import turns
    >>> room_needed(turns(direct.all_reduce(4), 0))
    3
    """
    return max((sum(p.stop - p.begin for p in turn.receives if p.add) for turn in steps), default=0)


def timed(go: Callable[[], None], times: int, transport) -> float:
    """Return the median seconds of one run on its slowest rank, over `times` runs in a row.

    A rank that was late makes the others wait, so a run counts as long as its slowest rank took. A median, because now and
    then the system gives a core to somebody else for milliseconds.
    """
    took = np.empty(times)
    transport.finished()
    transport.barrier()
    for i in range(times):
        begin = time.perf_counter()
        go()
        transport.finished()
        took[i] = time.perf_counter() - begin
    return float(np.median(transport.largest(took)))
