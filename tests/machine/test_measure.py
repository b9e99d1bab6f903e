"""Real collectives: right sums, wrong ones caught, no process left behind, and a sentence where they cannot run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cli.main import main
from course_lib.comm import ring
from course_lib.comm.engine import ScheduleError
from course_lib.comm.registry import build
from course_lib.comm.schedule import Schedule, Step
from course_lib.machine.measuring import launch
from course_lib.machine.measuring.beside import compare
from course_lib.machine.measuring.moves import chunk_elements, count_wrong, start, turns
from course_lib.machine.measuring.run import Measurement, Point, as_data, from_data, measure, schedule_of, sizes_between
from course_lib.machine.measuring.sharedcores import Cores, fit_cores, predict_s, work

needs_mpi = pytest.mark.skipif(not launch.has_module("mpi4py"), reason="needs the extra [mpi]")
SIZES = 2.0 ** np.arange(3, 25)
NAMES = ("ring", "tree", "double-tree", "halving-doubling", "direct")


def carried_out(schedule, per_chunk):
    """Walk every rank's turns without processes: a mailbox in place of MPI."""
    n = schedule.n_ranks
    held = [start(schedule, r, per_chunk) for r in range(n)]
    todo = [list(turns(schedule, r)) for r in range(n)]
    boxes: dict = {}
    sent = [False] * n
    while any(todo):
        moved = False
        for r in range(n):
            if not todo[r]:
                continue
            turn = todo[r][0]
            if not sent[r]:
                for p in turn.sends:
                    part = held[r][p.begin * per_chunk : p.stop * per_chunk].copy()
                    boxes.setdefault((r, p.peer, p.tag), []).append(part)
                sent[r] = moved = True
            if all(boxes.get((p.peer, r, p.tag)) for p in turn.receives):
                for p in turn.receives:
                    place = slice(p.begin * per_chunk, p.stop * per_chunk)
                    got = boxes[p.peer, r, p.tag].pop(0)
                    held[r][place] = held[r][place] + got if p.add else got
                todo[r].pop(0)
                sent[r], moved = False, True
        assert moved, "the ranks wait for one another"
    return [count_wrong(schedule, r, per_chunk, held[r]) for r in range(n)]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("name", NAMES)
def test_the_ranks_parts_of_a_schedule_add_up_to_the_collective(name, n):
    assert carried_out(schedule_of("all_reduce", name, n), 3) == [0] * n


@pytest.mark.parametrize(
    ("op", "name"),
    [("reduce_scatter", "ring"), ("all_gather", "halving-doubling"), ("all_to_all", "direct"), ("broadcast", "tree"),
     ("reduce", "tree"), ("scatter", "direct"), ("gather", "direct"), ("send_recv", "direct")],
)  # fmt: skip
def test_other_collectives_are_checked_by_their_own_promise(op, name):
    assert carried_out(schedule_of(op, name, 5), 2) == [0] * 5


def mutants(schedule):
    """Every schedule with one add turned into a copy or one copy into an add, one per step and transfer."""
    for i, step in enumerate(schedule.steps):
        for t in range(len(step)):
            flipped = step.reduce.copy()
            flipped[t] = not flipped[t]
            other = Step(
                step.src, step.dst, step.chunk, flipped, step.width, step.first, step.count, step.shift, step.window
            )
            steps = (*schedule.steps[:i], other, *schedule.steps[i + 1 :])
            yield Schedule(schedule.op, schedule.n_ranks, schedule.n_nodes, schedule.chunks, steps, "mutant")


@pytest.mark.parametrize("name", NAMES)
def test_every_add_made_a_copy_and_back_gives_a_wrong_sum(name):
    for mutant in mutants(schedule_of("all_reduce", name, 4)):
        try:
            wrong = max(carried_out(mutant, 2))
        except ScheduleError:  # two writes race: refused before anything runs
            continue
        assert wrong > 0


def test_a_chunk_that_nobody_sent_counts_as_wrong():
    schedule = ring.all_gather(3)
    assert count_wrong(schedule, 0, 2, start(schedule, 0, 2)) == 4


def test_messages_shorter_than_the_ranks_still_have_an_element_a_chunk():
    assert chunk_elements(ring.all_reduce(64), 8) == 1


