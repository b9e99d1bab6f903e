"""Measure: real collectives from the course's own schedules, run by real processes, checked and timed."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.units import say_bytes
from course_lib.comm.meaning import canonical_op
from course_lib.comm.registry import algorithm_name, algorithms, build
from course_lib.comm.schedule import Schedule
from course_lib.machine.measuring.host import choose_backend, free_memory_B, this_machine
from course_lib.machine.measuring.launch import Processes
from course_lib.machine.measuring.moves import chunk_elements, turns
from course_lib.machine.measuring.record import Measurement, Point, as_data, from_data, without
from course_lib.machine.measuring.transport import room_needed

__all__ = [
    "ALGORITHMS",
    "Measurement",
    "Point",
    "as_data",
    "from_data",
    "measure",
    "schedule_of",
    "sizes_between",
    "without",
]

ALGORITHMS = ("ring", "tree", "halving-doubling", "direct")
MAX_RANKS, MAX_POINTS, MAX_SECONDS = 64, 400, 3600.0
ENOUGH = 3  # rounds in which every point has to be timed
_MEMORY_SHARE = 0.5  # of what is free: more would push somebody else's pages out


def schedule_of(op: str, algorithm: str, n_ranks: int) -> Schedule:
    """Return the schedule that is run under a name.

    `tree` is the binomial tree, with the fewest messages of all; `double-tree` the two trees of comm.tree, each with half
    the message in one piece. All others are the names of `comm.registry`. Algorithms with sums inside a switch are refused,
    and so are hierarchical ones: there is one computer.

    >>> schedule_of("all_reduce", "tree", 4).name, schedule_of("allreduce", "double-tree", 4).name
    ('binomial', 'tree')
    """
    op = canonical_op(op)
    plain = algorithm.strip().lower().replace("_", "-") if isinstance(algorithm, str) else algorithm
    if plain == "tree" and "binomial" in algorithms(op):
        return build(op, n_ranks, "binomial")
    if plain in ("double-tree", "double-binary-tree"):
        return build(op, n_ranks, "tree", pipeline=1)
    name = algorithm_name(op, algorithm)
    if name.startswith("hierarchical"):
        raise CourseError(_("{name} needs several boxes; measure runs on one computer.").format(name=name))
    return build(op, n_ranks, name)


def sizes_between(least_B: float, most_B: float, factor: float = 2.0) -> list[int]:
    """Return message sizes from one to another, each `factor` times the one before, in whole float32.

    >>> sizes_between(8, 100)
    [8, 16, 32, 64]
    """
    least_B, most_B = finite("least_B", least_B, at_least=4), finite("most_B", most_B, at_least=4)
    factor = finite("factor", factor, at_least=1.1)
    if most_B < least_B:
        raise CourseError(
            _("The sizes go from {a} down to {b}; the smaller one comes first.").format(
                a=say_bytes(least_B), b=say_bytes(most_B)
            )
        )
    count = int(np.floor(np.log(most_B / least_B) / np.log(factor) + 1e-9)) + 1
    if count > MAX_POINTS:
        raise CourseError(_("{n} sizes are more than the {most} that fit.").format(n=count, most=MAX_POINTS))
    return sorted({int(least_B * factor**i) // 4 * 4 for i in range(count)})


def measure(
    op: str = "all_reduce",
    n_ranks: int = 4,
    algorithms: Sequence[str] = ALGORITHMS,
    message_B: Sequence[float] | None = None,
    *,
    seconds: float = 50.0,
    rounds: int = 12,
    backend: str = "auto",
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
    schedules: dict[str, Schedule] | None = None,
) -> Measurement:
    """Run a collective between real processes of this computer, check every result, and time it over message sizes.

    Each process walks its own part of the schedule with sends and receives. Every point is first checked with known whole
    numbers, then timed in rounds; in each round the points come in another order, so that a disturbance does not lie on one
    curve. Processes are ended with this call, whatever happens (`launch`).

    Args:
        op: a collective in any usual spelling.
        n_ranks: processes, 2 to 64.
        algorithms: names (`schedule_of`).
        message_B: sizes as nccl-tests counts them, float32 data; 8 B to 16 MiB in powers of two unless given.
        seconds: time to be done in; what is not reached is named in `missing`. Another 20 s at most to start and to end.
        rounds: at most so many.
        backend: `mpi` (mpi4py), `torch-gloo`, `torch-nccl` (a GPU for each rank), or `auto`: NCCL where there are enough GPUs,
            else MPI, else Gloo.
        seed: of the order.
        progress: called with (share done 0 … 1, a few words).
        schedules: schedules of your own by name, in place of `algorithms`.

    Raises:
        CourseError: nothing to run processes with (the sentence says what to install), a size that does not fit into the free
            memory, a schedule that cannot be carried out, or processes that fail.

    Validity: one computer. With more ranks than cores the ranks share them, which a cluster's do not.
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=2, at_most=MAX_RANKS)
    seconds = finite("seconds", seconds, at_least=2.0, unit="s")
    if seconds > MAX_SECONDS:
        raise CourseError(_("seconds is {s:g}; at most {most:g} are given.").format(s=seconds, most=MAX_SECONDS))
    rounds = whole("rounds", rounds, at_least=1, at_most=1000)
    sizes = sizes_between(8, 16 << 20) if message_B is None else sorted({int(m) for m in _sizes(message_B)})
    plans = dict(schedules) if schedules else _named(op, algorithms, n)
    for name, schedule in plans.items():
        if schedule.n_ranks != n or schedule.op != op:
            raise CourseError(
                _("{name} is a schedule of {op} on {m} ranks; {wanted} on {n} is measured.").format(
                    name=name, op=schedule.op, m=schedule.n_ranks, wanted=op, n=n
                )
            )
    needed_B = _memory_B(plans, sizes)
    if len(plans) * len(sizes) > MAX_POINTS:
        raise CourseError(
            _("{n} points are more than the {most} that are measured at once; give fewer sizes or algorithms.").format(
                n=len(plans) * len(sizes), most=MAX_POINTS
            )
        )
    chosen = choose_backend(backend, n)
    names = list(plans)
    job = {
        "op": op, "n_ranks": n, "backend": chosen, "sizes": sizes, "seconds": seconds, "rounds": rounds, "seed": seed,
        "schedules": [s.to_arrays() for s in plans.values()],
    }  # fmt: skip
    times: dict[tuple[int, int], list[float]] = {}
    wrong: dict[tuple[int, int], int] = {}
    library, done, whole_work = "", 0, len(plans) * len(sizes) * (rounds + 1)
    tell = progress or (lambda share, words: None)
    tell(0.0, _("starting {n} processes").format(n=n))
    with Processes(job) as processes:
        for said in processes.messages():
            if said["kind"] == "joined":
                library = said["library"]
            elif said["kind"] in ("check", "sample"):
                at = (said["algorithm"], said["size"])
                done += 1
                if said["kind"] == "check":
                    wrong[at] = said["wrong"]
                else:
                    times.setdefault(at, []).append(float(said["time_s"]))
                tell(done / whole_work, f"{names[at[0]]}, {say_bytes(sizes[at[1]])}")
    tell(1.0, _("done"))
    made, missing = [], []
    for a, name in enumerate(names):
        for m, size in enumerate(sizes):
            found = times.get((a, m), [])
            if found:
                made.append(Point(name, float(size), tuple(found), wrong.get((a, m))))
            if len(found) < min(ENOUGH, rounds):
                missing.append((name, float(size)))
    if not made:
        raise CourseError(
            _("Nothing was timed within {s:g} s; give more seconds, fewer ranks or smaller messages.").format(s=seconds)
        )
    machine = this_machine() | {"library": library, "memory_B": needed_B}
    most = max(len(p.rounds_s) for p in made)
    return Measurement(op, n, chosen, tuple(made), tuple(missing), most, machine, plans)


