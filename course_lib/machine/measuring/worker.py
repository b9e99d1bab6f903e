"""The body of one measuring process: check every sum, time in rounds, report, never outlive its parent."""

import json
import os
import socket
import sys
import threading
import time

import numpy as np

from course_lib.comm.schedule import Schedule
from course_lib.machine.measuring.moves import chunk_elements, count_wrong, start, turns
from course_lib.machine.measuring.transport import MPI, Torch, room_needed, timed

SAMPLE_S = 4e-3  # short messages are repeated until a sample lasts about so long
MOST_TIMES = 400


def die_with_parent() -> None:
    """Ask Linux to kill this process when the one that started it dies; elsewhere the watchdog alone has to do."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


class Line:
    """The wire to the process that asked for the measurement; when it breaks, this process ends at once."""

    def __init__(self, port: int, token: str, number: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.say(kind="hello", token=token, rank=number, pid=os.getpid())
        self.file = self.socket.makefile("r", encoding="utf-8")
        self.job = json.loads(self.file.readline())
        self.socket.settimeout(None)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        try:
            while self.file.readline():
                pass
        except (OSError, ValueError):
            pass
        os._exit(1)  # nobody is left to measure for, or time is up

    def say(self, **words: object) -> None:
        """Send one line of JSON."""
        self.socket.sendall((json.dumps(words) + "\n").encode())


def sweep(job: dict, transport, line: Line) -> None:
    """Check and time all points of a job; rank 0 says what was found."""
    began, budget = time.monotonic(), float(job["seconds"])
    rank, first = transport.rank, transport.rank == 0
    plans = []
    for arrays in job["schedules"]:
        schedule = Schedule.from_arrays(arrays)
        steps = turns(schedule, rank)
        plans.append((schedule, steps, room_needed(steps)))
    sizes = job["sizes"]
    largest = [max(chunk_elements(s, m) for m in sizes) for s, _steps, _room in plans]
    state = transport.empty(max(s.chunks * e for (s, _t, _r), e in zip(plans, largest)))
    temp = transport.empty(max(1, *(room * e for (_s, _t, room), e in zip(plans, largest))))

    def left(share: float) -> bool:
        return bool(transport.agree(float(first and time.monotonic() - began < budget * share)))

    def at(a: int, m: int, *, check: bool, times: int) -> float:
        schedule, steps, _room = plans[a]
        per_chunk = chunk_elements(schedule, sizes[m])
        mine = state[: schedule.chunks * per_chunk]
        go, free = transport.prepared(steps, mine, temp, per_chunk)
        try:
            if check:
                transport.put(mine, start(schedule, rank, per_chunk, m))
                go()
                transport.finished()
                wrong = count_wrong(schedule, rank, per_chunk, transport.get(mine), m)
                worst = int(transport.largest(wrong)[0])
                if first:
                    line.say(kind="check", algorithm=a, size=m, wrong=worst)
            transport.put(
                mine, np.zeros(schedule.chunks * per_chunk, np.float32)
            )  # zero stays zero, however often added
            timed(go, 1, transport)
            return timed(go, times, transport)
        finally:
            free()

    guess, points = {}, []
    for m in range(len(sizes)):  # small first: what the time does not reach is what would have cost most
        for a in range(len(plans)):
            if not left(0.5):
                break
            guess[a, m] = at(a, m, check=True, times=3)
            points.append((a, m))
    rng = np.random.default_rng(job["seed"])
    for turn in range(job["rounds"]):
        for i in rng.permutation(len(points)):
            if not left(0.92):
                if first:
                    line.say(kind="end", rounds=turn, complete=False)
                return
            a, m = points[i]
            times = int(np.clip(SAMPLE_S / max(guess[a, m], 1e-9), 3, MOST_TIMES))
            seconds = at(a, m, check=False, times=times)
            if first:
                line.say(kind="sample", algorithm=a, size=m, time_s=seconds)
    if first:
        line.say(kind="end", rounds=job["rounds"], complete=len(points) == len(sizes) * len(plans))


def main(number: str = "") -> int:
    """Run one process; `number` is its rank where the launcher does not say it (MPI does)."""
    port, token = os.environ.pop("INTERCONNECT_MEASURE").split(":")
    die_with_parent()
    rank = int(number) if number else None
    line = Line(int(port), token, -1 if rank is None else rank)
    job = line.job
    try:
        transport = (MPI if job["backend"] == "mpi" else Torch)(job, rank)
        if transport.n_ranks != job["n_ranks"]:
            raise RuntimeError(f"{transport.n_ranks} processes joined instead of {job['n_ranks']}")
        if transport.rank == 0:
            line.say(kind="joined", library=transport.library)
        sweep(job, transport, line)
        transport.barrier()
        transport.close()
    except Exception as error:  # whatever it is, the parent has to hear of it
        line.say(kind="error", error=type(error).__name__, text=str(error)[:400])
        os._exit(1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