def test_sums_inside_a_switch_are_refused_in_words():
    with pytest.raises(CourseError, match="no such switch"):
        turns(build("all_reduce", 4, "in-network"), 0)
    with pytest.raises(CourseError, match="one computer"):
        schedule_of("all_reduce", "hierarchical-ring", 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"n_ranks": 1}, "at least 2"), ({"n_ranks": 4.5}, "whole number"), ({"n_ranks": 1000}, "at most 64"),
     ({"algorithms": ["rign"]}, "ring"), ({"algorithms": []}, "for instance"), ({"message_B": [6]}, "multiples of 4"),
     ({"message_B": [1 << 50]}, "memory"), ({"seconds": 0}, "at least 2"), ({"seconds": 1e9}, "at most 3600"),
     ({"backend": "carrier pigeon"}, "Valid"), ({"op": "allredcue"}, "all_reduce"),
     ({"op": "reduce_scatter", "schedules": {"x": ring.all_reduce(4)}}, "is measured")],
)  # fmt: skip
def test_input_that_cannot_be_measured_is_refused_in_words_before_anything_starts(given, said, monkeypatch):
    monkeypatch.setattr(launch.subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))
    with pytest.raises(CourseError, match=said):
        measure(**given)


def test_sizes_double_and_end_where_asked():
    assert sizes_between(8, 16 << 20)[-1] == 16 << 20
    assert len(sizes_between(8, 16 << 20)) == 22
    with pytest.raises(CourseError, match="smaller one comes first"):
        sizes_between(64, 8)


def test_without_mpi4py_the_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(launch, "has_module", lambda name: False)
    monkeypatch.setattr("course_lib.machine.measuring.host.has_module", lambda name: False)
    assert main(["measure", "--seconds", "2"]) == 2
    said = capsys.readouterr().err
    assert "pip install" in said
    assert "mpi4py" in said
    assert "Traceback" not in said


def test_nccl_without_gpus_says_how_many_it_needs(monkeypatch):
    monkeypatch.setattr("course_lib.machine.measuring.host.has_module", lambda name: True)
    monkeypatch.setattr("course_lib.machine.measuring.host.gpus_here", lambda: 2)
    with pytest.raises(CourseError, match="a GPU for every rank: 4 ranks"):
        measure(backend="torch-nccl")


@pytest.fixture(scope="module")
def small():
    return measure(n_ranks=2, algorithms=["ring", "tree"], message_B=[8, 4096, 1 << 16], seconds=60, rounds=3)


@needs_mpi
def test_two_real_processes_add_up_right_and_are_timed(small):
    assert not small.wrong
    assert not small.missing
    assert {p.algorithm for p in small.points} == {"ring", "tree"}
    assert all(0 < p.time_s <= p.median_s for p in small.points)
    assert all(p.wrong == 0 for p in small.points)
    assert "MPICH" in small.machine["library"] or small.machine["library"]


@needs_mpi
def test_a_measurement_survives_json(small):
    assert as_data(from_data(json.loads(json.dumps(as_data(small))))) == as_data(small)


@needs_mpi
def test_a_wrong_schedule_is_found_wrong_by_real_processes():
    good = schedule_of("all_reduce", "tree", 2)
    bad = next(mutants(good))
    found = measure(n_ranks=2, schedules={"good": good, "bad": bad}, message_B=[64], seconds=10, rounds=1)
    assert {p.algorithm: bool(p.wrong) for p in found.points} == {"good": False, "bad": True}
    assert found.columns("bad")[0].size == 0