def _named(op: str, names: Sequence[str], n: int) -> dict[str, Schedule]:
    if isinstance(names, str):
        names = names.split(",")
    wanted = [str(name).strip().lower().replace("_", "-") for name in names if str(name).strip()]
    if not wanted:
        raise CourseError(_("No algorithm is named; for instance: {names}.").format(names=", ".join(ALGORITHMS)))
    plans = {name: schedule_of(op, name, n) for name in wanted}
    for schedule in plans.values():
        turns(schedule, 0)  # refuses what processes cannot do before any is started
    return plans


def _sizes(message_B: Sequence[float]) -> NDArray[np.float64]:
    given = np.atleast_1d(finite("message_B", message_B, at_least=4, unit="B"))
    if (given % 4).any():
        raise CourseError(
            _("A message of {m} is no whole number of float32; sizes are multiples of 4 B.").format(
                m=f"{given[given % 4 > 0][0]:g} B"
            )
        )
    return given


def _memory_B(plans: dict[str, Schedule], sizes: Sequence[int]) -> int:
    """Bytes that all ranks hold at their fullest; refused where half of the free memory is less."""
    per_rank = 0
    for schedule in plans.values():
        room = max(room_needed(turns(schedule, r)) for r in range(schedule.n_ranks))
        per_rank = max(per_rank, 4 * chunk_elements(schedule, max(sizes)) * (4 * schedule.chunks + room))
    needed = per_rank * max(s.n_ranks for s in plans.values())
    free = free_memory_B()
    if free is not None and needed > free * _MEMORY_SHARE:
        raise CourseError(
            _(
                "Messages of {size} on {n} ranks need {needed} of memory, and {free} are free here; "
                "half of that is used at most. Give a smaller --max-size or fewer ranks."
            ).format(
                size=say_bytes(max(sizes)),
                n=next(iter(plans.values())).n_ranks,
                needed=say_bytes(needed),
                free=say_bytes(free),
            )
        )
    return int(needed)