@needs_mpi
def test_the_command_says_wrong_and_ends_with_one(capsys, monkeypatch, small):
    bad = Point("tree", 8.0, (1e-6,), 2)
    broken = Measurement("all_reduce", 2, "mpi", (*small.points, bad), (), 3, small.machine, small.schedules)
    monkeypatch.setattr("course_lib.machine.measuring.run.measure", lambda *a, **k: broken)
    assert main(["measure", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["wrong_points"] == 1


@needs_mpi
def test_json_is_one_object_with_the_documented_keys(capsys, monkeypatch, small):
    monkeypatch.setattr("course_lib.machine.measuring.run.measure", lambda *a, **k: small)
    assert main(["measure", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    keys = {
        "op",
        "n_ranks",
        "backend",
        "rounds",
        "machine",
        "points",
        "missing",
        "complete",
        "wrong_points",
        "fits",
        "model",
    }
    assert keys <= set(data)
    assert {"algorithm", "message_B", "time_s", "median_s", "quartiles_s", "wrong"} <= set(data["points"][0])


def processes_of(session_text: str) -> list[int]:
    """Processes whose environment or command names the worker, but not this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if session_text.encode() in words and int(folder.name) != os.getpid() and state not in "ZX":
            found.append(int(folder.name))
    return found


def is_measuring(pid: int) -> bool:
    """Whether a rank has joined the others: it then holds their shared memory, whose file is gone already."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    except OSError:
        return False
    return any("mpich_shm" in line and line.endswith("(deleted)") for line in maps.splitlines())


@needs_mpi
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)],
    ids=["kill", "int", "term"],
)
def test_no_process_is_left_when_the_measurement_is_stopped_in_the_middle(number, status):
    mark = f"interconnect-test-{os.getpid()}-{int(number)}"
    command = [
        sys.executable,
        "-m",
        "course_lib.cli.main",
        "measure",
        "--ranks",
        "2",
        "--seconds",
        "40",
        "--rounds",
        "500",
    ]
    before = set(os.listdir("/dev/shm"))
    run = subprocess.Popen(command, env=os.environ | {"MARK": mark}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end_by = time.monotonic() + 120
    while sum(map(is_measuring, processes_of(mark))) < 2 and time.monotonic() < end_by:
        time.sleep(0.1)
    time.sleep(0.3)
    assert len(processes_of(mark)) >= 4  # mpiexec, its proxy and two ranks, beside the command
    run.send_signal(number)
    said = run.communicate(timeout=120)[1].decode()
    assert run.returncode == status
    assert "Traceback" not in said
    end_by = time.monotonic() + 60
    while processes_of(mark) and time.monotonic() < end_by:
        time.sleep(0.1)
    assert processes_of(mark) == []
    # Tests beside this one start measurements, too; their files go after a moment, one that we left would stay.
    left = lambda: {f for f in set(os.listdir("/dev/shm")) - before if "mpich" in f}  # noqa: E731
    end_by = time.monotonic() + 60
    ours = left()
    while ours and time.monotonic() < end_by:
        time.sleep(0.2)
        ours &= left()
    assert ours == set()


@needs_mpi
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_rank_that_is_killed_ends_the_others_and_is_told():
    job = {"op": "all_reduce", "n_ranks": 2, "backend": "mpi", "sizes": [8], "seconds": 30, "rounds": 900, "seed": 0}
    job["schedules"] = [ring.all_reduce(2).to_arrays()]
    with launch.Processes(job) as processes:
        talk = processes.messages()
        while next(talk)["kind"] != "sample":
            pass
        os.kill(min(processes.pids), signal.SIGKILL)
        with pytest.raises(CourseError, match="ended before"):
            list(talk)
    assert not any(map(launch._alive, processes.pids))


def test_an_algorithm_without_large_messages_still_has_a_fit():
    schedule = ring.all_reduce(2)
    sizes = np.array([8.0, 64.0, 512.0, 4096.0, 8192.0])
    found = fit_cores([(schedule, sizes, 1e-5 + sizes / 1e9)], 2)
    assert predict_s(schedule, found, sizes) == pytest.approx(1e-5 + sizes / 1e9, rel=0.05)


@needs_mpi
def test_more_ranks_than_a_bell_can_queue_do_not_wait_for_each_other():
    found = measure(n_ranks=16, algorithms=["direct"], message_B=[8], seconds=20, rounds=1)
    assert [p.wrong for p in found.points] == [0]


def measured_by(model, names=NAMES, noise=0.0, n=4):
    rng = np.random.default_rng(1)
    schedules = {name: schedule_of("all_reduce", name, n) for name in names}
    points = []
    for name, schedule in schedules.items():
        times = predict_s(schedule, model, SIZES) * np.exp(rng.normal(0, noise, SIZES.size))
        points += [Point(name, m, (t,), 0) for m, t in zip(SIZES.tolist(), times.tolist())]
    return Measurement("all_reduce", n, "mpi", tuple(points), (), 1, {"cores": model.cores}, schedules)


TRUE = Cores(4e-6, 6e-6, 7e-6, 3.2e9, 4096.0, 2)


def test_the_fit_finds_the_constants_that_made_the_times():
    data = measured_by(TRUE)
    found = compare(data).model
    assert found.threshold_B == TRUE.threshold_B
    for name in ("repeat_s", "message_s", "large_s", "bandwidth_Bps"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-6)


def test_an_algorithm_is_predicted_from_the_others_within_its_noise():
    found = compare(measured_by(TRUE, noise=0.05))
    assert max(row.others_off for row in found.algorithms) < 0.1
    assert max(row.line_off for row in found.algorithms) < 0.2
    race = found.race
    assert (race.first, race.second, race.fitted_to[0]) == ("ring", "tree", "ring")
    assert race.measured[8.0] == race.predicted[8.0] == 1
    assert race.measured[float(16 << 20)] == race.predicted[float(16 << 20)] == -1
    assert race.predicted_crossing_B == pytest.approx(race.measured_crossing_B, rel=2)


def test_two_cores_make_every_all_reduce_but_the_tree_carry_the_same_work():
    per_byte = {
        name: float(work(s, 2)[2]) / s.chunks for name, s in ((n, schedule_of("all_reduce", n, 4)) for n in NAMES)
    }
    assert per_byte["ring"] == per_byte["halving-doubling"] == per_byte["direct"] == 3.0
    assert per_byte["tree"] == 4.0


def test_a_tree_that_keeps_its_rank_busy_has_no_crossing():
    free = Cores(0.0, 6e-6, 0.0, 1e15, 4096.0, 2)
    assert compare(measured_by(free, ("ring", "tree"))).race.predicted_crossing_B is None


def test_times_that_do_not_grow_are_refused_in_words():
    schedule = ring.all_reduce(4)
    with pytest.raises(CourseError, match="do not grow"):
        fit_cores([(schedule, SIZES, np.geomspace(1, 1e-9, SIZES.size))], 2)


def test_copies_are_timed_and_compared():
    from course_lib.machine.measuring.copies import copies

    found = copies([8, 1 << 12, 1 << 16], seconds=2, rounds=3)
    assert [p.wrong for p in found.points] == [0, 0, 0]
    assert found.lines("host to host")[0].line.bandwidth_Bps > 1e8


@pytest.mark.parametrize(
    "words", [["--sizes", "1:2:3"], ["--sizes", "many"], ["--ranks", "two"], ["--seconds", "nan"], ["--max-size", "-1"]]
)
def test_arguments_that_make_no_sense_end_with_two_and_a_sentence(words, capsys):
    assert main(["measure", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err


class FakeDistributed:
    """torch.distributed that writes down what it is asked for."""

    def __init__(self):
        self.asked = []

    def isend(self): ...

    def irecv(self): ...

    def P2POp(self, what, part, peer, tag=0):
        return what.__name__, part.size, peer, tag

    def batch_isend_irecv(self, ops):
        self.asked.append(ops)
        return []


class Summing(np.ndarray):
    def add_(self, other):
        self += other


@pytest.mark.parametrize(("kind", "tags"), [("gloo", [0, 3]), ("nccl", [0, 0])])
def test_torch_is_asked_for_the_schedules_own_transfers_in_their_order(kind, tags):
    from course_lib.machine.measuring.transport import Torch

    transport = Torch.__new__(Torch)
    transport.dist, transport.kind = FakeDistributed(), kind
    state = np.zeros(8, np.float32).view(Summing)
    go, free = transport.prepared(turns(ring.all_reduce(4), 0), state, np.ones(2, np.float32), 2)
    go()
    free()
    asked = transport.dist.asked
    assert len(asked) == 6
    assert [(name, size, peer) for name, size, peer, _tag in asked[0]] == [("isend", 2, 1), ("irecv", 2, 3)]
    assert [tag for *_other, tag in asked[0]] == tags
    assert state.sum() == 6  # three repeats add a chunk of two ones each


def test_a_bell_counts_rings_that_come_early():
    from course_lib.machine.measuring.bells import Bells

    token = f"test-{os.getpid()}"
    ports: list = [0, 0]

    def gather_for(rank):
        def gather(port):
            ports[rank] = port
            return ports

        return gather

    first, second = Bells(0, 2, token, gather_for(0)), Bells(1, 2, token, gather_for(1))
    if sys.platform != "linux":
        first.where = second.where = [("127.0.0.1", port) for port in ports]
    first.ring([1, 1, 1])
    second.wait([0, 0])
    assert second.wait([0], seconds=1.0)
    assert not second.wait([0], seconds=0.05)
